// radixsort.cu - sorts N keys by their digits. Each key may have a value of 32 bits, which moves with it. A key with
// its value is called an item. The least significant digit comes first (LSD). Each pass is a stable sort by one digit.
//
// KEY gives the type of the keys: u32, i32, f32 (0, 1, 2) or u64, i64, f64 (3, 4, 5). The function `ordered` maps the
// bits of a key to an unsigned number. These numbers have the order of the keys. Floats are in the total order of IEEE
// 754: NaN with the sign bit set, -infinity, ..., -0, 0, ..., infinity, NaN. The sort compares only the bits `begin` to
// `end` - 1 of the ordered number. The sort is stable: if keys are equal in these bits, they and their values keep
// their order. N is below 2^32 and may be 0 or 1. The result is the same in every run.
//
// A pass needs three numbers for each item. The first is the number of items in the input with a smaller digit. The
// second is the number of items with the same digit in earlier tiles. The third is the number of items with the same
// digit that come before the item in its tile. The sum of the three numbers is the place of the item. The variants
// lsd_split and lsd_three_kernel use three kernels per pass. The first kernel counts the digits of each tile, the
// second scans these counts, and the third moves the items. So a pass reads all keys twice. The variant onesweep
// (Adinets and Merrill, 2022) counts the digits of all passes in one read before the first pass, because a sort does
// not change these counts. While a pass of onesweep moves items, it finds the second number by a decoupled look-back
// (Merrill and Garland, 2016). So a pass reads keys only once.
//
// The bound is memory. The variant onesweep reads each key once for the counts, and reads and writes each item once per
// pass. With digits of 8 bits this is (1 + 2 x 4) x 4 = 36 bytes for a u32 key, and 68 bytes for a pair.
//
// On an H200 two other resources limit a pass: the rate of integer instructions, and the banks of shared memory. A
// multiprocessor runs integer instructions for 64 lanes per clock. Lanes with different digits often access the same
// bank. Ballots (RANK 0) need four instructions for each bit of the digit, and no memory. Ballots were fastest on
// random keys, at 0.51 of the bound. The instruction match.any (RANK 1) takes one step for each different digit of the
// warp. It was fastest on keys with few different digits. The speed of atomics (RANK 2) is between the two.
//
// A tile has the items of one warp after the items of another. The items of a warp are striped over its lanes: item i
// of lane l is number 32 i + l of the warp. So loads are coalesced, and the items of a tile are ordered by (warp, i,
// lane).
//
// The tuning parameters are macros. The engine defines these macros from the spec. The defaults below only let an
// editor or a compiler parse this file alone. A kernel is compiled if its own macro RADIXSORT_<NAME> is set, or if
// RADIXSORT_ONE is not set.

#include "async.cuh"

#ifndef KEY
#define KEY 0 // 0 to 5: u32, i32, f32, u64, i64, f64
#endif
#ifndef PAIRS
#define PAIRS 0 // 1: each key has a value of 32 bits
#endif
#ifndef DIGIT_BITS
#define DIGIT_BITS 8 // number of bits of a digit, 1 to 8
#endif
#ifndef BLOCK
#define BLOCK 256 // number of threads of a block, a multiple of 32 and at least 2^DIGIT_BITS
#endif
#ifndef ITEMS
#define ITEMS 16 // number of items per thread
#endif
#ifndef RESIDENT
#define RESIDENT BLOCK // number of threads whose registers must fit on a multiprocessor, a multiple of BLOCK
#endif
#ifndef RANK
// how lanes find the lanes with the same digit: 0: a ballot for each bit, 1: match.any, 2: atomics in shared memory
#define RANK 0
#endif
#ifndef STAGED
#define STAGED 1 // 1: a block puts its items in order in shared memory before it writes them
#endif
#ifndef AHEAD
#define AHEAD 4 // onesweep: number of tiles that a look-back reads at once
#endif
#ifndef PASSES
#define PASSES 4 // onesweep: number of passes whose digits are counted
#endif
#ifndef COPIES
#define COPIES 32 // radixsort_count_all: number of copies of each counter, for different lanes
#endif
#ifndef OVERLAP
#define OVERLAP 0 // onesweep: 1: a launch may begin before the launch before it has ended
#endif
#ifndef COUNT_BLOCK
#define COUNT_BLOCK 1024 // radixsort_count_all: number of threads of a block
#endif

