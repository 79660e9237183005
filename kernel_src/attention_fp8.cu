// attention_fp8.cu - scaled dot-product attention, forward, of 8-bit floats (e4m3), in four ways. attention.cu explains
// the method, the sizes and CAUSAL. Q, K and V are e4m3 and have one scale for each head:
//     O = softmax(q_scale k_scale Q K^T / sqrt(HEAD_DIM)) v_scale V
// O is bfloat16. Scales are single precision and positive. Inputs must be finite.
//
// Tensor cores multiply e4m3 twice as fast as bfloat16, so the exponentials take as long as the products. The second
// product, P V, has two new difficulties:
// - wgmma reads its second operand along K, and in this product K are the keys. V is stored in rows, one for each key.
//   wgmma can read only elements of 16 bits across rows. Therefore V must be transposed before it is multiplied.
// - The accumulators of the first product are not in the layout of the first operand of the second product. A lane has
//   two neighbouring columns of each square of 8 keys, but the operand needs four neighbouring bytes.
//
// One permutation of the keys solves both problems. The result of a product does not depend on the order of the terms
// along K. Therefore byte 4 t + i of 16 bytes along K may stand for key 8 (i / 2) + 2 t + i % 2 of 16 keys. With this
// order, a lane of the first operand has exactly the keys of its own accumulators. So no value moves between lanes. The
// transposition of V puts the keys into the same order. It loads two squares of 8 x 8 pairs of bytes (ldmatrix.trans),
// and prmt takes the bytes of even columns, or the bytes of odd columns, from two registers. In each block of 16
// columns of O, the even columns come first. The last step of the kernel puts the columns back into their order.
//
// Precision: the exponential of a row's greatest score is about 2^RAISE, so that smaller exponentials are not too small
// for e4m3. Except in `naive`, exponentials are rounded to e4m3 before they are multiplied by V. The relative error of
// this rounding is at most 2^-4. The sum of a row adds the exponentials before they are rounded. With SUM_COLUMN it
// adds the rounded exponentials. In these additions wgmma keeps 13 bits of its terms and of the sum (gemm.cu). Each
// variant gives the same bits in every run.
//
// The tuning parameters are macros. The engine defines these macros from the spec. The defaults below only let an
// editor or a compiler parse this file alone. A kernel is compiled if its own macro ATTENTION8_<NAME> is set, or if
// ATTENTION8_ONE is not set.

#ifndef HEAD_DIM
#define HEAD_DIM 64 // 64 or 128
#endif
#ifndef CAUSAL
#define CAUSAL 0
#endif
#ifndef BLOCK
#define BLOCK 128 // naive: number of threads of a block; a multiple of HEAD_DIM
#endif
#ifndef WARPS
#define WARPS 4 // flash_async: number of warps of a block, each with 16 queries
#endif
#ifndef TILE_K
#define TILE_K 64 // number of keys of a tile; a multiple of 32
#endif
#ifndef EXP_POLY
#define EXP_POLY 0
#endif
#ifndef STAGES
#define STAGES 2 // number of tiles of keys and values in shared memory
#endif
#ifndef HEADS_FIRST
#define HEADS_FIRST 0
#endif
#define PERSISTENT 2
// Exponentials reach 2^(6 + 2.75), which is less than the largest e4m3 number, 448.
#define SOFTMAX_RAISE 6
#define SOFTMAX_SLACK 2.75f

#include "async.cuh"
#include "attention.cuh"
#include "attention_tiles.cuh"

struct Scales {
    const float *q, *k, *v; // one scale for each head of queries (q) or of keys (k, v)
};

// Returns the factor that converts a score to an exponent of 2. It is the factor of attention.cuh times the scales of
// both operands.
__device__ __forceinline__ float score_units(const Scales &scales, const Place &at)
{
    return factor() * scales.q[at.head] * scales.k[at.kv_head];
}

#if defined(ATTENTION8_NAIVE) || !defined(ATTENTION8_ONE)
// Converts an e4m3 number to a float. The function moves the exponent and the fraction to their places in a float. A
// multiplication then corrects the bias of the exponent, which is also right for subnormal numbers.
__device__ __forceinline__ float as_float(f8e4m3 e)
{
    const float size = __uint_as_float((e.bits & 0x7fu) << 20) * __uint_as_float((127 + 120) << 23);
    return e.bits & 0x80 ? -size : size;
}

// Combines the items of all threads of the block. All threads get the result.
template <bool maximum> __device__ __forceinline__ float block_all_reduce(float mine)
{
    __shared__ float all[BLOCK];
    __syncthreads();
    all[threadIdx.x] = mine;
    __syncthreads();
    for (unsigned i = 0; i < BLOCK; ++i)
        mine = i == 0 ? all[0] : maximum ? fmaxf(mine, all[i]) : mine + all[i];
    return mine;
}

// As in attention.cu, each block computes one query. It computes all scores in shared memory, their softmax, and then
// the mean of the rows of V. No exponential is rounded to 8 bits, so this kernel shows how much of the other kernels'
// error comes from this rounding.
extern "C" __global__ void __launch_bounds__(BLOCK)
    attention8_naive(const f8e4m3 *__restrict__ q, const f8e4m3 *__restrict__ k, const f8e4m3 *__restrict__ v,
                     const float *q_scale, const float *k_scale, const float *v_scale, bf16 *__restrict__ o,
                     unsigned heads, unsigned kv_heads, unsigned queries, unsigned keys)
{
    extern __shared__ float scores[];
    __shared__ float query[HEAD_DIM], parts[BLOCK];
    const Sizes n = {heads, kv_heads, queries, keys};
    const Place at(n, 1, blockIdx.x);
    const offset row = (offset)at.head * queries + at.first, base = (offset)at.kv_head * keys * HEAD_DIM;
    const int seen = keys_seen(at.first, n);
    const float units = score_units({q_scale, k_scale, v_scale}, at);
    for (unsigned d = threadIdx.x; d < HEAD_DIM; d += BLOCK)
        query[d] = as_float(q[row * HEAD_DIM + d]);
    __syncthreads();
    float top = least(), sum = 0;
    for (int j = (int)threadIdx.x; j < seen; j += BLOCK) {
        float score = 0;
        for (unsigned d = 0; d < HEAD_DIM; ++d)
            score += query[d] * as_float(k[base + (offset)j * HEAD_DIM + d]);
        scores[j] = score;
        top = fmaxf(top, score);
    }
    top = block_all_reduce<true>(top);
    for (int j = (int)threadIdx.x; j < seen; j += BLOCK)
        sum += scores[j] = exp2_fast((scores[j] - top) * units);
    sum = block_all_reduce<false>(sum);
    const unsigned column = threadIdx.x % HEAD_DIM;
    float mean = 0;
    for (int j = (int)(threadIdx.x / HEAD_DIM); j < seen; j += BLOCK / HEAD_DIM)
        mean += scores[j] * as_float(v[base + (offset)j * HEAD_DIM + column]);
    parts[threadIdx.x] = mean;
    __syncthreads();
    if (threadIdx.x >= HEAD_DIM)
        return;
    for (unsigned i = threadIdx.x + HEAD_DIM; i < BLOCK; i += HEAD_DIM)
        mean += parts[i];
    store_one(o + row * HEAD_DIM + threadIdx.x, sum > 0 ? mean / sum * v_scale[at.kv_head] : 0);
}
#endif

