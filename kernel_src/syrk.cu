// syrk.cu - C = A A' in single precision, in five ways. A' is the transpose of A. A is N x K, C is N x N and symmetric.
// Both are dense and row-major.
//
// An element of C is the dot product of two rows of A, so both operands are read along K. In matmul, neighbouring lanes
// read neighbouring elements of a row of B. In this product neighbouring lanes read elements of different rows, which
// costs sectors in global memory and bank conflicts in shared memory. The first three kernels reduce these costs. The
// last two kernels use the symmetry and compute only half of the elements of C. All kernels write both triangles of C,
// with the same bits in both.
//
// All sizes below 2^31 are legal, including 0. No size has to be a multiple of a tile. Offsets have 64 bits.
//
// All kernels add in order of k, from 0 on, with one fused multiply-add per term. So their results have the same bits.
//
// The tuning parameters are macros. The engine defines these macros from the spec. The defaults below only let an
// editor or a compiler parse this file alone. A kernel is compiled if its own macro SYRK_<NAME> is set, or if SYRK_ONE
// is not set.

#include "common.cuh"

#ifndef BLOCK_X
#define BLOCK_X 32 // strided: number of threads of a block along a row of C
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 8 // strided: number of threads of a block along a column of C
#endif
#ifndef TILE
#define TILE 32 // number of rows and of columns of the square of C that a block computes
#endif
#ifndef TILE_K
#define TILE_K 16 // coarsened: number of columns of A in one step along K
#endif
#ifndef PAD
#define PAD 1 // tiled_padded, triangle: number of unused elements after each row of a tile
#endif
#ifndef THREAD_M
#define THREAD_M 4 // coarsened: number of rows of C that a thread computes; a multiple of 4
#endif
#ifndef THREAD_N
#define THREAD_N 4 // coarsened: number of columns of C that a thread computes; a multiple of 4
#endif
#ifndef LANES_M
#define LANES_M 8 // coarsened: a warp is LANES_M x 32 / LANES_M threads
#endif
#ifndef UNROLL
#define UNROLL 8 // unroll factor of the loop along K
#endif

#if defined(SYRK_STRIDED) || !defined(SYRK_ONE)
// Each thread computes one element of C. The operands come directly from global memory.
//
// The lanes of a warp read elements of BLOCK_X different rows, which are K elements apart. So a request has one sector
// per lane, and 4 of the 32 bytes of a sector are used. The next seven steps along K use the other 28 bytes, if the L1
// still has the sector by then.
extern "C" __global__ void syrk_strided(const float *__restrict__ A, float *__restrict__ C, unsigned N, unsigned K)
{
    unsigned col = blockIdx.x * BLOCK_X + threadIdx.x, row = blockIdx.y * BLOCK_Y + threadIdx.y;
    if (row >= N || col >= N)
        return;
    const float *a = A + (offset)row * K, *b = A + (offset)col * K;
    float sum = 0.0f;
#pragma unroll UNROLL
    for (unsigned k = 0; k < K; ++k)
        sum += a[k] * b[k];
    C[(offset)row * N + col] = sum;
}
#endif

#if defined(SYRK_TILED) || defined(SYRK_TILED_PADDED) || defined(SYRK_TRIANGLE) || !defined(SYRK_ONE)
// Computes one element of C in a block of TILE x TILE threads: the dot product of row row0 + threadIdx.y and row col0 +
// threadIdx.x of A. WIDTH is the distance between rows of the tiles in shared memory.
template <unsigned WIDTH>
__device__ __forceinline__ float tile_sum(const float *__restrict__ A, unsigned N, unsigned K, unsigned row0,
                                          unsigned col0)
{
    __shared__ float rows[TILE][WIDTH], cols[TILE][WIDTH];
    unsigned x = threadIdx.x, y = threadIdx.y;
    const float *a = A + (offset)(row0 + y) * K, *b = A + (offset)(col0 + y) * K;
    float sum = 0.0f;
    for (unsigned k0 = 0; k0 < K; k0 += TILE) {
        bool inside = k0 + x < K;
        rows[y][x] = inside && row0 + y < N ? a[k0 + x] : 0.0f;
        cols[y][x] = inside && col0 + y < N ? b[k0 + x] : 0.0f;
        __syncthreads();
#pragma unroll UNROLL
        for (unsigned k = 0; k < TILE; ++k)
            sum += rows[y][k] * cols[x][k];
        __syncthreads();
    }
    return sum;
}
#endif

