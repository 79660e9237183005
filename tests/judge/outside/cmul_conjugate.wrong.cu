// spec: cmul
// Wrong: the second factor is conjugated.
extern "C" __global__ void cmul(const float2 *a, const float2 *b, float2 *y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const float2 p = a[i], q = b[i];
    y[i] = make_float2(p.x * q.x + p.y * q.y, p.y * q.x - p.x * q.y);
}
