// bezier.cu - converts quadratic Bezier curves to points. A curve with more curvature gets more points.
//
// A curve has three control points. A curve gets 1 to MOST points, depending on its curvature. The curvature is the
// distance of the middle control point from the midpoint of the other two, divided by the distance of those two.
// Therefore the work of a curve is known only after its data has been read, and it may differ by a factor of MOST. The
// points of all curves are contiguous: curve c has points[offsets[c]] to points[offsets[c + 1] - 1].
//
// The resulting offsets are exact, because the number of points depends only on correctly rounded operations. If the
// curvature is NaN (all three control points are the same), the curve has one point. The coordinates of a point have a
// few rounding errors. The bits are the same in every run. offsets have 32 bits, so there must be fewer than 2^32
// points.
//
// The time is bound by writing the points, which are 8 bytes each. The control points need little memory traffic in
// comparison.
//
// The tuning parameters are macros. The engine defines these macros from the spec. The defaults below only let an
// editor or a compiler parse this file alone. A kernel is compiled if its own macro BEZIER_<NAME> is set, or if
// BEZIER_ONE is not set.

#include "common.cuh"

#ifndef MOST
#define MOST 1000 // largest number of points of a curve
#endif
#ifndef SCALE
#define SCALE 64 // number of points for a curvature of 1
#endif
#ifndef BLOCK
#define BLOCK 256 // number of threads of a block
#endif
#ifndef PAIRS
#define PAIRS 4 // two_pass: number of pairs of points that each thread writes
#endif
#ifndef FEW
#define FEW 4 // two_pass: the largest number of curves for which a tile is filled curve by curve
#endif
#ifndef CHILD
#define CHILD 64 // number of threads of a block of a child grid
#endif

typedef unsigned u32;

enum : u32 { TILE = 2 * PAIRS * WARP }; // points that a warp of bezier_two_pass writes

struct Curve {
    float2 from, control, to;
};

// Returns the number of points of a curve. No multiplication is fused with an addition, because the host must count
// with the same roundings.
__device__ __forceinline__ u32 point_count(const Curve &c)
{
    float x = __fsub_rn(c.control.x, __fmul_rn(0.5f, __fadd_rn(c.from.x, c.to.x)));
    float y = __fsub_rn(c.control.y, __fmul_rn(0.5f, __fadd_rn(c.from.y, c.to.y)));
    float w = __fsub_rn(c.to.x, c.from.x), h = __fsub_rn(c.to.y, c.from.y);
    float bend = __fsqrt_rn(__fadd_rn(__fmul_rn(x, x), __fmul_rn(y, y)));
    float length = __fsqrt_rn(__fadd_rn(__fmul_rn(w, w), __fmul_rn(h, h)));
    float count = __fmul_rn((float)SCALE, __fdiv_rn(bend, length));
    return count >= (float)MOST ? MOST : count >= 1 ? (u32)count : 1;
}

// Values that all points of a curve share: the number of the last point, and 1 divided by this number.
struct Steps {
    float last, inverse;
    __device__ __forceinline__ explicit Steps(u32 points)
        : last((float)(points - 1)), inverse(points > 1 ? __fdividef(1.0f, last) : 0)
    {
    }
};

// Returns point i of a curve: (1 - t)^2 from + 2 t (1 - t) control + t^2 to, where t = i / last goes from 0 to 1. The
// quotient is computed as a product, corrected once by its remainder. The product and its correction are three
// instructions, while a division takes about ten.
__device__ __forceinline__ float2 point(const Curve &c, float i, Steps steps)
{
    float q = i * steps.inverse, t = fmaf(fmaf(-q, steps.last, i), steps.inverse, q);
    float s = 1 - t, a = s * s, b = 2 * t * s, d = t * t;
    return {a * c.from.x + b * c.control.x + d * c.to.x, a * c.from.y + b * c.control.y + d * c.to.y};
}

// ---- the first point of each curve ----

