// spec: quant
// Wrong: NaN becomes -128, because fmaxf drops it.
extern "C" __global__ void quant(const float *x, signed char *y, int n, float scale)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float v = rintf(x[i] / scale);
        y[i] = (signed char)fminf(fmaxf(v, -128.0f), 127.0f);
    }
}
