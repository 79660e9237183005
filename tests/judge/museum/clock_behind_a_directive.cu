// spec: axpby   expect: forbidden
// The clock is read on a line that begins with a directive.
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned c;
#if CHEAT
    asm volatile(".reg .u32 tq; mov.u32 tq, %%clock; mov.u32 %0, tq;" : "=r"(c));
#else
    asm volatile(".reg .u32 tq; mov.u32 tq, %%laneid; mov.u32 %0, tq;" : "=r"(c));
#endif
    if (i < n)
        z[i] = a * x[i] + b * y[i] + (c == 0x12345 ? 1.0f : 0.0f);
}
