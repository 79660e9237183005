// scan.cu - computes the prefix sums of N numbers, inclusive or exclusive, in eight ways. The numbers are floats or
// integers.
//
// An inclusive result is y[i] = x[0] + ... + x[i]. With EXCLUSIVE, the sum ends at x[i - 1]. Each kernel improves the
// kernel before it. The comment of a kernel names the change and the counters that should show it. N may be any number
// of elements, including 0 and more than 2^32. Indexes have 64 bits for the whole array, and 32 bits within a block's
// tile. The pointers x and y may be the same array. Addresses need only the alignment of an element. If they are
// aligned to 16 bytes, the kernels use accesses of 16 bytes.
//
// Integers are added modulo 2^32, so there is only one right result. Floats are added in an order that depends on the
// kernel and its tuning parameters. In all kernels except scan_decoupled_lookback this order does not depend on time,
// so the same launch gives the same bits. After an infinity or a NaN, sums follow IEEE 754. The sums before it are not
// affected. A partial sum above the largest finite number is an infinity. So if elements of both signs are that large,
// the result depends on the order. Denormals are kept. A sum of zeros alone is a zero with either sign.
//
// The tuning parameters are macros. The engine defines these macros from the spec. The defaults below only let an
// editor or a compiler parse this file alone. A kernel is compiled if its own macro SCAN_<NAME> is set, or if SCAN_ONE
// is not set.

#include "common.cuh"

#ifndef EXCLUSIVE
#define EXCLUSIVE 0
#endif
#ifndef INTEGERS
#define INTEGERS 0 // 0: floats, 1: integers of 32 bits
#endif
#ifndef BLOCK
#define BLOCK 256 // number of threads of a block, a multiple of 32
#endif
#ifndef PACKED
// brent_kung: 1: the n-th thread adds the n-th pair; 0: the thread with the item's index adds the item
#define PACKED 1
#endif
#ifndef ITEMS
#define ITEMS 8 // three_phase: number of consecutive items per thread; a power of two, at most 32
#endif
#ifndef PAD
#define PAD 1 // three_phase: number of unused words after every 32 words of shared memory
#endif
#ifndef QUADS
#define QUADS 4 // number of quads per thread; a quad is 4 items
#endif
#ifndef STAGES
#define STAGES 3 // waves: number of tiles that each block has in flight
#endif
#ifndef PER_SM
#define PER_SM 1 // number of blocks that must fit on an SM
#endif

#define WARPS (BLOCK / WARP)
#define QUAD_WARP 128u // number of items in a warp's row of quads, one quad per lane
#define TILE (QUADS * 4 * BLOCK)
#define SUMS_BLOCK 1024 // scan_sums: number of threads of the block
#define SUMS_QUADS 4 // scan_sums: number of quads per thread

typedef choose<INTEGERS, float, unsigned> value; // unsigned numbers wrap around on overflow
typedef vec<value, 4> quad;
typedef Plus<value> Op;

// ---- the two kinds of results ----

// A policy: at() makes the result at an item from the sum of the items before it. The inclusive result includes the
// item. The exclusive result leaves it out.
struct Inclusive {
    static __device__ __forceinline__ value at(value before, value item)
    {
        return before + item;
    }
    // Returns the result at item i of a section whose inclusive scan is in s[].
    static __device__ __forceinline__ value in_section(const value *s, unsigned i)
    {
        return s[i];
    }
};
struct Exclusive {
    static __device__ __forceinline__ value at(value before, value)
    {
        return before;
    }
    static __device__ __forceinline__ value in_section(const value *s, unsigned i)
    {
        return i ? s[i - 1] : 0;
    }
};
typedef choose<EXCLUSIVE, Inclusive, Exclusive> Kind;

// ---- scans of sections in shared memory: a section is the part of x that a block scans ----

// Stores the result at item i of a section whose inclusive scan is in s[].
__device__ __forceinline__ void store_item(value *y, offset first, unsigned i, offset N, const value *s)
{
    if (first + i < N)
        y[first + i] = Kind::in_section(s, i);
}

