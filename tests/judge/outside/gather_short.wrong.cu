// spec: gather
// Wrong: the index is cut to 16 bits; wrong for at = 65536, which is out of range.
extern "C" __global__ void gather(const float *x, const int *at, float *y, int n, int m)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const int k = (short)at[i];
    y[i] = k >= 0 && k < m ? x[k] : 0.0f;
}
