// spec: quant
// Wrong: values that are no halves are rounded by the floor of v + 0.5, a sum that rounds up; wrong for x = 0.99999994 only.
extern "C" __global__ void quant(const float *x, signed char *y, int n, float scale)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float v = x[i] / scale - truncf(x[i] / scale) == 0.5f || x[i] / scale - truncf(x[i] / scale) == -0.5f ? rintf(x[i] / scale) : floorf(x[i] / scale + 0.5f);
        y[i] = v != v ? 0 : (signed char)fminf(fmaxf(v, -128.0f), 127.0f);
    }
}
