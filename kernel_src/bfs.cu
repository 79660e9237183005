// bfs.cu - breadth-first search from one vertex of a graph. It computes the number of edges of a shortest path to each
// vertex.
//
// The graph is in CSR: offsets and index (u32), with each edge in both directions. A search processes one level after
// the other. The vertices of a level are the *frontier*. The vertices that are first found from the frontier become the
// next frontier. An edge needs almost no arithmetic. The time depends on the number of edges that are read, and on how
// evenly the threads share these edges. If a graph has many small levels (roads, grids), the time depends only on the
// latency of a level.
//
// The result: levels[v] is 0 at the source, and -1 for each vertex without a path from the source. If the source is not
// a vertex, the search reaches nothing. Levels are exact and the same in every run. A tree of parents, and the order of
// a frontier, would differ from run to run, because they depend on which of several neighbours finds a vertex first.
// (Parents that are the same in every run would cost an atomicMin for each edge between two levels, instead of one
// atomic for each vertex.) Loops and repeated edges do no harm. All kernels search directed graphs correctly, except
// bfs_direction_optimised, which needs each edge in both directions. There must be fewer than 2^32 - 2 vertices and
// fewer than 2^32 - 2 edges.
//
// The tuning parameters are macros. The engine defines these macros from the spec. The defaults below only let an
// editor or a compiler parse this file alone. A kernel is compiled if its own macro BFS_<NAME> is set, or if BFS_ONE is
// not set.

#include "common.cuh"

#ifndef BLOCK
#define BLOCK 256 // number of threads of a block, a multiple of 32
#endif
#ifndef CAPACITY
#define CAPACITY 2048 // number of vertices that fit into a block's queue in shared memory
#endif
#ifndef PER_SM
#define PER_SM 1 // persistent: number of blocks that must fit on an SM
#endif
#ifndef SOLO
#define SOLO 128 // persistent: the largest frontier that one block searches alone; 0: all blocks search every frontier
#endif
#ifndef GROUP
#define GROUP 4 // persistent: number of lanes that read the edges of one vertex: a power of two up to 32
#endif
#ifndef LONG
#define LONG 32 // persistent: all lanes of a warp read the edges of a vertex that has more edges than this
#endif
#ifndef AT_ONCE
#define AT_ONCE 1 // persistent: number of edges in flight per lane
#endif
#ifndef PIECE
#define PIECE 1024 // persistent: largest number of edges of a piece; a vertex with more edges becomes several pieces
#endif
#ifndef PEEK
#define PEEK 0 // persistent: 1: read a vertex's bit before trying to set it
#endif
#ifndef EARLY
#define EARLY 1 // persistent: 1: read the offsets of a neighbour before it is known whether the neighbour is new
#endif
#ifndef AHEAD
// persistent: the kernel prefetches to the L2 the offsets of vertices whose numbers are this far before and after a new
// vertex; 0: no prefetch
#define AHEAD 0
#endif
#ifndef ALPHA
#define ALPHA 14 // direction: bottom-up if the frontier has more than 1/ALPHA of the unexplored edges
#endif
#ifndef BETA
#define BETA 1024 // direction: top-down if the frontier has fewer than 1/BETA of the vertices
#endif
#ifndef PROBE
#define PROBE 2 // direction: number of neighbours that each lane reads at once
#endif
#ifndef WORDS
#define WORDS 8 // direction: number of words of bits that a warp processes at once; at most 8
#endif

typedef unsigned u32;
typedef unsigned char u8;
#define WARPS (BLOCK / WARP)

// ---- one launch per level: the host reads the size of each frontier ----

#if defined BFS_START || !defined BFS_ONE
// Sets all levels to -1, except the source. The first frontier is the source, if it is a vertex.
extern "C" __global__ void __launch_bounds__(256)
    bfs_start(int *levels, u32 *frontier, u32 *count, u32 *depth, u32 source, u32 vertices)
{
    u32 v = blockIdx.x * 256 + threadIdx.x;
    if (v < vertices)
        levels[v] = v == source ? 0 : -1;
    if (v == 0) {
        frontier[0] = source;
        count[0] = source < vertices;
        depth[0] = 0;
    }
}
#endif

#if defined BFS_VERTEX_PARALLEL || !defined BFS_ONE
// In every level, each thread has one vertex. If the vertex is in the frontier, its thread reads the neighbours of the
// vertex. The kernel needs no atomics, because all threads that write a level write the same value.
//
// Every level reads the whole array `levels`, so the cost of a search is vertices times levels. This is acceptable for
// a graph with few levels, but not for a road network or a path. A warp takes as long as the vertex with the most edges
// among its 32 vertices.
extern "C" __global__ void __launch_bounds__(BLOCK)
    bfs_vertex_parallel(const u32 *offsets, const u32 *index, volatile int *levels, volatile u32 *more, u32 *depth,
                        u32 level, u32 vertices)
{
    u32 v = blockIdx.x * BLOCK + threadIdx.x;
    if (v == 0)
        depth[0] = level + 1;
    if (v >= vertices || levels[v] != (int)level)
        return;
    bool found = false;
    for (u32 at = offsets[v], end = offsets[v + 1]; at < end; at++) {
        u32 to = index[at];
        if (levels[to] < 0) {
            levels[to] = (int)level + 1;
            found = true;
        }
    }
    if (found)
        *more = 1;
}
#endif

