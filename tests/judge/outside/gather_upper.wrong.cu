// spec: gather
// Wrong: the index M is taken for valid; reads past the end of x where at = M.
extern "C" __global__ void gather(const float *x, const int *at, float *y, int n, int m)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const int k = at[i];
    y[i] = k >= 0 && k <= m ? x[k] : 0.0f;
}
