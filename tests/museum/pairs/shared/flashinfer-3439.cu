//! project: flashinfer
//! number: 3439
//! title: rows that another warp loads are visible to the loading warp only
//! kind: race in shared memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {N: 128}}
//!   buffers:
//!     state: {type: f32, shape: [N], fill: 1}
//!     y: {type: f32, shape: [N], out: true}
//!   launch: {kernel: replay_state, grid: [1], block: [32, 4], args: [state, y]}

extern "C" __global__ void replay_state(const float *state, float *y)
{
    __shared__ float rows[4][32];
    rows[threadIdx.y][threadIdx.x] = state[threadIdx.y * 32 + threadIdx.x]; // BUG
#if FIXED
    __syncthreads();
#else
    __syncwarp();
#endif
    float sum = 0;
    for (int row = 0; row < 4; row++)
        sum += rows[row][threadIdx.x];
    y[threadIdx.y * 32 + threadIdx.x] = sum;
}
