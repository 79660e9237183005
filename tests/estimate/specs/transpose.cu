#ifndef TILE
#define TILE 32
#endif
#ifndef ROWS
#define ROWS 8
#endif
#ifndef PAD
#define PAD 1
#endif

extern "C" __global__ void transpose_naive(const float *__restrict__ x, float *__restrict__ y, unsigned m, unsigned n)
{
    unsigned col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < m && col < n)
        y[(size_t)col * m + row] = x[(size_t)row * n + col];
}

extern "C" __global__ void transpose_tiled(const float *__restrict__ x, float *__restrict__ y, unsigned m, unsigned n)
{
    __shared__ float tile[TILE][TILE + PAD];
    unsigned col = blockIdx.x * TILE + threadIdx.x, row0 = blockIdx.y * TILE;
#pragma unroll
    for (unsigned r = 0; r < TILE; r += ROWS) {
        unsigned row = row0 + r + threadIdx.y;
        if (row < m && col < n)
            tile[r + threadIdx.y][threadIdx.x] = x[(size_t)row * n + col];
    }
    __syncthreads();
    unsigned out_col = row0 + threadIdx.x;
#pragma unroll
    for (unsigned r = 0; r < TILE; r += ROWS) {
        unsigned out_row = blockIdx.x * TILE + r + threadIdx.y;
        if (out_row < n && out_col < m)
            y[(size_t)out_row * m + out_col] = tile[threadIdx.x][r + threadIdx.y];
    }
}
