// spec: scatteradd
// Wrong: no atomic; updates are lost if two threads have the same index.
extern "C" __global__ void scatteradd(const int *at, const int *v, int *y, int n, int k)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[at[i]] += v[i];
}