// Returns true for exactly one of the threads that find the vertex.
__device__ __forceinline__ bool is_first(int *levels, u32 vertex, u32 level)
{
    return *(volatile int *)(levels + vertex) < 0 && atomicCAS(levels + vertex, -1, (int)level + 1) == -1;
}

#if defined BFS_FRONTIER || !defined BFS_ONE
// Each thread processes one vertex of the frontier, which is a queue in global memory. Threads append new vertices to
// the next queue.
//
// Compared with vertex_parallel, only the vertices of the frontier cause work. But one counter allocates all places of
// the queue, so its atomics run one after another.
extern "C" __global__ void __launch_bounds__(BLOCK)
    bfs_frontier(const u32 *offsets, const u32 *index, int *levels, const u32 *frontier, u32 *next, u32 *next_count,
                 u32 *depth, u32 level, u32 count)
{
    u32 i = blockIdx.x * BLOCK + threadIdx.x;
    if (i == 0)
        depth[0] = level + 1;
    if (i >= count)
        return;
    u32 v = frontier[i];
    for (u32 at = offsets[v], end = offsets[v + 1]; at < end; at++) {
        u32 to = index[at];
        if (is_first(levels, to, level))
            next[atomicAdd(next_count, 1)] = to;
    }
}
#endif

#if defined BFS_FRONTIER_BLOCK_QUEUE || defined BFS_WARP_PER_VERTEX || !defined BFS_ONE
// A queue of a block in shared memory (privatisation). The counter of this queue is in shared memory. At the end, one
// addition to the counter in global memory allocates places for all vertices of the block's queue. If the block's queue
// is full, further vertices go directly to global memory.
struct block_queue {
    u32 count, base, vertices[CAPACITY];
};

__device__ __forceinline__ void put(block_queue &queue, u32 vertex, u32 *next, u32 *next_count)
{
    u32 place = atomicAdd(&queue.count, 1);
    if (place < CAPACITY)
        queue.vertices[place] = vertex;
    else
        next[atomicAdd(next_count, 1)] = vertex;
}

__device__ __forceinline__ void write_out(block_queue &queue, u32 *next, u32 *next_count)
{
    __syncthreads();
    u32 count = min(queue.count, CAPACITY);
    if (threadIdx.x == 0 && count > 0)
        queue.base = atomicAdd(next_count, count);
    __syncthreads();
    for (u32 i = threadIdx.x; i < count; i += BLOCK)
        next[queue.base + i] = queue.vertices[i];
}
#endif

#if defined BFS_FRONTIER_BLOCK_QUEUE || !defined BFS_ONE
// Compared with frontier, the kernel needs one global atomic per block, instead of one per vertex that is found.
extern "C" __global__ void __launch_bounds__(BLOCK)
    bfs_frontier_block_queue(const u32 *offsets, const u32 *index, int *levels, const u32 *frontier, u32 *next,
                             u32 *next_count, u32 *depth, u32 level, u32 count)
{
    __shared__ block_queue queue;
    u32 i = blockIdx.x * BLOCK + threadIdx.x;
    if (threadIdx.x == 0)
        queue.count = 0;
    if (i == 0)
        depth[0] = level + 1;
    __syncthreads();
    if (i < count) {
        u32 v = frontier[i];
        for (u32 at = offsets[v], end = offsets[v + 1]; at < end; at++) {
            u32 to = index[at];
            if (is_first(levels, to, level))
                put(queue, to, next, next_count);
        }
    }
    write_out(queue, next, next_count);
}
#endif

#if defined BFS_WARP_PER_VERTEX || !defined BFS_ONE
// Each warp has one vertex of the frontier. Its lanes read neighbouring elements of `index`. So a vertex with many
// edges delays its warp by only a thirty-second of the time.
//
// Compared with frontier_block_queue, reads are coalesced, and lanes have equal work if vertices have many edges. If
// vertices have four edges, seven of eight lanes are idle.
extern "C" __global__ void __launch_bounds__(BLOCK)
    bfs_warp_per_vertex(const u32 *offsets, const u32 *index, int *levels, const u32 *frontier, u32 *next,
                        u32 *next_count, u32 *depth, u32 level, u32 count)
{
    __shared__ block_queue queue;
    u32 i = blockIdx.x * WARPS + warp_id();
    if (threadIdx.x == 0)
        queue.count = 0;
    if (i == 0 && threadIdx.x == 0)
        depth[0] = level + 1;
    __syncthreads();
    if (i < count) {
        u32 v = frontier[i], begin = offsets[v], edges = offsets[v + 1] - begin;
        for (u32 at = lane_id(); at < edges; at += WARP) {
            u32 to = index[begin + at];
            if (is_first(levels, to, level))
                put(queue, to, next, next_count);
        }
    }
    write_out(queue, next, next_count);
}
#endif