#if defined(SYRK_TILED) || !defined(SYRK_ONE)
// Tiles of both operands are in shared memory. TILE neighbouring lanes read the elements of a tile from global memory
// along K.
//
// Compared with strided, all bytes of every sector are used, and each element is read N / TILE times instead of N
// times. But now the lanes read a column of a tile, cols[x][k]. If TILE = 32, all rows begin in the same bank, so a
// request takes 32 wavefronts. If TILE = 16, every second row begins in the same bank, and a request takes 8
// wavefronts. If TILE = 8, a request takes 2 wavefronts.
extern "C" __global__ void syrk_tiled(const float *__restrict__ A, float *__restrict__ C, unsigned N, unsigned K)
{
    float sum = tile_sum<TILE>(A, N, K, blockIdx.y * TILE, blockIdx.x * TILE);
    unsigned row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    if (row < N && col < N)
        C[(offset)row * N + col] = sum;
}
#endif

#if defined(SYRK_TILED_PADDED) || !defined(SYRK_ONE)
// The rows of a tile in shared memory have PAD unused elements at their ends.
//
// Compared with tiled, if the distance between rows is odd, the elements of a column are in different banks. Then each
// read takes one wavefront. If TILE is below 32, a warp writes several rows of a tile at once. With the padding, these
// rows overlap in PAD banks, so a store takes two wavefronts.
extern "C" __global__ void syrk_tiled_padded(const float *__restrict__ A, float *__restrict__ C, unsigned N, unsigned K)
{
    float sum = tile_sum<TILE + PAD>(A, N, K, blockIdx.y * TILE, blockIdx.x * TILE);
    unsigned row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    if (row < N && col < N)
        C[(offset)row * N + col] = sum;
}
#endif

#if defined(SYRK_TRIANGLE) || defined(SYRK_COARSENED) || !defined(SYRK_ONE)
// Returns the row and the column of tile `number` in the grid of tiles. The tiles of the lower triangle and the
// diagonal are numbered row by row. Row r begins with the number r (r + 1) / 2. Near the end of a row, the square root
// may be rounded up to the next row, so the loops below correct the result.
__device__ __forceinline__ void lower_tile(unsigned number, unsigned &row, unsigned &col)
{
    row = (unsigned)((sqrt(8.0 * number + 1.0) - 1.0) / 2.0);
    while ((offset)row * (row + 1) / 2 > number)
        --row;
    while ((offset)(row + 1) * (row + 2) / 2 <= number)
        ++row;
    col = (unsigned)(number - (offset)row * (row + 1) / 2);
}
#endif

#if defined(SYRK_TRIANGLE) || !defined(SYRK_ONE)
// The grid has only the tiles on and below the diagonal. A block whose tile is below the diagonal writes the tile
// twice. The second copy is transposed.
//
// Compared with tiled_padded, there is half as much arithmetic, and half as many reads. The tile is transposed in
// shared memory, so the second write is coalesced too.
extern "C" __global__ void syrk_triangle(const float *__restrict__ A, float *__restrict__ C, unsigned N, unsigned K)
{
    __shared__ float turned[TILE][TILE + 1];
    unsigned row_tile, col_tile, x = threadIdx.x, y = threadIdx.y;
    lower_tile(blockIdx.x, row_tile, col_tile);
    unsigned row0 = row_tile * TILE, col0 = col_tile * TILE;
    float sum = tile_sum<TILE + PAD>(A, N, K, row0, col0);
    if (row0 + y < N && col0 + x < N)
        C[(offset)(row0 + y) * N + col0 + x] = sum;
    if (row_tile == col_tile) // a tile on the diagonal is its own mirror image
        return;
    turned[x][y] = sum;
    __syncthreads();
    if (col0 + y < N && row0 + x < N)
        C[(offset)(col0 + y) * N + row0 + x] = turned[y][x];
}
#endif