enum : unsigned {
    RADIX = 1u << DIGIT_BITS,
    WARPS = BLOCK / WARP,
    TILE = BLOCK * ITEMS,
    VECTOR = KEY < 3 ? 4 : 2 // number of keys in 16 bytes
};

typedef choose<KEY / 3, unsigned, unsigned long long> word; // the bits of a key

static_assert(BLOCK >= RADIX, "a thread counts one digit");
static_assert(TILE <= 65536, "a rank has 16 bits");

// The function ordered() converts the bits of a key to a number. These numbers have the order of the keys. The function
// raw() converts such a number back.
__device__ __forceinline__ word ordered(word bits)
{
    constexpr word sign = (word)1 << (sizeof(word) * 8 - 1);
    if (KEY % 3 == 0)
        return bits;
    if (KEY % 3 == 1)
        return bits ^ sign;
    return bits & sign ? ~bits : bits | sign;
}

__device__ __forceinline__ word raw(word number)
{
    constexpr word sign = (word)1 << (sizeof(word) * 8 - 1);
    if (KEY % 3 != 2)
        return ordered(number);
    return number & sign ? number ^ sign : ~number;
}

// Extracts the digit of a pass from an ordered number. The last digit may have fewer bits than the other digits.
struct Digit {
    unsigned shift, mask;
    __device__ __forceinline__ Digit(unsigned first_bit, unsigned end_bit, unsigned pass) : shift(first_bit + pass * DIGIT_BITS)
    {
        const unsigned left = end_bit - shift;
        mask = left < DIGIT_BITS ? (1u << left) - 1 : RADIX - 1;
    }
    __device__ __forceinline__ unsigned operator()(word number) const
    {
        return (unsigned)(number >> shift) & mask;
    }
    // Returns the digit times 2^log by two instructions (for keys of 32 bits). The result is the byte offset of the
    // digit's entry in an array.
    template <unsigned log> __device__ __forceinline__ unsigned scaled(word number) const
    {
        if (sizeof(word) == 8)
            return ((unsigned)(number >> shift) & mask) << log;
        const unsigned bits = (unsigned)number;
        return __funnelshift_r(bits, bits, shift - log) & mask << log; // rotates by (shift - log) mod 32
    }
};

// Returns the entry of an array that lies `bytes` bytes after the first entry.
template <class T> __device__ __forceinline__ T &entry(T *array, unsigned bytes)
{
    return *(T *)((char *)array + bytes);
}

template <class T> __device__ __forceinline__ const T &entry(const T *array, unsigned bytes)
{
    return *(const T *)((const char *)array + bytes);
}

__device__ __forceinline__ unsigned lanes_below()
{
    unsigned mask;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
    return mask;
}

__device__ __forceinline__ unsigned lanes_above()
{
    unsigned mask;
    asm("mov.u32 %0, %%lanemask_gt;" : "=r"(mask));
    return mask;
}

// Returns a mask of the lanes in which bit `bit` of `digit` equals this lane's bit. This takes four instructions.
// Compilers make more than four instructions from the same function in C.
__device__ __forceinline__ unsigned same_bit(unsigned digit, unsigned bit)
{
    unsigned lanes;
    asm volatile("{\n"
                 ".reg .pred set;\n"
                 ".reg .b32 one;\n"
                 "and.b32 one, %1, %2;\n"
                 "setp.ne.u32 set, one, 0;\n"
                 "vote.sync.ballot.b32 %0, set, 0xffffffff;\n"
                 "@!set not.b32 %0, %0;\n"
                 "}"
                 : "=r"(lanes)
                 : "r"(digit), "r"(1u << bit));
    return lanes;
}

