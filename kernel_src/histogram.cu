// histogram.cu - counts how often each key occurs among N keys of 8 or 32 bits, in five ways.
//
// The element counts[b] is the number of keys that are equal to b, for b below BINS, modulo 2^32. Keys from BINS on are
// not counted. N may be any number of keys, including 0 and more than 2^32. Indexes over all keys have 64 bits. The
// address of the keys needs only the alignment of one key. The array `counts` must be 0 before the launch. A step of
// the spec sets it to 0, and this step is timed with the others. Integer additions give the same counts in any order,
// so every variant is deterministic.
//
// All kernels load keys in the same way: by vectors of 16 bytes, of which each thread has IN_FLIGHT in flight. The loop
// is a grid-stride loop with as many blocks as the device runs at a time. The kernels differ in how they count a key:
// the function each_key takes a policy `Count`. Each kernel improves the kernel before it. The comment of a kernel
// names the change and the counters that should show it.
//
// The tuning parameters are macros. The engine defines these macros from the spec. The defaults below only let an
// editor or a compiler parse this file alone. A kernel is compiled if its own macro HISTOGRAM_<NAME> is set, or if
// HISTOGRAM_ONE is not set.

#include "common.cuh"

#ifndef KEY_BITS
#define KEY_BITS 8 // number of bits of a key: 8 or 32
#endif
#ifndef BINS
#define BINS 256
#endif
#ifndef BLOCK
#define BLOCK 512 // number of threads of a block, a multiple of 32
#endif
#ifndef PER_SM
#define PER_SM 2 // number of blocks that must fit on an SM
#endif
#ifndef IN_FLIGHT
#define IN_FLIGHT 4 // number of vectors of 16 bytes that each thread has in flight
#endif
#ifndef COPIES
#define COPIES 32 // number of histograms that a block has; a power of two, at most 32
#endif
#ifndef LAYOUT
// replicated: 0: a copy per warp. 1: a copy per lane, each copy contiguous. 2: a copy per lane, the copies of a bin are
// neighbours.
#define LAYOUT 2
#endif

#if KEY_BITS != 8 && KEY_BITS != 32
#error "KEY_BITS is 8 or 32"
#endif
#if BINS < 1
#error "BINS is at least 1"
#endif

#define NO_KEY 0xffffffffu // no kernel counts this key, because there are fewer bins than this number
#define KEYS_A_WORD (16u / sizeof(key))

typedef choose<KEY_BITS == 8, unsigned, unsigned char> key;

// Calls count(k) for each key in 32 bits of a vector. If `there` is false, the function passes NO_KEY instead of the
// keys.
template <class Count> __device__ __forceinline__ void each_of_part(unsigned part, bool there, Count &count)
{
    if (sizeof(key) == 4) {
        count(there ? part : NO_KEY);
    } else {
        count(there ? part & 0xff : NO_KEY);
        count(there ? part >> 8 & 0xff : NO_KEY);
        count(there ? part >> 16 & 0xff : NO_KEY);
        count(there ? part >> 24 : NO_KEY);
    }
}

template <class Count> __device__ __forceinline__ void each_of_word(uint4 word, bool there, Count &count)
{
    count.part(word.x, there);
    count.part(word.y, there);
    count.part(word.z, there);
    count.part(word.w, there);
}

// Gives every key to one thread of the grid. The lanes of a warp always call count() together, with NO_KEY if they have
// no key. So they may communicate. The first warp processes the keys before the first whole vector and after the last
// whole vector. These are at most 30 keys.
template <class Count> __device__ __forceinline__ void each_key(const key *keys, offset N, Count &count)
{
    offset head = (0 - (offset)keys) % 16 / sizeof(key);
    head = head < N ? head : N;
    const uint4 *words = (const uint4 *)(keys + head);
    const offset total = (N - head) / KEYS_A_WORD, tail = head + KEYS_A_WORD * total;
    const offset step = grid_threads<BLOCK>();
    const unsigned lane = lane_id();
    if (blockIdx.x == 0 && threadIdx.x < WARP) {
        const offset at = lane < head ? lane : tail + (lane - head);
        count(at < N ? keys[at] : NO_KEY);
    }
    offset i = grid_thread<BLOCK>() - lane; // index of the warp's first lane
    for (; i + (IN_FLIGHT - 1) * step + WARP <= total; i += IN_FLIGHT * step) {
        uint4 word[IN_FLIGHT];
#pragma unroll
        for (unsigned k = 0; k < IN_FLIGHT; ++k)
            word[k] = __ldcs(words + i + k * step + lane); // this hint says that no key is read twice
#pragma unroll
        for (unsigned k = 0; k < IN_FLIGHT; ++k)
            each_of_word(word[k], true, count);
    }
    for (; i < total; i += step) {
        const bool there = i + lane < total;
        each_of_word(there ? __ldcs(words + i + lane) : uint4{}, there, count);
    }
}

