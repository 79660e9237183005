/* For the golden runs of the checks: a race. */
template <bool wait> __global__ void turn(const float *x, float *z)
{
    __shared__ float s[BLOCK];
    s[threadIdx.x] = x[blockIdx.x * BLOCK + threadIdx.x];
    if (wait)
        __syncthreads();
    z[blockIdx.x * BLOCK + BLOCK - 1 - threadIdx.x] = s[BLOCK - 1 - threadIdx.x];
}
