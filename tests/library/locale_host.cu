// The constants come out of NVRTC as numbers with a point, and from the spec as texts with a point.
extern "C" __global__ void scaled(const float *x, float *y, int n)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n)
        y[i] = SCALE * x[i] + 0.125f;
}
