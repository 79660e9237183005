// spec: upsample
// Wrong: the half of a pixel is left out.
extern "C" __global__ void upsample(const float *x, float *y, int rows, int columns)
{
    const int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
    if (c >= 2 * columns || r >= 2 * rows)
        return;
    const float fr = fmaxf(r / 2.0f, 0.0f), fc = fmaxf(c / 2.0f, 0.0f);
    const int r0 = (int)fr, c0 = (int)fc, r1 = min(r0 + 1, rows - 1), c1 = min(c0 + 1, columns - 1);
    const float v = fr - r0, u = fc - c0;
    const float top = x[r0 * columns + c0] * (1 - u) + x[r0 * columns + c1] * u;
    const float low = x[r1 * columns + c0] * (1 - u) + x[r1 * columns + c1] * u;
    y[r * 2 * columns + c] = top * (1 - v) + low * v;
}
