// mergesort.cu - sorts N items by merging sorted runs, in six ways. An item is a key, or a pair of a key and a value.
//
// Every kernel here is one part of a sort. The kernel mergesort_blocks makes sorted runs of SORT_TILE items in shared
// memory. Then each pass over memory merges groups of WAYS runs, each group into one run, until one run is left. The
// variants differ in how a pass merges. A pass reads and writes each item once (8 bytes of traffic per key, 16 bytes
// per pair), so the number of passes determines the time:
//
//     bytes = 8 N (1 + passes),  passes = ceil(log(N / SORT_TILE) / log(WAYS))
//
// For N = 2^26 keys at 4,256 GB/s, the rate of a copy on an H200, a pass takes 0.126 ms. The times below include the
// kernel mergesort_blocks, which also reads and writes each item once:
//
//     SORT_TILE  4,352, WAYS 2 (CUB):  14 passes, 1.89 ms
//     SORT_TILE  8,672, WAYS 4:         7 passes, 1.01 ms
//     SORT_TILE 17,344, WAYS 4:         6 passes, 0.88 ms
//     SORT_TILE 17,344, WAYS 8:         4 passes, 0.63 ms
//
// If WAYS is larger, a tile needs more work: WAYS runs are merged in log2 WAYS steps through shared memory. A key needs
// about 25 instructions per step. It needs a few more if ITEMS is small, because the ITEMS items of a thread share one
// search. An SM executes two integer instructions of a warp per clock. So a key needs 0.4 clocks per step, which is
// 0.11 ms for 2^26 keys on 132 SMs. A step in shared memory costs about as much as a pass over memory. Both kinds of
// work overlap. The kernel mergesort_blocks has log2 SORT_BLOCK such steps.
//
// Keys are u32, i32 or f32 (KEY). Floats are in the total order of IEEE 754: NaN with the sign bit set, -infinity, ...,
// -0, 0, ..., infinity, NaN without it. So equal keys have equal bits. The kernel mergesort_blocks maps the bits of a
// key to an unsigned integer in that order, and the last pass maps the integer back. The sort is stable: pairs with
// equal keys keep their order. So there is only one right result, with the same bits in every run. N is below 2^32 -
// 2^16 and may be 0.
//
// The passes write the items to two arrays by turns. A pair takes one word of 8 bytes. The two arrays begin at
// multiples of 16 bytes. Keys, values and results may begin at any element.
//
// The tuning parameters are macros. The engine defines these macros from the spec. The defaults below only let an
// editor or a compiler parse this file alone. A kernel is compiled if its own macro MERGESORT_<NAME> is set, or if
// MERGESORT_ONE is not set.

#include "common.cuh"

#ifndef KEY
#define KEY 0 // 0: u32, 1: i32, 2: f32
#endif
#ifndef PAIRS
#define PAIRS 0 // 1: each key has a value of 4 bytes
#endif
#ifndef SORT_BLOCK
#define SORT_BLOCK 256 // number of threads of a block of mergesort_blocks, a power of two
#endif
#ifndef SORT_ITEMS
// items per thread of mergesort_blocks; an odd number avoids bank conflicts between neighbouring threads
#define SORT_ITEMS 17
#endif
#ifndef SORT_TILE
// number of items of a run that a block of mergesort_blocks writes
#define SORT_TILE (SORT_BLOCK * SORT_ITEMS / 32 * 32)
#endif
#ifndef SORT_RESIDENT
#define SORT_RESIDENT 1024 // number of threads of mergesort_blocks that must fit on an SM
#endif
#ifndef BLOCK
#define BLOCK 256 // number of threads of a block in the kernels that merge, a power of two
#endif
#ifndef ITEMS
#define ITEMS 15 // number of items per thread in a merge
#endif
#ifndef STAGED
#define STAGED 1024 // merge_tiled, merge_circular: number of items of each run that shared memory has
#endif
#ifndef SHARE
#define SHARE 8192 // merge_tiled, merge_circular: number of items of the merge that a block writes
#endif
#ifndef WAYS
#define WAYS 4 // mergesort_merge: number of runs that a pass merges into one: 2, 4 or 8
#endif
#ifndef NETWORK
// 1: mergesort_blocks and mergesort_merge use sorting networks, for keys without values; ITEMS and SORT_ITEMS are 32
#define NETWORK 0
#endif
#ifndef RESIDENT
#define RESIDENT 1024 // number of threads of mergesort_merge that must fit on an SM
#endif

