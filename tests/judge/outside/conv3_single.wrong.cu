// spec: conv3
// Wrong: with a single column the neighbour to the right is read from the next row; wrong if C = 1.
extern "C" __global__ void conv3(const float *x, const float *w, float *y, int rows, int columns)
{
    const int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
    if (r >= rows || c >= columns)
        return;
    float all = 0;
    for (int dr = -1; dr <= 1; dr++)
        for (int dc = -1; dc <= 1; dc++) {
            const int rr = r + dr, cc = c + dc;
            if (rr >= 0 && rr < rows && cc >= 0 && cc < max(columns, 2))
                all += w[(dr + 1) * 3 + dc + 1] * x[rr * columns + cc];
        }
    y[r * columns + c] = all;
}
