// spec: gather
// Wrong: negative indices are not tested; reads before x where at < 0.
extern "C" __global__ void gather(const float *x, const int *at, float *y, int n, int m)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const int k = at[i];
    y[i] = k < m ? x[k] : 0.0f;
}
