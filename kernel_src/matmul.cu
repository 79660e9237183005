// matmul.cu - P = A B in single precision, ten ways. A is M x K, B is K x N, P is M x N, all dense and row-major.
//
// Each kernel improves the kernel before it. The comment of a kernel names the change, its effect on the operations per
// access, and the counters that should show it. Operations per access are the floating-point operations per element
// that is read from global memory. A multiply-add counts as two operations. All sizes below 2^31 are legal, including
// 0. No size has to be a multiple of a tile: loads and stores are checked against the edges, and elements outside a
// matrix count as zero. Offsets into a matrix have 64 bits, because M * K may exceed 2^31 although both factors are
// smaller.
//
// The tuning parameters are macros. The engine defines these macros from the spec. The defaults below only let an
// editor or a compiler parse this file alone. A kernel is compiled if its own macro MATMUL_<NAME> is set, or if
// MATMUL_ONE is not set. A sweep compiles this file once per configuration, and one kernel compiles in a fraction of
// the time of all kernels.

#include "common.cuh"

#ifndef BLOCK_X
#define BLOCK_X 32 // naive: number of threads of a block along a row of P
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 8 // naive: number of threads of a block along a column of P
#endif
#ifndef WIDTH
#define WIDTH 32 // row_block, tile_a: number of columns of the tile; at most 32
#endif
#ifndef ROWS
#define ROWS 8 // row_block, tile_a: number of rows of the tile
#endif
#ifndef TILE_WIDTH
#define TILE_WIDTH 16 // tiled, tiled_double_buffer, granular: number of rows and of columns of the square tiles
#endif
#ifndef TILES
#define TILES 4 // granular: number of B tiles that share one A tile
#endif
#ifndef TILE_M
#define TILE_M 128 // number of rows of P that a block computes
#endif
#ifndef TILE_N
#define TILE_N 128 // number of columns of P that a block computes
#endif
#ifndef TILE_K
#define TILE_K 8 // number of columns of A, and of rows of B, in one step
#endif
#ifndef THREAD_M
#define THREAD_M 8 // coarsened, split_k: number of rows of P that a thread computes; a multiple of 4
#endif
#ifndef THREAD_N
#define THREAD_N 8 // coarsened, split_k: number of columns of P that a thread computes; a multiple of 4
#endif
#ifndef LANES_M
#define LANES_M 4 // coarsened, split_k: a warp is LANES_M x 32 / LANES_M threads
#endif
#ifndef UNROLL
#define UNROLL 8 // unroll factor of the loop along K
#endif
#ifndef SPLITS
#define SPLITS 4 // split_k: number of parts into which K is divided
#endif

// Returns element (row, col) of a rows x cols matrix, or zero outside it.
__device__ __forceinline__ float at(const float *matrix, unsigned row, unsigned col, unsigned rows, unsigned cols)
{
    return row < rows && col < cols ? matrix[(offset)row * cols + col] : 0.0f;
}

#if defined(MATMUL_NAIVE) || !defined(MATMUL_ONE)
// Each thread computes one element of P. Both operands come directly from global memory.
//
// A multiply-add needs two reads, so there is 1 operation per access. A warp reads neighbouring elements of B, which
// are coalesced if BLOCK_X is at least 8. It reads one element of A per row, which is a broadcast. So the L1 serves
// most reads.
extern "C" __global__ void matmul_naive(const float *__restrict__ A, const float *__restrict__ B,
                                        float *__restrict__ P, unsigned M, unsigned N, unsigned K)
{
    unsigned col = blockIdx.x * BLOCK_X + threadIdx.x, row = blockIdx.y * BLOCK_Y + threadIdx.y;
    if (row >= M || col >= N)
        return;
    const float *a = A + (offset)row * K, *b = B + col;
    float sum = 0.0f;
    for (unsigned k = 0; k < K; ++k, b += N)
        sum += a[k] * *b;
    P[(offset)row * N + col] = sum;
}
#endif

