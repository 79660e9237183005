#!/bin/sh
# Runs other people's programs on the simulated device's libcuda.so.1. The script makes a virtual environment, installs
# the programs from the package index, and runs the trials one by one. For each trial it prints whether it worked, or
# what stopped it.
#   tests/foreign/run.sh BUILD [FOLDER]
# If $CUDA_SAMPLES is a checkout of NVIDIA's cuda-samples, the script also builds and runs the samples (samples.py),
# which takes an hour. FOLDER, by default BUILD/foreign, keeps the environment. The script needs python3 with venv, a
# network, a toolkit with nvcc and NVRTC, and a C++ compiler, because PyCUDA is built from source. The exit code is 0 if
# everything works that library/README.md says works. The script is not a part of ctest.
set -u
[ $# -ge 1 ] || { echo "usage: $0 BUILD [FOLDER]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
folder=${2:-$build/foreign}
: "${CUDA_HOME:=/usr/local/cuda}"
packages="numpy==2.4.6 cuda-bindings==13.0.3 cuda-core==1.2.2 cupy-cuda13x==14.2.0 pycuda==2026.1 \
kernel_tuner==1.5.0 numba==0.68.1 numba-cuda==0.30.4"
works="pycuda_driver pycuda_source kernel_tuner_pycuda cuda_core cuda_core_linker numba_kernel numba_to_ptx"

[ -e "$build/lib/kiln/libcuda.so.1" ] || { echo "$0: $build has no lib/kiln/libcuda.so.1" >&2; exit 2; }
if [ ! -x "$folder/bin/python" ]; then
    python3 -m venv "$folder" || exit 2
fi
export CUDA_HOME CUDA_ROOT="$CUDA_HOME" PATH="$build/lib/kiln/bin:$CUDA_HOME/bin:$PATH"
"$folder/bin/pip" install -q --disable-pip-version-check $packages || exit 2
export LD_LIBRARY_PATH="$build/lib/kiln"
status=0
cd "$folder" || exit 2
for trial in "$here"/trials/*.py; do
    name=$(basename "$trial" .py)
    case " $works " in *" $name "*) expected=yes ;; *) expected=no ;; esac
    if output=$(timeout 300 "$folder/bin/python" "$trial" 2>&1); then
        echo "$name: works"
        [ $expected = yes ] || { echo "$name: was not expected to: library/README.md is out of date"; status=1; }
    else
        # Prints only the line of the error. The lines after it may come from objects that Python frees.
        echo "$name: $(printf '%s\n' "$output" | grep -E '^[A-Za-z_.]*(Error|Exception|Failure)' | head -1)"
        [ $expected = no ] || { printf '%s\n' "$output"; status=1; }
    fi
done
if [ -n "${CUDA_SAMPLES:-}" ]; then
    python3 "$here/samples.py" "$build" "$CUDA_SAMPLES" "$folder/samples" --timeout 600 || status=1
fi
exit $status