#if defined(SYRK_COARSENED) || !defined(SYRK_ONE)
// Each thread computes THREAD_M x THREAD_N results. The operands of a step along K are in registers, and the reads of
// shared memory are 16 bytes wide. While a thread multiplies, it already loads the next tiles and operands, as in the
// kernel coarsened of matmul.cu.
//
// Compared with triangle, THREAD_M THREAD_N multiply-adds read THREAD_M + THREAD_N elements from shared memory. In
// triangle, one multiply-add reads two elements. So arithmetic is the bound. Both tiles are rows of A, so both are
// transposed on their way into shared memory. Then the elements that a thread needs for one k are neighbours. The
// results of a thread are squares of 4 x 4. The thread writes a square by rows, and for the other triangle by columns.
// In both cases it writes 16 bytes at a time. So no further transposition is needed.

#define THREADS ((TILE / THREAD_M) * (TILE / THREAD_N))
#define LANES_N (32 / LANES_M)
#define WARPS_N (TILE / (LANES_N * THREAD_N))
// In shared memory, the elements of a tile with the same k are neighbours. A thread writes the elements at four
// neighbouring k of one row of A. A gap after every fourth k spreads the elements that a warp writes at once over all
// 32 banks. The gap also keeps groups of 4 floats aligned.
#define AT_K(k) ((k) * TILE + (k) / 4 * (128 / TILE_K))
#define TILE_FLOATS AT_K(TILE_K)
#define LOADS (TILE * TILE_K / 4 / THREADS)

static_assert(TILE_K == 8 || TILE_K == 16 || TILE_K == 32, "TILE_K must be 8, 16 or 32");
static_assert(THREAD_M % 4 == 0 && THREAD_N % 4 == 0, "a thread's results come in squares of 4 x 4");
static_assert(TILE % (LANES_M * THREAD_M) == 0 && TILE % (LANES_N * THREAD_N) == 0, "whole warps must fill a tile");
static_assert(LOADS * THREADS * 4 == TILE * TILE_K, "every thread must load the same number of quads");

// The elements of one tile that a thread holds in registers, on their way from global to shared memory.
struct Staged {
    float4 quad[LOADS];
};

// Reads TILE rows from row0 on and TILE_K columns from k0 on. `whole` means that all these rows exist and that groups
// of 4 floats are aligned.
__device__ __forceinline__ void fetch(const float *__restrict__ A, unsigned N, unsigned K, bool whole, unsigned row0,
                                      unsigned k0, Staged &staged)
{
#pragma unroll
    for (unsigned i = 0; i < LOADS; ++i) {
        unsigned quad = i * THREADS + threadIdx.x, row = row0 + quad / (TILE_K / 4), k = k0 + quad % (TILE_K / 4) * 4;
        const float *from = A + (offset)row * K + k;
        if (whole && k0 + TILE_K <= K) {
            staged.quad[i] = load_quad(from);
            continue;
        }
        bool inside = row < N;
        staged.quad[i].x = inside && k + 0 < K ? from[0] : 0.0f;
        staged.quad[i].y = inside && k + 1 < K ? from[1] : 0.0f;
        staged.quad[i].z = inside && k + 2 < K ? from[2] : 0.0f;
        staged.quad[i].w = inside && k + 3 < K ? from[3] : 0.0f;
    }
}

__device__ __forceinline__ void land(float *tile, const Staged &staged)
{
#pragma unroll
    for (unsigned i = 0; i < LOADS; ++i) {
        unsigned quad = i * THREADS + threadIdx.x;
        float *to = tile + AT_K(quad % (TILE_K / 4) * 4) + quad / (TILE_K / 4);
        to[0 * TILE] = staged.quad[i].x;
        to[1 * TILE] = staged.quad[i].y;
        to[2 * TILE] = staged.quad[i].z;
        to[3 * TILE] = staged.quad[i].w;
    }
}

// The elements that a thread needs from one column of each tile.
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
        unpack(strip.b + j, load_quad(b + AT_K(k) + j * LANES_N));
}

