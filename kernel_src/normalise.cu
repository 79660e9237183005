// normalise.cu - scales rows of numbers by softmax, layer norm or RMS norm, in four ways. There are ROWS rows of WIDTH
// elements, which are floats or bfloat16.
//
//     softmax:     y = exp(x - m) / sum of exp(x - m)
//     layer norm:  y = (x - mean) / sqrt(variance + epsilon) * gamma + beta
//     RMS norm:    y = x / sqrt(mean of x^2 + epsilon) * gamma
//
// Here m is the maximum of the row, and the variance is the mean of (x - mean)^2.
//
// There is little arithmetic, so the bound is one read and one write of every element. The kernels differ in how often
// they read a row, and in which threads wait for each other before they write the row. All arithmetic is in single
// precision. y is rounded once, to nearest even.
//
// Special numbers have the same results in every variant:
//
// - Softmax: If a row has a NaN or +infinity, or if all its elements are -infinity, all its results are NaN. In a row
//   with a finite element, -infinity gives 0. Differences x - m that are too small for exp give 0. Nothing overflows.
// - Layer norm: If a row has a NaN or an infinity, all its results are NaN. The variance is taken around the mean: in a
//   second pass, or in one pass by the formulas of Welford and Chan (`online`). The difference of two means, E[x^2] -
//   E[x]^2, would lose all digits if the mean is large. If the sum of the squares of a row exceeds the largest float,
//   the results are not specified.
// - RMS norm: If a row has a NaN, all its results are NaN. If a row has an infinity, the result of this element is NaN,
//   and the other results are 0. If the sum of the squares of a row exceeds the largest float, the results are not
//   specified.
//
// Each variant gives the same bits in every run, because the order of all sums depends on the tuning parameters alone.
//
// ROWS and WIDTH may be any numbers below 2^31, including 0. The arrays x, y, gamma and beta begin at multiples of 16
// bytes. A row may begin at any element, because its length may be odd.
//
// The tuning parameters are macros. The engine defines these macros from the spec. The defaults below only let an
// editor or a compiler parse this file alone. A kernel is compiled if its own macro NORMALISE_<NAME> is set, or if
// NORMALISE_ONE is not set.

#include "async.cuh"

#ifndef KIND
#define KIND 0 // 0: softmax, 1: layer norm, 2: RMS norm
#endif
#ifndef BF16
#define BF16 1 // type of the elements: 0: floats, 1: bfloat16
#endif
#ifndef BLOCK
#define BLOCK 256 // number of threads of a block
#endif
#ifndef WORDS
#define WORDS 4 // number of words of 4 bytes that a thread loads at once: 2 or 4
#endif
#ifndef ALIGNED
#define ALIGNED 0 // 1: the length of every row is a multiple of VECTOR elements, which are WORDS words
#endif
#ifndef IN_FLIGHT
#define IN_FLIGHT 4 // online: number of vectors that each thread has in flight
#endif
#ifndef LANES
#define LANES 256 // register_row: number of threads that share a row; a power of two that divides BLOCK
#endif
#ifndef VECTORS
#define VECTORS 4 // register_row, cluster_row: number of vectors of a row that each thread has
#endif
#ifndef KEEP
// register_row, cluster_row: where a thread keeps its part of a row. The value 0 keeps it in registers as floats, 1 in
// registers as the loaded words, and 2 in shared memory. The value 3 keeps half of it in shared memory, and half in
// registers as the loaded words.
#define KEEP 0
#endif
#ifndef AHEAD
// register_row, cluster_row: number of rows in flight while one is processed: 0 or 1; with KEEP 2 up to 3
#define AHEAD 0
#endif
#ifndef CLUSTER
#define CLUSTER 2 // cluster_row: number of blocks that share a row
#endif
#ifndef ONLINE
// cluster_row: 1: update the maximum or mean, and the sum, whenever a vector arrives; 0: compute them after all vectors
// have arrived
#define ONLINE 0
#endif
#ifndef PER_SM
// register_row, cluster_row: blocks that must fit on an SM; 0: each block processes only one row, or one row per team
#define PER_SM 0
#endif
#ifndef HOLD_WEIGHTS
#define HOLD_WEIGHTS 0 // register_row, cluster_row: 1: keep gamma and beta in registers for all rows
#endif
#ifndef STREAMING
#define STREAMING 0 // 1: stores, and loads that are not repeated, have the cache hint "used once" (st.cs, ld.cs)
#endif

enum : unsigned { SOFTMAX, LAYER_NORM, RMS_NORM };
enum : unsigned {
    PER_WORD = BF16 ? 2 : 1,
    VECTOR = WORDS * PER_WORD // elements of one load
};
typedef choose<BF16, float, unsigned short> element;
typedef vec<unsigned, WORDS> words_at_once;

// ---- elements ----

__device__ __forceinline__ float widen(unsigned short e) // a bfloat16 is the upper half of a float
{
    return __uint_as_float((unsigned)e << 16);
}

__device__ __forceinline__ float widen(float e)
{
    return e;
}

