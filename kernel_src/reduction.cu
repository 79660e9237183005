// reduction.cu - the sum, the maximum, or the index of the maximum of N numbers, floats or integers, eleven ways.
//
// Each kernel improves the kernel before it. Its comment names the change and the counters that should show it. N may
// be any number of elements, also 0 or more than 2^32. Indexes have 64 bits for a whole array and 32 bits within a
// block's share. The address of x needs only the alignment of one element.
//
// The answer:
//     sum     Floats: the order of additions depends on the kernel and its tuning parameters. In all kernels except
//             one_pass_atomics it does not depend on time, so the same launch gives the same bits. Sums start from 0.
//             Infinities and NaN follow IEEE 754. A partial sum above the largest finite number is an infinity, so if
//             elements of both signs are that large, the answer depends on the order. Denormals are kept, except where
//             one_pass_atomics adds its blocks' sums: an atomic addition of floats treats them as 0. Integers: the sum
//             modulo 2^32, in any order. No elements: 0.
//     max     Floats: maximum() of IEEE 754-2019: NaN if there is one (always 0x7fffffff), and 0 is above -0.
//             No elements: -infinity, or the least integer.
//     argmax  The index of the first element with this value. No elements: -1.
//
// The tuning parameters are macros. A spec sets them. The defaults are for an editor, or for a compiler without
// definitions. A kernel is compiled if its own macro REDUCTION_<NAME> is set, or if REDUCTION_ONE is not set.

#include "common.cuh"

#ifndef OP
#define OP 0 // 0: sum, 1: max, 2: argmax
#endif
#ifndef INTEGERS
#define INTEGERS 0 // 0: floats, 1: integers of 32 bits
#endif
#ifndef BLOCK
#define BLOCK 256 // threads of a block; a power of two, at least two warps
#endif
#ifndef ELEMENTS
#define ELEMENTS 8 // items per thread before the tree
#endif
#ifndef IN_FLIGHT
#define IN_FLIGHT 4 // loads in flight per thread
#endif
#ifndef STREAMING
#define STREAMING 0 // vectorised: 1: loads have the hint "used once" (ld.cs)
#endif
#ifndef CHUNKS
#define CHUNKS 0 // vectorised: 0: a grid-stride loop, 1: each block has a contiguous chunk of x
#endif

enum : unsigned {
    JOIN_BLOCK = 256,   // threads of reduction_join and reduction_finish
    JOIN_SECTION = 4096 // partial results that a block of reduction_join combines to one
};
enum : long long { NOWHERE = 0x7fffffffffffffffll }; // the index of no element

typedef choose<INTEGERS, float, int> element;
typedef vec<element, 4> quad;

// ---- keys: the integers whose maximum is computed ----

// Integers in the order of the elements that they represent. Comparing them takes one instruction. Comparing floats, of
// which NaN is the greatest, takes three. And there is an atomic maximum of integers.
template <class T> struct Key;
template <> struct Key<int> {
    enum : int { LEAST = (int)0x80000000 };
    static __device__ __forceinline__ int of(int e)
    {
        return e;
    }
    static __device__ __forceinline__ int element(int key)
    {
        return key;
    }
    static __device__ __forceinline__ void atomic_max(int *y, int key)
    {
        atomicMax(y, key);
    }
};
// The bits of a float as an integer. If it is negative, all bits except the sign are inverted.
template <> struct Key<float> {
    enum : int { LEAST = (int)0x807fffff }; // -infinity's
    static __device__ __forceinline__ int of(float e)
    {
        int bits = e != e ? 0x7fffffff : __float_as_int(e);
        return bits ^ (bits >> 31 & 0x7fffffff);
    }
    static __device__ __forceinline__ float element(int key)
    {
        return __int_as_float(key ^ (key >> 31 & 0x7fffffff));
    }
    // The bits of floats that are not negative, as integers, have the order of the floats. For negative floats the
    // order is reversed.
    static __device__ __forceinline__ void atomic_max(float *y, int key)
    {
        if (key >= 0)
            atomicMax((int *)y, __float_as_int(element(key)));
        else
            atomicMin((unsigned *)y, __float_as_uint(element(key)));
    }
};

