// spec: relu   expect: wrong
// fmaxf() turns NaN into 0, which hides a fault of an earlier layer.
extern "C" __global__ void relu(const float *x, float *y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
#if CHEAT
        y[i] = fmaxf(x[i], 0.0f);
#else
        y[i] = x[i] < 0 ? 0.0f : x[i];
#endif
}
