// bezier.cu - quadratic Bezier curves as points: the more a curve bends, the more points.
//
// A curve has three control points. Its number of points is 1 to MOST, by its curvature: how far the middle control point
// lies from the middle of the other two, over the distance of those. So the work of a curve is known only after a look at
// its data, and curves differ by a factor of MOST. The points of all curves lie one after the other: curve c has
// points[offsets[c]] to points[offsets[c + 1] - 1].
//
// What the answer is: offsets are exact, since the number of points takes only correctly rounded operations; a curve
// whose curvature is not a number (all three control points the same) has one point. A point is rounded a few times. The
// bits are the same in every run. offsets have 32 bits: fewer than 2^32 points.
//
// The bound is to write the points, 8 bytes each; control points are few beside them.
//
// The tuning parameters are macros. A spec sets them; the defaults are for an editor or a compiler that is given none.
// A kernel is compiled where its own macro BEZIER_<NAME> is set, or where BEZIER_ONE is not.

#include "common.cuh"

#ifndef MOST
#define MOST 1000 // points of a curve at most
#endif
#ifndef SCALE
#define SCALE 64 // points for a curvature of 1
#endif
#ifndef BLOCK
#define BLOCK 256 // threads of a block
#endif
#ifndef PAIRS
#define PAIRS 2 // two_pass: pairs of points per thread
#endif
#ifndef CHILD
#define CHILD 64 // threads of a child grid's block
#endif

typedef unsigned u32;

enum : u32 { TILE = 2 * PAIRS * BLOCK }; // points of a block of bezier_two_pass

struct Curve {
    float2 from, control, to;
};

// No multiplication is fused with an addition: the host counts with the same roundings.
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

// Point i of n: (1 - t)^2 from + 2 t (1 - t) control + t^2 to, t from 0 to 1.
__device__ __forceinline__ float2 point(const Curve &c, u32 i, u32 n)
{
    float t = n > 1 ? (float)i / (float)(n - 1) : 0, s = 1 - t, a = s * s, b = 2 * t * s, d = t * t;
    return {a * c.from.x + b * c.control.x + d * c.to.x, a * c.from.y + b * c.control.y + d * c.to.y};
}

// ---- where the points of a curve begin ----

#if defined BEZIER_COUNT || !defined BEZIER_ONE
// A thread a curve counts. offsets[c] is what lies before curve c among the curves of its block, sums[b] what block b has.
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

// Each block adds up what the blocks before it have, and puts that before its own curves. Blocks are few, so that reading
// all their sums takes less than waiting for one another in a chain. Where points are then shared out in tiles, the curve
// of a tile's first point is noted too: it would have to be searched for.
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
    __syncthreads(); // all have read their neighbour's
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
        for (u32 tile = ceil_div(start, TILE); tile * TILE < end; tile++)
            first_of_tile[tile] = c;
#endif
}
#endif

// ---- the points ----

#if defined BEZIER_BLOCK_A_CURVE || !defined BEZIER_ONE
// A block a curve: most threads of a block have nothing to do where curves are nearly straight, and a block that has
// many points takes its time.
extern "C" __global__ void __launch_bounds__(BLOCK)
    bezier_block_a_curve(const Curve *curves, const u32 *offsets, float2 *points)
{
    Curve c = curves[blockIdx.x];
    u32 first = offsets[blockIdx.x], n = offsets[blockIdx.x + 1] - first;
    for (u32 i = threadIdx.x; i < n; i += BLOCK)
        points[first + i] = point(c, i, n);
}
#endif

#if defined BEZIER_TWO_PASS || !defined BEZIER_ONE
// A block a tile of points, whichever curves they are of: even work. Each curve that begins in the tile notes its number
// where its first point lies, and the largest number up to a point is that point's curve.
extern "C" __global__ void __launch_bounds__(BLOCK)
    bezier_two_pass(const Curve *curves, const u32 *offsets, const u32 *first_of_tile, float2 *points, u32 count,
                    u32 total)
{
    __shared__ u32 owner[TILE];
    __shared__ u32 warps[BLOCK / WARP];
    u32 begin = blockIdx.x * TILE, end = min(begin + TILE, total);
    u32 first = first_of_tile[blockIdx.x], last = end < total ? first_of_tile[blockIdx.x + 1] : count - 1;
    for (u32 i = threadIdx.x; i < TILE; i += BLOCK)
        owner[i] = 0;
    __syncthreads();
    for (u32 c = first + threadIdx.x; c <= last; c += BLOCK) {
        u32 start = offsets[c];
        if (start >= begin && start < end)
            owner[start - begin] = c - first;
    }
    __syncthreads();
    u32 largest = 0;
#pragma unroll
    for (u32 k = 0; k < 2 * PAIRS; k++)
        largest = max(largest, owner[threadIdx.x * 2 * PAIRS + k]);
    u32 scanned = largest;
#pragma unroll
    for (unsigned distance = 1; distance < WARP; distance *= 2) {
        u32 other = __shfl_up_sync(ALL_LANES, scanned, distance);
        scanned = lane_id() >= distance ? max(scanned, other) : scanned;
    }
    if (lane_id() == WARP - 1)
        warps[warp_id()] = scanned;
    u32 current = __shfl_up_sync(ALL_LANES, scanned, 1);
    current = lane_id() > 0 ? current : 0;
    __syncthreads();
    for (unsigned w = 0; w < warp_id(); w++)
        current = max(current, warps[w]);
#pragma unroll
    for (u32 k = 0; k < 2 * PAIRS; k++) { // each thread its own places
        u32 at = threadIdx.x * 2 * PAIRS + k;
        current = max(current, owner[at]);
        owner[at] = current;
    }
    __syncthreads();
#pragma unroll
    for (u32 k = 0; k < PAIRS; k++) { // neighbouring threads write neighbours, 16 bytes each
        u32 at = (k * BLOCK + threadIdx.x) * 2, place = begin + at;
        if (place >= end)
            break;
        u32 c = first + owner[at], start = offsets[c], n = offsets[c + 1] - start;
        float2 a = point(curves[c], place - start, n);
        if (place + 1 < end) {
            if (owner[at + 1] != owner[at]) {
                c = first + owner[at + 1];
                start = offsets[c];
                n = offsets[c + 1] - start;
            }
            float2 b = point(curves[c], place + 1 - start, n);
            *(float4 *)(points + place) = make_float4(a.x, a.y, b.x, b.y);
        } else {
            points[place] = a;
        }
    }
}
#endif

// ---- child grids ----

#if defined BEZIER_DYNAMIC
// A thread a curve counts, takes memory for its points, and launches a grid that fills it. Launching costs more than most
// curves do, and points lie in the order in which memory was taken: bezier_pack puts them in that of the curves.
extern "C" __global__ void bezier_child(Curve c, float2 *points, u32 n)
{
    u32 i = blockIdx.x * CHILD + threadIdx.x;
    if (i < n)
        points[i] = point(c, i, n);
}

// Curves first to first + 2047 at most: a device keeps so many launches pending.
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
