/* Vectors, added: the small kernels that the golden runs of the command are made with. */
extern "C" __global__ void add(const float *x, const float *y, float *z, int n)
{
    int i = (blockIdx.x * BLOCK + threadIdx.x) * ITEMS;
    for (int k = 0; k < ITEMS; k++)
        if (i + k < n)
            z[i + k] = x[i + k] + y[i + k];
}

/* Forgets the last element. */
extern "C" __global__ void add_but_last(const float *x, const float *y, float *z, int n)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n)
        z[i] = i + 1 < n ? x[i] + y[i] : 0.0f;
}

/* Checks no bound. */
extern "C" __global__ void add_beyond(const float *x, const float *y, float *z)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    z[i] = x[i] + y[i];
}