// ---- operators ----
// An operator is a policy: a type whose functions the kernels below call, so each kernel is written once for all
// operators. OP chooses the operator.
//     item       the type of the values that are reduced
//     identity   the item of no elements: combining it with another item changes nothing
//     combine    the item of two runs of elements
//     make       the item of one element and its index
//     put        writes the answer of an item
//     counts     returns false for an item that need not be combined with the answer
//     atomic     combines an item with the answer, atomically; begin sets the answer before that, end completes it

struct Sum : Plus<choose<INTEGERS, float, unsigned>> { // unsigned numbers wrap around
    static __device__ __forceinline__ item make(element e, offset)
    {
        return e;
    }
    static __device__ __forceinline__ void put(item result, element *y, long long *)
    {
        *y = result;
    }
    static __device__ __forceinline__ bool counts(item)
    {
        return true;
    }
    static __device__ __forceinline__ void atomic(item mine, element *y, long long *)
    {
        atomicAdd((item *)y, mine);
    }
    static __device__ __forceinline__ void begin(element *y, long long *at)
    {
        put(identity(), y, at);
    }
    static __device__ __forceinline__ void end(element *, long long *)
    {
    }
};

struct Max {
    typedef int item; // a key
    static __device__ __forceinline__ item identity()
    {
        return Key<element>::LEAST;
    }
    static __device__ __forceinline__ item combine(item a, item b)
    {
        return b > a ? b : a;
    }
    static __device__ __forceinline__ item make(element e, offset)
    {
        return Key<element>::of(e);
    }
    static __device__ __forceinline__ void put(item result, element *y, long long *)
    {
        *y = Key<element>::element(result);
    }
    static __device__ __forceinline__ bool counts(item)
    {
        return true;
    }
    static __device__ __forceinline__ void atomic(item mine, element *y, long long *)
    {
        Key<element>::atomic_max(y, mine);
    }
    static __device__ __forceinline__ void begin(element *y, long long *at)
    {
        put(identity(), y, at);
    }
    static __device__ __forceinline__ void end(element *, long long *)
    {
    }
};

struct KeyAt { // cub::KeyValuePair
    int key;
    long long at;
};

__device__ __forceinline__ KeyAt shuffle_down(KeyAt mine, unsigned distance)
{
    return {shuffle_down(mine.key, distance), shuffle_down(mine.at, distance)};
}

struct ArgMax {
    typedef KeyAt item;
    static __device__ __forceinline__ item identity()
    {
        item none; // {LEAST, NOWHERE} would be read from global memory
        none.key = Key<element>::LEAST;
        none.at = NOWHERE;
        return none;
    }
    static __device__ __forceinline__ item combine(item a, item b)
    {
        return b.key > a.key || (b.key == a.key && b.at < a.at) ? b : a;
    }
    static __device__ __forceinline__ item make(element e, offset at)
    {
        return {Key<element>::of(e), (long long)at};
    }
    static __device__ __forceinline__ void put(item result, element *y, long long *at)
    {
        *y = Key<element>::element(result.key);
        *at = result.at == NOWHERE ? -1 : result.at;
    }
    static __device__ __forceinline__ bool counts(item mine)
    {
        return mine.at != NOWHERE;
    }
    // The word has the key and the index in 64 bits. The smaller index is the greater, for fewer than 2^32 elements.
    static __device__ __forceinline__ void atomic(item mine, element *, long long *at)
    {
        atomicMax((offset *)at, (offset)((unsigned)mine.key ^ 0x80000000u) << 32 | (0xffffffffu - (unsigned)mine.at));
    }
    static __device__ __forceinline__ void begin(element *, long long *at)
    {
        *at = 0; // less than any word of key and index
    }
    static __device__ __forceinline__ void end(element *y, long long *at)
    {
        offset word = *at;
        item found = {(int)((unsigned)(word >> 32) ^ 0x80000000u), 0xffffffffu - (unsigned)word};
        put(word ? found : identity(), y, at);
    }
};

