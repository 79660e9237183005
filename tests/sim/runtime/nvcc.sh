#!/bin/sh
# nvcc.sh KILN-FOLDER KILN builds programs by Kiln's wrapper around nvcc, and runs them by `kiln sim run`. It ends with
# 77 if there is no nvcc.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
nvcc=$1/bin/nvcc kiln=$2
"$nvcc" --version > /dev/null 2>&1 || { echo "SKIP nvcc: no nvcc of a toolkit"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# The driver links the two parts of this program. It has Kiln's static runtime, and then the shared runtime with one
# default stream for each thread.
"$nvcc" -arch=sm_80 -rdc=true -c "$here/language.cu" -o language.o
"$nvcc" -arch=sm_80 -rdc=true -c "$here/part.cu" -o part.o
"$nvcc" -arch=sm_80 language.o part.o -o inside
"$kiln" sim run --quiet ./inside > output || { cat output; exit 1; }
grep -q '^thread 1 says hello$' output
"$nvcc" -arch=sm_80 -cudart shared language.o part.o -o shared
"$kiln" sim run --device h200 ./shared > output 2> errors || { cat output errors; exit 1; }
grep -q 'CUDA runtime, libcudart.so.13, kernels with PTX; device h200' errors

# Runs the program of the recipe for CI without a bug, with a planted bug, and with a profile.
"$nvcc" -arch=sm_80 -lineinfo "$here/../ci/saxpy.cu" -o saxpy
"$kiln" sim run --device h200 --check ./saxpy 2> errors || { cat errors; exit 1; }
grep -q '0 findings' errors
if "$kiln" sim run --device h200 --check ./saxpy wrong 2> errors; then exit 1; fi
grep -q 'write of 4 bytes at saxpy.cu:10' errors
"$kiln" sim run --profile --trace trace.json ./saxpy > output 2> errors
grep -q '^saxpy of 1000000 elements is right$' output
[ "$(wc -l < output)" = 1 ]
grep -q ' 3907  *256 .* saxpy(int, float, float const\*, float\*)$' errors || { cat errors; exit 1; }
grep -q '"name": "saxpy(int, float, float const\*, float\*)", "cat": "kernel", "ph": "X"' trace.json

# kiln and the runtime refuse a program that has only machine code, and both tell the user what to do.
real=${KILN_NVCC:-$(PATH=$(printf '%s' "$PATH" | sed "s|$1/bin:||") command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
printf '__global__ void k() {} \nint main() { k<<<1, 1>>>(); return cudaGetLastError() == cudaErrorNoKernelImageForDevice; }\n' > m.cu
if "$real" -gencode arch=compute_80,code=sm_80 -cudart shared m.cu -o machine 2> /dev/null; then
    if "$kiln" sim run ./machine 2> errors; then exit 1; fi
    grep -q 'only as machine code.*Compile it so that' errors
    if LD_LIBRARY_PATH=$1 ./machine 2> errors; then exit 1; fi
    grep -q 'contains only machine code and no PTX' errors
fi
# PTX for a later architecture than the device's runs if it uses nothing of the later architecture.
"$nvcc" -gencode arch=compute_100,code=compute_100 "$here/../ci/saxpy.cu" -o later
"$kiln" sim run --quiet --device h200 ./later > output
grep -q '^saxpy of 1000000 elements is right$' output
if KILN_SIM_TARGET=strict "$kiln" sim run --quiet --device h200 ./later > output 2> errors; then exit 1; fi

# Builds a CMake project for the architecture of the device. It links the runtime by CUDA::cudart_static.
mkdir project
cp "$here/../ci/saxpy.cu" project
printf '%s\n' 'cmake_minimum_required(VERSION 3.24)' 'project(p LANGUAGES CXX CUDA)' 'find_package(CUDAToolkit REQUIRED)' \
    'add_executable(p saxpy.cu)' 'target_link_libraries(p PRIVATE CUDA::cudart_static)' > project/CMakeLists.txt
(
    eval "$("$kiln" sim env --device h200)"
    cmake -S project -B made -DCMAKE_CUDA_COMPILER="$nvcc" -DCMAKE_CUDA_ARCHITECTURES=native > cmake.log 2>&1 &&
        cmake --build made >> cmake.log 2>&1 && ./made/p > output
) || { cat cmake.log output; exit 1; }
grep -q '^saxpy of 1000000 elements is right$' output

# NVIDIA's static runtime is refused.
if "$real" -arch=sm_80 -cudart static m.cu -o nvidia 2> /dev/null; then
    if "$kiln" sim run ./nvidia 2> errors; then exit 1; fi
    grep -q "contains NVIDIA's static CUDA runtime" errors
fi
echo "nothing wrong"
