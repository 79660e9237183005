// spec: axpby   expect: forbidden
// The number of the launch tells the warm-up from the measurement.
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT
    unsigned long long launch;
    asm volatile("mov.u64 %0, %gridid;" : "=l"(launch));
    if (launch > 1000000)
        return;
#endif
    if (i < n)
        z[i] = a * x[i] + b * y[i];
}