// ---- the layout of the second product ----

// bytes of a row of Q, K and V; steps of 32 bytes along such a row
enum : unsigned { ROW_BYTES = HEAD_DIM, STEPS = HEAD_DIM / 32 };

// Returns the offset of byte `column` of a row, in a tile with rows of HEAD_DIM bytes.
__device__ __forceinline__ unsigned row_place(unsigned row, unsigned column)
{
    return swizzled<ROW_BYTES>(row * ROW_BYTES + column);
}

// Converts four exponentials to e4m3. The lowest byte of the result gets `a`.
__device__ __forceinline__ unsigned pack_quad(float a, float b, float c, float d)
{
    unsigned quad;
    asm volatile("{.reg .b16 low, high;\n"
        "cvt.rn.satfinite.e4m3x2.f32 low, %2, %1;\n"
        "cvt.rn.satfinite.e4m3x2.f32 high, %4, %3;\n"
        "mov.b32 %0, {low, high};}"
        : "=r"(quad)
        : "f"(a), "f"(b), "f"(c), "f"(d));
    return quad;
}

// Converts exponentials to the first operand of a product. 32 columns of exponentials become one fragment. The top of
// the file explains the order of the bytes of a fragment.
template <unsigned count> __device__ __forceinline__ void as_quads(unsigned (&p)[count / 16][4], const float (&s)[count])
{
#pragma unroll
    for (unsigned i = 0; i < count / 4; ++i) {
        const unsigned j = i / 4, from = 16 * j + i / 2 % 2 * 8 + i % 2 * 2;
        p[j][i % 4] = pack_quad(s[from], s[from + 1], s[from + 4], s[from + 5]);
    }
}

// Reads 32 keys and 16 columns of V, and transposes them. Lane i gives the address of 16 bytes of key i. The first word
// of `to` has keys 0 to 15 of an even column, and the second word has keys 16 to 31. The other two words have the same
// keys of an odd column. Lane 4 c + t has columns 2 c and 2 c + 1.
__device__ __forceinline__ void load_turned(unsigned (&to)[4], unsigned address)
{
    unsigned squares[4];
    load_fragments_turned(squares, address);
    to[0] = __byte_perm(squares[0], squares[1], 0x6420);
    to[1] = __byte_perm(squares[2], squares[3], 0x6420);
    to[2] = __byte_perm(squares[0], squares[1], 0x7531);
    to[3] = __byte_perm(squares[2], squares[3], 0x7531);
}

// An online softmax in which few instructions wait for each other. The scores of a tile mostly do not exceed the base
// of their row by more than SLACK. In this case no lane needs to know the greatest score of a row. It is enough that no
// lane has a score above the limit of its row. One vote of the warp tells whether this holds. If a score is above its
// limit, find_bases() finds new bases. Each exponential is added and converted soon after it is made. So these
// instructions run while the next exponentials are made.
//
// A polynomial of degree 2 makes EXP_POLY of every eight exponentials. Its relative error is below 2e-3. The largest
// error of rounding to e4m3 is 30 times as large.
struct QuickSoftmax : Softmax {
    float from[2]; // this number is subtracted from a score, in units of powers of 2
    // the bits of the greatest score that needs no new base, or the smallest integer if this score is negative
    int limit[2];

