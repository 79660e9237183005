// scan.cu - the prefix sums of N numbers, floats or integers, inclusive or exclusive, eight ways.
//
// y[i] = x[0] + ... + x[i], or up to x[i - 1] with EXCLUSIVE. Each kernel improves the kernel before it. Its comment
// names the change and the counters that should show it. N may be any number of elements, also 0 or more than 2^32:
// indexes have 64 bits for a whole array and 32 bits within a block's tile. x and y may be the same array. Addresses
// need only the alignment of an element; if they are aligned to 16 bytes, the kernels use words of 16 bytes.
//
// Integers are added modulo 2^32, so there is only one answer. Floats are added in an order that depends on the kernel
// and its tuning parameters. In all kernels except scan_decoupled_lookback this order does not depend on time, so the
// same launch gives the same bits. After an infinity or a NaN, sums follow IEEE 754; sums before it are not affected. A
// partial sum above the largest finite number is an infinity, so if elements of both signs are that large, the answer
// depends on the order. Denormals are kept. A sum of zeros alone is a zero of either sign.
//
// The tuning parameters are macros. A spec sets them. The defaults are for an editor, or for a compiler without
// definitions. A kernel is compiled if its own macro SCAN_<NAME> is set, or if SCAN_ONE is not set.

#include "common.cuh"

#ifndef EXCLUSIVE
#define EXCLUSIVE 0
#endif
#ifndef INTEGERS
#define INTEGERS 0 // 0: floats, 1: integers of 32 bits
#endif
#ifndef BLOCK
#define BLOCK 256 // threads of a block, whole warps
#endif
#ifndef PACKED
// brent_kung: 1: the n-th thread adds the n-th pair; 0: the thread with the same index as the item adds it
#define PACKED 1
#endif
#ifndef ITEMS
#define ITEMS 8 // three_phase: consecutive items of a thread; a power of two, at most 32
#endif
#ifndef PAD
#define PAD 1 // three_phase: words left free after each 32 words
#endif
#ifndef QUADS
#define QUADS 4 // quads per thread: items per thread / 4
#endif
#ifndef STAGES
#define STAGES 3 // waves: tiles in flight per block
#endif
#ifndef PER_SM
#define PER_SM 1 // blocks that must fit on an SM
#endif

#define WARPS (BLOCK / WARP)
#define QUAD_WARP 128u       // items of a warp's quad
#define TILE (QUADS * 4 * BLOCK)
#define SUMS_BLOCK 1024      // scan_sums: threads
#define SUMS_QUADS 4         // scan_sums: quads per thread

typedef choose<INTEGERS, float, unsigned> value; // unsigned numbers wrap around
typedef vec<value, 4> quad;
typedef Plus<value> Op;

// ---- the results of a scan ----

