// matmul_tensor.cu - P = A B in single precision on tensor cores, as exact as matmul.cu. A is M x K, B is K x N, P is
// M x N, all dense and row-major; any sizes below 2^31, as there.
//
// Tensor cores multiply numbers of 11 bits (tf32) or 8 (bf16). A float of 24 bits is the sum of two or three of these,
// so its product with another one is the sum of a few of theirs: three products of tf32 parts (high x high, high x low,
// low x high) or six of bf16 parts, less what is below the last bit. A tensor core cuts its sums towards zero, which
// alone makes errors 75 times those of single precision at K = 4096 where all numbers are positive. So a sum stays in it
// for a short stretch of K and is then added to another one in a register, rounded to the nearest. TENSOR.md has the
// errors of this and of other ways to do it: from K = 512 on they are not larger than those of plain single precision.
//
// What cannot be split stays right: infinities, NaN, magnitudes from 2^127 on (rounded up, they pass the largest number)
// and below 2^-102 (their low parts are too small to be normal). A block that meets one makes its tile by plain
// multiply-adds, many times slower. Denormals and infinities are rare where a product of matrices makes sense.

#include "common.cuh"

#ifndef TILE_M
#define TILE_M 128 // rows of P that a block makes
#endif
#ifndef TILE_N
#define TILE_N 128 // columns of P that a block makes
#endif
#ifndef TILE_K
#define TILE_K 16 // columns of A and rows of B in one step
#endif
#ifndef WARP_M
#define WARP_M 64 // rows of P that a warp makes, of the block's; a multiple of 16
#endif
#ifndef WARP_N
#define WARP_N 32 // columns, a multiple of 8
#endif
#ifndef STAGES
#define STAGES 3 // steps in shared memory: one is multiplied while the others are copied
#endif
#ifndef PROMOTE
#define PROMOTE 16 // of K: how long a sum stays in the tensor cores; divides TILE_K
#endif
#ifndef SWIZZLE
#define SWIZZLE 8 // block rows that are walked down before the next block column
#endif

// Whether a number can be split: zero, or a magnitude in [2^-102, 2^127).
__device__ __forceinline__ bool is_carried(float x)
{
    unsigned magnitude = __float_as_uint(x) & 0x7fffffff;
    return magnitude == 0 || magnitude - 0x0c800000 < 0x7f000000 - 0x0c800000;
}

// The first row and column of the block's tile: SWIZZLE block rows are walked down before the next block column, so
// that blocks that run at the same time share rows of A and columns of B in the L2.
__device__ __forceinline__ uint2 tile_corner(unsigned M, unsigned N)
{
    unsigned rows = ceil_div(M, TILE_M), cols = ceil_div(N, TILE_N);
    unsigned group = blockIdx.x / (SWIZZLE * cols), place = blockIdx.x % (SWIZZLE * cols);
    unsigned height = min((unsigned)SWIZZLE, rows - group * SWIZZLE);
    return {(group * SWIZZLE + place % height) * TILE_M, place / height * TILE_N};
}

// The block's tile by plain multiply-adds: for numbers that cannot be split.
template <unsigned threads>
__device__ __noinline__ void make_plain_tile(const float *A, const float *B, float *P, unsigned M, unsigned N,
                                             unsigned K, uint2 corner)
{
    for (unsigned i = threadIdx.x; i < TILE_M * TILE_N; i += threads) {
        unsigned row = corner.x + i / TILE_N, col = corner.y + i % TILE_N;
        if (row >= M || col >= N)
            continue;
        const float *a = A + (offset)row * K, *b = B + col;
        float sum = 0.0f;
        for (unsigned k = 0; k < K; ++k, b += N)
            sum += a[k] * *b;
        P[(offset)row * N + col] = sum;
    }
}

#if (defined(MATMUL_TENSOR_3XTF32) || !defined(MATMUL_ONE)) && __CUDA_ARCH__ >= 800
#define WARPS_M (TILE_M / WARP_M)
#define WARPS_N (TILE_N / WARP_N)
#define THREADS (32 * WARPS_M * WARPS_N)
#define FRAGMENTS_M (WARP_M / 16) // what one instruction makes is 16 x 8
#define FRAGMENTS_N (WARP_N / 8)
#define ROW_A (TILE_K + 4) // floats from one row to the next: 8 rows of 16 bytes, and 4 rows of 8 floats, in all banks
#define ROW_B (TILE_N + 8)
#define STAGE_FLOATS (TILE_M * ROW_A + TILE_K * ROW_B)

