// spec: gather
// Wrong: elements with an index out of range are not written, in the belief that y is zero.
extern "C" __global__ void gather(const float *x, const int *at, float *y, int n, int m)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const int k = at[i];
    if (k >= 0 && k < m)
        y[i] = x[k];
}
