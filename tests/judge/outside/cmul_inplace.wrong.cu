// spec: cmul
// Wrong: the real part is stored in y and then used as the factor of the imaginary part.
extern "C" __global__ void cmul(const float *a, const float *b, float *y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[2 * i] = a[2 * i] * b[2 * i] - a[2 * i + 1] * b[2 * i + 1];
        y[2 * i + 1] = y[2 * i] * b[2 * i + 1] + a[2 * i + 1] * b[2 * i];
    }
}
