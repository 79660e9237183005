// reduction.cu - the sum, the maximum, or the place of the maximum of N numbers, floats or integers, eleven ways.
//
// Each kernel is a step from the one before; its comment says what changed and which counters should show it. N is any
// number of elements, 0 included, and may pass 2^32; indexes are 64 bits wide where a whole array is meant and 32
// within a block's share. Nothing is asked of the address of x but that it is one of elements.
//
// What the answer is:
//   sum     of floats: in an order that depends on the kernel and its knobs, but (save for one_pass_atomics) not on
//           time, so that the same launch gives the same bits. It starts from 0. Infinities and NaN go through as
//           IEEE 754 has it. A partial sum past the largest finite number is an infinity, so where elements of both
//           signs are that large the answer depends on the order. Denormals are kept, save where one_pass_atomics adds
//           its blocks' sums: an atomic addition of floats takes them for 0. Of integers: modulo 2^32, whatever the
//           order. Of nothing: 0.
//   max     of floats: maximum() of IEEE 754-2019: NaN if there is one (always 0x7fffffff), and 0 is above -0.
//           Of nothing: -infinity, or the least integer.
//   argmax  the first of those elements that have that value; of nothing: -1.
//
// The knobs are macros. A spec sets them; the defaults serve an editor and a compiler that is given none. A kernel is
// compiled where its own macro REDUCTION_<NAME> is set, or where REDUCTION_ONE is not.

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
#define ELEMENTS 8 // elements that a thread adds up before the tree
#endif
#ifndef IN_FLIGHT
#define IN_FLIGHT 4 // loads that a thread has under way
#endif
#ifndef STREAMING
#define STREAMING 0 // vectorised: 1: loads that say that nothing is read twice
#endif
#ifndef CHUNKS
#define CHUNKS 0 // vectorised: 0: blocks take turns, 1: each has a stretch of x of its own
#endif

#define WARP 32u
#define ALL_LANES 0xffffffffu
#define JOIN_BLOCK 256u   // threads of reduction_join
#define JOIN_SECTION 4096u // partial results that one of its blocks makes one
#define NOWHERE 0x7fffffffffffffffll

typedef unsigned long long offset;

#if INTEGERS
typedef int element;
#else
typedef float element;
#endif

// What is carried through a reduction. Maxima are taken of integers in the order of the floats they stand for: a
// float's bits as an integer, with all but the sign turned round where it is negative. One instruction then compares
// what would take three where a NaN must win, and an integer's atomic will do.
#if OP == 2
struct item {
    int key;
    long long at;
};
#elif OP == 1
typedef int item;
#elif INTEGERS
typedef unsigned item; // wraps around as unsigned numbers do
#else
typedef float item;
#endif

__device__ __forceinline__ int key_of(element e)
{
#if INTEGERS
    return e;
#else
    int bits = e != e ? 0x7fffffff : __float_as_int(e);
    return bits ^ (bits >> 31 & 0x7fffffff);
#endif
}

__device__ __forceinline__ element of_key(int key)
{
#if INTEGERS
    return key;
#else
    return __int_as_float(key ^ (key >> 31 & 0x7fffffff));
#endif
}

__device__ __forceinline__ int least_key()
{
    return INTEGERS ? (int)0x80000000 : (int)0x807fffff; // -infinity's
}

// The result of nothing.
__device__ __forceinline__ item nothing()
{
#if OP == 2
    item none = {least_key(), NOWHERE};
    return none;
#elif OP == 1
    return least_key();
#else
    return 0;
#endif
}

__device__ __forceinline__ item item_of(element e, offset at)
{
#if OP == 2
    item one = {key_of(e), (long long)at};
    return one;
#elif OP == 1
    return key_of(e);
#else
    return e;
#endif
}

__device__ __forceinline__ item join(item a, item b)
{
#if OP == 2
    return b.key > a.key || (b.key == a.key && b.at < a.at) ? b : a;
#elif OP == 1
    return b > a ? b : a;
#else
    return a + b;
#endif
}

