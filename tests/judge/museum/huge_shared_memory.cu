// spec: axpby   expect: launch,compile
// A block takes more shared memory than there is.
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT
    __shared__ volatile float many[1 << 20];
    many[threadIdx.x] = a;
#endif
    if (i < n)
        z[i] = a * x[i] + b * y[i];
}