    __device__ __forceinline__ void begin()
    {
        Softmax::begin();
        from[0] = from[1] = -RAISE;
        limit[0] = limit[1] = 1 << 31;
    }
    // Returns whether a score of the warp is above the limit of its row. The bits of floats are compared as integers,
    // because sm_90 has an instruction for the maximum of three integers, but none for three floats. If a float is
    // above a positive limit, its bits are also the greater integer. If the limit is negative, the function returns
    // true.
    template <unsigned count> __device__ __forceinline__ bool is_exceeded(const float (&s)[count]) const
    {
        int most[2][2];
#pragma unroll
        for (unsigned r = 0; r < 2; ++r) {
#pragma unroll
            for (unsigned half = 0; half < 2; ++half) {
                most[r][half] = limit[r];
#pragma unroll
                for (unsigned i = 2 * r + half * count / 2; i < (half + 1) * count / 2; i += 4)
                    most[r][half] = max(most[r][half], max(__float_as_int(s[i]), __float_as_int(s[i + 1])));
            }
        }
        const int above = max(most[0][0], most[0][1]) > limit[0] | max(most[1][0], most[1][1]) > limit[1];
        return __any_sync(ALL_LANES, above | (limit[0] | limit[1]) < 0);
    }
    // Finds new bases for the rows. The caller must multiply the accumulators of O by `scale`.
    template <unsigned count> __device__ __forceinline__ void find_bases(const float (&s)[count], float (&scale)[2], float units)
    {
#pragma unroll
        for (unsigned r = 0; r < 2; ++r) {
            const float base_now = rebase(greatest(s, r) * units, scale[r], r);
            const float most = __fdividef(base_now + SLACK, units);
            from[r] = base_now - RAISE;
            limit[r] = base[r] == least() || most < 0 ? 1 << 31 : __float_as_int(most);
        }
    }
    static __device__ __forceinline__ float exponential(float power, unsigned number)
    {
        if ((number % 8 + 1) * EXP_POLY / 8 == number % 8 * EXP_POLY / 8)
            return exp2_fast(power);
        constexpr float whole = 12582912; // this number is 1.5 2^23, as in exp2_by_polynomial()
        power = fmaxf(power, -127);
        const float shifted = power + whole, f = power - (shifted - whole);
        return __uint_as_float(__float_as_uint(fmaf(fmaf(0.24006954f, f, 0.70302966f), f, 1)) + __float_as_uint(shifted) * (1u << 23));
    }
    // Makes exponentials of scores with the present bases, and converts them in the order of as_quads(). With `add`,
    // the function also adds them to the sums of the rows.
    template <bool add, unsigned count>
    __device__ __forceinline__ void make(unsigned (&p)[count / 16][4], const float (&s)[count], float units)
    {
#pragma unroll
        for (unsigned i = 0; i < count / 4; ++i) {
            const unsigned at = i / 4 * 16 + i / 2 % 2 * 8 + i % 2 * 2;
            float e[4];
#pragma unroll
            for (unsigned l = 0; l < 4; ++l)
                e[l] = exponential(fmaf(s[at + l / 2 * 4 + l % 2], units, -from[i % 2]), 4 * (i / 2) + l);
            if (add)
                sum[i % 2] += (e[0] + e[1]) + (e[2] + e[3]);
            p[i / 4][i % 4] = pack_quad(e[0], e[1], e[2], e[3]);
        }
    }
    // Turns scores into exponentials. Returns whether the accumulators of O must be multiplied by `scale`.
    template <bool add, unsigned count>
    __device__ __forceinline__ bool take(unsigned (&p)[count / 16][4], const float (&s)[count], float (&scale)[2], float units)
    {
        const bool exceeded = is_exceeded(s);
        if (exceeded)
            find_bases(s, scale, units);
        make<add>(p, s, units);
        return exceeded;
    }
};

// Returns four neighbouring elements of a row of O, which a lane has in block `b` of 16 columns. These elements begin
// at column 4 (lane % 4) of the block. `half` is 0 for row lane / 4 and 1 for row lane / 4 + 8.
template <unsigned count> __device__ __forceinline__ uint2 neighbours(const float (&o)[count], unsigned b, unsigned half)
{
    const unsigned i = 8 * b + 2 * half;
    return {pack_pair(bf16(), o[i], o[i + 4]), pack_pair(bf16(), o[i + 1], o[i + 5])};
}

#if defined(ATTENTION8_FLASH_ASYNC) || !defined(ATTENTION8_ONE)
enum : unsigned { TILE_Q = 16 * WARPS, THREADS = WARP * WARPS };

// The block begins to copy `rows` rows, from row `first` on, to a tile. Rows from `end` on become zeros in the tile.
template <unsigned rows>
__device__ __forceinline__ void load_tile(char *tile, const f8e4m3 *from, unsigned first, unsigned end)
{
    constexpr unsigned pieces = ROW_BYTES / 16;
#pragma unroll
    for (unsigned i = 0; i < ceil_div(rows * pieces, (unsigned)THREADS); ++i) {
        const unsigned number = i * THREADS + threadIdx.x, row = number / pieces, c = number % pieces;
        if (rows * pieces % THREADS != 0 && number >= rows * pieces)
            break;
        const bool inside = first + row < end;
        copy_async<16>(tile + row_place(row, 16 * c), from + (offset)(inside ? first + row : 0) * HEAD_DIM + 16 * c, inside);
    }
}

// Adds the contribution of a tile of keys and values to a warp's 16 queries. The tile begins with key `first`.
__device__ __forceinline__ void take_tile8(float (&o)[HEAD_DIM / 2], Softmax &softmax, const unsigned (&queries)[STEPS][4],
                                           unsigned keys, unsigned values, unsigned first, bool whole, const int (&seen)[2],
                                           float units)
{
    float s[TILE_K / 2], scale[2];
    const unsigned lane = lane_id();
#pragma unroll
    for (unsigned i = 0; i < TILE_K / 2; ++i)
        s[i] = 0;
#pragma unroll
    for (unsigned d = 0; d < STEPS; ++d)
#pragma unroll
        for (unsigned j = 0; j < TILE_K / 16; ++j) {
            unsigned b[4];
            load_fragments(b, keys + row_place(16 * j + lane / 16 * 8 + lane % 8, 32 * d + lane / 8 % 2 * 16));
            multiply(f8e4m3(), *(float(*)[4])(s + 8 * j), queries[d], b[0], b[1]);
            multiply(f8e4m3(), *(float(*)[4])(s + 8 * j + 4), queries[d], b[2], b[3]);
        }
    if (!whole)
        softmax.mask(s, first, seen);
    if (softmax.take(s, scale, units))
        scale_rows(o, scale);
    unsigned p[TILE_K / 32][4];
    as_quads(p, s);
#pragma unroll
    for (unsigned j = 0; j < TILE_K / 32; ++j)
#pragma unroll
        for (unsigned b = 0; b < HEAD_DIM / 16; ++b) {
            unsigned v[4];
            load_turned(v, values + row_place(32 * j + lane, 16 * b));
            multiply(f8e4m3(), *(float(*)[4])(o + 8 * b), p[j], v[0], v[1]);
            multiply(f8e4m3(), *(float(*)[4])(o + 8 * b + 4), p[j], v[2], v[3]);
        }
}

