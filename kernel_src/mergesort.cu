// mergesort.cu - N keys in order, alone or with a value each, by merging sorted runs, six ways.
//
// Every kernel here is one part of a sort: mergesort_blocks makes sorted runs of SORT_TILE items in shared memory, and
// then a pass over memory after the other merges WAYS runs into one, until one is left. What differs is how a pass
// merges. A pass reads and writes each item once, 8 bytes a key, 16 bytes a pair; so the number of passes decides:
//
//     bytes = 8 N (1 + passes),  passes = ceil(log(N / SORT_TILE) / log(WAYS))
//
//     N = 2^26 keys, 4,256 GB/s (the copy of an H200): a pass is 0.126 ms
//     SORT_TILE  4,352 (CUB's), WAYS 2: 14 passes and the first, 1.89 ms
//     SORT_TILE  8,672,         WAYS 4:  7 passes and the first, 1.01 ms
//     SORT_TILE 17,344,         WAYS 4:  6 passes and the first, 0.88 ms
//     SORT_TILE 17,344,         WAYS 8:  4 passes and the first, 0.63 ms
//
// Against that stands the work within a tile: WAYS runs are merged in log2 WAYS steps through shared memory. An item
// takes some 16 instructions a step, 0.12 clocks of an SM, so 0.04 ms for all of 2^26 keys: a step in shared memory costs
// a third of a pass over memory. The first pass has log2 SORT_BLOCK of these steps.
//
// What the answer is: keys are u32, i32 or f32 (KEY). Floats are in the total order of IEEE 754: NaN with the sign bit
// set, -infinity, ..., -0, 0, ..., infinity, NaN without it; so equal keys are equal in every bit. The first kernel maps
// bits to unsigned integers in that order, the last one maps them back. The sort is stable: of pairs with equal keys
// the first stays the first. There is one answer, the same bits in every run. N is below 2^32 - 2^16, 0 included.
//
// Between the passes items lie in two arrays in turn, a pair as one word of 8 bytes. These begin at multiples of 16
// bytes; keys, values and results need not.
//
// The tuning parameters are macros. A spec sets them; the defaults are for an editor or a compiler that is given none.
// A kernel is compiled where its own macro MERGESORT_<NAME> is set, or where MERGESORT_ONE is not.

#include "common.cuh"

#ifndef KEY
#define KEY 0 // 0: u32, 1: i32, 2: f32
#endif
#ifndef PAIRS
#define PAIRS 0 // 1: a value of 4 bytes goes with each key
#endif
#ifndef SORT_BLOCK
#define SORT_BLOCK 256 // threads of a block of mergesort_blocks, a power of two
#endif
#ifndef SORT_ITEMS
#define SORT_ITEMS 17 // items of each; an odd number keeps neighbours out of each other's banks
#endif
#ifndef SORT_TILE
#define SORT_TILE (SORT_BLOCK * SORT_ITEMS / 32 * 32) // items of a run that they make
#endif
#ifndef SORT_RESIDENT
#define SORT_RESIDENT 1024 // threads of mergesort_blocks that an SM must have room for
#endif
#ifndef BLOCK
#define BLOCK 256 // threads of a block of the merges, a power of two
#endif
#ifndef ITEMS
#define ITEMS 15 // items of each in a merge
#endif
#ifndef STAGED
#define STAGED 1024 // merge_tiled, merge_circular: items of each run in shared memory
#endif
#ifndef SHARE
#define SHARE 8192 // merge_tiled, merge_circular: items that a block makes
#endif
#ifndef WAYS
#define WAYS 4 // mergesort_merge: runs that become one: 2, 4 or 8
#endif
#ifndef NETWORK
#define NETWORK 0 // 1: of keys alone: mergesort_blocks and mergesort_merge by networks; ITEMS and SORT_ITEMS are 32
#endif
#ifndef RESIDENT
#define RESIDENT 1024 // threads of mergesort_merge that an SM must have room for
#endif

typedef unsigned u32;

enum : u32 {
    TOP = 0xffffffffu,                                  // no key is above
    PARTITION_BLOCK = 128,                              // mergesort_partition: threads
    CHUNK = WARP * 32,                                  // NETWORK: items of a warp
    ROW = 36,                                           // NETWORK: words that 32 items take in shared memory
    // mergesort_merge: items of a block
    TILE = NETWORK ? (BLOCK / WARP - WAYS / 2 + 1) * CHUNK : (BLOCK - WAYS / 2 + 1) * ITEMS / 32 * 32
};

// ---- keys and items ----

// The bits of a key as an unsigned integer: its order is that of the keys.
__device__ __forceinline__ u32 ordered(u32 bits)
{
    if (KEY == 0)
        return bits;
    if (KEY == 1)
        return bits ^ 0x80000000u;
    return bits ^ ((u32)((int)bits >> 31) | 0x80000000u);
}

__device__ __forceinline__ u32 raw(u32 key)
{
    if (KEY != 2)
        return ordered(key);
    return key ^ (~(u32)((int)key >> 31) | 0x80000000u);
}