// ---- all levels in one launch ----
//
// The kernel is a cooperative launch with as many blocks as can be resident together. Within the launch, rounds take
// the place of separate launches. A round is a level of the search, or a preparation. These properties make a round
// short:
//
// - Each vertex has a bit that tells whether it was found. Blocks share nothing else about a vertex, and they access
//   the word with the bit by atomics only.
// - The end of a round is one addition per block to a word in memory. The upper half of the word counts the blocks that
//   have arrived. The lower half counts the places that they need. So the addition also allocates places in the next
//   queue. A thread that sees all blocks in the counter knows the length of this queue.
// - There is no fence. A place of the queue is two words of 64 bits. Each word has a value and the number of its round
//   (like the notes of a decoupled look-back). A reader waits until the number of the round is right. A block that has
//   arrived has completed its atomics, because the count that it adds depends on their results.
// - A place of the queue has the offsets of a vertex's edges, so the next round need not read these offsets. A vertex
//   with many edges gets several places, so that several warps share its edges.
// - One block alone searches a small frontier. The queue of this frontier is in shared memory, and a level ends with a
//   barrier of the block. The other blocks wait.

#if defined BFS_PERSISTENT || defined BFS_DIRECTION_OPTIMISED || !defined BFS_ONE

// number of rows that a block's queue has room for; SOLO is at most half of this number
enum : u32 { ROOM = 2 * BLOCK };
static_assert(SOLO <= BLOCK, "a frontier that is left to one block has to fit into half of its queue");
enum : u32 { SOLO_EDGES = 8 * SOLO };             // largest number of edges of a frontier that one block searches alone
enum : u32 { SERIAL = 32 };                       // direction: edges of a vertex that one lane reads alone
enum : u32 { CAME = 32 };                         // the bit of a counter from which on blocks are counted

// A row is the edges of a vertex, or a part of these edges. A row without edges stands for "no row".
struct row {
    u32 begin, count;
};

// The state that all blocks share. All of it must be 0 before the first launch. After each launch, everything except
// `rounds` is 0 again. Each counter has its own cache line of the L2. There are two words of each kind, which are used
// by turns. Both count the blocks that have arrived.
struct control {
    offset places[2], line[14]; // this word also counts the places that the blocks need in the next queue
    offset edges[2], lines[14]; // this word also counts the edges that leave the found vertices
    // for a round that one block runs alone: the number of the round together with the level that it reached; the
    // number of edges of that frontier
    offset level, last_edges;
    u32 rounds, left;           // number of rounds of all launches; number of blocks that have left
};

// The state of the search. Each thread has a copy of it. All threads of all blocks make the same decisions.
struct search {
    const u32 *offsets, *index;
    int *levels;
    u32 *visited;               // one bit per vertex: set if the vertex was found, or has no edges
    ulonglong2 *queues;         // two queues of `length` places
    control *all;
    offset length;
    u32 vertices;
    // the index of this round's queue and counters, and the number of this round over all launches
    u32 turn, tag;
    u32 level;                  // level of the frontier
    // number of places of the frontier, or number of its vertices if the frontier is in bits; number of the edges that
    // leave the frontier
    u32 frontier, leaving;
    u32 unexplored;             // number of edges of the vertices that were not found yet
    u32 found_edges;            // number of edges that this thread found in this round
};

// The state of a block in a round, in shared memory.
struct block_part {
    offset places_seen[2], edges_seen[2]; // values of the counters before this round
    // number of rows in this queue; number of places that they need in addition to one place each
    u32 count, more;
    u32 spilled;                // true if further rows are in global memory
    u32 edges, solo_edges;      // edges found in this round; edges of all levels of a block that runs alone
    u32 base;                   // place of these rows in the next queue
    u32 all_places, all_edges, level, leaving; // thread 0 writes the values that all threads need to these variables
    row found[ROOM];            // the queue of the block; a block that runs alone uses its two halves by turns
};

__device__ __forceinline__ u32 warp_sum(u32 mine)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(ALL_LANES, mine);
#else
    return warp_all_reduce<Plus<u32>>(mine);
#endif
}

__device__ __forceinline__ u32 lanes_before(u32 votes)
{
    return __popc(votes & ((1u << lane_id()) - 1));
}

// ---- the queue in global memory ----

__device__ __forceinline__ const ulonglong2 *this_queue(const search &s)
{
    return s.queues + (s.turn ? s.length : 0);
}

__device__ __forceinline__ ulonglong2 *next_queue(const search &s)
{
    return s.queues + (s.turn ? 0 : s.length);
}

// Writes a row to a place of the next round's queue.
__device__ __forceinline__ void leave(ulonglong2 *place, u32 tag, row r)
{
    const offset upper = (offset)tag << 32;
    asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(place)),
                 "l"(upper | r.begin), "l"(upper | r.count)
                 : "memory");
}

// Waits until a place of this round's queue has its row, and reads it.
__device__ __forceinline__ row take(const ulonglong2 *place, u32 tag)
{
    offset begin, count;
    do
        asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];"
                     : "=l"(begin), "=l"(count)
                     : "l"(__cvta_generic_to_global(place))
                     : "memory");
    while ((u32)(begin >> 32) != tag || (u32)(count >> 32) != tag);
    return {(u32)begin, (u32)count};
}

