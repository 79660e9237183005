/* Kernels for the tests of the room on a device. */
#if BROKEN
#error this is not to be compiled
#endif

extern "C" __global__ void copy(const float *x, float *z, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        z[i] = x[i];
}

extern "C" __global__ void holds(const float *x, float *z, int n) /* 40,000 bytes of static shared memory */
{
    __shared__ float held[10000];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    held[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    if (i < n)
        z[i] = held[threadIdx.x];
}

extern "C" __global__ void wide(const float *x, float *z, int n) /* more than 128 registers, all in use at once */
{
    float held[180];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 180; k++)
        held[k] = x[(i + k) % n];
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 180; k++)
        sum = sum * held[k] + held[179 - k];
    if (i < n)
        z[i] = sum;
}
