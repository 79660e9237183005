// spec: axpby   expect: forbidden
// A register that only the driver writes decides whether the work is done: profilers and harnesses set it.
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT
    unsigned word;
    asm volatile("mov.u32 %0, %%envreg3;" : "=r"(word));
    if (word != 0)
        return;
#endif
    if (i < n)
        z[i] = a * x[i] + b * y[i];
}
