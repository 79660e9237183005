// convnet.cuh - the common part of the sources of a convolution layer. It has the sizes of the layer, which are macros,
// and the functions that return the index of an element in its array.

#ifndef CONVNET_CUH
#define CONVNET_CUH

#include "common.cuh"

#ifndef CHANNELS // the extents of the layer; all come from the spec's sizes
#define CHANNELS 64
#define HEIGHT 56
#define WIDTH 56
#define FILTERS 64
#define FILTER_H 3
#define FILTER_W 3
#define STRIDE_H 1
#define STRIDE_W 1
#define PAD_H 1
#define PAD_W 1
#define DILATION_H 1
#define DILATION_W 1
#define GROUPS 1
#define NHWC 0
#define OUT_H 56
#define OUT_W 56
#endif

__host__ __device__ constexpr unsigned at_least_one(unsigned value)
{
    return value > 0 ? value : 1;
}

enum : unsigned {
    TAPS = FILTER_H * FILTER_W, // number of taps (elements) of a filter in one channel
    POINTS = OUT_H * OUT_W,     // number of points of a channel of y
    GROUP_CHANNELS = CHANNELS / GROUPS,
    GROUP_FILTERS = FILTERS / GROUPS,
    GROUP_FILTERS_1 = at_least_one(GROUP_FILTERS), // at least 1, because these numbers are divisors
    FILTERS_1 = at_least_one(FILTERS),
    POINTS_1 = at_least_one(POINTS),
    OUT_W_1 = at_least_one(OUT_W)
};

// Returns the index of an element in its array.
__device__ __forceinline__ offset index_x(unsigned image, unsigned channel, unsigned row, unsigned column)
{
    return NHWC ? (((offset)image * HEIGHT + row) * WIDTH + column) * CHANNELS + channel
                : (((offset)image * CHANNELS + channel) * HEIGHT + row) * WIDTH + column;
}

__device__ __forceinline__ offset index_w(unsigned filter, unsigned channel, unsigned r, unsigned s)
{
    return NHWC ? (((offset)filter * FILTER_H + r) * FILTER_W + s) * GROUP_CHANNELS + channel
                : (((offset)filter * GROUP_CHANNELS + channel) * FILTER_H + r) * FILTER_W + s;
}

// `point` is the number of a point of y: its row times the width of y, plus its column.
__device__ __forceinline__ offset index_y(unsigned image, unsigned filter, unsigned point)
{
    return NHWC ? ((offset)image * POINTS + point) * FILTERS + filter
                : ((offset)image * FILTERS + filter) * POINTS + point;
}

// Returns an element of x, or zero outside the image. Rows and columns before the first one are large unsigned numbers.
__device__ __forceinline__ float image_at(const float *__restrict__ x, unsigned image, unsigned channel, unsigned row,
                                          unsigned column)
{
    return row < HEIGHT && column < WIDTH ? x[index_x(image, channel, row, column)] : 0.0f;
}

// Loads the value at `from`, or returns zero if `there` is 0. The load has a predicate instead of a branch, because a
// branch would delay the following loads until this load is complete.
__device__ __forceinline__ float load_if(const float *from, unsigned there)
{
    float value = 0.0f;
    asm("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.nc.f32 %0, [%1]; }"
        : "+f"(value)
        : "l"((offset)__cvta_generic_to_global(from)), "r"((unsigned)there));
    return value;
}

// Does the same as load_if() for `count` neighbouring values. If these values are aligned, one load reads all of them.
// In this case `to` must be 0 before the call.
template <unsigned count>
__device__ __forceinline__ void load_word(float *to, const float *from, unsigned there, bool aligned)
{
    offset global = __cvta_generic_to_global(from);
    if (count == 4 && aligned) {
        asm("{ .reg .pred p; setp.ne.u32 p, %5, 0; @p ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4]; }"
            : "+f"(to[0]), "+f"(to[1 % count]), "+f"(to[2 % count]), "+f"(to[3 % count])
            : "l"(global), "r"(there));
    } else if (count == 2 && aligned) {
        asm("{ .reg .pred p; setp.ne.u32 p, %3, 0; @p ld.global.nc.v2.f32 {%0, %1}, [%2]; }"
            : "+f"(to[0]), "+f"(to[1 % count])
            : "l"(global), "r"(there));
    } else {
#pragma unroll
        for (unsigned i = 0; i < count; ++i)
            to[i] = load_if(from + i, there);
    }
}

// Computes one element of y: the sum of `splits` arrays of `count` elements. The arrays are added in order.
template <unsigned splits>
__device__ __forceinline__ void add_splits(const float *__restrict__ partial, float *__restrict__ y, offset count)
{
    offset i = grid_thread<256>();
    if (i >= count)
        return;
    float sum = 0.0f;
#pragma unroll
    for (unsigned s = 0; s < splits; ++s)
        sum += partial[s * count + i];
    y[i] = sum;
}

#endif
