#ifndef BINS
#define BINS 256
#endif
#ifndef BLOCK
#define BLOCK 256
#endif
#ifndef ITEMS
#define ITEMS 4
#endif

extern "C" __global__ void histogram_global(const unsigned *__restrict__ x, unsigned *__restrict__ bins, unsigned n)
{
    unsigned first = blockIdx.x * (BLOCK * ITEMS) + threadIdx.x;
#pragma unroll
    for (unsigned i = 0; i < ITEMS; i++)
        if (first + i * BLOCK < n)
            atomicAdd(&bins[x[first + i * BLOCK] % BINS], 1u);
}

extern "C" __global__ void histogram_shared(const unsigned *__restrict__ x, unsigned *__restrict__ bins, unsigned n)
{
    __shared__ unsigned own[BINS];
    for (unsigned b = threadIdx.x; b < BINS; b += BLOCK)
        own[b] = 0;
    __syncthreads();
    unsigned first = blockIdx.x * (BLOCK * ITEMS) + threadIdx.x;
#pragma unroll
    for (unsigned i = 0; i < ITEMS; i++)
        if (first + i * BLOCK < n)
            atomicAdd(&own[x[first + i * BLOCK] % BINS], 1u);
    __syncthreads();
    for (unsigned b = threadIdx.x; b < BINS; b += BLOCK)
        if (own[b])
            atomicAdd(&bins[b], own[b]);
}