// The item of the lane that is `distance` further on.
__device__ __forceinline__ item from_lane(item mine, unsigned distance)
{
#if OP == 2
    item other = {__shfl_down_sync(ALL_LANES, mine.key, distance), __shfl_down_sync(ALL_LANES, mine.at, distance)};
    return other;
#else
    return __shfl_down_sync(ALL_LANES, mine, distance);
#endif
}

__device__ __forceinline__ void give(item result, element *y, long long *at)
{
#if OP == 2
    *y = of_key(result.key);
    *at = result.at == NOWHERE ? -1 : result.at;
#elif OP == 1
    *y = of_key(result);
#else
    *y = result;
#endif
}

__device__ __forceinline__ item item_at(const element *x, offset i, offset N)
{
    return i < N ? item_of(x[i], i) : nothing();
}

// Lane 0 gets what all lanes of the warp have.
__device__ __forceinline__ item join_warp(item mine)
{
#pragma unroll
    for (unsigned distance = WARP / 2; distance > 0; distance /= 2)
        mine = join(mine, from_lane(mine, distance));
    return mine;
}

// Thread 0 gets what all threads of the block have: by shuffles in each warp, then in the first one. Two calls use one
// array and need a barrier between them.
template <unsigned threads> __device__ __forceinline__ item join_block(item mine)
{
    __shared__ item warps[threads / WARP];
    mine = join_warp(mine);
    if (threads == WARP)
        return mine;
    if (threadIdx.x % WARP == 0)
        warps[threadIdx.x / WARP] = mine;
    __syncthreads();
    if (threadIdx.x >= WARP)
        return mine;
    return join_warp(threadIdx.x < threads / WARP ? warps[threadIdx.x] : nothing());
}

// ELEMENTS elements a thread, BLOCK apart, of the block's section of ELEMENTS * BLOCK.
__device__ __forceinline__ item item_of_section(const element *x, offset N)
{
    offset first = (offset)blockIdx.x * (ELEMENTS * BLOCK);
    item mine = nothing();
    if (first + ELEMENTS * BLOCK <= N) {
        element e[ELEMENTS];
#pragma unroll
        for (unsigned i = 0; i < ELEMENTS; ++i) // all of them under way before the first is waited for
            e[i] = x[first + i * BLOCK + threadIdx.x];
#pragma unroll
        for (unsigned i = 0; i < ELEMENTS; ++i)
            mine = join(mine, item_of(e[i], first + i * BLOCK + threadIdx.x));
    } else {
        for (unsigned i = 0; i < ELEMENTS; ++i)
            mine = join(mine, item_at(x, first + i * BLOCK + threadIdx.x, N));
    }
    return mine;
}

// The tree in shared memory, strides from half the items downwards: the threads at work stay neighbours, and so do the
// words they touch. Down to `end` items.
__device__ __forceinline__ void join_tree(item *s, unsigned end)
{
#pragma unroll 1
    for (unsigned stride = BLOCK / 2; stride >= end; stride /= 2) {
        if (threadIdx.x < stride)
            s[threadIdx.x] = join(s[threadIdx.x], s[threadIdx.x + stride]);
        __syncthreads();
    }
}

#if defined(REDUCTION_NEIGHBOURED_DIVERGENT) || !defined(REDUCTION_ONE)
// An element a thread, then a tree in shared memory: in step k every 2^k-th thread takes in its neighbour 2^(k-1) on.
//
// The threads at work are spread over all warps, so every warp goes through every step, with ever fewer lanes: the mean
// number of active lanes falls towards 1. In the first five steps every warp has a divergent branch, after that every
// second, fourth, ... one.
extern "C" __global__ void reduction_neighboured_divergent(const element *__restrict__ x, item *__restrict__ partials,
                                                           offset N)
{
    __shared__ item s[BLOCK];
    s[threadIdx.x] = item_at(x, (offset)blockIdx.x * BLOCK + threadIdx.x, N);
#pragma unroll 1
    for (unsigned stride = 1; stride < BLOCK; stride *= 2) {
        __syncthreads();
        if (threadIdx.x % (2 * stride) == 0)
            s[threadIdx.x] = join(s[threadIdx.x], s[threadIdx.x + stride]);
    }
    if (threadIdx.x == 0)
        partials[blockIdx.x] = s[0];
}
#endif