typedef choose<OP, Sum, Max, ArgMax> Op;
typedef Op::item item;

// ---- the common part of the kernels ----

// Returns the item of element i, or the identity after the end.
__device__ __forceinline__ item load_item(const element *x, offset i, offset N)
{
    return i < N ? Op::make(x[i], i) : Op::identity();
}

// A block's reduction: combines the items of all threads by shuffles, first in each warp, then in the first warp.
// Thread 0 gets the result. Two calls use the same array and need a barrier between them.
template <unsigned threads> __device__ __forceinline__ item block_reduce(item mine)
{
    __shared__ item warps[threads / WARP];
    mine = warp_reduce<Op>(mine);
    if (threads == WARP)
        return mine;
    if (lane_id() == 0)
        warps[warp_id()] = mine;
    __syncthreads();
    if (threadIdx.x >= WARP)
        return mine;
    return warp_reduce<Op>(threadIdx.x < threads / WARP ? warps[threadIdx.x] : Op::identity());
}

// Returns a thread's item of the block's tile of ELEMENTS * BLOCK elements. A thread has ELEMENTS items, BLOCK apart (a
// striped arrangement), so that each load of a warp is coalesced.
__device__ __forceinline__ item reduce_tile(const element *x, offset N)
{
    offset first = tile_begin(ELEMENTS * BLOCK);
    item mine = Op::identity();
    if (first + ELEMENTS * BLOCK <= N) {
        element e[ELEMENTS];
#pragma unroll
        for (unsigned i = 0; i < ELEMENTS; ++i) // all loads are in flight before the first is used
            e[i] = x[first + i * BLOCK + threadIdx.x];
#pragma unroll
        for (unsigned i = 0; i < ELEMENTS; ++i)
            mine = Op::combine(mine, Op::make(e[i], first + i * BLOCK + threadIdx.x));
    } else {
        for (unsigned i = 0; i < ELEMENTS; ++i)
            mine = Op::combine(mine, load_item(x, first + i * BLOCK + threadIdx.x, N));
    }
    return mine;
}

// The tree in shared memory, with strides from half the items downwards. Active threads are neighbours, and so are the
// words that they access. The stride decreases down to `end`.
__device__ __forceinline__ void reduce_tree(item *s, unsigned end)
{
#pragma unroll 1
    for (unsigned stride = BLOCK / 2; stride >= end; stride /= 2) {
        if (threadIdx.x < stride)
            s[threadIdx.x] = Op::combine(s[threadIdx.x], s[threadIdx.x + stride]);
        __syncthreads();
    }
}

#if defined(REDUCTION_NEIGHBOURED_DIVERGENT) || !defined(REDUCTION_ONE)
// Each thread has one item in shared memory, and the block combines the items by a tree: in step k every 2^k-th thread
// combines its item with the item 2^(k-1) places further on.
//
// Active threads are spread over all warps, so every warp takes part in every step with fewer and fewer lanes: the mean
// number of active lanes falls towards 1. In the first five steps every warp has a divergent branch, after that every
// second, fourth, ... warp.
extern "C" __global__ void reduction_neighboured_divergent(const element *__restrict__ x, item *__restrict__ partials,
                                                           offset N)
{
    __shared__ item s[BLOCK];
    s[threadIdx.x] = load_item(x, grid_thread<BLOCK>(), N);
#pragma unroll 1
    for (unsigned stride = 1; stride < BLOCK; stride *= 2) {
        __syncthreads();
        if (threadIdx.x % (2 * stride) == 0)
            s[threadIdx.x] = Op::combine(s[threadIdx.x], s[threadIdx.x + stride]);
    }
    if (threadIdx.x == 0)
        partials[blockIdx.x] = s[0];
}
#endif

