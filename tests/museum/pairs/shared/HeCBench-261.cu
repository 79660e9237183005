//! project: HeCBench
//! number: 261
//! title: a tile is relaxed in place while other threads read its row
//! kind: race in shared memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {N: 256}}
//!   buffers:
//!     d: {type: i32, shape: [N], fill: {iota: [1, 3]}, out: true}
//!   launch: {kernel: relax, grid: [1], block: [16, 16], args: [d]}

extern "C" __global__ void relax(int *d)
{
    __shared__ int s[2][16][16];
    int x = threadIdx.x, y = threadIdx.y;
    s[0][y][x] = d[y * 16 + x];
    __syncthreads();
    for (int k = 0; k < 16; k++) {
        int from = FIXED ? k % 2 : 0, to = FIXED ? 1 - k % 2 : 0;
        s[to][y][x] = min(s[from][y][x], s[from][y][k] + s[from][k][x]) + 1; // BUG
        __syncthreads();
    }
    d[y * 16 + x] = s[0][y][x];
}
