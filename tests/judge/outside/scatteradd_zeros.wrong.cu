// spec: scatteradd
// Wrong: no barrier after the zeros; a race.
extern "C" __global__ void scatteradd(const int *at, const int *v, int *y, int n, int k)
{
    __shared__ int own[256];
    own[threadIdx.x] = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += 8 * 256)
        atomicAdd(&own[at[i]], v[i]);
    __syncthreads(); // sums
    if (own[threadIdx.x] != 0)
        atomicAdd(&y[threadIdx.x], own[threadIdx.x]);
}