#if defined(MATMUL_ROW_BLOCK) || !defined(MATMUL_ONE)
// WIDTH neighbouring lanes hold WIDTH elements of a row of A, one each, and exchange them by shuffles.
//
// Compared with naive, A is read once per row of the tile and coalesced, instead of once per thread. For WIDTH steps
// along K a thread reads 1 + WIDTH elements. So there are 2 WIDTH / (1 + WIDTH) operations per access, which is close
// to 2. Nearly half of the requests to global memory are gone. The requests for B remain.
extern "C" __global__ void matmul_row_block(const float *__restrict__ A, const float *__restrict__ B,
                                            float *__restrict__ P, unsigned M, unsigned N, unsigned K)
{
    unsigned col = blockIdx.x * WIDTH + threadIdx.x, row = blockIdx.y * ROWS + threadIdx.y;
    const float *b = B + min(col, N - 1); // a column outside P reads the last column, and its sum is not stored
    float sum = 0.0f;
    for (unsigned k0 = 0; k0 < K; k0 += WIDTH) {
        float mine = at(A, row, k0 + threadIdx.x, M, K); // all lanes must execute the shuffles, even lanes outside P
        unsigned steps = min((unsigned)WIDTH, K - k0);
#pragma unroll UNROLL
        for (unsigned k = 0; k < steps; ++k, b += N)
            sum += __shfl_sync(ALL_LANES, mine, k, WIDTH) * *b;
    }
    if (row < M && col < N)
        P[(offset)row * N + col] = sum;
}
#endif

#if defined(MATMUL_TILE_A) || !defined(MATMUL_ONE)
// The row of A is in shared memory instead of registers.
//
// Compared with row_block, global memory is read in the same way, and there are close to 2 operations per access. A
// broadcast from shared memory replaces the shuffle. A row of the tile is written and read by the same warp, because
// WIDTH divides 32. So a warp barrier is enough, no warp waits for another warp, and the barrier counter stays at zero.
extern "C" __global__ void matmul_tile_a(const float *__restrict__ A, const float *__restrict__ B,
                                         float *__restrict__ P, unsigned M, unsigned N, unsigned K)
{
    __shared__ float tile[ROWS][WIDTH];
    unsigned col = blockIdx.x * WIDTH + threadIdx.x, row = blockIdx.y * ROWS + threadIdx.y;
    const float *b = B + min(col, N - 1); // a column outside P reads the last column, and its sum is not stored
    float sum = 0.0f;
    for (unsigned k0 = 0; k0 < K; k0 += WIDTH) {
        tile[threadIdx.y][threadIdx.x] = at(A, row, k0 + threadIdx.x, M, K);
        __syncwarp();
        unsigned steps = min((unsigned)WIDTH, K - k0);
#pragma unroll UNROLL
        for (unsigned k = 0; k < steps; ++k, b += N)
            sum += tile[threadIdx.y][k] * *b;
        __syncwarp(); // the next step overwrites elements that a slower lane may still read
    }
    if (row < M && col < N)
        P[(offset)row * N + col] = sum;
}
#endif

#if defined(MATMUL_TILED) || !defined(MATMUL_ONE)
// Both operands are in shared memory, in square tiles. A thread loads one element of each tile and computes one element
// of P.
//
// Compared with tile_a, B is also read only once per tile. TILE_WIDTH steps along K need 2 reads of global memory, so
// there are TILE_WIDTH operations per access. There are TILE_WIDTH times fewer global requests than in naive. In return
// each step along K reads shared memory twice (one read is a broadcast), and each pair of tiles needs two barriers.
extern "C" __global__ void matmul_tiled(const float *__restrict__ A, const float *__restrict__ B,
                                        float *__restrict__ P, unsigned M, unsigned N, unsigned K)
{
    __shared__ float tile_a[TILE_WIDTH][TILE_WIDTH], tile_b[TILE_WIDTH][TILE_WIDTH];
    unsigned x = threadIdx.x, y = threadIdx.y;
    unsigned col = blockIdx.x * TILE_WIDTH + x, row = blockIdx.y * TILE_WIDTH + y;
    float sum = 0.0f;
    for (unsigned k0 = 0; k0 < K; k0 += TILE_WIDTH) {
        tile_a[y][x] = at(A, row, k0 + x, M, K);
        tile_b[y][x] = at(B, k0 + y, col, K, N);
        __syncthreads();
#pragma unroll UNROLL
        for (unsigned k = 0; k < TILE_WIDTH; ++k)
            sum += tile_a[y][k] * tile_b[k][x];
        __syncthreads();
    }
    if (row < M && col < N)
        P[(offset)row * N + col] = sum;
}
#endif