#if defined BEZIER_COUNT || !defined BEZIER_ONE
// Each thread counts the points of one curve. The element offsets[c] becomes the number of points before curve c in its
// block, and sums[b] becomes the number of points of block b.
extern "C" __global__ void __launch_bounds__(BLOCK)
    bezier_count(const Curve *curves, u32 *offsets, u32 *sums, u32 count)
{
    __shared__ u32 warps[BLOCK / WARP];
    u32 c = blockIdx.x * BLOCK + threadIdx.x, mine = c < count ? point_count(curves[c]) : 0;
    u32 sum = warp_scan<Plus<u32>>(mine), before = 0;
    if (lane_id() == WARP - 1)
        warps[warp_id()] = sum;
    __syncthreads();
    for (unsigned w = 0; w < warp_id(); w++)
        before += warps[w];
    if (c < count)
        offsets[c] = before + sum - mine;
    if (threadIdx.x == BLOCK - 1)
        sums[blockIdx.x] = before + sum;
}

// Each block sums the counts of all blocks before it, and adds the result to the offsets of its own curves. There are
// few blocks. So reading all their sums takes less time than a chain of blocks that wait for each other. If points are
// later divided into tiles, the kernel also stores the curve of each tile's first point. Otherwise a search would have
// to find this curve.
extern "C" __global__ void __launch_bounds__(BLOCK)
    bezier_place(u32 *offsets, const u32 *sums, u32 *first_of_tile, u32 count)
{
    __shared__ u32 warps[BLOCK / WARP];
    u32 part = 0, before = 0, c = blockIdx.x * BLOCK + threadIdx.x;
    for (u32 b = threadIdx.x; b < blockIdx.x; b += BLOCK)
        part += sums[b];
    part = warp_all_reduce<Plus<u32>>(part);
    if (lane_id() == 0)
        warps[warp_id()] = part;
    u32 start = c < count ? offsets[c] : 0, end = sums[blockIdx.x];
    if (threadIdx.x + 1 < BLOCK && c + 1 < count)
        end = offsets[c + 1];
    __syncthreads(); // all threads have read their neighbour's value
    for (unsigned w = 0; w < BLOCK / WARP; w++)
        before += warps[w];
    start += before;
    end += before;
    if (c < count)
        offsets[c] = start;
    if (c + 1 == count || (count == 0 && c == 0))
        offsets[count] = end;
#if defined BEZIER_TWO_PASS || !defined BEZIER_ONE
    if (c < count)
        for (offset tile = ceil_div((offset)start, TILE); tile * TILE < end; tile++)
            first_of_tile[tile] = c;
#endif
}
#endif

// ---- the points ----

#if defined BEZIER_BLOCK_A_CURVE || !defined BEZIER_ONE
// Each block computes the points of one curve. If curves are nearly straight, most threads of a block are idle. A block
// with many points takes long.
extern "C" __global__ void __launch_bounds__(BLOCK)
    bezier_block_a_curve(const Curve *curves, const u32 *offsets, float2 *points)
{
    Curve c = curves[blockIdx.x];
    u32 first = offsets[blockIdx.x], n = offsets[blockIdx.x + 1] - first;
    Steps steps(n);
    for (u32 i = threadIdx.x; i < n; i += BLOCK)
        points[first + i] = point(c, i, steps);
}
#endif

#if defined BEZIER_TWO_PASS || !defined BEZIER_ONE
struct Larger {
    typedef u32 item;
    static __device__ __forceinline__ u32 combine(u32 a, u32 b)
    {
        return max(a, b);
    }
};

// Writes the points of curve c in the tile from `begin` to `end`. All lanes compute points of the same curve and read
// its control points together.
__device__ __forceinline__ void fill_curve(const Curve *curves, const u32 *offsets, float2 *points, u32 c, u32 begin,
                                           u32 end)
{
    u32 start = offsets[c], stop = offsets[c + 1], low = max(start, begin), span = min(stop, end) - low;
    Curve curve = curves[c];
    Steps steps(stop - start);
    float number = (float)(int)(begin + 2 * lane_id() - start); // the float is exact, as all numbers of points are
#pragma unroll
    for (u32 k = 0; k < PAIRS; k++) {
        u32 place = begin + (k * WARP + lane_id()) * 2;
        bool one = place - low < span, next = place + 1 - low < span;
        if (!one && !next)
            continue;
        float i = number + (float)(2 * WARP * k);
        float2 a = point(curve, i, steps), b = point(curve, i + 1, steps);
        if (one && next)
            // neighbouring lanes write neighbouring points
            *(float4 *)(points + place) = make_float4(a.x, a.y, b.x, b.y);
        else if (one)
            points[place] = a;
        else
            points[place + 1] = b;
    }
}