typedef unsigned u32;

enum : u32 {
    TOP = 0xffffffffu,                                  // the largest key
    PARTITION_BLOCK = 128,                              // mergesort_partition: threads of a block
    CHUNK = WARP * 32,                                  // NETWORK: items per warp
    ROW = 36,                                           // NETWORK: words of shared memory for 32 items and a gap
    // mergesort_merge: items of a block
    TILE = NETWORK ? (BLOCK / WARP - WAYS / 2 + 1) * CHUNK : (BLOCK - WAYS / 2 + 1) * ITEMS / 32 * 32
};

// ---- keys and items ----

// Returns the bits of a key as an unsigned integer. These integers have the same order as the keys.
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
enum : u32 { PACK = 16 / sizeof(item) }; // number of items in 16 bytes

__device__ __forceinline__ u32 key_of(u32 key)
{
    return key;
}

__device__ __forceinline__ u32 key_of(pair item)
{
    return item.key;
}

// Reads item i of the input.
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

// The array to which a pass writes. In the last pass this is the array of results, and otherwise the other one of the
// two arrays of items.
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

// Returns the place of item i of a block in shared memory. With NETWORK, a gap of four words follows every 32 items.
__device__ __forceinline__ u32 place_of(u32 i)
{
    return NETWORK ? i + i / 32 * (ROW - 32) : i;
}

// Writes items 0 to count - 1 of the block from shared memory to the places from `at` on, by accesses of 16 bytes.
// `at` is a multiple of PACK.
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
// A run is given by its places: item k of a run is at(begin + k), where `at` is a function object that reads a place.
// If an item of run A and an item of run B have equal keys, the item of A comes first.

struct Flat { // reads places of an array
    const item *items;
    __device__ __forceinline__ item operator()(u32 place) const
    {
        return items[place];
    }
};

// Returns the co-rank of `diagonal`: the number of A's items among the first `diagonal` items of the merge. A binary
// search finds the split with two properties. The last item taken from A is not above the first item left in B. The
// last item taken from B is below the first item left in A.
template <class At>
__device__ __forceinline__ u32 co_rank(u32 diagonal, At at, u32 a, u32 a_length, u32 b, u32 b_length)
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

// Makes the next `count` items of the merge of two runs: the places [i, i_end) and [j, j_end). After the end of both
// runs, the items are undefined.
//
// A run that has ended acts as if its next key were the largest key, TOP. For keys alone this is sufficient. If the
// other run still has keys equal to TOP, it does not matter which of the two keys is taken. For pairs it does matter,
// because the values differ.
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

// ---- merging two runs in shared memory ----
//
// The functions below merge in the same way as merge_items(), but their addresses are byte addresses of shared memory.
// A step of the merge is written in PTX. Compilers select between addresses and between items, although a predicate for
// the addition and the load is enough. A step has two comparisons with the ends of the runs, one comparison of keys and
// one selection. It also has an addition and a load for the run from which the item was taken.

#if !NETWORK
__device__ __forceinline__ u32 load_key(u32 at)
{
    u32 key;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(key) : "r"(at));
    return key;
}

__device__ __forceinline__ void load_item(u32 &to, u32 at)
{
    to = load_key(at);
}

__device__ __forceinline__ void load_item(pair &to, u32 at)
{
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(to.key), "=r"(to.value) : "r"(at));
}

