// spec: axpby   expect: launch,compile,unsafe
// Each thread takes a megabyte of local memory.
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT
    volatile float many[1 << 18];
    for (int k = 0; k < 1 << 18; k++)
        many[k] = a;
    if (many[i & 1023] != a)
        return;
#endif
    if (i < n)
        z[i] = a * x[i] + b * y[i];
}