__device__ __forceinline__ u32 places_of(u32 count)
{
    return count / PIECE + (count % PIECE != 0);
}

// Writes a row of many edges as several pieces to several places of the queue, so that several warps share it.
__device__ __forceinline__ void leave_pieces(ulonglong2 *place, u32 tag, row r)
{
#pragma unroll 1
    for (u32 at = 0; at < r.count; at += PIECE)
        leave(place++, tag, {r.begin + at, min(PIECE, r.count - at)});
}

// Writes rows that do not fit into the block's queue directly to global memory.
__device__ __forceinline__ void spill(const search &s, block_part &mine, row r)
{
    u32 places = places_of(r.count), before = warp_scan<Plus<u32>>(places), base = 0;
    if (lane_id() == WARP - 1) {
        base = (u32)atomicAdd(&s.all->places[s.turn], (offset)before) - (u32)mine.places_seen[s.turn];
        mine.spilled = 1;
    }
    base = __shfl_sync(ALL_LANES, base, WARP - 1);
    leave_pieces(next_queue(s) + base + before - places, s.tag + 1, r);
}

// Appends the rows that the lanes of a warp found to the block's queue. If this queue is full, the rows go to global
// memory.
template <u32 items> __device__ __forceinline__ void push(search &s, block_part &mine, row *queue, u32 room,
                                                          const row (&found)[items])
{
    u32 votes[items], total = 0, more = 0;
#pragma unroll
    for (u32 k = 0; k < items; k++) {
        votes[k] = __ballot_sync(ALL_LANES, found[k].count > 0);
        total += __popc(votes[k]);
        s.found_edges += found[k].count;
    }
    if (total == 0)
        return;
    u32 first = 0;
    if (lane_id() == 0)
        first = atomicAdd(&mine.count, total);
    first = __shfl_sync(ALL_LANES, first, 0);
    u32 place = first;
#pragma unroll
    for (u32 k = 0; k < items; k++) {
        const u32 at = place + lanes_before(votes[k]);
        if (found[k].count > 0 && at < room) {
            queue[at] = found[k];
            more += found[k].count > PIECE ? places_of(found[k].count) - 1 : 0;
        }
        place += __popc(votes[k]);
    }
    if (more)
        atomicAdd(&mine.more, more);
    if (place <= room)
        return;
#pragma unroll 1
    for (u32 k = 0; k < items; k++) { // this loop runs seldom, so its code is small rather than fast
        row r = found[0];
#pragma unroll
        for (u32 j = 1; j < items; j++)
            r = j == k ? found[j] : r;
        const u32 vote = __ballot_sync(ALL_LANES, r.count > 0), at = first + lanes_before(vote);
        first += __popc(vote);
        if (first > room)
            spill(s, mine, {r.begin, at < room ? 0 : r.count});
    }
}

// Writes the rows of this block to global memory, from place mine.base on.
__device__ __forceinline__ void write_rows(const search &s, block_part &mine, const row *queue, u32 count,
                                           bool long_ones)
{
    if (!long_ones) {
#pragma unroll 1
        for (u32 i = threadIdx.x; i < count; i += BLOCK)
            leave(next_queue(s) + mine.base + i, s.tag + 1, queue[i]);
        return;
    }
#pragma unroll 1
    for (u32 i = threadIdx.x; i < count; i += BLOCK)
        leave_pieces(next_queue(s) + atomicAdd(&mine.base, places_of(queue[i].count)), s.tag + 1, queue[i]);
}

// ---- top-down ----

// Loads a word without a branch in those lanes in which `is` is true. Without branches, several consecutive accesses
// are in flight before the first result is used.
__device__ __forceinline__ u32 load_if(bool is, const u32 *at)
{
    u32 value;
    asm("{\n\t.reg .pred is;\n\tsetp.ne.u32 is, %1, 0;\n\tmov.u32 %0, 0;\n\t@is ld.global.nc.u32 %0, [%2];\n\t}"
        : "=r"(value)
        : "r"((u32)is), "l"(__cvta_generic_to_global(at)));
    return value;
}

// Sets bits of a word, and returns the former value of the word. In lanes in which `is` is false, it returns all ones.
__device__ __forceinline__ u32 or_if(bool is, u32 *word, u32 bits)
{
    u32 value;
    asm volatile("{\n\t.reg .pred is;\n\tsetp.ne.u32 is, %1, 0;\n\tmov.u32 %0, -1;\n\t"
                 "@is atom.relaxed.gpu.global.or.b32 %0, [%2], %3;\n\t}"
                 : "=r"(value)
                 : "r"((u32)is), "l"(__cvta_generic_to_global(word)), "r"(bits)
                 : "memory");
    return value;
}

__device__ __forceinline__ u32 peek_if(bool is, const u32 *word)
{
    u32 value;
    asm volatile("{\n\t.reg .pred is;\n\tsetp.ne.u32 is, %1, 0;\n\tmov.u32 %0, -1;\n\t"
                 "@is ld.relaxed.gpu.global.u32 %0, [%2];\n\t}"
                 : "=r"(value)
                 : "r"((u32)is), "l"(__cvta_generic_to_global(word))
                 : "memory");
    return value;
}