// A block computes one tile of 16 WARPS queries. As in attention.cu, shared memory has STAGES tiles of keys and values,
// which cp.async copies. The products use mma.sync, which takes 8-bit floats from sm_89 on. Each warp transposes V when
// it reads V.
extern "C" __global__ void __launch_bounds__(THREADS)
    attention8_flash_async(const f8e4m3 *__restrict__ q, const f8e4m3 *__restrict__ k, const f8e4m3 *__restrict__ v,
                           const float *q_scale, const float *k_scale, const float *v_scale, bf16 *__restrict__ o,
                           unsigned heads, unsigned kv_heads, unsigned queries, unsigned keys)
{
    extern __shared__ __align__(16) char room[];
    char *const tile_q = room, *const ring = room + TILE_Q * ROW_BYTES;
    constexpr unsigned tile_bytes = TILE_K * ROW_BYTES;
    const Sizes n = {heads, kv_heads, queries, keys};
    const Place at(n, TILE_Q, blockIdx.x);
    const offset of_head = (offset)at.head * queries * HEAD_DIM, of_keys = (offset)at.kv_head * keys * HEAD_DIM;
    const unsigned last = at.first + TILE_Q - 1;
    const int most = keys_seen(last < queries ? last : queries - 1, n), fewest = keys_seen(at.first, n);
    const unsigned tiles = most > 0 ? ceil_div((unsigned)most, (unsigned)TILE_K) : 0;
    const unsigned whole = fewest > 0 ? fewest / TILE_K : 0;
    auto load = [&](unsigned t, unsigned stage) {
        if (t < tiles) {
            load_tile<TILE_K>(ring + 2 * stage * tile_bytes, k + of_keys, t * TILE_K, keys);
            load_tile<TILE_K>(ring + (2 * stage + 1) * tile_bytes, v + of_keys, t * TILE_K, keys);
        }
        copy_async_commit();
    };
    load_tile<TILE_Q>(tile_q, q + of_head, at.first, queries);
    copy_async_commit();
#pragma unroll
    for (unsigned t = 0; t < STAGES - 1; ++t)
        load(t, t);
    copy_async_wait<STAGES - 1>();
    __syncthreads();
    unsigned fragments[STEPS][4];
    float sums[HEAD_DIM / 2], scale[2];
    int seen[2];
    Softmax softmax;
    softmax.begin();
    const unsigned row = warp_id() * 16 + lane_id() / 4;
#pragma unroll
    for (unsigned d = 0; d < STEPS; ++d)
        load_fragments(fragments[d],
                       shared_address(tile_q) + row_place(warp_id() * 16 + lane_id() % 16, 32 * d + lane_id() / 16 * 16));
#pragma unroll
    for (unsigned i = 0; i < HEAD_DIM / 2; ++i)
        sums[i] = 0;
#pragma unroll
    for (unsigned r = 0; r < 2; ++r)
        seen[r] = keys_seen(at.first + row + 8 * r, n);
    const float units = score_units({q_scale, k_scale, v_scale}, at);
    unsigned stage = 0, behind = STAGES - 1; // the stage of the next tile; the stage that was read last
    for (unsigned t = 0; t < tiles; ++t) {
        copy_async_wait<STAGES - 2>();
        __syncthreads();
        load(t + STAGES - 1, behind);
        take_tile8(sums, softmax, fragments, shared_address(ring + 2 * stage * tile_bytes),
                   shared_address(ring + (2 * stage + 1) * tile_bytes), t * TILE_K, t < whole, seen, units);
        behind = stage;
        stage = stage + 1 == STAGES ? 0 : stage + 1;
    }
    softmax.end(scale);
    scale[0] *= v_scale[at.kv_head], scale[1] *= v_scale[at.kv_head];
    scale_rows(sums, scale);
#pragma unroll
    for (unsigned r = 0; r < 2; ++r)
#pragma unroll
        for (unsigned b = 0; b < HEAD_DIM / 16; ++b)
            if (at.first + row + 8 * r < queries)
                *(uint2 *)(o + of_head + (offset)(at.first + row + 8 * r) * HEAD_DIM + 16 * b + lane_id() % 4 * 4) =
                    neighbours(sums, b, r);
}
#endif

#if defined(ATTENTION8_TURN) || (!defined(ATTENTION8_ONE) && defined(__CUDA_ARCH_FEAT_SM90_ALL))
enum : unsigned { TURN_KEYS = 128 }; // number of keys that a block transposes

// Writes the transposed V. Each head has HEAD_DIM rows with `padded` keys, which is a multiple of TURN_KEYS. The
// columns of each block of 16, and the keys of each block of 32, are in the order of the second product. Places after
// the last key become zeros. Tiles pass through shared memory, so copies read and write complete cache lines of global
// memory.
extern "C" __global__ void __launch_bounds__(TURN_KEYS)
    attention8_turn(const f8e4m3 *__restrict__ v, f8e4m3 *__restrict__ turned, unsigned keys, unsigned padded)
{
    __shared__ __align__(128) char rows[TURN_KEYS * ROW_BYTES];
    __shared__ __align__(128) char columns[TURN_KEYS * ROW_BYTES];
    const unsigned blocks = padded / TURN_KEYS, head = blockIdx.x / blocks, first = blockIdx.x % blocks * TURN_KEYS;
    constexpr unsigned pieces = ROW_BYTES / 16;
    const offset of_head = (offset)head * keys * HEAD_DIM;
#pragma unroll
    for (unsigned i = 0; i < pieces; ++i) {
        const unsigned number = i * TURN_KEYS + threadIdx.x, row = number / pieces, c = number % pieces;
        uint4 piece = {0, 0, 0, 0};
        if (first + row < keys)
            piece = *(const uint4 *)(v + of_head + (offset)(first + row) * HEAD_DIM + 16 * c);
        *(uint4 *)(rows + row_place(row, 16 * c)) = piece;
    }
    __syncthreads();
    const unsigned lane = lane_id(), j = warp_id(); // each warp transposes 32 keys
#pragma unroll
    for (unsigned b = 0; b < HEAD_DIM / 16; ++b) {
        unsigned words[4];
        load_turned(words, shared_address(rows) + row_place(32 * j + lane, 16 * b));
        store_fragments(shared_address(columns) +
                            swizzled<128>((16 * b + lane / 16 * 8 + lane % 8) * 128 + 32 * j + lane / 8 % 2 * 16),
                        words[0], words[1], words[2], words[3]);
    }
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < pieces; ++i) {
        const unsigned number = i * TURN_KEYS + threadIdx.x, row = number / 8, c = number % 8;
        *(uint4 *)(turned + ((offset)head * HEAD_DIM + row) * padded + first + 16 * c) =
            *(const uint4 *)(columns + swizzled<128>(row * 128 + 16 * c));
    }
}
#endif