// Rounds two floats to bfloat16, to nearest even, and returns both in one word.
__device__ __forceinline__ unsigned narrow(float low, float high)
{
#if __CUDA_ARCH__ >= 800
    unsigned word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
#else
    unsigned half[2] = {__float_as_uint(low), __float_as_uint(high)};
    for (unsigned i = 0; i < 2; ++i)
        half[i] = (half[i] << 1) > 0xff000000u ? 0x7fffu : (half[i] + 0x7fff + (half[i] >> 16 & 1)) >> 16;
    return half[1] << 16 | half[0];
#endif
}

__device__ __forceinline__ void put(float *to, float value)
{
    *to = value;
}

__device__ __forceinline__ void put(unsigned short *to, float value)
{
    *to = (unsigned short)narrow(value, 0);
}

// These functions convert the VECTOR elements of some words to floats, and back.
__device__ __forceinline__ void widen(float *to, const unsigned *words)
{
#pragma unroll
    for (unsigned w = 0; w < WORDS; ++w)
        if (BF16) {
            to[2 * w] = __uint_as_float(words[w] << 16);
            to[2 * w + 1] = __uint_as_float(words[w] & 0xffff0000u);
        } else {
            to[w] = __uint_as_float(words[w]);
        }
}

__device__ __forceinline__ void narrow(unsigned *words, const float *from)
{
#pragma unroll
    for (unsigned w = 0; w < WORDS; ++w)
        words[w] = BF16 ? narrow(from[2 * w], from[2 * w + 1]) : __float_as_uint(from[w]);
}

// ---- the vectors of a row ----

// The value that stands for an element outside the row. This value changes neither a maximum, nor a sum of exp(x - m),
// nor a sum.
enum : unsigned { OUTSIDE = KIND != SOFTMAX ? 0 : BF16 ? 0xff80ff80u : 0xff800000u }; // -infinity

// A row consists of vectors, which begin at multiples of a vector's size in memory. Vector j has the elements of the
// row from element VECTOR * j - shift on. Unless rows are ALIGNED, the first and the last vector may have elements of
// the neighbouring rows.
struct Row {
    offset begin;          // first element of the row
    // number of elements of the first vector that lie before the row; number of elements of the row
    unsigned shift, width;

    __device__ __forceinline__ Row(offset row, unsigned width)
        : begin(row * width), shift(ALIGNED ? 0 : (unsigned)(begin % VECTOR)), width(width)
    {
    }
    // the number wraps around ("negative") in the first vector
    __device__ __forceinline__ unsigned first(unsigned j) const
    {
        return VECTOR * j - shift;
    }
    __device__ __forceinline__ bool has(unsigned j, unsigned k) const // whether element k of vector j is in the row
    {
        return first(j) + (ALIGNED ? 0 : k) < width;
    }
    __device__ __forceinline__ bool has_all(unsigned j) const
    {
        return ALIGNED ? first(j) < width : first(j) < width && first(j) + VECTOR <= width;
    }
    __device__ __forceinline__ unsigned count() const // number of vectors of the row
    {
        return ceil_div(shift + width, VECTOR);
    }
};

// Loads vector j of a row of x. If the vector is partly outside the row, the function loads only the elements of the
// row.
__device__ __forceinline__ void load_vector(unsigned (&words)[WORDS], const element *x, Row row, unsigned j)
{
    if (row.has_all(j)) {
        *(words_at_once *)words = load<STREAMING>((const words_at_once *)(x + row.begin + row.first(j)));
        return;
    }
#pragma unroll
    for (unsigned w = 0; w < WORDS; ++w)
        words[w] = OUTSIDE;
    if (ALIGNED)
        return;
#pragma unroll
    for (unsigned k = 0; k < VECTOR; ++k)
        if (row.has(j, k)) {
            const element *from = x + row.begin + (row.first(j) + k);
            if (BF16)
                words[k / 2] = k % 2 ? (words[k / 2] & 0xffff) | (unsigned)*(const unsigned short *)from << 16
                                     : (words[k / 2] & 0xffff0000u) | *(const unsigned short *)from;
            else
                words[k / PER_WORD] = *(const unsigned *)from;
        }
}

__device__ __forceinline__ void store_vector(element *y, Row row, unsigned j, const float (&f)[VECTOR])
{
    if (row.has_all(j)) {
        alignas(16) unsigned words[WORDS];
        narrow(words, f);
        store<STREAMING>((words_at_once *)(y + row.begin + row.first(j)), *(const words_at_once *)words);
    } else if (!ALIGNED) {
#pragma unroll
        for (unsigned k = 0; k < VECTOR; ++k)
            if (row.has(j, k))
                put(y + row.begin + (row.first(j) + k), f[k]);
    }
}

// Loads the weights (gamma, beta) of vector j as floats.
__device__ __forceinline__ void load_weights(float (&to)[VECTOR], const element *weights, Row row, unsigned j)
{
    if (ALIGNED && row.has_all(j)) {
        alignas(16) unsigned words[WORDS];
        *(words_at_once *)words = *(const words_at_once *)(weights + row.first(j));
        widen(to, words);
        return;
    }
#pragma unroll
    for (unsigned k = 0; k < VECTOR; ++k)
        to[k] = !ALIGNED && row.has(j, k) ? widen(weights[row.first(j) + k]) : 0;
}