// Reads up to AT_ONCE edges of each lane, from edge `first` on. The edges of a lane are `step` apart. From edge `first`
// on, the row has `left` edges. The thread that sets the bit of a vertex has found this vertex.
__device__ __forceinline__ void visit(search &s, block_part &mine, row *queue, u32 room, offset first, u32 left,
                                      u32 step)
{
    u32 to[AT_ONCE], was[AT_ONCE], begin[AT_ONCE], end[AT_ONCE];
    row found[AT_ONCE];
#pragma unroll
    for (u32 k = 0; k < AT_ONCE; k++)
        to[k] = load_if(k * step < left, s.index + first + k * step);
#pragma unroll
    for (u32 k = 0; PEEK && k < AT_ONCE; k++)
        was[k] = peek_if(k * step < left, s.visited + to[k] / 32);
#pragma unroll
    for (u32 k = 0; k < AT_ONCE; k++) {
        const u32 bit = 1u << to[k] % 32;
        was[k] = or_if(PEEK ? !(was[k] & bit) : k * step < left, s.visited + to[k] / 32, bit) & bit;
    }
#pragma unroll
    for (u32 k = 0; k < AT_ONCE; k++) {
        const bool is = EARLY ? k * step < left : !was[k];
        begin[k] = load_if(is, s.offsets + to[k]);
        end[k] = load_if(is, s.offsets + to[k] + 1);
    }
#pragma unroll
    for (u32 k = 0; k < AT_ONCE; k++) {
        found[k] = {begin[k], was[k] ? 0 : end[k] - begin[k]};
        if (!was[k]) {
            s.levels[to[k]] = (int)s.level + 1;
            // prefetched for the thread that reads the edges of this vertex in the next round
            prefetch_l2(s.index + begin[k]);
            // neighbours often have near numbers, so the search will soon read these offsets
            if (AHEAD) {
                prefetch_l2(s.offsets + (to[k] + AHEAD < s.vertices ? to[k] + AHEAD : s.vertices));
                prefetch_l2(s.offsets + (to[k] > AHEAD ? to[k] - AHEAD : 0));
            }
        }
    }
    push(s, mine, queue, room, found);
}

// Reads the edges of a warp's rows. GROUP lanes share a row. If a row has more than LONG edges, all lanes read it. Such
// rows are read one after another.
__device__ __forceinline__ void expand(search &s, block_part &mine, row *queue, u32 room, row r)
{
    const u32 sub = lane_id() % GROUP, few = r.count <= LONG ? r.count : 0;
    u32 longs = __ballot_sync(ALL_LANES, sub == 0 && r.count > LONG), at = sub, begin = 0, count = 0;
    bool by_groups = __any_sync(ALL_LANES, few > 0);
#pragma unroll 1
    while (by_groups || longs || at < count) {
        u32 step = GROUP;
        offset first = (offset)r.begin + at;
        u32 left = at < few ? few - at : 0;
        if (!by_groups) {
            if (at >= count) { // the condition is the same for all lanes
                u32 from = __ffs(longs) - 1;
                longs &= longs - 1;
                begin = __shfl_sync(ALL_LANES, r.begin, from);
                count = __shfl_sync(ALL_LANES, r.count, from);
                at = 0;
            }
            const u32 here = at + lane_id();
            step = WARP;
            first = (offset)begin + here;
            left = here < count ? count - here : 0;
        }
        visit(s, mine, queue, room, first, left, step);
        at += AT_ONCE * step;
        if (by_groups) {
            by_groups = __any_sync(ALL_LANES, at < few);
            at = by_groups ? at : 0; // if `count` is 0, the first long row is next
        }
    }
}

// Runs one level of the search with `warps` warps. If the frontier is in shared memory, `now` points to it. Otherwise
// the frontier is in global memory. A warp takes as many rows at once as keep all warps busy. If the frontier is small,
// this is one row.
__device__ __forceinline__ void top_down(search &s, block_part &mine, const row *now, u32 rows, u32 warp, u32 warps,
                                         row *queue, u32 room)
{
    const u32 each = rows <= warps ? 1 : min(ceil_div(rows, warps), WARP / GROUP), mine_of = lane_id() / GROUP;
#pragma unroll 1
    for (offset at = (offset)warp * each; at < rows; at += (offset)warps * each) {
        const offset i = at + mine_of;
        row r = {0, 0};
        if (mine_of < each && i < rows)
            r = now ? now[i] : take(this_queue(s) + i, s.tag);
        __syncwarp();
        expand(s, mine, queue, room, r);
    }
}

// ---- rounds ----

__device__ __forceinline__ void add_found_edges(search &s, block_part &mine)
{
    u32 edges = warp_sum(s.found_edges);
    s.found_edges = 0;
    if (lane_id() == 0 && edges)
        atomicAdd(&mine.edges, edges);
    __syncthreads();
}

__device__ __forceinline__ void take_all(search &s, block_part &mine)
{
    for (u32 i = threadIdx.x; i < s.frontier; i += BLOCK)
        mine.found[i] = take(this_queue(s) + i, s.tag);
}

