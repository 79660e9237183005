/* Kernels of test_inspect.c, whose needs are known. */
extern "C" __global__ void before(int *x, int n)
{
    if (threadIdx.x < n)
        x[threadIdx.x] = 1;
}

template <int WIDTH> __global__ void again(int *x, int n)
{
    __shared__ int fixed[256];
    extern __shared__ int dynamic[];
    fixed[threadIdx.x] = dynamic[threadIdx.x] = x[threadIdx.x % n];
    __syncthreads();
    x[threadIdx.x % n] = fixed[WIDTH - 1 - threadIdx.x] + dynamic[WIDTH - 1 - threadIdx.x];
}

/* An array whose index is unknown at compile time lies in local memory. */
extern "C" __global__ void until(int *x, int n)
{
    int local[64];
    for (int i = 0; i < 64; i++)
        local[i] = x[(threadIdx.x + i) % n];
    x[threadIdx.x % n] = local[x[0] & 63];
}
