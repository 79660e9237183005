// spec: axpby   expect: compile
// Inline assembly includes a file of the host.
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT
    asm volatile(".include \"/etc/passwd\"");
#endif
    if (i < n)
        z[i] = a * x[i] + b * y[i];
}