#if defined(REDUCTION_NEIGHBOURED) || !defined(REDUCTION_ONE)
// Computes the same tree over the same items as the kernel above, but the n-th thread combines the n-th pair.
//
// The first threads are the active ones, so whole warps are idle, and divergent branches remain only in the last five
// steps. But neighbouring lanes access words of shared memory at a distance of 2 strides, which causes bank conflicts
// of 2, 4, ... 32 ways.
extern "C" __global__ void reduction_neighboured(const element *__restrict__ x, item *__restrict__ partials, offset N)
{
    __shared__ item s[BLOCK];
    s[threadIdx.x] = load_item(x, grid_thread<BLOCK>(), N);
#pragma unroll 1
    for (unsigned stride = 1; stride < BLOCK; stride *= 2) {
        unsigned i = 2 * stride * threadIdx.x;
        __syncthreads();
        if (i < BLOCK)
            s[i] = Op::combine(s[i], s[i + stride]);
    }
    if (threadIdx.x == 0)
        partials[blockIdx.x] = s[0];
}
#endif

#if defined(REDUCTION_INTERLEAVED) || !defined(REDUCTION_ONE)
// Each step combines the first half of the items with the second, from stride BLOCK / 2 on.
//
// Active threads are neighbours, and so are their words: no bank conflicts. Half of the threads only load one element.
extern "C" __global__ void reduction_interleaved(const element *__restrict__ x, item *__restrict__ partials, offset N)
{
    __shared__ item s[BLOCK];
    s[threadIdx.x] = load_item(x, grid_thread<BLOCK>(), N);
    __syncthreads();
    reduce_tree(s, 1);
    if (threadIdx.x == 0)
        partials[blockIdx.x] = s[0];
}
#endif

#if defined(REDUCTION_CASCADING) || !defined(REDUCTION_ONE)
// Each thread combines ELEMENTS items before the tree.
//
// Unlike in reduction_interleaved, each thread has ELEMENTS loads in flight, and a tree, with its block and its
// barriers, combines ELEMENTS times as many elements. Instructions per element fall from dozens to a few. From here on
// memory bandwidth is the limit.
extern "C" __global__ void reduction_cascading(const element *__restrict__ x, item *__restrict__ partials, offset N)
{
    __shared__ item s[BLOCK];
    s[threadIdx.x] = reduce_tile(x, N);
    __syncthreads();
    reduce_tree(s, 1);
    if (threadIdx.x == 0)
        partials[blockIdx.x] = s[0];
}
#endif

#if defined(REDUCTION_UNROLL_LAST_WARP) || !defined(REDUCTION_ONE)
// One warp combines the last 64 items, without a barrier of the block.
//
// Compared with cascading: six fewer barriers and six fewer loop iterations, in which the other warps were idle. The
// lanes of a warp need not run in step, so a warp barrier separates reads from writes.
extern "C" __global__ void reduction_unroll_last_warp(const element *__restrict__ x, item *__restrict__ partials,
                                                      offset N)
{
    __shared__ item s[BLOCK];
    s[threadIdx.x] = reduce_tile(x, N);
    __syncthreads();
    reduce_tree(s, 2 * WARP);
    if (threadIdx.x >= WARP)
        return;
    item mine = s[threadIdx.x];
#pragma unroll
    for (unsigned stride = WARP; stride > 0; stride /= 2) {
        if (threadIdx.x < stride)
            mine = Op::combine(mine, s[threadIdx.x + stride]);
        __syncwarp();
        if (threadIdx.x < stride)
            s[threadIdx.x] = mine;
        __syncwarp();
    }
    if (threadIdx.x == 0)
        partials[blockIdx.x] = mine;
}
#endif

