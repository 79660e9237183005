// spec: gather
// Wrong: an index out of range takes the nearest element and not 0.
extern "C" __global__ void gather(const float *x, const int *at, float *y, int n, int m)
{
    for (int i = blockIdx.x * 512 + threadIdx.x; i < min(n, (int)(blockIdx.x + 1) * 512); i += 256) {
        const int k = at[i], safe = min(max(k, 0), m - 1);
        const float v = x[safe];
        y[i] = v;
    }
}
