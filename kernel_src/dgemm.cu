// dgemm.cu - C = A B in double precision. A is M x K, B is K x N and C is M x N. All of them are stored by rows. M, N
// and K may be any numbers, including 0.
//
// A device has arithmetic units for doubles. From sm_80 on, its tensor cores multiply doubles at twice the rate of
// these units: 67 against 34 TFLOP/s on an H200. The tensor core rounds each product and addition like a fused
// multiply-add. Therefore its results are as exact as the results of these units. Only the order of the additions
// differs.
//
// Each kernel adds in the order of k, so the bits are the same in every run.
//
// The tuning parameters are macros. The engine defines these macros from the spec. A kernel is compiled if its own
// macro DGEMM_<NAME> is set, or if DGEMM_ONE is not set.

#include "async.cuh"
#include "common.cuh"

#ifndef TILE_M
#define TILE_M 128 // number of rows of C that each block computes
#endif
#ifndef TILE_N
#define TILE_N 128 // number of columns of C that a block computes
#endif
#ifndef TILE_K
#define TILE_K 16 // number of elements along K in one step of the loop
#endif
#ifndef ROWS
#define ROWS 4 // units: number of rows of C that each thread computes
#endif
#ifndef ACROSS
#define ACROSS 4 // units: number of columns of C that each thread computes
#endif
#ifndef WARPS_M
#define WARPS_M 2 // tensor: number of warps that share the rows of a block's tile
#endif
#ifndef WARPS_N
#define WARPS_N 4 // tensor: number of warps that share the columns of a block's tile
#endif
#ifndef STAGES
#define STAGES 3 // tensor: number of tiles in the ring buffer
#endif
#ifndef DEEP
// tensor: number of elements along K of an instruction of 16 x 8: 4, 8 or 16; 0: the instruction of 8 x 8 x 4
#define DEEP 4
#endif
#ifndef AHEAD
#define AHEAD 1 // tensor_boxes: 1: loads the operands of a step to registers while the step before it is multiplied
#endif
#ifndef RESIDENT
#define RESIDENT 1 // tensor: number of blocks that must fit on an SM
#endif

// The place of tile `index` in C. The order of tiles goes down `walk` rows of tiles before it moves to the next column,
// as in gemm.cu.
struct tile_place {
    unsigned row, column;
};

__device__ __forceinline__ tile_place find_tile(unsigned index, unsigned tiles_m, unsigned tiles_n, unsigned walk)
{
    const unsigned first = index / (walk * tiles_n) * walk, rest = index % (walk * tiles_n);
    const unsigned height = min(walk, tiles_m - first);
    return {(first + rest % height) * TILE_M, rest / height * TILE_N};
}

// A matrix that is stored by rows.
struct matrix {
    const double *at;
    unsigned rows, columns;
};

// ---- the kernel for the arithmetic units for doubles ----

