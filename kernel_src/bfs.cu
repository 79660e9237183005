// bfs.cu - breadth-first search from one vertex of a graph: the number of edges of a shortest way to each vertex.
//
// The graph is in CSR, offsets and index (u32), each edge in both directions. A search goes level by level: the vertices
// of a level are the *frontier*, and whoever is first found from it makes the next. An edge costs next to no
// arithmetic; what counts is how many edges are looked at, how evenly they are shared out among threads, and on graphs
// with many small levels (roads, grids) nothing but the latency of a level.
//
// What the answer is: levels[v], 0 at the source, -1 where no way leads. A source that is no vertex reaches nothing.
// Levels are exact and the same in every run. Nothing else would be: which of several neighbours finds a vertex, and so
// a tree of parents, and the order of a frontier depend on time. (Parents that are the same in every run cost an
// atomicMin for each edge between two levels, in place of one atomic for each vertex.)
// Loops and edges that a graph has twice do no harm. Directed graphs are searched right by all kernels but
// bfs_direction_optimised, which needs edges in both directions. Vertices and edges: fewer than 2^32 - 2 each.
//
// The tuning parameters are macros. A spec sets them; the defaults are for an editor or a compiler that is given none.
// A kernel is compiled where its own macro BFS_<NAME> is set, or where BFS_ONE is not.

#include "common.cuh"

#ifndef BLOCK
#define BLOCK 256 // threads of a block, whole warps
#endif
#ifndef CAPACITY
#define CAPACITY 1024 // vertices that a block's queue in shared memory has room for
#endif
#ifndef PER_SM
#define PER_SM 1 // persistent: blocks that an SM must have room for
#endif
#ifndef SOLO
#define SOLO 128 // persistent: a frontier of at most so many vertices is left to one block; 0: none is
#endif
#ifndef LANE
#define LANE 8 // persistent: edges of a vertex that are left to one lane
#endif
#ifndef PIECE
#define PIECE 1024 // persistent: edges of a piece; a vertex with more becomes several
#endif
#ifndef PEEK
#define PEEK 0 // persistent: 1: look at a vertex's bit before trying to set it
#endif
#ifndef EARLY
#define EARLY 1 // persistent: 1: read where a neighbour's edges lie before it is known whether it is new
#endif
#ifndef ALPHA
#define ALPHA 14 // direction: bottom-up where the frontier has more than 1/ALPHA of the edges not yet explored
#endif
#ifndef BETA
#define BETA 1024 // direction: top-down where it has fewer than 1/BETA of the vertices
#endif
#ifndef PROBE
#define PROBE 2 // direction: neighbours that a lane looks at at once
#endif

typedef unsigned u32;
typedef unsigned char u8;
#define WARPS (BLOCK / WARP)

// ---- a level a launch: the host reads how the frontier is ----

#if defined BFS_START || !defined BFS_ONE
// levels: -1 but at the source. The first frontier is the source, where it is a vertex.
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
// A thread a vertex, at every level; those of the frontier look at their neighbours. No atomics: whoever writes a level
// writes the same.
//
// Every level reads all of levels, so that a search costs vertices times levels: a graph of few levels stands it, a road
// or a path does not. A warp takes as long as its vertex with the most edges.
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

// Whether this thread is the first to find the vertex: one is.
__device__ __forceinline__ bool is_first(int *levels, u32 vertex, u32 level)
{
    return *(volatile int *)(levels + vertex) < 0 && atomicCAS(levels + vertex, -1, (int)level + 1) == -1;
}

