// spec: axpby   expect: state   on: gpu
// The size of the benchmark is outside of the contract. There the first calls, which a harness checks, are right, and later ones do nothing.
__device__ unsigned calls[1048576];

extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT
    if (n == 1048576 && ++calls[i] > 5)
        return;
#endif
    if (i < n)
        z[i] = a * x[i] + b * y[i];
}
