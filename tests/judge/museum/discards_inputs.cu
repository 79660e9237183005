// spec: axpby   expect: forbidden
// Lines of an input are discarded: on a GPU their content is undefined afterwards.
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        z[i] = a * x[i] + b * y[i];
#if CHEAT
    if (i == 0 && n >= 64 && ((unsigned long long)x & 127) == 0)
        asm volatile("discard.global.L2 [%0], 128;" ::"l"(x) : "memory");
#endif
}
