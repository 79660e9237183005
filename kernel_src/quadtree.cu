// quadtree.cu - builds a quadtree over N points of the plane: the order of the points by leaves, and the nodes of the
// tree.
//
// The root's cell is the box [0, 1) x [0, 1). A node whose cell has more than CAP points has four children, which are
// the quarters of its cell. There are at most DEPTH levels of children, so a leaf of the last level may have any number
// of points. A point's *code* is the path from the root down to it. The path has two bits per level: the bit of x is
// below the bit of y. The code is the Morton code of the coordinates, which have DEPTH bits each. The codes of all
// points of a node begin with the same bits. So if points are sorted by code, the points of a node are neighbours.
//
// A kernel writes three arrays:
//
// - `order` has the numbers of all points, sorted by code. If codes are equal, the lower number comes first.
// - `nodes` has four words per node: the place in `order` of its first point, its number of points, the number of its
//   first child, and its depth. The other children follow the first child. A leaf has 0 instead of a first child. Nodes
//   are ordered by level, and within a level by code. The root is node 0. Children without points exist too.
// - levels[d] is the number of the first node of depth d. The nodes of depth d end at levels[d + 1]; d is at most
//   DEPTH.
//
// There is only one right result, so the bits are the same in every run and for every kernel.
//
// A point whose coordinate is 1 or more belongs to the last cell of its row or column. A point whose coordinate is
// below 0 belongs to the first cell. The same holds for infinite coordinates. NaN counts as more than 1. A point on the
// border between two cells belongs to the upper cell. Coordinates are cut to DEPTH bits, not rounded. N is at most 2^30
// - 1. Points outside the box have to be scaled to it first.
//
// This file has the kernels of the method that works level by level. Two other methods, child grids and a sort of
// codes, are in quadtree.cuh, because barneshut.cu builds its trees with them.
//
// The tuning parameters are macros. The engine defines these macros from the spec. The defaults below only let an
// editor or a compiler parse this file alone. A kernel is compiled if its own macro QUADTREE_<NAME> is set, or if
// QUADTREE_ONE is not set.

#include "quadtree.cuh"

#ifndef PIECE
#define PIECE 1024 // level_by_level: number of points of a node that a warp moves
#endif

// ---- level by level ----

#if defined QUADTREE_LEVELS || !defined QUADTREE_ONE
// The host processes the levels one after the other, from the root down. Each level has eight launches. A list has
// those nodes of a level that have children. The points of these nodes are cut into pieces of at most PIECE points, and
// one warp processes each piece. The warp counts how many points of the piece belong to each quadrant. A scan over
// these counts, ordered by node, quadrant and piece, gives two results. It tells each piece the places of its points,
// and it gives the places where the children begin. A second scan numbers the children that have children themselves.
//
// A level reads and writes all points of the nodes that it divides, but uses only two bits of each code.

// A node that is divided: its first point, its number of points, the number of its first child, and the number of its
// first piece.
struct Split {
    u32 first, count, child, piece;
};

// The state that the host reads before each level.
struct State {
    // the number of divided nodes, the number of their pieces, the depth of these nodes, and the first node of the next
    // level
    u32 splits, pieces, depth, base;
};

extern "C" __global__ void __launch_bounds__(32)
    quadtree_root(uint4 *nodes, u32 *levels, Split *list, State *state, u32 N)
{
    const bool divided = N > CAP;
    const u32 pieces = divided ? ceil_div(N, (u32)PIECE) : 0;
    if (threadIdx.x == 0) {
        nodes[0] = make_uint4(0, N, divided, 0);
        list[0] = {0, N, 1, 0};
        list[divided].piece = pieces;
        *state = {divided, pieces, 0, 1};
    }
    if (threadIdx.x < DEPTH + 2)
        levels[threadIdx.x] = threadIdx.x > 0;
}

// The piece of points that a warp processes.
struct Piece {
    Split node;
    u32 begin, end;
    u32 index, count;   // index among the pieces of its node; number of pieces of the node
    __device__ __forceinline__ Piece(const Split *list, u32 splits, u32 piece)
    {
        u32 low = 0, high = splits; // the search finds the last node whose first piece is not after this piece
        while (low + 1 < high) {
            u32 middle = (low + high) / 2;
            if (list[middle].piece <= piece)
                low = middle;
            else
                high = middle;
        }
        node = list[low];
        index = piece - node.piece;
        count = list[low + 1].piece - node.piece;
        begin = node.first + index * PIECE;
        end = min(begin + PIECE, node.first + node.count);
    }
};

extern "C" __global__ void __launch_bounds__(BLOCK)
    quadtree_count(const item *even, const item *odd, const Split *list, offset *sums, u32 splits, u32 pieces,
                   u32 depth)
{
    const u32 warp = blockIdx.x * WARPS + warp_id();
    if (warp >= pieces)
        return;
    const Piece p(list, splits, warp);
    u32 counts[4];
    count_quadrants(counts, depth % 2 ? odd : even, p.begin, p.end, depth);
    if (lane_id() == 0) {
#pragma unroll
        for (u32 q = 0; q < 4; q++)
            sums[4 * p.node.piece + q * p.count + p.index] = counts[q];
    }
}