#if defined(REDUCTION_NEIGHBOURED) || !defined(REDUCTION_ONE)
// The same tree over the same items, but its n-th pair is the n-th thread's.
//
// The threads at work are the first ones, so whole warps have nothing to do: divergent branches remain in the last five
// steps alone. In exchange the lanes of a warp are 2 strides apart in shared memory: bank conflicts of 2, 4, ... 32.
extern "C" __global__ void reduction_neighboured(const element *__restrict__ x, item *__restrict__ partials, offset N)
{
    __shared__ item s[BLOCK];
    s[threadIdx.x] = item_at(x, (offset)blockIdx.x * BLOCK + threadIdx.x, N);
#pragma unroll 1
    for (unsigned stride = 1; stride < BLOCK; stride *= 2) {
        unsigned i = 2 * stride * threadIdx.x;
        __syncthreads();
        if (i < BLOCK)
            s[i] = join(s[i], s[i + stride]);
    }
    if (threadIdx.x == 0)
        partials[blockIdx.x] = s[0];
}
#endif

#if defined(REDUCTION_INTERLEAVED) || !defined(REDUCTION_ONE)
// The other half of the items is taken in at each step, stride BLOCK / 2 first.
//
// The threads at work are neighbours and so are their words: no bank conflicts. Half of the threads never do more than
// to load one element.
extern "C" __global__ void reduction_interleaved(const element *__restrict__ x, item *__restrict__ partials, offset N)
{
    __shared__ item s[BLOCK];
    s[threadIdx.x] = item_at(x, (offset)blockIdx.x * BLOCK + threadIdx.x, N);
    __syncthreads();
    join_tree(s, 1);
    if (threadIdx.x == 0)
        partials[blockIdx.x] = s[0];
}
#endif

#if defined(REDUCTION_CASCADING) || !defined(REDUCTION_ONE)
// Each thread adds up ELEMENTS elements before the tree.
//
// Against interleaved: ELEMENTS loads under way a thread, one tree (and one block, and its barriers) for ELEMENTS times
// the elements. Instructions an element fall from dozens to a few, and now memory sets the pace.
extern "C" __global__ void reduction_cascading(const element *__restrict__ x, item *__restrict__ partials, offset N)
{
    __shared__ item s[BLOCK];
    s[threadIdx.x] = item_of_section(x, N);
    __syncthreads();
    join_tree(s, 1);
    if (threadIdx.x == 0)
        partials[blockIdx.x] = s[0];
}
#endif

