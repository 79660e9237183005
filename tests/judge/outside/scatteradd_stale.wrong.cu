// spec: scatteradd
// Wrong: the sums lie in a __device__ array that is not set to zero again; wrong in the second call.
__device__ int sums[256];
__device__ unsigned finished;

extern "C" __global__ void scatteradd(const int *at, const int *v, int *y, int n, int k)
{
    __shared__ bool last;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        atomicAdd(&sums[at[i]], v[i]);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(&finished, 1u) == gridDim.x - 1;
    __syncthreads();
    if (last) {
        __threadfence();
        y[threadIdx.x] = atomicAdd(&sums[threadIdx.x], 0);
        if (threadIdx.x == 0)
            finished = 0;
    }
}
