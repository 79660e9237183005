// spec: flip
// An index of 32 bits with a sign: from 2^31 on the kernel accesses memory before the arrays.
extern "C" __global__ void flip(const unsigned char *x, unsigned char *y, long long n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 255 - x[i];
}
