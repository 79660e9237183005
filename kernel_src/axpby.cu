// axpby.cu - y = a x + b y for arrays of floats: the smallest family, an example of how a family is written.
//
// An element takes one multiplication, one fused multiply-add, and 12 bytes of memory traffic, so only the memory
// traffic determines the time. The second kernel differs from the first in two properties: a thread moves four
// neighbours by one access, and it begins several loads before it waits for the first.
//
// N may be any number, including 0 and 1. The array y is read and written in place. Both kernels give the same bits in
// every run.

#include "common.cuh"

#ifndef BLOCK
#define BLOCK 256 // threads of a block
#endif
#ifndef QUADS
#define QUADS 2 // vectorised: number of float4 of a thread, which are BLOCK float4 apart
#endif

// Both kernels round the product a x once before the sum.
__device__ __forceinline__ float combine(float a, float x, float b, float y)
{
    return fmaf(a, x, b * y);
}

#if defined AXPBY_PLAIN || !defined AXPBY_ONE
// One thread per element. Neighbouring threads access neighbouring elements, so each request of a warp is four whole
// sectors.
extern "C" __global__ void __launch_bounds__(BLOCK) axpby_plain(float a, const float *x, float b, float *y, offset n)
{
    const offset i = tile_begin(BLOCK) + threadIdx.x;
    if (i < n)
        y[i] = combine(a, x[i], b, y[i]);
}
#endif

#if defined AXPBY_VECTORISED || !defined AXPBY_ONE
// Each thread computes QUADS x 4 elements. All loads of a thread stand before its first store, so that they are in
// flight together. The last tile of the array is computed element by element.
extern "C" __global__ void __launch_bounds__(BLOCK) axpby_vectorised(float a, const float *x, float b, float *y, offset n)
{
    const offset begin = tile_begin(BLOCK * QUADS * 4);
    if (n - begin < BLOCK * QUADS * 4 || !is_aligned<16>(x, y)) {
        for (offset i = begin + threadIdx.x; i < n && i < begin + BLOCK * QUADS * 4; i += BLOCK)
            y[i] = combine(a, x[i], b, y[i]);
        return;
    }
    float4 xs[QUADS], ys[QUADS];
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        xs[q] = load_quad(x + begin + (q * BLOCK + threadIdx.x) * 4);
        ys[q] = load_quad(y + begin + (q * BLOCK + threadIdx.x) * 4);
    }
#pragma unroll
    for (int q = 0; q < QUADS; q++)
        store_quad(y + begin + (q * BLOCK + threadIdx.x) * 4,
                   float4{combine(a, xs[q].x, b, ys[q].x), combine(a, xs[q].y, b, ys[q].y),
                          combine(a, xs[q].z, b, ys[q].z), combine(a, xs[q].w, b, ys[q].w)});
}
#endif
