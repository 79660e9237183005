// reduction.cu - computes the sum, the maximum, or the index of the maximum of N numbers, in eleven ways. The numbers
// are floats or integers.
//
// Each kernel improves the kernel before it. The comment of a kernel names the change and the counters that should show
// it. N may be any number of elements, including 0 and more than 2^32. Indexes have 64 bits for the whole array, and 32
// bits within a block's part of it. The address of x needs only the alignment of one element.
//
// The results are:
//
// - Sum of floats: The order of the additions depends on the kernel and its tuning parameters. In all kernels except
//   one_pass_atomics the order does not depend on time, so the same launch gives the same bits. Sums start from 0.
//   Infinities and NaN follow IEEE 754. A partial sum above the largest finite number is an infinity. So if elements of
//   both signs are that large, the result depends on the order. Denormals are kept, with one exception: the atomic
//   additions of one_pass_atomics treat them as 0.
// - Sum of integers: The result is the sum modulo 2^32, in any order. The sum of no elements is 0.
// - Maximum: For floats the result is maximum() of IEEE 754-2019. If an element is NaN, the result is the NaN
//   0x7fffffff. The number 0 is above -0. The maximum of no elements is -infinity, or the least integer.
// - Argmax: The result is the index of the first element that has the maximum. If there are no elements, it is -1.
//
// The tuning parameters are macros. The engine defines these macros from the spec. The defaults below only let an
// editor or a compiler parse this file alone. A kernel is compiled if its own macro REDUCTION_<NAME> is set, or if
// REDUCTION_ONE is not set.

#include "common.cuh"

#ifndef OP
#define OP 0 // 0: sum, 1: max, 2: argmax
#endif
#ifndef INTEGERS
#define INTEGERS 0 // 0: floats, 1: integers of 32 bits
#endif
#ifndef BLOCK
#define BLOCK 256 // number of threads of a block; a power of two, at least two warps
#endif
#ifndef ELEMENTS
#define ELEMENTS 8 // number of items that a thread combines before the tree
#endif
#ifndef IN_FLIGHT
#define IN_FLIGHT 4 // number of loads in flight per thread
#endif
#ifndef STREAMING
#define STREAMING 0 // vectorised: 1: loads have the hint "used once" (ld.cs)
#endif
#ifndef CHUNKS
#define CHUNKS 0 // vectorised: 0: a grid-stride loop; 1: each block has a contiguous chunk of x
#endif

enum : unsigned {
    JOIN_BLOCK = 256,   // threads of a block of reduction_join and reduction_finish
    JOIN_SECTION = 4096 // partial results that a block of reduction_join combines into one
};
enum : long long { NOWHERE = 0x7fffffffffffffffll }; // the index of the identity

typedef choose<INTEGERS, float, int> element;
typedef vec<element, 4> quad;

// ---- keys: integers in place of elements, for the maximum ----

// A key is an integer. Keys have the order of the elements that they represent. One instruction compares two keys. To
// compare two floats takes three instructions, because NaN is the greatest float here. Another reason is that an atomic
// maximum exists for integers.
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
// The key of a float is its bits as an integer. If the float is negative, all bits except the sign are inverted.
template <> struct Key<float> {
    enum : int { LEAST = (int)0x807fffff }; // the key of -infinity
    static __device__ __forceinline__ int of(float e)
    {
        int bits = e != e ? 0x7fffffff : __float_as_int(e);
        return bits ^ (bits >> 31 & 0x7fffffff);
    }
    static __device__ __forceinline__ float element(int key)
    {
        return __int_as_float(key ^ (key >> 31 & 0x7fffffff));
    }
    // Floats that are not negative have the same order as their bits as integers. Negative floats have the reverse
    // order of their bits.
    static __device__ __forceinline__ void atomic_max(float *y, int key)
    {
        if (key >= 0)
            atomicMax((int *)y, __float_as_int(element(key)));
        else
            atomicMin((unsigned *)y, __float_as_uint(element(key)));
    }
};

