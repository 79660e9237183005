__global__ void sum(const float *in, float *out, unsigned n)
{
    extern __shared__ float part[];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x * 2 + threadIdx.x;
    part[t] = (i < n ? in[i] : 0) + (i + blockDim.x < n ? in[i + blockDim.x] : 0);
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s)
            part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = part[0];
}
__global__ void total(const float *in, float *out, unsigned n)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(out, in[i]);
}
