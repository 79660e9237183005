// spec: axpby   expect: unsafe
// Accesses of 16 bytes, though the contract allows buffers at any element.
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT
    if (4 * i + 3 < n) {
        const float4 p = ((const float4 *)x)[i], q = ((const float4 *)y)[i];
        ((float4 *)z)[i] = make_float4(a * p.x + b * q.x, a * p.y + b * q.y, a * p.z + b * q.z, a * p.w + b * q.w);
    }
    if (i < n && i >= n / 4 * 4)
        z[i] = a * x[i] + b * y[i];
#else
    if (i < n)
        z[i] = a * x[i] + b * y[i];
#endif
}
