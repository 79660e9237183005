extern "C" __global__ void flip(const unsigned char *x, unsigned char *y, long long n)
{
    const unsigned long long i = blockIdx.x * 256ull + threadIdx.x;
    if (i < n)
        y[i] = 255 - x[i];
}