static_assert(TILE_M % WARP_M == 0 && TILE_N % WARP_N == 0, "whole warps must fill a tile");
static_assert(WARP_M % 16 == 0 && WARP_N % 8 == 0 && TILE_K % 8 == 0, "whole instructions must fill a warp's part");
static_assert(PROMOTE % 8 == 0 && TILE_K % PROMOTE == 0, "no sum may be left behind at the end of a step");

// Begins to copy a tile of a rows x cols matrix to shared memory, `count` elements a copy; zeros where the matrix ends.
template <unsigned count, unsigned tile_rows, unsigned tile_cols, unsigned stride>
__device__ __forceinline__ void copy_tile(float *to, const float *from, unsigned row0, unsigned col0, unsigned rows,
                                          unsigned cols)
{
#pragma unroll
    for (unsigned first = 0; first < tile_rows * tile_cols; first += THREADS * count) {
        unsigned i = first + threadIdx.x * count, row = i / tile_cols, col = i % tile_cols;
        if (tile_rows * tile_cols % (THREADS * count) != 0 && i >= tile_rows * tile_cols)
            break;
        bool inside = row0 + row < rows && col0 + col < cols;
        const float *at = inside ? from + (offset)(row0 + row) * cols + col0 + col : from;
        copy_async<count * 4>(to + row * stride + col, at, inside);
    }
}

// The high part of a number to the nearest tf32, halves away from zero, and the rest of it. A tensor core does not look
// at the rest's low 13 bits, of which only the first can be set.
__device__ __forceinline__ void split(float x, unsigned &high, unsigned &low)
{
    high = (__float_as_uint(x) + 0x1000) & 0xffffe000;
    low = __float_as_uint(x - __uint_as_float(high));
}

// sum += a b, of 16 x 8 x 8.
__device__ __forceinline__ void multiply(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// A warp's WARP_M x 8 of A or 8 x WARP_N of B, split.
struct Operands {
    unsigned a_high[FRAGMENTS_M][4], a_low[FRAGMENTS_M][4], b_high[FRAGMENTS_N][2], b_low[FRAGMENTS_N][2];
};

// Reads a step of 8 of K. Of the warps that read the same numbers, one looks whether all can be split.
__device__ __forceinline__ bool read_operands(Operands &o, const float *a, const float *b, bool look_a, bool look_b)
{
    unsigned lane = lane_id();
    bool carried = true;
#pragma unroll
    for (unsigned i = 0; i < FRAGMENTS_M; ++i) {
        unsigned word[4], from = (unsigned)__cvta_generic_to_shared(a + (i * 16 + lane % 16) * ROW_A + lane / 16 * 4);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
                     : "r"(from)
                     : "memory");
#pragma unroll
        for (unsigned q = 0; q < 4; ++q) {
            split(__uint_as_float(word[q]), o.a_high[i][q], o.a_low[i][q]);
            if (look_a)
                carried &= is_carried(__uint_as_float(word[q]));
        }
    }
#pragma unroll
    for (unsigned j = 0; j < FRAGMENTS_N; ++j)
#pragma unroll
        for (unsigned q = 0; q < 2; ++q) {
            float x = b[(lane % 4 + q * 4) * ROW_B + j * 8 + lane / 4];
            split(x, o.b_high[j][q], o.b_low[j][q]);
            if (look_b)
                carried &= is_carried(x);
        }
    return carried;
}

// Writes two neighbours of a row of P, those that are inside.
__device__ __forceinline__ void store_pair(float *P, unsigned row, unsigned col, unsigned M, unsigned N, bool paired,
                                           float x, float y)
{
    float *to = P + (offset)row * N + col;
    if (row < M && paired && col < N)
        *(float2 *)to = {x, y};
    else if (row < M) {
        if (col < N)
            to[0] = x;
        if (col + 1 < N)
            to[1] = y;
    }
}