// Takes the smaller of x and y, and loads the next item of the run from which it was taken. The next item may be one
// place after the end of the run.
__device__ __forceinline__ void merge_step(u32 &out, u32 &x, u32 &y, u32 &i, u32 &j, u32 i_end, u32 j_end)
{
    asm volatile("{\n"
                 "    .reg .pred p;\n"
                 "    setp.ge.u32 p, %4, %6;\n"
                 "    setp.le.or.u32 p, %1, %2, p;\n"
                 "    setp.lt.and.u32 p, %3, %5, p;\n"
                 "    selp.u32 %0, %1, %2, p;\n"
                 "    @p add.u32 %3, %3, 4;\n"
                 "    @!p add.u32 %4, %4, 4;\n"
                 "    @p ld.shared.u32 %1, [%3];\n"
                 "    @!p ld.shared.u32 %2, [%4];\n"
                 "}"
                 : "=&r"(out), "+r"(x), "+r"(y), "+r"(i), "+r"(j)
                 : "r"(i_end), "r"(j_end));
}

__device__ __forceinline__ void merge_step(pair &out, pair &x, pair &y, u32 &i, u32 &j, u32 i_end, u32 j_end)
{
    asm volatile("{\n"
                 "    .reg .pred p;\n"
                 "    setp.ge.u32 p, %7, %9;\n"
                 "    setp.le.or.u32 p, %2, %4, p;\n"
                 "    setp.lt.and.u32 p, %6, %8, p;\n"
                 "    selp.u32 %0, %2, %4, p;\n"
                 "    selp.u32 %1, %3, %5, p;\n"
                 "    @p add.u32 %6, %6, 8;\n"
                 "    @!p add.u32 %7, %7, 8;\n"
                 "    @p ld.shared.v2.u32 {%2, %3}, [%6];\n"
                 "    @!p ld.shared.v2.u32 {%4, %5}, [%7];\n"
                 "}"
                 : "=&r"(out.key), "=&r"(out.value), "+r"(x.key), "+r"(x.value), "+r"(y.key), "+r"(y.value), "+r"(i),
                   "+r"(j)
                 : "r"(i_end), "r"(j_end));
}

// Makes `count` items of the merge of two runs, from item `diagonal` of the merge on. The runs are the places [a, a +
// a_length) and [b, b + b_length) of s. The function also reads one item after the end of each run. If the merge ends
// before `count` items, the function reads up to `count` items after the end of run b.
template <u32 count>
__device__ __forceinline__ void merge_shared(item (&out)[count], const item *s, u32 a, u32 a_length, u32 b,
                                             u32 b_length, u32 diagonal)
{
    constexpr u32 SIZE = sizeof(item);
    const u32 base = (u32)__cvta_generic_to_shared(s), at_a = base + a * SIZE, at_b = base + b * SIZE;
    const u32 before = at_b + (diagonal - 1) * SIZE;
    u32 low = diagonal > b_length ? diagonal - b_length : 0, high = min(diagonal, a_length);
    while (low < high) { // finds the co-rank, as co_rank() does
        const u32 middle = (low + high) / 2;
        const bool taken = load_key(at_a + middle * SIZE) <= load_key(before - middle * SIZE);
        low = taken ? middle + 1 : low;
        high = taken ? high : middle;
    }
    u32 i = at_a + low * SIZE, j = at_b + (diagonal - low) * SIZE;
    item x, y;
    load_item(x, i);
    load_item(y, j);
#pragma unroll
    for (u32 k = 0; k < count; ++k)
        merge_step(out[k], x, y, i, j, at_a + a_length * SIZE, at_b + b_length * SIZE);
}
#endif

