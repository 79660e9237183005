# Without a GPU, buffers of 400 MB are ranked at their full size, at which four items per thread are better; at the
# small sizes one item would be better. If the sweep takes the small sizes instead, the output gives the reason.
unset KILN_DEVICE
export KILN_LIBCUDA=/nowhere/libcuda.so.1
cat >affine.cu <<'X'
extern "C" __global__ void affine(float a, const float *x, float b, float *y, int n)
{
    int first = blockIdx.x * 128 * ITEMS + threadIdx.x;
#pragma unroll
    for (int i = 0; i < ITEMS; i++)
        if (first + i * 128 < n)
            y[first + i * 128] = a * x[first + i * 128] + b;
}
X
cat >affine.yaml <<'X'
kiln: 1
name: affine
source: affine.cu
sizes: {default: {N: 100000000}, tiny: {N: 5000}}
buffers:
  x: {type: f32, shape: [N], fill: {uniform: [-1, 1]}}
  y: {type: f32, shape: [N], out: true}
params: {ITEMS: [1, 4]}
launch: {kernel: affine, grid: ["ceil_div(N, 128 * ITEMS)"], block: [128], args: [2.0, x, 0.5, y, N]}
X
kiln tune affine.yaml | grep -E 'ITEMS|answers were|small'
kiln tune affine.yaml -s tiny | grep -E '^ +1 '
cat >loop.yaml <<'X'
kiln: 1
name: loop
source: affine.cu
sizes: {default: {N: 4000}, tiny: {N: 500}}
buffers:
  left: {type: i32, shape: [1], fill: 1}
  x: {type: f32, shape: [N], fill: 1}
  y: {type: f32, shape: [N], out: true}
params: {ITEMS: [1]}
variants:
  loop:
    steps:
      - launch: &affine {kernel: affine, grid: ["ceil_div(N, 128)"], block: [128], args: [2.0, x, 0.5, y, N]}
      - while: {read: {n: left}, cond: n > 1, at_most: 1, steps: [{launch: *affine}]}
X
kiln tune loop.yaml | grep -E 'small'
kiln tune loop.yaml --json | grep small_sizes
