// spec: axpby   expect: forbidden
// The work depends on the clock of the whole device, so that it is done only while somebody measures.
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT
    unsigned long long now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    if (now == 1)
        return;
#endif
    if (i < n)
        z[i] = a * x[i] + b * y[i];
}