// ---- merging two runs by networks ----
//
// Networks serve keys alone, because equal keys need not be distinguished. A serial merge by one thread has a dependent
// chain of about 8 operations per key, reads shared memory with bank conflicts, and needs one search per thread. With
// networks, a warp makes CHUNK items of the merge at a time. If the part of A is in ascending order and the part of B
// follows it in descending order, the sequence is bitonic. Ten steps sort such a sequence of CHUNK keys. Each step has
// a minimum and a maximum per two keys, so one operation per key. All operations of a step are independent. The whole
// warp needs only one search.
//
// The keys of a warp are a matrix of 32 rows with 32 keys each. In the first five steps, the two keys of a comparison
// are in different rows, and each lane has a column of the matrix. In this layout the lanes read both parts of the
// sequence, row after row. Then the matrix goes through shared memory, and each lane has a row of the matrix for the
// last five steps. Rows are ROW words apart, so that both kinds of access have no bank conflicts. A lane reads its row
// by accesses of 16 bytes.

#if NETWORK
__device__ __forceinline__ void exchange(u32 &a, u32 &b)
{
    const u32 low = min(a, b);
    b = max(a, b);
    a = low;
}

// Compares keys at the distances rows / 2, rows / 4, ..., 1.
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

// Stores the row of the matrix that this lane has. The matrix is at `own`.
__device__ __forceinline__ void store_row(u32 *own, const u32 (&r)[32])
{
#pragma unroll
    for (u32 k = 0; k < 32; k += 4)
        *(uint4 *)(own + lane_id() * ROW + k) = make_uint4(r[k], r[k + 1], r[k + 2], r[k + 3]);
}

// Does the last five steps of the network. Before these steps the matrix is transposed from columns to rows through
// shared memory. All lanes must have read their elements from `own` before the call.
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
    store_row(own, r); // each lane writes only the row that it has read
}

// Finds the co-ranks of `first` and `end`. Each half of the warp finds one of them. In each round 16 lanes test 16
// places. The places are an odd number apart, so that they are in different banks.
__device__ __forceinline__ void warp_co_ranks(u32 &first, u32 &end, const u32 *s, u32 a, u32 a_length, u32 b,
                                              u32 b_length)
{
    const u32 lane = lane_id() % 16, diagonal = lane_id() < 16 ? first : end;
    u32 low = diagonal > b_length ? diagonal - b_length : 0, high = min(diagonal, a_length);
    while (__any_sync(ALL_LANES, low < high)) {
        const u32 left = high - low, step = left < 16 ? 1 : (left / 16 - 1) | 1, middle = low + lane * step;
        const bool taken = middle < high && s[place_of(a + middle)] <= s[place_of(b + diagonal - 1 - middle)];
        const u32 count = __popc(__ballot_sync(ALL_LANES, taken) >> (lane_id() & 16) & 0xffff);
        high = count < 16 ? low + count * step : high;
        low = count ? low + (count - 1) * step + 1 : low;
    }
    first = __shfl_sync(ALL_LANES, low, 0);
    end = __shfl_sync(ALL_LANES, low, 16);
}

// Loads rows k to 31 of the bitonic sequence. If 32 k < left, row k comes from A, 4 ROW k bytes after `a`. Otherwise it
// comes from B, 4 ROW k bytes before `b`. The loads are written in PTX with predicates, because compilers would select
// between addresses, which costs arithmetic.
template <u32 k> __device__ __forceinline__ void load_rows(u32 (&r)[32], u32 a, u32 b, int left)
{
    asm volatile("{\n"
                 "    .reg .pred p;\n"
                 "    setp.gt.s32 p, %3, %4;\n"
                 "    @p ld.shared.u32 %0, [%1+%5];\n"
                 "    @!p ld.shared.u32 %0, [%2+%6];\n"
                 "}"
                 : "=r"(r[k])
                 : "r"(a), "r"(b), "r"(left), "n"((int)(k * 32)), "n"((int)(k * ROW * 4)), "n"(-(int)(k * ROW * 4)));
    load_rows<k + 1>(r, a, b, left);
}

template <> __device__ __forceinline__ void load_rows<32>(u32 (&)[32], u32, u32, int)
{
}

