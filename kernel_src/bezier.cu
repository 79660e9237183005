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
// A thread a curve counts; blocks pass the sum on from one to the next. state[b] is the sum of blocks 0 to b with the
// top bit set once it is known; the launch needs all blocks at once or in order, so a block takes its number from a
// counter. A look-back over more than one block (scan.cu) would not be worth it: blocks are few.
extern "C" __global__ void __launch_bounds__(BLOCK)
    bezier_count(const Curve *curves, u32 *offsets, unsigned long long *state, u32 *turn, u32 count)
{
    constexpr unsigned long long KNOWN = 1ull << 63;
    __shared__ u32 sums[BLOCK / WARP];
    __shared__ u32 number, before;
    if (threadIdx.x == 0)
        number = atomicAdd(turn, 1);
    __syncthreads();
    u32 block = number, c = block * BLOCK + threadIdx.x;
    u32 mine = c < count ? point_count(curves[c]) : 0;
    u32 sum = warp_scan<Plus<u32>>(mine);
    if (lane_id() == WARP - 1)
        sums[warp_id()] = sum;
    __syncthreads();
    u32 prefix = 0, total = 0;
    for (unsigned w = 0; w < BLOCK / WARP; w++) {
        prefix += w < warp_id() ? sums[w] : 0;
        total += sums[w];
    }
    if (threadIdx.x == 0) {
        unsigned long long known = KNOWN;
        while (block > 0 && !((known = atomicAdd(state + block - 1, 0ull)) & KNOWN)) {
        }
        before = (u32)known;
        atomicExch(state + block, KNOWN | (before + total));
    }
    __syncthreads();
    if (c < count)
        offsets[c] = before + prefix + sum - mine;
    if (c + 1 == count)
        offsets[count] = before + prefix + sum;
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
// A block a stretch of points, whichever curves they are of: even work. The block finds its first curve by a search in
// offsets. Each curve that begins in the stretch notes its number where its first point lies, and the largest number up
// to a point is that point's curve.
extern "C" __global__ void __launch_bounds__(BLOCK)
    bezier_two_pass(const Curve *curves, const u32 *offsets, float2 *points, u32 count, u32 total)
{
    constexpr u32 TILE = 2 * PAIRS * BLOCK;
    __shared__ u32 owner[TILE];
    __shared__ u32 warps[BLOCK / WARP];
    __shared__ u32 range[2];
    u32 begin = blockIdx.x * TILE, end = min(begin + TILE, total);
    if (threadIdx.x < 2) { // the last curve that begins at or before the first point, and before the end
        u32 wanted = threadIdx.x ? end - 1 : begin, low = 0, high = count;
        while (high - low > 1) {
            u32 middle = low + (high - low) / 2;
            if (offsets[middle] <= wanted)
                low = middle;
            else
                high = middle;
        }
        range[threadIdx.x] = low;
    }
    for (u32 i = threadIdx.x; i < TILE; i += BLOCK)
        owner[i] = 0;
    __syncthreads();
    u32 first = range[0], last = range[1];
    for (u32 c = first + threadIdx.x; c <= last; c += BLOCK)
        if (offsets[c] >= begin)
            owner[offsets[c] - begin] = c - first;
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
