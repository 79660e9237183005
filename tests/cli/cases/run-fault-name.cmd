# exit 12
# A fault in a kernel of C++ names it as the spec does.
cat >far.cu <<'X'
namespace deep {
template <int X> __global__ void poke(float *x) { x[1 << 28] = X; }
}
X
cat >far.yaml <<'X'
kiln: 1
name: far
source: far.cu
sizes: {default: {N: 1}}
buffers: {x: {type: f32, shape: [N], out: true}}
launch: {kernel: "deep::poke<2>", grid: [1], block: [1], args: [x]}
X
kiln run ./far.yaml
