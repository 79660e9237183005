#ifndef BLOCK
#define BLOCK 256
#endif
#ifndef ITEMS
#define ITEMS 4
#endif

extern "C" __global__ void copy_strided(const unsigned *__restrict__ x, unsigned *__restrict__ y, unsigned n)
{
    unsigned first = blockIdx.x * (BLOCK * ITEMS) + threadIdx.x;
#pragma unroll
    for (unsigned i = 0; i < ITEMS; i++)
        if (first + i * BLOCK < n)
            y[first + i * BLOCK] = x[first + i * BLOCK];
}

extern "C" __global__ void copy_contiguous(const unsigned *__restrict__ x, unsigned *__restrict__ y, unsigned n)
{
    unsigned first = (blockIdx.x * BLOCK + threadIdx.x) * ITEMS;
#pragma unroll 1
    for (unsigned i = 0; i < ITEMS; i++)
        if (first + i < n)
            y[first + i] = x[first + i];
}

extern "C" __global__ void copy_wide(const uint4 *__restrict__ x, uint4 *__restrict__ y, unsigned n)
{
    unsigned first = blockIdx.x * (BLOCK * (ITEMS / 4)) + threadIdx.x;
#pragma unroll
    for (unsigned i = 0; i < ITEMS / 4; i++)
        if ((first + i * BLOCK) * 4 + 3 < n)
            y[first + i * BLOCK] = x[first + i * BLOCK];
}
