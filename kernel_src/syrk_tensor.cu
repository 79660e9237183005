// syrk_tensor.cu - C = A A' in single precision on tensor cores. From K = 512 on it is as exact as syrk.cu. A is N x K,
// C is N x N and symmetric. Both are dense and row-major, and all sizes below 2^31 are legal, as in syrk.cu.
//
// Numbers are split into three bf16 parts as in matmul_tensor.cu. The errors are the same, and so is the treatment of
// numbers that cannot be split (TENSOR.md). There are two differences. First, both operands are rows of A. So the bf16
// parts of A are made once, both tensor maps use the same memory, and both operands are read along K. Second, half of
// the tiles need not be computed.

#include "async.cuh"
#include "common.cuh"
#include "split.cuh"
#include "tensor.cuh"

#ifndef TILE_N
#define TILE_N 128 // number of columns of C that a block computes; ROWS must be a multiple of it
#endif
#ifndef TILE_K
#define TILE_K 32 // number of columns of A in one step along K
#endif
#ifndef STAGES
#define STAGES 3 // number of steps along K in shared memory: one is multiplied while the others are copied
#endif
#ifndef CONSUMERS
#define CONSUMERS 2 // number of warp groups that multiply, each with 64 rows of C
#endif

#if __CUDA_ARCH__ >= 800
extern "C" __global__ void __launch_bounds__(128)
    syrk_split(const float *__restrict__ A, uint2 *__restrict__ parts, unsigned N, unsigned K, unsigned stride)
{
    split_matrix(A, parts, N, K, stride);
}
#endif

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define ROWS (64 * CONSUMERS) // number of rows of C that a block computes
#define ACROSS (ROWS / TILE_N)         // number of tiles side by side that are as wide as one tile is high
#define PART_A (ROWS * TILE_K * 2) // number of bytes of one bf16 part of the tile's rows of A in one step
// number of bytes of one bf16 part of the rows of A for the tile's columns in one step
#define PART_B (TILE_N * TILE_K * 2)
#define STAGE_BYTES (3 * (PART_A + PART_B))
// registers of each thread that multiplies: those that the copying warp group gives up go to these threads
#define GROUP_REGISTERS (CONSUMERS == 2 ? 232 : 160)
#define OTHER_REGISTERS (CONSUMERS == 2 ? 40 : 32)

static_assert(CONSUMERS == 2 || CONSUMERS == 3, "CONSUMERS must be 2 or 3: GROUP_REGISTERS has no other values");
static_assert(TILE_K == 32 || TILE_K == 64, "a row of a box is 64 or 128 bytes");
static_assert(ROWS % TILE_N == 0, "the number of a tile is computed from this");

// The first row and column of a tile of C.
struct Corner {
    unsigned row, col;
};

// Returns the corner of a tile on or below the diagonal. Row r of tiles has the first ACROSS (r + 1) tiles, as far as C
// extends. The order of tiles goes down `walk` rows before it moves to the next column, so that blocks that run at the
// same time share rows of A in the L2.
__device__ __forceinline__ Corner lower_tile(unsigned number, unsigned N, unsigned walk)
{
    const unsigned rows = ceil_div(N, ROWS), cols = ceil_div(N, TILE_N);
    unsigned first = 0, height;
    for (;; first += walk) {
        height = min(walk, rows - first);
        unsigned tiles = 0;
        for (unsigned r = first; r < first + height; ++r)
            tiles += min(ACROSS * (r + 1), cols);
        if (number < tiles)
            break;
        number -= tiles;
    }
    // number of columns that all rows of this group of `walk` rows have
    const unsigned whole = min(ACROSS * (first + 1), cols);
    if (number < whole * height)
        return {(first + number % height) * ROWS, number / height * TILE_N};
    number -= whole * height;
    for (unsigned col = whole;; ++col) {
        const unsigned top = col / ACROSS, below = first + height - top;
        if (number < below)
            return {(top + number) * ROWS, col * TILE_N};
        number -= below;
    }
}

// Copies the operands of the block, by one thread. For each step along K, all bf16 parts of the rows and of the columns
// go to a stage of the ring buffer.
__device__ __forceinline__ void copy_parts(const tensor_map &map_rows, const tensor_map &map_cols, char *stages,
                                           barrier *full, barrier *empty, Corner corner, unsigned steps)
{
    for (unsigned step = 0; step < steps; ++step) {
        unsigned stage = step % STAGES;
        char *to = stages + stage * STAGE_BYTES;
        barrier_wait(empty + stage, (step / STAGES + 1) & 1);
        barrier_expect(full + stage, STAGE_BYTES);
#pragma unroll
        for (unsigned part = 0; part < 3; ++part) {
            tensor_load(to + part * PART_A, map_rows, step * TILE_K, corner.row, part, full + stage);
            tensor_load(to + 3 * PART_A + part * PART_B, map_cols, step * TILE_K, corner.col, part, full + stage);
        }
    }
}