// Returns whether this block continues alone after a level. `*rows` becomes the number of rows that the block found.
__device__ __forceinline__ bool goes_on(search &s, block_part &mine, u32 *rows)
{
    add_found_edges(s, mine);
    const u32 edges = mine.edges;
    *rows = mine.count;
    const bool on = *rows > 0 && *rows <= SOLO && edges <= SOLO_EDGES && mine.spilled == 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        mine.solo_edges += edges;
        mine.edges = 0;
        if (on) {
            mine.count = mine.more = 0;
        } else {
            const offset upper = (offset)s.tag << 32;
            *(volatile offset *)&s.all->level = upper | s.level;
            *(volatile offset *)&s.all->last_edges = upper | edges;
        }
    }
    __syncthreads();
    return on;
}

// Runs a top-down round. This is one level, or all levels of a block that runs alone while the others wait. Returns the
// queue of the vertices that were found.
__device__ __forceinline__ row *go_down(search &s, block_part &mine, bool alone)
{
    row *queue = mine.found;
    if (alone && blockIdx.x != 0)
        return queue;
    const row *now = nullptr;
    // Warps are numbered so that neighbouring rows go to different SMs.
    u32 room = ROOM, rows = s.frontier, warp = warp_id() * gridDim.x + blockIdx.x, warps = gridDim.x * WARPS;
    if (alone) {
        take_all(s, mine);
        __syncthreads();
        room = ROOM / 2;
        warp = warp_id();
        warps = WARPS;
        now = mine.found;
        queue = mine.found + room;
    }
    for (;;) {
        top_down(s, mine, now, rows, warp, warps, queue, room);
        s.level++;
        if (!alone || !goes_on(s, mine, &rows))
            return queue;
        row *swapped = (row *)now;
        now = queue;
        queue = swapped;
    }
}

__device__ __forceinline__ u32 wait_for_note(const offset *note, u32 tag)
{
    offset word;
    do
        word = *(const volatile offset *)note;
    while ((u32)(word >> 32) != tag);
    return (u32)word;
}

// Thread 0 waits for all blocks.
__device__ __forceinline__ void wait_for_all(const search &s, block_part &mine, bool alone)
{
    offset places, edges;
    do {
        places = *(volatile offset *)&s.all->places[s.turn] - mine.places_seen[s.turn];
        edges = *(volatile offset *)&s.all->edges[s.turn] - mine.edges_seen[s.turn];
    } while (places >> CAME != gridDim.x || edges >> CAME != gridDim.x);
    // Counters are not reset within a launch, so the difference from the former value is the contribution of this
    // round.
    mine.places_seen[s.turn] += places;
    mine.edges_seen[s.turn] += edges;
    mine.all_places = (u32)places;
    mine.all_edges = (u32)edges;
    mine.level = alone ? wait_for_note(&s.all->level, s.tag) : s.level;
    mine.leaving = alone ? wait_for_note(&s.all->last_edges, s.tag) : (u32)edges;
}

// Ends a round. The function writes this block's queue to global memory, and waits until all blocks know how much was
// found. `fence` makes writes that are not atomic visible too. `queued` tells that the found vertices are rows in
// queues. Otherwise they are bits.
__device__ __forceinline__ void end_round(search &s, block_part &mine, const row *queue, u32 room, bool fence,
                                          bool queued, bool alone)
{
    add_found_edges(s, mine);
    const u32 count = queued ? min(mine.count, room) : mine.count, more = mine.more;
    if (threadIdx.x == 0) {
        const offset came = (offset)1 << CAME;
        if (fence)
            __threadfence();
        atomicAdd(&s.all->edges[s.turn], came | (mine.edges + mine.solo_edges));
        mine.base = (u32)atomicAdd(&s.all->places[s.turn], came | (count + more)) - (u32)mine.places_seen[s.turn];
    }
    __syncthreads();
    if (queued)
        write_rows(s, mine, queue, count, more > 0);
    if (threadIdx.x == 0) {
        mine.count = mine.more = mine.spilled = mine.edges = mine.solo_edges = 0;
        wait_for_all(s, mine, alone);
        if (fence)
            __threadfence();
    }
    __syncthreads();
    s.frontier = mine.all_places;
    s.leaving = mine.leaving;
    s.level = mine.level;
    s.unexplored -= mine.all_edges;
    s.turn ^= 1;
    s.tag++;
}

// Sets the levels and bits of all vertices, and the first frontier. A vertex without edges has its bit set, so no
// thread searches for it.
__device__ __forceinline__ void begin_search(search &s, block_part &mine, u32 source)
{
    const offset words = ceil_div((offset)s.vertices, WARP), step = (offset)gridDim.x * WARPS;
#pragma unroll 2
    for (offset w = (offset)blockIdx.x * WARPS + warp_id(); w < words; w += step) {
        offset v = w * WARP + lane_id();
        bool done = true;
        if (v < s.vertices) {
            done = s.offsets[v] == s.offsets[v + 1] || v == source;
            s.levels[v] = v == source ? 0 : -1;
        }
        u32 bits = __ballot_sync(ALL_LANES, done);
        if (lane_id() == 0)
            s.visited[w] = bits;
    }
    if (threadIdx.x == 0) {
        u32 begin = 0, count = 0;
        if (blockIdx.x == 0 && source < s.vertices) {
            begin = s.offsets[source];
            count = s.offsets[source + 1] - begin;
        }
        mine.found[0] = {begin, count};
        mine.count = count > 0;
        mine.more = count > 0 ? places_of(count) - 1 : 0;
        mine.edges = count;
        mine.spilled = mine.solo_edges = 0;
        for (u32 i = 0; i < 2; i++)
            mine.places_seen[i] = mine.edges_seen[i] = 0;
    }
    __syncthreads();
}