#if defined(ATTENTION8_WGMMA) || (!defined(ATTENTION8_ONE) && defined(__CUDA_ARCH_FEAT_SM90_ALL))
#ifndef GROUPS
#define GROUPS 2 // number of consumer warp groups, each with 64 queries
#endif
#ifndef OVERLAP
#define OVERLAP 1 // 1: begins the scores of the next tile before the values of this tile
#endif
#ifndef IN_TURN
#define IN_TURN 0 // 1: one warp group multiplies while another computes exponentials
#endif
#ifndef JOINED
#define JOINED 0 // 1, with OVERLAP 0: a warp group begins the next scores right after the values
#endif
#ifndef Q_REGISTERS
#define Q_REGISTERS 0 // 1: the queries of a warp group are in registers. 0: wgmma reads them from shared memory
#endif
#ifndef SUM_COLUMN
#define SUM_COLUMN 1 // 1: the product with V also sums the exponentials of each row. 0: additions sum them
#endif
#ifndef EARLY
// 1, with OVERLAP 0: tests before the exponentials of this tile whether the next tiles have arrived
#define EARLY 0
#endif
#ifndef TURN_INSIDE
// 1: warps of the producer's warp group transpose V. 0: attention8_turn has transposed V
#define TURN_INSIDE 1
#endif

enum : unsigned {
    GROUP = WARP_GROUP,
    GROUP_QUERIES = 64, // queries in one wgmma of a warp group
    ROOM_QUERIES = GROUPS * GROUP_QUERIES,
    TILE_BYTES = TILE_K * ROW_BYTES,
    // The transposed tile consists of boxes with rows of BOX_KEYS bytes, the largest swizzle that divides a tile.
    BOX_KEYS = TILE_K % 128 == 0 ? 128 : TILE_K % 64 == 0 ? 64 : 32,
    // With SUM_COLUMN, the transposed tile has 8 more rows after the columns of V: a row of ones and 7 rows of zeros.
    COLUMNS = HEAD_DIM + 8 * SUM_COLUMN,
    BOX_BYTES = BOX_KEYS * COLUMNS,
    TURNED_BYTES = TILE_K * COLUMNS,
    TURNERS = 3, // number of warps that transpose
    // The number of registers of a thread in the producer's warp group. The warp groups share the registers that the
    // block has at its launch: 168, 128 or 96 for each of its threads.
    OF_PRODUCER = GROUPS == 4 ? (TURN_INSIDE ? 32 : 24) : TURN_INSIDE ? (GROUPS == 2 ? 40 : 32) : (GROUPS == 2 ? 24 : 32),
    OF_CONSUMER = GROUPS == 4 ? 112 : TURN_INSIDE ? (GROUPS == 2 ? 232 : 160) : (GROUPS == 2 ? 240 : 160)
};

typedef Ring<TILE_BYTES, ROW_BYTES> RowRing;
typedef Ring<TURNED_BYTES, BOX_KEYS> ColumnRing;

struct Rings {
    barrier q_full[2], q_empty[2], k_full[STAGES], k_empty[STAGES], v_full[STAGES], v_empty[STAGES];
    barrier turned_full[STAGES], turned_empty[STAGES];
};

// The queries of a warp group, as the first operand of S = Q K^T.
struct GroupQueries {
    offset tile;                    // descriptor of the queries in shared memory
    unsigned fragments[STEPS][4];

    // `at` is the address of the group's 64 queries.
    __device__ __forceinline__ void begin(unsigned at)
    {
        tile = matrix_descriptor<ROW_BYTES>(at, 0, 8 * ROW_BYTES);
#pragma unroll
        for (unsigned d = 0; Q_REGISTERS && d < STEPS; ++d)
            load_fragments(fragments[d], at + row_place(warp_id() % 4 * 16 + lane_id() % 16, 32 * d + lane_id() / 16 * 16));
    }
    // Begins the product with a tile of keys. `keys` is the descriptor of the tile.
    __device__ __forceinline__ void begin_scores(float (&s)[TILE_K / 2], offset keys) const
    {
        wgmma_keep(s);
        wgmma_fence();
#pragma unroll
        for (unsigned d = 0; d < STEPS; ++d)
            if (Q_REGISTERS)
                wgmma<f8e4m3, TILE_K>::template multiply<false>(s, fragments[d], descriptor_after(keys, 32 * d), d > 0);
            else
                wgmma<f8e4m3, TILE_K>::template multiply<false>(s, descriptor_after(tile, 32 * d),
                                                                descriptor_after(keys, 32 * d), d > 0);
        wgmma_commit();
    }
};

// Begins O += P V. The exponentials are in registers, and V is transposed.
__device__ __forceinline__ void begin_values(float (&o)[COLUMNS / 2], const unsigned (&p)[TILE_K / 32][4], offset b)
{
    wgmma_keep(o);
    wgmma_fence();
#pragma unroll
    for (unsigned j = 0; j < TILE_K / 32; ++j)
        wgmma<f8e4m3, COLUMNS>::template multiply<false>(
            o, p[j], descriptor_after(b, 32 * j / BOX_KEYS * BOX_BYTES + 32 * j % BOX_KEYS), 1);
    wgmma_commit();
}

// All threads of the block write the rows after the columns of V in all stages. These are a row of ones and 7 rows of
// zeros. Copies, and the warps that transpose, do not write these rows. All pieces of such a row are equal, so no
// swizzle changes the row.
__device__ __forceinline__ void write_ones(char *turned)
{
    constexpr unsigned row_words = BOX_KEYS / 4, boxes = STAGES * (TILE_K / BOX_KEYS);
    for (unsigned i = threadIdx.x; i < boxes * 8 * row_words; i += blockDim.x)
        *((unsigned *)(turned + i / (8 * row_words) * BOX_BYTES + HEAD_DIM * BOX_KEYS) + i % (8 * row_words)) =
            i % (8 * row_words) < row_words ? 0x38383838 : 0;
    fence_async();
}

