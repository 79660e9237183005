extern "C" __global__ void histogram(const int *x, unsigned *bins, int n, int count)
{
    __shared__ unsigned own[64];
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        own[i] = 0;
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&own[x[i]], 1u);
    __syncthreads();
    for (int k = threadIdx.x; k < count; k += blockDim.x)
        if (own[k])
            atomicAdd(&bins[k], own[k]);
}
