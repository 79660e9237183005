// spec: quant
// Wrong: the lowest code is -127; wrong for x below -255.
extern "C" __global__ void quant(const float *x, signed char *y, int n, float scale)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float v = rintf(x[i] / scale);
        y[i] = v != v ? 0 : (signed char)fminf(fmaxf(v, -127.0f), 127.0f);
    }
}