// Returns a mask of the lanes of the warp that have the same digit as this lane. `digit` is the digit times 4. `masks`
// is for RANK 2 only. It has a word for each digit, and all words must be 0. With RANK 2, the function also stores the
// mask in the word of the digit. The caller sets this word to 0 again.
__device__ __forceinline__ unsigned same_digit(unsigned digit, unsigned *masks)
{
    if (RANK == 1)
        return __match_any_sync(ALL_LANES, digit);
    if (RANK == 2) {
        atomicOr(&entry(masks, digit), 1u << lane_id());
        __syncwarp();
        return entry(masks, digit);
    }
    unsigned lanes = same_bit(digit, 2);
#pragma unroll
    for (unsigned bit = 1; bit < DIGIT_BITS; ++bit)
        lanes &= same_bit(digit, bit + 2);
    return lanes;
}

// The ranks of a thread's items, two in each register.
struct Ranks {
    unsigned pairs[ceil_div(ITEMS, 2)];

    __device__ __forceinline__ unsigned get(unsigned i) const
    {
        return i % 2 ? pairs[i / 2] >> 16 : pairs[i / 2] & 0xffff;
    }
    __device__ __forceinline__ void set(unsigned i, unsigned rank) // the calls must set item 2 k before item 2 k + 1
    {
        pairs[i / 2] = i % 2 ? pairs[i / 2] | rank << 16 : rank;
    }
    __device__ __forceinline__ void add(unsigned i, unsigned more)
    {
        pairs[i / 2] += i % 2 ? more << 16 : more;
    }
};

// The data of a block in shared memory, except its items.
struct Tile {
    // for each warp and digit: number of items; later the place in the tile where these items begin
    unsigned counts[WARPS][RADIX];
    unsigned masks[RANK == 2 ? WARPS : 1][RANK == 2 ? RADIX : 1];
    unsigned place[RADIX]; // for each digit: place of an item in the result, minus its place in the tile
    unsigned warps[WARPS], number;
};

// The arrays from which a pass reads and to which it writes. The passes write to the scratch arrays and to the sorted
// arrays by turns, so that the last pass writes to the sorted arrays. The first pass reads the keys and converts them
// to ordered numbers. All later passes read these numbers in place of keys, and the last pass converts them back.
struct Route {
    const word *from_keys;
    const unsigned *from_values;
    word *to_keys;
    unsigned *to_values;
    bool first, last;

    __device__ __forceinline__ Route(const word *keys, const unsigned *values, word *scratch_keys, unsigned *scratch_values,
                                     word *sorted_keys, unsigned *sorted_values, unsigned pass, unsigned passes)
        : first(pass == 0), last(pass + 1 == passes)
    {
        const bool even = (passes - 1 - pass) % 2 == 0;
        from_keys = first ? keys : even ? scratch_keys : sorted_keys;
        from_values = first ? values : even ? scratch_values : sorted_values;
        to_keys = even ? sorted_keys : scratch_keys;
        to_values = even ? sorted_values : scratch_values;
    }
};

// Reads the items of a tile. Places after the last item get the value `rest`. For keys this is the greatest number, so
// that these places come last in the tile.
template <class T> __device__ __forceinline__ void load_items(T (&items)[ITEMS], const T *from, unsigned count, T rest)
{
    const unsigned first = warp_id() * (ITEMS * WARP) + lane_id();
    if (count == TILE) {
#pragma unroll
        for (unsigned i = 0; i < ITEMS; ++i)
            items[i] = from[first + i * WARP];
        return;
    }
#pragma unroll
    for (unsigned i = 0; i < ITEMS; ++i)
        items[i] = first + i * WARP < count ? from[first + i * WARP] : rest;
}

__device__ __forceinline__ void load_keys(word (&keys)[ITEMS], const word *from, unsigned count, bool first)
{
    load_items(keys, from, count, first ? raw(~(word)0) : ~(word)0);
    if (first)
#pragma unroll
        for (unsigned i = 0; i < ITEMS; ++i)
            keys[i] = ordered(keys[i]);
}