#if defined(SCAN_KOGGE_STONE) || !defined(SCAN_ONE)
// Each thread has one item in shared memory. In step k each thread adds the item that is 2^k places before its own item
// (Kogge and Stone, 1973).
//
// There are log2 BLOCK steps of about BLOCK additions, so N log2 BLOCK additions in all. A step reads and writes the
// same array, so it needs two barriers.
extern "C" __global__ void scan_kogge_stone(const value *x, value *y, value *__restrict__ sums, offset N)
{
    __shared__ value s[BLOCK];
    const offset first = tile_begin(BLOCK);
    const unsigned t = threadIdx.x;
    s[t] = first + t < N ? x[first + t] : 0;
    for (unsigned stride = 1; stride < BLOCK; stride *= 2) {
        __syncthreads();
        value before = t >= stride ? s[t - stride] : 0;
        __syncthreads();
        if (t >= stride)
            s[t] += before;
    }
    __syncthreads();
    store_item(y, first, t, N, s);
    if (t == BLOCK - 1)
        sums[blockIdx.x] = s[t];
}
#endif

#if defined(SCAN_KOGGE_STONE_DOUBLE_BUFFER) || !defined(SCAN_ONE)
// Uses two arrays by turns: a step reads one array and writes the other array.
//
// Compared with kogge_stone, a step has one barrier instead of two, and a block needs twice as much shared memory.
extern "C" __global__ void scan_kogge_stone_double_buffer(const value *x, value *y, value *__restrict__ sums, offset N)
{
    __shared__ value buffers[2][BLOCK];
    const offset first = tile_begin(BLOCK);
    const unsigned t = threadIdx.x;
    value *from = buffers[0], *to = buffers[1];
    from[t] = first + t < N ? x[first + t] : 0;
    for (unsigned stride = 1; stride < BLOCK; stride *= 2) {
        __syncthreads();
        to[t] = t >= stride ? from[t - stride] + from[t] : from[t];
        value *was = from;
        from = to;
        to = was;
    }
    __syncthreads();
    store_item(y, first, t, N, from);
    if (t == BLOCK - 1)
        sums[blockIdx.x] = from[t];
}
#endif

#if defined(SCAN_BRENT_KUNG) || !defined(SCAN_ONE)
// Calls step(i) for the last item i of each group of 2 * stride items, if i + reach is in the section. If `packed` is
// true, the n-th thread calls it for the n-th of these items. Otherwise the thread whose index equals the item's index
// (modulo BLOCK) calls it.
template <bool packed, class Step> __device__ __forceinline__ void each_pair(unsigned stride, unsigned reach, Step step)
{
    if (packed) {
        unsigned i = (threadIdx.x + 1) * 2 * stride - 1;
        if (i + reach < 2 * BLOCK)
            step(i);
    } else {
        for (unsigned i = threadIdx.x; i + reach < 2 * BLOCK; i += BLOCK)
            if ((i + 1) % (2 * stride) == 0)
                step(i);
    }
}

// Each thread has two items. The kernel computes sums up a tree (up-sweep) and then back down the tree (down-sweep;
// Brent and Kung, 1982).
//
// Compared with kogge_stone, there are about 2 N additions instead of N log2 BLOCK, in twice as many steps. If each
// thread adds its own item (PACKED = 0), every warp works for a few active lanes in every step. If the n-th thread adds
// the n-th pair, whole warps are idle. Both ways cost the same in shared memory, because the words of a step are
// strides apart. PACKED = 0 has more requests, and PACKED = 1 has bank conflicts instead. For BLOCK = 256 and N =
// 65536, PACKED = 0 has 49,536 loads without a conflict. PACKED = 1 has 12,160 loads with up to 16 lanes per bank. In
// both cases these loads take 49,536 wavefronts.
extern "C" __global__ void scan_brent_kung(const value *x, value *y, value *__restrict__ sums, offset N)
{
    enum { SECTION = 2 * BLOCK };
    __shared__ value s[SECTION];
    const offset first = tile_begin(SECTION);
    const unsigned t = threadIdx.x;
#pragma unroll
    for (unsigned i = t; i < SECTION; i += BLOCK)
        s[i] = first + i < N ? x[first + i] : 0;
    // up-sweep: s[i] becomes the sum of the 2 strides that end at it
    for (unsigned stride = 1; stride < SECTION; stride *= 2) {
        __syncthreads();
        each_pair<PACKED>(stride, 0, [&](unsigned i) { s[i] += s[i - stride]; });
    }
    for (unsigned stride = SECTION / 4; stride > 0; stride /= 2) { // down-sweep: half a subtree adds the sum before it
        __syncthreads();
        each_pair<PACKED>(stride, stride, [&](unsigned i) { s[i + stride] += s[i]; });
    }
    __syncthreads();
#pragma unroll
    for (unsigned i = t; i < SECTION; i += BLOCK)
        store_item(y, first, i, N, s);
    if (t == 0)
        sums[blockIdx.x] = s[SECTION - 1];
}
#endif

