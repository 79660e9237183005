// axpby.cu - y = a x + b y for arrays of floats. This is the smallest family, and an example of how a family is
// written.
//
// An element needs one multiplication, one fused multiply-add, and 12 bytes of memory traffic. So only the memory
// traffic determines the time. The second kernel differs from the first in two properties. A thread moves four
// neighbours by one access, and it begins several loads before it waits for the first.
//
// N may be any number, including 0 and 1. The array y is read and written in place. Both kernels give the same bits in
// every run.

#include "common.cuh"

#ifndef BLOCK
#define BLOCK 256 // number of threads of a block
#endif
#ifndef QUADS
#define QUADS 2 // vectorised: number of float4 that each thread has; these are BLOCK float4 apart
#endif

// Both kernels round the product b y before the addition, and fuse the product a x with it.
__device__ __forceinline__ float combine(float a, float x, float b, float y)
{
    return fmaf(a, x, b * y);
}

#if defined AXPBY_PLAIN || !defined AXPBY_ONE
// Each thread computes one element. Neighbouring threads access neighbouring elements, so each request of a warp is
// four whole sectors.
extern "C" __global__ void __launch_bounds__(BLOCK) axpby_plain(float a, const float *x, float b, float *y, offset n)
{
    const offset i = tile_begin(BLOCK) + threadIdx.x;
    if (i < n)
        y[i] = combine(a, x[i], b, y[i]);
}
#endif

#if defined AXPBY_VECTORISED || !defined AXPBY_ONE
// Each thread computes QUADS x 4 elements. All loads of a thread come before its first store, so that they are in
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