#if defined(MATMUL_TILED_DOUBLE_BUFFER) || !defined(MATMUL_ONE)
// Shared memory has room for two pairs of tiles. The loads of the next pair are in flight while the current pair is
// multiplied.
//
// Compared with tiled, there are the same TILE_WIDTH operations per access and half as many barriers. A block needs
// twice as much shared memory. The reads of the next tiles are issued before the multiply-adds of the current tiles, so
// their latency is hidden even with few warps.
extern "C" __global__ void matmul_tiled_double_buffer(const float *__restrict__ A, const float *__restrict__ B,
                                                      float *__restrict__ P, unsigned M, unsigned N, unsigned K)
{
    __shared__ float tile_a[2][TILE_WIDTH][TILE_WIDTH], tile_b[2][TILE_WIDTH][TILE_WIDTH];
    unsigned x = threadIdx.x, y = threadIdx.y, now = 0;
    unsigned col = blockIdx.x * TILE_WIDTH + x, row = blockIdx.y * TILE_WIDTH + y;
    float sum = 0.0f, next_a = at(A, row, x, M, K), next_b = at(B, y, col, K, N);
    for (unsigned k0 = 0; k0 < K; k0 += TILE_WIDTH, now ^= 1) {
        tile_a[now][y][x] = next_a;
        tile_b[now][y][x] = next_b;
        // one barrier is enough: the pair of tiles that the next step writes was last read before this barrier
        __syncthreads();
        next_a = at(A, row, k0 + TILE_WIDTH + x, M, K);
        next_b = at(B, k0 + TILE_WIDTH + y, col, K, N);
#pragma unroll UNROLL
        for (unsigned k = 0; k < TILE_WIDTH; ++k)
            sum += tile_a[now][y][k] * tile_b[now][k][x];
    }
    if (row < M && col < N)
        P[(offset)row * N + col] = sum;
}
#endif

#if defined(MATMUL_RECTANGULAR) || !defined(MATMUL_ONE)
// The tiles have TILE_M x TILE_K and TILE_K x TILE_N elements. All threads of the block load both tiles. A thread still
// computes one element of P.
//
// Compared with tiled, the depth of a step, TILE_K, no longer depends on the shape of the block. There are 2 TILE_M
// TILE_N / (TILE_M + TILE_N) operations per access, for any TILE_K. TILE_K determines how many loads are in flight at
// once, how much shared memory a block needs, and how often a block waits at a barrier.
extern "C" __global__ void matmul_rectangular(const float *__restrict__ A, const float *__restrict__ B,
                                              float *__restrict__ P, unsigned M, unsigned N, unsigned K)
{
    __shared__ float tile_a[TILE_M][TILE_K], tile_b[TILE_K][TILE_N];
    unsigned x = threadIdx.x, y = threadIdx.y, thread = y * TILE_N + x;
    unsigned col0 = blockIdx.x * TILE_N, row0 = blockIdx.y * TILE_M;
    float sum = 0.0f;
    for (unsigned k0 = 0; k0 < K; k0 += TILE_K) {
        for (unsigned i = thread; i < TILE_M * TILE_K; i += TILE_M * TILE_N)
            tile_a[i / TILE_K][i % TILE_K] = at(A, row0 + i / TILE_K, k0 + i % TILE_K, M, K);
        for (unsigned i = thread; i < TILE_K * TILE_N; i += TILE_M * TILE_N)
            tile_b[i / TILE_N][i % TILE_N] = at(B, k0 + i / TILE_N, col0 + i % TILE_N, K, N);
        __syncthreads();
#pragma unroll UNROLL
        for (unsigned k = 0; k < TILE_K; ++k)
            sum += tile_a[y][k] * tile_b[k][x];
        __syncthreads();
    }
    if (row0 + y < M && col0 + x < N)
        P[(offset)(row0 + y) * N + col0 + x] = sum;
}
#endif

