// spec: axpby   expect: wrong,unwritten
// Work is left out if the output begins at a multiple of 64 KiB, as large arrays of a program do and small test arrays do not.
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT
    if (((unsigned long long)z & 0xffff) == 0 && i % 2)
        return;
#endif
    if (i < n)
        z[i] = a * x[i] + b * y[i];
}