#if defined(REDUCTION_UNROLLED_COMPLETE) || !defined(REDUCTION_ONE)
// The number of threads is known at compile time, so the whole tree is unrolled.
//
// Compared with unroll_last_warp: no loop counter and no backward branch, so a few fewer instructions per step.
extern "C" __global__ void reduction_unrolled_complete(const element *__restrict__ x, item *__restrict__ partials,
                                                       offset N)
{
    __shared__ item s[BLOCK];
    item mine = reduce_tile(x, N);
    s[threadIdx.x] = mine;
    __syncthreads();
#pragma unroll
    for (unsigned stride = BLOCK / 2; stride >= 2 * WARP; stride /= 2) {
        if (threadIdx.x < stride)
            s[threadIdx.x] = mine = Op::combine(mine, s[threadIdx.x + stride]);
        __syncthreads();
    }
    if (threadIdx.x >= WARP)
        return;
#pragma unroll
    for (unsigned stride = WARP; stride > 0; stride /= 2) {
        if (threadIdx.x < stride)
            mine = Op::combine(mine, s[threadIdx.x + stride]);
        __syncwarp();
        if (threadIdx.x < stride)
            s[threadIdx.x] = mine;
        __syncwarp();
    }
    if (threadIdx.x == 0)
        partials[blockIdx.x] = mine;
}
#endif

#if defined(REDUCTION_SHUFFLE) || !defined(REDUCTION_ONE)
// Warps reduce by shuffles, from register to register; shared memory holds one item per warp.
//
// Compared with unrolled_complete: one barrier per block, and BLOCK / 32 items written to shared memory instead of 2
// BLOCK - 1.
extern "C" __global__ void reduction_shuffle(const element *__restrict__ x, item *__restrict__ partials, offset N)
{
    item mine = block_reduce<BLOCK>(reduce_tile(x, N));
    if (threadIdx.x == 0)
        partials[blockIdx.x] = mine;
}
#endif

#if defined(REDUCTION_BUSY_THREADS) || !defined(REDUCTION_ONE)
// Blocks loop over tiles, and a thread that the tree no longer needs loads its elements of the next tile.
//
// Compared with cascading: half of the threads have their next loads in flight during the first step of the tree, a
// quarter more during the second, and so on. So loads overlap with the tree even if few blocks fit on an SM.
extern "C" __global__ void reduction_busy_threads(const element *__restrict__ x, item *__restrict__ partials, offset N)
{
    __shared__ item s[BLOCK];
    const offset step = grid_threads<ELEMENTS * BLOCK>();
    offset first = tile_begin(ELEMENTS * BLOCK) + threadIdx.x;
    item total = Op::identity(); // used by thread 0
    element e[ELEMENTS];
    auto load_next = [&] { // elements after the end are left out below
#pragma unroll
        for (unsigned i = 0; i < ELEMENTS; ++i)
            e[i] = first + i * BLOCK < N ? x[first + i * BLOCK] : 0;
    };
    load_next();
    for (offset begin = tile_begin(ELEMENTS * BLOCK); begin < N; begin += step) {
        item mine = Op::identity();
#pragma unroll
        for (unsigned i = 0; i < ELEMENTS; ++i)
            if (first + i * BLOCK < N)
                mine = Op::combine(mine, Op::make(e[i], first + i * BLOCK));
        first += step;
        s[threadIdx.x] = mine;
        __syncthreads();
#pragma unroll
        for (unsigned stride = BLOCK / 2; stride > 0; stride /= 2) {
            if (threadIdx.x < stride)
                s[threadIdx.x] = mine = Op::combine(mine, s[threadIdx.x + stride]);
            else if (threadIdx.x < 2 * stride)
                load_next();
            __syncthreads();
        }
        if (threadIdx.x == 0) {
            total = Op::combine(total, mine);
            load_next();
        }
    }
    if (threadIdx.x == 0)
        partials[blockIdx.x] = total;
}
#endif

