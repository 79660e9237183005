//! project: LeetCUDA
//! number: 419
//! title: all lanes of a warp read one result a warp, and there are fewer warps than lanes
//! kind: out of bounds
//! finds: out of bounds
//! spec: |
//!   sizes: {tiny: {N: 256}}
//!   buffers:
//!     x: {type: f32, shape: [N], fill: {uniform: [0, 1]}}
//!     y: {type: f32, shape: [N], out: true}
//!   launch: {kernel: online_softmax, grid: [1], block: [N], args: [x, y]}

struct state { float m, d; };

__device__ state merge(state a, int width)
{
    for (int k = width / 2; k > 0; k /= 2) {
        state b = {__shfl_xor_sync(0xffffffff, a.m, k), __shfl_xor_sync(0xffffffff, a.d, k)};
        float m = fmaxf(a.m, b.m);
        a = {m, a.d * expf(a.m - m) + b.d * expf(b.m - m)};
    }
    return a;
}

extern "C" __global__ void online_softmax(const float *x, float *y)
{
    __shared__ state shared[8];
    int t = threadIdx.x;
    state s = merge({x[t], 1}, 32);
    if (t % 32 == 0)
        shared[t / 32] = s;
    __syncthreads();
    if (t < 32) {
        state all = {-1e30f, 0};
        if (!FIXED || t < 8)
            all = shared[t]; // BUG
        all = merge(all, 8);
        if (t == 0)
            shared[0] = all;
    }
    __syncthreads();
    y[t] = expf(x[t] - shared[0].m) / shared[0].d;
}
