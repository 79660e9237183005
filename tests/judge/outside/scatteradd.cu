// spec: scatteradd
extern "C" __global__ void scatteradd(const int *at, const int *v, int *y, int n, int k)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&y[at[i]], v[i]);
}
