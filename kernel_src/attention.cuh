// attention.cuh - the common part of attention.cu, attention_fp8.cu and decode.cu. It has the online softmax of the
// rows of a product, and the product of one warp's queries with a tile of keys and values.
//
// HEAD_DIM (64 or 128) is a macro of the file that includes this file. That file may also define EXP_POLY,
// SOFTMAX_RAISE and SOFTMAX_SLACK.

#ifndef ATTENTION_CUH
#define ATTENTION_CUH

#include "tensor.cuh"

#ifndef EXP_POLY
#define EXP_POLY 0 // how many of every 8 exponentials a polynomial computes
#endif

#ifndef SOFTMAX_RAISE
#define SOFTMAX_RAISE 0 // the exponential of a score that equals the row's base is 2^SOFTMAX_RAISE
#endif
#ifndef SOFTMAX_SLACK
#define SOFTMAX_SLACK 8
#endif

enum : unsigned {
    PIECES = HEAD_DIM / 8, // pieces of 16 bytes in a row of HEAD_DIM elements
    DEPTH = HEAD_DIM / 16  // steps of 16 elements along HEAD_DIM
};

__device__ __forceinline__ float least()
{
    return __uint_as_float(0xff800000); // -infinity
}

__device__ __forceinline__ float exp2_fast(float power)
{
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(power));
    return result;
}

// Returns 2^power, for powers up to 127, by additions and multiplications only. The units for additions and
// multiplications are otherwise idle while a warp waits for exponentials. The power is split into a whole number and a
// rest f in [-1/2, 1/2]. The whole number becomes the bits of the exponent. The polynomial 1 + f (...) computes 2^f.
// Its coefficients keep the relative error below 1.02e-4 (2^-13.2). This error is a sixteenth of the largest error of
// rounding to bfloat16. The polynomial is 1 at 0, so 2^-127 has the bits of 0. All smaller powers become 0 too. Results
// between 2^-127 and 2^-126 are not exact.
__device__ __forceinline__ float exp2_by_polynomial(float power)
{
    // this number is 1.5 2^23: a sum with it has no fraction bits, and its last bits are the whole number
    constexpr float whole = 12582912;
    power = fmaxf(power, -127);
    const float shifted = power + whole, f = power - (shifted - whole);
    const float result = fmaf(fmaf(fmaf(0.055008952f, f, 0.242211010f), f, 0.693282930f), f, 1);
    return __uint_as_float(__float_as_uint(result) + (__float_as_uint(shifted) << 23));
}

// Returns the factor of the scores: log2(e) / sqrt(HEAD_DIM).
__device__ __forceinline__ constexpr float factor()
{
    return HEAD_DIM == 64 ? 0.180336880f : 0.127517432f;
}

// ---- the online softmax of two rows per lane ----
//
// A lane has accumulators in columns of the rows lane / 4 and lane / 4 + 8 (tensor.cuh). In each group of four
// accumulators, two belong to row lane / 4 and two belong to row lane / 4 + 8. Four neighbouring lanes share a row.

// The base of a row is not always its greatest score so far. The base follows the greatest score only if this score has
// grown by a factor of more than 2^SLACK. Therefore exponentials may be as large as 2^(SLACK + RAISE), and sums of
// exponentials are larger by the same factor. This loses no precision. Exponentials and their sums are floats of single
// precision, and the result is a quotient of two sums with the same base.
constexpr float SLACK = SOFTMAX_SLACK, RAISE = SOFTMAX_RAISE;

// Computes exponential `number` of a lane's row. The polynomial computes EXP_POLY of every eight exponentials.
__device__ __forceinline__ float exponential(float power, unsigned number)
{
    const unsigned i = number % 8;
    return (i + 1) * EXP_POLY / 8 > i * EXP_POLY / 8 ? exp2_by_polynomial(power) : exp2_fast(power);
}

// The bases of two rows, and for each row the sum of the exponentials in this lane's columns.
struct Softmax {
    float base[2], sum[2];