#if defined(HISTOGRAM_GLOBAL_ATOMICS) || !defined(HISTOGRAM_ONE)
struct GlobalCount {
    unsigned *counts;
    __device__ __forceinline__ void operator()(unsigned k)
    {
        if (k < BINS)
            atomicAdd(counts + k, 1);
    }
    __device__ __forceinline__ void part(unsigned part, bool there) { each_of_part(part, there, *this); }
};

// The kernel does one atomic addition to global memory per key.
//
// The L2 serialises additions to the same word. With few bins, or many equal keys, the whole device waits for a few
// words.
extern "C" __global__ void __launch_bounds__(BLOCK, PER_SM)
    histogram_global_atomics(const key *__restrict__ keys, unsigned *__restrict__ counts, offset N)
{
    GlobalCount count = {counts};
    each_key(keys, N, count);
}
#endif

// ---- histograms in shared memory ----

extern __shared__ unsigned bins[];

__device__ __forceinline__ void clear_bins(unsigned words)
{
    for (unsigned i = threadIdx.x; i < words; i += BLOCK)
        bins[i] = 0;
    __syncthreads();
}

// Adds the block's histogram to `counts`.
__device__ __forceinline__ void add_bins(unsigned *counts)
{
    __syncthreads();
    for (unsigned b = threadIdx.x; b < BINS; b += BLOCK)
        if (bins[b] != 0)
            atomicAdd(counts + b, bins[b]);
}

#if defined(HISTOGRAM_PRIVATISED) || !defined(HISTOGRAM_ONE)
struct SharedCount {
    __device__ __forceinline__ void operator()(unsigned k)
    {
        if (k < BINS)
            atomicAdd(bins + k, 1);
    }
    __device__ __forceinline__ void part(unsigned part, bool there) { each_of_part(part, there, *this); }
};

// Each block has a private histogram in shared memory. At the end the block adds it to the histogram in global memory.
//
// Only BINS atomics per block access global memory, instead of one per key. An atomic in shared memory takes one cycle
// for each lane whose bin is in the same bank. For evenly distributed keys these are three to four cycles. Lanes with
// the same bin would take one cycle each as well. But an H200 combines such lanes if they add 1, so it counts equal
// keys at the rate at which memory delivers them.
extern "C" __global__ void __launch_bounds__(BLOCK, PER_SM)
    histogram_privatised(const key *__restrict__ keys, unsigned *__restrict__ counts, offset N)
{
    clear_bins(BINS);
    SharedCount count;
    each_key(keys, N, count);
    add_bins(counts);
}
#endif

#if defined(HISTOGRAM_REPLICATED) || defined(HISTOGRAM_AGGREGATED) || !defined(HISTOGRAM_ONE)
// distance between contiguous copies; it is odd, so that the words of a bin are in different banks
#define APART (BINS | 1)

// Returns the address of bin k in copy `copy`. The address is computed in bytes, so that layout 2 needs only a shift
// and one logical operation to get from a key within a word to its address.
__device__ __forceinline__ unsigned *bin_of(unsigned k, unsigned copy)
{
    return (unsigned *)((char *)bins + (LAYOUT == 2 ? k * (4 * COPIES) | 4 * copy : 4 * (copy * APART + k)));
}

__device__ __forceinline__ unsigned own_copy()
{
    return LAYOUT == 0 ? warp_id() % COPIES : threadIdx.x % COPIES;
}

__device__ __forceinline__ void clear_copies()
{
    clear_bins(COPIES * (LAYOUT == 2 ? BINS : APART));
}

// Adds up the copies of the histogram, with one bin per thread. The words that a warp reads are in different banks. If
// copies are contiguous, these words are neighbours. If the copies of a bin are neighbours, threads begin with
// different copies.
__device__ __forceinline__ void add_copies(unsigned *counts)
{
    __syncthreads();
    for (unsigned b = threadIdx.x; b < BINS; b += BLOCK) {
        const unsigned first = LAYOUT == 2 ? b * COPIES / WARP : 0;
        unsigned sum = 0;
#pragma unroll 8
        for (unsigned c = 0; c < COPIES; ++c)
            sum += *bin_of(b, (first + c) % COPIES);
        if (sum != 0)
            atomicAdd(counts + b, sum);
    }
}
#endif