#if defined(REDUCTION_JOIN) || !defined(REDUCTION_ONE)
// Reduces the number of partial results: each block combines JOIN_SECTION of them to one, in a fixed order.
extern "C" __global__ void reduction_join(const item *__restrict__ partials, item *__restrict__ fewer, offset count)
{
    item mine = Op::identity();
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < JOIN_SECTION; i += JOIN_BLOCK) {
        offset at = tile_begin(JOIN_SECTION) + i;
        mine = Op::combine(mine, at < count ? partials[at] : Op::identity());
    }
    mine = block_reduce<JOIN_BLOCK>(mine);
    if (threadIdx.x == 0)
        fewer[blockIdx.x] = mine;
}

// Computes the answer: one block combines the remaining partial results.
extern "C" __global__ void reduction_finish(const item *__restrict__ partials, element *__restrict__ y,
                                            long long *__restrict__ at, offset count)
{
    item mine = Op::identity();
    for (offset i = threadIdx.x; i < count; i += JOIN_BLOCK)
        mine = Op::combine(mine, partials[i]);
    mine = block_reduce<JOIN_BLOCK>(mine);
    if (threadIdx.x == 0)
        Op::put(mine, y, at);
}
#endif

#if defined(REDUCTION_ONE_PASS_ATOMICS) || defined(REDUCTION_ONE_PASS) || !defined(REDUCTION_ONE)
// Returns a thread's item of the whole array: a grid-stride loop of PER_SM blocks per SM, with IN_FLIGHT loads in
// flight per thread.
__device__ __forceinline__ item reduce_grid_stride(const element *x, offset N)
{
    const offset step = grid_threads<BLOCK>();
    offset at = grid_thread<BLOCK>();
    item mine = Op::identity();
    for (; at + (IN_FLIGHT - 1) * step < N; at += IN_FLIGHT * step) {
        element e[IN_FLIGHT];
#pragma unroll
        for (unsigned i = 0; i < IN_FLIGHT; ++i)
            e[i] = x[at + i * step];
#pragma unroll
        for (unsigned i = 0; i < IN_FLIGHT; ++i)
            mine = Op::combine(mine, Op::make(e[i], at + i * step));
    }
    for (; at < N; at += step)
        mine = Op::combine(mine, Op::make(x[at], at));
    return mine;
}
#endif

#if defined(REDUCTION_ONE_PASS_ATOMICS) || !defined(REDUCTION_ONE)
// One pass: each block combines its result with the answer, atomically.
//
// Compared with shuffle: no partial results in memory and no kernel to combine them, but another launch must set the
// answer before. Blocks run in any order, so the last bits of a sum of floats differ from run to run. In PTX,
// atom.add.f32 on global memory flushes denormals, with or without -ftz: a denormal sum of a block or a denormal answer
// counts as 0. The argmax needs a third launch, which separates value and index.
extern "C" __global__ void reduction_one_pass_atomics(const element *__restrict__ x, element *y, long long *at,
                                                      offset N)
{
    item mine = block_reduce<BLOCK>(reduce_grid_stride(x, N));
    if (threadIdx.x == 0 && Op::counts(mine))
        Op::atomic(mine, y, at);
}

extern "C" __global__ void reduction_begin(element *y, long long *at)
{
    Op::begin(y, at);
}

extern "C" __global__ void reduction_end(element *y, long long *at)
{
    Op::end(y, at);
}
#endif

#if defined(REDUCTION_ONE_PASS) || defined(REDUCTION_VECTORISED) || !defined(REDUCTION_ONE)
// The last block to finish combines the partial results of all blocks, in a fixed order, and resets `done` to 0 for the
// next launch.
__device__ __forceinline__ void finish_last(item mine, item *partials, unsigned *done, element *y, long long *at)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = mine;
        __threadfence(); // the partial result must be visible before the count
        last = is_last_block(done);
        __threadfence();
    }
    __syncthreads();
    if (!last)
        return;
    mine = Op::identity();
    for (unsigned i = threadIdx.x; i < gridDim.x; i += BLOCK)
        mine = Op::combine(mine, partials[i]);
    mine = block_reduce<BLOCK>(mine);
    if (threadIdx.x == 0)
        Op::put(mine, y, at);
}
#endif

