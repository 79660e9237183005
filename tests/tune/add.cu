/* Kernels of the tests of sweeps. */
extern "C" __global__ void add(const float *x, const float *y, float *z, int n)
{
    int i = (blockIdx.x * BLOCK + threadIdx.x) * ITEMS;
    for (int k = 0; k < ITEMS; k++)
        if (i + k < n)
            z[i + k] = x[i + k] + y[i + k];
}

#define near 0
#define far 100000000
extern "C" __global__ void beyond(const float *x, const float *y, float *z, int n)
{
    int i = (blockIdx.x * BLOCK + threadIdx.x) * ITEMS;
    z[i + FAR] = x[i] + y[i];
}

extern "C" __global__ void forgets(const float *x, const float *y, float *z, int n)
{
    int i = (blockIdx.x * BLOCK + threadIdx.x) * ITEMS;
    if (i < n)
        z[i] = i ? x[i] + y[i] : 0.0f;
}

extern "C" __global__ void gather(const float *x, const float *y, float *z, const unsigned *at, int n)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n)
        z[i] = x[i] + y[at[i]];
}