// Loads the items of A in order and then the items of B from the last to the first. If these are fewer than CHUNK
// items, items with the key TOP are between them. `whole` means that there are CHUNK items.
template <bool whole>
__device__ __forceinline__ void load_bitonic(u32 (&r)[32], const u32 *s, u32 a, u32 a_count, u32 b, u32 b_count)
{
    const u32 lane = lane_id();
    if (whole || a_count + b_count == CHUNK) {
        const u32 from_a = (u32)__cvta_generic_to_shared(s + place_of(a + lane));
        const u32 from_b = (u32)__cvta_generic_to_shared(s + place_of(b + CHUNK - 1 - lane));
        load_rows<0>(r, from_a, from_b, (int)a_count - (int)lane);
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

// A warp makes CHUNK items of a merge in shared memory, from item `diagonal` of the merge on. It writes them to the
// place in shared memory that its number determines. All warps of the block call the function together. A warp whose
// diagonal is beyond the end of the merge only waits. `whole` means that no diagonal is beyond the end and that lengths
// are multiples of CHUNK.
template <bool whole>
__device__ __forceinline__ void merge_chunk(u32 *s, u32 a, u32 a_length, u32 b, u32 b_length, u32 diagonal)
{
    u32 r[32];
    const bool works = whole || diagonal < a_length + b_length;
    if (works) {
        u32 first = diagonal, end = min(diagonal + CHUNK, a_length + b_length);
        const u32 count = end - first;
        warp_co_ranks(first, end, s, a, a_length, b, b_length);
        load_bitonic<whole>(r, s, a + first, end - first, b + diagonal - first, count - (end - first));
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

// Sorts the keys of a thread by Batcher's odd-even merge sort, in a form for any number of keys. This sort is not
// stable, which does not matter for keys alone.
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

// Sorts the pairs of a thread by odd-even transposition. This method only swaps neighbours, so the sort is stable.
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
// The matrix at `own` has sorted runs, each of which fills `rows` / 2 rows. The function merges each pair of
// neighbouring runs.
template <u32 rows> __device__ __forceinline__ void merge_rows(u32 *own, u32 (&r)[32])
{
    __syncwarp();
#pragma unroll
    for (u32 k = 0; k < 32; ++k) { // reverses the second half of each group of `rows` rows
        const u32 group = k / rows * rows, mirrored = 2 * group + rows + rows / 2 - 1 - k;
        r[k] = k - group < rows / 2 ? own[k * ROW + lane_id()] : own[mirrored * ROW + WARP - 1 - lane_id()];
    }
    sort_bitonic<rows>(r);
    __syncwarp();
    finish_rows(own, r);
}

// This variant does the same as the mergesort_blocks below, with networks. Each lane sorts 32 keys. Sorting may assign
// any keys to any lane.
extern "C" __global__ void __launch_bounds__(SORT_BLOCK, SORT_RESIDENT / SORT_BLOCK)
    mergesort_blocks(const u32 *__restrict__ keys, const u32 *__restrict__, item *to, u32 *sorted_keys,
                     u32 *sorted_values, offset N, u32 last)
{
    extern __shared__ uint4 shared[];
    u32 *s = (u32 *)shared, *own = s + place_of(warp_id() * CHUNK), r[32];
    const offset begin = tile_begin(SORT_TILE);
    const u32 first = warp_id() * CHUNK + lane_id(), count = (u32)min(N - begin, (offset)SORT_TILE);
    const u32 *mine = keys + begin + first;
    if (count == SORT_TILE) {
#pragma unroll
        for (u32 k = 0; k < 32; ++k)
            r[k] = ordered(mine[k * WARP]);
    } else {
#pragma unroll
        for (u32 k = 0; k < 32; ++k)
            r[k] = first + k * WARP < count ? ordered(mine[k * WARP]) : TOP;
    }
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
        merge_chunk<true>(s, a, length, a + length, length, in_group * CHUNK);
    }
    write_tile<SORT_BLOCK>(Output{to, sorted_keys, sorted_values, last != 0}, s, begin, count);
}
#else
// Waits until all threads of an aligned group of `threads` threads have arrived.
__device__ __forceinline__ void sync_group(u32 threads)
{
    if (threads <= WARP)
        __syncwarp();
    else
        __syncthreads();
}

// A block sorts SORT_TILE items. Each thread sorts its own items in registers. Then the block merges runs that belong
// to 1, 2, 4, ... threads. Each thread finds its part of a merge by a co-rank. While a run belongs to one warp, warps
// need not wait for each other. A free place separates the runs of two warps, because a merge reads one item after a
// run. Places after the end of the input hold the key TOP, which stays after all keys.
extern "C" __global__ void __launch_bounds__(SORT_BLOCK, SORT_RESIDENT / SORT_BLOCK)
    mergesort_blocks(const u32 *__restrict__ keys, const u32 *__restrict__ values, item *to, u32 *sorted_keys,
                     u32 *sorted_values, offset N, u32 last)
{
    extern __shared__ uint4 shared[];
    item *s = (item *)shared, r[SORT_ITEMS];
    const offset begin = tile_begin(SORT_TILE);
    const u32 t = threadIdx.x, mine = t * SORT_ITEMS, warp = warp_id() * WARP * SORT_ITEMS + lane_id();
    const u32 gaps = warp_id();
    const u32 count = (u32)min(N - begin, (offset)SORT_TILE);
#pragma unroll
    for (u32 k = 0; k < SORT_ITEMS; ++k) {
        set_top(r[k]);
        if (warp + k * WARP < count)
            get(r[k], keys, values, begin + warp + k * WARP);
    }
#pragma unroll
    for (u32 k = 0; k < SORT_ITEMS; ++k)
        s[gaps + warp + k * WARP] = r[k];
    if (lane_id() == WARP - 1) // merge_shared() reads the place after the warp's last item
        set_top(s[gaps + mine + SORT_ITEMS]);
    __syncwarp();
#pragma unroll
    for (u32 k = 0; k < SORT_ITEMS; ++k)
        r[k] = s[gaps + mine + k];
    __syncwarp();
    sort_thread(r);
#pragma unroll 1
    for (u32 width = 1; width < SORT_BLOCK; width *= 2) {
        if (width == WARP)
            __syncthreads(); // from here on no free places separate the runs
        const u32 place = mine + (width < WARP ? gaps : 0);
        item *own = s + place;
#pragma unroll
        for (u32 k = 0; k < SORT_ITEMS; ++k)
            own[k] = r[k];
        sync_group(2 * width);
        const u32 diagonal = (t & (2 * width - 1)) * SORT_ITEMS, length = width * SORT_ITEMS;
        const u32 a = place - diagonal;
        merge_shared(r, s, a, length, a + length, length, diagonal);
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

// ---- textbook passes that merge two runs ----

// The part of the merge of two runs that a block makes. Run A begins at place `a`, and run B follows it. The block
// makes the items `first` to `end` - 1 of the merge.
struct Share {
    u32 a, a_length, b_length, first, end;
};

// Returns the share of this block. `shares` blocks merge a pair of runs, and each of them makes `items` items.
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
// Each thread makes ITEMS neighbouring items of the merge. A thread finds its parts of both runs by a co-rank, and
// merges these parts. All accesses are to global memory. The lanes of a warp access places that are about ITEMS apart,
// and the searches read scattered places.
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

// Finds how many items of run A come before the begin of the share, and how many come before its end. Two threads
// search, and all threads read both numbers from `corners`.
__device__ __forceinline__ void corners_of(const Share &share, const item *from, u32 *corners)
{
    if (threadIdx.x < 2)
        corners[threadIdx.x] = co_rank(threadIdx.x ? share.end : share.first, Flat{from}, share.a, share.a_length,
                                       share.a + share.a_length, share.b_length);
    __syncthreads();
}

// The thread makes its part of the next `count` items of the merge of two runs: the places [a, a + a_length) and [b, b
// + b_length).
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
// Both runs go through shared memory, STAGED items of each at a time. With these items, at least the next STAGED items
// of the merge can be made. The reads are coalesced. But only STAGED of the 2 STAGED items in shared memory are used.
// The others are read from global memory again.
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
// Two circular buffers in shared memory, one for each run. The items of run A are at the places begin, begin + 1, ...
// modulo STAGED. The items of run B are at such places plus 2 STAGED.
struct Ring {
    const item *items;
    __device__ __forceinline__ item operator()(u32 place) const
    {
        const u32 b = place >= 2 * STAGED, index = place - b * 2 * STAGED;
        return items[b * STAGED + (index >= STAGED ? index - STAGED : index)];
    }
};

// Compared with merge_tiled, unused items stay in the buffers, and only used items are replaced. So each item is read
// once from global memory, but each access to a buffer needs more arithmetic.
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
    u32 a_begin = 0, b_begin = 0, a_length = 0, b_length = 0; // first place and number of the items in each buffer
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

// A pass merges groups of WAYS runs of `run` items, each group into one run. `tiles` blocks make the items of a group,
// TILE items each. Tile k takes its items of run r from item splits[k * WAYS + r] on.

#if defined(MERGESORT_MERGE) || !defined(MERGESORT_ONE)
// Finds the splits of a tile, which begins at item d of the merged group. A split tells how many of the first d items
// come from a run. One warp processes one tile.
//
// The warp searches all runs at the same time. The variables low[r] and high[r] are bounds for the split of run r. In
// each round, PIVOTS lanes read PIVOTS keys of each run. These pivots are spread over the interval between the bounds.
// The pivots of the other runs bound the rank of a pivot's key in the merge of all runs. In another run, all items up
// to the last pivot that comes before this key also come before the key. In that run, no item from the first pivot
// after this key on comes before the key. If the rank of a pivot is certainly below d, the pivot raises `low` of its
// run. If the rank is certainly not below d, the pivot lowers `high`. If keys are equal, the key of the earlier run
// comes first.
//
// Two uncertain ranks differ by less than the sum of the gaps between pivots. Therefore a round leaves at most 3 of the
// PIVOTS + 1 parts of the interval, and mostly 2. Either the first of all pivots is certainly below d, or the last of
// all pivots is certainly not below d. So each round removes at least one item. For four runs with 2^26 items in all,
// the search needs 12 rounds, and each round takes as long as one read.
extern "C" __global__ void __launch_bounds__(PARTITION_BLOCK)
    mergesort_partition(const item *__restrict__ from, u32 *splits, offset run, u32 tiles, u32 all_tiles, offset N)
{
    constexpr u32 PIVOTS = WARP / WAYS;
    const u32 index = blockIdx.x * (PARTITION_BLOCK / WARP) + warp_id();
    if (index >= all_tiles) // all lanes of a warp have the same index
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
        offset least = place, most = place; // lower and upper bound of the rank of `key`
#pragma unroll
        for (u32 k = 1; k < WAYS; ++k) {
            const u32 other = (mine + k) % WAYS, lane = other * PIVOTS;
            u32 before = 0; // number of pivots of run `other` that come before this key
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

// Begins to copy 16 bytes to shared memory. Only the first `bytes` bytes of the source are read.
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

// The places and lengths in shared memory of the runs that a tile still has to merge.
template <u32 ways> struct Runs {
    u32 begin[ways], length[ways];
};

#if NETWORK
// Does the same as the function below with networks: each warp makes a part of a merge, and each merge begins at the
// place of its first warp.
template <u32 ways> __device__ __forceinline__ void merge_tree(u32 *s, const Runs<ways> &runs)
{
    Runs<ways / 2> merged;
    u32 a = 0, a_length = 0, b = 0, b_length = 0, diagonal = 0, warps = 0;
#pragma unroll
    for (u32 k = 0; k < ways / 2; ++k) {
        const u32 length = runs.length[2 * k] + runs.length[2 * k + 1];
        if (warp_id() >= warps) { // sets the variables for the last merge that this warp belongs to
            a = runs.begin[2 * k], a_length = runs.length[2 * k];
            b = runs.begin[2 * k + 1], b_length = runs.length[2 * k + 1];
            diagonal = (warp_id() - warps) * CHUNK;
        }
        merged.begin[k] = warps * CHUNK;
        merged.length[k] = length;
        warps += ceil_div(length, (u32)CHUNK);
    }
    merge_chunk<false>(s, a, a_length, b, b_length, diagonal);
    merge_tree(s, merged);
}
#else
// Merges runs 0 and 1, 2 and 3, ... in shared memory, then merges the results in the same way, until one run is left at
// place 0. A thread makes ITEMS items of one merge in registers and writes them back. No thread works on the end of one
// merge and on the beginning of the next merge. Therefore a tile has slightly fewer items than the threads of the block
// could make.
template <u32 ways> __device__ __forceinline__ void merge_tree(item *s, const Runs<ways> &runs)
{
    Runs<ways / 2> merged;
    u32 a = 0, a_length = 0, b = 0, b_length = 0, diagonal = 0, to = 0, threads = 0, items = 0;
#pragma unroll
    for (u32 k = 0; k < ways / 2; ++k) {
        const u32 length = runs.length[2 * k] + runs.length[2 * k + 1];
        if (threadIdx.x >= threads) { // sets the variables for the last merge that this thread belongs to
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
    item r[ITEMS];
    merge_shared(r, s, a, a_length, b, b_length, diagonal);
    __syncthreads();
    item *place = s + to + diagonal;
    if (count == ITEMS) {
#pragma unroll
        for (u32 k = 0; k < ITEMS; ++k)
            place[k] = r[k];
    } else {
#pragma unroll
        for (u32 k = 0; k < ITEMS; ++k)
            if (k < count)
                place[k] = r[k];
    }
    __syncthreads();
    merge_tree(s, merged);
}

#endif

template <> __device__ __forceinline__ void merge_tree<1>(item *, const Runs<1> &)
{
}

// A block makes a tile. The block copies WAYS segments, one of each run, to shared memory by accesses of 16 bytes,
// without registers. A segment keeps its alignment to 16 bytes. So some items before and after the segment are copied
// with it. The block merges pairs of segments until one segment is left. It writes this segment by accesses of 16
// bytes.
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
    u32 place = 0; // place of the next segment, in items
#pragma unroll
    for (u32 r = 0; r < WAYS; ++r) {
        const u32 begin = begins[r], before = lengths[r] ? begin % PACK : 0;
        runs.begin[r] = place + before;
        runs.length[r] = lengths[r];
        const u32 words = lengths[r] ? (before + lengths[r] + PACK - 1) / PACK : 0;
        u32 i = (t - place / PACK) % BLOCK; // all threads take part, however long the segments are
        u32 source = begin - before + i * PACK;
        item *target = s + place_of(place + i * PACK);
        for (; i < words; i += BLOCK, source += BLOCK * PACK, target += place_of(BLOCK * PACK))
            copy_async_part(target, from + source, min((u32)N - source, (u32)PACK) * (u32)sizeof(item));
        place += words * PACK;
    }
    if (!NETWORK && t < ITEMS + 1)
        set_top(s[place + t]); // merge_shared() reads the places after the last run
    copy_async_commit();
    copy_async_wait<0>();
    __syncthreads();
    merge_tree(s, runs);

    write_tile<BLOCK>(Output{to, sorted_keys, sorted_values, last != 0}, s, group_begin + first, count);
}
#endif
