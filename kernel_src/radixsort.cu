// radixsort.cu - sorts N keys, alone or with a value of 32 bits each, by their digits. The least significant digit
// comes first (LSD), so each pass is a stable sort by one digit.
//
// Keys are u32, i32, f32 (KEY 0, 1, 2) or u64, i64, f64 (3, 4, 5). `ordered` maps the bits of a key to an unsigned
// number in the key's order. Floats are in the total order of IEEE 754: NaN with the sign bit set, -infinity, ..., -0,
// 0, ..., infinity, NaN. Only bits `begin` to `end` - 1 of the ordered number are compared. The sort is stable: keys
// whose bits are equal there keep their order, and so do their values. N is below 2^32, 0 and 1 included. The answer is
// the same in every run.
//
// A pass knows three numbers for each item: how many items of the input have a smaller digit, how many of the same
// digit lie in the tiles before, and how many in the tile before the item. Their sum is the item's place. lsd_split and
// lsd_three_kernel have three kernels: the first counts the digits of each tile, the second scans these counts, and the
// third moves the items. A pass reads all keys twice. onesweep (Adinets and Merrill, 2022) counts the digits of all
// passes in one read before the first pass, because a sort does not change them. It finds the second number by a
// decoupled look-back (Merrill and Garland, 2016) while it moves items, so that a pass reads keys once.
//
// The bound is memory. onesweep reads each key once for the counts, and reads and writes each item once a pass. With
// digits of 8 bits this is (1 + 2 x 4) x 4 = 36 bytes for a u32 key, and 68 bytes for a pair.
//
// On an H200 two other things limit a pass. A multiprocessor runs integer instructions for 64 lanes a clock, and lanes
// of different digits often meet in the same bank of shared memory. Ballots (RANK 0) need four instructions for each
// bit and no memory. They were the fastest on random keys, at 0.51 of the bound. match.any (RANK 1) takes a turn for
// each different digit of the warp, and was the fastest on few different keys. Atomics (RANK 2) lie between the two.
//
// Items lie in a tile warp by warp. The items of a warp are striped over its lanes: item i of lane l is number 32 i +
// l. So loads are coalesced, and items are ordered by (warp, i, lane).
//
// The tuning parameters are macros. A spec sets them. The defaults are for an editor. A kernel is compiled if its own
// macro RADIXSORT_<NAME> is set, or if RADIXSORT_ONE is not set.

#include "async.cuh"

#ifndef KEY
#define KEY 0 // u32, i32, f32, u64, i64, f64
#endif
#ifndef PAIRS
#define PAIRS 0 // 1: each key has a value
#endif
#ifndef DIGIT_BITS
#define DIGIT_BITS 8 // 1 to 8
#endif
#ifndef BLOCK
#define BLOCK 256 // threads, a multiple of 32 and at least 2^DIGIT_BITS
#endif
#ifndef ITEMS
#define ITEMS 16 // items per thread
#endif
#ifndef RESIDENT
#define RESIDENT BLOCK // threads whose registers must fit on a multiprocessor, a multiple of BLOCK
#endif
#ifndef RANK
// how lanes find the lanes with the same digit: 0: a ballot for each bit, 1: match.any, 2: atomics in shared memory
#define RANK 0
#endif
#ifndef STAGED
#define STAGED 1 // 1: items are put in order in shared memory before they are written
#endif
#ifndef AHEAD
#define AHEAD 4 // onesweep: tiles that a look-back reads at once
#endif
#ifndef PASSES
#define PASSES 4 // onesweep: passes whose digits are counted
#endif
#ifndef COPIES
#define COPIES 32 // radixsort_count_all: copies of each counter, for different lanes
#endif
#ifndef OVERLAP
#define OVERLAP 0 // onesweep: 1: a launch may begin before the previous one has ended
#endif
#ifndef COUNT_BLOCK
#define COUNT_BLOCK 1024 // radixsort_count_all: threads
#endif

enum : unsigned {
    RADIX = 1u << DIGIT_BITS,
    WARPS = BLOCK / WARP,
    TILE = BLOCK * ITEMS,
    VECTOR = KEY < 3 ? 4 : 2 // keys in 16 bytes
};

typedef choose<KEY / 3, unsigned, unsigned long long> word; // the bits of a key

static_assert(BLOCK >= RADIX, "a thread counts one digit");
static_assert(TILE <= 65536, "a rank has 16 bits");

// ordered() converts the bits of a key to a number in the key's order. raw() converts such a number back.
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

// The digit of a pass. The last digit may have fewer bits than the other digits.
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
    // Returns the digit times 2^log, by two instructions: the place of the digit's entry in an array, in bytes.
    template <unsigned log> __device__ __forceinline__ unsigned scaled(word number) const
    {
        if (sizeof(word) == 8)
            return ((unsigned)(number >> shift) & mask) << log;
        const unsigned bits = (unsigned)number;
        return __funnelshift_r(bits, bits, shift - log) & mask << log; // rotates by shift - log mod 32
    }
};

// Returns the entry of an array that lies `bytes` bytes after its first.
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

// Returns the lanes whose bit `bit` of `digit` equals this lane's bit: four instructions. The compiler makes more of
// them from the same code in C.
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

// Returns the lanes of the warp that have the same digit as this one. `digit` is scaled by 4. `masks` (only for RANK 2)
// has a word for each digit, which must be 0. The function stores the returned lanes in the word of the digit, and the
// caller sets the words to 0 again.
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

// The ranks of a thread's items, two in a register.
struct Ranks {
    unsigned pairs[ceil_div(ITEMS, 2)];

