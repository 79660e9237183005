// spec: histogram   expect: unsafe,wrong
// The first block clears the answer: right as long as it runs first.
extern "C" __global__ void histogram(const int *x, unsigned *bins, int n, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT
    if (i < count)
        bins[i] = 0;
    __syncthreads();
#endif
    if (i < n)
        atomicAdd(&bins[x[i]], 1u);
}