    __device__ __forceinline__ void begin()
    {
        base[0] = base[1] = least();
        sum[0] = sum[1] = 0;
    }
    // Sets the scores of keys that a row must not see to -infinity. The first score belongs to key `first`.
    template <unsigned count> __device__ __forceinline__ void mask(float (&s)[count], unsigned first, const int (&seen)[2])
    {
#pragma unroll
        for (unsigned i = 0; i < count; ++i)
            if ((int)(first + i / 4 * 8 + lane_id() % 4 * 2 + i % 2) >= seen[i / 2 % 2])
                s[i] = least();
    }
    // Returns the greatest score of row r of the tile. All lanes that share the row get this score.
    template <unsigned count> __device__ __forceinline__ float greatest(const float (&s)[count], unsigned r)
    {
        float top = least();
#pragma unroll
        for (unsigned i = 2 * r; i < count; i += 4)
            top = fmaxf(top, fmaxf(s[i], s[i + 1]));
        top = fmaxf(top, __shfl_xor_sync(ALL_LANES, top, 1));
        return fmaxf(top, __shfl_xor_sync(ALL_LANES, top, 2));
    }
    // Finds the new base of row r for a tile whose greatest score is `top`. The function sets `scale`, and multiplies
    // the row's sum of exponentials by it. The caller must multiply the row's accumulators of O by `scale` too. Returns
    // the new base. If the row has seen no key, returns 0, so that each of its exponentials is 0.
    __device__ __forceinline__ float rebase(float top, float &scale, unsigned r)
    {
        const float now = top > base[r] + SLACK ? top : base[r], base_now = now == least() ? 0 : now;
        scale = exp2_fast(base[r] - base_now);
        base[r] = now;
        sum[r] *= scale;
        return base_now;
    }
    // Turns scores into exponentials. The caller must multiply the accumulators of O by `scale`. Returns false if the
    // scale is 1 for all rows of the warp. For most tiles after the first tile, it is 1. A score times `units` is an
    // exponent of 2.
    template <unsigned count>
    __device__ __forceinline__ bool take(float (&s)[count], float (&scale)[2], float units = factor())
    {
        bool grew = false;
#pragma unroll
        for (unsigned r = 0; r < 2; ++r) {
            const float before = base[r], from = rebase(greatest(s, r) * units, scale[r], r) - RAISE;
            grew |= base[r] != before;
#pragma unroll
            for (unsigned i = 2 * r; i < count; i += 4) {
                s[i] = exponential(s[i] * units - from, i / 2);
                s[i + 1] = exponential(s[i + 1] * units - from, i / 2 + 1);
                sum[r] += s[i] + s[i + 1];
            }
        }
        return __any_sync(ALL_LANES, grew);
    }
    // Sets `scale` to the factors for the final O. The factor of a row that saw no key is 0.
    __device__ __forceinline__ void end(float (&scale)[2])
    {
#pragma unroll
        for (unsigned r = 0; r < 2; ++r) {
            float all = sum[r] + __shfl_xor_sync(ALL_LANES, sum[r], 1);
            all += __shfl_xor_sync(ALL_LANES, all, 2);
            scale[r] = all > 0 ? 1 / all : 0;
        }
    }
};

template <unsigned count> __device__ __forceinline__ void scale_rows(float (&o)[count], const float (&scale)[2])
{
#pragma unroll
    for (unsigned i = 0; i < count; ++i)
        o[i] *= scale[i / 2 % 2];
}

// Converts exponentials to the first operand of a product: the accumulators of 16 columns become a fragment with 16
// elements along K.
template <unsigned count> __device__ __forceinline__ void as_fragments(unsigned (&p)[count / 8][4], const float (&s)[count])
{
#pragma unroll
    for (unsigned i = 0; i < count / 2; ++i)
        p[i / 4][i % 4] = pack_pair(bf16(), s[2 * i], s[2 * i + 1]);
}

// Adds the contribution of a tile of `tile` keys and values to a warp's 16 rows of queries. The tile is in shared
// memory in the layout of Layout::piece and begins with key `first`. `whole` means that all rows see all keys of the
// tile. Otherwise row r sees the keys below seen[r].
template <class Layout, unsigned tile>
__device__ __forceinline__ void take_tile(float (&o)[HEAD_DIM / 2], Softmax &softmax, const unsigned (&queries)[DEPTH][4],
                                          unsigned keys, unsigned values, unsigned first, bool whole, const int (&seen)[2])
{
    float s[tile / 2];
    const unsigned lane = lane_id();
#pragma unroll
    for (unsigned i = 0; i < tile / 2; ++i)
        s[i] = 0;
#pragma unroll
    for (unsigned d = 0; d < DEPTH; ++d)
#pragma unroll
        for (unsigned j = 0; j < tile / 16; ++j) { // 16 keys, which are two squares of columns
            unsigned b[4];
            load_fragments(b, keys + Layout::piece(16 * j + lane / 16 * 8 + lane % 8, 2 * d + lane / 8 % 2));
            multiply(bf16(), *(float(*)[4])(s + 8 * j), queries[d], b[0], b[1]);
            multiply(bf16(), *(float(*)[4])(s + 8 * j + 4), queries[d], b[2], b[3]);
        }
    if (!whole)
        softmax.mask(s, first, seen);
    float scale[2];
    if (softmax.take(s, scale))
        scale_rows(o, scale);
    unsigned p[tile / 16][4];
    as_fragments(p, s);
#pragma unroll
    for (unsigned j = 0; j < tile / 16; ++j)
#pragma unroll
        for (unsigned d = 0; d < DEPTH; ++d) { // 16 columns of V
            unsigned b[4];
            load_fragments_turned(b, values + Layout::piece(16 * j + lane % 16, 2 * d + lane / 16));
            multiply(bf16(), *(float(*)[4])(o + 8 * d), p[j], b[0], b[1]);
            multiply(bf16(), *(float(*)[4])(o + 8 * d + 4), p[j], b[2], b[3]);
        }
}

#endif
