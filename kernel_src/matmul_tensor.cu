// matmul_tensor.cu - P = A B in single precision on tensor cores, as exact as the kernels of matmul.cu. A is M x K, B
// is K x N, P is M x N. All are dense and row-major, and all sizes below 2^31 are legal, as in matmul.cu.
//
// Tensor cores multiply numbers with significands of 11 bits (tf32) or 8 bits (bf16). A float with its significand of
// 24 bits is the sum of two or three such parts. So a product of two floats is the sum of a few products of parts, if
// the products below the last bit are left out. Two tf32 parts (high and low) need three products: high x high, high x
// low and low x high. Three bf16 parts need six products. A tensor core rounds its accumulators towards zero. At K =
// 4096 with positive numbers, this rounding alone makes errors 75 times as large as in single precision. Therefore an
// accumulator stays in the tensor core only for a short stretch of K. Then the kernel adds it to a second accumulator
// in a register, rounded to nearest. TENSOR.md has the errors of this method and of others. From K = 512 on they are
// not larger than the errors of ordinary single precision.
//
// Some numbers cannot be split: infinities, NaN, magnitudes from 2^127 on (rounded up, they exceed the largest number),
// and magnitudes below 2^-102 (their low parts are denormal). If such a number occurs, the block (tensor_3xtf32) or the
// warp (tensor_bf16x6) computes its part of P by ordinary multiply-adds, which are many times slower. So the result is
// right for such numbers too. Such numbers are rare in practice.

#include "async.cuh"
#include "common.cuh"
#include "split.cuh"
#include "tensor.cuh"

#ifndef TILE_M
#define TILE_M 128 // tensor_3xtf32: number of rows of P that a block computes
#endif
#ifndef TILE_N
#define TILE_N 128 // number of columns of P that a block computes
#endif
#ifndef TILE_K
#define TILE_K 32 // number of columns of A, and of rows of B, in one step
#endif
#ifndef WARP_M
#define WARP_M 64 // tensor_3xtf32: number of rows of P per warp; a multiple of 16
#endif
#ifndef WARP_N
#define WARP_N 32 // tensor_3xtf32: number of columns of P per warp; a multiple of 8
#endif
#ifndef STAGES
#define STAGES 3 // number of steps along K in shared memory: one is multiplied while the others are copied
#endif
#ifndef PROMOTE
// tensor_3xtf32: number of elements along K after which an accumulator leaves the tensor cores; divides TILE_K
#define PROMOTE 16
#endif
#ifndef CONSUMERS
#define CONSUMERS 2 // tensor_bf16x6: number of warp groups that multiply, each with 64 rows of P
#endif
#ifndef CLUSTER
#define CLUSTER 1 // tensor_bf16x6: number of blocks of a cluster, one below the other, that share copies of B
#endif

// The first row and column of a block's tile of P.
struct Corner {
    unsigned row, col;
};

// Returns the place of the block's tile. The order of tiles goes down `walk` block rows before the next block column,
// so that blocks that run at the same time share rows of A and columns of B in the L2.
template <unsigned height, unsigned width>
__device__ __forceinline__ Corner tile_corner(unsigned block, unsigned M, unsigned N, unsigned walk)
{
    unsigned rows = ceil_div(M, height), cols = ceil_div(N, width);
    unsigned first = block / (walk * cols) * walk, place = block % (walk * cols);
    unsigned walked = min(walk, rows - first);
    return {(first + place % walked) * height, place / walked * width};
}