// A policy: makes the answer at an item from the sum of the items before it, without the item (exclusive) or with it
// (inclusive).
struct Inclusive {
    static __device__ __forceinline__ value at(value before, value item)
    {
        return before + item;
    }
    // Item i of a section whose inclusive scan is in s[].
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

// ---- sections in shared memory ----

// Stores one item of a section whose inclusive scan is in s[].
__device__ __forceinline__ void store_item(value *y, offset first, unsigned i, offset N, const value *s)
{
    if (first + i < N)
        y[first + i] = Kind::in_section(s, i);
}

#if defined(SCAN_KOGGE_STONE) || !defined(SCAN_ONE)
// Each thread has one item in shared memory. In step k each thread adds the item 2^k places before its own (Kogge and
// Stone, 1973).
//
// There are log2 BLOCK steps of BLOCK additions, so N log N additions in all. A step reads and writes the same array,
// which takes two barriers.
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
// Uses two arrays in turn: a step reads one array and writes the other array.
//
// Compared with kogge_stone: one barrier per step, for twice the shared memory.
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
// Calls step(i) for the last item i of each 2 * stride items, if i + reach is in the section. With `packed` the n-th
// thread calls it for the n-th of these items. Otherwise the thread whose index is the item's index calls it.
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

// Two items per thread. The kernel computes sums up a tree (up-sweep), then back down it (down-sweep; Brent and Kung,
// 1982).
//
// Compared with kogge_stone: about 2 N additions instead of N log N, in twice as many steps. If each thread adds its
// own item (PACKED = 0), every warp works for a few lanes in every step. If the n-th thread adds the n-th pair, whole
// warps are idle. Both cost the same in shared memory, because the words of a step are strides apart: PACKED = 0 has
// more requests, and PACKED = 1 has bank conflicts instead. For BLOCK = 256 and N = 65536 there are 49,536 loads
// without a conflict, or 12,160 loads with up to 16 lanes per bank. Both are 49,536 wavefronts.
extern "C" __global__ void scan_brent_kung(const value *x, value *y, value *__restrict__ sums, offset N)
{
    enum { SECTION = 2 * BLOCK };
    __shared__ value s[SECTION];
    const offset first = tile_begin(SECTION);
    const unsigned t = threadIdx.x;
#pragma unroll
    for (unsigned i = t; i < SECTION; i += BLOCK)
        s[i] = first + i < N ? x[first + i] : 0;
    // up: s[i] becomes the sum of the 2 strides that end at it
    for (unsigned stride = 1; stride < SECTION; stride *= 2) {
        __syncthreads();
        each_pair<PACKED>(stride, 0, [&](unsigned i) { s[i] += s[i - stride]; });
    }
    for (unsigned stride = SECTION / 4; stride > 0; stride /= 2) { // down: half a subtree adds the sum before it
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

// Returns the aggregate of the warps before this thread's warp (the exclusive prefix of its warp). *all becomes the
// aggregate of all warps. warps[] has one aggregate per warp, which must have been written before a barrier.
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
// own items. Then the threads' aggregates are scanned. Then each thread adds the aggregate of the threads before it.
//
// Compared with brent_kung: N additions in the first phase and N in the third, and the steps with barriers only process
// the threads' sums. The section goes through shared memory in both directions. There it changes from a striped
// arrangement, in which global accesses are coalesced, to a blocked one and back (CUB's BLOCK_LOAD_TRANSPOSE). Threads
// read words ITEMS apart, which are in few banks. An unused word after each 32 words (PAD = 1) spreads them over all
// banks.
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
// A warp has `quads` times 128 consecutive items. A lane has the four items at 4 * lane of each 128 (a warp-striped
// arrangement of vectors). So loads and stores are coalesced vectors of 16 bytes, and no item goes through shared
// memory. Shuffles compute the prefix of each quad.

// Returns the index in the tile of this lane's quad number k.
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

// Sets prefix[k] to the sum of the warp's items before this lane's quad k. Returns the warp's aggregate.
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

// Returns the scan of a quad whose prefix is `sum`.
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
// Makes an exclusive scan of the sections' aggregates, in place: one block, one tile after the other.
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
        __syncthreads(); // one barrier per tile suffices, because the next tile uses the other array for its sums
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
// Adds to each element of a section of y the prefix of that section.
extern "C" __global__ void scan_add(value *__restrict__ y, const value *__restrict__ sums, unsigned section, offset N)
{
    const offset first = tile_begin(section);
    const value before = sums[blockIdx.x];
    for (unsigned i = threadIdx.x; i < section && first + i < N; i += blockDim.x)
        y[first + i] += before;
}
#endif

#if defined(SCAN_HIERARCHICAL) || !defined(SCAN_ONE)
// Reduce, then scan: the first kernel computes only the aggregate of its tile, and the third kernel scans the tile from
// a known prefix.
//
// In three_phase and the kernels before it, the first kernel scans, and the third kernel reads and writes y again.
// Those are four passes over memory, and here there are three. Warps scan by shuffles, words are 16 bytes, and no item
// goes through shared memory.
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
// One kernel: each block waits for the prefix of the block before it, adds its own aggregate, and passes the sum on
// (chained scan).
//
// Compared with hierarchical: two passes over memory and one launch (and another that sets the flags to 0). A block
// must not wait for a block that has no SM yet. The order in which blocks start is not specified, so each block takes
// its number when it runs. The sum must be visible before its flag. Therefore a fence is between them, on the writer's
// and on the reader's side. The fences order the sum by the flag, so the sum itself may be an ordinary store. And only
// with an ordinary store does `kiln check` notice if the writer's fence is missing. The N / TILE handovers follow each
// other, each takes a way to the L2 and back, and this chain determines the time.
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
// Convert a number of 32 bits to its bits, and back.
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

// A note is what CUB calls a tile's status word: a tag that tells the kind of the value, and the value. Both are in one
// word that is written at once, so no fence is needed between them. Tags increase from launch to launch, so notes need
// not be cleared between launches. Tags repeat after 2^31 launches of scan_decoupled_lookback and 2^32 waves of
// scan_waves. By then another launch with as many tiles has overwritten the note, or a wave two waves later has.
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
// The state that a launch leaves for the next launch. All blocks read it, and the last block to finish changes it.
struct turnstile {
    unsigned launches, tickets, left;
};

// The look-back of one warp: returns the sum of all tiles before `tile`. It reads a window of 32 notes at a time, the
// nearest window first, until it finds a note with an inclusive prefix.
__device__ __forceinline__ value look_back(const unsigned long long *notes, offset tile, unsigned tag)
{
    const unsigned lane = lane_id();
    value before = 0;
    for (offset end = tile; end > 0; end -= WARP) {
        value sum = 0;
        unsigned state = tag + 1; // lanes before the first tile have the inclusive prefix 0
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

// Each block publishes its tile's aggregate as soon as it has it. Then it adds the aggregates of the tiles before it,
// backwards, until it finds an inclusive prefix (Merrill and Garland, "Single-pass parallel prefix scan with decoupled
// look-back", 2016).
//
// Compared with stream: no block waits for a chain of other blocks; it adds as many aggregates as it needs. How far it
// looks back depends on timing, and so does the order of additions.
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
    const unsigned tag = 2 * launch + 2, tile = ticket; // tag marks the tile's aggregate, tag + 1 its inclusive prefix
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

// Tiles in flight are in shared memory. Each thread's quads are in places that no other thread reads.
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
    copy_async_commit(); // also an empty group, because groups are counted
}

// Waits until all requested tiles except the last STAGES - 1 have arrived, and takes one.
__device__ __forceinline__ void take_tile(quad (&q)[QUADS], const quad *slot)
{
    copy_async_wait<STAGES - 1>();
#pragma unroll
    for (unsigned k = 0; k < QUADS; ++k)
        q[k] = slot[k * BLOCK + threadIdx.x];
}

// PER_SM blocks per SM, all resident together. Each block takes one tile per wave. It reads the sums of all tiles of
// its wave. It adds the sums before its own tile, and all of them for the next wave.
//
// Compared with decoupled_lookback: there are no tickets and no chain, and the order of additions does not depend on
// time. Blocks stay resident, so STAGES tiles are always being copied to shared memory. A block publishes the sum of
// its next tile before it finishes the current one, so the other blocks find the sum when they need it. In return all
// blocks must be resident together, which a cooperative launch guarantees.
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
    // each iteration loads this wave's tile and finishes the tile of the previous wave
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
            // This overwrites a note of two waves ago. Every block has read that note: this block has read the notes of
            // the previous wave, and each block read the older notes before it wrote its own.
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