// Leaves the search. The last block that leaves the kernel resets the shared state.
__device__ __forceinline__ void end_search(search &s)
{
    control *c = s.all;
    if (threadIdx.x == 0 && is_last_block(&c->left)) {
        for (u32 i = 0; i < 2; i++) {
            atomicExch(&c->places[i], 0);
            atomicExch(&c->edges[i], 0);
        }
        atomicExch(&c->rounds, s.tag + 1);
    }
}

__device__ __forceinline__ search make_search(const u32 *offsets, const u32 *index, int *levels, u32 *visited,
                                              ulonglong2 *queues, control *c, offset length, u32 vertices, u32 edges)
{
    search s = {offsets, index, levels, visited, queues, c, length, vertices};
    s.turn = 0;
    s.tag = *(volatile u32 *)&c->rounds;
    s.level = s.frontier = s.leaving = s.found_edges = 0;
    s.unexplored = edges;
    return s;
}

__device__ __forceinline__ bool is_for_one(const search &s)
{
    return s.frontier <= SOLO && s.leaving <= SOLO_EDGES;
}
#endif

#if defined BFS_PERSISTENT || !defined BFS_ONE
extern "C" __global__ void __launch_bounds__(BLOCK, PER_SM)
    bfs_persistent(const u32 *offsets, const u32 *index, int *levels, u32 *visited, ulonglong2 *queues, control *c,
                   offset length, u32 source, u32 vertices, u32 edges)
{
    __shared__ block_part mine;
    search s = make_search(offsets, index, levels, visited, queues, c, length, vertices, edges);
    const row *queue = mine.found;
    bool first = true, alone = false;
    begin_search(s, mine, source);
    for (;;) {
        end_round(s, mine, queue, alone ? ROOM / 2 : ROOM, first, true, alone);
        if (s.frontier == 0)
            break;
        first = false;
        alone = is_for_one(s);
        queue = go_down(s, mine, alone);
    }
    end_search(s);
}
#endif

#if defined BFS_DIRECTION_OPTIMISED || !defined BFS_ONE
// The bottom-up step (Beamer, Asanovic, Patterson, SC 2012). For every vertex that was not found yet, the step looks
// for a neighbour that was found. Such a neighbour belongs to the frontier, because a neighbour from an earlier level
// would have found the vertex before. Therefore the bits of all found vertices can stand for the frontier. But the bits
// of this level must go to other words, so the kernel reads `visited` and writes every word of `next`.
//
// In a bottom-up step, most vertices read only one or two neighbours, while a top-down level reads every edge of the
// frontier. A warp takes WORDS words of bits, lists the vertices whose bits are not set, and gives one of these
// vertices to each lane. If a lane has read SERIAL neighbours without success, all lanes share the vertex.
__device__ __forceinline__ bool is_set(const u32 *bits, u32 vertex)
{
    return bits[vertex / 32] >> vertex % 32 & 1;
}

struct warp_list {
    u32 fresh[WORDS]; // the bits of the vertices that were found in this level
    u8 vertices[WORDS * 32];
};

// Returns whether a lane's vertex has a neighbour whose bit is set.
__device__ __forceinline__ bool has_neighbour(const search &s, const u32 *visited, u32 begin, u32 count)
{
    bool hit = false;
#pragma unroll 1
    for (u32 at = 0; at < min(count, SERIAL) && !hit; at += PROBE) {
        u32 to[PROBE];
#pragma unroll
        for (u32 k = 0; k < PROBE; k++)
            to[k] = __ldg(s.index + (offset)begin + min(at + k, count - 1));
#pragma unroll
        for (u32 k = 0; k < PROBE; k++)
            hit |= is_set(visited, to[k]);
    }
    for (u32 open = __ballot_sync(ALL_LANES, !hit && count > SERIAL); open; open &= open - 1) {
        u32 from = __ffs(open) - 1, edges = __shfl_sync(ALL_LANES, count, from);
        const u32 *row = s.index + __shfl_sync(ALL_LANES, begin, from);
        bool any = false;
#pragma unroll 1
        for (u32 at = SERIAL; at < edges && !any; at += WARP)
            any = __any_sync(ALL_LANES, at + lane_id() < edges && is_set(visited, __ldg(row + at + lane_id())));
        if (lane_id() == from)
            hit = any;
    }
    return hit;
}

