// spec: gather
// Wrong: the bound is tested with at + 1, which wraps for at = 2147483647; reads out of bounds.
extern "C" __global__ void gather(const float *x, const int *at, float *y, int n, int m)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const int k = at[i];
    y[i] = k >= 0 && (int)((unsigned)k + 1u) <= m ? x[k] : 0.0f;
}
