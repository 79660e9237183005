// spec: upsample
// Wrong: the clamp at the bottom uses the number of columns; wrong if R and C differ.
extern "C" __global__ void upsample(const float *x, float *y, int rows, int columns)
{
    const int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
    if (c < 2 * columns && r < 2 * rows) {
        const int nr = r / 2, nc = c / 2;
        const int or_ = min(max(r % 2 ? nr + 1 : nr - 1, 0), columns - 1);
        const int oc = min(max(c % 2 ? nc + 1 : nc - 1, 0), columns - 1);
        const float near = 0.75f * x[nr * columns + nc] + 0.25f * x[nr * columns + oc];
        const float far = 0.75f * x[or_ * columns + nc] + 0.25f * x[or_ * columns + oc];
        y[(size_t)r * 2 * columns + c] = 0.75f * near + 0.25f * far;
    }
}