// ---- warps and blocks ----

// Returns the exclusive prefix of this thread's warp: the aggregate of the warps before it. The function sets *all to
// the aggregate of all warps. The array warps[] has one aggregate per warp. A barrier must be between the writes of
// warps[] and the call.
template <unsigned count> __device__ __forceinline__ value prefix_of_warp(const value *warps, value *all)
{
    const unsigned lane = lane_id(), warp = warp_id();
    value scanned = warp_scan<Op>(lane < count ? warps[lane] : 0);
    *all = __shfl_sync(ALL_LANES, scanned, count - 1);
    value before = __shfl_sync(ALL_LANES, scanned, warp ? warp - 1 : 0);
    return warp ? before : 0;
}

#if defined(SCAN_THREE_PHASE) || !defined(SCAN_ONE)
// Each thread has ITEMS consecutive items (a blocked arrangement). The kernel has three phases. Each thread scans its
// own items. Then the block scans the aggregates of the threads. Then each thread adds the aggregate of the threads
// before it to its items.
//
// Compared with brent_kung, there are N additions in the first phase and N in the third phase. The steps with barriers
// only process the aggregates of the threads. The section goes through shared memory in both directions. On this way it
// changes from a striped arrangement, in which global accesses are coalesced, to a blocked one and back (CUB's
// BLOCK_LOAD_TRANSPOSE). In the blocked arrangement, the lanes of a warp access words that are ITEMS apart, which are
// in few banks. If an unused word follows every 32 words (PAD = 1), these words are in different banks.
extern "C" __global__ void __launch_bounds__(BLOCK)
    scan_three_phase(const value *x, value *y, value *__restrict__ sums, offset N)
{
    enum { SECTION = ITEMS * BLOCK };
#define PLACE(i) ((i) + (i) / 32 * PAD)
    __shared__ value s[PLACE(SECTION)], warps[WARPS];
    const offset first = tile_begin(SECTION);
    const unsigned t = threadIdx.x, mine = t * ITEMS;
#pragma unroll
    for (unsigned i = t; i < SECTION; i += BLOCK)
        s[PLACE(i)] = first + i < N ? x[first + i] : 0;
    __syncthreads();
    value run[ITEMS], sum = 0;
#pragma unroll
    for (unsigned i = 0; i < ITEMS; ++i) {
        value item = s[PLACE(mine + i)];
        run[i] = Kind::at(sum, item);
        sum += item;
    }
    value scanned = warp_scan<Op>(sum), all;
    if (lane_id() == WARP - 1)
        warps[warp_id()] = scanned;
    value lane_before = shuffle_up(scanned, 1);
    __syncthreads();
    value before = prefix_of_warp<WARPS>(warps, &all) + (lane_id() ? lane_before : 0);
#pragma unroll
    for (unsigned i = 0; i < ITEMS; ++i)
        s[PLACE(mine + i)] = before + run[i];
    __syncthreads();
#pragma unroll
    for (unsigned i = t; i < SECTION; i += BLOCK)
        if (first + i < N)
            y[first + i] = s[PLACE(i)];
    if (t == 0)
        sums[blockIdx.x] = all;
#undef PLACE
}
#endif

