// spec: quant
// Right: the conversion to int rounds, saturates and makes 0 of NaN.
extern "C" __global__ void quant(const float *x, signed char *y, int n, float scale)
{
    const float inverse = 1 / scale; // the scale is a power of two
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = (signed char)max(-128, min(127, __float2int_rn(x[i] * inverse)));
}
