// spec: axpby
// wrong bound-less: i < n; => i < n - 1;
// wrong bound-more: i < n; => i <= n;
// wrong sign: b * y[i] => -b * y[i]
// wrong swapped: fmaf(a, x[i], b * y[i]) => fmaf(b, x[i], a * y[i])
// wrong starts-at-one: blockIdx.x * blockDim.x + threadIdx.x; => blockIdx.x * blockDim.x + threadIdx.x + 1;
// wrong index: b * y[i] => b * y[i ^ 1]
// wrong scaled: z[i] = fmaf(a, x[i], b * y[i]) => z[i] = fmaf(a, x[i], b * y[i]) * 1.00001f
// A loop with the stride of the grid.
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        z[i] = fmaf(a, x[i], b * y[i]);
}