// ---- arithmetic ----

__device__ __forceinline__ float least()
{
    return __uint_as_float(0xff800000); // -infinity
}

struct Maximum { // fmaxf() ignores NaN, but exp(NaN) brings NaN into the sum
    typedef float item;
    static __device__ __forceinline__ item combine(item a, item b)
    {
        return fmaxf(a, b);
    }
};

typedef Plus<float> Sum;

// Returns the base that is subtracted from exponents: the maximum of the row. If all elements of the row are -infinity,
// the base is 0, so that each exponential is 0.
__device__ __forceinline__ float base_of(float maximum)
{
    return maximum == least() ? 0 : maximum;
}

// Returns exp(x - base), computed by the special-function unit. The difference is computed before the multiplication by
// log2(e). A single multiply-add, x log2(e) - base log2(e), would have an error that grows with the base, because the
// second product is rounded. Results below 2^-126 become 0.
__device__ __forceinline__ float exp_from(float x, float base)
{
    float power = (x - base) * 1.44269504f, result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(power));
    return result;
}

// Computes the results of a row from its elements: exp(x - base) * scale, (x - base) * scale or x * scale.
struct Result {
    float base, scale;
    // for the values that a thread holds AS_FLOATS: the result is held * held_scale + held_shift
    float held_scale, held_shift;
    __device__ __forceinline__ float of(float x) const
    {
        return KIND == SOFTMAX ? exp_from(x, base) * scale : KIND == LAYER_NORM ? (x - base) * scale : x * scale;
    }
};

__device__ __forceinline__ float weigh(float normal, float gamma, float beta)
{
    return KIND == SOFTMAX ? normal : KIND == LAYER_NORM ? normal * gamma + beta : normal * gamma;
}

// ---- threads that share a row ----

template <class T> __device__ __forceinline__ T shuffle_xor(T mine, unsigned distance)
{
    return __shfl_xor_sync(ALL_LANES, mine, distance);
}

// Combines the items of `count` neighbouring lanes, where `count` is at most the size of a warp. All these lanes get
// the result.
template <class Op, unsigned count> __device__ __forceinline__ typename Op::item lanes_reduce(typename Op::item mine)
{
#pragma unroll
    for (unsigned distance = count / 2; distance > 0; distance /= 2)
        mine = Op::combine(mine, shuffle_xor(mine, distance));
    return mine;
}

// Combines the items of `count` neighbouring threads of a block. All threads of the block must call this function.
// `turn` counts the calls. The calls use two arrays by turns, so one barrier per call is enough.
template <class Op, unsigned count>
__device__ __forceinline__ typename Op::item threads_reduce(typename Op::item mine, unsigned &turn)
{
    constexpr unsigned near = count < WARP ? count : WARP, warps = ceil_div(count, (unsigned)WARP);
    mine = lanes_reduce<Op, near>(mine);
    if (count <= WARP)
        return mine;
    __shared__ typename Op::item partials[2][BLOCK / WARP];
    typename Op::item *now = partials[turn++ % 2];
    if (lane_id() == 0)
        now[warp_id()] = mine;
    __syncthreads();
    return lanes_reduce<Op, warps>(now[warp_id() / warps * warps + lane_id() % warps]);
}

#if defined(NORMALISE_TWO_PASS) || !defined(NORMALISE_ONE)
// A block processes one row, with one pass over the row for each formula. A thread reads one element per iteration.
//
// Softmax and layer norm read the row three times, and RMS norm reads it twice. A row of a few KB is still in the L1 or
// L2 when it is read again, so it comes from memory only once. But each pass waits for the previous pass at a barrier,
// and a thread has few bytes in flight.
extern "C" __global__ void __launch_bounds__(BLOCK)
    normalise_two_pass(const element *__restrict__ x, const element *__restrict__ gamma,
                       const element *__restrict__ beta, element *__restrict__ y, unsigned width, float epsilon)
{
    const offset begin = (offset)blockIdx.x * width;
    Result result = {0, 0};
    unsigned turn = 0;
    float sum = 0;
    if (KIND == SOFTMAX) {
        float maximum = least();
        for (unsigned i = threadIdx.x; i < width; i += BLOCK)
            maximum = fmaxf(maximum, widen(x[begin + i]));
        result.base = base_of(threads_reduce<Maximum, BLOCK>(maximum, turn));
        for (unsigned i = threadIdx.x; i < width; i += BLOCK)
            sum += exp_from(widen(x[begin + i]), result.base);
        result.scale = 1 / threads_reduce<Sum, BLOCK>(sum, turn);
    } else {
        if (KIND == LAYER_NORM) {
            for (unsigned i = threadIdx.x; i < width; i += BLOCK)
                sum += widen(x[begin + i]);
            result.base = threads_reduce<Sum, BLOCK>(sum, turn) / width;
        }
        float squares = 0;
        for (unsigned i = threadIdx.x; i < width; i += BLOCK) {
            float d = widen(x[begin + i]) - result.base;
            squares += d * d;
        }
        result.scale = rsqrtf(threads_reduce<Sum, BLOCK>(squares, turn) / width + epsilon);
    }
    for (unsigned i = threadIdx.x; i < width; i += BLOCK)
        put(y + begin + i, weigh(result.of(widen(x[begin + i])), KIND == SOFTMAX ? 0 : widen(gamma[i]),
                                 KIND == LAYER_NORM ? widen(beta[i]) : 0));
}
#endif