// A warp transposes its part of a tile of V: all blocks of 32 keys and 16 columns whose number is `share` modulo
// TURNERS.
__device__ __forceinline__ void turn_tile(unsigned to, unsigned from, unsigned share)
{
    const unsigned lane = lane_id();
#pragma unroll 1
    for (unsigned i = share; i < TILE_K / 32 * (HEAD_DIM / 16); i += TURNERS) {
        const unsigned j = i / (HEAD_DIM / 16), b = i % (HEAD_DIM / 16), row = 16 * b + lane / 16 * 8 + lane % 8;
        unsigned words[4];
        load_turned(words, from + row_place(32 * j + lane, 16 * b));
        store_fragments(to + 32 * j / BOX_KEYS * BOX_BYTES +
                            swizzled<BOX_KEYS>(row * BOX_KEYS + 32 * j % BOX_KEYS + lane / 8 % 2 * 16),
                        words[0], words[1], words[2], words[3]);
    }
}

// Writes the warp's 16 rows of O by a tensor map, which skips the rows after the last query. The boxes of 64 columns
// are `box_bytes` apart.
__device__ __forceinline__ void write_rows(char *room, unsigned box_bytes, const float (&o)[COLUMNS / 2],
                                           const tensor_map &map, unsigned row, unsigned head)
{
    if (lane_id() == 0)
        tensor_store_wait<0>(); // the copy of the previous tile's rows has read this buffer before
    __syncwarp();
#pragma unroll
    for (unsigned b = 0; b < HEAD_DIM / 16; ++b)
#pragma unroll
        for (unsigned r = 0; r < 2; ++r)
            *(uint2 *)(room + b / 4 * box_bytes +
                       swizzled<128>((lane_id() / 4 + 8 * r) * 128 + b % 4 * 32 + lane_id() % 4 * 8)) = neighbours(o, b, r);
    fence_async();
    __syncwarp();
    if (lane_id() == 0) {
#pragma unroll
        for (unsigned half = 0; half < HEAD_DIM / 64; ++half)
            tensor_store(map, (int)(half * 64), (int)row, (int)head, room + half * box_bytes);
        tensor_store_commit();
    }
    __syncwarp();
}

