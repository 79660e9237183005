// spec: flip
// An index of 32 bits with a sign: elements from 2^31 on are left out.
extern "C" __global__ void flip(const unsigned char *x, unsigned char *y, long long n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 0 && i < n)
        y[i] = 255 - x[i];
}