#if defined(NORMALISE_ONLINE) || defined(NORMALISE_CLUSTER_ROW) || !defined(NORMALISE_ONE)
// ---- the statistics of some elements of a row, by one pass over these elements ----

// The types below are operators with these members:
//
// - `item`: the statistics of some elements.
// - `identity()`, `combine()`: as for any operator (common.cuh).
// - `take()`: adds the elements of a vector to an item.
// - `of()`: returns the item of `count` elements from their maximum or mean, and from the sum relative to it.
// - `result()`: returns the Result of the row.

struct Exponentials { // the maximum m, and the sum of exp(x - m); if m grows, the sum is scaled down
    struct item {
        float m, sum;
    };
    static __device__ __forceinline__ item identity()
    {
        return {least(), 0};
    }
    static __device__ __forceinline__ item of(float m, float sum, float)
    {
        return {m, sum};
    }
    static __device__ __forceinline__ item combine(item a, item b)
    {
        float m = fmaxf(a.m, b.m), base = base_of(m);
        return {m, a.sum * exp_from(a.m, base) + b.sum * exp_from(b.m, base)};
    }
    static __device__ __forceinline__ item take(item mine, const float (&f)[VECTOR], Row, unsigned)
    {
        float m = mine.m;
#pragma unroll
        for (unsigned k = 0; k < VECTOR; ++k)
            m = fmaxf(m, f[k]);
        float base = base_of(m), sum = mine.sum * exp_from(mine.m, base);
#pragma unroll
        for (unsigned k = 0; k < VECTOR; ++k)
            sum += exp_from(f[k], base);
        return {m, sum};
    }
    static __device__ __forceinline__ Result result(item all, unsigned, float)
    {
        return {base_of(all.m), 1 / all.sum};
    }
};

struct Moments { // Welford's method: number of elements, mean, and sum of the squared distances from the mean
    struct item {
        float count, mean, squares;
    };
    static __device__ __forceinline__ item identity()
    {
        return {0, 0, 0};
    }
    static __device__ __forceinline__ item of(float mean, float squares, float count)
    {
        return {count, mean, squares};
    }
    static __device__ __forceinline__ item combine(item a, item b) // the formulas of Chan, Golub and LeVeque
    {
        float count = a.count + b.count, part = count == 0 ? 0 : b.count / count, apart = b.mean - a.mean;
        return {count, a.mean + apart * part, a.squares + b.squares + apart * apart * (a.count * part)};
    }
    static __device__ __forceinline__ item take(item mine, const float (&f)[VECTOR], Row row, unsigned j)
    {
        item some = identity();
#pragma unroll
        for (unsigned k = 0; k < VECTOR; ++k)
            some.mean += f[k]; // f[k] is 0 outside the row
        if (ALIGNED) {
            some.count = VECTOR;
        } else {
#pragma unroll
            for (unsigned k = 0; k < VECTOR; ++k)
                some.count += row.has(j, k) ? 1 : 0;
        }
        some.mean /= some.count;
#pragma unroll
        for (unsigned k = 0; k < VECTOR; ++k)
            if (row.has(j, k))
                some.squares += (f[k] - some.mean) * (f[k] - some.mean);
        return combine(mine, some);
    }
    static __device__ __forceinline__ Result result(item all, unsigned width, float epsilon)
    {
        return {all.mean, rsqrtf(all.squares / width + epsilon)};
    }
};

struct Squares : Plus<float> {
    static __device__ __forceinline__ item of(float, float squares, float)
    {
        return squares;
    }
    static __device__ __forceinline__ item take(item mine, const float (&f)[VECTOR], Row, unsigned)
    {
#pragma unroll
        for (unsigned k = 0; k < VECTOR; ++k)
            mine += f[k] * f[k];
        return mine;
    }
    static __device__ __forceinline__ Result result(item all, unsigned width, float epsilon)
    {
        return {0, rsqrtf(all / width + epsilon)};
    }
};

__device__ __forceinline__ Exponentials::item shuffle_xor(Exponentials::item mine, unsigned distance)
{
    return {shuffle_xor(mine.m, distance), shuffle_xor(mine.sum, distance)};
}

__device__ __forceinline__ Moments::item shuffle_xor(Moments::item mine, unsigned distance)
{
    return {shuffle_xor(mine.count, distance), shuffle_xor(mine.mean, distance), shuffle_xor(mine.squares, distance)};
}

typedef choose<KIND, Exponentials, Moments, Squares> Known;
#endif

