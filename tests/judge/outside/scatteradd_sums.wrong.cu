// spec: scatteradd
// Wrong: no barrier before the sums are read; a race.
extern "C" __global__ void scatteradd(const int *at, const int *v, int *y, int n, int k)
{
    __shared__ int own[256];
    own[threadIdx.x] = 0;
    __syncthreads(); // zeros
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += 8 * 256)
        atomicAdd(&own[at[i]], v[i]);
    if (own[threadIdx.x] != 0)
        atomicAdd(&y[threadIdx.x], own[threadIdx.x]);
}