#if defined(DGEMM_UNITS) || !defined(DGEMM_ONE)
// The kernel has the structure of the kernel coarsened in matmul.cu. Tiles are in shared memory, and each thread has
// ROWS x ACROSS accumulators in registers. Each double that is read from shared memory takes part in ROWS or ACROSS
// multiply-adds.
extern "C" __global__ void __launch_bounds__(TILE_M / ROWS *TILE_N / ACROSS)
    dgemm_units(const double *__restrict__ A, const double *__restrict__ B, double *__restrict__ C, unsigned M, unsigned N,
                unsigned K, unsigned walk)
{
    enum : unsigned { beside = TILE_N / ACROSS, down = TILE_M / ROWS, threads = beside * down };
    __shared__ double a[TILE_K][TILE_M + 1], b[TILE_K][TILE_N];
    const tile_place at = find_tile(blockIdx.x, ceil_div(M, TILE_M), ceil_div(N, TILE_N), walk);
    const unsigned x = threadIdx.x % beside, y = threadIdx.x / beside;
    double sums[ROWS][ACROSS] = {};
    for (unsigned k = 0; k < K; k += TILE_K) {
#pragma unroll
        for (unsigned i = threadIdx.x; i < TILE_M * TILE_K; i += threads) {
            const unsigned r = at.row + i / TILE_K, c = k + i % TILE_K;
            a[i % TILE_K][i / TILE_K] = r < M && c < K ? A[(offset)r * K + c] : 0;
        }
#pragma unroll
        for (unsigned i = threadIdx.x; i < TILE_K * TILE_N; i += threads) {
            const unsigned r = k + i / TILE_N, c = at.column + i % TILE_N;
            b[i / TILE_N][i % TILE_N] = r < K && c < N ? B[(offset)r * N + c] : 0;
        }
        __syncthreads();
#pragma unroll
        for (unsigned l = 0; l < TILE_K; ++l) {
            double left[ROWS], right[ACROSS];
#pragma unroll
            for (unsigned i = 0; i < ROWS; ++i)
                left[i] = a[l][y + i * down];
#pragma unroll
            for (unsigned j = 0; j < ACROSS; ++j)
                right[j] = b[l][x + j * beside];
#pragma unroll
            for (unsigned i = 0; i < ROWS; ++i)
#pragma unroll
                for (unsigned j = 0; j < ACROSS; ++j)
                    sums[i][j] = fma(left[i], right[j], sums[i][j]);
        }
        __syncthreads();
    }
#pragma unroll
    for (unsigned i = 0; i < ROWS; ++i)
#pragma unroll
        for (unsigned j = 0; j < ACROSS; ++j) {
            const unsigned r = at.row + y + i * down, c = at.column + x + j * beside;
            if (r < M && c < N)
                C[(offset)r * N + c] = sums[i][j];
        }
}
#endif

// ---- the kernels for tensor cores ----

#if defined(DGEMM_TENSOR) || defined(DGEMM_BOXES) || !defined(DGEMM_ONE)
// The layout of the operands of a matrix instruction is as follows. Let the number of a lane be 4 g + t. The lane has
// the elements in columns t + 4 i of row g of A. If A has 16 rows, it also has these columns of row g + 8. It has the
// elements in rows t + 4 i of column g of B. It has the elements in columns 2 t and 2 t + 1 of rows g and g + 8 of C.
enum : unsigned {
    HIGH = DEEP == 0 ? 8 : 16,       // rows of an instruction
    STEP = DEEP == 0 ? 4 : DEEP,     // elements along K of an instruction
    OF_A = HIGH / 8 * STEP / 4,      // registers per lane for A in an instruction
    OF_B = STEP / 4,
    OF_C = HIGH / 8 * 2
};

__device__ __forceinline__ void multiply(double (&c)[OF_C], const double (&a)[OF_A], const double (&b)[OF_B])
{
#if __CUDA_ARCH__ >= 800
#if DEEP == 0
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[0]), "+d"(c[1])
        : "d"(a[0]), "d"(b[0]));
#elif __CUDA_ARCH__ >= 900 && DEEP == 4
    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(b[0]));
#elif __CUDA_ARCH__ >= 900 && DEEP == 8
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#elif __CUDA_ARCH__ >= 900 && DEEP == 16
    asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, "
        "{%12, %13, %14, %15}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]), "d"(b[1]),
          "d"(b[2]), "d"(b[3]));
#endif
#endif
}

#endif

#if defined(DGEMM_TENSOR) || !defined(DGEMM_ONE)
// A tile in shared memory. The distance between its rows is their length plus 32 bytes. Half a warp reads 16 doubles at
// once. In A and in B, these are four neighbours in each of four rows. The distance is an odd multiple of 32 bytes, so
// these doubles are in different banks in both cases.
template <unsigned rows_, unsigned columns_> struct tile {
    enum : unsigned { rows = rows_, columns = columns_, pitch = columns_ + 4, size = rows_ * pitch };
};
typedef tile<TILE_M, TILE_K> tile_a;
typedef tile<TILE_K, TILE_N> tile_b;
enum : unsigned { STAGE = tile_a::size + tile_b::size, TENSOR_THREADS = WARP * WARPS_M * WARPS_N };

// Begins to copy 8 or 16 bytes to shared memory. Writes zeros if `inside` is false.
template <unsigned bytes> __device__ __forceinline__ void begin_copy(double *to, const double *from, bool inside)
{
#if __CUDA_ARCH__ >= 800
    const unsigned shared = (unsigned)__cvta_generic_to_shared(to), read = inside ? bytes : 0;
    const offset global = __cvta_generic_to_global(from);
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global), "r"(read) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(shared), "l"(global), "r"(read) : "memory");
#endif
}

