// spec: upsample
// Wrong: the tile has only 96 of its 108 elements; wrong for odd rows at the bottom of a block.
extern "C" __global__ void upsample(const float *x, float *y, int rows, int columns)
{
    __shared__ float tile[6][18];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int c = blockIdx.x * 32 + tx, r = blockIdx.y * 8 + ty;
    const int k = ty * 32 + tx;
    if (k < 96) {
        const int rr = min(max((int)blockIdx.y * 4 + k / 18 - 1, 0), rows - 1);
        const int cc = min(max((int)blockIdx.x * 16 + k % 18 - 1, 0), columns - 1);
        tile[k / 18][k % 18] = x[rr * columns + cc];
    }
    __syncthreads(); // tile
    if (c >= 2 * columns || r >= 2 * rows)
        return;
    const int nr = ty / 2 + 1, nc = tx / 2 + 1, fr = ty % 2 ? nr + 1 : nr - 1, fc = tx % 2 ? nc + 1 : nc - 1;
    y[r * 2 * columns + c] = 0.75f * (0.75f * tile[nr][nc] + 0.25f * tile[nr][fc]) +
                             0.25f * (0.75f * tile[fr][nc] + 0.25f * tile[fr][fc]);
}