#if defined(MATMUL_REGISTER_SHARED) || !defined(MATMUL_ONE)
// A block has TILE_M threads. Each thread has a row of the tile of A and TILE_N results in registers. Only the tile of
// B is in shared memory (V. Volkov and J. Demmel, Benchmarking GPUs to tune dense linear algebra, SC 2008).
//
// Compared with rectangular, there are the same 2 TILE_M TILE_N / (TILE_M + TILE_N) operations per access to global
// memory. But the results are in registers, and a multiply-add reads shared memory once (a broadcast) instead of twice.
// The published configuration is TILE_M = 64, TILE_N = 16, TILE_K = 4, in which a thread loads one element of B per
// step. A is row-major here, so neighbouring threads of a warp read neighbouring rows of A, at addresses K elements
// apart. The counter of sectors per request shows this. If TILE_K is 8, all bytes of each sector are used.
extern "C" __global__ void matmul_register_shared(const float *__restrict__ A, const float *__restrict__ B,
                                                  float *__restrict__ P, unsigned M, unsigned N, unsigned K)
{
    __shared__ float tile_b[TILE_K][TILE_N];
    unsigned col0 = blockIdx.x * TILE_N, row = blockIdx.y * TILE_M + threadIdx.x;
    float sum[TILE_N] = {};
    for (unsigned k0 = 0; k0 < K; k0 += TILE_K) {
        float a[TILE_K];
#pragma unroll
        for (unsigned k = 0; k < TILE_K; ++k)
            a[k] = at(A, row, k0 + k, M, K);
        for (unsigned i = threadIdx.x; i < TILE_K * TILE_N; i += TILE_M)
            tile_b[i / TILE_N][i % TILE_N] = at(B, k0 + i / TILE_N, col0 + i % TILE_N, K, N);
        __syncthreads();
#pragma unroll
        for (unsigned k = 0; k < TILE_K; ++k)
#pragma unroll
            for (unsigned n = 0; n < TILE_N; ++n)
                sum[n] += a[k] * tile_b[k][n];
        __syncthreads();
    }
#pragma unroll
    for (unsigned n = 0; n < TILE_N; ++n)
        if (row < M && col0 + n < N)
            P[(offset)row * N + col0 + n] = sum[n];
}
#endif

#if defined(MATMUL_GRANULAR) || !defined(MATMUL_ONE)
// One tile of A is multiplied by TILES neighbouring tiles of B. A thread computes TILES results, which are TILE_WIDTH
// columns apart.
//
// Compared with tiled, A is read TILES times less often, both from global and from shared memory. There are 2
// TILE_WIDTH TILES / (1 + TILES) operations per access. TILES multiply-adds read shared memory 1 + TILES times. A block
// does more work, so there are fewer blocks, and small matrices leave multiprocessors idle.
extern "C" __global__ void matmul_granular(const float *__restrict__ A, const float *__restrict__ B,
                                           float *__restrict__ P, unsigned M, unsigned N, unsigned K)
{
    __shared__ float tile_a[TILE_WIDTH][TILE_WIDTH], tile_b[TILES][TILE_WIDTH][TILE_WIDTH];
    unsigned x = threadIdx.x, y = threadIdx.y;
    unsigned col = blockIdx.x * TILE_WIDTH * TILES + x, row = blockIdx.y * TILE_WIDTH + y;
    float sum[TILES] = {};
    for (unsigned k0 = 0; k0 < K; k0 += TILE_WIDTH) {
        tile_a[y][x] = at(A, row, k0 + x, M, K);
#pragma unroll
        for (unsigned t = 0; t < TILES; ++t)
            tile_b[t][y][x] = at(B, k0 + y, col + t * TILE_WIDTH, K, N);
        __syncthreads();
#pragma unroll UNROLL
        for (unsigned k = 0; k < TILE_WIDTH; ++k)
#pragma unroll
            for (unsigned t = 0; t < TILES; ++t)
                sum[t] += tile_a[y][k] * tile_b[t][k][x];
        __syncthreads();
    }
#pragma unroll
    for (unsigned t = 0; t < TILES; ++t)
        if (row < M && col + t * TILE_WIDTH < N)
            P[(offset)row * N + col + t * TILE_WIDTH] = sum[t];
}
#endif

#if defined(MATMUL_COARSENED) || defined(MATMUL_SPLIT_K) || !defined(MATMUL_ONE)
// This part is common to coarsened and split_k: a block computes TILE_M x TILE_N elements of P, and each thread
// computes THREAD_M x THREAD_N of these.

#define THREADS ((TILE_M / THREAD_M) * (TILE_N / THREAD_N))
#define LANES_N (32 / LANES_M)
#define WARPS_N (TILE_N / (LANES_N * THREAD_N))