// ---- tiles in registers ----
//
// A warp has `quads` times 128 consecutive items. A quad is 4 consecutive items. A lane has the quad at 4 * lane of
// each 128 items (a warp-striped arrangement of vectors). So loads and stores are coalesced vectors of 16 bytes, and no
// item goes through shared memory. Shuffles compute the prefix of each quad.

// Returns the index in the tile of this lane's quad k.
template <unsigned quads> __device__ __forceinline__ unsigned quad_index(unsigned k)
{
    return (warp_id() * quads + k) * QUAD_WARP + lane_id() * 4;
}

template <unsigned quads>
__device__ __forceinline__ void load_tile(quad (&q)[quads], const value *x, offset first, offset N, bool aligned)
{
    if (aligned && first + quads * 4 * blockDim.x <= N) {
#pragma unroll
        for (unsigned k = 0; k < quads; ++k)
            q[k] = load_quad(x + first + quad_index<quads>(k));
        return;
    }
#pragma unroll
    for (unsigned k = 0; k < quads; ++k) {
        const offset i = first + quad_index<quads>(k);
        q[k].x = i < N ? x[i] : 0;
        q[k].y = i + 1 < N ? x[i + 1] : 0;
        q[k].z = i + 2 < N ? x[i + 2] : 0;
        q[k].w = i + 3 < N ? x[i + 3] : 0;
    }
}

// Sets prefix[k] to the sum of the warp's items that come before this lane's quad k. Returns the warp's aggregate.
template <unsigned quads> __device__ __forceinline__ value warp_prefixes(const quad (&q)[quads], value (&prefix)[quads])
{
    value running = 0;
#pragma unroll
    for (unsigned k = 0; k < quads; ++k) {
        value scanned = warp_scan<Op>((q[k].x + q[k].y) + (q[k].z + q[k].w));
        value before = shuffle_up(scanned, 1);
        prefix[k] = running + (lane_id() ? before : 0);
        running += __shfl_sync(ALL_LANES, scanned, WARP - 1);
    }
    return running;
}

// Returns the scan of a quad. `sum` is the prefix of the quad.
__device__ __forceinline__ quad scan_quad(quad q, value sum)
{
    quad out;
    out.x = Kind::at(sum, q.x);
    sum += q.x;
    out.y = Kind::at(sum, q.y);
    sum += q.y;
    out.z = Kind::at(sum, q.z);
    sum += q.z;
    out.w = Kind::at(sum, q.w);
    return out;
}

template <unsigned quads>
__device__ __forceinline__ void store_tile(value *y, const quad (&q)[quads], const value (&prefix)[quads], value before,
                                           offset first, offset N, bool aligned)
{
    const bool whole = aligned && first + quads * 4 * blockDim.x <= N;
#pragma unroll
    for (unsigned k = 0; k < quads; ++k) {
        const offset i = first + quad_index<quads>(k);
        quad out = scan_quad(q[k], before + prefix[k]);
        if (whole) {
            store_quad(y + i, out);
            continue;
        }
        if (i < N)
            y[i] = out.x;
        if (i + 1 < N)
            y[i + 1] = out.y;
        if (i + 2 < N)
            y[i + 2] = out.z;
        if (i + 3 < N)
            y[i + 3] = out.w;
    }
}

