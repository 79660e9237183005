// spec: biasgelu
// Wrong: four elements are loaded at once, but x is aligned to 4 bytes only.
extern "C" __global__ void biasgelu(const float *x, const float *b, float *y, int rows, int columns)
{
    const int i = (blockIdx.x * 256 + threadIdx.x) * 4, n = rows * columns;
    if (i + 3 < n) {
        const float4 p = *(const float4 *)(x + i);
        const float q[4] = {p.x, p.y, p.z, p.w};
        for (int k = 0; k < 4; k++) {
            const float v = q[k] + b[(i + k) % columns];
            y[i + k] = 0.5f * v * (1 + erff(v * 0.70710678f));
        }
    } else
        for (int k = i; k < n; k++) {
            const float v = x[k] + b[k % columns];
            y[k] = 0.5f * v * (1 + erff(v * 0.70710678f));
        }
}