__device__ __forceinline__ void bottom_up(search &s, block_part &mine, const u32 *visited, u32 *next, warp_list &list)
{
    const u32 words = (u32)ceil_div((offset)s.vertices, WARP), lane = lane_id();
    const u32 all_set = 0xffffffffu;
    const offset step = (offset)gridDim.x * WARPS * WORDS;
    offset first = ((offset)warp_id() * gridDim.x + blockIdx.x) * WORDS;
    u32 found = 0, old = lane < WORDS && first + lane < words ? visited[first + lane] : all_set;
#pragma unroll 1
    for (; first < words; first += step) {
        const u32 coming = lane < WORDS && first + step + lane < words ? visited[first + step + lane] : all_set;
        u32 count = 0;
        if (lane < WORDS)
            list.fresh[lane] = 0;
        if (__any_sync(ALL_LANES, ~old != 0)) {
#pragma unroll
            for (u32 j = 0; j < WORDS; j++) {
                u32 open = ~__shfl_sync(ALL_LANES, old, j);
                if (open >> lane & 1)
                    list.vertices[count + lanes_before(open)] = (u8)(j * 32 + lane);
                count += __popc(open);
            }
        }
        __syncwarp();
        if (~coming != 0) // prefetches the offsets of the next vertices
            prefetch_l2(s.offsets + (first + step + lane) * 32);
#pragma unroll 1
        for (u32 i = 0; i < count; i += WARP) {
            u32 place = i + lane < count ? list.vertices[i + lane] : 0, begin = 0, edges = 0;
            const offset v = first * 32 + place;
            if (i + lane < count) {
                begin = __ldg(s.offsets + v);
                edges = __ldg(s.offsets + v + 1) - begin;
            }
            if (has_neighbour(s, visited, begin, edges)) {
                s.levels[v] = (int)s.level + 1;
                atomicOr(&list.fresh[place / 32], 1u << place % 32);
                s.found_edges += edges;
                found++;
            }
        }
        __syncwarp();
        if (lane < WORDS && first + lane < words)
            next[first + lane] = old | list.fresh[lane];
        old = coming;
        __syncwarp();
    }
    found = warp_sum(found);
    if (lane == 0 && found)
        atomicAdd(&mine.count, found);
}

// Makes the queue of a frontier that is in bits: the vertices that are set in `now` and not in `before`.
__device__ __forceinline__ void queue_of_bits(search &s, block_part &mine, const u32 *before, const u32 *now)
{
    const offset words = ceil_div((offset)s.vertices, WARP), step = (offset)gridDim.x * BLOCK;
#pragma unroll 1
    for (offset first = (offset)blockIdx.x * BLOCK + warp_id() * WARP; first < words; first += step) {
        offset w = first + lane_id();
        u32 bits = w < words ? now[w] & ~before[w] : 0;
        while (__any_sync(ALL_LANES, bits != 0)) {
            row found[1] = {{0, 0}};
            if (bits) {
                offset v = w * 32 + __ffs(bits) - 1;
                u32 begin = s.offsets[v];
                found[0] = {begin, s.offsets[v + 1] - begin};
                bits &= bits - 1;
            }
            push(s, mine, mine.found, ROOM, found);
        }
    }
}

// The search goes top-down while the frontier is small. It goes bottom-up when this is likely to read fewer edges.
extern "C" __global__ void __launch_bounds__(BLOCK, PER_SM)
    bfs_direction_optimised(const u32 *offsets, const u32 *index, int *levels, u32 *visited, ulonglong2 *queues,
                            control *c, offset length, u32 source, u32 vertices, u32 edges)
{
    // The kinds of rounds. The round `order` is only a fence. It follows levels whose bits were set by atomics.
    enum step { begin, down, order, up, queue_up };
    __shared__ block_part mine;
    __shared__ warp_list lists[WARPS];
    search s = make_search(offsets, index, levels, visited, queues, c, length, vertices, edges);
    u32 *before = visited + ceil_div((offset)vertices, WARP); // the bits of the previous level, after a bottom-up level
    const row *queue = mine.found;
    step step = begin;
    bool in_queue = true, alone = false;
    begin_search(s, mine, source);
    for (;;) {
        const u32 frontier = s.frontier, leaving = s.leaving, unexplored = s.unexplored;
        end_round(s, mine, queue, alone ? ROOM / 2 : ROOM, step != down, step != up, alone);
        if (step == order) { // this round found nothing, because it did not search
            s.frontier = frontier;
            s.leaving = leaving;
        }
        if (step == queue_up) // the number of edges is already known in this round
            s.unexplored = unexplored;
        if (s.frontier == 0)
            break;
        const bool many = s.frontier > vertices / BETA;
        alone = false;
        queue = mine.found;
        if (in_queue && (!many || s.leaving <= s.unexplored / ALPHA)) {
            step = down;
            alone = is_for_one(s);
            queue = go_down(s, mine, alone);
        } else if (in_queue) {
            step = order;
            in_queue = false;
        } else if (many || step == order) {
            step = up;
            bottom_up(s, mine, s.visited, before, lists[warp_id()]);
            u32 *swapped = s.visited;
            s.visited = before;
            before = swapped;
            s.level++;
        } else {
            step = queue_up;
            queue_of_bits(s, mine, before, s.visited);
            in_queue = true;
        }
    }
    end_search(s);
}
#endif