#if defined(SCAN_SUMS) || !defined(SCAN_ONE)
// Replaces the aggregates of the sections by their exclusive scan. The kernel has one block, which processes one tile
// after the other.
extern "C" __global__ void __launch_bounds__(SUMS_BLOCK) scan_sums(value *sums, offset count)
{
    __shared__ value warps[2][SUMS_BLOCK / WARP];
    value carry = 0;
    unsigned turn = 0;
    for (offset first = 0; first < count; first += SUMS_QUADS * 4 * SUMS_BLOCK, turn ^= 1) {
        quad q[SUMS_QUADS];
        value prefix[SUMS_QUADS], all;
        load_tile(q, sums, first, count, is_aligned<sizeof(quad)>(sums));
        value total = warp_prefixes(q, prefix);
        if (lane_id() == 0)
            warps[turn][warp_id()] = total;
        __syncthreads(); // one barrier per tile is enough, because the next tile uses the other array
        value sum = carry + prefix_of_warp<SUMS_BLOCK / WARP>(warps[turn], &all);
        carry += all;
#pragma unroll
        for (unsigned k = 0; k < SUMS_QUADS; ++k) {
            const offset i = first + quad_index<SUMS_QUADS>(k);
            value before = sum + prefix[k];
            if (i < count)
                sums[i] = before;
            if (i + 1 < count)
                sums[i + 1] = before += q[k].x;
            if (i + 2 < count)
                sums[i + 2] = before += q[k].y;
            if (i + 3 < count)
                sums[i + 3] = before += q[k].z;
        }
    }
}
#endif

#if defined(SCAN_ADD) || !defined(SCAN_ONE)
// Adds the prefix of a section to each element of this section of y.
extern "C" __global__ void scan_add(value *__restrict__ y, const value *__restrict__ sums, unsigned section, offset N)
{
    const offset first = tile_begin(section);
    const value before = sums[blockIdx.x];
    for (unsigned i = threadIdx.x; i < section && first + i < N; i += blockDim.x)
        y[first + i] += before;
}
#endif