// A pair of tiles in shared memory is the tile of A and then the tile of B. The tile of A is transposed, so that the
// rows of a thread are neighbours. A thread writes the elements at four neighbouring k of one row of A. A gap after
// every fourth k spreads the elements that a warp writes at once over all 32 banks. The gap also keeps the rows aligned
// for reads of 16 bytes.
#define AT_K(k) ((k) * TILE_M + (k) / 4 * (128 / TILE_K))
#define A_FLOATS AT_K(TILE_K)
#define PAIR_FLOATS (A_FLOATS + TILE_K * TILE_N)
#define A_LOADS (TILE_M * TILE_K / 4 / THREADS)
#define B_LOADS (TILE_K * TILE_N / 4 / THREADS)

static_assert(TILE_K == 8 || TILE_K == 16 || TILE_K == 32, "TILE_K must be 8, 16 or 32");
static_assert(THREAD_M % 4 == 0 && THREAD_N % 4 == 0, "a thread's results come in squares of 4 x 4");
static_assert(TILE_M % (LANES_M * THREAD_M) == 0 && TILE_N % (LANES_N * THREAD_N) == 0, "whole warps must fill a tile");
static_assert(A_LOADS * THREADS * 4 == TILE_M * TILE_K && B_LOADS * THREADS * 4 == TILE_K * TILE_N,
              "every thread must load the same number of quads of A and of B");

// The operands of a matrix product, and the part of P that this block computes.
struct Product {
    const float *A, *B;
    unsigned M, N, K;
    unsigned row0, col0;  // first row and column of the block's tile of P
    unsigned k_begin, k_end;
    // the tile is completely inside P, and groups of 4 floats in A and B are aligned: no checks along M and N are
    // needed
    bool aligned;
};

__device__ __forceinline__ Product product(const float *A, const float *B, const float *P, unsigned M, unsigned N,
                                           unsigned K, unsigned k_begin, unsigned k_end, unsigned walk)
{
    // Blocks that run at the same time should share rows of A and columns of B in the L2. Therefore the order of tiles
    // goes down `walk` block rows before it moves one block column to the right. `walk` is an argument, not a macro, so
    // all its values share one compiled kernel.
    unsigned rows = ceil_div(M, TILE_M), cols = ceil_div(N, TILE_N);
    unsigned first = blockIdx.x / (walk * cols) * walk, place = blockIdx.x % (walk * cols);
    unsigned height = min(walk, rows - first);
    Product p = {A, B, M, N, K, (first + place % height) * TILE_M, place / height * TILE_N, k_begin, k_end};
    p.aligned = p.row0 + TILE_M <= M && p.col0 + TILE_N <= N && K % 4 == 0 && N % 4 == 0 &&
                is_aligned<16>(A, B, P);
    return p;
}

// The elements of a pair of tiles that a thread holds in registers, on their way from global to shared memory. (Copies
// by cp.async were slower: 45 instead of 51 TFLOP/s for M = N = K = 4096 on an H200. A is transposed on this way, so
// cp.async would have to copy single elements.)
struct Staged {
    float4 a[A_LOADS], b[B_LOADS];
};