// Three products of tf32 parts by mma.sync, the parts made in registers as operands come from shared memory.
//
// Against coarsened: a third of the tensor cores' tf32 rate in place of the fp32 units', and a number is split by each
// warp that reads it, TILE_N / WARP_N times for A: wide parts of a warp save that and shared memory, and take registers,
// twice those of the results. Copies to shared memory are asynchronous, since nothing is transposed on the way.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    matmul_tensor_3xtf32(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ P, unsigned M,
                         unsigned N, unsigned K)
{
    extern __shared__ float4 stages[]; // the type gives the alignment
    float *base = (float *)stages;
    uint2 corner = tile_corner(M, N);
    unsigned lane = lane_id(), warp_m = warp_id() / WARPS_N, warp_n = warp_id() % WARPS_N;
    unsigned tiles = ceil_div(K, TILE_K);
    bool quads_a = K % 4 == 0 && is_aligned<16>(A), quads_b = N % 4 == 0 && is_aligned<16>(B);
    auto copy = [&](unsigned tile) { // a group in any case, so that the groups can be counted
        float *a = base + tile % STAGES * STAGE_FLOATS, *b = a + TILE_M * ROW_A;
        if (tile < tiles && quads_a)
            copy_tile<4, TILE_M, TILE_K, ROW_A>(a, A, corner.x, tile * TILE_K, M, K);
        else if (tile < tiles)
            copy_tile<1, TILE_M, TILE_K, ROW_A>(a, A, corner.x, tile * TILE_K, M, K);
        if (tile < tiles && quads_b)
            copy_tile<4, TILE_K, TILE_N, ROW_B>(b, B, tile * TILE_K, corner.y, K, N);
        else if (tile < tiles)
            copy_tile<1, TILE_K, TILE_N, ROW_B>(b, B, tile * TILE_K, corner.y, K, N);
        copy_async_commit();
    };

    float total[FRAGMENTS_M][FRAGMENTS_N][4] = {}, sum[FRAGMENTS_M][FRAGMENTS_N][4] = {};
    bool carried = true;
    for (unsigned s = 0; s < STAGES - 1; ++s)
        copy(s);
    for (unsigned tile = 0; tile < tiles; ++tile) {
        copy_async_wait<STAGES - 2>();
        __syncthreads(); // the tile is there, and all warps are done with the one before, which is overwritten now
        copy(tile + STAGES - 1);
        const float *a = base + tile % STAGES * STAGE_FLOATS + warp_m * WARP_M * ROW_A;
        const float *b = base + tile % STAGES * STAGE_FLOATS + TILE_M * ROW_A + warp_n * WARP_N;
#pragma unroll
        for (unsigned k = 0; k < TILE_K; k += 8) {
            Operands o;
            unsigned turn = tile * (TILE_K / 8) + k / 8;
            carried &= read_operands(o, a + k, b + k * ROW_B, turn % WARPS_N == warp_n, turn % WARPS_M == warp_m);
#pragma unroll
            for (unsigned product = 0; product < 3; ++product) // the smaller ones first
#pragma unroll
                for (unsigned i = 0; i < FRAGMENTS_M; ++i)
#pragma unroll
                    for (unsigned j = 0; j < FRAGMENTS_N; ++j)
                        multiply(sum[i][j], product == 0 ? o.a_low[i] : o.a_high[i],
                                 product == 1 ? o.b_low[j] : o.b_high[j]);
            if ((k + 8) % PROMOTE == 0)
#pragma unroll
                for (unsigned i = 0; i < FRAGMENTS_M; ++i)
#pragma unroll
                    for (unsigned j = 0; j < FRAGMENTS_N; ++j)
#pragma unroll
                        for (unsigned q = 0; q < 4; ++q) {
                            total[i][j][q] += sum[i][j][q];
                            sum[i][j][q] = 0.0f;
                        }
        }
    }
    if (!__syncthreads_and(carried)) {
        make_plain_tile<THREADS>(A, B, P, M, N, K, corner);
        return;
    }
    bool paired = N % 2 == 0 && is_aligned<8>(P);
#pragma unroll
    for (unsigned i = 0; i < FRAGMENTS_M; ++i)
#pragma unroll
        for (unsigned j = 0; j < FRAGMENTS_N; ++j) {
            unsigned row = corner.x + warp_m * WARP_M + i * 16 + lane / 4;
            unsigned col = corner.y + warp_n * WARP_N + j * 8 + lane % 4 * 2;
            store_pair(P, row, col, M, N, paired, total[i][j][0], total[i][j][1]);
            store_pair(P, row + 8, col, M, N, paired, total[i][j][2], total[i][j][3]);
        }
}
#endif
