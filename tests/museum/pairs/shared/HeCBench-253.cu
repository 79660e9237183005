//! project: HeCBench
//! number: 253
//! title: the next tile of surfels overwrites the one that other threads still read
//! kind: race in shared memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {TILES: 2}}
//!   buffers:
//!     surfel: {type: f32, shape: [TILES * 64 * 3], fill: {uniform: [0, 1]}}
//!     y: {type: f32, shape: [64], out: true}
//!   launch: {kernel: render, grid: [1], block: [64], args: [surfel, y, TILES]}

extern "C" __global__ void render(const float *surfel, float *y, int tiles)
{
    __shared__ float held[3][64];
    float depth = 1e30f;
    for (int k = 0; k < tiles; k++) {
        for (int c = 0; c < 3; c++)
            held[c][threadIdx.x] = surfel[(k * 3 + c) * 64 + threadIdx.x]; // BUG
        __syncthreads();
        for (int i = 0; i < 64; i++)
            if (held[0][i] + held[1][i] > 1)
                depth = fminf(depth, held[2][i]);
#if FIXED
        __syncthreads();
#endif
    }
    y[threadIdx.x] = depth;
}