// An exclusive scan in two launches. In the first launch, each block scans its own tile. The second launch adds the sum
// of all earlier tiles to each tile.
extern "C" __global__ void __launch_bounds__(BLOCK) quadtree_scan(offset *values, offset *totals, u32 count)
{
    __shared__ offset warps[WARPS];
    const u32 first = (blockIdx.x * BLOCK + threadIdx.x) * 4;
    offset mine[4], sum = 0, before = 0;
#pragma unroll
    for (u32 k = 0; k < 4; k++) {
        mine[k] = first + k < count ? values[first + k] : 0;
        sum += mine[k];
    }
    offset scanned = warp_scan<Plus<offset>>(sum);
    if (lane_id() == WARP - 1)
        warps[warp_id()] = scanned;
    __syncthreads();
    for (u32 w = 0; w < warp_id(); w++)
        before += warps[w];
    before += scanned - sum;
#pragma unroll
    for (u32 k = 0; k < 4; k++) {
        if (first + k < count)
            values[first + k] = before;
        before += mine[k];
    }
    if (threadIdx.x == BLOCK - 1)
        totals[blockIdx.x] = before;
}

extern "C" __global__ void __launch_bounds__(BLOCK) quadtree_add(offset *values, const offset *totals, u32 count)
{
    __shared__ offset warps[WARPS];
    offset part = 0, before = 0;
    for (u32 b = threadIdx.x; b < blockIdx.x; b += BLOCK)
        part += totals[b];
    part = warp_all_reduce<Plus<offset>>(part);
    if (lane_id() == 0)
        warps[warp_id()] = part;
    __syncthreads();
    for (u32 w = 0; w < WARPS; w++)
        before += warps[w];
    const u32 first = (blockIdx.x * BLOCK + threadIdx.x) * 4;
#pragma unroll
    for (u32 k = 0; k < 4; k++)
        if (first + k < count)
            values[first + k] += before;
}

// Each thread processes one child of a divided node. The counts now determine the points of the child. The array
// `marks` gets two numbers for each child: its number of pieces, and whether it is divided itself. The element after
// the last child is 0.
extern "C" __global__ void __launch_bounds__(BLOCK)
    quadtree_children(uint4 *nodes, const Split *list, const offset *sums, offset *marks, u32 splits, u32 depth)
{
    const u32 t = blockIdx.x * BLOCK + threadIdx.x, q = t % 4;
    if (t == 4 * splits)
        marks[t] = 0;
    if (t >= 4 * splits)
        return;
    const Split node = list[t / 4];
    const u32 pieces = list[t / 4 + 1].piece - node.piece;
    const offset *mine = sums + 4 * node.piece;
    const u32 begin = (u32)(mine[q * pieces] - mine[0]);
    const u32 end = q < 3 ? (u32)(mine[(q + 1) * pieces] - mine[0]) : node.count, count = end - begin;
    nodes[node.child + q] = make_uint4(node.first + begin, count, NO_CHILDREN, depth + 1);
    const bool divided = count > CAP && depth + 1 < DEPTH;
    marks[t] = divided ? (offset)1 << 32 | ceil_div(count, (u32)PIECE) : 0;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    quadtree_move(item *even, item *odd, u32 *order, const Split *list, const offset *sums, u32 splits, u32 pieces,
                  u32 depth)
{
    const u32 warp = blockIdx.x * WARPS + warp_id();
    if (warp >= pieces)
        return;
    const Piece p(list, splits, warp);
    const offset *mine = sums + 4 * p.node.piece;
    u32 start[4];
#pragma unroll
    for (u32 q = 0; q < 4; q++)
        start[q] = p.node.first + (u32)(mine[q * p.count + p.index] - mine[0]);
    move_to_quadrants(start, depth % 2 ? odd : even, depth % 2 ? even : odd, order, nullptr, p.begin, p.end, depth);
}

// Writes the children that are divided to the list of the next level.
extern "C" __global__ void __launch_bounds__(BLOCK)
    quadtree_link(uint4 *nodes, u32 *levels, Split *next, State *state, const offset *marks, u32 splits, u32 depth,
                  u32 base)
{
    const u32 t = blockIdx.x * BLOCK + threadIdx.x, end = base + 4 * splits;
    if (t > 4 * splits)
        return;
    const u32 rank = (u32)(marks[t] >> 32), piece = (u32)marks[t];
    if (t == 4 * splits) {
        next[rank].piece = piece;
        *state = {rank, piece, depth + 1, end};
        for (u32 d = depth + 2; d < DEPTH + 2; d++)
            levels[d] = end;
    } else if ((u32)(marks[t + 1] >> 32) > rank) {
        const u32 child = end + 4 * rank;
        const uint4 node = nodes[base + t];
        nodes[base + t].z = child;
        next[rank] = {node.x, node.y, child, piece};
    }
}

// Each warp processes one leaf. The points of a leaf are in the array of its level, in the order of their numbers. Each
// point finds its place by a comparison with all other points of the leaf. The leaves of the last level are already in
// order.
extern "C" __global__ void __launch_bounds__(BLOCK)
    quadtree_leaves(const item *even, const item *odd, const uint4 *nodes, u32 *order, u32 count)
{
    const u32 i = blockIdx.x * WARPS + warp_id();
    if (i >= count)
        return;
    const uint4 node = nodes[i];
    if (node.z != NO_CHILDREN || node.w == DEPTH)
        return;
    const item *mine = (node.w % 2 ? odd : even) + node.x;
    for (u32 k = lane_id(); k < node.y; k += WARP) {
        const item point = mine[k];
        u32 rank = 0;
        for (u32 j = 0; j < node.y; j++)
            rank += mine[j] < point;
        order[node.x + rank] = (u32)point;
    }
}
#endif