struct __align__(8) pair {
    u32 key, value;
};
typedef choose<PAIRS, u32, pair> item;
enum : u32 { PACK = 16 / sizeof(item) }; // items of a word of 16 bytes

__device__ __forceinline__ u32 key_of(u32 key)
{
    return key;
}

__device__ __forceinline__ u32 key_of(pair item)
{
    return item.key;
}

// Item i of the input.
__device__ __forceinline__ void get(u32 &to, const u32 *keys, const u32 *, offset i)
{
    to = ordered(keys[i]);
}

__device__ __forceinline__ void get(pair &to, const u32 *keys, const u32 *values, offset i)
{
    to.key = ordered(keys[i]);
    to.value = values[i];
}

__device__ __forceinline__ void set_top(u32 &to)
{
    to = TOP;
}

__device__ __forceinline__ void set_top(pair &to)
{
    to.key = TOP;
    to.value = 0;
}

// Where a pass writes: the other array, or in the last one the results.
struct Output {
    item *items;
    u32 *keys, *values;
    bool last;

    __device__ __forceinline__ void put(offset i, u32 key) const
    {
        if (last)
            keys[i] = raw(key);
        else
            ((u32 *)items)[i] = key;
    }
    __device__ __forceinline__ void put(offset i, pair mine) const
    {
        if (last) {
            keys[i] = raw(mine.key);
            values[i] = mine.value;
        } else {
            ((pair *)items)[i] = mine;
        }
    }
};

// Where item i of a block lies in shared memory. For networks, four words are left free after each 32 items.
__device__ __forceinline__ u32 place_of(u32 i)
{
    return NETWORK ? i + i / 32 * (ROW - 32) : i;
}

// Items 0 to count - 1 in shared memory go to the places from `at` on, a multiple of PACK, in words of 16 bytes.
template <u32 block> __device__ __forceinline__ void write_tile(const Output &out, const item *s, offset at, u32 count)
{
    const u32 words = count / PACK;
    const uint4 *from = (const uint4 *)s;
    if (!out.last) {
        for (u32 i = threadIdx.x; i < words; i += block)
            ((uint4 *)(out.items + at))[i] = from[place_of(i * PACK) / PACK];
    } else if (!PAIRS && is_aligned<16>(out.keys)) {
        for (u32 i = threadIdx.x; i < words; i += block) {
            uint4 q = from[place_of(i * PACK) / PACK];
            q.x = raw(q.x), q.y = raw(q.y), q.z = raw(q.z), q.w = raw(q.w);
            ((uint4 *)(out.keys + at))[i] = q;
        }
    } else {
        for (u32 i = threadIdx.x; i < words * PACK; i += block)
            out.put(at + i, s[place_of(i)]);
    }
    if (threadIdx.x < count % PACK)
        out.put(at + words * PACK + threadIdx.x, s[place_of(words * PACK + threadIdx.x)]);
}

// ---- merging two runs ----
//
// Runs are named by places: item k of a run is at(begin + k). Of two runs A and B that are merged, A's items come before
// B's that are equal.

struct Flat { // places in an array
    const item *items;
    __device__ __forceinline__ item operator()(u32 place) const
    {
        return items[place];
    }
};