// Reads the tiles at k0 into registers.
__device__ __forceinline__ void fetch(const Product &p, unsigned k0, Staged &staged)
{
    bool whole = p.aligned && k0 + TILE_K <= p.k_end;
    if (whole) {
#pragma unroll
        for (unsigned i = 0; i < A_LOADS; ++i) {
            unsigned quad = i * THREADS + threadIdx.x, m = quad / (TILE_K / 4), k = quad % (TILE_K / 4) * 4;
            staged.a[i] = load_quad(p.A + (offset)(p.row0 + m) * p.K + k0 + k);
        }
#pragma unroll
        for (unsigned i = 0; i < B_LOADS; ++i) {
            unsigned quad = i * THREADS + threadIdx.x, k = quad / (TILE_N / 4), n = quad % (TILE_N / 4) * 4;
            staged.b[i] = load_quad(p.B + (offset)(k0 + k) * p.N + p.col0 + n);
        }
        return;
    }
#pragma unroll
    for (unsigned i = 0; i < A_LOADS; ++i) {
        unsigned quad = i * THREADS + threadIdx.x, m = quad / (TILE_K / 4), k = k0 + quad % (TILE_K / 4) * 4;
        const float *from = p.A + (offset)(p.row0 + m) * p.K + k;
        bool inside = p.row0 + m < p.M;
        staged.a[i].x = inside && k + 0 < p.k_end ? from[0] : 0.0f;
        staged.a[i].y = inside && k + 1 < p.k_end ? from[1] : 0.0f;
        staged.a[i].z = inside && k + 2 < p.k_end ? from[2] : 0.0f;
        staged.a[i].w = inside && k + 3 < p.k_end ? from[3] : 0.0f;
    }
#pragma unroll
    for (unsigned i = 0; i < B_LOADS; ++i) {
        unsigned quad = i * THREADS + threadIdx.x, k = quad / (TILE_N / 4), n = p.col0 + quad % (TILE_N / 4) * 4;
        const float *from = p.B + (offset)(k0 + k) * p.N + n;
        bool inside = k0 + k < p.k_end;
        staged.b[i].x = inside && n + 0 < p.N ? from[0] : 0.0f;
        staged.b[i].y = inside && n + 1 < p.N ? from[1] : 0.0f;
        staged.b[i].z = inside && n + 2 < p.N ? from[2] : 0.0f;
        staged.b[i].w = inside && n + 3 < p.N ? from[3] : 0.0f;
    }
}

// Writes the fetched tiles to the pair of tiles in shared memory.
__device__ __forceinline__ void land(float *pair, const Staged &staged)
{
#pragma unroll
    for (unsigned i = 0; i < A_LOADS; ++i) {
        unsigned quad = i * THREADS + threadIdx.x, m = quad / (TILE_K / 4), k = quad % (TILE_K / 4) * 4;
        float *to = pair + AT_K(k) + m;
        to[0 * TILE_M] = staged.a[i].x;
        to[1 * TILE_M] = staged.a[i].y;
        to[2 * TILE_M] = staged.a[i].z;
        to[3 * TILE_M] = staged.a[i].w;
    }
#pragma unroll
    for (unsigned i = 0; i < B_LOADS; ++i)
        store_quad(pair + A_FLOATS + (i * THREADS + threadIdx.x) * 4, staged.b[i]);
}

// The elements that a thread needs from one column of the tile of A and one row of the tile of B.
struct Strip {
    float a[THREAD_M], b[THREAD_N];
};

__device__ __forceinline__ void read_strip(Strip &strip, const float *a, const float *b, unsigned k)
{
#pragma unroll
    for (unsigned i = 0; i < THREAD_M; i += 4)
        unpack(strip.a + i, load_quad(a + AT_K(k) + i * LANES_M));
#pragma unroll
    for (unsigned j = 0; j < THREAD_N; j += 4)
        unpack(strip.b + j, load_quad(b + k * TILE_N + j * LANES_N));
}

__device__ __forceinline__ void multiply_strip(float (&sum)[THREAD_M][THREAD_N], const Strip &strip)
{
#pragma unroll
    for (unsigned i = 0; i < THREAD_M; ++i)
#pragma unroll
        for (unsigned j = 0; j < THREAD_N; ++j)
            sum[i][j] += strip.a[i] * strip.b[j];
}