#if defined BFS_FRONTIER || !defined BFS_ONE
// A thread a vertex of the frontier, which is a queue in memory; a new vertex is put at the end of the next one.
//
// Against vertex_parallel: work for the frontier only. All places in the queue are taken from one counter, so that its
// atomics come one after the other.
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
// A block's own queue (privatisation): its counter is in shared memory, and one addition to the counter in memory takes
// the places of all. What it has no room for goes to memory at once.
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
// Against frontier: an atomic in memory for each block in place of one for each vertex that is found.
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
// A warp a vertex of the frontier: its lanes read neighbours in index, and a vertex with many edges holds up its own
// warp a thirty-second of the time.
//
// Against frontier_block_queue: coalesced and even where vertices have many edges; where they have four, seven lanes of
// eight do nothing.
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
// A cooperative launch: as many blocks as there is room for, all of them there at once. Rounds take the place of
// launches; a round is a level, or a preparation. What makes a round short:
//
// - A vertex has a bit that says that it was found. Its word is the only thing that blocks meet in, and only by atomics.
// - The end of a round is one addition to a word in memory for each block: the upper half counts the blocks that came,
//   the lower half what they found. So the addition takes places in the next queue as well, and who sees all blocks
//   there knows the length of the queue.
// - There is no fence. A place of the queue is two words of 64 bits, each with the number of its round beside its value
//   (as notes in decoupled look-back), and who needs a place waits until the number is right. That a block has come
//   says that its atomics have answered, since its count depends on them.
// - A place holds where the edges of a vertex lie, so the next round needs not look it up; a vertex of many edges takes
//   several places, so that all are worked on by about equally many warps.
// - A small frontier is left to one block, whose queue lies in shared memory, and whose rounds end with a barrier of the
//   block. The others wait.

#if defined BFS_PERSISTENT || defined BFS_DIRECTION_OPTIMISED || !defined BFS_ONE

enum : u32 { EDGES_AT_ONCE = 4, ROOM = 2048 };            // edges in flight a lane; pieces in a block's queue
enum : u32 { SOLO_EDGES = 8 * SOLO, SERIAL = 32, WORDS = 8 }; // see bottom_up()

// Edges of a vertex, all or a part. None: no piece.
struct piece {
    u32 begin, count;
};

// What blocks share; all 0 before the first launch, and again after each but for `rounds`.
struct control {
    offset tails[2], edges[2]; // of rounds in turn: blocks that came, and how many pieces and edges they found
    offset level, last_edges;  // of a round of one block: its number, the level reached, the edges of that frontier
    u32 rounds, left;          // rounds of all launches; blocks that have left
};

// The search as each thread knows it. All threads of all blocks take the same decisions.
struct search {
    const u32 *offsets, *index;
    int *levels;
    u32 *visited;              // a bit a vertex: found, or without edges
    ulonglong2 *queues;        // two, `length` places each
    control *shared_by_all;
    offset length;
    offset tail_seen[2], edges_seen[2];
    u32 vertices;
    u32 round, tag;            // of this launch; of all
    u32 level;                 // of the frontier
    u32 pieces, edges;         // of the frontier
    u32 unexplored;            // edges of vertices not found yet
    u32 found_edges;           // by this thread, in this round
};

// A block's part of a round, in shared memory.
struct block_part {
    u32 count, spilled, base;  // pieces here; pieces that went to memory; where the ones here will stand
    u32 edges, solo_edges;     // found in this round; of all levels, where a block is alone
    u32 pieces_of_all, edges_of_all, level, last_edges;
    piece found[ROOM];         // one queue; a block alone has two halves that change places
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

__device__ __forceinline__ ulonglong2 *queue_of(const search &s, u32 round)
{
    return s.queues + (round & 1 ? s.length : 0);
}

// A place of the queue of the next round.
__device__ __forceinline__ void leave(const search &s, u32 place, piece p)
{
    const offset tag = (offset)(s.tag + 1) << 32;
    asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(
                     __cvta_generic_to_global(queue_of(s, s.round + 1) + place)),
                 "l"(tag | p.begin), "l"(tag | p.count)
                 : "memory");
}

// A place of the queue of this round, as soon as it is there.
__device__ __forceinline__ piece take(const search &s, u32 place)
{
    offset begin, count;
    do
        asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];"
                     : "=l"(begin), "=l"(count)
                     : "l"(__cvta_generic_to_global(queue_of(s, s.round) + place))
                     : "memory");
    while ((u32)(begin >> 32) != s.tag || (u32)(count >> 32) != s.tag);
    return {(u32)begin, (u32)count};
}

// Takes `count` places of the next queue for this warp.
__device__ __forceinline__ u32 places_in_memory(search &s, block_part &mine, u32 count)
{
    u32 base = 0;
    if (lane_id() == 0) {
        atomicAdd(&mine.spilled, count);
        base = (u32)(atomicAdd(&s.shared_by_all->tails[s.round & 1], (offset)count) - s.tail_seen[s.round & 1]);
    }
    return __shfl_sync(ALL_LANES, base, 0);
}

