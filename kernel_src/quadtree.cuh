// quadtree.cuh - the kernels that build a quadtree from Morton codes. They compute the codes, build nodes by child
// grids, sort the codes, and make the nodes of sorted codes. quadtree.cu describes the tree.
//
// The tuning parameters are macros. The engine defines these macros from the spec. The defaults below only let an
// editor or a compiler parse this file alone. A kernel is compiled if its own macro QUADTREE_<NAME> is set, or if
// QUADTREE_ONE is not set.

#ifndef QUADTREE_CUH
#define QUADTREE_CUH

#include "common.cuh"

#ifndef CAP
#define CAP 32 // largest number of points of a node without children (nodes on the last level may have more)
#endif
#ifndef DEPTH
#define DEPTH 16 // largest depth of a node; at most 16
#endif
#ifndef BLOCK
#define BLOCK 256 // number of threads of a block, a multiple of 32
#endif
#ifndef LEAST
#define LEAST 1024 // dynamic: a node with at most this many points gets no grid of its own; a power of two
#endif
#ifndef LAUNCHES
#define LAUNCHES 1792 // dynamic: number of launches by the device per turn; a device keeps at most 2048 grids pending
#endif
#ifndef ITEMS
#define ITEMS 16 // morton: number of points of a tile that each thread has
#endif
#ifndef PER_SM
#define PER_SM 2 // morton: number of blocks that must fit on an SM
#endif
#ifndef LOOK
#define LOOK 4 // morton: number of earlier tiles that the look-back reads at once
#endif
#ifndef MATCH
// morton: how a warp finds the lanes with equal digits: 0: by a vote for each bit, 1: by match.any, 2: by atomics in
// shared memory
#define MATCH 0
#endif
#ifndef STREAMING
#define STREAMING 0 // morton: 1: data that is read once is evicted from the L2 first
#endif
#ifndef ROWS
#define ROWS 16 // nodes of sorted codes: number of places of the order that each lane examines
#endif

typedef unsigned u32;

// A point during the sort: the Morton code in the upper half, and the number of the point in the lower half.
typedef offset item;

enum : u32 { WARPS = BLOCK / WARP, NO_CHILDREN = 0 };

// ---- codes ----

// Returns a coordinate as a whole number of DEPTH bits. The leading bits of the fraction of 1 + x, rounded down, are
// the leading bits of x. A conversion to an integer would use a slower unit. fminf() returns `largest` if x is NaN.
__device__ __forceinline__ u32 coordinate(float x)
{
    const float largest = 1 - 0x1p-24f;
    return (__float_as_uint(__fadd_rz(fmaxf(fminf(x, largest), 0), 1)) & 0x7fffff) >> (23 - DEPTH);
}

// Moves bit i of x to bit 2 i.
__device__ __forceinline__ u32 spread(u32 x)
{
    x = (x | x << 8) & 0x00ff00ffu;
    x = (x | x << 4) & 0x0f0f0f0fu;
    x = (x | x << 2) & 0x33333333u;
    return (x | x << 1) & 0x55555555u;
}

__device__ __forceinline__ u32 code_of(float2 p)
{
    return spread(coordinate(p.x)) | spread(coordinate(p.y)) << 1;
}

__device__ __forceinline__ u32 lanes_before()
{
    return (1u << lane_id()) - 1;
}

// Makes the item of each point, in the order of the points' numbers.
#if defined QUADTREE_CODES || !defined QUADTREE_ONE
extern "C" __global__ void __launch_bounds__(256) quadtree_codes(const float2 *points, item *items, u32 N)
{
    u32 i = blockIdx.x * 256 + threadIdx.x;
    if (i < N)
        items[i] = (item)code_of(points[i]) << 32 | i;
}
#endif

#if defined QUADTREE_LEVELS || defined QUADTREE_DYNAMIC || !defined QUADTREE_ONE
// ---- a warp moves points to the quadrants of their node ----

// Returns the quadrant of a node in which the point lies. `depth` is the depth of the node.
__device__ __forceinline__ u32 quadrant_of(item point, u32 depth)
{
    return (u32)(point >> (32 + 2 * (DEPTH - 1 - depth))) & 3;
}

// For each quadrant, a mask of the lanes whose point lies in this quadrant.
struct Votes {
    u32 of[4];
    __device__ __forceinline__ Votes(u32 quadrant, bool there)
    {
        const u32 all = __ballot_sync(ALL_LANES, there);
        const u32 right = __ballot_sync(ALL_LANES, quadrant & 1), upper = __ballot_sync(ALL_LANES, quadrant & 2);
        of[0] = all & ~right & ~upper;
        of[1] = all & right & ~upper;
        of[2] = all & ~right & upper;
        of[3] = all & right & upper;
    }
};