// All threads of the block begin to copy the tile at (row, column), `wide` doubles per copy.
template <class Tile, unsigned wide>
__device__ __forceinline__ void fill_pieces(double *to, const matrix &from, unsigned row, unsigned column)
{
    constexpr unsigned pieces = Tile::columns / wide;
#pragma unroll
    for (unsigned i = threadIdx.x; i < Tile::rows * pieces; i += TENSOR_THREADS) {
        const unsigned r = row + i / pieces, c = column + i % pieces * wide;
        const bool inside = r < from.rows && c < from.columns;
        begin_copy<8 * wide>(to + i / pieces * Tile::pitch + i % pieces * wide,
                             from.at + (inside ? (offset)r * from.columns + c : 0), inside);
    }
}

template <class Tile>
__device__ __forceinline__ void fill_tile(double *to, const matrix &from, unsigned row, unsigned column)
{
    if (from.columns % 2 == 0 && is_aligned<16>(from.at))
        fill_pieces<Tile, 2>(to, from, row, column);
    else
        fill_pieces<Tile, 1>(to, from, row, column);
}

// cp.async fills a ring of STAGES tiles, as in mma_async of gemm.cu, and warps multiply by matrix instructions. A warp
// computes TILE_M / WARPS_M x TILE_N / WARPS_N elements. It reads (1 / rows + 1 / columns) doubles for each
// multiply-add, so shared memory is not the bound. The instructions with 16 rows, from sm_90 on, need half as many
// reads of B. If an instruction has more elements along K, the same work needs fewer instructions.
extern "C" __global__ void __launch_bounds__(TENSOR_THREADS, RESIDENT)
    dgemm_tensor(const double *__restrict__ A, const double *__restrict__ B, double *__restrict__ C, unsigned M,
                 unsigned N, unsigned K, unsigned walk)
{
    extern __shared__ __align__(16) double room[];
    enum : unsigned { down = TILE_M / WARPS_M / HIGH, across = TILE_N / WARPS_N / 8 };
    const unsigned g = lane_id() / 4, t = lane_id() % 4, steps = ceil_div(K, TILE_K);
    const unsigned row = warp_id() / WARPS_N * (TILE_M / WARPS_M), column = warp_id() % WARPS_N * (TILE_N / WARPS_N);
    const matrix from_a = {A, M, K}, from_b = {B, K, N};
    const tile_place at = find_tile(blockIdx.x, ceil_div(M, TILE_M), ceil_div(N, TILE_N), walk);
    // commits an empty group if there is nothing to copy, so that the number of groups is the number of steps
    auto begin = [&](unsigned step) {
        if (step < steps) {
            double *to = room + step % STAGES * STAGE;
            fill_tile<tile_a>(to, from_a, at.row, step * TILE_K);
            fill_tile<tile_b>(to + tile_a::size, from_b, step * TILE_K, at.column);
        }
        copy_async_commit();
    };
    double sums[down][across][OF_C] = {};
#pragma unroll 1
    for (unsigned step = 0; step < STAGES - 1; ++step)
        begin(step);
    for (unsigned step = 0; step < steps; ++step) {
        copy_async_wait<STAGES - 2>();
        // all threads have passed here, so the tiles of this step have arrived, and the tiles of the previous step have
        // been read
        __syncthreads();
        begin(step + STAGES - 1);
        const double *a = room + step % STAGES * STAGE + (row + g) * tile_a::pitch + t;
        const double *b = room + step % STAGES * STAGE + tile_a::size + t * tile_b::pitch + column + g;
#pragma unroll
        for (unsigned k = 0; k < TILE_K; k += STEP) {
            double of_a[down][OF_A], of_b[across][OF_B];
#pragma unroll
            for (unsigned i = 0; i < down; ++i)
#pragma unroll
                for (unsigned l = 0; l < OF_A; ++l)
                    of_a[i][l] = a[(HIGH * i + l % (HIGH / 8) * 8) * tile_a::pitch + k + l / (HIGH / 8) * 4];
#pragma unroll
            for (unsigned j = 0; j < across; ++j)
#pragma unroll
                for (unsigned l = 0; l < OF_B; ++l)
                    of_b[j][l] = b[(k + 4 * l) * tile_b::pitch + 8 * j];
#pragma unroll
            for (unsigned i = 0; i < down; ++i)
#pragma unroll
                for (unsigned j = 0; j < across; ++j)
                    multiply(sums[i][j], of_a[i], of_b[j]);
        }
    }
    const bool pairs = N % 2 == 0 && is_aligned<16>(C);
#pragma unroll
    for (unsigned i = 0; i < down; ++i)
#pragma unroll
        for (unsigned j = 0; j < across; ++j)
#pragma unroll
            for (unsigned half = 0; half < HIGH / 8; ++half) {
                const unsigned r = at.row + row + HIGH * i + 8 * half + g, c = at.column + column + 8 * j + 2 * t;
                const double first = sums[i][j][2 * half], second = sums[i][j][2 * half + 1];
                if (r >= M || c >= N)
                    continue;
                double *to = C + (offset)r * N + c;
                if (pairs) {
                    *(double2 *)to = {first, second};
                } else {
                    to[0] = first;
                    if (c + 1 < N)
                        to[1] = second;
                }
            }
}
#endif

