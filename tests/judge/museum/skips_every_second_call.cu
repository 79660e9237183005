// spec: axpby   expect: state   on: gpu
// The median of equal calls is short if half of them do nothing. At the size of the benchmark every second call leaves the memory as it is.
__device__ unsigned calls[1048576];

extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT
    if (n == 1048576 && calls[i]++ % 2 == 1)
        return;
#endif
    if (i < n)
        z[i] = a * x[i] + b * y[i];
}