// Computes the rank of each item among the items of its warp with the same digit. Stores the number of the warp's items
// of each digit in `tile`. The counters of the block must be 0.
__device__ __forceinline__ void rank_items(Ranks &ranks, const word (&keys)[ITEMS], Digit digit_of, Tile &tile)
{
    unsigned *const counts = tile.counts[warp_id()], *const masks = tile.masks[RANK == 2 ? warp_id() : 0];
    const unsigned below = lanes_below(), above = lanes_above();
#pragma unroll
    for (unsigned i = 0; i < ITEMS; ++i) {
        const unsigned digit = digit_of.scaled<2>(keys[i]);
        const unsigned lanes = same_digit(digit, masks), rank = entry(counts, digit) + __popc(lanes & below);
        ranks.set(i, rank);
        __syncwarp(); // all lanes have read their counters
        if ((lanes & above) == 0) { // this lane is the last lane with its digit
            entry(counts, digit) = rank + 1;
            if (RANK == 2)
                entry(masks, digit) = 0;
        }
        __syncwarp();
    }
}

// Turns the counts of the warps into places in the tile. The places are ordered by digit and then by warp. Returns the
// number of the tile's items that have this thread's digit, which is the thread's number. Sets `begin` to the place of
// the first of these items. All threads of the block must call the function. Two barriers must follow before `tile` is
// read.
__device__ __forceinline__ unsigned place_digits(Tile &tile, unsigned &begin)
{
    const unsigned digit = threadIdx.x;
    unsigned sum = 0, before[WARPS];
    if (digit < RADIX)
#pragma unroll
        for (unsigned w = 0; w < WARPS; ++w) {
            before[w] = sum;
            sum += tile.counts[w][digit];
        }
    const unsigned scanned = warp_scan<Plus<unsigned>>(sum);
    if (lane_id() == WARP - 1)
        tile.warps[warp_id()] = scanned;
    __syncthreads();
    begin = scanned - sum;
    for (unsigned w = 0; w < ceil_div((unsigned)RADIX, (unsigned)WARP) && w < warp_id(); ++w)
        begin += tile.warps[w];
    if (digit < RADIX)
#pragma unroll
        for (unsigned w = 0; w < WARPS; ++w)
            tile.counts[w][digit] = begin + before[w];
    return sum;
}

// Writes each item directly from its register. The array tile.place has the places for the items of each digit.
__device__ __forceinline__ void write_items(const word (&keys)[ITEMS], const Ranks &ranks, const Route &route, offset begin,
                                            Digit digit_of, const Tile &tile, unsigned count)
{
    const unsigned first = warp_id() * (ITEMS * WARP) + lane_id();
#pragma unroll
    for (unsigned i = 0; i < ITEMS; ++i) {
        const unsigned at = tile.place[digit_of(keys[i])] + ranks.get(i);
        if (first + i * WARP < count) {
            route.to_keys[at] = route.last ? raw(keys[i]) : keys[i];
            if (PAIRS)
                route.to_values[at] = route.from_values[begin + first + i * WARP];
        }
    }
}

// Writes the keys that are in order in shared memory. Most neighbouring threads write to neighbouring places. If there
// are values, the function sets `places` to the places to which this thread wrote.
template <bool whole>
__device__ __forceinline__ void write_staged_keys(unsigned (&places)[PAIRS ? ITEMS : 1], const word *staged,
                                                  const Route &route, Digit digit_of, const Tile &tile, unsigned count)
{
#pragma unroll
    for (unsigned i = 0; i < ITEMS; ++i) {
        const unsigned number = i * BLOCK + threadIdx.x;
        const word key = staged[number];
        const unsigned at = entry(tile.place, digit_of.scaled<2>(key)) + number;
        if (PAIRS)
            places[PAIRS ? i : 0] = at;
        if (whole || number < count)
            route.to_keys[at] = KEY % 3 != 0 && route.last ? raw(key) : key;
    }
}