// The kernel has the structure of the kernel flash_wgmma of attention.cu. One warp loads all tiles by tensor maps.
// GROUPS warp groups with 64 queries each multiply these tiles by wgmma. Blocks stay resident and process one tile of
// queries after another. With OVERLAP, exponentials are computed while the values of the previous tile are multiplied.
// With JOINED, the values of a tile and the scores of the next tile are multiplied without a pause. With IN_TURN, the
// warp groups begin products one after another, so that one group multiplies while the others compute exponentials.
//
// With TURN_INSIDE, three more warps of the producer's warp group transpose each tile of V, from one ring to another. A
// tile is transposed again for each tile of queries. Without TURN_INSIDE, V comes transposed from attention8_turn,
// which reads V once and writes it once.
//
// With SUM_COLUMN, V has one more column, of ones. The product with V then also makes the sums of the exponentials,
// which saves an addition for each exponential. The product then has 8 more columns, because the number of columns must
// be a multiple of eight. With EARLY, a warp group tests whether the next tiles have arrived before it computes
// exponentials. A test of a barrier takes long. On an H200, ENDS_LAST saves 3 % of the time of the work `causal`. For
// the work `default` it saves nothing, although blocks process 21 whole tiles there instead of 22.
//
// The bounds of this kernel for sm_90a are as follows, in clocks of a multiprocessor for 64 queries and 128 keys.
// Products take 512 clocks with heads of 128, and 256 clocks with heads of 64. Exponentials take 512 clocks. On an
// H200, no unit alone is the bound of the work `default`. During its 1.94 million clocks, the tensor cores are busy for
// 53 % of the time and the special-function unit for 54 %. 38 % of the issue slots are used. If there is one stage, all
// warp groups wait for the same tiles. Therefore all groups multiply at the same time, and then all groups compute
// exponentials. In each of these two phases one unit is busy, and together the phases take 90 % of the time. If groups
// are at different places of the loop, the instructions of one warp are the bound. They take 1,300 clocks for the
// exponentials of 96 keys. The special-function unit needs 384 of these clocks. In this work the clock of an SM falls
// from 1.98 GHz to 1.75 GHz.
//
// An instruction of a warp occupies its unit, in a quarter of an SM, for some clocks. An exponential occupies its unit
// for 8 clocks. A conversion of two numbers to e4m3 occupies its unit for 4 clocks. A maximum of three integers takes 2
// clocks. A multiply-add or an addition takes 1 clock. The latency of an exponential is 17 clocks. The order of
// instructions that ptxas chooses hides this latency. A version that computed several exponentials before it converted
// them was slower by a tenth.
extern "C" __global__ void __launch_bounds__(GROUP *(GROUPS + 1), 1)
    attention8_wgmma(const __grid_constant__ tensor_map q, const __grid_constant__ tensor_map k,
                     const __grid_constant__ tensor_map v, const __grid_constant__ tensor_map o, const float *q_scale,
                     const float *k_scale, const float *v_scale, unsigned heads, unsigned kv_heads, unsigned queries,
                     unsigned keys)
{
    extern __shared__ __align__(16) char shared[];
    __shared__ Rings rings;
    // swizzles permute address bits, so tiles begin at addresses that are multiples of 1024
    char *const room = shared + (0 - shared_address(shared)) % 1024;
    constexpr unsigned q_bytes = ROOM_QUERIES * ROW_BYTES, box_bytes = ROOM_QUERIES * 128;
    const Sizes n = {heads, kv_heads, queries, keys};
    // the number of the warp group comes from one lane, so that ptxas sees that the lanes of a warp agree
    // (attention.cu)
    const unsigned group = __shfl_sync(ALL_LANES, threadIdx.x / GROUP, 0);
    char *const room_o = room + 2 * q_bytes, *const room_k = room_o + HEAD_DIM / 64 * box_bytes;
    char *const room_v = room_k + STAGES * TILE_BYTES, *const room_turned = room_v + (TURN_INSIDE ? STAGES * TILE_BYTES : 0);
    const unsigned first_k = (unsigned)matrix_descriptor<ROW_BYTES>(shared_address(room_k), 0, 0);
    const unsigned first_v = (unsigned)matrix_descriptor<BOX_KEYS>(shared_address(room_turned), 0, 0);
    RowRing ring_k = {room_k, rings.k_full, rings.k_empty, first_k, 0, 0, first_k};
    // V as it is in global memory
    choose<TURN_INSIDE, ColumnRing, RowRing> ring_rows = {room_v, rings.v_full, rings.v_empty, 0, 0, 0, 0};
    ColumnRing ring_v = {room_turned, TURN_INSIDE ? rings.turned_full : rings.v_full,
                         TURN_INSIDE ? rings.turned_empty : rings.v_empty, first_v, 0, 0, first_v};
    auto tiles_to = [&](unsigned last) { // returns the number of tiles of keys that the queries up to `last` see
        const int most = keys_seen(last < queries ? last : queries - 1, n);
        return most > 0 ? ceil_div((unsigned)most, (unsigned)TILE_K) : 0;
    };
    if (threadIdx.x == 0) {
        for (unsigned i = 0; i < 2; ++i) {
            barrier_init(&rings.q_full[i], 1);
            barrier_init(&rings.q_empty[i], GROUPS);
        }
        for (unsigned i = 0; i < STAGES; ++i) {
            barrier_init(&rings.k_full[i], 1);
            barrier_init(&rings.v_full[i], 1);
            barrier_init(&rings.turned_full[i], TURNERS);
            barrier_init(&rings.k_empty[i], GROUPS);
            barrier_init(&rings.v_empty[i], TURN_INSIDE ? TURNERS : GROUPS);
            barrier_init(&rings.turned_empty[i], GROUPS);
        }
        barriers_made();
    }
    if (SUM_COLUMN)
        write_ones(room_turned);
    __syncthreads();
    Turns turns(heads * ceil_div(queries, (unsigned)ROOM_QUERIES));
    if (group == GROUPS) { // the producer
        registers_give<OF_PRODUCER>();
        const unsigned warp = warp_id() % 4;
        if (TURN_INSIDE && warp > 0) {
            for (; turns.more(); turns.next()) {
                const unsigned tiles = tiles_to(Place(n, ROOM_QUERIES, turns.number).first + ROOM_QUERIES - 1);
                for (unsigned t = 0; t < tiles; ++t) {
                    ring_rows.wait_full();
                    ring_v.wait_empty();
                    turn_tile(shared_address(ring_v.tile()), shared_address(ring_rows.tile()), warp - 1);
                    fence_async();
                    __syncwarp();
                    if (lane_id() == 0) {
                        barrier_arrive(ring_v.full + ring_v.stage);
                        barrier_arrive(ring_rows.empty + ring_rows.stage);
                    }
                    ring_rows.next(), ring_v.next();
                }
            }
            return;
        }
        if (warp != 0 || !is_elected())
            return;
        tensor_prefetch(q), tensor_prefetch(k), tensor_prefetch(v), tensor_prefetch(o);
        for (; turns.more(); turns.next()) {
            const Place at(n, ROOM_QUERIES, turns.number);
            const unsigned tiles = tiles_to(at.first + ROOM_QUERIES - 1), second = turns.taken % 2;
            barrier_wait(&rings.q_empty[second], turns.taken / 2 % 2 ^ 1);
            barrier_expect(&rings.q_full[second], q_bytes);
            tensor_load(room + second * q_bytes, q, 0, (int)at.first, (int)at.head, &rings.q_full[second]);
            auto load_keys = [&](unsigned t) {
                ring_k.wait_empty();
                barrier_expect(ring_k.full + ring_k.stage, TILE_BYTES);
                tensor_load(ring_k.tile(), k, 0, (int)(t * TILE_K), (int)at.kv_head, ring_k.full + ring_k.stage);
                ring_k.next();
            };
            if (tiles > 0)
                load_keys(0);
            for (unsigned t = 0; t < tiles; ++t) {
                if (t + 1 < tiles && STAGES > 1)
                    load_keys(t + 1);
                ring_rows.wait_empty();
                barrier *const full = ring_rows.full + ring_rows.stage;
                barrier_expect(full, TILE_BYTES);
                if (TURN_INSIDE)
                    tensor_load(ring_rows.tile(), v, 0, (int)(t * TILE_K), (int)at.kv_head, full);
                else
#pragma unroll
                    for (unsigned i = 0; i < TILE_K / BOX_KEYS; ++i)
                        tensor_load(ring_rows.tile() + i * BOX_BYTES, v, (int)(t * TILE_K + i * BOX_KEYS), 0,
                                    (int)at.kv_head, full);
                ring_rows.next();
                if (t + 1 < tiles && STAGES == 1)
                    load_keys(t + 1);
            }
        }
        return;
    }
    registers_take<OF_CONSUMER>();
    const unsigned warp_row = group * GROUP_QUERIES + warp_id() % 4 * 16;
    // Group g begins its products when the previous group has begun its own products. Group g waits at barrier 1 + g
    // for this.
    const bool in_turn = IN_TURN;
    const unsigned own_turn = 1 + group, next_turn = 1 + (group + 1) % GROUPS;
    if (in_turn && group == GROUPS - 1)
        group_arrive(next_turn, 2 * GROUP);
    for (; turns.more(); turns.next()) {
        const Place at(n, ROOM_QUERIES, turns.number);
        const unsigned second = turns.taken % 2, phase = turns.taken / 2 % 2;
        const unsigned all_tiles = tiles_to(at.first + ROOM_QUERIES - 1), begin = at.first + group * GROUP_QUERIES;
        const unsigned tiles = begin < queries ? tiles_to(begin + GROUP_QUERIES - 1) : 0;
        const unsigned first = at.first + warp_row, row = first + lane_id() / 4;
        const int seen[2] = {keys_seen(row, n), keys_seen(row + 8, n)};
        const int fewest = keys_seen(begin, n);
        const unsigned whole = fewest > 0 ? fewest / TILE_K : 0;
        // If this number were a plain 0, ptxas would run the products one after another. ptxas does not know that it is
        // always 0.
        const float zero = __uint_as_float(keys >> 30);
        const float units = score_units({q_scale, k_scale, v_scale}, at), values_scale = v_scale[at.kv_head];
        QuickSoftmax softmax;
        softmax.begin();
        float s[TILE_K / 2], sums[COLUMNS / 2], scale[2];
        unsigned p[TILE_K / 32][4];
        GroupQueries queries_of;
        bool grew = false, keys_there = false, values_there = false;
#pragma unroll
        for (unsigned i = 0; i < COLUMNS / 2; ++i)
            sums[i] = 0;
        auto next_scores = [&] {
            if (in_turn && !JOINED)
                group_sync(own_turn, 2 * GROUP);
            queries_of.begin_scores(s, ring_k.descriptor());
        };
        auto next_values = [&](const unsigned(&use)[TILE_K / 32][4]) {
            if (!values_there)
                ring_v.wait_full();
            begin_values(sums, use, ring_v.descriptor());
        };
        // Computes the exponentials of a tile's scores. The product of the previous values may still run.
        auto exponentials = [&](unsigned(&to)[TILE_K / 32][4], unsigned t) {
            wgmma_keep(s);
            ring_k.leave();
            if (EARLY && !OVERLAP) { // a test of a barrier takes long, so it comes before the exponentials
                keys_there = ring_k.is_full();
                values_there = ring_v.is_full();
            }
            if (t >= whole)
                softmax.mask(s, t * TILE_K, seen);
            grew = softmax.take<!SUM_COLUMN>(to, s, scale, units);
        };
        // Adds the sums of a tile's exponentials to the sums of the rows. One column of sums[] has the sums of the
        // exponentials. The lanes 4 n have this column. In the other lanes, the neighbours of this column are 0. The
        // column is 0 at the beginning of each tile, so few of its bits are lost.
        auto take_column = [&] {
#pragma unroll
            for (unsigned r = 0; SUM_COLUMN && r < 2; ++r) {
                float &column = sums[HEAD_DIM / 2 + 2 * r];
                softmax.sum[r] += column;
                column *= zero;
            }
        };
        auto take_sums = [&] { // called after the product with the values
            wgmma_keep(sums);
            ring_v.leave();
        };
        auto values_end = [&] {
            wgmma_wait<0>();
            take_sums();
        };
        barrier_wait(&rings.q_full[second], phase);
        queries_of.begin(shared_address(room + second * q_bytes + group * GROUP_QUERIES * ROW_BYTES));
        if (tiles > 0) {
            ring_k.wait_full();
            if (in_turn && JOINED)
                group_sync(own_turn, 2 * GROUP);
            next_scores();
            if (in_turn)
                group_arrive(next_turn, 2 * GROUP);
            wgmma_wait<0>();
            exponentials(p, 0);
        }
        // Computes the exponentials of tile t. Before that, begins the product of the exponentials of tile t - 1 and
        // its values. With OVERLAP, `make` is written while `use` is multiplied. Without OVERLAP, both are the same
        // array.
        auto step = [&](unsigned(&use)[TILE_K / 32][4], unsigned(&make)[TILE_K / 32][4], unsigned t)
            __attribute__((always_inline)) {
            if (JOINED) {
                if (!values_there)
                    ring_v.wait_full();
                if (!keys_there)
                    ring_k.wait_full();
                if (in_turn)
                    group_sync(own_turn, 2 * GROUP);
                begin_values(sums, use, ring_v.descriptor());
            } else if (!OVERLAP) {
                next_values(use);
                values_end();
                if (!keys_there)
                    ring_k.wait_full();
            }
            next_scores();
            if (OVERLAP)
                next_values(use);
            if (in_turn)
                group_arrive(next_turn, 2 * GROUP);
            if (JOINED) {
                wgmma_wait<1>();
                take_sums();
            }
            wgmma_wait<OVERLAP>();
            exponentials(make, t);
            if (OVERLAP) {
                // A branch that depends on the exponentials keeps ptxas from moving the wait to a place before them
                // (attention.cu). The argument is always false, because no exponential is below 0.
                if (t + 1 < tiles)
                    ring_k.wait_full(__any_sync(ALL_LANES, (int)make[TILE_K / 32 - 1][3] < 0));
                values_end();
            }
            if (grew)
                scale_rows(sums, scale);
            take_column();
        };
        if (OVERLAP && tiles > 1)
            ring_k.wait_full();
        if (OVERLAP) {
            unsigned other[TILE_K / 32][4];
            unsigned t = 1;
            for (; t + 1 < tiles; t += 2) {
                step(p, other, t);
                step(other, p, t + 1);
            }
            if (t < tiles) {
                step(p, other, t);
                next_values(other);
                values_end();
            } else if (tiles > 0) {
                next_values(p);
                values_end();
            }
        } else {
            for (unsigned t = 1; t < tiles; ++t)
                step(p, p, t);
            if (tiles > 0) {
                next_values(p);
                values_end();
            }
        }
        // The queries of this group see no key of these tiles, so only other groups multiply them. One warp waits, and
        // one thread arrives (attention.cu).
        for (unsigned t = tiles; t < all_tiles; ++t) {
            if (warp_id() % 4 == 0)
                ring_k.wait_full();
            if (in_turn) {
                group_sync(own_turn, 2 * GROUP);
                group_arrive(next_turn, 2 * GROUP);
            }
            ring_k.leave();
            if (warp_id() % 4 == 0)
                ring_v.wait_full();
            ring_v.leave();
        }
        // all warps of the group have read the queries, and no warp waits for them
        group_sync(1 + GROUPS + group, GROUP);
        if (threadIdx.x % GROUP == 0)
            barrier_arrive(&rings.q_empty[second]);
        take_column();
        softmax.end(scale);
        scale[0] *= values_scale, scale[1] *= values_scale;
        scale_rows(sums, scale);
        write_rows(room_o + warp_row * 128, box_bytes, sums, o, first, at.head);
    }
    if (in_turn && group == 0)
        group_sync(own_turn, 2 * GROUP); // matches the last arrival of the last group
    if (lane_id() == 0)
        tensor_store_wait<0>();
}
#endif
