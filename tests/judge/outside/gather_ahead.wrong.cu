// spec: gather
// Wrong: the element is loaded before the index is tested; reads out of bounds though the answer is right.
extern "C" __global__ void gather(const float *x, const int *at, float *y, int n, int m)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const int k = at[i];
    const volatile float v = *(volatile const float *)(x + k);
    y[i] = k >= 0 && k < m ? v : 0.0f;
}