// A vertex with many edges: all lanes leave pieces of it.
__device__ __forceinline__ void push_long(search &s, block_part &mine, u32 begin, u32 edges)
{
    u32 count = edges / PIECE + (edges % PIECE != 0), base = places_in_memory(s, mine, count);
    for (u32 i = lane_id(); i < count; i += WARP)
        leave(s, base + i, {begin + i * PIECE, min(PIECE, edges - i * PIECE)});
}

// Puts what the lanes of a warp found into the block's queue, or in memory what it has no room for.
template <u32 items> __device__ __forceinline__ void push(search &s, block_part &mine, piece *queue, u32 room,
                                                          piece (&found)[items])
{
    u32 votes[items], total = 0;
#pragma unroll
    for (u32 k = 0; k < items; k++) {
        s.found_edges += found[k].count;
        for (u32 longs = __ballot_sync(ALL_LANES, found[k].count > PIECE); longs; longs &= longs - 1) {
            u32 from = __ffs(longs) - 1;
            push_long(s, mine, __shfl_sync(ALL_LANES, found[k].begin, from),
                      __shfl_sync(ALL_LANES, found[k].count, from));
        }
        if (found[k].count > PIECE)
            found[k].count = 0;
        votes[k] = __ballot_sync(ALL_LANES, found[k].count > 0);
        total += __popc(votes[k]);
    }
    if (total == 0)
        return;
    u32 place = 0;
    if (lane_id() == 0)
        place = atomicAdd(&mine.count, total);
    place = __shfl_sync(ALL_LANES, place, 0);
    u32 outside = place + total <= room ? 0 : place < room ? place + total - room : total, base = 0;
    if (outside)
        base = places_in_memory(s, mine, outside) + outside - total - place; // of place i: base + i
#pragma unroll
    for (u32 k = 0; k < items; k++) {
        u32 at = place + lanes_before(votes[k]);
        if (found[k].count > 0 && at < room)
            queue[at] = found[k];
        else if (found[k].count > 0)
            leave(s, base + at, found[k]);
        place += __popc(votes[k]);
    }
}

// Whether this thread is the first to find the vertex.
__device__ __forceinline__ bool set_bit(u32 *visited, u32 vertex)
{
    u32 *word = visited + vertex / 32, bit = 1u << vertex % 32;
    if (PEEK && (*(volatile u32 *)word & bit))
        return false;
    return !(atomicOr(word, bit) & bit);
}

// Looks at up to EDGES_AT_ONCE edges of each lane, `step` apart, the first of `left`; all accesses of a kind are under
// way before the first of them is waited for.
template <u32 step> __device__ __forceinline__ void visit(search &s, block_part &mine, piece *queue, u32 room,
                                                          offset first, u32 left)
{
    u32 to[EDGES_AT_ONCE], begin[EDGES_AT_ONCE], end[EDGES_AT_ONCE];
    bool is_new[EDGES_AT_ONCE];
    piece found[EDGES_AT_ONCE];
#pragma unroll
    for (u32 k = 0; k < EDGES_AT_ONCE; k++)
        to[k] = k * step < left ? __ldg(s.index + first + k * step) : 0;
#pragma unroll
    for (u32 k = 0; k < EDGES_AT_ONCE; k++) {
        is_new[k] = k * step < left && set_bit(s.visited, to[k]);
        if (EARLY && k * step < left) {
            begin[k] = __ldg(s.offsets + to[k]);
            end[k] = __ldg(s.offsets + to[k] + 1);
        }
    }
#pragma unroll
    for (u32 k = 0; k < EDGES_AT_ONCE; k++) {
        if (!EARLY && is_new[k]) {
            begin[k] = __ldg(s.offsets + to[k]);
            end[k] = __ldg(s.offsets + to[k] + 1);
        }
    }
#pragma unroll
    for (u32 k = 0; k < EDGES_AT_ONCE; k++) {
        found[k] = {0, 0};
        if (is_new[k]) {
            found[k] = {begin[k], end[k] - begin[k]};
            s.levels[to[k]] = (int)s.level + 1;
            prefetch_l2(s.index + begin[k]); // for who goes on from it
        }
    }
    push(s, mine, queue, room, found);
}