// Writes the keys as write_staged_keys() does. Then writes the values. The values go through the same places in shared
// memory as their keys.
__device__ __forceinline__ void write_staged(const Ranks &ranks, const Route &route, offset begin, Digit digit_of,
                                             const Tile &tile, char *room, unsigned count)
{
    unsigned places[PAIRS ? ITEMS : 1], values[ITEMS];
    if (count == TILE)
        write_staged_keys<true>(places, (const word *)room, route, digit_of, tile, count);
    else
        write_staged_keys<false>(places, (const word *)room, route, digit_of, tile, count);
    if (!PAIRS)
        return;
    unsigned *const staged = (unsigned *)room;
    load_items(values, route.from_values + begin, count, 0u);
    __syncthreads(); // all threads have read their keys from shared memory
#pragma unroll
    for (unsigned i = 0; i < ITEMS; ++i)
        staged[ranks.get(i)] = values[i];
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < ITEMS; ++i) {
        const unsigned number = i * BLOCK + threadIdx.x;
        if (count == TILE || number < count)
            route.to_values[places[PAIRS ? i : 0]] = staged[number];
    }
}

// Turns ranks into places in the tile, and writes the keys to these places in shared memory (if STAGED).
__device__ __forceinline__ void stage_keys(const word (&keys)[ITEMS], Ranks &ranks, Digit digit_of,
                                           const Tile &tile, char *room)
{
    word *const staged = (word *)room;
#pragma unroll
    for (unsigned i = 0; i < ITEMS; ++i) {
        ranks.add(i, entry(tile.counts[warp_id()], digit_of.scaled<2>(keys[i])));
        if (STAGED)
            staged[ranks.get(i)] = keys[i];
    }
}

__device__ __forceinline__ void clear_counts(Tile &tile)
{
    constexpr unsigned quads = sizeof tile.counts / 16, singles = sizeof tile.counts % 16 / 4;
    for (unsigned i = threadIdx.x; i < quads; i += BLOCK)
        ((uint4 *)tile.counts)[i] = make_uint4(0, 0, 0, 0);
    if (threadIdx.x < singles)
        ((unsigned *)tile.counts)[quads * 4 + threadIdx.x] = 0;
    if (RANK == 2)
        for (unsigned i = threadIdx.x; i < sizeof tile.masks / 4; i += BLOCK)
            tile.masks[0][i] = 0;
}

#if defined(RADIXSORT_THREE_KERNEL) || !defined(RADIXSORT_ONE)
// The first of the three kernels of a pass counts the items of each digit in each tile. `table` has a row for each
// digit, and a column for each tile.
extern "C" __global__ void __launch_bounds__(BLOCK)
    radixsort_count(const word *keys, const unsigned *values, word *scratch_keys, unsigned *scratch_values, word *sorted_keys,
                    unsigned *sorted_values, unsigned *table, unsigned pass, unsigned passes, unsigned first_bit,
                    unsigned end_bit, unsigned N)
{
    __shared__ unsigned counts[RADIX];
    const Route route(keys, values, scratch_keys, scratch_values, sorted_keys, sorted_values, pass, passes);
    const Digit digit_of(first_bit, end_bit, pass);
    const offset begin = tile_begin(TILE);
    if (threadIdx.x < RADIX)
        counts[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < ITEMS; ++i) {
        const offset at = begin + i * BLOCK + threadIdx.x;
        if (at < N)
            atomicAdd(counts + digit_of(route.first ? ordered(route.from_keys[at]) : route.from_keys[at]), 1u);
    }
    __syncthreads();
    if (threadIdx.x < RADIX)
        table[(offset)threadIdx.x * gridDim.x + blockIdx.x] = counts[threadIdx.x];
}