enum : u32 { AHEAD = 4 }; // groups of 32 points that a warp reads at once

__device__ __forceinline__ void read_rows(item (&points)[AHEAD], const item *items, u32 first, u32 end)
{
#pragma unroll
    for (u32 k = 0; k < AHEAD; k++)
        points[k] = first + k * WARP + lane_id() < end ? items[first + k * WARP + lane_id()] : 0;
}

// Counts how many of the points `begin` to `end` - 1 lie in each quadrant.
__device__ __forceinline__ void count_quadrants(u32 (&counts)[4], const item *items, u32 begin, u32 end, u32 depth)
{
    counts[0] = counts[1] = counts[2] = counts[3] = 0;
#pragma unroll 1
    for (u32 first = begin; first < end; first += AHEAD * WARP) {
        item points[AHEAD];
        read_rows(points, items, first, end);
#pragma unroll
        for (u32 k = 0; k < AHEAD; k++) {
            const Votes votes(quadrant_of(points[k], depth), first + k * WARP + lane_id() < end);
#pragma unroll
            for (u32 q = 0; q < 4; q++)
                counts[q] += __popc(votes.of[q]);
        }
    }
}

// Moves the points `begin` to `end` - 1 in their order. The points of quadrant q go to the places from start[q] on. The
// places are in `to`. On the last level the points' numbers go to `order` instead, and their codes to `codes` unless it
// is null.
__device__ __forceinline__ void move_to_quadrants(const u32 (&start)[4], const item *items, item *to, u32 *order,
                                                  u32 *codes, u32 begin, u32 end, u32 depth)
{
    u32 at[4] = {start[0], start[1], start[2], start[3]};
#pragma unroll 1
    for (u32 first = begin; first < end; first += AHEAD * WARP) {
        item points[AHEAD];
        read_rows(points, items, first, end);
#pragma unroll
        for (u32 k = 0; k < AHEAD; k++) {
            const bool there = first + k * WARP + lane_id() < end;
            const u32 quadrant = quadrant_of(points[k], depth);
            const Votes votes(quadrant, there);
            u32 place = 0;
#pragma unroll
            for (u32 q = 0; q < 4; q++) {
                if (q == quadrant)
                    place = at[q] + __popc(votes.of[q] & lanes_before());
                at[q] += __popc(votes.of[q]);
            }
            if (!there)
                continue;
            if (depth + 1 < DEPTH) {
                to[place] = points[k];
            } else {
                order[place] = (u32)points[k];
                if (codes)
                    codes[place] = (u32)(points[k] >> 32);
            }
        }
    }
}
#endif

// ---- child grids ----

#if defined QUADTREE_DYNAMIC
// One block processes one node. The block moves the node's points to their quadrants, and each warp moves a part of
// these points. If some quadrants have more than LEAST points, the block launches one grid with a block for each such
// quadrant. The block sorts the other quadrants in shared memory, because a launch would take longer. So only large
// nodes have a block of a child grid. The root has one block, and all other blocks wait for it.
//
// A launched grid is pending until it and all its descendants have ended. A device keeps at most 2048 grids pending. If
// LAUNCHES grids were launched in a turn, further nodes go to a list of tasks that the host launches in the next turn.
// The nodes are made afterwards from the sorted codes. Numbers for the nodes from a shared counter would differ from
// run to run.

struct Task {
    u32 first, count, depth;
};

struct Build {
    item *even, *odd; // the points of nodes of even depth; the points of nodes of odd depth
    u32 *codes, *order;
    Task *next;
    u32 *counters;    // number of launches of this turn; number of tasks in the next list
};

struct Children {
    Task tasks[4];
};

__device__ void build_node(const Build &b, Task node);

extern "C" __global__ void __launch_bounds__(BLOCK) quadtree_child(Build b, Children children)
{
    build_node(b, children.tasks[blockIdx.x]);
}