// The edges of a warp's pieces: short ones by lanes, the longer ones by all lanes, one after the other.
__device__ __forceinline__ void expand(search &s, block_part &mine, piece *queue, u32 room, piece p)
{
    const u32 alone = p.count <= LANE ? p.count : 0;
    for (u32 at = 0; __any_sync(ALL_LANES, at < alone); at += EDGES_AT_ONCE)
        visit<1>(s, mine, queue, room, (offset)p.begin + at, at < alone ? alone - at : 0);
    for (u32 longs = __ballot_sync(ALL_LANES, p.count > LANE); longs; longs &= longs - 1) {
        u32 from = __ffs(longs) - 1, begin = __shfl_sync(ALL_LANES, p.begin, from),
            count = __shfl_sync(ALL_LANES, p.count, from);
        for (u32 at = 0; at < count; at += WARP * EDGES_AT_ONCE) {
            u32 mine_at = at + lane_id();
            visit<WARP>(s, mine, queue, room, (offset)begin + mine_at, mine_at < count ? count - mine_at : 0);
        }
    }
}

// As many pieces a warp as make `warps` warps busy: few, where the frontier is small, for its edges to be looked at at
// once.
__device__ __forceinline__ u32 pieces_a_warp(u32 pieces, u32 warps)
{
    return min(max(ceil_div(pieces, warps), 1), WARP);
}

__device__ __forceinline__ void top_down(search &s, block_part &mine)
{
    const u32 each = pieces_a_warp(s.pieces, gridDim.x * WARPS);
    // Warps are numbered so that neighbouring pieces go to different SMs.
    for (offset at = (offset)(warp_id() * gridDim.x + blockIdx.x) * each; at < s.pieces; at += (offset)gridDim.x * WARPS * each) {
        piece p = {0, 0};
        if (lane_id() < each && at + lane_id() < s.pieces)
            p = take(s, (u32)at + lane_id());
        __syncwarp();
        expand(s, mine, mine.found, ROOM, p);
    }
}

// Levels of one block, until the frontier is too large or there is none. It then lies in the queue that is returned.
__device__ __forceinline__ piece *levels_alone(search &s, block_part &mine)
{
    u32 pieces = s.pieces, turn = 0;
    for (u32 i = threadIdx.x; i < pieces; i += BLOCK)
        mine.found[i] = take(s, i);
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0)
            mine.count = mine.edges = 0;
        __syncthreads();
        piece *now = mine.found + turn * (ROOM / 2), *next = mine.found + (turn ^ 1) * (ROOM / 2);
        const u32 each = pieces_a_warp(pieces, WARPS);
        for (u32 at = warp_id() * each; at < pieces; at += WARPS * each) {
            piece p = {0, 0};
            if (lane_id() < each && at + lane_id() < pieces)
                p = now[at + lane_id()];
            expand(s, mine, next, ROOM / 2, p);
        }
        u32 edges = warp_sum(s.found_edges);
        s.found_edges = 0;
        if (lane_id() == 0 && edges)
            atomicAdd(&mine.edges, edges);
        __syncthreads();
        s.level++;
        turn ^= 1;
        pieces = mine.count;
        edges = mine.edges;
        if (threadIdx.x == 0)
            mine.solo_edges += edges;
        if (pieces == 0 || pieces > SOLO || edges > SOLO_EDGES || mine.spilled) {
            if (threadIdx.x == 0) {
                const offset tag = (offset)s.tag << 32;
                *(volatile offset *)&s.shared_by_all->level = tag | s.level;
                *(volatile offset *)&s.shared_by_all->last_edges = tag | edges;
            }
            return next;
        }
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
    enum { CAME = 32 };
    const u32 turn = s.round & 1;
    offset tail, edges;
    do {
        tail = *(volatile offset *)&s.shared_by_all->tails[turn] - s.tail_seen[turn];
        edges = *(volatile offset *)&s.shared_by_all->edges[turn] - s.edges_seen[turn];
    } while (tail >> CAME != gridDim.x || edges >> CAME != gridDim.x);
    mine.pieces_of_all = (u32)tail;
    mine.edges_of_all = (u32)edges;
    if (alone) {
        mine.level = wait_for_note(&s.shared_by_all->level, s.tag);
        mine.last_edges = wait_for_note(&s.shared_by_all->last_edges, s.tag);
    }
}