#if defined(DGEMM_BOXES) || (!defined(DGEMM_ONE) && defined(__CUDA_ARCH_FEAT_SM90_ALL) && DEEP > 0)
// A stage of the ring. It consists of boxes whose rows are 16 doubles (128 bytes), with a swizzle of 128 bytes
// (async.cuh). A has TILE_K / 16 boxes of TILE_M rows, and B has TILE_N / 16 boxes of TILE_K rows.
struct stage {
    enum : unsigned { box_a = TILE_M * 128, box_b = TILE_K * 128, of_a = TILE_K / 16 * box_a, bytes = of_a + TILE_N / 16 * box_b };
};

// The part of a tile that a warp computes. Lane 4 g + t needs element t of four elements along K: in row g of A, and in
// column g of B. The result of a product does not depend on the order of its terms. So any four of 16 elements along K
// may be multiplied together. In step s of the four steps, the lane takes element 2 p + t / 2. Here p is t ^ s
// if t is even, and 4 + (t ^ s) if t is odd. Half a warp reads shared memory at once. With this order, its 16 doubles
// are in different banks, for A and for B.
struct warp_part {
    enum : unsigned { down = TILE_M / WARPS_M / 16, across = TILE_N / WARPS_N / 8, together = DEEP / 4 };
    double sums[down][across][4];

    // The operands of one instruction, for each of the warp's squares.
    struct operands {
        double a[down][OF_A], b[across][OF_B];
    };

    // Loads the operands of step `s` of a stage. `rows` and `columns` are the addresses in shared memory of the lane's
    // first element of A and of B in the first step. The addresses for other steps differ in some bits.
    static __device__ __forceinline__ void load(operands &to, unsigned rows, unsigned columns, unsigned s)
    {
        const unsigned box = s * together / 4;
#pragma unroll
        for (unsigned l = 0; l < together; ++l) {
            const unsigned k = (s * together + l) % 4;
#pragma unroll
            for (unsigned i = 0; i < 2 * down; ++i)
                to.a[i / 2][2 * l + i % 2] = shared_double((rows ^ k * 16) + box * stage::box_a + i * 1024);
#pragma unroll
            for (unsigned j = 0; j < across; ++j)
                to.b[j][l] = shared_double((columns ^ (k * 288 ^ j % 2 * 64)) + box * 2048 + j / 2 * stage::box_b);
        }
    }
    static __device__ __forceinline__ double shared_double(unsigned address)
    {
        double value;
        asm volatile("ld.shared.f64 %0, [%1];" : "=d"(value) : "r"(address));
        return value;
    }
    // Returns the place in a stage of the lane's first element of A. The rows of the warp begin at `row`.
    static __device__ __forceinline__ unsigned place_in_a(unsigned row)
    {
        const unsigned g = lane_id() / 4, t = lane_id() % 4;
        return (row + g) * 128 + ((t + t % 2 * 4) ^ g) * 16 + t / 2 * 8;
    }
    static __device__ __forceinline__ unsigned place_in_b(unsigned column)
    {
        const unsigned g = lane_id() / 4, t = lane_id() % 4, k = 2 * (t + t % 2 * 4) + t / 2;
        return stage::of_a + column / 16 * stage::box_b + k * 128 + (g / 2 ^ k % 8) * 16 + g % 2 * 8;
    }
    __device__ __forceinline__ void add(const operands &of)
    {
#pragma unroll
        for (unsigned i = 0; i < down; ++i)
#pragma unroll
            for (unsigned j = 0; j < across; ++j)
                multiply(sums[i][j], of.a[i], of.b[j]);
    }
    // Writes the accumulators to the rows from `row` and the columns from `column` on. N is even.
    __device__ __forceinline__ void write(double *C, unsigned row, unsigned column, unsigned M, unsigned N) const
    {
#pragma unroll
        for (unsigned i = 0; i < 2 * down; ++i)
#pragma unroll
            for (unsigned j = 0; j < across; ++j) {
                const unsigned r = row + 8 * i + lane_id() / 4, c = column + 8 * j + lane_id() % 4 * 2;
                if (r < M && c < N)
                    *(double2 *)(C + (offset)r * N + c) = {sums[i / 2][j][i % 2 * 2], sums[i / 2][j][i % 2 * 2 + 1]};
            }
    }
};