#if defined(HISTOGRAM_REPLICATED) || !defined(HISTOGRAM_ONE)
struct CopyCount {
    unsigned copy;
    __device__ __forceinline__ void operator()(unsigned k)
    {
        if (k < BINS)
            atomicAdd(bin_of(k, copy), 1);
    }
    __device__ __forceinline__ void part(unsigned part, bool there) { each_of_part(part, there, *this); }
};

// Each block has COPIES private histograms.
//
// Compared with privatised, threads that count the same bin at the same time conflict only if they share a copy. Other
// conflicts depend on the layout. With LAYOUT 0, each warp has a copy, and the lanes of a warp still conflict. With
// LAYOUT 1, every COPIES-th lane has the same copy. Lanes with the same bin do not conflict, but different bins still
// share banks. With LAYOUT 2, the copies of a bin are neighbours. If there are 32 copies, each lane has its own bank.
// Then no warp ever waits for its own lanes, whatever the keys are, and memory is the bound for all keys.
extern "C" __global__ void __launch_bounds__(BLOCK, PER_SM)
    histogram_replicated(const key *__restrict__ keys, unsigned *__restrict__ counts, offset N)
{
    clear_copies();
    CopyCount count = {own_copy()};
    each_key(keys, N, count);
    add_copies(counts);
}
#endif

#if defined(HISTOGRAM_AGGREGATED) || !defined(HISTOGRAM_ONE)
struct RunCount {
    unsigned copy, run, length; // the key and the length of the run that has not been added yet
    __device__ __forceinline__ void end()
    {
        if (run < BINS)
            atomicAdd(bin_of(run, copy), length);
    }
    __device__ __forceinline__ void operator()(unsigned k)
    {
        if (k < BINS)
            atomicAdd(bin_of(k, copy), 1);
    }
    __device__ __forceinline__ void part(unsigned part, bool there)
    {
        const unsigned next = KEY_BITS == 8 ? part & 0xff : there ? part : NO_KEY;
        if (KEY_BITS == 8 && (!there || part != next * 0x01010101u)) {
            each_of_part(part, there, *this);
            return;
        }
        if (next != run) {
            end();
            run = next;
            length = 0;
        }
        length += 4 / sizeof(key);
    }
};

// A thread counts the length of a run of equal keys in a register, and adds this length once.
//
// Compared with replicated, there is one addition per run. If all keys are equal, hardly any additions are left. Runs
// consist of groups of equal keys. A group is four keys of 8 bits, or a whole vector of 32-bit keys. A group with
// different keys is counted as before. Therefore, without runs, the extra cost is one comparison for four keys.
extern "C" __global__ void __launch_bounds__(BLOCK, PER_SM)
    histogram_aggregated(const key *__restrict__ keys, unsigned *__restrict__ counts, offset N)
{
    clear_copies();
    RunCount count = {own_copy(), NO_KEY, 0};
    each_key(keys, N, count);
    count.end();
    add_copies(counts);
}
#endif

#if defined(HISTOGRAM_WARP_AGGREGATED) || !defined(HISTOGRAM_ONE)
struct WarpCount {
    __device__ __forceinline__ void operator()(unsigned k)
    {
        const unsigned alike = __match_any_sync(ALL_LANES, k);
        if (k < BINS && lane_id() == (unsigned)__ffs((int)alike) - 1)
            atomicAdd(bins + k, __popc(alike));
    }
    __device__ __forceinline__ void part(unsigned part, bool there) { each_of_part(part, there, *this); }
};

// The lanes of a warp with the same key find each other, and the first of these lanes adds their number.
//
// Compared with privatised, no two lanes of a warp add to the same word. Therefore equal keys take one cycle per warp
// instead of 32, but different bins in a bank still wait for each other. Finding the lanes costs more than it saves: an
// SM of an H200 needs 7 cycles if all lanes are equal, and about 60 if lanes differ.
extern "C" __global__ void __launch_bounds__(BLOCK, PER_SM)
    histogram_warp_aggregated(const key *__restrict__ keys, unsigned *__restrict__ counts, offset N)
{
    clear_bins(BINS);
    WarpCount count;
    each_key(keys, N, count);
    add_bins(counts);
}
#endif
