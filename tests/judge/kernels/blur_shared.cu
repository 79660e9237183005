// spec: blur
// wrong no-barrier:     __syncthreads();\n => 
// wrong frame: at < 18 * 18 => at < 17 * 18
// wrong edge-zero: tile[at / 18][at % 18] = x[down * columns + right] => tile[at / 18][at % 18] = down == (int)blockIdx.y * 16 + at / 18 - 1 ? x[down * columns + right] : 0
// wrong edge-wraps: min(max((int)blockIdx.x * 16 + at % 18 - 1, 0), columns - 1) => ((int)blockIdx.x * 16 + at % 18 - 1 + columns) % columns
// wrong two-columns: dc < 3 => dc < 2
// wrong eight: 1.0f / 9 => 1.0f / 8
// wrong upper-bound: rows - 1); => rows);
// wrong stride: x[down * columns + right] => x[down * rows + right]
// A tile with a frame in shared memory.
extern "C" __global__ void blur(const float *x, float *y, int rows, int columns)
{
    __shared__ float tile[18][18];
    const int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
    for (int at = threadIdx.y * 16 + threadIdx.x; at < 18 * 18; at += 256) {
        const int down = min(max((int)blockIdx.y * 16 + at / 18 - 1, 0), rows - 1);
        const int right = min(max((int)blockIdx.x * 16 + at % 18 - 1, 0), columns - 1);
        tile[at / 18][at % 18] = x[down * columns + right];
    }
    __syncthreads();
    if (r >= rows || c >= columns)
        return;
    float all = 0;
    for (int dr = 0; dr < 3; dr++)
        for (int dc = 0; dc < 3; dc++)
            all += tile[threadIdx.y + dr][threadIdx.x + dc];
    y[r * columns + c] = all * (1.0f / 9);
}