// The second of the three kernels replaces the table by its exclusive scan. It has one block.
extern "C" __global__ void __launch_bounds__(1024) radixsort_scan(unsigned *table, offset count)
{
    __shared__ unsigned warps[32];
    unsigned before = 0;
    for (offset begin = 0; begin < count; begin += 4 * 1024) {
        const offset at = begin + threadIdx.x * 4;
        unsigned items[4], sum = 0;
#pragma unroll
        for (unsigned i = 0; i < 4; ++i) {
            items[i] = at + i < count ? table[at + i] : 0;
            sum += items[i];
        }
        unsigned scanned = warp_scan<Plus<unsigned>>(sum);
        if (lane_id() == WARP - 1)
            warps[warp_id()] = scanned;
        __syncthreads();
        const unsigned of_warps = warp_scan<Plus<unsigned>>(warps[lane_id()]);
        unsigned mine = before + scanned - sum;
        mine += warp_id() > 0 ? __shfl_sync(ALL_LANES, of_warps, warp_id() - 1) : 0;
        before += __shfl_sync(ALL_LANES, of_warps, WARP - 1);
#pragma unroll
        for (unsigned i = 0; i < 4; ++i) {
            if (at + i < count)
                table[at + i] = mine;
            mine += items[i];
        }
        __syncthreads();
    }
}

// The third of the three kernels moves each item to its place.
//
// The variant lsd_split sorts by one bit per pass. Each lane writes its items directly (STAGED 0), and the items of a
// warp go to two runs of places. The variant lsd_three_kernel has digits of several bits, and the items of a warp go to
// up to 32 places. If lanes wrote these items directly, each place would cost a sector. Therefore the block first puts
// its items in order in shared memory, and then writes runs of items with the same digit.
extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT / BLOCK)
    radixsort_scatter(const word *keys, const unsigned *values, word *scratch_keys, unsigned *scratch_values,
                      word *sorted_keys, unsigned *sorted_values, const unsigned *table, unsigned pass, unsigned passes,
                      unsigned first_bit, unsigned end_bit, unsigned N)
{
    extern __shared__ __align__(16) char room[];
    __shared__ __align__(16) Tile tile;
    const Route route(keys, values, scratch_keys, scratch_values, sorted_keys, sorted_values, pass, passes);
    const Digit digit_of(first_bit, end_bit, pass);
    const offset begin = tile_begin(TILE);
    const unsigned count = N - begin < TILE ? (unsigned)(N - begin) : TILE;
    word mine[ITEMS];
    Ranks ranks;
    unsigned digit_begin;
    load_keys(mine, route.from_keys + begin, count, route.first);
    if (PAIRS && STAGED)
        // values are prefetched to the L2, because they are needed last and have no registers before
        for (unsigned i = threadIdx.x * 32; i < count; i += BLOCK * 32)
            prefetch_l2(route.from_values + begin + i);
    clear_counts(tile);
    __syncthreads();
    rank_items(ranks, mine, digit_of, tile);
    __syncthreads();
    place_digits(tile, digit_begin);
    if (threadIdx.x < RADIX)
        tile.place[threadIdx.x] = table[(offset)threadIdx.x * gridDim.x + blockIdx.x] - digit_begin;
    __syncthreads();
    stage_keys(mine, ranks, digit_of, tile, room);
    if (STAGED) {
        __syncthreads();
        write_staged(ranks, route, begin, digit_of, tile, room, count);
    } else {
        write_items(mine, ranks, route, begin, digit_of, tile, count);
    }
}
#endif

#if defined(RADIXSORT_ONESWEEP) || !defined(RADIXSORT_ONE)
// A note of a tile for one digit, which later tiles read. A note has a number and a kind. The number is the number of
// the tile's items (COUNT) or of the items of all tiles up to this tile (SUM). A note of the kind NOTHING has no number
// yet. The kind and the number are in one word, so that no fence is needed.
#if defined(WIDE) && WIDE
typedef unsigned long long note; // for N >= 2^30
#else
typedef unsigned note;
#endif
enum : note { NOTHING = 0, COUNT = 1, SUM = 2 };

__device__ __forceinline__ constexpr unsigned log2_of(unsigned number)
{
    return number <= 1 ? 0 : 1 + log2_of(number / 2);
}

