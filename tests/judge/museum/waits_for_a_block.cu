// spec: axpby   expect: timeout,unsafe
// Blocks wait for a block that has not started.
__device__ volatile int flag;

extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT
    if (threadIdx.x == 0 && n > 256) {
        if (blockIdx.x == gridDim.x + 1)
            flag = 1;
        while (!flag)
            ;
    }
#endif
    if (i < n)
        z[i] = a * x[i] + b * y[i];
}
