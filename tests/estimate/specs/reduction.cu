#ifndef BLOCK
#define BLOCK 256
#endif
#ifndef ITEMS
#define ITEMS 4
#endif

__device__ __forceinline__ unsigned own_sum(const unsigned *__restrict__ x, unsigned n)
{
    unsigned first = blockIdx.x * (BLOCK * ITEMS) + threadIdx.x, sum = 0;
#pragma unroll
    for (unsigned i = 0; i < ITEMS; i++)
        if (first + i * BLOCK < n)
            sum += x[first + i * BLOCK];
    return sum;
}

extern "C" __global__ void reduce_divergent(const unsigned *__restrict__ x, unsigned *__restrict__ total, unsigned n)
{
    __shared__ unsigned part[BLOCK];
    part[threadIdx.x] = own_sum(x, n);
    __syncthreads();
#pragma unroll 1
    for (unsigned s = 1; s < BLOCK; s *= 2) {
        if (threadIdx.x % (2 * s) == 0)
            part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(total, part[0]);
}

extern "C" __global__ void reduce_conflicting(const unsigned *__restrict__ x, unsigned *__restrict__ total, unsigned n)
{
    __shared__ unsigned part[BLOCK];
    part[threadIdx.x] = own_sum(x, n);
    __syncthreads();
#pragma unroll 1
    for (unsigned s = 1; s < BLOCK; s *= 2) {
        unsigned at = 2 * s * threadIdx.x;
        if (at < BLOCK)
            part[at] += part[at + s];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(total, part[0]);
}

extern "C" __global__ void reduce_sequential(const unsigned *__restrict__ x, unsigned *__restrict__ total, unsigned n)
{
    __shared__ unsigned part[BLOCK];
    part[threadIdx.x] = own_sum(x, n);
    __syncthreads();
#pragma unroll 1
    for (unsigned s = BLOCK / 2; s > 0; s /= 2) {
        if (threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(total, part[0]);
}

extern "C" __global__ void reduce_shuffled(const unsigned *__restrict__ x, unsigned *__restrict__ total, unsigned n)
{
    __shared__ unsigned part[32];
    unsigned sum = own_sum(x, n);
#pragma unroll
    for (unsigned s = 16; s > 0; s /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, s);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < BLOCK / 32 ? part[threadIdx.x] : 0;
#pragma unroll
        for (unsigned s = 16; s > 0; s /= 2)
            sum += __shfl_xor_sync(0xffffffffu, sum, s);
        if (threadIdx.x == 0)
            atomicAdd(total, sum);
    }
}
