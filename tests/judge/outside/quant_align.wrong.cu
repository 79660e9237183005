// spec: quant
// Wrong: a vector is stored without a look at the alignment of y, which is 1 in the contract.
__device__ int code(float x, float scale)
{
    const float v = fminf(fmaxf(rintf(x / scale), -128.0f), 127.0f);
    return isnan(x) ? 0 : (int)v;
}

extern "C" __global__ void quant(const float *x, signed char *y, int n, float scale)
{
    const int i = (blockIdx.x * 256 + threadIdx.x) * 4;
    if (i + 3 < n)
        *(char4 *)(y + i) =
            make_char4(code(x[i], scale), code(x[i + 1], scale), code(x[i + 2], scale), code(x[i + 3], scale));
    else
        for (int k = i; k < n && k < i + 4; k++)
            y[k] = code(x[k], scale);
}