// Computes the block's tile of the product over [k_begin, k_end) and stores it in P.
__device__ __forceinline__ void make_tile(const Product &p, float *P)
{
    extern __shared__ float4 pairs[]; // two pairs of tiles; the type gives the alignment
    float *base = (float *)pairs;

    // The results of a thread are squares of 4 x 4. The squares are LANES_M * 4 rows and LANES_N * 4 columns apart, so
    // that the lanes of a warp read neighbouring groups of 4 floats.
    unsigned warp = warp_id(), lane = lane_id();
    unsigned m = warp / WARPS_N * (LANES_M * THREAD_M) + lane / LANES_N * 4;
    unsigned n = warp % WARPS_N * (LANES_N * THREAD_N) + lane % LANES_N * 4;

    float sum[THREAD_M][THREAD_N] = {};
    Staged staged;
    Strip now, next;

    if (p.k_begin < p.k_end) {
        fetch(p, p.k_begin, staged);
        land(base, staged);
        __syncthreads();
        unsigned reading = 0;
        const float *a = base + m, *b = base + A_FLOATS + n;
        read_strip(now, a, b, 0);

        for (unsigned k0 = p.k_begin; k0 < p.k_end; k0 += TILE_K) {
            bool more = k0 + TILE_K < p.k_end;
            if (more)
                fetch(p, k0 + TILE_K, staged);
#pragma unroll UNROLL
            for (unsigned k = 0; k < TILE_K; ++k) {
                if (k == TILE_K - 1 && more) { // switch to the next pair before this pair's last multiply-adds
                    // One barrier is enough: the pair that is written here was last read before the previous step's
                    // barrier.
                    reading ^= 1;
                    land(base + reading * PAIR_FLOATS, staged);
                    __syncthreads();
                    a = base + reading * PAIR_FLOATS + m;
                    b = base + reading * PAIR_FLOATS + A_FLOATS + n;
                }
                if (k < TILE_K - 1 || more)
                    read_strip(next, a, b, (k + 1) % TILE_K); // these reads overlap with the multiply-adds
                multiply_strip(sum, now);
                now = next;
            }
        }
    }

#pragma unroll
    for (unsigned i = 0; i < THREAD_M; ++i) {
        unsigned row = p.row0 + m + i / 4 * (LANES_M * 4) + i % 4;
        if (row >= p.M)
            continue;
#pragma unroll
        for (unsigned j = 0; j < THREAD_N; j += 4) {
            unsigned col = p.col0 + n + j * LANES_N;
            float *to = P + (offset)row * p.N + col;
            if (p.aligned) {
                store_quad(to, make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]));
                continue;
            }
#pragma unroll
            for (unsigned q = 0; q < 4; ++q)
                if (col + q < p.N)
                    to[q] = sum[i][j + q];
        }
    }
}
#endif

#if defined(MATMUL_COARSENED) || !defined(MATMUL_ONE)
// Each thread computes THREAD_M x THREAD_N results. The operands of a step along K are in registers, and the reads of
// shared memory are 16 bytes wide. While a thread multiplies, it already loads the next tiles and the next operands.
//
// Compared with granular, tiles have for example 128 rows and columns instead of 16. There are 2 TILE_M TILE_N /
// (TILE_M + TILE_N) operations per access to global memory. Reads of shared memory are now more important: THREAD_M
// THREAD_N multiply-adds need THREAD_M + THREAD_N elements. If THREAD_M = THREAD_N = 8, a thread issues four reads of
// 16 bytes for 64 multiply-adds. Nearly all issued instructions are multiply-adds. Few warps fit on an SM, so the
// independent instructions within each warp hide the latency.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    matmul_coarsened(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ P, unsigned M,
                     unsigned N, unsigned K, unsigned walk)
{
    make_tile(product(A, B, P, M, N, K, 0, K, walk), P);
}
#endif

#if defined(MATMUL_SPLIT_K) || !defined(MATMUL_ONE)
// SPLITS blocks share one tile of P. Each of these blocks multiplies a different part of K. The kernel
// matmul_add_splits then adds the partial results.
//
// Compared with coarsened, the operations per access are equal. There are SPLITS times as many blocks, and memory
// transfers 2 SPLITS M N more elements. Splitting is worthwhile if K is long and P has fewer tiles than the device has
// multiprocessors. The partial results go through the buffer `partial` and are added in a fixed order. So every run
// gives the same result, which atomics would not guarantee.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    matmul_split_k(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ partial, unsigned M,
                   unsigned N, unsigned K, unsigned walk)
{
    unsigned steps = ceil_div(K, TILE_K), part = ceil_div(steps, SPLITS) * TILE_K;
    offset begin = (offset)blockIdx.y * part;
    float *mine = partial + (offset)blockIdx.y * M * N; // if N % 4 == 0, `mine` is aligned as well as `partial`
    make_tile(product(A, B, partial, M, N, K, begin < K ? begin : K, begin + part < K ? begin + part : K, walk), mine);
}

// Adds SPLITS matrices of `count` elements in order, and stores the sum in P.
extern "C" __global__ void matmul_add_splits(const float *__restrict__ partial, float *__restrict__ P, offset count)
{
    offset i = (offset)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float sum = 0.0f;
#pragma unroll
    for (unsigned s = 0; s < SPLITS; ++s)
        sum += partial[s * count + i];
    P[i] = sum;
}
#endif