#if defined(NORMALISE_ONLINE) || !defined(NORMALISE_ONE)
// A block processes one row in two passes. The first pass finds the statistics of the row, and the second pass writes
// the row.
//
// Compared with two_pass, there is one pass less for softmax and layer norm, accesses are whole vectors, and each
// thread has IN_FLIGHT vectors in flight. This costs some arithmetic: each vector changes the running maximum or mean,
// and the sum is corrected.
extern "C" __global__ void __launch_bounds__(BLOCK)
    normalise_online(const element *__restrict__ x, const element *__restrict__ gamma, const element *__restrict__ beta,
                     element *__restrict__ y, unsigned width, float epsilon)
{
    const Row row(blockIdx.x, width);
    const unsigned count = row.count();
    typename Known::item mine = Known::identity();
    for (unsigned j = threadIdx.x; j < count; j += IN_FLIGHT * BLOCK) {
        alignas(16) unsigned words[IN_FLIGHT][WORDS];
#pragma unroll
        for (unsigned i = 0; i < IN_FLIGHT; ++i)
            load_vector(words[i], x, row, j + i * BLOCK);
#pragma unroll
        for (unsigned i = 0; i < IN_FLIGHT; ++i) {
            float f[VECTOR];
            widen(f, words[i]);
            if (j + i * BLOCK < count)
                mine = Known::take(mine, f, row, j + i * BLOCK);
        }
    }
    unsigned turn = 0;
    const Result result = Known::result(threads_reduce<Known, BLOCK>(mine, turn), width, epsilon);
    for (unsigned j = threadIdx.x; j < count; j += IN_FLIGHT * BLOCK) {
        alignas(16) unsigned words[IN_FLIGHT][WORDS];
#pragma unroll
        for (unsigned i = 0; i < IN_FLIGHT; ++i)
            load_vector(words[i], x, row, j + i * BLOCK);
#pragma unroll
        for (unsigned i = 0; i < IN_FLIGHT; ++i) {
            float f[VECTOR], g[VECTOR] = {}, b[VECTOR] = {};
            widen(f, words[i]);
            if (KIND != SOFTMAX)
                load_weights(g, gamma, row, j + i * BLOCK);
            if (KIND == LAYER_NORM)
                load_weights(b, beta, row, j + i * BLOCK);
#pragma unroll
            for (unsigned k = 0; k < VECTOR; ++k)
                f[k] = weigh(result.of(f[k]), g[k], b[k]);
            store_vector(y, row, j + i * BLOCK, f);
        }
    }
}
#endif

#if defined(NORMALISE_REGISTER_ROW) || defined(NORMALISE_CLUSTER_ROW) || !defined(NORMALISE_ONE)
// ---- rows that stay on the SM between their read and their write ----

enum : unsigned { AS_FLOATS, AS_WORDS, IN_SHARED, IN_BOTH, STAGES = AHEAD + 1 };
enum : unsigned { // how many of the vectors of a thread are in shared memory and in registers
    SHARED_VECTORS = KEEP == IN_SHARED ? VECTORS : KEEP == IN_BOTH ? VECTORS / 2 : 0,
    REGISTER_VECTORS = VECTORS - SHARED_VECTORS
};

// The vectors of a row that a thread has. The first SHARED_VECTORS of them are in shared memory. Each thread reads only
// the vectors that it copied. So a thread waits for its own copies and needs no barrier.
//
// - `fetch()` begins to load a row.
// - `arrived()` makes the oldest row that was fetched the current row. With ONLINE, the vectors in shared memory have
//   arrived only after wait().
// - `wait()` waits for vector v. Only ONLINE needs it, and must call it for the vectors in order.
// - `get()` and `set()` read and write the floats of vector v. Only with AS_FLOATS does get() return the values that
//   set() wrote.
// - `leave()` ends the use of the current row.
struct Held {
    enum : unsigned { IN_REGISTERS = REGISTER_VECTORS > 0 ? REGISTER_VECTORS : 1 };
    float floats[KEEP == AS_FLOATS ? VECTORS : 1][VECTOR];
    alignas(16) unsigned words[KEEP == AS_FLOATS ? 1 : IN_REGISTERS][WORDS];
    alignas(16) unsigned next[IN_REGISTERS][WORDS]; // the words of the row that was fetched last
    uint4 *room;                                    // shared memory for STAGES rows
    // number of the stage for the next fetch; number of the stage with the current row
    unsigned newest, stage;

