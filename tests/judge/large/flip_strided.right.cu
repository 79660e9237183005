// spec: flip
// Every thread goes on by the width of the grid.
extern "C" __global__ void flip(const unsigned char *x, unsigned char *y, long long n)
{
    for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < n; i += 256ll * gridDim.x)
        y[i] = 255 - x[i];
}