// Writes two neighbouring elements of a row of C, if they are on or below the diagonal, and writes their mirror images.
// So both triangles have the same bits. Eight lanes with neighbouring rows write a sector of the mirror image.
__device__ __forceinline__ void write_both(float *C, unsigned N, bool paired, unsigned row, unsigned col, float first,
                                           float second)
{
    if (row >= N || col > row)
        return;
    if (col < row) {
        store_inside(C, row, col, N, N, paired, first, second);
        C[(offset)col * N + row] = first;
    } else {
        C[(offset)row * N + col] = first;
    }
    if (col + 1 < row)
        C[(offset)(col + 1) * N + row] = second;
}

// A warp computes 16 x TILE_N elements of C by ordinary multiply-adds, because some numbers cannot be split.
__device__ __noinline__ void make_plain(const float *A, float *C, unsigned N, unsigned K, Corner corner)
{
    for (unsigned i = lane_id(); i < 16 * TILE_N; i += WARP) {
        unsigned row = corner.row + i / TILE_N, col = corner.col + i % TILE_N;
        if (row >= N || col > row)
            continue;
        const float *a = A + (offset)row * K, *b = A + (offset)col * K;
        float sum = 0.0f;
        for (unsigned k = 0; k < K; ++k)
            sum += a[k] * b[k];
        C[(offset)row * N + col] = sum;
        C[(offset)col * N + row] = sum;
    }
}

// Computes six products of bf16 parts by wgmma for the tiles on and below the diagonal.
//
// As in coarsened of syrk.cu, only half of the tiles are computed. Each multiply-add takes six products of the tensor
// cores. One thread of the first warp group issues all copies. The other warp groups multiply. They take over registers
// of the first warp group, because each result needs two accumulators: the sum of one step from the tensor core, and
// the total, rounded to nearest.
extern "C" __global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
    syrk_tensor_bf16x6(const __grid_constant__ tensor_map map_rows, const __grid_constant__ tensor_map map_cols,
                       const float *__restrict__ A, float *__restrict__ C, unsigned N, unsigned K, unsigned walk)
{
    // boxes with a swizzle of 128 bytes begin at addresses that are multiples of 1024
    extern __shared__ __align__(1024) char ring[];
    __shared__ barrier full[STAGES], empty[STAGES];
    const Corner corner = lower_tile(blockIdx.x, N, walk);
    const unsigned steps = ceil_div(K, TILE_K), group = warp_id() / 4;
    if (threadIdx.x == 0) {
        for (unsigned s = 0; s < STAGES; ++s) {
            barrier_init(full + s, 1);
            barrier_init(empty + s, CONSUMERS);
        }
        barriers_made();
    }
    __syncthreads();
    if (group == 0) {
        registers_give<OTHER_REGISTERS>();
        if (threadIdx.x == 0)
            copy_parts(map_rows, map_cols, ring, full, empty, corner, steps);
        return;
    }
    registers_take<GROUP_REGISTERS>();
    float total[TILE_N / 2] = {}, sum[TILE_N / 2];
    for (unsigned step = 0; step < steps; ++step) {
        const unsigned stage = step % STAGES, rows = shared_address(ring + stage * STAGE_BYTES),
                       mine = rows + (group - 1) * 64 * TILE_K * 2, cols = rows + 3 * PART_A;
        barrier_wait(full + stage, step / STAGES & 1);
        multiply_parts<false, TILE_N>(sum, matrix_descriptor<TILE_K * 2>(mine, 0, TILE_K * 16), PART_A, 32,
                                      matrix_descriptor<TILE_K * 2>(cols, 0, TILE_K * 16), PART_B, 32, TILE_K / 16);
        if (threadIdx.x % 128 == 0)
            barrier_arrive(empty + stage);
        __syncwarp();
#pragma unroll
        for (unsigned i = 0; i < TILE_N / 2; ++i)
            total[i] += sum[i];
    }

    bool carried = true;
#pragma unroll
    for (unsigned i = 0; i < TILE_N / 2; ++i)
        carried &= total[i] == total[i];
    const Corner mine = {corner.row + (warp_id() - 4) * 16, corner.col}; // the 16 rows of C that this warp computes
    if (!__all_sync(ALL_LANES, carried)) {
        make_plain(A, C, N, K, mine);
        return;
    }
    const bool paired = N % 2 == 0 && is_aligned<8>(C);
#pragma unroll
    for (unsigned j = 0; j < TILE_N / 8; ++j) {
        const unsigned row = mine.row + lane_id() / 4, col = mine.col + j * 8 + lane_id() % 4 * 2;
        write_both(C, N, paired, row, col, total[4 * j], total[4 * j + 1]);
        write_both(C, N, paired, row + 8, col, total[4 * j + 2], total[4 * j + 3]);
    }
}
#endif