    __device__ __forceinline__ uint4 *place(unsigned s, unsigned v)
    {
        return room + (s * SHARED_VECTORS + v) * BLOCK + threadIdx.x;
    }
    __device__ __forceinline__ void begin(uint4 *shared)
    {
        room = shared;
        newest = stage = 0;
    }
    __device__ __forceinline__ void fetch(const element *x, Row row, unsigned lane, unsigned lanes)
    {
#pragma unroll
        for (unsigned v = 0; v < VECTORS; ++v) {
            const unsigned j = v * lanes + lane;
            if (v >= SHARED_VECTORS) {
                load_vector(next[v - SHARED_VECTORS], x, row, j);
                continue;
            }
            if (row.has_all(j)) {
                copy_async<16>(place(newest, v), x + row.begin + row.first(j));
            } else {
                alignas(16) unsigned some[WORDS];
                load_vector(some, x, row, j);
                *(words_at_once *)place(newest, v) = *(const words_at_once *)some;
            }
            if (ONLINE)
                copy_async_commit();
        }
        if (SHARED_VECTORS > 0) {
            if (!ONLINE)
                copy_async_commit();
            newest = newest + 1 == STAGES ? 0 : newest + 1;
        }
    }
    __device__ __forceinline__ void arrived()
    {
        if (SHARED_VECTORS > 0 && !ONLINE)
            copy_async_wait<AHEAD>();
#pragma unroll
        for (unsigned v = 0; v < REGISTER_VECTORS; ++v)
            if (KEEP == AS_FLOATS) {
                widen(floats[v], next[v]);
            } else {
#pragma unroll
                for (unsigned w = 0; w < WORDS; ++w)
                    words[v][w] = next[v][w];
            }
    }
    template <unsigned v> __device__ __forceinline__ void wait()
    {
        if (v < SHARED_VECTORS)
            copy_async_wait<(v < SHARED_VECTORS ? SHARED_VECTORS - 1 - v : 0)>();
    }
    __device__ __forceinline__ void get(float (&f)[VECTOR], unsigned v)
    {
        if (KEEP == AS_FLOATS) {
#pragma unroll
            for (unsigned k = 0; k < VECTOR; ++k)
                f[k] = floats[v][k];
        } else if (v >= SHARED_VECTORS) {
            widen(f, words[v - SHARED_VECTORS]);
        } else {
            alignas(16) unsigned here[WORDS];
            *(words_at_once *)here = *(const words_at_once *)place(stage, v);
            widen(f, here);
        }
    }
    __device__ __forceinline__ void set(const float (&f)[VECTOR], unsigned v)
    {
        if (KEEP == AS_FLOATS) {
#pragma unroll
            for (unsigned k = 0; k < VECTOR; ++k)
                floats[v][k] = f[k];
        }
    }
    __device__ __forceinline__ void leave()
    {
        stage = stage + 1 == STAGES ? 0 : stage + 1;
    }
};

// The gamma or beta of a thread's vectors. They are kept in registers, or read again for every row.
struct Weights {
    enum : unsigned { COUNT = HOLD_WEIGHTS && ALIGNED ? VECTORS : 1 };
    alignas(16) unsigned words[COUNT][WORDS];
    const element *weights;

    __device__ __forceinline__ void begin(const element *from, unsigned width, unsigned lane, unsigned lanes)
    {
        weights = from;
#pragma unroll
        for (unsigned v = 0; v < COUNT; ++v)
            if (HOLD_WEIGHTS && ALIGNED && VECTOR * (v * lanes + lane) < width)
                *(words_at_once *)words[v] = *(const words_at_once *)(from + VECTOR * (v * lanes + lane));
    }
    __device__ __forceinline__ void get(float (&to)[VECTOR], Row row, unsigned v, unsigned j)
    {
        if (HOLD_WEIGHTS && ALIGNED)
            widen(to, words[v]);
        else
            load_weights(to, weights, row, j);
    }
};

// Computes the Result of the row of a team from the vectors that its threads hold. With AS_FLOATS, the threads then
// hold exp(x - base) or x - base instead of x.
template <class Team>
__device__ __forceinline__ Result result_of(Held &held, Row row, Team &team, float epsilon)
{
    Result result = {0, 0, 0, 0};
    float f[VECTOR], sum = 0;
    if (KIND == SOFTMAX) {
        float maximum = least();
#pragma unroll
        for (unsigned v = 0; v < VECTORS; ++v) {
            held.get(f, v);
#pragma unroll
            for (unsigned k = 0; k < VECTOR; ++k)
                maximum = fmaxf(maximum, f[k]);
        }
        result.base = base_of(team.template reduce<Maximum>(maximum));
#pragma unroll
        for (unsigned v = 0; v < VECTORS; ++v) {
            held.get(f, v);
#pragma unroll
            for (unsigned k = 0; k < VECTOR; ++k)
                sum += f[k] = exp_from(f[k], result.base);
            held.set(f, v);
        }
        result.scale = result.held_scale = 1 / team.template reduce<Sum>(sum);
        return result;
    }
    if (KIND == LAYER_NORM) {
#pragma unroll
        for (unsigned v = 0; v < VECTORS; ++v) {
            held.get(f, v);
#pragma unroll
            for (unsigned k = 0; k < VECTOR; ++k)
                sum += f[k]; // f[k] is 0 outside the row
        }
        result.base = team.template reduce<Sum>(sum) / row.width;
    }
    float squares = 0;
#pragma unroll
    for (unsigned v = 0; v < VECTORS; ++v) {
        held.get(f, v);
#pragma unroll
        for (unsigned k = 0; k < VECTOR; ++k) {
            f[k] = KIND == RMS_NORM || row.has(v * team.lanes + team.lane, k) ? f[k] - result.base : 0;
            squares += f[k] * f[k];
        }
        held.set(f, v);
    }
    result.scale = result.held_scale = rsqrtf(team.template reduce<Sum>(squares) / row.width + epsilon);
    return result;
}