// ---- operators ----

// An operator is a policy: a type whose functions the kernels below call. So each kernel is written once for all
// operators. OP chooses the operator. An operator has these members:
//
// - `item`: the type of the values that are reduced.
// - `identity()`: the item of no elements; combining it with another item changes nothing.
// - `combine()`: the item of two runs of elements.
// - `make()`: the item of one element and its index.
// - `put()`: writes an item as the result.
// - `counts()`: returns false for an item that need not be combined with the result.
// - `atomic()`: combines an item with the result, atomically.
// - `begin()`: sets the result before the first call of atomic().
// - `end()`: completes the result after the last call of atomic().

struct Sum : Plus<choose<INTEGERS, float, unsigned>> { // unsigned numbers wrap around on overflow
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
    typedef int item; // the item is a key
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

struct KeyAt { // as cub::KeyValuePair
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
        item none; // the compiler would read {LEAST, NOWHERE} from global memory
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
    // The atomic maximum is over words of 64 bits, which have the key in the upper half and the inverted index in the
    // lower half. So if keys are equal, the smaller index has the greater word. This works for fewer than 2^32
    // elements.
    static __device__ __forceinline__ void atomic(item mine, element *, long long *at)
    {
        atomicMax((offset *)at, (offset)((unsigned)mine.key ^ 0x80000000u) << 32 | (0xffffffffu - (unsigned)mine.at));
    }
    static __device__ __forceinline__ void begin(element *, long long *at)
    {
        *at = 0; // 0 is less than any such word
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

// Returns the item of element i. After the end of x it returns the identity.
__device__ __forceinline__ item load_item(const element *x, offset i, offset N)
{
    return i < N ? Op::make(x[i], i) : Op::identity();
}

// Combines the items of all threads of a block by shuffles: first in each warp, then the results of the warps in the
// first warp. Thread 0 gets the result of the block. All calls use the same array, so there must be a barrier between
// two calls.
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

// Returns the combined item of those elements of the block's tile that this thread has. A tile has ELEMENTS * BLOCK
// elements. The ELEMENTS elements of a thread are BLOCK apart (a striped arrangement), so that each load of a warp is
// coalesced.
__device__ __forceinline__ item reduce_tile(const element *x, offset N)
{
    offset first = tile_begin(ELEMENTS * BLOCK);
    item mine = Op::identity();
    if (first + ELEMENTS * BLOCK <= N) {
        element e[ELEMENTS];
#pragma unroll
        for (unsigned i = 0; i < ELEMENTS; ++i) // all loads are in flight before the first loaded element is used
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

// Combines the items in shared memory by a tree. In the first step, the stride is half the number of items. Active
// threads are neighbours, and the words that they access are neighbours as well. The last step has the stride `end`.
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
// Each thread has one item in shared memory, and the block combines the items by a tree. In step k, every 2^k-th thread
// combines its item with the item that is 2^(k-1) places after it.
//
// The active threads are spread over all warps. So every warp takes part in every step, with fewer and fewer active
// lanes. In the first five steps every warp has a divergent branch. In the later steps every second, fourth, ... warp
// has one.
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
// Computes the same tree over the same items as reduction_neighboured_divergent, but the n-th thread combines the n-th
// pair.
//
// The active threads are the first threads of the block. So whole warps are idle, and divergent branches remain only in
// the last five steps. But neighbouring lanes access words of shared memory at a distance of 2 strides, which causes
// bank conflicts of 2, 4, ... 32 ways.
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
// Each step combines the first half of the items with the second half. The first stride is BLOCK / 2.
//
// Active threads are neighbours, and their words are neighbours as well, so there are no bank conflicts. Half of the
// threads only load one element and combine nothing.
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
// Each thread combines ELEMENTS elements before the tree.
//
// Compared with interleaved, each thread has ELEMENTS loads in flight. A block with its tree and barriers combines
// ELEMENTS times as many elements. Instructions per element fall from dozens to a few. From here on memory bandwidth is
// the limit.
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
// One warp combines the last 64 items, without barriers of the block.
//
// Compared with cascading, there are six fewer barriers and six fewer loop iterations, in which the other warps were
// idle. The lanes of a warp need not run in step. So warp barriers separate the reads from the writes.
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
// Compared with unroll_last_warp, there is no loop counter and no backward branch. So each step has a few instructions
// less.
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
// Warps combine their items by shuffles, from register to register. Shared memory has one item per warp.
//
// Compared with unrolled_complete, there is one barrier per block. A block writes BLOCK / 32 items to shared memory
// instead of 2 BLOCK - 1.
extern "C" __global__ void reduction_shuffle(const element *__restrict__ x, item *__restrict__ partials, offset N)
{
    item mine = block_reduce<BLOCK>(reduce_tile(x, N));
    if (threadIdx.x == 0)
        partials[blockIdx.x] = mine;
}
#endif

#if defined(REDUCTION_BUSY_THREADS) || !defined(REDUCTION_ONE)
// Blocks loop over tiles. A thread that the tree no longer needs loads its elements of the next tile.
//
// Compared with cascading, half of the threads have their next loads in flight during the first step of the tree. A
// quarter of the threads follow during the second step, and so on. So loads overlap with the tree even if few blocks
// fit on an SM.
extern "C" __global__ void reduction_busy_threads(const element *__restrict__ x, item *__restrict__ partials, offset N)
{
    __shared__ item s[BLOCK];
    const offset step = grid_threads<ELEMENTS * BLOCK>();
    offset first = tile_begin(ELEMENTS * BLOCK) + threadIdx.x;
    item total = Op::identity(); // only thread 0 uses `total`
    element e[ELEMENTS];
    auto load_next = [&] { // elements after the end of x are loaded as 0, but not combined below
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
// Reduces the number of partial results. Each block combines JOIN_SECTION of them into one, in a fixed order.
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

// Computes the result. One block combines the remaining partial results.
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
// Returns the combined item of those elements of the array that this thread has. The loop is a grid-stride loop with
// IN_FLIGHT loads in flight per thread.
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
// One pass over the array. Each block combines its item with the result by an atomic operation.
//
// Compared with shuffle, there are no partial results in memory and no kernel to combine them. But another launch must
// set the result to the identity before. Blocks finish in any order, so the last bits of a sum of floats differ from
// run to run. In PTX, atom.add.f32 on global memory flushes denormals, with or without -ftz. So if the sum of a block
// or the result so far is denormal, it counts as 0. The argmax needs a third launch, which separates the value and the
// index.
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
// The last block to finish combines the partial results of all blocks in a fixed order. It also resets `done` to 0 for
// the next launch.
__device__ __forceinline__ void finish_last(item mine, item *partials, unsigned *done, element *y, long long *at)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = mine;
        __threadfence(); // the partial result must be visible before the counter of finished blocks
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
// One pass over the array. The last block to finish combines the partial results of all blocks.
//
// Compared with one_pass_atomics, there is only one launch, because the kernel resets the counter itself. Each run
// gives the same bits.
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

// A sum first adds the elements of a quad in two pairs. So the chain of dependent additions has one addition per quad
// instead of four.
template <> __device__ __forceinline__ Sum::item combine_quad<Sum>(Sum::item mine, quad q, offset at)
{
    return mine + (((Sum::item)q.x + (Sum::item)q.y) + ((Sum::item)q.z + (Sum::item)q.w));
}

// Loads are vectors of four elements, and each thread has IN_FLIGHT of these loads in flight.
//
// Compared with one_pass, the same sectors need a quarter of the requests, and each load has four times as many bytes
// in flight. The first threads of the first block process the elements before the first whole vector and after the last
// whole vector.
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
    // distance, in vectors, between the first vectors of two neighbouring blocks
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