// Computes height x width elements of P by ordinary multiply-adds with `threads` threads. The kernels call this if some
// numbers cannot be split.
template <unsigned height, unsigned width, unsigned threads>
__device__ __noinline__ void make_plain(const float *A, const float *B, float *P, unsigned M, unsigned N, unsigned K,
                                        Corner corner, unsigned thread)
{
    for (unsigned i = thread; i < height * width; i += threads) {
        unsigned row = corner.row + i / width, col = corner.col + i % width;
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
#define FRAGMENTS_M (WARP_M / 16) // one instruction computes 16 x 8 results
#define FRAGMENTS_N (WARP_N / 8)
// distance between two rows in floats, chosen so that 8 rows of 16 bytes, or 4 rows of 8 floats, are in different banks
#define ROW_A (TILE_K + 4)
#define ROW_B (TILE_N + 8)
#define STAGE_FLOATS (TILE_M * ROW_A + TILE_K * ROW_B)

static_assert(TILE_M % WARP_M == 0 && TILE_N % WARP_N == 0, "whole warps must fill a tile");
static_assert(WARP_M % 16 == 0 && WARP_N % 8 == 0 && TILE_K % 8 == 0, "whole instructions must fill a warp's part");
static_assert(PROMOTE % 8 == 0 && TILE_K % PROMOTE == 0, "no sum may be left behind at the end of a step");

// Begins to copy a tile of a matrix of rows x cols elements to shared memory, `count` elements per copy. Elements
// outside the matrix are zeros.
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

// Splits a number into the nearest tf32 (halves are rounded away from zero) and the remainder. A tensor core ignores
// the low 13 bits of the remainder. Only the first of these bits can be set.
__device__ __forceinline__ void split(float x, unsigned &high, unsigned &low)
{
    high = (__float_as_uint(x) + 0x1000) & 0xffffe000;
    low = __float_as_uint(x - __uint_as_float(high));
}

// The split operands of a warp for a step of 8 along K: WARP_M x 8 elements of A and 8 x WARP_N elements of B.
struct Operands {
    unsigned a_high[FRAGMENTS_M][4], a_low[FRAGMENTS_M][4], b_high[FRAGMENTS_N][2], b_low[FRAGMENTS_N][2];
};

// Reads and splits the operands for a step of 8 along K. Returns false if a tested number cannot be split. Several
// warps read the same numbers, and one of these warps tests them: `look_a` and `look_b` tell whether this warp tests A
// and B.
__device__ __forceinline__ bool read_operands(Operands &o, const float *a, const float *b, bool look_a, bool look_b)
{
    unsigned lane = lane_id();
    bool carried = true;
#pragma unroll
    for (unsigned i = 0; i < FRAGMENTS_M; ++i) {
        unsigned word[4];
        load_fragments(word, shared_address(a + (i * 16 + lane % 16) * ROW_A + lane / 16 * 4));
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

// Computes three products of tf32 parts by mma.sync. Each warp splits operands in registers when it reads them from
// shared memory.
//
// Compared with coarsened, the bound is a third of the tf32 rate of the tensor cores, instead of the rate of the fp32
// units. Every warp that reads a number splits it. So a number of A is split TILE_N / WARP_N times. A warp with a
// larger part of P splits and reads fewer numbers for each result. But it needs more registers: two accumulators,
// `total` and `sum`, for each result. Copies to shared memory are asynchronous, because no operand is transposed on the
// way.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    matmul_tensor_3xtf32(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ P, unsigned M,
                         unsigned N, unsigned K, unsigned walk)
{
    extern __shared__ float4 stages[]; // the type gives the alignment
    float *base = (float *)stages;
    Corner corner = tile_corner<TILE_M, TILE_N>(blockIdx.x, M, N, walk);
    unsigned lane = lane_id(), warp_m = warp_id() / WARPS_N, warp_n = warp_id() % WARPS_N;
    unsigned tiles = ceil_div(K, TILE_K);
    bool quads_a = K % 4 == 0 && is_aligned<16>(A), quads_b = N % 4 == 0 && is_aligned<16>(B);
    auto copy = [&](unsigned tile) { // commits a group even if there is no tile, so that the waits can count groups
        float *a = base + tile % STAGES * STAGE_FLOATS, *b = a + TILE_M * ROW_A;
        if (tile < tiles && quads_a)
            copy_tile<4, TILE_M, TILE_K, ROW_A>(a, A, corner.row, tile * TILE_K, M, K);
        else if (tile < tiles)
            copy_tile<1, TILE_M, TILE_K, ROW_A>(a, A, corner.row, tile * TILE_K, M, K);
        if (tile < tiles && quads_b)
            copy_tile<4, TILE_K, TILE_N, ROW_B>(b, B, tile * TILE_K, corner.col, K, N);
        else if (tile < tiles)
            copy_tile<1, TILE_K, TILE_N, ROW_B>(b, B, tile * TILE_K, corner.col, K, N);
        copy_async_commit();
    };

    float total[FRAGMENTS_M][FRAGMENTS_N][4] = {}, sum[FRAGMENTS_M][FRAGMENTS_N][4] = {};
    bool carried = true;
    for (unsigned s = 0; s < STAGES - 1; ++s)
        copy(s);
    for (unsigned tile = 0; tile < tiles; ++tile) {
        copy_async_wait<STAGES - 2>();
        // the tile has arrived, and all warps have finished the previous tile, which the next copy overwrites
        __syncthreads();
        copy(tile + STAGES - 1);
        const float *a = base + tile % STAGES * STAGE_FLOATS + warp_m * WARP_M * ROW_A;
        const float *b = base + tile % STAGES * STAGE_FLOATS + TILE_M * ROW_A + warp_n * WARP_N;
#pragma unroll
        for (unsigned k = 0; k < TILE_K; k += 8) {
            Operands o;
            unsigned turn = tile * (TILE_K / 8) + k / 8;
            carried &= read_operands(o, a + k, b + k * ROW_B, turn % WARPS_N == warp_n, turn % WARPS_M == warp_m);
#pragma unroll
            // products with a low part come first, because they are smaller
            for (unsigned product = 0; product < 3; ++product)
#pragma unroll
                for (unsigned i = 0; i < FRAGMENTS_M; ++i)
#pragma unroll
                    for (unsigned j = 0; j < FRAGMENTS_N; ++j)
                        multiply(tf32(), sum[i][j], product == 0 ? o.a_low[i] : o.a_high[i],
                                 product == 1 ? o.b_low[j][0] : o.b_high[j][0],
                                 product == 1 ? o.b_low[j][1] : o.b_high[j][1]);
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
        make_plain<TILE_M, TILE_N, THREADS>(A, B, P, M, N, K, corner, threadIdx.x);
        return;
    }
    bool paired = N % 2 == 0 && is_aligned<8>(P);
#pragma unroll
    for (unsigned i = 0; i < FRAGMENTS_M; ++i)
#pragma unroll
        for (unsigned j = 0; j < FRAGMENTS_N; ++j) {
            unsigned row = corner.row + warp_m * WARP_M + i * 16 + lane / 4;
            unsigned col = corner.col + warp_n * WARP_N + j * 8 + lane % 4 * 2;
            store_inside(P, row, col, M, N, paired, total[i][j][0], total[i][j][1]);
            store_inside(P, row + 8, col, M, N, paired, total[i][j][2], total[i][j][3]);
        }
}
#endif

#if (defined(MATMUL_TENSOR_BF16X6) || !defined(MATMUL_ONE)) && __CUDA_ARCH__ >= 800
extern "C" __global__ void __launch_bounds__(128)
    matmul_split(const float *__restrict__ matrix, uint2 *__restrict__ parts, unsigned rows, unsigned cols,
                 unsigned stride)
{
    split_matrix(matrix, parts, rows, cols, stride);
}
#endif

#if (defined(MATMUL_TENSOR_BF16X6) || !defined(MATMUL_ONE)) && defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define ROWS (64 * CONSUMERS) // number of rows of P per block
#define BOX_A (ROWS * TILE_K * 2) // number of bytes of one bf16 part of A in one step along K
#define BOX_B (TILE_K * 128) // number of bytes of 64 columns of one bf16 part of B in one step along K
#define PART_B (TILE_N / 64 * BOX_B)
#define STAGE_BYTES (3 * (BOX_A + PART_B))
// registers of each thread that multiplies: those that the copying warp group gives up go to these threads
#define GROUP_REGISTERS (CONSUMERS == 2 ? 232 : 160)
#define OTHER_REGISTERS (CONSUMERS == 2 ? 40 : 32)

static_assert(CONSUMERS == 2 || CONSUMERS == 3, "CONSUMERS must be 2 or 3: GROUP_REGISTERS has no other values");
static_assert(TILE_K == 32 || TILE_K == 64, "a row of a box of A is 64 or 128 bytes");
static_assert(TILE_N % 64 == 0, "a row of a box of B is 128 bytes");

// Copies the operands of the block. For each step along K, all bf16 parts of A and B go to a stage of the ring buffer.
// The blocks of a cluster take turns in copying boxes of B. Each copy of B goes to all blocks of the cluster, so a
// stage must be empty in all these blocks.
__device__ __forceinline__ void copy_parts(const tensor_map &map_a, const tensor_map &map_b, char *stages,
                                           barrier *full, barrier *empty, Corner corner, unsigned steps)
{
    const unsigned rank = CLUSTER > 1 ? cluster_rank() : 0;
    for (unsigned step = 0; step < steps; ++step) {
        unsigned stage = step % STAGES;
        char *to = stages + stage * STAGE_BYTES;
        barrier_wait(empty + stage, (step / STAGES + 1) & 1);
        barrier_expect(full + stage, STAGE_BYTES);
#pragma unroll
        for (unsigned part = 0; part < 3; ++part) {
            tensor_load(to + part * BOX_A, map_a, step * TILE_K, corner.row, part, full + stage);
#pragma unroll
            for (unsigned box = 0; box < TILE_N / 64; ++box) {
                char *to_b = to + 3 * BOX_A + part * PART_B + box * BOX_B;
                if (CLUSTER == 1)
                    tensor_load(to_b, map_b, corner.col + box * 64, step * TILE_K, part, full + stage);
                else if ((part * (TILE_N / 64) + box) % CLUSTER == rank)
                    tensor_multicast(to_b, map_b, corner.col + box * 64, step * TILE_K, part, full + stage,
                                     (1 << CLUSTER) - 1);
            }
        }
    }
}

// Multiplies the operands of one stage, and writes the 64 x TILE_N accumulators of a warp group.
__device__ __forceinline__ void multiply_stage(float (&sum)[TILE_N / 2], unsigned a, unsigned b)
{
    multiply_parts<true, TILE_N>(sum, matrix_descriptor<TILE_K * 2>(a, 0, TILE_K * 16), BOX_A, 32,
                                 matrix_descriptor<128>(b, BOX_B, 1024), PART_B, 16 * 128, TILE_K / 16);
}

// Computes six products of bf16 parts by wgmma. The kernel matmul_split makes the parts in a separate launch, and
// tensor maps copy them.
//
// Compared with tensor_3xtf32, the bound is the same: there are twice as many products, and bf16 is twice as fast as
// tf32. Errors are smaller, because all small products of a step along K are added before the large products. wgmma
// reads the operands from shared memory, where they have the same order as in global memory. B keeps this order too,
// because wgmma can transpose 16-bit operands. The blocks of a cluster share the copies of B. One thread of the first
// warp group issues all copies. The other warp groups multiply. They take over registers of the first warp group,
// because each result needs two accumulators. While one warp group adds its accumulators, another multiplies.
extern "C" __global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
    matmul_tensor_bf16x6(const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_b,
                         const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ P, unsigned M,
                         unsigned N, unsigned K, unsigned walk)
{
    // boxes with a swizzle of 128 bytes begin at addresses that are multiples of 1024
    extern __shared__ __align__(1024) char ring[];
    __shared__ barrier full[STAGES], empty[STAGES];
    Corner corner = tile_corner<ROWS * CLUSTER, TILE_N>(blockIdx.x / CLUSTER, M, N, walk);
    corner.row += blockIdx.x % CLUSTER * ROWS;
    unsigned steps = ceil_div(K, TILE_K), group = warp_id() / 4;
    if (threadIdx.x == 0) {
        for (unsigned s = 0; s < STAGES; ++s) {
            barrier_init(full + s, 1);
            barrier_init(empty + s, CONSUMERS * CLUSTER);
        }
        barriers_made();
    }
    if (CLUSTER > 1)
        cluster_sync();
    else
        __syncthreads();
    if (group == 0) {
        registers_give<OTHER_REGISTERS>();
        if (threadIdx.x == 0)
            copy_parts(map_a, map_b, ring, full, empty, corner, steps);
        __syncwarp();
        if (CLUSTER > 1)
            cluster_sync();
        return;
    }
    registers_take<GROUP_REGISTERS>();
    float total[TILE_N / 2] = {}, sum[TILE_N / 2];
    for (unsigned step = 0; step < steps; ++step) {
        unsigned stage = step % STAGES, base = shared_address(ring + stage * STAGE_BYTES);
        barrier_wait(full + stage, step / STAGES & 1);
        multiply_stage(sum, base + (group - 1) * 64 * TILE_K * 2, base + 3 * BOX_A);
        if (CLUSTER == 1 && threadIdx.x % 128 == 0)
            barrier_arrive(empty + stage);
        if (CLUSTER > 1 && threadIdx.x % 128 < CLUSTER)
            barrier_arrive(empty + stage, threadIdx.x % 128);
        __syncwarp();
#pragma unroll
        for (unsigned i = 0; i < TILE_N / 2; ++i)
            total[i] += sum[i];
    }
    if (CLUSTER > 1)
        cluster_sync(); // a block ends only when no other block can arrive on its barriers

    bool carried = true;
#pragma unroll
    for (unsigned i = 0; i < TILE_N / 2; ++i)
        carried &= total[i] == total[i];
    Corner mine = {corner.row + (warp_id() - 4) * 16, corner.col}; // the 16 rows of P that this warp computes
    if (!__all_sync(ALL_LANES, carried)) {
        make_plain<16, TILE_N, WARP>(A, B, P, M, N, K, mine, lane_id());
        return;
    }
    bool paired = N % 2 == 0 && is_aligned<8>(P);
#pragma unroll
    for (unsigned j = 0; j < TILE_N / 8; ++j) {
        unsigned row = mine.row + lane_id() / 4, col = mine.col + j * 8 + lane_id() % 4 * 2;
        store_inside(P, row, col, M, N, paired, total[4 * j], total[4 * j + 1]);
        store_inside(P, row + 8, col, M, N, paired, total[4 * j + 2], total[4 * j + 3]);
    }
}
#endif