// Sorts at most LEAST points of a node in shared memory by a bitonic sort. All items are distinct, because the numbers
// of the points are.
__device__ void sort_node(const Build &b, Task node)
{
    __shared__ item s[LEAST];
    const item *mine = (node.depth % 2 ? b.odd : b.even) + node.first;
    u32 size = 2;
    while (size < node.count)
        size *= 2;
    __syncthreads(); // waits until all threads have ended the previous sort
    for (u32 i = threadIdx.x; i < size; i += BLOCK)
        s[i] = i < node.count ? mine[i] : ~(item)0;
    for (u32 run = 2; run <= size; run *= 2)
        for (u32 distance = run / 2; distance > 0; distance /= 2) {
            __syncthreads();
            for (u32 t = threadIdx.x; t < size / 2; t += BLOCK) {
                const u32 i = t / distance * 2 * distance + t % distance, j = i + distance;
                const item x = s[i], y = s[j];
                if ((x > y) == !(i & run))
                    s[i] = y, s[j] = x;
            }
        }
    __syncthreads();
    for (u32 i = threadIdx.x; i < node.count; i += BLOCK) {
        b.order[node.first + i] = (u32)s[i];
        b.codes[node.first + i] = (u32)(s[i] >> 32);
    }
}

// One thread of the block launches a grid for the children that have many points, or adds these children to the next
// list.
__device__ void launch_children(const Build &b, const Task *parts)
{
    Children large;
    u32 count = 0;
    for (u32 q = 0; q < 4; q++)
        if (parts[q].count > LEAST && parts[q].depth < DEPTH)
            large.tasks[count++] = parts[q];
    if (count > 0 && atomicAdd(&b.counters[0], 1) < LAUNCHES) {
        quadtree_child<<<count, BLOCK>>>(b, large);
        return;
    }
    u32 place = count > 0 ? atomicAdd(&b.counters[1], count) : 0;
    for (u32 q = 0; q < count; q++)
        b.next[place + q] = large.tasks[q];
}

__device__ void build_node(const Build &b, Task node)
{
    __shared__ u32 counts[WARPS][4];
    __shared__ Task parts[4];
    if (node.count <= LEAST) {
        sort_node(b, node);
        return;
    }
    const item *from = node.depth % 2 ? b.odd : b.even;
    item *to = node.depth % 2 ? b.even : b.odd;
    const u32 share = ceil_div(node.count, (u32)BLOCK) * WARP, end = node.first + node.count;
    const u32 begin = min(node.first + warp_id() * share, end), stop = min(begin + share, end);
    u32 mine[4];
    count_quadrants(mine, from, begin, stop, node.depth);
    if (lane_id() < 4)
        counts[warp_id()][lane_id()] = lane_id() < 2 ? mine[lane_id() & 1] : mine[2 + (lane_id() & 1)];
    __syncthreads();
    if (threadIdx.x == 0) {
        u32 at = node.first;
        for (u32 q = 0; q < 4; q++) {
            parts[q] = {at, 0, node.depth + 1};
            for (u32 w = 0; w < WARPS; w++) {
                const u32 count = counts[w][q];
                counts[w][q] = at;
                at += count;
            }
            parts[q].count = at - parts[q].first;
        }
    }
    __syncthreads();
    const u32 start[4] = {counts[warp_id()][0], counts[warp_id()][1], counts[warp_id()][2], counts[warp_id()][3]};
    move_to_quadrants(start, from, to, b.order, b.codes, begin, stop, node.depth);
    __threadfence(); // makes the points that this thread has moved visible to the child grids
    __syncthreads();
    if (threadIdx.x == 0)
        launch_children(b, parts);
    for (u32 q = 0; q < 4; q++)
        if (parts[q].count > 0 && parts[q].count <= LEAST && parts[q].depth < DEPTH)
            sort_node(b, parts[q]);
}

// Puts the root into the first list.
extern "C" __global__ void quadtree_first(Task *list, u32 *counters, u32 N)
{
    list[0] = {0, N, 0};
    counters[0] = 0;
    counters[1] = N > 0;
}

