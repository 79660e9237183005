extern "C" __global__ void blur(const float *x, float *y, int rows, int columns)
{
    const int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
    if (r >= rows || c >= columns)
        return;
    float all = 0;
    for (int dr = -1; dr <= 1; dr++)
        for (int dc = -1; dc <= 1; dc++)
            all += x[min(max(r + dr, 0), rows - 1) * columns + min(max(c + dc, 0), columns - 1)];
    y[r * columns + c] = all / 9;
}
