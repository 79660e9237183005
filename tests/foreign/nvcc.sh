#!/bin/sh
# nvcc.sh NVCC: tests the stand-in for nvcc that makes PTX if machine code is requested. It exits with 77 if there is no
# real nvcc behind the stand-in.
set -eu
nvcc=$1
"$nvcc" --version > /dev/null 2>&1 || { echo "SKIP nvcc: no nvcc of a toolkit"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
printf '__global__ void k(int *p) { *p = VALUE; }\n' > 'a b.cu'
is_ptx()
{
    grep -q '^.version' "$1" && grep -q "^.target sm_$2" "$1" && grep -q "$3" "$1" || { echo "$1: not what it should be"; exit 1; }
}
"$nvcc" --cubin -arch sm_80 -DVALUE='1 + 2' 'a b.cu'
is_ptx 'a b.cubin' 80 3
"$nvcc" -cubin -arch=sm_90 -DVALUE=4 -o other 'a b.cu'
is_ptx other 90 4
"$nvcc" -gencode arch=compute_75,code=sm_75 --cubin -DVALUE=5 -o third 'a b.cu'
is_ptx third 75 5
"$nvcc" --ptx -arch compute_80 -code sm_80 -DVALUE=6 -o fourth 'a b.cu' # this command asks for PTX already
is_ptx fourth 80 6
"$nvcc" --cubin -arch=sm_80 -DVALUE=9 --output-file=fifth 'a b.cu'
is_ptx fifth 80 9
for arch in native all all-major; do # these stand for the architecture of the simulated device, 9.0
    "$nvcc" --ptx -arch=$arch -DVALUE=7 -o "$arch" 'a b.cu'
    is_ptx "$arch" 90 7
    "$nvcc" --ptx -arch $arch -DVALUE=8 -o "$arch" 'a b.cu'
    is_ptx "$arch" 90 8
done
if KILN_SIM_DEVICE=nothing "$nvcc" --ptx -arch=native -DVALUE=7 'a b.cu' 2> error; then exit 1; fi
grep -q "'nothing'" error
if "$nvcc" --cubin -DVALUE=no 'a b.cu' 2> /dev/null; then
    echo "an error of the compiler's got lost"
    exit 1
fi