// Fills a tile of many curves. Each curve that begins in the tile writes its number at the place of its first point.
// The curve of a point is the largest number up to the place of the point. `first` is the tile's first curve, which may
// begin before the tile.
__device__ __forceinline__ void fill_curves(const Curve *curves, const u32 *offsets, float2 *points, u32 first, u32 last,
                                            u32 begin, u32 end, u32 *owner)
{
    for (u32 i = lane_id(); i < TILE; i += WARP)
        owner[i] = 0;
    __syncwarp();
    for (u32 c = first + 1 + lane_id(); c <= last; c += WARP) {
        u32 start = offsets[c];
        if (start < end)
            owner[start - begin] = c - first;
    }
    __syncwarp();
    u32 current = 0;
#pragma unroll
    for (u32 k = 0; k < 2 * PAIRS; k++) { // the lanes take turns, so that no two lanes use the same bank
        u32 here = warp_scan<Larger>(owner[k * WARP + lane_id()]);
        here = max(here, current);
        owner[k * WARP + lane_id()] = here;
        current = __shfl_sync(ALL_LANES, here, WARP - 1);
    }
    __syncwarp();
#pragma unroll
    for (u32 k = 0; k < PAIRS; k++) {
        u32 at = (k * WARP + lane_id()) * 2, place = begin + at;
        if (place >= end)
            break;
        u32 c = first + owner[at], start = offsets[c];
        float2 a = point(curves[c], place - start, Steps(offsets[c + 1] - start));
        if (place + 1 < end) {
            if (owner[at + 1] != owner[at]) {
                c = first + owner[at + 1];
                start = offsets[c];
            }
            float2 b = point(curves[c], place + 1 - start, Steps(offsets[c + 1] - start));
            *(float4 *)(points + place) = make_float4(a.x, a.y, b.x, b.y);
        } else {
            points[place] = a;
        }
    }
}

// Each warp fills one tile of points, which may belong to any curves. So all warps have the same amount of work. If a
// tile has few curves, it is filled curve by curve. If a tile has many curves, each point looks up its curve. No warp
// waits for another.
extern "C" __global__ void __launch_bounds__(BLOCK)
    bezier_two_pass(const Curve *curves, const u32 *offsets, const u32 *first_of_tile, float2 *points, u32 count,
                    u32 total)
{
    __shared__ u32 owner[BLOCK / WARP][TILE];
    u32 tile = blockIdx.x * (BLOCK / WARP) + warp_id();
    if (tile >= ceil_div(total, TILE))
        return;
    u32 begin = tile * TILE, end = total - begin > TILE ? begin + TILE : total;
    u32 first = first_of_tile[tile], last = end < total ? first_of_tile[tile + 1] : count - 1;
    if (last - first < FEW)
        for (u32 c = first; c <= last; c++)
            fill_curve(curves, offsets, points, c, begin, end);
    else
        fill_curves(curves, offsets, points, first, last, begin, end, owner[warp_id()]);
}
#endif

// ---- child grids ----

#if defined BEZIER_DYNAMIC
// Each thread counts the points of one curve, allocates memory for them, and launches a grid that computes them. A
// launch of a child grid costs more than most curves. The points are in the order in which memory was allocated. The
// kernel bezier_pack copies them into the order of the curves.
extern "C" __global__ void bezier_child(Curve c, float2 *points, u32 n)
{
    u32 i = blockIdx.x * CHILD + threadIdx.x;
    if (i < n)
        points[i] = point(c, i, Steps(n));
}

// Processes at most the curves `first` to `first` + 2047, because a device keeps at most 2048 launches pending.
extern "C" __global__ void __launch_bounds__(BLOCK)
    bezier_parent(const Curve *curves, float2 *pool, u32 *taken, u32 *places, u32 first, u32 count)
{
    u32 c = first + blockIdx.x * BLOCK + threadIdx.x;
    if (c >= count)
        return;
    u32 n = point_count(curves[c]), place = atomicAdd(taken, n);
    places[c] = place;
    bezier_child<<<(n + CHILD - 1) / CHILD, CHILD>>>(curves[c], pool + place, n);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    bezier_pack(const float2 *pool, const u32 *places, const u32 *offsets, float2 *points)
{
    u32 first = offsets[blockIdx.x], n = offsets[blockIdx.x + 1] - first, from = places[blockIdx.x];
    for (u32 i = threadIdx.x; i < n; i += BLOCK)
        points[first + i] = pool[from + i];
}
#endif
