extern "C" __global__ void flip(const unsigned char *x, unsigned char *y, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = ~x[i];
}