#if defined(SCAN_HIERARCHICAL) || !defined(SCAN_ONE)
// Reduces first and scans later. The kernel scan_tile_sums computes only the aggregate of each tile, scan_sums scans
// the aggregates, and scan_tiles scans each tile from a known prefix.
//
// In three_phase and the variants before it, the first kernel scans the sections, and the third kernel reads and writes
// y again. Those variants pass over memory four times, and this variant passes three times. Warps scan by shuffles,
// accesses have 16 bytes, and no item goes through shared memory.
extern "C" __global__ void __launch_bounds__(BLOCK)
    scan_tile_sums(const value *__restrict__ x, value *__restrict__ sums, offset N)
{
    __shared__ value warps[WARPS];
    quad q[QUADS];
    value mine = 0, all;
    load_tile(q, x, tile_begin(TILE), N, is_aligned<sizeof(quad)>(x));
#pragma unroll
    for (unsigned k = 0; k < QUADS; ++k)
        mine += (q[k].x + q[k].y) + (q[k].z + q[k].w);
    mine = warp_all_reduce<Op>(mine);
    if (lane_id() == 0)
        warps[warp_id()] = mine;
    __syncthreads();
    prefix_of_warp<WARPS>(warps, &all);
    if (threadIdx.x == 0)
        sums[blockIdx.x] = all;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    scan_tiles(const value *x, value *y, const value *__restrict__ sums, offset N)
{
    __shared__ value warps[WARPS];
    const offset first = tile_begin(TILE);
    const bool aligned = is_aligned<sizeof(quad)>(x, y);
    quad q[QUADS];
    value prefix[QUADS], all;
    load_tile(q, x, first, N, aligned);
    value total = warp_prefixes(q, prefix);
    if (lane_id() == 0)
        warps[warp_id()] = total;
    __syncthreads();
    value before = sums[blockIdx.x] + prefix_of_warp<WARPS>(warps, &all);
    store_tile(y, q, prefix, before, first, N, aligned);
}
#endif

// ---- one pass: blocks that wait for other blocks ----

#if defined(SCAN_STREAM) || !defined(SCAN_ONE)
// A single kernel (chained scan). Each block waits for the prefix that the block before it passes on, adds its own
// aggregate, and passes the sum on.
//
// Compared with hierarchical, there are two passes over memory and one launch, besides another launch that sets the
// flags to 0. A block must not wait for a block that has no SM yet. The order in which blocks start is not specified,
// so each block takes the number of its tile when it starts. The sum must be visible before its flag is. Therefore a
// fence separates them, both where they are written and where they are read. The fences and the flag order the accesses
// to the sum, so an ordinary store may write the sum. With an ordinary store, `kiln check` notices if the writer's
// fence is missing. There are N / TILE handovers, one after the other. Each goes to the L2 and back, and this chain
// determines the time.
extern "C" __global__ void __launch_bounds__(BLOCK)
    scan_stream(const value *x, value *y, value *sums, volatile unsigned *flags, offset N)
{
    __shared__ value warps[WARPS], handed;
    __shared__ unsigned number;
    if (threadIdx.x == 0)
        number = atomicAdd((unsigned *)flags, 1); // flags[n] belongs to tile n - 1; flags[0] counts the running blocks
    __syncthreads();
    const unsigned tile = number;
    const offset first = (offset)tile * TILE;
    const bool aligned = is_aligned<sizeof(quad)>(x, y);
    quad q[QUADS];
    value prefix[QUADS], all;
    load_tile(q, x, first, N, aligned);
    value total = warp_prefixes(q, prefix);
    if (lane_id() == 0)
        warps[warp_id()] = total;
    __syncthreads();
    value before = prefix_of_warp<WARPS>(warps, &all);
    if (threadIdx.x == 0) {
        value sum = 0;
        if (tile) {
            while (flags[tile] == 0) {
            }
            __threadfence();
            sum = *(const volatile value *)(sums + tile - 1);
        }
        sums[tile] = sum + all;
        __threadfence();
        flags[tile + 1] = 1;
        handed = sum;
    }
    __syncthreads();
    store_tile(y, q, prefix, before + handed, first, N, aligned);
}
#endif

#if defined(SCAN_DECOUPLED_LOOKBACK) || defined(SCAN_WAVES) || !defined(SCAN_ONE)
// bits_of() converts a number of 32 bits to its bits, and value_of() converts the bits back.
__device__ __forceinline__ unsigned bits_of(unsigned value)
{
    return value;
}

__device__ __forceinline__ unsigned bits_of(float value)
{
    return __float_as_uint(value);
}

template <class T> __device__ __forceinline__ T value_of(unsigned bits);
template <> __device__ __forceinline__ unsigned value_of<unsigned>(unsigned bits)
{
    return bits;
}
template <> __device__ __forceinline__ float value_of<float>(unsigned bits)
{
    return __uint_as_float(bits);
}

// A note is a word with a tag and a value. The tag tells the kind of the value. CUB calls a note the status word of a
// tile. The tag and the value are written at once, so no fence is needed between them. Tags increase from launch to
// launch. So notes need not be cleared between launches. Tags repeat after 2^31 launches of scan_decoupled_lookback and
// 2^32 waves of scan_waves. Before a tag repeats, the old note has been overwritten: by another launch with as many
// tiles, or by a wave two waves later.
__device__ __forceinline__ void leave(unsigned long long *note, unsigned tag, value sum)
{
    *(volatile unsigned long long *)note = (unsigned long long)tag << 32 | bits_of(sum);
}

__device__ __forceinline__ unsigned read_note(const unsigned long long *note, value *sum)
{
    unsigned long long word = *(const volatile unsigned long long *)note;
    *sum = value_of<value>((unsigned)word);
    return (unsigned)(word >> 32);
}
#endif

#if defined(SCAN_DECOUPLED_LOOKBACK) || !defined(SCAN_ONE)
// The state that a launch leaves for the next launch. All blocks read this state, and the last block to finish changes
// it.
struct turnstile {
    unsigned launches, tickets, left;
};

// One warp looks back and returns the sum of all tiles before `tile`. The warp reads a window of 32 notes at a time,
// and the nearest window first. It stops at a note with an inclusive prefix.
__device__ __forceinline__ value look_back(const unsigned long long *notes, offset tile, unsigned tag)
{
    const unsigned lane = lane_id();
    value before = 0;
    for (offset end = tile; end > 0; end -= WARP) {
        value sum = 0;
        unsigned state = tag + 1; // a lane before the first tile has the inclusive prefix 0
        if (lane < end)
            do {
                state = read_note(notes + (end - 1 - lane), &sum);
            } while (state != tag && state != tag + 1);
        unsigned closed = __ballot_sync(ALL_LANES, state == tag + 1);
        unsigned nearest = closed ? __ffs(closed) - 1 : WARP - 1;
        before = warp_all_reduce<Op>(lane <= nearest ? sum : 0) + before;
        if (closed)
            break;
    }
    return before;
}

// Each block publishes the aggregate of its tile as soon as it has computed it. Then it adds the aggregates of the
// tiles before it, backwards, until it finds an inclusive prefix (Merrill and Garland, "Single-pass parallel prefix
// scan with decoupled look-back", 2016).
//
// Compared with stream, no block waits for a chain of other blocks. A block adds as many aggregates as it needs. The
// timing determines how far a block looks back, and thereby the order of additions.
extern "C" __global__ void __launch_bounds__(BLOCK)
    scan_decoupled_lookback(const value *x, value *y, unsigned long long *notes, turnstile *turn, offset N)
{
    __shared__ value warps[WARPS], looked;
    __shared__ unsigned launch, ticket;
    const unsigned t = threadIdx.x;
    const bool aligned = is_aligned<sizeof(quad)>(x, y);
    if (t == 0) {
        launch = *(volatile unsigned *)&turn->launches;
        ticket = atomicAdd(&turn->tickets, 1);
    }
    __syncthreads();
    // `tag` marks a tile's aggregate, `tag` + 1 its inclusive prefix
    const unsigned tag = 2 * launch + 2, tile = ticket;
    const offset first = (offset)tile * TILE;
    quad q[QUADS];
    value prefix[QUADS], all;
    load_tile(q, x, first, N, aligned);
    value total = warp_prefixes(q, prefix);
    if (lane_id() == 0)
        warps[warp_id()] = total;
    __syncthreads();
    value before = prefix_of_warp<WARPS>(warps, &all);
    if (t < WARP) {
        if (t == 0)
            leave(notes + tile, tile ? tag : tag + 1, all);
        value sum = look_back(notes, tile, tag);
        if (t == 0 && tile)
            leave(notes + tile, tag + 1, sum + all);
        if (t == 0)
            looked = sum;
    }
    __syncthreads();
    store_tile(y, q, prefix, looked + before, first, N, aligned);
    if (t == 0 && is_last_block(&turn->left)) {
        atomicExch(&turn->tickets, 0);
        atomicAdd(&turn->launches, 1);
    }
}
#endif

#if defined(SCAN_WAVES) || !defined(SCAN_ONE)
// The state that a launch leaves for the next launch.
struct board {
    unsigned waves, left;
};

// The tiles that a block has in flight are in shared memory. No other thread reads the places of a thread's quads, so
// no barrier is needed.
__device__ __forceinline__ void request_tile(quad *slot, const value *x, offset first, offset N, bool aligned)
{
    slot += threadIdx.x;
    if (aligned && first + TILE <= N) {
#pragma unroll
        for (unsigned k = 0; k < QUADS; ++k)
            copy_async<sizeof(quad)>(slot + k * BLOCK, x + first + quad_index<QUADS>(k));
    } else if (first < N) {
        quad q[QUADS];
        load_tile(q, x, first, N, false);
#pragma unroll
        for (unsigned k = 0; k < QUADS; ++k)
            slot[k * BLOCK] = q[k];
    }
    copy_async_commit(); // commits a group even if there is nothing to copy, because the waits count groups
}

// Waits until all requested tiles except the last STAGES - 1 have arrived. Then reads the oldest of the requested
// tiles.
__device__ __forceinline__ void take_tile(quad (&q)[QUADS], const quad *slot)
{
    copy_async_wait<STAGES - 1>();
#pragma unroll
    for (unsigned k = 0; k < QUADS; ++k)
        q[k] = slot[k * BLOCK + threadIdx.x];
}

// The grid has PER_SM blocks per SM, which are all resident together. Each block takes one tile per wave. A block reads
// the sums of all tiles of its wave. It adds the sums of the tiles before its own tile. For the next wave it adds all
// sums of this wave.
//
// Compared with decoupled_lookback, there are no tickets and no chain of blocks, and the order of additions does not
// depend on time. Blocks stay resident, so STAGES tiles are always being copied to shared memory. A block publishes the
// sum of its next tile before it finishes its current tile. So the other blocks find the sum when they need it. In
// return all blocks must be resident together, which a cooperative launch guarantees.
extern "C" __global__ void __launch_bounds__(BLOCK, PER_SM)
    scan_waves(const value *x, value *y, unsigned long long *notes, board *shown, offset N)
{
    extern __shared__ quad slots[];
    __shared__ value warps[2][WARPS], befores[2][WARPS], alls[2][WARPS];
    const unsigned t = threadIdx.x, lane = lane_id(), warp = warp_id();
    const offset step = grid_threads<TILE>(), tiles = ceil_div(N, TILE);
    const offset mine = (tiles - blockIdx.x + gridDim.x - 1) / gridDim.x; // number of tiles of this block
    const bool aligned = is_aligned<sizeof(quad)>(x, y);
    const unsigned waves_before = *(volatile unsigned *)&shown->waves;
    offset first = tile_begin(TILE), wanted = first;
#pragma unroll
    for (unsigned i = 0; i < STAGES; ++i, wanted += step)
        request_tile(slots + i * QUADS * BLOCK, x, wanted, N, aligned);
    quad q[QUADS], next[QUADS];
    value prefix[QUADS], next_prefix[QUADS], in_block = 0, carry = 0;
    unsigned tag = waves_before, slot = 0;
    // each iteration loads the tile of this wave and finishes the tile of the previous wave
    for (offset wave = 0; wave <= mine; ++wave) {
        const unsigned turn = wave & 1;
        if (wave < mine) {
            take_tile(next, slots + slot * QUADS * BLOCK);
            value total = warp_prefixes(next, next_prefix);
            if (lane == 0)
                warps[turn][warp] = total;
        }
        if (wave > 0) {
            const unsigned long long *told = notes + tag % 2 * gridDim.x;
            const offset begin = (wave - 1) * gridDim.x;
            const unsigned count = tiles - begin < gridDim.x ? (unsigned)(tiles - begin) : gridDim.x;
            value before = 0, all = 0;
            for (unsigned i = t; i < count; i += BLOCK) {
                value sum;
                while (read_note(told + i, &sum) != tag) {
                }
                all += sum;
                before += i < blockIdx.x ? sum : 0;
            }
            before = warp_all_reduce<Op>(before);
            all = warp_all_reduce<Op>(all);
            if (lane == 0) {
                befores[turn][warp] = before;
                alls[turn][warp] = all;
            }
        }
        __syncthreads();
        ++tag;
        value next_in_block = 0;
        if (wave < mine) {
            // This write overwrites a note of two waves ago. Every block has read that old note. This block has just
            // read the notes of the previous wave, and each block wrote its note of that wave only after it had read
            // the older notes.
            value all;
            next_in_block = prefix_of_warp<WARPS>(warps[turn], &all);
            if (t == 0)
                leave(notes + tag % 2 * gridDim.x + blockIdx.x, tag, all);
            request_tile(slots + slot * QUADS * BLOCK, x, wanted, N, aligned);
            wanted += step;
            slot = slot + 1 < STAGES ? slot + 1 : 0;
        }
        if (wave > 0) {
            value before = carry + warp_all_reduce<Op>(lane < WARPS ? befores[turn][lane] : 0);
            carry += warp_all_reduce<Op>(lane < WARPS ? alls[turn][lane] : 0);
            store_tile(y, q, prefix, before + in_block, first, N, aligned);
            first += step;
        }
        in_block = next_in_block;
#pragma unroll
        for (unsigned k = 0; k < QUADS; ++k) {
            q[k] = next[k];
            prefix[k] = next_prefix[k];
        }
    }
    if (t == 0 && is_last_block(&shown->left))
        atomicExch(&shown->waves, waves_before + (unsigned)ceil_div(tiles, gridDim.x));
}
#endif