// Starts a turn: the device has launched no grid yet, and the list for the next turn is empty.
extern "C" __global__ void quadtree_turn(u32 *counters)
{
    counters[0] = 0;
    counters[1] = 0;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    quadtree_build(item *even, item *odd, u32 *codes, u32 *order, const Task *list, Task *next, u32 *counters)
{
    const Build b = {even, odd, codes, order, next, counters};
    build_node(b, list[blockIdx.x]);
}
#endif

// ---- nodes of sorted codes ----

#if defined QUADTREE_NODES || !defined QUADTREE_ONE
// A node of depth d with children begins at place i under two conditions. First, codes[i - 1] does not exist or belongs
// to another cell of depth d. Second, codes[i + CAP] belongs to the same cell as codes[i]. So these three codes
// determine all nodes with children that begin at place i. The depths of these nodes are a range. To number the nodes,
// the kernels count them depth by depth, and a scan follows. The parent of a node of depth d is the last node of depth
// d - 1 that begins at the same place or before it.
//
// The kernel quadtree_starts reads all codes, CHUNK places per warp. It notes the few places at which nodes begin. The
// kernel quadtree_list makes an ordered list of the nodes that have children. From this list, the kernel quadtree_rows
// makes the four children of each node, one child per lane.

enum : u32 { CHUNK = ROWS * WARP, SCAN_BLOCK = 1024, SCAN_ITEMS = 8 };

// Returns the number of levels in which two points have the same cell, counted from the children of the root on.
__device__ __forceinline__ u32 levels_shared(u32 a, u32 b)
{
    return (__clz(a ^ b) - (32 - 2 * DEPTH)) / 2; // __clz(0) is 32
}

// Returns a mask with a bit for each depth. The bit is set if a node with children of this depth begins at place i.
__device__ __forceinline__ u32 depths_at(const u32 *codes, u32 i, u32 N)
{
    if (i >= N || N - i <= CAP)
        return 0;
    const u32 code = codes[i];
    // at depths below `inside`, codes[i + CAP] has the same cell as codes[i]
    const u32 inside = min(levels_shared(code, codes[i + CAP]) + 1, (u32)DEPTH);
    // at depths below `before`, the node of place i began at an earlier place
    const u32 before = i > 0 ? levels_shared(code, codes[i - 1]) + 1 : 0;
    return ((1u << inside) - 1) & ~((1u << before) - 1);
}

__device__ __forceinline__ u32 any_of_warp(u32 bits)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(ALL_LANES, bits);
#else
#pragma unroll
    for (u32 distance = WARP / 2; distance > 0; distance /= 2)
        bits |= __shfl_xor_sync(ALL_LANES, bits, distance);
    return bits;
#endif
}

// Three arrays get the results. The element counts[d * chunks + c] is the number of nodes of depth d that begin in
// chunk c. From the first place of the chunk on, `notes` has the places at which nodes begin, with the depths of these
// nodes. `found` has the number of these places.
//
// Few places begin a node, but most groups of 32 places have one that does. So a warp first lists candidates: places
// whose code differs from the previous code in a higher bit than from the code CAP places later. Then the warp examines
// the candidates, 32 at a time.
extern "C" __global__ void __launch_bounds__(256)
    quadtree_starts(const u32 *codes, uint2 *notes, u32 *found, u32 *counts, u32 chunks, u32 N)
{
    __shared__ u32 lists[256 / WARP][CHUNK];
    const u32 chunk = blockIdx.x * (256 / WARP) + warp_id(), lane = lane_id(), first = chunk * CHUNK;
    if (chunk >= chunks)
        return;
    u32 *list = lists[warp_id()], listed = 0;
    const bool inside = first > 0 && N - first >= CHUNK + CAP;
    const u32 *mine = codes + first + lane;
#pragma unroll 8
    for (u32 row = 0; row < ROWS; row++) {
        const u32 i = first + row * WARP + lane;
        bool may;
        if (inside) {
            const u32 code = mine[row * WARP];
            may = (code ^ mine[row * WARP + CAP]) < (code ^ *(mine + row * WARP - 1));
        } else {
            may = depths_at(codes, i, N) != 0;
        }
        const u32 votes = __ballot_sync(ALL_LANES, may);
        if (may)
            list[listed + __popc(votes & lanes_before())] = i;
        listed += __popc(votes);
    }
    __syncwarp();
    u32 count = 0, noted = 0; // `count` is the number of nodes of depth `lane`
    for (u32 n = 0; n < listed; n += WARP) {
        const u32 i = n + lane < listed ? list[n + lane] : N, depths = depths_at(codes, i, N);
        const u32 begins = __ballot_sync(ALL_LANES, depths != 0);
        if (depths != 0)
            notes[first + noted + __popc(begins & lanes_before())] = {i, depths};
        noted += __popc(begins);
        for (u32 any = any_of_warp(depths); any; any &= any - 1) {
            const u32 d = __ffs(any) - 1, votes = __ballot_sync(ALL_LANES, depths >> d & 1);
            count += lane == d ? __popc(votes) : 0;
        }
    }
    if (lane < DEPTH)
        counts[lane * chunks + chunk] = count;
    if (lane == 0)
        found[chunk] = noted;
}

