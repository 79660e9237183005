// syrk_tensor.cu - C = A A' in single precision on tensor cores, as exact as syrk.cu from K = 512 on. A is N x K, C is
// N x N and symmetric, both dense and row-major, with any sizes below 2^31, as in syrk.cu.
//
// Numbers are split into three bf16 parts as in matmul_tensor.cu, with the same errors and the same treatment of
// numbers that cannot be split (TENSOR.md). There are two differences. Both operands are rows of A, so its parts are
// made once, both tensor maps use the same memory, and both operands are read along K. And half of the tiles need not
// be computed.

#include "async.cuh"
#include "common.cuh"
#include "split.cuh"
#include "tensor.cuh"

#ifndef TILE_N
#define TILE_N 128 // columns of C that a block makes; divides its rows
#endif
#ifndef TILE_K
#define TILE_K 32 // columns of A in one step
#endif
#ifndef STAGES
#define STAGES 3 // steps in shared memory: one is multiplied while the others are copied
#endif
#ifndef CONSUMERS
#define CONSUMERS 2 // warp groups that multiply, 64 rows of C each
#endif

#if __CUDA_ARCH__ >= 800
extern "C" __global__ void __launch_bounds__(128)
    syrk_split(const float *__restrict__ A, uint2 *__restrict__ parts, unsigned N, unsigned K, unsigned stride)
{
    split_matrix(A, parts, N, K, stride);
}
#endif

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define ROWS (64 * CONSUMERS)          // rows of C per block
#define ACROSS (ROWS / TILE_N)         // tiles side by side that are together as wide as one tile is high
#define PART_A (ROWS * TILE_K * 2)     // bytes of one part of a step's rows
#define PART_B (TILE_N * TILE_K * 2)   // bytes of one part of a step's columns
#define STAGE_BYTES (3 * (PART_A + PART_B))
// registers of a thread that multiplies: the rest after the other warps
#define GROUP_REGISTERS (CONSUMERS == 2 ? 232 : 160)
#define OTHER_REGISTERS (CONSUMERS == 2 ? 40 : 32)

static_assert(CONSUMERS == 2 || CONSUMERS == 3, "CONSUMERS must be 2 or 3: GROUP_REGISTERS has no other values");
static_assert(TILE_K == 32 || TILE_K == 64, "a row of a box is 64 or 128 bytes");
static_assert(ROWS % TILE_N == 0, "the number of a tile is computed from this");

// The first row and column of a tile of C.
struct Corner {
    unsigned row, col;
};

// Returns a tile on or below the diagonal: row r has the first ACROSS (r + 1) tiles, as far as C extends. The order
// goes down `walk` rows before the next column, so that blocks that run at the same time share rows of A in the L2.
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
    const unsigned whole = min(ACROSS * (first + 1), cols); // number of columns that all rows of the group have
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

// One thread copies a step per stage: all parts of the rows and of the columns.
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

// Writes two neighbours of a row of C, if they are on or below the diagonal, and their mirror images. So both triangles
// have the same bits. Eight lanes with neighbouring rows write a sector of the mirror image.
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

// A warp computes 16 x TILE_N of C by ordinary multiply-adds, because some numbers cannot be split.
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
// Compared with coarsened: both kernels compute half of the tiles. This kernel computes them at a sixth of the rate of
// the tensor cores. One warp of the first group copies. The groups that multiply take that group's registers for their
// two sets of sums: one step's sums in the tensor core, and their total, rounded to nearest.
extern "C" __global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
    syrk_tensor_bf16x6(const __grid_constant__ tensor_map map_rows, const __grid_constant__ tensor_map map_cols,
                       const float *__restrict__ A, float *__restrict__ C, unsigned N, unsigned K, unsigned walk)
{
    extern __shared__ __align__(1024) char ring[]; // boxes with a swizzle of 128 bytes begin at multiples of 1024
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
    const Corner mine = {corner.row + (warp_id() - 4) * 16, corner.col}; // the 16 rows of this warp
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