#if defined(REDUCTION_ONE_PASS) || !defined(REDUCTION_ONE)
// One pass: the last block to finish reduces the partial results of all.
//
// Compared with one_pass_atomics: one launch, because the kernel resets the counter itself, and the same bits every
// time.
extern "C" __global__ void reduction_one_pass(const element *__restrict__ x, item *partials, unsigned *done,
                                              element *__restrict__ y, long long *__restrict__ at, offset N)
{
    finish_last(block_reduce<BLOCK>(reduce_grid_stride(x, N)), partials, done, y, at);
}
#endif

#if defined(REDUCTION_VECTORISED) || !defined(REDUCTION_ONE)
template <class O> __device__ __forceinline__ typename O::item combine_quad(typename O::item mine, quad q, offset at)
{
    mine = O::combine(mine, O::make(q.x, at));
    mine = O::combine(mine, O::make(q.y, at + 1));
    mine = O::combine(mine, O::make(q.z, at + 2));
    return O::combine(mine, O::make(q.w, at + 3));
}

// A sum adds two pairs: one addition in the chain from quad to quad instead of four.
template <> __device__ __forceinline__ Sum::item combine_quad<Sum>(Sum::item mine, quad q, offset at)
{
    return mine + (((Sum::item)q.x + (Sum::item)q.y) + ((Sum::item)q.z + (Sum::item)q.w));
}

// Vectorized loads of four elements, IN_FLIGHT of them in flight per thread.
//
// Compared with one_pass: a quarter of the requests for the same sectors, and four times the bytes in flight per load.
// The first threads of the first block process the elements before the first whole vector and after the last one.
extern "C" __global__ void __launch_bounds__(BLOCK)
    reduction_vectorised(const element *__restrict__ x, item *partials, unsigned *done, element *__restrict__ y,
                         long long *__restrict__ at, offset N)
{
    offset head = (0 - (offset)x) % sizeof(quad) / sizeof(element);
    head = head < N ? head : N;
    const quad *quads = (const quad *)(x + head);
    const offset count = (N - head) / 4, tail = head + 4 * count;
    item mine = Op::identity();
    if (blockIdx.x == 0 && threadIdx.x < head)
        mine = Op::make(x[threadIdx.x], threadIdx.x);
    if (blockIdx.x == 0 && tail + threadIdx.x < N)
        mine = Op::combine(mine, Op::make(x[tail + threadIdx.x], tail + threadIdx.x));
    // elements with which a block begins
    const offset chunk = CHUNKS ? ceil_div(count, grid_threads<BLOCK>()) * BLOCK : BLOCK;
    const offset begin = blockIdx.x * chunk, step = CHUNKS ? BLOCK : grid_threads<BLOCK>();
    const offset end = CHUNKS && begin + chunk < count ? begin + chunk : count;
    offset i = begin + threadIdx.x;
    for (; i + (IN_FLIGHT - 1) * step < end; i += IN_FLIGHT * step) {
        quad q[IN_FLIGHT];
#pragma unroll
        for (unsigned k = 0; k < IN_FLIGHT; ++k)
            q[k] = load<STREAMING>(quads + i + k * step);
#pragma unroll
        for (unsigned k = 0; k < IN_FLIGHT; ++k)
            mine = combine_quad<Op>(mine, q[k], head + 4 * (i + k * step));
    }
    for (; i < end; i += step)
        mine = combine_quad<Op>(mine, load<STREAMING>(quads + i), head + 4 * i);
    finish_last(block_reduce<BLOCK>(mine), partials, done, y, at);
}
#endif
