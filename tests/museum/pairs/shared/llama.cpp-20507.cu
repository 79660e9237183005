//! project: llama.cpp
//! number: 20507
//! title: the next tile of a transposition overwrites the one that other threads read
//! kind: race in shared memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {MATRICES: 3}}
//!   buffers:
//!     x: {type: f32, shape: [MATRICES * 1024], fill: {iota: [0, 1]}}
//!     y: {type: f32, shape: [MATRICES * 1024], out: true}
//!   launch: {kernel: transpose_all, grid: [1], block: [32, 8], args: [x, y, MATRICES]}

// One block transposes several matrices. The fix alternates between two tiles.
extern "C" __global__ void transpose_all(const float *x, float *y, int matrices)
{
    __shared__ float tile[1 + FIXED][32][33];
    for (int m = 0; m < matrices; m++) {
        int half = FIXED ? m % 2 : 0;
        for (int j = threadIdx.y; j < 32; j += 8)
            tile[half][j][threadIdx.x] = x[m * 1024 + j * 32 + threadIdx.x]; // BUG
        __syncthreads();
        for (int j = threadIdx.y; j < 32; j += 8)
            y[m * 1024 + j * 32 + threadIdx.x] = tile[half][threadIdx.x][j];
    }
}