// Each block replaces the counts of one depth by their exclusive scan. The sum of these counts goes to totals[depth].
extern "C" __global__ void __launch_bounds__(SCAN_BLOCK) quadtree_number(u32 *counts, u32 *totals, u32 chunks)
{
    __shared__ u32 warps[2][WARP];
    u32 *mine = counts + blockIdx.x * chunks, before = 0;
    for (u32 first = 0, turn = 0; first < chunks; first += SCAN_BLOCK * SCAN_ITEMS, turn ^= 1) {
        const u32 i = first + threadIdx.x * SCAN_ITEMS;
        u32 count[SCAN_ITEMS], sum = 0;
#pragma unroll
        for (u32 k = 0; k < SCAN_ITEMS; k++)
            count[k] = i + k < chunks ? mine[i + k] : 0;
#pragma unroll
        for (u32 k = 0; k < SCAN_ITEMS; k++)
            sum += count[k];
        const u32 scanned = warp_scan<Plus<u32>>(sum);
        if (lane_id() == WARP - 1)
            warps[turn][warp_id()] = scanned;
        __syncthreads();
        const u32 others = warp_scan<Plus<u32>>(warps[turn][lane_id()]);
        const u32 lower = __shfl_sync(ALL_LANES, others, warp_id() > 0 ? warp_id() - 1 : 0);
        u32 place = before + (warp_id() > 0 ? lower : 0) + scanned - sum;
#pragma unroll
        for (u32 k = 0; k < SCAN_ITEMS; k++) {
            if (i + k < chunks)
                mine[i + k] = place;
            place += count[k];
        }
        before += __shfl_sync(ALL_LANES, others, WARP - 1);
    }
    if (threadIdx.x == 0)
        totals[blockIdx.x] = before;
}

// Returns the number of nodes with children at all depths that are below the lane's number. Lane DEPTH gets the number
// of all nodes with children.
__device__ __forceinline__ u32 splits_before(const u32 *totals)
{
    const u32 mine = lane_id() < DEPTH ? totals[lane_id()] : 0;
    return warp_scan<Plus<u32>>(mine) - mine;
}

// Makes the element splits[k] for the k-th node with children. It has the node's first place and the node's own number.
extern "C" __global__ void __launch_bounds__(256)
    quadtree_list(const u32 *codes, const uint2 *notes, const u32 *found, const u32 *counts, const u32 *totals,
                  uint2 *splits, u32 chunks)
{
    const u32 chunk = blockIdx.x * (256 / WARP) + warp_id(), lane = lane_id();
    if (chunk >= chunks)
        return;
    const u32 noted = found[chunk];
    // number of the next node of depth `lane`
    u32 next = splits_before(totals) + (lane < DEPTH ? counts[lane * chunks + chunk] : 0);
    for (u32 n = 0; n < noted; n += WARP) {
        const uint2 note = n + lane < noted ? notes[chunk * CHUNK + n + lane] : uint2{};
        const u32 i = note.x, depths = note.y, code = codes[i];
        u32 more = 0;
        for (u32 any = any_of_warp(depths); any; any &= any - 1) {
            const u32 d = __ffs(any) - 1, above = d > 0 ? d - 1 : 0;
            const u32 votes = __ballot_sync(ALL_LANES, depths >> d & 1);
            const u32 votes_above = __ballot_sync(ALL_LANES, depths >> above & 1);
            const u32 begin = __shfl_sync(ALL_LANES, next, d), begin_above = __shfl_sync(ALL_LANES, next, above);
            if (depths >> d & 1) {
                const u32 parent = begin_above + __popc(votes_above & (lanes_before() | 1u << lane)) - 1;
                const u32 quadrant = d > 0 ? code >> (2 * (DEPTH - d)) & 3 : 0;
                splits[begin + __popc(votes & lanes_before())] = {i, d > 0 ? 1 + 4 * parent + quadrant : 0};
            }
            more += lane == d ? __popc(votes) : 0;
        }
        next += more;
    }
}

