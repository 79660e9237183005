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
// and below 2^-102 (their low parts are too small to be normal). Who meets one makes its part of P by plain
// multiply-adds, many times slower. Such numbers are rare where a product of matrices makes sense.

#include "async.cuh"
#include "common.cuh"
#include "split.cuh"
#include "tensor.cuh"

#ifndef TILE_M
#define TILE_M 128 // tensor_3xtf32: rows of P that a block makes
#endif
#ifndef TILE_N
#define TILE_N 128 // columns of P that a block makes
#endif
#ifndef TILE_K
#define TILE_K 32 // columns of A and rows of B in one step
#endif
#ifndef WARP_M
#define WARP_M 64 // tensor_3xtf32: rows of P that a warp makes, of the block's; a multiple of 16
#endif
#ifndef WARP_N
#define WARP_N 32 // and columns, a multiple of 8
#endif
#ifndef STAGES
#define STAGES 3 // steps in shared memory: one is multiplied while the others are copied
#endif
#ifndef PROMOTE
#define PROMOTE 16 // tensor_3xtf32, of K: how long a sum stays in the tensor cores; divides TILE_K
#endif
#ifndef CONSUMERS
#define CONSUMERS 2 // tensor_bf16x6: warp groups that multiply, 64 rows of P each
#endif
#ifndef CLUSTER
#define CLUSTER 1 // tensor_bf16x6: blocks, one below the other, that share copies of B
#endif

// Where the block's tile of P begins.
struct Corner {
    unsigned row, col;
};

// `walk` block rows are walked down before the next block column, so that blocks that run at the same time share rows
// of A and columns of B in the L2.
template <unsigned height, unsigned width>
__device__ __forceinline__ Corner tile_corner(unsigned block, unsigned M, unsigned N, unsigned walk)
{
    unsigned rows = ceil_div(M, height), cols = ceil_div(N, width);
    unsigned first = block / (walk * cols) * walk, place = block % (walk * cols);
    unsigned walked = min(walk, rows - first);
    return {(first + place % walked) * height, place / walked * width};
}

// height x width of P by plain multiply-adds, by so many threads: for numbers that cannot be split.
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

// Three products of tf32 parts by mma.sync, the parts made in registers as operands come from shared memory.
//
// Against coarsened: a third of the tensor cores' tf32 rate in place of the fp32 units', and a number is split by each
// warp that reads it, TILE_N / WARP_N times for A: wide parts of a warp save that and shared memory, and take registers,
// twice those of the results. Copies to shared memory are asynchronous, since nothing is transposed on the way.
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
    auto copy = [&](unsigned tile) { // a group in any case, so that the groups can be counted
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
#define ROWS (64 * CONSUMERS)                 // of P, of a block
#define BOX_A (ROWS * TILE_K * 2)             // bytes of one part of a step of A
#define BOX_B (TILE_K * 128)                  // and of 64 columns of one of B
#define PART_B (TILE_N / 64 * BOX_B)
#define STAGE_BYTES (3 * (BOX_A + PART_B))
#define GROUP_REGISTERS (CONSUMERS == 2 ? 232 : 160) // of a thread that multiplies; what others leave
#define OTHER_REGISTERS (CONSUMERS == 2 ? 40 : 32)

static_assert(CONSUMERS == 2 || CONSUMERS == 3, "registers are shared out for these");
static_assert(TILE_K == 32 || TILE_K == 64, "a row of a box of A is 64 or 128 bytes");
static_assert(TILE_N % 64 == 0, "a row of a box of B is 128 bytes");

// The block's copies: a step of all parts of A and of B a stage. The blocks of a cluster take turns in copying boxes of
// B, each to all of them, so a stage must be empty in all.
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

// A warp group's 64 x TILE_N: sum = what one stage adds.
__device__ __forceinline__ void multiply_stage(float (&sum)[TILE_N / 2], unsigned a, unsigned b)
{
    multiply_parts<true, TILE_N>(sum, matrix_descriptor<TILE_K * 2>(a, 0, TILE_K * 16), BOX_A, 32,
                                 matrix_descriptor<128>(b, BOX_B, 1024), PART_B, 16 * 128, TILE_K / 16);
}

// Six products of bf16 parts by wgmma. The parts are made before, by matmul_split; tensor maps bring them.
//
// Against tensor_3xtf32: the same bound, as bf16 is twice as fast as tf32, and smaller errors, since all small products
// of a step come before the large ones. Operands come straight from shared memory, in the order in which they are in
// global memory: B too, as wgmma turns 16-bit operands over. Blocks of a cluster take each other's copies of B. One warp
// of the first group copies; the groups that multiply take its registers for their sums, which they need twice. A group
// adds up while another one multiplies.
extern "C" __global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
    matmul_tensor_bf16x6(const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_b,
                         const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ P, unsigned M,
                         unsigned N, unsigned K, unsigned walk)
{
    extern __shared__ __align__(1024) char ring[]; // boxes with a swizzle of 128 bytes lie at multiples of 1024
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
        cluster_sync(); // a block ends when no other one arrives at its barriers any more

    bool carried = true;
#pragma unroll
    for (unsigned i = 0; i < TILE_N / 2; ++i)
        carried &= total[i] == total[i];
    Corner mine = {corner.row + (warp_id() - 4) * 16, corner.col}; // this warp's 16 rows
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
