# needs jq
# If a header of CUDA changes, code that was compiled with the old text is not taken from the cache.
mkdir -p cuda/deep
echo '#include <deep/value.h>' >cuda/outer.h
echo '#define VALUE 1' >cuda/deep/value.h
cat >a.cu <<'END'
#include <outer.h>
extern "C" __global__ void k(float *y) { *y = VALUE; }
END
cat >a.yaml <<'END'
kiln: 1
name: a
source: a.cu
sizes: {tiny: {N: 1}}
buffers: {y: {type: f32, shape: [N], out: true}}
launch: {kernel: k, grid: [1], block: [1], args: [y]}
END
export KILN_CUDA_INCLUDE="$PWD/cuda"
value() {
    kiln run a --output y="$1.npy" >/dev/null && tail -c 4 "$1.npy" | od -An -tf4
    kiln cache list --json | jq '.entries | length'
}
value first
value again
echo '#define VALUE 2' >cuda/deep/value.h
value changed