// The co-rank of `diagonal`: how many of the first `diagonal` items of the merge are A's. A binary search: the last of
// A's that are taken is not above the first of B's that are not, and the other way round.
template <class At> __device__ __forceinline__ u32 co_rank(u32 diagonal, At at, u32 a, u32 a_length, u32 b, u32 b_length)
{
    u32 low = diagonal > b_length ? diagonal - b_length : 0, high = min(diagonal, a_length);
    while (low < high) {
        u32 middle = low + (high - low) / 2;
        if (key_of(at(a + middle)) <= key_of(at(b + diagonal - 1 - middle)))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// The next `count` items of the merge of the places [i, i_end) and [j, j_end); what is beyond both has no meaning.
//
// A run that has ended shows TOP. Of keys alone that is all: where the other run still has keys that are TOP, it does
// not matter whose is taken. Of pairs it does.
template <u32 count, class At>
__device__ __forceinline__ void merge_items(item (&out)[count], At at, u32 i, u32 i_end, u32 j, u32 j_end)
{
    item x, y, z;
    set_top(x);
    set_top(y);
    bool more_x = i < i_end, more_y = j < j_end;
    if (more_x)
        x = at(i);
    if (more_y)
        y = at(j);
#pragma unroll
    for (u32 k = 0; k < count; ++k) {
        const bool first = PAIRS ? more_x && (!more_y || key_of(x) <= key_of(y)) : key_of(x) <= key_of(y);
        out[k] = first ? x : y;
        if (k + 1 == count)
            break;
        const u32 next = (first ? i : j) + 1;
        const bool more = next < (first ? i_end : j_end);
        set_top(z);
        if (more)
            z = at(next);
        if (first)
            i = next, x = z, more_x = more;
        else
            j = next, y = z, more_y = more;
    }
}

// ---- merging two runs by networks ----
//
// For keys alone, in which nothing tells one from an equal one. A thread's serial merge has some 8 operations a key in a
// chain, reads shared memory with bank conflicts, and is preceded by a search of its own. Here a warp makes CHUNK items
// of the merge at a time: A's part ascending and then B's part descending is a bitonic sequence, which ten steps sort,
// each a minimum and a maximum for two keys: one operation a key and step, all independent, and one search for a warp.
//
// A warp's keys are a matrix of 32 rows of 32. In the first five steps, whose distances are rows, a lane has a column:
// that is how it reads the two parts, row after row. Then the matrix goes through shared memory, and a lane has a row
// for the last five. Rows are ROW words apart, so that both ways are free of bank conflicts, the lanes' rows by words of
// 16 bytes.

#if NETWORK
__device__ __forceinline__ void exchange(u32 &a, u32 &b)
{
    const u32 low = min(a, b);
    b = max(a, b);
    a = low;
}

// Distances rows / 2, rows / 4, ..., 1.
template <u32 rows> __device__ __forceinline__ void sort_bitonic(u32 (&r)[32])
{
#pragma unroll
    for (u32 distance = rows / 2; distance > 0; distance /= 2) {
#pragma unroll
        for (u32 k = 0; k < 32; ++k)
            if (!(k & distance))
                exchange(r[k], r[k + distance]);
    }
}

// A lane's row, the matrix being at `own`.
__device__ __forceinline__ void store_row(u32 *own, const u32 (&r)[32])
{
#pragma unroll
    for (u32 k = 0; k < 32; k += 4)
        *(uint4 *)(own + lane_id() * ROW + k) = make_uint4(r[k], r[k + 1], r[k + 2], r[k + 3]);
}

// The last five steps: from columns to rows. What was read from `own` has been read by all lanes.
__device__ __forceinline__ void finish_rows(u32 *own, u32 (&r)[32])
{
#pragma unroll
    for (u32 k = 0; k < 32; ++k)
        own[k * ROW + lane_id()] = r[k];
    __syncwarp();
#pragma unroll
    for (u32 k = 0; k < 32; k += 4) {
        const uint4 q = *(const uint4 *)(own + lane_id() * ROW + k);
        r[k] = q.x, r[k + 1] = q.y, r[k + 2] = q.z, r[k + 3] = q.w;
    }
    sort_bitonic<32>(r);
    store_row(own, r); // each lane where it has read
}

// Two co-ranks, of first and end, by the halves of a warp: in each round 16 lanes test 16 places.
__device__ __forceinline__ void warp_co_ranks(u32 &first, u32 &end, const u32 *s, u32 a, u32 a_length, u32 b, u32 b_length)
{
    const u32 lane = lane_id() % 16, diagonal = lane_id() < 16 ? first : end;
    u32 low = diagonal > b_length ? diagonal - b_length : 0, high = min(diagonal, a_length);
    while (__any_sync(ALL_LANES, low < high)) {
        const u32 left = high - low, middle = low + left * lane / 16;
        const bool taken =
            low < high && s[place_of(a + middle)] <= s[place_of(b + diagonal - 1 - middle)];
        const u32 count = __popc(__ballot_sync(ALL_LANES, taken) >> (lane_id() & 16) & 0xffff);
        high = count < 16 ? low + left * count / 16 : high;
        low = count ? low + left * (count - 1) / 16 + 1 : low;
    }
    first = __shfl_sync(ALL_LANES, low, 0);
    end = __shfl_sync(ALL_LANES, low, 16);
}

// Row k of the bitonic sequence: from A while 32 k < left, at 4 ROW k bytes, from B at as much before its end.
__device__ __forceinline__ u32 load_row(u32 a, u32 b, int left, u32 k)
{
    u32 key;
    asm volatile("{\n"
                 "    .reg .pred p;\n"
                 "    setp.lt.s32 p, %4, %3;\n"
                 "    @p ld.shared.u32 %0, [%1];\n"
                 "    @!p ld.shared.u32 %0, [%2];\n"
                 "}"
                 : "=r"(key)
                 : "r"(a + k * ROW * 4), "r"(b - k * ROW * 4), "r"(left), "r"((int)(k * 32)));
    return key;
}

// A's items, then TOPs if there are fewer than CHUNK in all, then B's from the last to the first.
__device__ __forceinline__ void load_bitonic(u32 (&r)[32], const u32 *s, u32 a, u32 a_count, u32 b, u32 b_count)
{
    const u32 lane = lane_id();
    if (a_count + b_count == CHUNK) {
        const u32 from_a = (u32)__cvta_generic_to_shared(s + place_of(a + lane));
        const u32 from_b = (u32)__cvta_generic_to_shared(s + place_of(b + CHUNK - 1 - lane));
#pragma unroll
        for (u32 k = 0; k < 32; ++k)
            r[k] = load_row(from_a, from_b, (int)a_count - (int)lane, k);
        return;
    }
#pragma unroll
    for (u32 k = 0; k < 32; ++k) {
        const u32 slot = k * 32 + lane;
        r[k] = TOP;
        if (slot < a_count)
            r[k] = s[place_of(a + slot)];
        else if (slot >= CHUNK - b_count)
            r[k] = s[place_of(b + CHUNK - 1 - slot)];
    }
}

// A warp makes the items from `diagonal` on of a merge in shared memory, and puts them at the place of its own number.
// All warps of the block call together; one whose diagonal is beyond the merge only waits.
__device__ __forceinline__ void merge_chunk(u32 *s, u32 a, u32 a_length, u32 b, u32 b_length, u32 diagonal)
{
    u32 r[32];
    const bool works = diagonal < a_length + b_length;
    if (works) {
        u32 first = diagonal, end = min(diagonal + CHUNK, a_length + b_length);
        const u32 count = end - first;
        warp_co_ranks(first, end, s, a, a_length, b, b_length);
        load_bitonic(r, s, a + first, end - first, b + diagonal - first, count - (end - first));
        sort_bitonic<32>(r);
    }
    __syncthreads();
    if (works)
        finish_rows(s + place_of(warp_id() * CHUNK), r);
    __syncthreads();
}
#endif

// ---- sorted runs ----

#if defined(MERGESORT_BLOCKS) || !defined(MERGESORT_ONE)
#if !NETWORK
__device__ __forceinline__ void exchange(u32 &a, u32 &b)
{
    const u32 low = min(a, b);
    b = max(a, b);
    a = low;
}
#endif

__device__ __forceinline__ void exchange(pair &a, pair &b)
{
    bool swap = b.key < a.key;
    pair low = swap ? b : a;
    b = swap ? a : b;
    a = low;
}

// Sorts a thread's keys by Batcher's odd-even merge sort, in a form for any count. It is not stable, and need not be.
template <u32 count> __device__ __forceinline__ void sort_thread(u32 (&r)[count])
{
#pragma unroll
    for (u32 p = 1; p < count; p *= 2) {
#pragma unroll
        for (u32 k = p; k > 0; k /= 2) {
#pragma unroll
            for (u32 i = 0; i < count; ++i)
                if (i >= k % p && (i - k % p) % (2 * k) < k && i + k < count && i / (2 * p) == (i + k) / (2 * p))
                    exchange(r[i], r[i + k]);
        }
    }
}

// Pairs: odd-even transposition, in which only neighbours change places, so that it is stable.
template <u32 count> __device__ __forceinline__ void sort_thread(pair (&r)[count])
{
#pragma unroll
    for (u32 round = 0; round < count; ++round) {
#pragma unroll
        for (u32 i = round % 2; i + 1 < count; i += 2)
            exchange(r[i], r[i + 1]);
    }
}

#if NETWORK
// Merges the runs of 16 rows' halves, and so on: the matrix at `own` has sorted runs of `rows` / 2 rows.
template <u32 rows> __device__ __forceinline__ void merge_rows(u32 *own, u32 (&r)[32])
{
    __syncwarp();
#pragma unroll
    for (u32 k = 0; k < 32; ++k) { // of each `rows` rows the second half backwards
        const u32 group = k / rows * rows, mirrored = 2 * group + rows + rows / 2 - 1 - k;
        r[k] = k - group < rows / 2 ? own[k * ROW + lane_id()] : own[mirrored * ROW + WARP - 1 - lane_id()];
    }
    sort_bitonic<rows>(r);
    __syncwarp();
    finish_rows(own, r);
}

// As below; each lane sorts 32 keys, it does not matter which.
extern "C" __global__ void __launch_bounds__(SORT_BLOCK, SORT_RESIDENT / SORT_BLOCK)
    mergesort_blocks(const u32 *__restrict__ keys, const u32 *__restrict__, item *to, u32 *sorted_keys,
                     u32 *sorted_values, offset N, u32 last)
{
    extern __shared__ uint4 shared[];
    u32 *s = (u32 *)shared, *own = s + place_of(warp_id() * CHUNK), r[32];
    const offset begin = tile_begin(SORT_TILE);
    const u32 first = warp_id() * CHUNK + lane_id(), count = (u32)min(N - begin, (offset)SORT_TILE);
#pragma unroll
    for (u32 k = 0; k < 32; ++k)
        r[k] = first + k * WARP < count ? ordered(keys[begin + first + k * WARP]) : TOP;
    sort_thread(r);
    store_row(own, r);
    merge_rows<2>(own, r);
    merge_rows<4>(own, r);
    merge_rows<8>(own, r);
    merge_rows<16>(own, r);
    merge_rows<32>(own, r);
    __syncthreads();
#pragma unroll 1
    for (u32 width = 1; width < SORT_BLOCK / WARP; width *= 2) {
        const u32 in_group = warp_id() & (2 * width - 1), a = (warp_id() - in_group) * CHUNK, length = width * CHUNK;
        merge_chunk(s, a, length, a + length, length, in_group * CHUNK);
    }
    write_tile<SORT_BLOCK>(Output{to, sorted_keys, sorted_values, last != 0}, s, begin, count);
}
#else
// A barrier of aligned groups of `threads`.
__device__ __forceinline__ void sync_group(u32 threads)
{
    if (threads <= WARP)
        __syncwarp();
    else
        __syncthreads();
}

// A block sorts SORT_TILE items: each thread its own in registers, then runs of 1, 2, 4, ... threads are merged, a
// thread making its part by a co-rank. While runs are those of a warp, warps need not wait for each other. Past the end
// of the input stand TOPs, which stay behind all that is there.
extern "C" __global__ void __launch_bounds__(SORT_BLOCK, SORT_RESIDENT / SORT_BLOCK)
    mergesort_blocks(const u32 *__restrict__ keys, const u32 *__restrict__ values, item *to, u32 *sorted_keys,
                     u32 *sorted_values, offset N, u32 last)
{
    extern __shared__ uint4 shared[];
    item *s = (item *)shared, r[SORT_ITEMS];
    const offset begin = tile_begin(SORT_TILE);
    const u32 t = threadIdx.x, mine = t * SORT_ITEMS, warp = warp_id() * WARP * SORT_ITEMS + lane_id();
    const u32 count = (u32)min(N - begin, (offset)SORT_TILE);
#pragma unroll
    for (u32 k = 0; k < SORT_ITEMS; ++k) {
        set_top(r[k]);
        if (warp + k * WARP < count)
            get(r[k], keys, values, begin + warp + k * WARP);
    }
#pragma unroll
    for (u32 k = 0; k < SORT_ITEMS; ++k)
        s[warp + k * WARP] = r[k];
    __syncwarp();
#pragma unroll
    for (u32 k = 0; k < SORT_ITEMS; ++k)
        r[k] = s[mine + k];
    __syncwarp();
    sort_thread(r);
#pragma unroll 1
    for (u32 width = 1; width < SORT_BLOCK; width *= 2) {
#pragma unroll
        for (u32 k = 0; k < SORT_ITEMS; ++k)
            s[mine + k] = r[k];
        sync_group(2 * width);
        const u32 diagonal = (t & (2 * width - 1)) * SORT_ITEMS, length = width * SORT_ITEMS;
        const u32 a = mine - diagonal, b = a + length;
        const u32 from_a = co_rank(diagonal, Flat{s}, a, length, b, length);
        merge_items(r, Flat{s}, a + from_a, b, b + diagonal - from_a, b + length);
        sync_group(2 * width);
    }
#pragma unroll
    for (u32 k = 0; k < SORT_ITEMS; ++k)
        s[mine + k] = r[k];
    __syncthreads();
    write_tile<SORT_BLOCK>(Output{to, sorted_keys, sorted_values, last != 0}, s, begin, count);
}
#endif
#endif

// ---- passes that merge two runs, as they are taught ----

// The pair of runs that a block is at, A at the place `a` and B behind it, and its share of their merge: the items first
// to end - 1.
struct Share {
    u32 a, a_length, b_length, first, end;
};

// `shares` blocks make `items` each of a pair.
__device__ __forceinline__ Share share_of_block(offset run, u32 shares, u32 items, offset N)
{
    const u32 group = blockIdx.x / shares;
    const offset begin = group * run * 2, left = N - begin;
    Share s;
    s.a = (u32)begin;
    s.a_length = (u32)min(run, left);
    s.b_length = (u32)(min(2 * run, left) - s.a_length);
    s.first = min((blockIdx.x - group * shares) * items, s.a_length + s.b_length);
    s.end = s.first + min(items, s.a_length + s.b_length - s.first);
    return s;
}

#if defined(MERGESORT_MERGE_BASIC) || !defined(MERGESORT_ONE)
// A thread makes ITEMS neighbours of the merge: it finds its part of both runs by a co-rank, and merges. All in global
// memory: the lanes of a warp read and write places some ITEMS apart, and the searches' reads are anywhere.
extern "C" __global__ void __launch_bounds__(BLOCK)
    mergesort_merge_basic(const item *__restrict__ from, item *to, u32 *sorted_keys, u32 *sorted_values, offset run,
                          u32 shares, offset N, u32 last)
{
    const Share share = share_of_block(run, shares, BLOCK * ITEMS, N);
    const Output out = {to, sorted_keys, sorted_values, last != 0};
    const u32 first = share.first + threadIdx.x * ITEMS, b = share.a + share.a_length;
    if (first >= share.end)
        return;
    const u32 from_a = co_rank(first, Flat{from}, share.a, share.a_length, b, share.b_length);
    item r[ITEMS];
    merge_items(r, Flat{from}, share.a + from_a, b, b + first - from_a, b + share.b_length);
#pragma unroll
    for (u32 k = 0; k < ITEMS; ++k)
        if (first + k < share.end)
            out.put(share.a + first + k, r[k]);
}
#endif

// How many of a share's items are A's: those before it, and those up to its end. Two threads search; all get both.
__device__ __forceinline__ void corners_of(const Share &share, const item *from, u32 *corners)
{
    if (threadIdx.x < 2)
        corners[threadIdx.x] = co_rank(threadIdx.x ? share.end : share.first, Flat{from}, share.a, share.a_length,
                                       share.a + share.a_length, share.b_length);
    __syncthreads();
}

// A thread's part of the next `count` items of the merge of the places [a, a + a_length) and [b, b + b_length).
template <class At>
__device__ __forceinline__ void merge_staged(At at, u32 a, u32 a_length, u32 b, u32 b_length, u32 count, offset first,
                                             const Output &out)
{
    constexpr u32 EACH = STAGED / BLOCK;
    const u32 diagonal = threadIdx.x * EACH;
    if (diagonal >= count)
        return;
    const u32 from_a = co_rank(diagonal, at, a, a_length, b, b_length);
    item r[EACH];
    merge_items(r, at, a + from_a, a + a_length, b + diagonal - from_a, b + b_length);
#pragma unroll
    for (u32 k = 0; k < EACH; ++k)
        if (diagonal + k < count)
            out.put(first + diagonal + k, r[k]);
}

#if defined(MERGESORT_MERGE_TILED) || !defined(MERGESORT_ONE)
// Both runs through shared memory, STAGED items of each at a time: these give the next STAGED items of the merge at
// least. Coalesced reads. But of the 2 STAGED items that are read, STAGED are used: the others are read once more.
extern "C" __global__ void __launch_bounds__(BLOCK)
    mergesort_merge_tiled(const item *__restrict__ from, item *to, u32 *sorted_keys, u32 *sorted_values, offset run,
                          u32 shares, offset N, u32 last)
{
    __shared__ __align__(8) unsigned char memory[2 * STAGED * sizeof(item)];
    __shared__ u32 corners[2];
    item *s = (item *)memory;
    const Share share = share_of_block(run, shares, SHARE, N);
    const Output out = {to, sorted_keys, sorted_values, last != 0};
    corners_of(share, from, corners);
    u32 a = share.a + corners[0], b = share.a + share.a_length + share.first - corners[0];
    const u32 a_end = share.a + corners[1], b_end = share.a + share.a_length + share.end - corners[1];
    for (u32 done = share.first; done < share.end;) {
        const u32 a_length = min(a_end - a, (u32)STAGED), b_length = min(b_end - b, (u32)STAGED);
        for (u32 i = threadIdx.x; i < a_length; i += BLOCK)
            s[i] = from[a + i];
        for (u32 i = threadIdx.x; i < b_length; i += BLOCK)
            s[STAGED + i] = from[b + i];
        __syncthreads();
        const u32 count = min(share.end - done, (u32)STAGED);
        merge_staged(Flat{s}, 0, a_length, STAGED, b_length, count, (offset)share.a + done, out);
        const u32 used = co_rank(count, Flat{s}, 0, a_length, STAGED, b_length);
        a += used;
        b += count - used;
        done += count;
        __syncthreads();
    }
}
#endif

#if defined(MERGESORT_MERGE_CIRCULAR) || !defined(MERGESORT_ONE)
// Two circular buffers in shared memory: A's items are at the places begin, begin + 1, ... modulo STAGED, and B's at
// 2 STAGED + the like.
struct Ring {
    const item *items;
    __device__ __forceinline__ item operator()(u32 place) const
    {
        const u32 b = place >= 2 * STAGED, index = place - b * 2 * STAGED;
        return items[b * STAGED + (index >= STAGED ? index - STAGED : index)];
    }
};

// Against merge_tiled: what was not used stays where it is, and only what was used is replaced. Each item is read once,
// for more arithmetic with each place.
extern "C" __global__ void __launch_bounds__(BLOCK)
    mergesort_merge_circular(const item *__restrict__ from, item *to, u32 *sorted_keys, u32 *sorted_values, offset run,
                             u32 shares, offset N, u32 last)
{
    __shared__ __align__(8) unsigned char memory[2 * STAGED * sizeof(item)];
    __shared__ u32 corners[2];
    item *s = (item *)memory;
    const Share share = share_of_block(run, shares, SHARE, N);
    const Output out = {to, sorted_keys, sorted_values, last != 0};
    corners_of(share, from, corners);
    u32 a = share.a + corners[0], b = share.a + share.a_length + share.first - corners[0];
    const u32 a_end = share.a + corners[1], b_end = share.a + share.a_length + share.end - corners[1];
    u32 a_begin = 0, b_begin = 0, a_length = 0, b_length = 0; // what the buffers hold, from `begin` on
    for (u32 done = share.first; done < share.end;) {
        const u32 more_a = min(a_end - a, STAGED - a_length), more_b = min(b_end - b, STAGED - b_length);
        for (u32 i = threadIdx.x; i < more_a; i += BLOCK)
            s[(a_begin + a_length + i) % STAGED] = from[a + i];
        for (u32 i = threadIdx.x; i < more_b; i += BLOCK)
            s[STAGED + (b_begin + b_length + i) % STAGED] = from[b + i];
        a += more_a, a_length += more_a;
        b += more_b, b_length += more_b;
        __syncthreads();
        const u32 count = min(share.end - done, (u32)STAGED);
        merge_staged(Ring{s}, a_begin, a_length, 2 * STAGED + b_begin, b_length, count, (offset)share.a + done, out);
        const u32 used = co_rank(count, Ring{s}, a_begin, a_length, 2 * STAGED + b_begin, b_length);
        a_begin = (a_begin + used) % STAGED, a_length -= used;
        b_begin = (b_begin + count - used) % STAGED, b_length -= count - used;
        done += count;
        __syncthreads();
    }
}
#endif

// ---- passes that merge WAYS runs ----

// WAYS runs of `run` items become one. Its items are made by `tiles` blocks, TILE each; tile k begins where its first
// item does: at splits[k * WAYS + r] in run r.

#if defined(MERGESORT_MERGE) || !defined(MERGESORT_ONE)
// Finds the splits, a warp for each tile: how many of the group's first d items come from each run.
//
// All runs are searched at the same time. low[r] and high[r] are bounds of the split of run r. In each round PIVOTS lanes
// read as many keys of each run, spread over what is left of it. The rank of a key in the merge of all runs lies between
// bounds that the other pivots give: of another run at least the items up to its last pivot before this key come before,
// and at most those before its first pivot behind. A pivot whose rank is surely below d raises low of its run, one whose
// rank is surely not below lowers high. Of equal keys an earlier run's comes first.
//
// Two ranks that are not sure are less than the sum of the gaps between pivots apart, so that a round leaves 3 parts in
// PIVOTS + 1 of the items at most, 2 mostly; and as the first pivot of all is sure to be below d or the last one is not,
// each round gains one item at least. 2^26 items in 4 runs: 12 rounds, each as long as one read takes.
extern "C" __global__ void __launch_bounds__(PARTITION_BLOCK)
    mergesort_partition(const item *__restrict__ from, u32 *splits, offset run, u32 tiles, u32 all_tiles, offset N)
{
    constexpr u32 PIVOTS = WARP / WAYS;
    const u32 index = blockIdx.x * (PARTITION_BLOCK / WARP) + warp_id();
    if (index >= all_tiles) // the whole warp
        return;
    const u32 mine = lane_id() / PIVOTS, pivot = lane_id() % PIVOTS, group = index / tiles;
    const offset begin = min(group * run * WAYS + mine * run, N);
    const u32 length = (u32)min(run, N - begin);
    const offset d = (offset)(index - group * tiles) * TILE;
    u32 low = 0, high = (u32)min((offset)length, d);
    while (__any_sync(ALL_LANES, low < high)) {
        const u32 left = high - low;
        const u32 place = low + left / (PIVOTS + 1) * (pivot + 1) + left % (PIVOTS + 1) * (pivot + 1) / (PIVOTS + 1);
        const u32 key = left ? key_of(from[begin + place]) : 0;
        offset least = place, most = place; // bounds of the rank
#pragma unroll
        for (u32 k = 1; k < WAYS; ++k) {
            const u32 other = (mine + k) % WAYS, lane = other * PIVOTS;
            u32 before = 0; // pivots of that run before this key
#pragma unroll
            for (u32 step = PIVOTS / 2; step > 0; step /= 2) {
                const u32 its = __shfl_sync(ALL_LANES, key, lane + before + step - 1);
                before += its < key || (its == key && other < mine) ? step : 0;
            }
            const u32 its = __shfl_sync(ALL_LANES, key, lane + before);
            before += its < key || (its == key && other < mine);
            const u32 its_low = __shfl_sync(ALL_LANES, low, lane), its_high = __shfl_sync(ALL_LANES, high, lane);
            const u32 last = __shfl_sync(ALL_LANES, place, lane + (before ? before - 1 : 0));
            const u32 next = __shfl_sync(ALL_LANES, place, lane + (before < PIVOTS ? before : 0));
            const bool has = its_low < its_high;
            least += has && before ? last + 1 : its_low;
            most += has && before < PIVOTS ? next : its_high;
        }
        const u32 lanes = (ALL_LANES >> (WARP - PIVOTS)) << (mine * PIVOTS);
        const u32 below = __popc(__ballot_sync(ALL_LANES, left && most < d) & lanes);
        const u32 behind = __popc(__ballot_sync(ALL_LANES, left && least >= d) & lanes);
        const u32 last_below = __shfl_sync(ALL_LANES, place, mine * PIVOTS + (below ? below - 1 : 0));
        const u32 first_behind = __shfl_sync(ALL_LANES, place, mine * PIVOTS + (behind ? PIVOTS - behind : 0));
        low = below ? last_below + 1 : low;
        high = behind ? first_behind : high;
    }
    if (pivot == 0)
        splits[(offset)index * WAYS + mine] = low;
}

// Begins to copy a word of 16 bytes to shared memory, of which the first `bytes` are read.
__device__ __forceinline__ void copy_async_part(void *to, const void *from, u32 bytes)
{
#if __CUDA_ARCH__ >= 800
    const u32 at = (u32)__cvta_generic_to_shared(to);
    const offset global = __cvta_generic_to_global(from);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(global), "r"(bytes) : "memory");
#else
    for (u32 i = 0; i < bytes / 4; ++i)
        ((u32 *)to)[i] = ((const u32 *)from)[i];
#endif
}

// A tile's runs, in shared memory.
template <u32 ways> struct Runs {
    u32 begin[ways], length[ways];
};

#if NETWORK
// As below, by warps: a merge begins at the place of its first warp.
template <u32 ways> __device__ __forceinline__ void merge_tree(u32 *s, const Runs<ways> &runs)
{
    Runs<ways / 2> merged;
    u32 a = 0, a_length = 0, b = 0, b_length = 0, diagonal = 0, warps = 0;
#pragma unroll
    for (u32 k = 0; k < ways / 2; ++k) {
        const u32 length = runs.length[2 * k] + runs.length[2 * k + 1];
        if (warp_id() >= warps) { // of the last merge for which it holds
            a = runs.begin[2 * k], a_length = runs.length[2 * k];
            b = runs.begin[2 * k + 1], b_length = runs.length[2 * k + 1];
            diagonal = (warp_id() - warps) * CHUNK;
        }
        merged.begin[k] = warps * CHUNK;
        merged.length[k] = length;
        warps += ceil_div(length, (u32)CHUNK);
    }
    merge_chunk(s, a, a_length, b, b_length, diagonal);
    merge_tree(s, merged);
}
#else
// Merges runs 0 and 1, 2 and 3, ... in shared memory, and then what comes of it, until one is left at the place 0. A
// thread makes ITEMS of one merge, from registers back to where all items were. No thread makes the end of one merge and
// the beginning of the next; so a tile is a few threads' items smaller than the block's.
template <u32 ways> __device__ __forceinline__ void merge_tree(item *s, const Runs<ways> &runs)
{
    Runs<ways / 2> merged;
    u32 a = 0, a_length = 0, b = 0, b_length = 0, diagonal = 0, to = 0, threads = 0, items = 0;
#pragma unroll
    for (u32 k = 0; k < ways / 2; ++k) {
        const u32 length = runs.length[2 * k] + runs.length[2 * k + 1];
        if (threadIdx.x >= threads) { // of the last merge for which it holds
            a = runs.begin[2 * k], a_length = runs.length[2 * k];
            b = runs.begin[2 * k + 1], b_length = runs.length[2 * k + 1];
            diagonal = (threadIdx.x - threads) * ITEMS;
            to = items;
        }
        merged.begin[k] = items;
        merged.length[k] = length;
        threads += ceil_div(length, (u32)ITEMS);
        items += length;
    }
    diagonal = min(diagonal, a_length + b_length);
    const u32 count = min(a_length + b_length - diagonal, (u32)ITEMS);
    const u32 from_a = co_rank(diagonal, Flat{s}, a, a_length, b, b_length);
    item r[ITEMS];
    merge_items(r, Flat{s}, a + from_a, a + a_length, b + diagonal - from_a, b + b_length);
    __syncthreads();
#pragma unroll
    for (u32 k = 0; k < ITEMS; ++k)
        if (k < count)
            s[to + diagonal + k] = r[k];
    __syncthreads();
    merge_tree(s, merged);
}

#endif

template <> __device__ __forceinline__ void merge_tree<1>(item *, const Runs<1> &)
{
}

// A block makes a tile: its WAYS segments go to shared memory, past registers and in words of 16 bytes (each segment lies
// there as it does in global memory, some items of its neighbours before and behind it), merges of two make one of them,
// and that is written in words of 16 bytes.
extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT / BLOCK)
    mergesort_merge(const item *__restrict__ from, item *to, u32 *sorted_keys, u32 *sorted_values,
                    const u32 *__restrict__ splits, offset run, u32 tiles, offset N, u32 last)
{
    extern __shared__ uint4 shared[];
    __shared__ u32 begins[WAYS], lengths[WAYS];
    item *s = (item *)shared;
    const u32 t = threadIdx.x, group = blockIdx.x / tiles;
    const offset group_begin = group * run * WAYS, total = min(run * WAYS, N - group_begin);
    const offset first = (offset)(blockIdx.x - group * tiles) * TILE;
    if (first >= total)
        return;
    const u32 count = (u32)min(total - first, (offset)TILE);
    if (t < WAYS) {
        const offset begin = min(group_begin + t * run, N);
        const u32 split = splits[(offset)blockIdx.x * WAYS + t];
        const u32 end = first + count < total ? splits[((offset)blockIdx.x + 1) * WAYS + t] : (u32)min(run, N - begin);
        begins[t] = (u32)begin + split;
        lengths[t] = end - split;
    }
    __syncthreads();
    Runs<WAYS> runs;
    u32 place = 0; // of the next segment, in items
#pragma unroll
    for (u32 r = 0; r < WAYS; ++r) {
        const u32 begin = begins[r], before = begin % PACK;
        runs.begin[r] = place + before;
        runs.length[r] = lengths[r];
        const u32 words = lengths[r] ? (before + lengths[r] + PACK - 1) / PACK : 0;
        for (u32 i = (t - place / PACK) % BLOCK; i < words; i += BLOCK) { // all threads take part, whatever the lengths
            const offset source = (offset)(begin - before) + i * PACK;
            const offset inside = min((offset)PACK, N - source);
            copy_async_part(s + place_of(place + i * PACK), from + source, (u32)inside * (u32)sizeof(item));
        }
        place += words * PACK;
    }
    copy_async_commit();
    copy_async_wait<0>();
    __syncthreads();
    merge_tree(s, runs);

    write_tile<BLOCK>(Output{to, sorted_keys, sorted_values, last != 0}, s, group_begin + first, count);
}
#endif