    __device__ __forceinline__ unsigned get(unsigned i) const
    {
        return i % 2 ? pairs[i / 2] >> 16 : pairs[i / 2] & 0xffff;
    }
    __device__ __forceinline__ void set(unsigned i, unsigned rank) // in order: the first of a pair, then the second
    {
        pairs[i / 2] = i % 2 ? pairs[i / 2] | rank << 16 : rank;
    }
    __device__ __forceinline__ void add(unsigned i, unsigned more)
    {
        pairs[i / 2] += i % 2 ? more << 16 : more;
    }
};

// The shared memory of a block, without its items.
struct Tile {
    // counts of each warp's items; later the places in the tile where a warp's items of a digit begin
    unsigned counts[WARPS][RADIX];
    unsigned masks[RANK == 2 ? WARPS : 1][RANK == 2 ? RADIX : 1];
    unsigned place[RADIX]; // place of an item of the digit in the result, minus its number in the tile
    unsigned warps[WARPS], number;
};

// Where a pass reads and writes. Passes alternate between scratch memory and the sorted items, so that the last one
// writes the sorted items. The first pass reads the keys and converts them to ordered numbers. The passes between the
// first and the last pass see these numbers in place of keys.
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

// Reads the items of a tile. Places behind the last item get the greatest number, and so come last in the tile.
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

// Computes the rank of each item among the items of its warp with the same digit, and stores the warp's counts in
// `tile`. The counters of the block must be 0.
__device__ __forceinline__ void rank_items(Ranks &ranks, const word (&keys)[ITEMS], Digit digit_of, Tile &tile)
{
    unsigned *const counts = tile.counts[warp_id()], *const masks = tile.masks[RANK == 2 ? warp_id() : 0];
    const unsigned below = lanes_below(), above = lanes_above();
#pragma unroll
    for (unsigned i = 0; i < ITEMS; ++i) {
        const unsigned digit = digit_of.scaled<2>(keys[i]);
        const unsigned lanes = same_digit(digit, masks), rank = entry(counts, digit) + __popc(lanes & below);
        ranks.set(i, rank);
        __syncwarp(); // all lanes have read
        if ((lanes & above) == 0) { // the last lane of the digit
            entry(counts, digit) = rank + 1;
            if (RANK == 2)
                entry(masks, digit) = 0;
        }
        __syncwarp();
    }
}

// Turns the counts of warps into places in the tile, ordered by digit and then by warp. Returns how many items of the
// tile have this thread's digit (the digit equal to the thread's number), and sets `begin` to the place of the first of
// them. All threads call. Two barriers must follow before `tile` is read.
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

// Writes each item directly from its register. tile.place has the places of the items of each digit.
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

// Writes the keys that are in order in shared memory: neighbours go to neighbouring places. `places` gets these places,
// for the values.
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

// Writes the keys as write_staged_keys() does. Then writes the values, which pass through the same places in shared
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
    __syncthreads(); // all keys have been written
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

// Turns ranks into places in the tile, and writes the keys to these places in shared memory.
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
// The first of three kernels of a pass counts the items of each digit in each tile. `table` has a row for each digit,
// and a column for each tile.
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

// The second kernel is an exclusive scan of the table, by one block.
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

// The third kernel moves each item to its place.
//
// lsd_split takes one bit a pass. Each lane writes its items directly (STAGED 0), and the items of a warp go to two
// runs. lsd_three_kernel takes digits of several bits, and the items of a warp go to up to 32 places. If they were
// written directly, each place would cost a sector. So the block first puts its items in order in shared memory, and
// then writes runs of the same digit.
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
        // prefetched, because values are needed last and have no registers before
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
// A note of a tile and a digit, which later tiles read. It has the number of items of the tile (COUNT), the number of
// items of all tiles up to this one (SUM), or nothing yet. Kind and number are one word, so that no fence is needed.
#if defined(WIDE) && WIDE
typedef unsigned long long note; // N >= 2^30
#else
typedef unsigned note;
#endif
enum : note { NOTHING = 0, COUNT = 1, SUM = 2 };

__device__ __forceinline__ constexpr unsigned log2_of(unsigned number)
{
    return number <= 1 ? 0 : 1 + log2_of(number / 2);
}

// Counts the digits of all passes in one read. The block that finishes last turns each pass's counts into the places
// where digits begin, and resets the counters to 0 for the next launch.
//
// The lanes of a warp wait for each other if they have the same digit, or digits in the same bank. Each digit has
// COPIES counters, and 32 / COPIES lanes share one of them. With 32 copies no two lanes meet in a bank.
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
        __threadfence(); // the counts must be visible before the block counts as finished
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

// Returns the number of items of a digit in all tiles before `tile`. One thread reads AHEAD tiles at once, because one
// read takes as long as AHEAD reads.
__device__ __forceinline__ unsigned look_back(const note *notes, unsigned tile)
{
    unsigned sum = 0;
    for (unsigned next = tile; next > 0;) { // tile `next` - 1 is the next one
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

// A pass in one launch. A block takes tiles in the order in which blocks begin, so that the tiles before its own have
// begun too. It publishes its counts, puts its keys in order in shared memory, and then looks back. Notes must be
// NOTHING before a pass. There are two sets of notes. Each pass clears the set of the pass before, which no block reads
// any more. radixsort_count_all clears the set of the last pass.
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
        tile.number = atomicInc(turn, gridDim.x - 1); // 0 again after the last one
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
        // prefetched, because values are needed last and have no registers before
        for (unsigned i = threadIdx.x * 32; i < count; i += BLOCK * 32)
            prefetch_l2(route.from_values + begin + i);
    rank_items(ranks, mine, digit_of, tile);
    __syncthreads();
    const unsigned own = place_digits(tile, digit_begin); // the last tile counts too many items, but no tile follows it
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