// Returns the first place from `first` on whose cell comes after `cell`. The cell of a place is its code, shifted right
// by `shift`.
__device__ __forceinline__ u32 end_of_cell(const u32 *codes, u32 first, u32 N, u32 cell, u32 shift)
{
    u32 step = 16;
    while (step < N - first && codes[first + step] >> shift <= cell) {
        first += step + 1;
        step = min(2 * step, 1u << 29);
    }
    u32 end = step < N - first ? first + step : N;
    while (first < end) {
        const u32 middle = (first + end) / 2;
        if (codes[middle] >> shift <= cell)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

// Four lanes process one node with children, and each of them makes one child. If a child has children itself, another
// group of four lanes makes these. That group writes the number of the first of them into the child.
extern "C" __global__ void __launch_bounds__(256)
    quadtree_rows(const u32 *codes, const uint2 *splits, const u32 *totals, uint4 *nodes, u32 *levels, u32 N)
{
    __shared__ u32 before[WARP];
    if (threadIdx.x < WARP)
        before[lane_id()] = splits_before(totals);
    __syncthreads();
    const u32 count = before[DEPTH], q = threadIdx.x % 4;
    if (blockIdx.x == 0 && threadIdx.x < DEPTH + 2)
        levels[threadIdx.x] = threadIdx.x == 0 ? 0 : 1 + 4 * before[threadIdx.x - 1];
    if (blockIdx.x == 0 && threadIdx.x == 0)
        nodes[0] = make_uint4(0, N, count > 0, 0);
    // `first` depends on the warp only, so the lanes of a warp stay together
    for (u32 first = (blockIdx.x * 256 + threadIdx.x - lane_id()) / 4; first < count; first += gridDim.x * (256 / 4)) {
        const u32 k = first + lane_id() / 4;
        const uint2 split = splits[min(k, count - 1)];
        u32 depth = 0;
#pragma unroll
        for (u32 d = 1; d < DEPTH; d++)
            depth += before[d] <= k;
        const u32 shift = 2 * (DEPTH - 1 - depth), cell = codes[split.x] >> shift >> 2 << 2 | q;
        const u32 end = end_of_cell(codes, split.x, N, cell, shift);
        u32 begin = __shfl_up_sync(ALL_LANES, end, 1);
        begin = q == 0 ? split.x : begin;
        if (k >= count)
            continue;
        uint4 *node = nodes + 1 + 4 * k + q;
        if (end - begin <= CAP || depth + 1 == DEPTH) {
            *node = make_uint4(begin, end - begin, NO_CHILDREN, depth + 1);
        } else {
            *(uint2 *)node = make_uint2(begin, end - begin);
            node->w = depth + 1;
        }
        if (q == 0 && split.y > 0)
            nodes[split.y].z = 1 + 4 * k;
    }
}
#endif

// ---- a sort of codes ----

#if defined QUADTREE_MORTON || !defined QUADTREE_ONE
// This method sorts all points by their codes, whatever the tree looks like. It is a stable radix sort of 8 bits per
// pass, with the lowest bits first. The time of the sort depends neither on the density of the points nor on the number
// and depth of the nodes. A pass reads and writes each point once. The first pass makes the codes, and the last pass
// separates codes and numbers.
//
// For each digit, a pass must know the places of a tile's points with this digit. These places come after two groups of
// points: all points of lower digits, and the points of the same digit in earlier tiles. The points of lower digits are
// counted at the start for all passes. Decoupled look-back (see scan.cu) counts the points of the same digit in earlier
// tiles, with one thread per digit. A tile publishes its counts in notes. A note is a single word with two state bits
// and a count, so it needs no fence.

enum : u32 {
    BINS = 256,
    PASSES = (2 * DEPTH + 7) / 8,
    TILE = BLOCK * ITEMS,
    DIGITS_BLOCK = 1024,
    OWN = 1u << 30,   // state of a note: the count is the tile's own count
    ALL = 2u << 30,   // state of a note: the count covers this tile and all earlier tiles
    COUNT = OWN - 1,
    HEAD = 16         // words before the counts: a counter of tickets for each pass
};

// The state that the blocks of all passes share, initially 0. It has the counters of tickets, the number of points with
// each digit in each pass, and the notes.
__device__ __forceinline__ u32 *counts_of(u32 *control, u32 pass)
{
    return control + HEAD + pass * BINS;
}

__device__ __forceinline__ volatile u32 *notes_of(u32 *control, u32 pass, u32 tiles)
{
    return control + HEAD + PASSES * BINS + (offset)pass * tiles * BINS;
}

// Returns the digit of a code in a pass. A digit is a byte.
__device__ __forceinline__ u32 digit_of(u32 code, u32 pass)
{
    return __byte_perm(code, 0, 0x4440 | pass);
}

template <u32 times> __device__ __forceinline__ void count_code(u32 *bins, u32 code)
{
#pragma unroll
    for (u32 pass = 0; pass < PASSES; pass++)
        atomicAdd(&bins[pass * BINS + digit_of(code, pass)], times);
}

// For each pass, counts how often each digit occurs in the codes.
extern "C" __global__ void __launch_bounds__(DIGITS_BLOCK, 1)
    quadtree_digits(const float2 *points, u32 *control, u32 N)
{
    __shared__ u32 bins[PASSES * BINS];
    for (u32 i = threadIdx.x; i < PASSES * BINS; i += DIGITS_BLOCK)
        bins[i] = 0;
    __syncthreads();
    const u32 step = gridDim.x * DIGITS_BLOCK;
    u32 i = blockIdx.x * DIGITS_BLOCK + threadIdx.x;
    for (; i - lane_id() + 3 * step + WARP <= N; i += 4 * step) { // the condition is the same for all lanes of a warp
        float2 p[4];
#pragma unroll
        for (u32 k = 0; k < 4; k++)
            p[k] = load<STREAMING != 0>(points + i + k * step);
#pragma unroll
        for (u32 k = 0; k < 4; k++) {
            const u32 code = code_of(p[k]);
            if (!__all_sync(ALL_LANES, code == __shfl_sync(ALL_LANES, code, 0)))
                count_code<1>(bins, code);
            else if (lane_id() == 0) // one addition of 32 instead of 32 additions of 1 to the same bin
                count_code<WARP>(bins, code);
        }
    }
    for (; i < N; i += step)
        count_code<1>(bins, code_of(points[i]));
    __syncthreads();
    for (u32 b = threadIdx.x; b < PASSES * BINS; b += DIGITS_BLOCK)
        if (bins[b])
            atomicAdd(control + HEAD + b, bins[b]);
}

// Returns a mask of the lanes that have this digit. `masks` has a word per digit. The words must be 0 before the call,
// and the caller must reset the digit's word to 0 afterwards.
__device__ __forceinline__ u32 lanes_alike(u32 digit, u32 *masks)
{
#if MATCH == 2
    atomicOr(&masks[digit], 1u << lane_id());
    __syncwarp();
    return masks[digit];
#elif MATCH == 1
    return __match_any_sync(ALL_LANES, digit);
#else
    u32 alike = ALL_LANES;
#pragma unroll
    for (u32 bit = 0; bit < 8; bit++) {
        const bool mine = digit >> bit & 1;
        const u32 votes = __ballot_sync(ALL_LANES, mine);
        alike &= mine ? votes : ~votes;
    }
    return alike;
#endif
}

struct SweepShared {
    item points[TILE];
    // for each warp and digit: first the number of points, and later the first place of these points in `points`
    u32 ranks[WARPS][BINS];
    u32 at[BINS];           // for each digit: place of the tile's points in the result, minus their place in `points`
    offset warps[BINS / WARP];
    u32 ticket;
#if MATCH == 2
    u32 masks[WARPS][BINS];
#endif
};

// Loads the points of a tile. A thread's points are 32 apart, so that the points of its warp are in order, row by row.
// If there is no point for a place, the place gets the largest code, which sorts last.
template <bool whole>
__device__ __forceinline__ void load_tile(u32 (&code)[ITEMS], u32 (&number)[ITEMS], const float2 *points,
                                          const item *from, u32 begin, u32 count, u32 pass)
{
    const u32 mine = warp_id() * WARP * ITEMS + lane_id();
    if (pass == 0) {
#pragma unroll
        for (u32 k = 0; k < ITEMS; k++) {
            const u32 i = mine + k * WARP;
            number[k] = begin + i;
            code[k] = whole || i < count ? code_of(load<STREAMING != 0>(points + begin + i)) : ~0u;
        }
    } else {
#pragma unroll
        for (u32 k = 0; k < ITEMS; k++) {
            const u32 i = mine + k * WARP;
            uint2 point = make_uint2(0, ~0u);
            if (whole || i < count)
                point = load<STREAMING != 0>((const uint2 *)from + begin + i);
            number[k] = point.x;
            code[k] = point.y;
        }
    }
}

// Writes the sorted points of a tile. Neighbouring threads have neighbours in `sorted`. Most of these are also
// neighbours in the result.
template <bool whole>
__device__ __forceinline__ void store_tile(const item *sorted, const u32 *at, item *to, u32 *codes, u32 *order,
                                           u32 count, u32 pass)
{
    if (pass + 1 < PASSES) {
#pragma unroll
        for (u32 k = 0; k < ITEMS; k++) {
            const u32 i = k * BLOCK + threadIdx.x;
            if (whole || i < count) {
                const item point = sorted[i];
                to[at[digit_of((u32)(point >> 32), pass)] + i] = point;
            }
        }
    } else {
#pragma unroll
        for (u32 k = 0; k < ITEMS; k++) {
            const u32 i = k * BLOCK + threadIdx.x;
            if (whole || i < count) {
                const item point = sorted[i];
                const u32 code = (u32)(point >> 32), place = at[digit_of(code, pass)] + i;
                codes[place] = code;
                order[place] = (u32)point;
            }
        }
    }
}

// Returns how many points with digit threadIdx.x are in the earlier tiles.
__device__ __forceinline__ u32 look_back(const volatile u32 *notes, u32 tile)
{
    u32 sum = 0;
    for (u32 end = tile; end > 0; end = end > LOOK ? end - LOOK : 0) {
        u32 note[LOOK];
#pragma unroll
        for (u32 k = 0; k < LOOK; k++)
            note[k] = k < end ? notes[(offset)(end - 1 - k) * BINS + threadIdx.x] : (u32)ALL;
#pragma unroll
        for (u32 k = 0; k < LOOK; k++) {
            while (note[k] == 0)
                note[k] = notes[(offset)(end - 1 - k) * BINS + threadIdx.x];
            sum += note[k] & COUNT;
            if (note[k] & ALL)
                return sum;
        }
    }
    return sum;
}

// Processes one tile in one pass. The block first sorts the points in shared memory, so that neighbouring threads write
// neighbouring places.
extern "C" __global__ void __launch_bounds__(BLOCK, PER_SM)
    quadtree_sweep(const float2 *points, const item *from, item *to, u32 *codes, u32 *order, u32 *control, u32 pass,
                   u32 tiles, u32 N)
{
    extern __shared__ __align__(16) unsigned char memory[];
    SweepShared &s = *(SweepShared *)memory;
    const u32 t = threadIdx.x;
    u32 *ranks = s.ranks[warp_id()];
    if (t == 0)
        s.ticket = atomicAdd(control + pass, 1);
#pragma unroll
    for (u32 k = 0; k < BINS / WARP; k++)
        ranks[k * WARP + lane_id()] = 0;
#if MATCH == 2
    u32 *masks = s.masks[warp_id()];
#pragma unroll
    for (u32 k = 0; k < BINS / WARP; k++)
        masks[k * WARP + lane_id()] = 0;
#else
    u32 *masks = nullptr;
#endif
    __syncthreads();
    const u32 tile = s.ticket, begin = tile * TILE, count = min(N - begin, (u32)TILE);
    const bool whole = count == TILE;
    u32 code[ITEMS], number[ITEMS], rank[(ITEMS + 1) / 2]; // `rank` has two ranks per word
    if (whole)
        load_tile<true>(code, number, points, from, begin, count, pass);
    else
        load_tile<false>(code, number, points, from, begin, count, pass);
#pragma unroll
    for (u32 k = 0; k < ITEMS; k++) {
        const u32 digit = digit_of(code[k], pass), alike = lanes_alike(digit, masks);
        const u32 before = ranks[digit], lower = __popc(alike & lanes_before());
        __syncwarp();
        if (lower == 0) {
            ranks[digit] = before + __popc(alike);
            if (MATCH == 2)
                masks[digit] = 0;
        }
        __syncwarp();
        rank[k / 2] = k % 2 ? rank[k / 2] | (before + lower) << 16 : before + lower;
    }
    __syncthreads();

    // One thread per digit computes three numbers. `own` is the number of points with the digit in this tile. `start`
    // is the place where these points begin in the tile. `everywhere` is the place where the points of all tiles begin.
    u32 own = 0, start = 0, everywhere = 0;
    offset both = 0;
    volatile u32 *notes = notes_of(control, pass, tiles);
    if (t < BINS) {
#pragma unroll
        for (u32 w = 0; w < WARPS; w++)
            own += s.ranks[w][t];
        const u32 there = t == BINS - 1 ? own - (TILE - count) : own;
        notes[(offset)tile * BINS + t] = (tile ? OWN : ALL) | there;
        both = (offset)counts_of(control, pass)[t] << 32 | own;
        everywhere = (u32)(both >> 32);
        both = warp_scan<Plus<offset>>(both);
        if (lane_id() == WARP - 1)
            s.warps[warp_id()] = both;
    }
    __syncthreads();
    if (t < BINS) {
        for (u32 w = 0; w < warp_id(); w++)
            both += s.warps[w];
        start = (u32)both - own;
        everywhere = (u32)(both >> 32) - everywhere;
        u32 place = start;
#pragma unroll
        for (u32 w = 0; w < WARPS; w++) {
            const u32 its = s.ranks[w][t];
            s.ranks[w][t] = place;
            place += its;
        }
    }
    __syncthreads();
#pragma unroll
    for (u32 k = 0; k < ITEMS; k++)
        s.points[ranks[digit_of(code[k], pass)] + (rank[k / 2] >> k % 2 * 16 & 0xffff)] =
            (item)code[k] << 32 | number[k];
    if (t < BINS) {
        const u32 before = look_back(notes, tile);
        const u32 there = t == BINS - 1 ? own - (TILE - count) : own;
        if (tile)
            notes[(offset)tile * BINS + t] = ALL | (before + there);
        s.at[t] = everywhere + before - start;
    }
    __syncthreads();
    if (whole)
        store_tile<true>(s.points, s.at, to, codes, order, count, pass);
    else
        store_tile<false>(s.points, s.at, to, codes, order, count, pass);
}
#endif

#endif