// Counts the digits of all passes in one read. The block that finishes last turns the counts of each pass into the
// places where the digits begin. It also resets the counters to 0 for the next launch.
//
// If lanes of a warp have the same digit, or digits in the same bank, these lanes wait for each other. Therefore each
// digit has COPIES counters, and 32 / COPIES lanes share one of these. With 32 copies no two lanes access the same
// bank.
extern "C" __global__ void __launch_bounds__(COUNT_BLOCK, 1)
    radixsort_count_all(const word *__restrict__ keys, unsigned *counts, unsigned *__restrict__ starts, unsigned *done,
                        note *notes, offset note_count, unsigned first_bit, unsigned end_bit, unsigned N)
{
    extern __shared__ __align__(16) unsigned counters[]; // [PASSES][RADIX][COPIES]
    __shared__ bool last;
    constexpr unsigned all = PASSES * RADIX;
    for (unsigned i = threadIdx.x; i < all * COPIES; i += COUNT_BLOCK)
        counters[i] = 0;
    __syncthreads();
    for (offset i = grid_thread<COUNT_BLOCK>(); i < note_count; i += grid_threads<COUNT_BLOCK>())
        notes[i] = NOTHING;
    const unsigned mine = lane_id() % COPIES * 4;
    auto count = [&](word bits) {
        const word number = ordered(bits);
#pragma unroll
        for (unsigned p = 0; p < PASSES; ++p) {
            const Digit digit_of(first_bit, end_bit, p);
            atomicAdd(&entry(counters + p * RADIX * COPIES, digit_of.scaled<log2_of(COPIES) + 2>(number) | mine), 1u);
        }
    };
    typedef choose<KEY / 3, uint4, ulonglong2> vector;
    const offset threads = grid_threads<COUNT_BLOCK>(), vectors = N / VECTOR;
    auto unpack_count = [&](const vector &of) {
        word keys_of[VECTOR];
        *(vector *)keys_of = of;
#pragma unroll
        for (unsigned i = 0; i < VECTOR; ++i)
            count(keys_of[i]);
    };
    offset at = grid_thread<COUNT_BLOCK>();
    for (; at + 3 * threads < vectors; at += 4 * threads) {
        vector some[4];
#pragma unroll
        for (unsigned i = 0; i < 4; ++i)
            some[i] = ((const vector *)keys)[at + i * threads];
#pragma unroll
        for (unsigned i = 0; i < 4; ++i)
            unpack_count(some[i]);
    }
    for (; at < vectors; at += threads)
        unpack_count(((const vector *)keys)[at]);
    const offset rest = vectors * VECTOR + grid_thread<COUNT_BLOCK>();
    if (rest < N)
        count(keys[rest]);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < all; i += COUNT_BLOCK) {
        unsigned sum = 0;
#pragma unroll
        for (unsigned c = 0; c < COPIES; ++c)
            sum += counters[i * COPIES + (c + i) % COPIES];
        if (sum > 0)
            atomicAdd(counts + i, sum);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence(); // the block's counts must be visible before the counter of finished blocks
        last = is_last_block(done);
        __threadfence();
    }
    __syncthreads();
    if (!last)
        return;
    for (unsigned p = warp_id(); p < PASSES; p += COUNT_BLOCK / WARP) {
        unsigned before = 0;
        for (unsigned first = 0; first < RADIX; first += WARP) {
            const unsigned digit = first + lane_id(), place = p * RADIX + digit;
            const unsigned own = digit < RADIX ? *(volatile unsigned *)(counts + place) : 0;
            const unsigned scanned = warp_scan<Plus<unsigned>>(own);
            if (digit < RADIX) {
                starts[place] = before + scanned - own;
                counts[place] = 0;
            }
            before += __shfl_sync(ALL_LANES, scanned, WARP - 1);
        }
    }
}

__device__ __forceinline__ void tell(note *at, note kind, unsigned number)
{
    *(volatile note *)at = (note)number << 2 | kind;
}