template <class Team>
__device__ __forceinline__ void held_rows(const element *x, const element *gamma, const element *beta, element *y,
                                          unsigned rows, unsigned width, float epsilon, Team team)
{
    extern __shared__ uint4 room[];
    Held held;
    Weights gammas, betas;
    held.begin(room);
    if (KIND != SOFTMAX)
        gammas.begin(gamma, width, team.lane, team.lanes);
    if (KIND == LAYER_NORM)
        betas.begin(beta, width, team.lane, team.lanes);
    // A team that has no further row continues together with the other teams of the block, on a row without elements.
    unsigned asked = team.row;
#pragma unroll
    for (unsigned i = 0; i < AHEAD; ++i, asked += team.step)
        held.fetch(x, Row(asked, asked < rows ? width : 0), team.lane, team.lanes);
    for (unsigned first = team.row - team.of_block; first < rows; first += team.step, asked += team.step) {
        Row row(first + team.of_block, first + team.of_block < rows ? width : 0);
        if (KEEP != IN_SHARED && AHEAD > 0)
            held.arrived();
        held.fetch(x, Row(asked, asked < rows ? width : 0), team.lane, team.lanes);
        if (KEEP == IN_SHARED || AHEAD == 0)
            held.arrived();
        const Result result = team.result(held, row, epsilon);
#pragma unroll
        for (unsigned v = 0; v < VECTORS; ++v) {
            const unsigned j = v * team.lanes + team.lane;
            float f[VECTOR], g[VECTOR] = {}, b[VECTOR] = {};
            held.get(f, v);
            if (KIND != SOFTMAX)
                gammas.get(g, row, v, j);
            if (KIND == LAYER_NORM)
                betas.get(b, row, v, j);
#pragma unroll
            for (unsigned k = 0; k < VECTOR; ++k)
                f[k] = weigh(KEEP == AS_FLOATS ? f[k] * result.held_scale + result.held_shift : result.of(f[k]), g[k], b[k]);
            store_vector(y, row, j, f);
        }
        held.leave();
    }
}
#endif

#if defined(NORMALISE_REGISTER_ROW) || !defined(NORMALISE_ONE)
struct Lanes { // a team of LANES threads of a block
    enum : unsigned { lanes = LANES };
    unsigned lane, of_block; // number of the thread in its team; number of the team in its block
    unsigned row, step;      // first row of the team; distance to its next row
    unsigned turn;
    template <class Op> __device__ __forceinline__ float reduce(float mine)
    {
        return threads_reduce<Op, LANES>(mine, turn);
    }
    __device__ __forceinline__ Result result(Held &held, Row row, float epsilon)
    {
        return result_of(held, row, *this, epsilon);
    }
};

// LANES threads hold a row, so the row is read once and written once.
//
// Compared with online, there is no second read, not even from the L2. The thread requests all its vectors at once,
// before any arithmetic. A narrow row needs a warp or less and no barrier, and a block then processes several rows. If
// there are fewer teams than rows, a team continues with other rows. It may fetch the next rows early (AHEAD). If KEEP
// is AS_WORDS, a row of bfloat16 needs half as many registers, but the exponentials are computed twice. If KEEP is
// IN_SHARED, rows are in shared memory and need no registers, so more rows can be in flight.
extern "C" __global__ void __launch_bounds__(BLOCK, PER_SM > 0 ? PER_SM : 1)
    normalise_register_row(const element *__restrict__ x, const element *__restrict__ gamma,
                           const element *__restrict__ beta, element *__restrict__ y, unsigned rows, unsigned width,
                           float epsilon)
{
    constexpr unsigned teams = BLOCK / LANES;
    const unsigned of_block = threadIdx.x / LANES;
    Lanes team = {threadIdx.x % LANES, of_block, blockIdx.x * teams + of_block, gridDim.x * teams, 0};
    held_rows(x, gamma, beta, y, rows, width, epsilon, team);
}
#endif

#if defined(NORMALISE_CLUSTER_ROW) || !defined(NORMALISE_ONE)
struct Blocks { // a team of CLUSTER blocks
    enum : unsigned { lanes = CLUSTER * BLOCK, WARPS = lanes / WARP };
    unsigned lane, of_block;
    unsigned row, step;
    unsigned turn;

    struct Exchange {
        typename Known::item parts[2][WARPS];
        barrier full[2];
    };
    static __device__ __forceinline__ Exchange &exchange()
    {
        __shared__ Exchange shared;
        return shared;
    }
    static __device__ __forceinline__ void begin()
    {
        if (threadIdx.x == 0) {
            barrier_init(exchange().full, 1);
            barrier_init(exchange().full + 1, 1);
            barriers_made();
        }
        __syncwarp();
        cluster_arrive();
    }

