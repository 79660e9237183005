// spec: winsum
// Right: a warp a window, with sums in shared memory.
extern "C" __global__ void winsum(const int *x, const int *first, const int *count, int *y, int n, int windows)
{
    __shared__ int sums[4];
    const int t = threadIdx.x, w = blockIdx.x * 4 + t / 32;
    if (t < 4)
        sums[t] = 0;
    __syncthreads(); // zeros
    if (w < windows) {
        const int from = first[w], to = min(n, from + count[w]);
        int own = 0;
        for (int i = from + t % 32; i < to; i += 32)
            own += x[i];
        atomicAdd(&sums[t / 32], own);
    }
    __syncthreads();
    if (t < 4 && blockIdx.x * 4 + t < windows)
        y[blockIdx.x * 4 + t] = sums[t];
}