// Returns the number of items of a digit in all tiles before `tile`. A thread reads the notes of AHEAD tiles at once,
// because AHEAD reads in flight take as long as one read.
__device__ __forceinline__ unsigned look_back(const note *notes, unsigned tile)
{
    unsigned sum = 0;
    for (unsigned next = tile; next > 0;) { // tile `next` - 1 is the next tile to read
        note seen[AHEAD];
#pragma unroll
        for (unsigned i = 0; i < AHEAD; ++i)
            seen[i] = *(const volatile note *)(notes + (offset)(next > i ? next - 1 - i : 0) * RADIX);
#pragma unroll
        for (unsigned i = 0; i < AHEAD; ++i) {
            if (next == 0 || seen[i] % 4 == NOTHING)
                break;
            sum += (unsigned)(seen[i] >> 2);
            next = seen[i] % 4 == SUM ? 0 : next - 1;
        }
    }
    return sum;
}

// Does a whole pass in one launch. A block takes a tile when it begins, in the order of the tiles. So the blocks of all
// earlier tiles have begun too. The block publishes its counts, puts its keys in order in shared memory, and then looks
// back. Notes must be NOTHING before a pass. There are two sets of notes. Each pass clears the set of the pass before
// it, which all blocks have read. The kernel radixsort_count_all clears the set that the last pass of the previous
// launch used.
extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT / BLOCK)
    radixsort_onesweep(const word *keys, const unsigned *values, word *scratch_keys, unsigned *scratch_values,
                       word *sorted_keys, unsigned *sorted_values, const unsigned *starts, note *all_notes, unsigned *turn,
                       unsigned pass, unsigned passes, unsigned first_bit, unsigned end_bit, unsigned N)
{
    extern __shared__ __align__(16) char room[];
    __shared__ __align__(16) Tile tile;
    const Route route(keys, values, scratch_keys, scratch_values, sorted_keys, sorted_values, pass, passes);
    const Digit digit_of(first_bit, end_bit, pass);
    const unsigned digit = threadIdx.x;
    note *const notes = all_notes + pass % 2 * ((offset)gridDim.x * RADIX);
    note *const old_notes = all_notes + (pass % 2 ^ 1) * ((offset)gridDim.x * RADIX);
    clear_counts(tile);
    if (OVERLAP)
        wait_for_launch_before();
    if (threadIdx.x == 0)
        tile.number = atomicInc(turn, gridDim.x - 1); // the counter is 0 again after the last tile
    __syncthreads();
    if (OVERLAP)
        let_next_launch_begin();
    const unsigned number = tile.number;
    const offset begin = (offset)number * TILE;
    const unsigned count = N - begin < TILE ? (unsigned)(N - begin) : TILE;
    word mine[ITEMS];
    Ranks ranks;
    unsigned digit_begin;
    load_keys(mine, route.from_keys + begin, count, route.first);
    if (PAIRS && STAGED)
        // values are prefetched to the L2, because they are needed last and have no registers before
        for (unsigned i = threadIdx.x * 32; i < count; i += BLOCK * 32)
            prefetch_l2(route.from_values + begin + i);
    rank_items(ranks, mine, digit_of, tile);
    __syncthreads();
    // in the last tile, `own` is too large for the greatest digit, but no tile reads its notes
    const unsigned own = place_digits(tile, digit_begin);
    note *const notes_of = notes + (offset)number * RADIX + digit;
    if (digit < RADIX) {
        tell(notes_of, number == 0 ? SUM : COUNT, own);
        if (!route.first)
            old_notes[(offset)number * RADIX + digit] = NOTHING;
    }
    __syncthreads();
    stage_keys(mine, ranks, digit_of, tile, room);
    if (digit < RADIX) {
        const unsigned before = look_back(notes + digit, number);
        if (number > 0)
            tell(notes_of, SUM, before + own);
        tile.place[digit] = starts[pass * RADIX + digit] + before - digit_begin;
    }
    __syncthreads();
    write_staged(ranks, route, begin, digit_of, tile, room, count);
}
#endif