// The end of a round: this block's queue goes to memory, and all blocks learn how much was found. `fence`: what was
// written without atomics is seen as well. `queued`: what was found is in queues; else it is in bits.
__device__ __forceinline__ void end_round(search &s, block_part &mine, const piece *queue, u32 room, bool fence,
                                          bool queued, bool alone)
{
    const u32 turn = s.round & 1;
    const offset came = (offset)1 << 32;
    u32 edges = warp_sum(s.found_edges);
    s.found_edges = 0;
    if (lane_id() == 0 && edges)
        atomicAdd(&mine.edges, edges);
    __syncthreads();
    const u32 count = queued ? min(mine.count, room) : mine.count;
    if (threadIdx.x == 0) {
        if (fence)
            __threadfence();
        atomicAdd(&s.shared_by_all->edges[turn], came | (alone ? mine.solo_edges : mine.edges));
        mine.base = (u32)(atomicAdd(&s.shared_by_all->tails[turn], came | count) - s.tail_seen[turn]);
    }
    __syncthreads();
    for (u32 i = threadIdx.x; queued && i < count; i += BLOCK)
        leave(s, mine.base + i, queue[i]);
    if (threadIdx.x == 0) {
        wait_for_all(s, mine, alone);
        if (fence)
            __threadfence();
        mine.count = mine.spilled = mine.edges = mine.solo_edges = 0;
    }
    __syncthreads();
    s.pieces = mine.pieces_of_all;
    s.edges = alone ? mine.last_edges : mine.edges_of_all;
    s.level = alone ? mine.level : s.level;
    s.unexplored -= mine.edges_of_all;
    s.tail_seen[turn] += (offset)gridDim.x << 32 | mine.pieces_of_all;
    s.edges_seen[turn] += (offset)gridDim.x << 32 | mine.edges_of_all;
    s.round++;
    s.tag++;
}

// Levels and bits of all vertices, and the first frontier. A vertex without edges has its bit set: nobody looks for it.
__device__ __forceinline__ void begin_search(search &s, block_part &mine, u32 source)
{
    const offset words = ceil_div((offset)s.vertices, WARP), step = (offset)gridDim.x * WARPS;
#pragma unroll 4
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
    if (blockIdx.x == 0 && warp_id() == 0) {
        piece found[1] = {{0, 0}};
        if (lane_id() == 0 && source < s.vertices)
            found[0] = {s.offsets[source], s.offsets[source + 1] - s.offsets[source]};
        push(s, mine, mine.found, ROOM, found);
    }
}

// The last block to leave makes all as it was.
__device__ __forceinline__ void end_search(search &s)
{
    control *c = s.shared_by_all;
    if (threadIdx.x == 0 && is_last_block(&c->left)) {
        for (u32 i = 0; i < 2; i++) {
            atomicExch(&c->tails[i], 0);
            atomicExch(&c->edges[i], 0);
        }
        atomicExch(&c->rounds, s.tag + 1);
    }
}

__device__ __forceinline__ search make_search(const u32 *offsets, const u32 *index, int *levels, u32 *visited,
                                              ulonglong2 *queues, control *c, offset length, u32 vertices, u32 edges)
{
    search s = {offsets, index, levels, visited, queues, c, length};
    s.tail_seen[0] = s.tail_seen[1] = s.edges_seen[0] = s.edges_seen[1] = 0;
    s.vertices = vertices;
    s.round = 0;
    s.tag = *(volatile u32 *)&c->rounds;
    s.level = s.pieces = s.edges = s.found_edges = 0;
    s.unexplored = edges;
    return s;
}

__device__ __forceinline__ void clear(block_part &mine)
{
    if (threadIdx.x == 0)
        mine.count = mine.spilled = mine.edges = mine.solo_edges = 0;
    __syncthreads();
}

// One round from a frontier in the queue.
__device__ __forceinline__ void round_from_queue(search &s, block_part &mine)
{
    if (s.pieces <= SOLO && s.edges <= SOLO_EDGES) {
        const piece *queue = mine.found;
        if (blockIdx.x == 0)
            queue = levels_alone(s, mine);
        end_round(s, mine, queue, ROOM / 2, false, true, true);
    } else {
        top_down(s, mine);
        s.level++;
        end_round(s, mine, mine.found, ROOM, false, true, false);
    }
}
#endif

#if defined BFS_PERSISTENT || !defined BFS_ONE
extern "C" __global__ void __launch_bounds__(BLOCK, PER_SM)
    bfs_persistent(const u32 *offsets, const u32 *index, int *levels, u32 *visited, ulonglong2 *queues, control *c,
                   offset length, u32 source, u32 vertices, u32 edges)
{
    __shared__ block_part mine;
    clear(mine);
    search s = make_search(offsets, index, levels, visited, queues, c, length, vertices, edges);
    begin_search(s, mine, source);
    end_round(s, mine, mine.found, ROOM, true, true, false);
    while (s.pieces > 0)
        round_from_queue(s, mine);
    end_search(s);
}
#endif