    // Each warp sends its item to every block of the cluster. A barrier in each block counts the bytes that have
    // arrived. The calls use two arrays and two barriers by turns. A warp sends the item of a call only after it has
    // read the items of the previous call. So no warp is more than one call ahead.
    __device__ __forceinline__ typename Known::item combine(typename Known::item mine)
    {
        enum : unsigned { FLOATS = sizeof mine / sizeof(float) };
        typename Known::item *const parts = exchange().parts[turn % 2];
        barrier *const full = exchange().full + turn % 2;
        if (threadIdx.x == 0)
            barrier_expect(full, WARPS * sizeof mine);
        if (turn == 0)
            cluster_wait(); // all blocks have initialised their barriers
        if (lane_id() < CLUSTER)
#pragma unroll
            for (unsigned i = 0; i < FLOATS; ++i)
                cluster_send((float *)(parts + lane / WARP) + i, lane_id(), ((const float *)&mine)[i], full);
        barrier_wait(full, turn / 2 % 2);
        turn++;
        mine = parts[lane_id() % WARPS];
#pragma unroll
        for (unsigned i = WARP; i < WARPS; i += WARP)
            mine = Known::combine(mine, parts[i + lane_id()]);
        constexpr unsigned count = WARPS < WARP ? WARPS : WARP;
        return lanes_reduce<Known, count>(mine);
    }

    template <unsigned v> __device__ __forceinline__ void take_all(Held &held, Row row, typename Known::item &mine)
    {
        if constexpr (v < VECTORS) {
            float f[VECTOR];
            held.wait<v>();
            held.get(f, v);
            if (v * lanes + lane < row.count())
                mine = Known::take(mine, f, row, v * lanes + lane);
            take_all<v + 1>(held, row, mine);
        }
    }

    // Does the same as result_of(). Each warp computes its elements relative to its own maximum or mean. So the blocks
    // exchange their statistics only once.
    __device__ __forceinline__ Result result(Held &held, Row row, float epsilon)
    {
        if (ONLINE) {
            typename Known::item mine = Known::identity();
            take_all<0>(held, row, mine);
            return Known::result(combine(lanes_reduce<Known, WARP>(mine)), row.width, epsilon);
        }
        float f[VECTOR], sum = 0, count = 0, base = 0;
        if (KIND == SOFTMAX) {
            base = least();
#pragma unroll
            for (unsigned v = 0; v < VECTORS; ++v) {
                held.get(f, v);
#pragma unroll
                for (unsigned k = 0; k < VECTOR; ++k)
                    base = fmaxf(base, f[k]);
            }
            base = lanes_reduce<Maximum, WARP>(base);
        } else if (KIND == LAYER_NORM) {
#pragma unroll
            for (unsigned v = 0; v < VECTORS; ++v) {
                held.get(f, v);
#pragma unroll
                for (unsigned k = 0; k < VECTOR; ++k) {
                    sum += f[k]; // f[k] is 0 outside the row
                    count += row.has(v * lanes + lane, k) ? 1 : 0;
                }
            }
            sum = lanes_reduce<Sum, WARP>(sum), count = lanes_reduce<Sum, WARP>(count);
            base = count > 0 ? sum / count : 0;
            sum = 0;
        }
        const float from = KIND == SOFTMAX ? base_of(base) : base;
        if (KEEP == IN_SHARED)
            __syncwarp(); // makes the compiler read the row again from shared memory instead of keeping it in registers
#pragma unroll
        for (unsigned v = 0; v < VECTORS; ++v) {
            held.get(f, v);
#pragma unroll
            for (unsigned k = 0; k < VECTOR; ++k)
                if (KIND == SOFTMAX) {
                    sum += f[k] = exp_from(f[k], from);
                } else {
                    f[k] = KIND == RMS_NORM || row.has(v * lanes + lane, k) ? f[k] - from : 0;
                    sum += f[k] * f[k];
                }
            held.set(f, v);
        }
        sum = lanes_reduce<Sum, WARP>(sum);
        Result all = Known::result(combine(Known::of(base, sum, count)), row.width, epsilon);
        all.held_scale = KIND == SOFTMAX ? all.scale * exp_from(base, all.base) : all.scale;
        all.held_shift = KIND == LAYER_NORM ? (base - all.base) * all.scale : 0;
        return all;
    }
};

// CLUSTER blocks hold a row. This serves rows that are too wide for one SM, and works with too few rows to keep all SMs
// busy.
//
// Compared with register_row, a row has the registers and shared memory of several SMs, and several SMs load it. The
// blocks write their statistics from registers to the shared memory of the other blocks, where a barrier counts the
// bytes.
extern "C" __global__ void __launch_bounds__(BLOCK, PER_SM > 0 ? PER_SM : 1)
    normalise_cluster_row(const element *__restrict__ x, const element *__restrict__ gamma,
                          const element *__restrict__ beta, element *__restrict__ y, unsigned rows, unsigned width,
                          float epsilon)
{
    Blocks::begin();
    Blocks team = {cluster_rank() * BLOCK + threadIdx.x, 0, blockIdx.x / CLUSTER, gridDim.x / CLUSTER, 0};
    held_rows(x, gamma, beta, y, rows, width, epsilon, team);
}
#endif