#if defined(REDUCTION_UNROLL_LAST_WARP) || !defined(REDUCTION_ONE)
// The last 64 items are one warp's: it needs no barrier of the block.
//
// Six barriers and six rounds of a loop that the other warps would go through for nothing are gone. Lanes of a warp are
// no longer sure to run in step, so a warp barrier stands between reading and writing.
extern "C" __global__ void reduction_unroll_last_warp(const element *__restrict__ x, item *__restrict__ partials,
                                                      offset N)
{
    __shared__ item s[BLOCK];
    s[threadIdx.x] = item_of_section(x, N);
    __syncthreads();
    join_tree(s, 2 * WARP);
    if (threadIdx.x >= WARP)
        return;
    item mine = s[threadIdx.x];
#pragma unroll
    for (unsigned stride = WARP; stride > 0; stride /= 2) {
        if (threadIdx.x < stride)
            mine = join(mine, s[threadIdx.x + stride]);
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
// The number of threads is known when the kernel is compiled, so the whole tree is written out.
//
// Against unroll_last_warp: no loop counter, no branch backwards; a few instructions less a step.
extern "C" __global__ void reduction_unrolled_complete(const element *__restrict__ x, item *__restrict__ partials,
                                                       offset N)
{
    __shared__ item s[BLOCK];
    item mine = item_of_section(x, N);
    s[threadIdx.x] = mine;
    __syncthreads();
#pragma unroll
    for (unsigned stride = BLOCK / 2; stride >= 2 * WARP; stride /= 2) {
        if (threadIdx.x < stride)
            s[threadIdx.x] = mine = join(mine, s[threadIdx.x + stride]);
        __syncthreads();
    }
    if (threadIdx.x >= WARP)
        return;
#pragma unroll
    for (unsigned stride = WARP; stride > 0; stride /= 2) {
        if (threadIdx.x < stride)
            mine = join(mine, s[threadIdx.x + stride]);
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
// Warps add up by shuffles from register to register; shared memory holds one item a warp.
//
// Against unrolled_complete: one barrier a block, and BLOCK / 32 items written to shared memory in place of
// 2 BLOCK - 1.
extern "C" __global__ void reduction_shuffle(const element *__restrict__ x, item *__restrict__ partials, offset N)
{
    item mine = join_block<BLOCK>(item_of_section(x, N));
    if (threadIdx.x == 0)
        partials[blockIdx.x] = mine;
}
#endif

#if defined(REDUCTION_BUSY_THREADS) || !defined(REDUCTION_ONE)
// Blocks go on from section to section, and a thread that the tree no longer needs loads its elements of the next one.
//
// Against cascading: half of the threads have their next loads under way during the first step of the tree, a quarter
// more during the second, and so on, so that the tree hides behind memory even where few blocks fit on an SM.
extern "C" __global__ void reduction_busy_threads(const element *__restrict__ x, item *__restrict__ partials, offset N)
{
    __shared__ item s[BLOCK];
    const offset step = (offset)gridDim.x * (ELEMENTS * BLOCK);
    offset first = (offset)blockIdx.x * (ELEMENTS * BLOCK) + threadIdx.x;
    item total = nothing(); // thread 0's
    element e[ELEMENTS];
    auto load_next = [&] { // what lies past the end is left out below
#pragma unroll
        for (unsigned i = 0; i < ELEMENTS; ++i)
            e[i] = first + i * BLOCK < N ? x[first + i * BLOCK] : 0;
    };
    load_next();
    for (offset begin = (offset)blockIdx.x * (ELEMENTS * BLOCK); begin < N; begin += step) {
        item mine = nothing();
#pragma unroll
        for (unsigned i = 0; i < ELEMENTS; ++i)
            if (first + i * BLOCK < N)
                mine = join(mine, item_of(e[i], first + i * BLOCK));
        first += step;
        s[threadIdx.x] = mine;
        __syncthreads();
#pragma unroll
        for (unsigned stride = BLOCK / 2; stride > 0; stride /= 2) {
            if (threadIdx.x < stride)
                s[threadIdx.x] = mine = join(mine, s[threadIdx.x + stride]);
            else if (threadIdx.x < 2 * stride)
                load_next();
            __syncthreads();
        }
        if (threadIdx.x == 0) {
            total = join(total, mine);
            load_next();
        }
    }
    if (threadIdx.x == 0)
        partials[blockIdx.x] = total;
}
#endif

#if defined(REDUCTION_JOIN) || !defined(REDUCTION_ONE)
// Partial results to fewer ones: JOIN_SECTION of them to one a block. They are joined in a fixed order.
extern "C" __global__ void reduction_join(const item *__restrict__ partials, item *__restrict__ fewer, offset count)
{
    item mine = nothing();
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < JOIN_SECTION; i += JOIN_BLOCK) {
        offset at = (offset)blockIdx.x * JOIN_SECTION + i;
        mine = join(mine, at < count ? partials[at] : nothing());
    }
    mine = join_block<JOIN_BLOCK>(mine);
    if (threadIdx.x == 0)
        fewer[blockIdx.x] = mine;
}

// And all that are left to the result, by one block.
extern "C" __global__ void reduction_finish(const item *__restrict__ partials, element *__restrict__ y,
                                            long long *__restrict__ at, offset count)
{
    item mine = nothing();
    for (offset i = threadIdx.x; i < count; i += JOIN_BLOCK)
        mine = join(mine, partials[i]);
    mine = join_block<JOIN_BLOCK>(mine);
    if (threadIdx.x == 0)
        give(mine, y, at);
}
#endif

#if defined(REDUCTION_ONE_PASS_ATOMICS) || defined(REDUCTION_ONE_PASS) || !defined(REDUCTION_ONE)
// PER_SM blocks an SM walk over x together, IN_FLIGHT loads under way a thread.
__device__ __forceinline__ item item_of_turns(const element *x, offset N)
{
    const offset step = (offset)gridDim.x * BLOCK;
    offset at = (offset)blockIdx.x * BLOCK + threadIdx.x;
    item mine = nothing();
    for (; at + (IN_FLIGHT - 1) * step < N; at += IN_FLIGHT * step) {
        element e[IN_FLIGHT];
#pragma unroll
        for (unsigned i = 0; i < IN_FLIGHT; ++i)
            e[i] = x[at + i * step];
#pragma unroll
        for (unsigned i = 0; i < IN_FLIGHT; ++i)
            mine = join(mine, item_of(e[i], at + i * step));
    }
    for (; at < N; at += step)
        mine = join(mine, item_of(x[at], at));
    return mine;
}
#endif

#if defined(REDUCTION_ONE_PASS_ATOMICS) || !defined(REDUCTION_ONE)
// One pass: each block adds its result to the one answer, atomically.
//
// Against shuffle: no partial results in memory and no kernel to join them, but the answer must be set beforehand, by a
// launch as well. Blocks come in any order, so the last bits of a sum of floats differ from run to run. PTX has
// atom.add.f32 on global memory flush denormals, with or without -ftz: a block's sum or an answer that is one counts as
// 0. For argmax value and place go into one word of 64 bits, the nearer place being the greater, for fewer than 2^32
// elements; a third launch takes them apart.
extern "C" __global__ void reduction_one_pass_atomics(const element *__restrict__ x, element *y, long long *at,
                                                      offset N)
{
    item mine = join_block<BLOCK>(item_of_turns(x, N));
    if (threadIdx.x != 0)
        return;
#if OP == 0
    atomicAdd((item *)y, mine);
#elif OP == 2
    if (mine.at != NOWHERE)
        atomicMax((offset *)at, (offset)((unsigned)mine.key ^ 0x80000000u) << 32 | (0xffffffffu - (unsigned)mine.at));
#elif INTEGERS
    atomicMax(y, mine);
#else
    // Floats that are not negative are in the order of their bits as integers, negative ones in the opposite.
    if (mine >= 0)
        atomicMax((int *)y, __float_as_int(of_key(mine)));
    else
        atomicMin((unsigned *)y, __float_as_uint(of_key(mine)));
#endif
}

extern "C" __global__ void reduction_begin(element *y, long long *at)
{
#if OP == 2
    *at = 0; // less than any word of value and place
#else
    give(nothing(), y, at);
#endif
}

extern "C" __global__ void reduction_end(element *y, long long *at)
{
#if OP == 2
    offset word = *at;
    item found = {(int)((unsigned)(word >> 32) ^ 0x80000000u), 0xffffffffu - (unsigned)word};
    give(word ? found : nothing(), y, at);
#endif
}
#endif

#if defined(REDUCTION_ONE_PASS) || defined(REDUCTION_VECTORISED) || !defined(REDUCTION_ONE)
// The block that is done last joins what all blocks have found, in a fixed order, and leaves `done` at 0 for the next
// launch.
__device__ __forceinline__ void finish_last(item mine, item *partials, unsigned *done, element *y, long long *at)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = mine;
        __threadfence(); // the partial result is there before the count says so
        last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last)
        return;
    mine = nothing();
    for (unsigned i = threadIdx.x; i < gridDim.x; i += BLOCK)
        mine = join(mine, partials[i]);
    mine = join_block<BLOCK>(mine);
    if (threadIdx.x == 0)
        give(mine, y, at);
}
#endif

#if defined(REDUCTION_ONE_PASS) || !defined(REDUCTION_ONE)
// One pass: the block that finishes last joins the partial results of all.
//
// Against one_pass_atomics: one launch, since the counter sets itself back, and the same bits every time.
extern "C" __global__ void reduction_one_pass(const element *__restrict__ x, item *partials, unsigned *done,
                                              element *__restrict__ y, long long *__restrict__ at, offset N)
{
    finish_last(join_block<BLOCK>(item_of_turns(x, N)), partials, done, y, at);
}
#endif

#if defined(REDUCTION_VECTORISED) || !defined(REDUCTION_ONE)
#if INTEGERS
typedef int4 word;
#else
typedef float4 word;
#endif

__device__ __forceinline__ word load_word(const word *x)
{
    return STREAMING ? __ldcs(x) : *x;
}

__device__ __forceinline__ item join_word(item mine, word w, offset at)
{
#if OP == 0
    return mine + (((item)w.x + (item)w.y) + ((item)w.z + (item)w.w));
#else
    mine = join(mine, item_of(w.x, at));
    mine = join(mine, item_of(w.y, at + 1));
    mine = join(mine, item_of(w.z, at + 2));
    return join(mine, item_of(w.w, at + 3));
#endif
}

// Words of four elements, IN_FLIGHT of them under way a thread.
//
// Against one_pass: a quarter of the requests for the same sectors, and four times the bytes under way for each load
// that a thread has. Elements before the first whole word and after the last one are the first block's first threads'.
extern "C" __global__ void __launch_bounds__(BLOCK)
    reduction_vectorised(const element *__restrict__ x, item *partials, unsigned *done, element *__restrict__ y,
                         long long *__restrict__ at, offset N)
{
    offset head = (0 - (offset)x) % sizeof(word) / sizeof(element);
    head = head < N ? head : N;
    const word *words = (const word *)(x + head);
    const offset count = (N - head) / 4, tail = head + 4 * count;
    item mine = nothing();
    if (blockIdx.x == 0 && threadIdx.x < head)
        mine = item_of(x[threadIdx.x], threadIdx.x);
    if (blockIdx.x == 0 && tail + threadIdx.x < N)
        mine = join(mine, item_of(x[tail + threadIdx.x], tail + threadIdx.x));
#if CHUNKS
    const offset share = (count + (offset)gridDim.x * BLOCK - 1) / ((offset)gridDim.x * BLOCK) * BLOCK;
    const offset begin = blockIdx.x * share, step = BLOCK;
    const offset end = begin + share < count ? begin + share : count;
    offset i = begin + threadIdx.x;
#else
    const offset end = count, step = (offset)gridDim.x * BLOCK;
    offset i = (offset)blockIdx.x * BLOCK + threadIdx.x;
#endif
    for (; i + (IN_FLIGHT - 1) * step < end; i += IN_FLIGHT * step) {
        word w[IN_FLIGHT];
#pragma unroll
        for (unsigned k = 0; k < IN_FLIGHT; ++k)
            w[k] = load_word(words + i + k * step);
#pragma unroll
        for (unsigned k = 0; k < IN_FLIGHT; ++k)
            mine = join_word(mine, w[k], head + 4 * (i + k * step));
    }
    for (; i < end; i += step)
        mine = join_word(mine, load_word(words + i), head + 4 * i);
    finish_last(join_block<BLOCK>(mine), partials, done, y, at);
}
#endif