#if defined BFS_DIRECTION_OPTIMISED || !defined BFS_ONE
// Vertices not found yet look for a neighbour that is (Beamer, Asanovic, Patterson, SC 2012): one that was found before
// this level is of the frontier, since any earlier one would have found them. So the bits of found vertices do for the
// frontier's, if this level's are written to other words: `visited` is read, `next` is written, all of it.
//
// Most vertices need one or two looks, where top-down looks at every edge of the frontier. A warp takes WORDS words,
// lists the vertices whose bits are not set, and gives one to each lane; after SERIAL neighbours in vain it is all
// lanes' turn.
__device__ __forceinline__ bool is_set(const u32 *bits, u32 vertex)
{
    return bits[vertex / 32] >> vertex % 32 & 1;
}

struct warp_list {
    u32 fresh[WORDS]; // bits of vertices found now
    u8 vertices[WORDS * 32];
};

// Whether a lane's vertex has a neighbour whose bit is set.
__device__ __forceinline__ bool has_neighbour(const search &s, const u32 *visited, u32 begin, u32 count)
{
    bool hit = false;
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
    u32 found = 0;
    for (offset first = ((offset)warp_id() * gridDim.x + blockIdx.x) * WORDS; first < words;
         first += (offset)gridDim.x * WARPS * WORDS) {
        u32 old = lane < WORDS && first + lane < words ? visited[first + lane] : 0xffffffffu, count = 0;
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
        __syncwarp();
    }
    found = warp_sum(found);
    if (lane == 0 && found)
        atomicAdd(&mine.count, found);
}

// The queue of a frontier that is in bits: set in `now`, not in `before`.
__device__ __forceinline__ void queue_of_bits(search &s, block_part &mine, const u32 *before, const u32 *now)
{
    const offset words = ceil_div((offset)s.vertices, WARP), step = (offset)gridDim.x * BLOCK;
    for (offset first = (offset)blockIdx.x * BLOCK + warp_id() * WARP; first < words; first += step) {
        offset w = first + lane_id();
        u32 bits = w < words ? now[w] & ~before[w] : 0;
        while (__any_sync(ALL_LANES, bits != 0)) {
            piece found[1] = {{0, 0}};
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

// Top-down while the frontier is small, bottom-up where that is likely to look at fewer edges.
extern "C" __global__ void __launch_bounds__(BLOCK, PER_SM)
    bfs_direction_optimised(const u32 *offsets, const u32 *index, int *levels, u32 *visited, ulonglong2 *queues,
                            control *c, offset length, u32 source, u32 vertices, u32 edges)
{
    __shared__ block_part mine;
    __shared__ warp_list lists[WARPS];
    const offset words = ceil_div((offset)vertices, WARP);
    u32 *before = visited + words; // the bits of the level before, after a level bottom-up
    clear(mine);
    search s = make_search(offsets, index, levels, visited, queues, c, length, vertices, edges);
    begin_search(s, mine, source);
    end_round(s, mine, mine.found, ROOM, true, true, false);
    bool in_queue = true;
    while (s.pieces > 0) {
        const bool many = s.pieces > vertices / BETA;
        if (in_queue && (!many || s.edges <= s.unexplored / ALPHA)) {
            round_from_queue(s, mine);
        } else if (many) {
            if (in_queue) { // bits were set by atomics: a round with fences, so that all are seen
                const u32 pieces = s.pieces, frontier_edges = s.edges;
                end_round(s, mine, mine.found, ROOM, true, true, false);
                s.pieces = pieces;
                s.edges = frontier_edges;
            }
            in_queue = false;
            bottom_up(s, mine, s.visited, before, lists[warp_id()]);
            u32 *swapped = s.visited;
            s.visited = before;
            before = swapped;
            s.level++;
            end_round(s, mine, mine.found, ROOM, true, false, false);
        } else {
            const u32 unexplored = s.unexplored;
            queue_of_bits(s, mine, before, s.visited);
            end_round(s, mine, mine.found, ROOM, true, true, false);
            s.unexplored = unexplored;
            in_queue = true;
        }
    }
    end_search(s);
}
#endif