enum : unsigned {
    CONSUMER_WARPS = WARPS_M * WARPS_N, // number of warps that multiply; a multiple of 4
    BOXES_THREADS = WARP * (CONSUMER_WARPS + 4),
    OF_PRODUCER = 24, // number of registers of each thread in the producer's warp group
    // The number of registers that each thread has at the launch. The warps of the block redistribute these registers,
    // in each of the four parts of an SM.
    AT_LAUNCH = 65536 / BOXES_THREADS / 8 * 8,
    SHARE = (AT_LAUNCH * (CONSUMER_WARPS / 4 + 1) - OF_PRODUCER) / (CONSUMER_WARPS / 4) / 8 * 8,
    OF_CONSUMER = SHARE < 240 ? SHARE : 240
};

// One warp loads the tiles by tensor maps, and the other warps only read and multiply. In dgemm_tensor all warps stop
// at a barrier in each step. Then all of them compute addresses and begin copies, and meanwhile the tensor cores are
// idle. In this kernel a warp waits only for the stage that it needs. A ring of several stages lets the warps of a
// scheduler be at different places of the loop. Blocks are resident and process one tile after another. So the next
// tile's stages are loaded while a tile is written. K and N must be even, because rows that a tensor map reads begin at
// multiples of 16 bytes.
//
// On an H200 this kernel took 2.30 ms at 4096^3, and cuBLAS took 2.29 ms in the same run. At 8192^3 this kernel took
// 19.07 ms, and cuBLAS took 19.49 ms. These times were measured before the fence at the end of a stage was added.
extern "C" __global__ void __launch_bounds__(BOXES_THREADS, 1)
    dgemm_boxes(const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_b, double *__restrict__ C,
                unsigned M, unsigned N, unsigned K, unsigned walk)
{
    extern __shared__ __align__(16) unsigned char shared[];
    unsigned char *stages = shared + (1024 - shared_address(shared) % 1024) % 1024;
    barrier *full = (barrier *)(stages + STAGES * stage::bytes), *empty = full + STAGES;
    const unsigned steps = ceil_div(K, TILE_K), tiles_m = ceil_div(M, TILE_M), tiles_n = ceil_div(N, TILE_N);
    const unsigned warp = __shfl_sync(ALL_LANES, warp_id(), 0);
    if (threadIdx.x == 0) {
        for (unsigned i = 0; i < STAGES; ++i) {
            barrier_init(full + i, 1);
            barrier_init(empty + i, CONSUMER_WARPS);
        }
        barriers_made();
    }
    __syncthreads();
    unsigned at = 0, phase = 0; // the stage, and the parity of the present use of the stage
    auto advance = [&] {
        at = at + 1 == STAGES ? 0 : at + 1;
        phase ^= at == 0;
    };
    if (warp >= CONSUMER_WARPS) {
        if (CONSUMER_WARPS > 4)
            registers_give<OF_PRODUCER>();
        if (warp > CONSUMER_WARPS || !is_elected())
            return;
        tensor_prefetch(map_a), tensor_prefetch(map_b);
        for (unsigned tile = blockIdx.x; tile < tiles_m * tiles_n; tile += gridDim.x) {
            const tile_place place = find_tile(tile, tiles_m, tiles_n, walk);
            for (unsigned step = 0; step < steps; ++step, advance()) {
                unsigned char *to = stages + at * stage::bytes;
                const int k = (int)(step * TILE_K);
                barrier_wait(empty + at, phase ^ 1);
                barrier_expect(full + at, stage::bytes);
#pragma unroll
                for (unsigned i = 0; i < TILE_K / 16; ++i)
                    tensor_load(to + i * stage::box_a, map_a, k + 16 * (int)i, (int)place.row, full + at);
#pragma unroll
                for (unsigned i = 0; i < TILE_N / 16; ++i)
                    tensor_load(to + stage::of_a + i * stage::box_b, map_b, (int)(place.column + 16 * i), k, full + at);
            }
        }
        return;
    }
    // if the block has 256 threads, each of them already has as many registers as it can address
    if (CONSUMER_WARPS > 4)
        registers_take<OF_CONSUMER>();
    const unsigned row = warp / WARPS_N * (TILE_M / WARPS_M), column = warp % WARPS_N * (TILE_N / WARPS_N);
    enum : unsigned { in_stage = TILE_K / 4 / warp_part::together };
    const unsigned rows = warp_part::place_in_a(row), columns = warp_part::place_in_b(column);
    const unsigned own = blockIdx.x < tiles_m * tiles_n ? ceil_div(tiles_m * tiles_n - blockIdx.x, gridDim.x) * steps : 0;
    unsigned left = own; // number of steps, over all tiles of this block, that are not loaded yet
    unsigned base = shared_address(stages);
    asm volatile("" : "+r"(base)); // without this statement, the compiler computes the address anew in each step
    typename warp_part::operands of[2];
    // Loads the operands of step `s` of the stage `at`.
    auto load = [&](unsigned s) {
        const unsigned from = base + at * stage::bytes;
        warp_part::load(of[s % 2], from + rows, from + columns, s);
    };
    // Tells the producer that the warp has read stage `read`. `last` are the operands that were loaded last from this
    // stage. PTX demands a fence between ordinary loads and the copy that overwrites the stage. An arrival does not
    // wait for loads that have only begun. Therefore the address of the arrival also depends on all values that the
    // loads bring, by bits that are always 0.
    const unsigned zero = gridDim.y - 1;
    auto release = [&](unsigned read, const typename warp_part::operands &last) {
        unsigned bits = 0;
#pragma unroll
        for (unsigned i = 0; i < warp_part::down; ++i)
#pragma unroll
            for (unsigned l = 0; l < OF_A; ++l)
                bits |= (unsigned)__double2hiint(last.a[i][l]);
#pragma unroll
        for (unsigned j = 0; j < warp_part::across; ++j)
#pragma unroll
            for (unsigned l = 0; l < OF_B; ++l)
                bits |= (unsigned)__double2hiint(last.b[j][l]);
        fence_async();
        __syncwarp();
        if (lane_id() == 0)
            barrier_arrive(empty + read + (bits & zero));
    };
    if (AHEAD) {
        barrier_wait(full + at, phase);
        load(0);
    }
    for (unsigned tile = blockIdx.x; tile < tiles_m * tiles_n; tile += gridDim.x) {
        const tile_place place = find_tile(tile, tiles_m, tiles_n, walk);
        warp_part part = {};
        for (unsigned step = 0; step < steps; ++step) {
#pragma unroll
            for (unsigned s = 0; s < in_stage; ++s) {
                const unsigned read = at; // the stage of this step
                if (!AHEAD) {
                    if (s == 0)
                        barrier_wait(full + at, phase);
                    load(s);
                }
                if (s + 1 < in_stage) {
                    if (AHEAD)
                        load(s + 1);
                } else {
                    advance();
                    if (AHEAD && --left > 0) {
                        barrier_wait(full + at, phase);
                        load(0);
                    }
                }
                part.add(of[s % 2]);
                if (s + 1 == in_stage)
                    release(read, of[s % 2]);
            }
        }
        part.write(C, place.row + row, place.column + column, M, N);
    }
}
#endif
