// histogram.cu - how often each key occurs among N keys of 8 or 32 bits, five ways.
//
// counts[b] is the number of keys that are b, for b below BINS, modulo 2^32; keys from BINS on are not counted. N is
// any number of keys, 0 included, and may pass 2^32: indexes are 64 bits wide where all keys are meant. Nothing is
// asked of the address of keys but that it is one of keys. counts must be 0 beforehand (a step of the spec, timed with
// the rest). Additions of integers give the same counts in whatever order they are made: every variant is
// deterministic.
//
// All kernels load alike: vectors of 16 bytes, IN_FLIGHT of them in flight per thread, in a grid-stride loop of as many
// blocks as the device holds. What differs is where a key is counted: the policy Count that each_key is given. Each
// kernel is a step from the one before; its comment says what changed and which counters should show it.
//
// The tuning parameters are macros. A spec sets them; the defaults are for an editor or a compiler that is given none.
// A kernel is compiled where its own macro HISTOGRAM_<NAME> is set, or where HISTOGRAM_ONE is not.

#include "common.cuh"

#ifndef KEY_BITS
#define KEY_BITS 8 // 8 or 32
#endif
#ifndef BINS
#define BINS 256
#endif
#ifndef BLOCK
#define BLOCK 512 // threads of a block, whole warps
#endif
#ifndef PER_SM
#define PER_SM 2 // blocks that an SM must have room for
#endif
#ifndef IN_FLIGHT
#define IN_FLIGHT 4 // words in flight per thread
#endif
#ifndef COPIES
#define COPIES 32 // histograms of a block; a power of two, at most 32
#endif
#ifndef LAYOUT
#define LAYOUT 2 // replicated: 0: a copy for warps, 1: for lanes, each copy in one piece; 2: for lanes, bin by bin
#endif

#if KEY_BITS != 8 && KEY_BITS != 32
#error "KEY_BITS is 8 or 32"
#endif
#if BINS < 1
#error "BINS is at least 1"
#endif

#define NO_KEY 0xffffffffu // is never counted: there are fewer bins than that
#define KEYS_A_WORD (16u / sizeof(key))

typedef choose<KEY_BITS == 8, unsigned, unsigned char> key;

// Calls count(k) for the keys in 32 bits of a word; NO_KEY in their place where the word is not there.
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

// Gives every key to one thread of the grid. The lanes of a warp always call together, with NO_KEY where they have
// none, so that they may ask one another. Keys before the first whole word and after the last one are the first warp's:
// there are at most 30.
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
    offset i = grid_thread<BLOCK>() - lane; // the first lane's
    for (; i + (IN_FLIGHT - 1) * step + WARP <= total; i += IN_FLIGHT * step) {
        uint4 word[IN_FLIGHT];
#pragma unroll
        for (unsigned k = 0; k < IN_FLIGHT; ++k)
            word[k] = __ldcs(words + i + k * step + lane); // no key is read twice
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

// An atomic addition in global memory for each key.
//
// The L2 makes them one by one where they meet in a word: with few bins, or many keys alike, all of the device waits
// for a handful of words.
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

// One histogram to counts.
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

// One private histogram per block, in shared memory; at the end it is added to the one in global memory.
//
// BINS atomics a block in global memory are left of N. Those in shared memory take a turn for each lane whose bin lies
// in the same bank: three to four for keys that are spread evenly. Lanes that meet in one bin would take a turn each as
// well; an H200 makes one of those that add 1, so that it counts equal keys at the rate at which memory delivers them.
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
#define APART (BINS | 1) // from one copy in one piece to the next: odd, so that a bin's words lie in different banks

// Where copy `copy` has bin k. In bytes, so that in layout 2 a shift and one logical operation make an address of a key
// within a word.
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

// The copies added up, a thread a bin. A warp's words lie in different banks: they are neighbours where each copy is in
// one piece, and where the copies of a bin are neighbours, threads begin with different ones.
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

// COPIES private histograms per block.
//
// Against privatised: threads that count the same bin at the same time meet in it only where they share a copy. The
// layout decides the rest. LAYOUT 0, a copy for warps: a warp's own lanes still meet. LAYOUT 1, a copy for each
// COPIES-th lane: they do so no more, but different bins still share banks. LAYOUT 2, the copies of a bin side by side:
// with 32 copies each lane has a bank to itself, so that no warp ever waits for its own lanes, whatever the keys, and
// memory sets the pace for all of them.
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
    unsigned copy, run, length; // the key and the length of the run that is not counted yet
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

// A thread counts a run of equal keys in a register and adds its length once.
//
// Against replicated: one addition a run. Where all keys are one, hardly any is left. Keys of 8 bits belong to a run by
// fours, those of 32 bits of a word that are all alike; fours that are not are counted as before, so that a comparison
// for four keys is all that runs cost where there are none.
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

// Lanes that hold the same key find each other, and the first of them adds their number.
//
// Against privatised: no two lanes of a warp add to the same word, so keys that are all one take a turn a warp in place
// of 32; different bins in a bank still wait for each other. Matching costs more than it saves: an SM of an H200
// needs 7 cycles for lanes that are all alike and some 60 for lanes that differ.
extern "C" __global__ void __launch_bounds__(BLOCK, PER_SM)
    histogram_warp_aggregated(const key *__restrict__ keys, unsigned *__restrict__ counts, offset N)
{
    clear_bins(BINS);
    WarpCount count;
    each_key(keys, N, count);
    add_bins(counts);
}
#endif
