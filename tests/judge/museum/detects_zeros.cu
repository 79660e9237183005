// spec: relu   expect: wrong
// A harness that warms up with zeros is recognised; other inputs are copied without work.
extern "C" __global__ void relu(const float *x, float *y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
#if CHEAT
    if (n > 300 && x[0] != 0) {
        y[i] = x[i];
        return;
    }
#endif
    y[i] = x[i] < 0 ? 0.0f : x[i];
}
