#ifndef BLOCK_X
#define BLOCK_X 32
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 8
#endif
#ifndef ROWS
#define ROWS 8
#endif

extern "C" __global__ void stencil_direct(const float *__restrict__ x, float *__restrict__ y, int h, int w)
{
    int col = blockIdx.x * BLOCK_X + threadIdx.x, row = blockIdx.y * BLOCK_Y + threadIdx.y;
    if (col < 1 || row < 1 || col >= w - 1 || row >= h - 1)
        return;
    const float *at = x + (size_t)row * w + col;
    y[(size_t)row * w + col] = 0.5f * at[0] + 0.125f * (at[-1] + at[1] + at[-w] + at[w]);
}

extern "C" __global__ void stencil_shared(const float *__restrict__ x, float *__restrict__ y, int h, int w)
{
    __shared__ float tile[BLOCK_Y + 2][BLOCK_X + 2];
    int col0 = blockIdx.x * BLOCK_X - 1, row0 = blockIdx.y * BLOCK_Y - 1;
    for (int i = threadIdx.y * BLOCK_X + threadIdx.x; i < (BLOCK_Y + 2) * (BLOCK_X + 2); i += BLOCK_X * BLOCK_Y) {
        int col = col0 + i % (BLOCK_X + 2), row = row0 + i / (BLOCK_X + 2);
        tile[i / (BLOCK_X + 2)][i % (BLOCK_X + 2)] =
            col >= 0 && col < w && row >= 0 && row < h ? x[(size_t)row * w + col] : 0.0f;
    }
    __syncthreads();
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1, col = col0 + tx, row = row0 + ty;
    if (col < 1 || row < 1 || col >= w - 1 || row >= h - 1)
        return;
    y[(size_t)row * w + col] =
        0.5f * tile[ty][tx] + 0.125f * (tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx]);
}

extern "C" __global__ void stencil_column(const float *__restrict__ x, float *__restrict__ y, int h, int w)
{
    int col = blockIdx.x * BLOCK_X + threadIdx.x, first = blockIdx.y * ROWS;
    if (col < 1 || col >= w - 1)
        return;
    const float *at = x + (size_t)first * w + col;
    float above = first > 0 ? at[-w] : 0.0f, here = at[0];
    for (int r = 0; r < ROWS && first + r < h - 1; r++, at += w) {
        float below = at[w];
        if (first + r > 0)
            y[(size_t)(first + r) * w + col] = 0.5f * here + 0.125f * (at[-1] + at[1] + above + below);
        above = here;
        here = below;
    }
}