// Writes four neighbouring elements of a row of C.
__device__ __forceinline__ void write_quad(float *__restrict__ C, unsigned N, bool whole, unsigned row, unsigned col,
                                           float4 quad)
{
    float *to = C + (offset)row * N + col;
    if (whole) {
        store_quad(to, quad);
        return;
    }
    if (row >= N)
        return;
    if (col + 0 < N)
        to[0] = quad.x;
    if (col + 1 < N)
        to[1] = quad.y;
    if (col + 2 < N)
        to[2] = quad.z;
    if (col + 3 < N)
        to[3] = quad.w;
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    syrk_coarsened(const float *__restrict__ A, float *__restrict__ C, unsigned N, unsigned K)
{
    extern __shared__ float4 pairs[]; // two pairs of tiles; the type gives the alignment
    float *base = (float *)pairs;
    unsigned row_tile, col_tile;
    lower_tile(blockIdx.x, row_tile, col_tile);
    const unsigned row0 = row_tile * TILE, col0 = col_tile * TILE;
    // In C, the tile's rows extend further than its columns, so it suffices to check the rows.
    const bool inside = row0 + TILE <= N, whole_a = inside && K % 4 == 0 && is_aligned<16>(A),
               whole_c = inside && N % 4 == 0 && is_aligned<16>(C);

    // The squares of a thread are LANES_M * 4 rows and LANES_N * 4 columns apart, so that the lanes of a warp read
    // neighbouring groups of 4 floats.
    unsigned warp = warp_id(), lane = lane_id();
    unsigned m = warp / WARPS_N * (LANES_M * THREAD_M) + lane / LANES_N * 4;
    unsigned n = warp % WARPS_N * (LANES_N * THREAD_N) + lane % LANES_N * 4;

    float sum[THREAD_M][THREAD_N] = {};
    if (K > 0) {
        Staged rows, cols;
        Strip now, next;
        fetch(A, N, K, whole_a, row0, 0, rows);
        fetch(A, N, K, whole_a, col0, 0, cols);
        land(base, rows);
        land(base + TILE_FLOATS, cols);
        __syncthreads();
        unsigned reading = 0;
        const float *a = base + m, *b = base + TILE_FLOATS + n;
        read_strip(now, a, b, 0);
        for (unsigned k0 = 0; k0 < K; k0 += TILE_K) {
            bool more = K - k0 > TILE_K;
            if (more) {
                fetch(A, N, K, whole_a, row0, k0 + TILE_K, rows);
                fetch(A, N, K, whole_a, col0, k0 + TILE_K, cols);
            }
#pragma unroll UNROLL
            for (unsigned k = 0; k < TILE_K; ++k) {
                // switch to the next pair of tiles before the last multiply-adds of this pair
                if (k == TILE_K - 1 && more) {
                    // One barrier is enough: the pair that is written here was last read before the previous step's
                    // barrier.
                    reading ^= 1;
                    float *pair = base + reading * 2 * TILE_FLOATS;
                    land(pair, rows);
                    land(pair + TILE_FLOATS, cols);
                    __syncthreads();
                    a = pair + m;
                    b = pair + TILE_FLOATS + n;
                }
                if (k < TILE_K - 1 || more)
                    read_strip(next, a, b, (k + 1) % TILE_K); // these reads overlap with the multiply-adds
#pragma unroll
                for (unsigned i = 0; i < THREAD_M; ++i)
#pragma unroll
                    for (unsigned j = 0; j < THREAD_N; ++j)
                        sum[i][j] += now.a[i] * now.b[j];
                now = next;
            }
        }
    }

#pragma unroll
    for (unsigned i = 0; i < THREAD_M; i += 4) {
        unsigned row = row0 + m + i * LANES_M;
#pragma unroll
        for (unsigned j = 0; j < THREAD_N; j += 4) {
            unsigned col = col0 + n + j * LANES_N;
#pragma unroll
            for (unsigned q = 0; q < 4; ++q)
                write_quad(C, N, whole_c, row + q, col,
                           make_float4(sum[i + q][j], sum[i + q][j + 1], sum[i + q][j + 2], sum[i + q][j + 3]));
            if (row_tile == col_tile)
                continue;
#pragma unroll
            for (unsigned q = 0; q < 4; ++q)
                write_quad(C, N, whole_c, col + q, row,
                           make_float4(sum[i][j + q], sum[i + 1][j + q], sum[i + 2][j + q], sum[i + 3][j + q]));
        }
    }
}
#endif
