// transpose.cu - transposes each of BATCH matrices A of M x N elements into a matrix T, in nine ways. The matrices are
// dense and row-major, and an element has 4 bytes. Two of the kernels only copy. Their times are bounds for the other
// kernels.
//
// There is no arithmetic, so the time depends only on the accesses. If the 32 lanes of a warp access elements along a
// row, the request has four sectors. Along a column it has 32 sectors. A transpose needs one access along a row and one
// along a column. The kernels differ in the place where rows become columns. In the kernels naive_* this place is
// global memory, and in tiled it is shared memory. The kernels tiled_padded and swizzled avoid bank conflicts in shared
// memory. The kernels tiled_unrolled and vectorised have more bytes in flight at a time. Elements are words of 32 bits,
// and their bits are kept. So floats such as NaN and -0 keep their bits too.
//
// M and N may be any numbers below 2^31, including 0, because all accesses are checked against the edges. Matrices may
// have more than 2^32 elements, because offsets have 64 bits. Blocks are numbered in one dimension, because a grid is
// at most 65,535 high.
//
// The tuning parameters are macros. The engine defines these macros from the spec. The defaults below only let an
// editor or a compiler parse this file alone. A kernel is compiled if its own macro TRANSPOSE_<NAME> is set, or if
// TRANSPOSE_ONE is not set. A sweep compiles this file once per configuration.

#include "common.cuh"

#ifndef BLOCK_X
#define BLOCK_X 32 // number of threads of a block along x; also the width of the tile if a thread has one element
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 16 // number of threads of a block along y; also the height of the tile if a thread has one element
#endif
#ifndef ITEMS
#define ITEMS 4 // copy_row, copy_column: number of elements per thread
#endif
#ifndef PAD
// tiled_padded, tiled_unrolled: number of unused elements after each row of the tile (at least after 32 elements)
#define PAD 1
#endif
#ifndef TILE
#define TILE 32 // tiled_unrolled, swizzled: number of rows and of columns of the square tile
#endif
#ifndef DIAGONAL
#define DIAGONAL 0 // swizzled: 1: neighbouring blocks take tiles along a diagonal, not along a row
#endif
#ifndef TILE_M
#define TILE_M 64 // vectorised: number of rows of A in a tile; a multiple of 32
#endif
#ifndef TILE_N
#define TILE_N 64 // vectorised: number of columns of A in a tile; a multiple of 32
#endif
#ifndef THREADS
#define THREADS 256 // vectorised: number of threads of a block
#endif
#ifndef DOWN
#define DOWN 0 // vectorised: 1: neighbouring blocks take tiles below each other; 0: beside each other
#endif
#ifndef STREAM
#define STREAM 0 // vectorised: the accesses with the hint "used once": 1: stores, 2: loads, 3: both
#endif

// The work of a block: a matrix A, its transpose T, and the first row and column of a tile of A.
struct Place {
    const unsigned *a;
    unsigned *t;
    unsigned row, col;
};

// Returns the work of this block. Each of the BATCH matrices of M x N elements has tiles of `height` x `width`, and the
// block has tile blockIdx.x of all these tiles. A division takes about twenty instructions. In a kernel with one
// element per thread, the rest of the kernel has no more. If there is only one matrix, the function saves the first
// division.
__device__ __forceinline__ Place place(const unsigned *A, unsigned *T, unsigned M, unsigned N, unsigned height,
                                       unsigned width, bool down)
{
    unsigned tiles_m = ceil_div(M, height), tiles_n = ceil_div(N, width), tiles = tiles_m * tiles_n;
    unsigned matrix = gridDim.x == tiles ? 0 : blockIdx.x / tiles, tile = blockIdx.x - matrix * tiles;
    unsigned slow = tile / (down ? tiles_m : tiles_n), fast = tile - slow * (down ? tiles_m : tiles_n);
    offset elements = (offset)matrix * M * N;
    return {A + elements, T + elements, (down ? fast : slow) * height, (down ? slow : fast) * width};
}

#if defined(TRANSPOSE_NAIVE_COLUMN) || !defined(TRANSPOSE_ONE)
// Each thread moves one element. Neighbouring threads access neighbouring elements of a row of T. So the write is
// coalesced, and the read is not.
//
// The read of a warp has 32 sectors of 32 bytes, and the warp needs 4 bytes of each sector. So the request uses 12.5 %
// of its bytes. The other bytes are used only if the block reads the sector again before the L1 or L2 evicts it. The
// write has 4 sectors per request, as in a copy.
extern "C" __global__ void transpose_naive_column(const unsigned *__restrict__ A, unsigned *__restrict__ T, unsigned M,
                                                  unsigned N)
{
    Place at = place(A, T, M, N, BLOCK_X, BLOCK_Y, true);
    unsigned row = at.row + threadIdx.x, col = at.col + threadIdx.y;
    if (row < M && col < N)
        at.t[(offset)col * M + row] = at.a[(offset)row * N + col];
}
#endif

#if defined(TRANSPOSE_NAIVE_ROW) || !defined(TRANSPOSE_ONE)
// Each thread moves one element. Neighbouring threads access neighbouring elements of a row of A. So the read is
// coalesced, and the write is not.
//
// Compared with naive_column, a read has 4 sectors per request, and a write has 32. No thread waits for a write, and if
// the parts of a sector arrive in time, the L2 combines them. But if the L2 evicts an incomplete sector, memory must
// also read the sector.
extern "C" __global__ void transpose_naive_row(const unsigned *__restrict__ A, unsigned *__restrict__ T, unsigned M,
                                               unsigned N)
{
    Place at = place(A, T, M, N, BLOCK_Y, BLOCK_X, false);
    unsigned row = at.row + threadIdx.y, col = at.col + threadIdx.x;
    if (row < M && col < N)
        at.t[(offset)col * M + row] = at.a[(offset)row * N + col];
}
#endif

// The two kernels below copy X to T, which are BATCH matrices of N x M. X is the transpose of A, which
// transpose_naive_row made before, so the result is checked as for the other kernels. The ITEMS elements of a thread
// are a block apart. All loads of a thread are in flight together.

#if defined(TRANSPOSE_COPY_ROW) || !defined(TRANSPOSE_ONE)
// This kernel copies by rows. A transpose cannot be faster than this kernel. Neighbouring threads read and write
// neighbouring elements of a row. So reads and writes have 4 sectors per request.
extern "C" __global__ void transpose_copy_row(const unsigned *__restrict__ X, unsigned *__restrict__ T, unsigned M,
                                              unsigned N)
{
    Place at = place(X, T, N, M, BLOCK_Y * ITEMS, BLOCK_X, false);
    unsigned row = at.row + threadIdx.y, col = at.col + threadIdx.x, mine[ITEMS];
#pragma unroll
    for (unsigned i = 0; i < ITEMS; ++i)
        mine[i] = row + i * BLOCK_Y < N && col < M ? at.a[(offset)(row + i * BLOCK_Y) * M + col] : 0;
#pragma unroll
    for (unsigned i = 0; i < ITEMS; ++i)
        if (row + i * BLOCK_Y < N && col < M)
            at.t[(offset)(row + i * BLOCK_Y) * M + col] = mine[i];
}
#endif

#if defined(TRANSPOSE_COPY_COLUMN) || !defined(TRANSPOSE_ONE)
// This kernel copies by columns, which is the slowest way. Neighbouring threads read and write neighbouring elements of
// a column, so reads and writes have 32 sectors per request.
extern "C" __global__ void transpose_copy_column(const unsigned *__restrict__ X, unsigned *__restrict__ T, unsigned M,
                                                 unsigned N)
{
    Place at = place(X, T, N, M, BLOCK_X, BLOCK_Y * ITEMS, true);
    unsigned row = at.row + threadIdx.x, col = at.col + threadIdx.y, mine[ITEMS];
#pragma unroll
    for (unsigned i = 0; i < ITEMS; ++i)
        mine[i] = row < N && col + i * BLOCK_Y < M ? at.a[(offset)row * M + col + i * BLOCK_Y] : 0;
#pragma unroll
    for (unsigned i = 0; i < ITEMS; ++i)
        if (row < N && col + i * BLOCK_Y < M)
            at.t[(offset)row * M + col + i * BLOCK_Y] = mine[i];
}
#endif

#if defined(TRANSPOSE_TILED) || defined(TRANSPOSE_TILED_PADDED) || !defined(TRANSPOSE_ONE)
// Returns the offset in shared memory of element `number` of the tile. The elements are numbered along the rows of the
// tile. `pad` unused elements follow each row. If rows are shorter than 32 elements, the unused elements follow each 32
// elements, so that the writes of a warp stay contiguous.
template <unsigned pad> __device__ __forceinline__ constexpr unsigned in_tile(unsigned number)
{
    return number + number / (BLOCK_X < 32 ? 32 : BLOCK_X) * pad;
}

// Moves a tile of BLOCK_Y x BLOCK_X elements through shared memory, one element per thread. The block writes the tile
// to shared memory by rows of A, and reads it by rows of T. For the second half the threads are numbered in another
// way, so that neighbouring threads access neighbouring elements of T.
template <unsigned pad>
__device__ __forceinline__ void through_tile(const unsigned *A, unsigned *T, unsigned M, unsigned N)
{
    __shared__ unsigned tile[in_tile<pad>(BLOCK_X * BLOCK_Y - 1) + 1];
    Place at = place(A, T, M, N, BLOCK_Y, BLOCK_X, false);
    unsigned row = at.row + threadIdx.y, col = at.col + threadIdx.x, thread = threadIdx.y * BLOCK_X + threadIdx.x;
    if (row < M && col < N)
        tile[in_tile<pad>(thread)] = at.a[(offset)row * N + col];
    __syncthreads();
    unsigned y = thread % BLOCK_Y, x = thread / BLOCK_Y;
    row = at.row + y;
    col = at.col + x;
    if (row < M && col < N)
        at.t[(offset)col * M + row] = tile[in_tile<pad>(y * BLOCK_X + x)];
}
#endif

#if defined(TRANSPOSE_TILED) || !defined(TRANSPOSE_ONE)
// Compared with the naive kernels, both accesses to global memory are coalesced. If BLOCK_X and BLOCK_Y are 32, a
// request has 4 sectors, because a read is BLOCK_X elements wide and a write BLOCK_Y. But the read of shared memory
// goes down a column of the tile. If BLOCK_X is 32, all rows begin in the same bank. So the BLOCK_Y lanes of a column
// access one bank, and take BLOCK_Y wavefronts instead of one. (If BLOCK_X is 16 or 8, only every second or fourth row
// begins in this bank.)
extern "C" __global__ void transpose_tiled(const unsigned *__restrict__ A, unsigned *__restrict__ T, unsigned M,
                                           unsigned N)
{
    through_tile<0>(A, T, M, N);
}
#endif

#if defined(TRANSPOSE_TILED_PADDED) || !defined(TRANSPOSE_ONE)
// Compared with tiled, PAD unused elements after each row shift the next row by PAD banks. The lanes of a warp read 32
// / BLOCK_Y columns of the tile. So if PAD = 32 / BLOCK_Y, the elements of a warp are in 32 different banks, and the
// conflict counter is 0. With any other PAD, some of these elements are in the same bank. The accesses to global memory
// do not change.
extern "C" __global__ void transpose_tiled_padded(const unsigned *__restrict__ A, unsigned *__restrict__ T, unsigned M,
                                                  unsigned N)
{
    through_tile<PAD>(A, T, M, N);
}
#endif

#if defined(TRANSPOSE_TILED_UNROLLED) || !defined(TRANSPOSE_ONE)
// The tile is square, and a block has fewer threads than the tile has elements. Each thread reads TILE / BLOCK_Y
// elements before it writes the first.
//
// Compared with tiled_padded without conflicts, the sectors and wavefronts are the same. But each thread has TILE /
// BLOCK_Y loads in flight at a time. There are fewer index computations, barriers and blocks per element. A thread
// waits for memory only once per tile.
extern "C" __global__ void transpose_tiled_unrolled(const unsigned *__restrict__ A, unsigned *__restrict__ T,
                                                    unsigned M, unsigned N)
{
    __shared__ unsigned tile[TILE][TILE + PAD];
    static_assert(TILE % BLOCK_Y == 0, "the threads must walk down the tile in complete steps");
    Place at = place(A, T, M, N, TILE, TILE, false);
    unsigned mine[TILE / BLOCK_Y];
#pragma unroll
    for (unsigned i = 0; i < TILE / BLOCK_Y; ++i) {
        unsigned row = at.row + threadIdx.y + i * BLOCK_Y, col = at.col + threadIdx.x;
        mine[i] = row < M && col < N ? at.a[(offset)row * N + col] : 0u;
    }
#pragma unroll
    for (unsigned i = 0; i < TILE / BLOCK_Y; ++i)
        tile[threadIdx.y + i * BLOCK_Y][threadIdx.x] = mine[i];
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < TILE / BLOCK_Y; ++i) {
        unsigned row = at.row + threadIdx.x, col = at.col + threadIdx.y + i * BLOCK_Y;
        if (row < M && col < N)
            at.t[(offset)col * M + row] = tile[threadIdx.x][threadIdx.y + i * BLOCK_Y];
    }
}
#endif

#if defined(TRANSPOSE_SWIZZLED) || !defined(TRANSPOSE_ONE)
// Element (y, x) of the tile is stored at column x ^ y. So a column of the tile is spread over all banks without
// padding.
//
// As in tiled_unrolled there are no conflicts. In addition, no shared memory is unused, and rows stay aligned. TILE
// must be a power of two. With DIAGONAL, blocks that run at the same time take tiles along a diagonal of A. Without
// DIAGONAL these blocks take tiles along a row of A, and begin to write in one column of T. The places are TILE rows of
// M elements apart. On older devices, if M is a power of two, these addresses fell on the same few memory channels.
// Today's devices distribute addresses over the channels by a hash. So these addresses fall on many channels even
// without DIAGONAL.
extern "C" __global__ void transpose_swizzled(const unsigned *__restrict__ A, unsigned *__restrict__ T, unsigned M,
                                              unsigned N)
{
    __shared__ unsigned tile[TILE][TILE];
    static_assert((TILE & (TILE - 1)) == 0 && TILE % BLOCK_Y == 0, "TILE must be a power of two, a multiple of BLOCK_Y");
    Place at = place(A, T, M, N, TILE, TILE, false);
    if (DIAGONAL) { // each column of tiles is rotated down by its number, so every tile is still processed exactly once
        unsigned tiles_m = ceil_div(M, TILE);
        at.row = (at.row / TILE + at.col / TILE) % tiles_m * TILE;
    }
    unsigned mine[TILE / BLOCK_Y];
#pragma unroll
    for (unsigned i = 0; i < TILE / BLOCK_Y; ++i) {
        unsigned row = at.row + threadIdx.y + i * BLOCK_Y, col = at.col + threadIdx.x;
        mine[i] = row < M && col < N ? at.a[(offset)row * N + col] : 0u;
    }
#pragma unroll
    for (unsigned i = 0; i < TILE / BLOCK_Y; ++i) {
        unsigned y = threadIdx.y + i * BLOCK_Y;
        tile[y][threadIdx.x ^ y] = mine[i];
    }
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < TILE / BLOCK_Y; ++i) {
        unsigned x = threadIdx.y + i * BLOCK_Y, row = at.row + threadIdx.x, col = at.col + x;
        if (row < M && col < N)
            at.t[(offset)col * M + row] = tile[threadIdx.x][x ^ threadIdx.x];
    }
}
#endif

#if defined(TRANSPOSE_VECTORISED) || !defined(TRANSPOSE_ONE)
// Every access transfers four elements. A thread reads squares of 4 x 4 elements as four rows of 16 bytes, and
// transposes each square in its registers. It writes the square as four rows of 16 bytes to the tile in shared memory,
// which is stored transposed.
//
// Compared with swizzled, there are a quarter of the requests to global and to shared memory. All elements that a
// thread has of the tile, 16 per square, are in flight before the first one is used. A request of a warp has 16
// sectors. If rows of A do not begin at multiples of 16 bytes (N % 4 != 0), a thread reads four elements of one column
// instead, one element per access. If rows of T do not begin at such multiples (M % 4 != 0), a thread writes single
// elements. In both cases the tile in shared memory is the same, and it has no bank conflicts.

#define QUADS_M (TILE_M / 4)
#define QUADS_N (TILE_N / 4)
#define SQUARES (QUADS_M * QUADS_N / THREADS) // number of squares per thread

static_assert(TILE_M % 32 == 0 && TILE_N % 32 == 0, "rows of the tile must fill the banks");
static_assert(SQUARES * THREADS == QUADS_M * QUADS_N, "every thread must have the same number of squares");

// Row n of the tile in shared memory has column n of A as quads, which are groups of 4 elements. Quad r of row n is at
// place r ^ spread(n). For accesses of 16 bytes, shared memory serves eight lanes at a time. These eight lanes must
// access places that differ modulo 8. There are three cases. If a thread has squares, the eight lanes write quad r of
// the rows 0, 4, ..., 28. If a thread has single columns, the eight lanes write quad r of the rows 0 to 7. In the
// second half they read eight quads of one row.
__device__ __forceinline__ unsigned spread(unsigned n)
{
    return (n ^ n / 4) % 8;
}

#define STREAM_LOADS ((STREAM & 2) != 0)
#define STREAM_STORES ((STREAM & 1) != 0)

__device__ __forceinline__ void read_squares(uint4 *tile, const Place &at, unsigned M, unsigned N)
{
    uint4 rows[SQUARES][4];
#pragma unroll
    for (unsigned s = 0; s < SQUARES; ++s) {
        unsigned square = s * THREADS + threadIdx.x, row = at.row + square / QUADS_N * 4,
                 col = at.col + square % QUADS_N * 4;
        const unsigned *from = at.a + (offset)row * N + col;
#pragma unroll
        for (unsigned i = 0; i < 4; ++i)
            rows[s][i] = row + i < M && col < N ? load<STREAM_LOADS>((const uint4 *)(from + (offset)i * N)) : uint4{};
    }
#pragma unroll
    for (unsigned s = 0; s < SQUARES; ++s) {
        unsigned square = s * THREADS + threadIdx.x, r = square / QUADS_N, n = square % QUADS_N * 4;
        const uint4 *q = rows[s];
        tile[(n + 0) * QUADS_M + (r ^ spread(n + 0))] = {q[0].x, q[1].x, q[2].x, q[3].x};
        tile[(n + 1) * QUADS_M + (r ^ spread(n + 1))] = {q[0].y, q[1].y, q[2].y, q[3].y};
        tile[(n + 2) * QUADS_M + (r ^ spread(n + 2))] = {q[0].z, q[1].z, q[2].z, q[3].z};
        tile[(n + 3) * QUADS_M + (r ^ spread(n + 3))] = {q[0].w, q[1].w, q[2].w, q[3].w};
    }
}

__device__ __forceinline__ void read_columns(uint4 *tile, const Place &at, unsigned M, unsigned N)
{
    uint4 quads[4 * SQUARES];
#pragma unroll
    for (unsigned s = 0; s < 4 * SQUARES; ++s) {
        unsigned quad = s * THREADS + threadIdx.x, row = at.row + quad / TILE_N * 4, col = at.col + quad % TILE_N;
        const unsigned *from = at.a + (offset)row * N + col;
        quads[s].x = row + 0 < M && col < N ? load<STREAM_LOADS>(from) : 0u;
        quads[s].y = row + 1 < M && col < N ? load<STREAM_LOADS>(from + N) : 0u;
        quads[s].z = row + 2 < M && col < N ? load<STREAM_LOADS>(from + 2ull * N) : 0u;
        quads[s].w = row + 3 < M && col < N ? load<STREAM_LOADS>(from + 3ull * N) : 0u;
    }
#pragma unroll
    for (unsigned s = 0; s < 4 * SQUARES; ++s) {
        unsigned quad = s * THREADS + threadIdx.x, r = quad / TILE_N, n = quad % TILE_N;
        tile[n * QUADS_M + (r ^ spread(n))] = quads[s];
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    transpose_vectorised(const unsigned *__restrict__ A, unsigned *__restrict__ T, unsigned M, unsigned N)
{
    extern __shared__ uint4 tile[]; // TILE_N rows of QUADS_M quads
    Place at = place(A, T, M, N, TILE_M, TILE_N, DOWN);
    if (N % 4 == 0 && is_aligned<16>(A))
        read_squares(tile, at, M, N);
    else
        read_columns(tile, at, M, N);
    __syncthreads();
    if (M % 4 == 0 && is_aligned<16>(T)) {
#pragma unroll
        for (unsigned s = 0; s < 4 * SQUARES; ++s) {
            unsigned quad = s * THREADS + threadIdx.x, n = quad / QUADS_M, r = quad % QUADS_M;
            unsigned row = at.row + r * 4, col = at.col + n;
            if (row < M && col < N)
                store<STREAM_STORES>((uint4 *)(at.t + (offset)col * M + row), tile[n * QUADS_M + (r ^ spread(n))]);
        }
        return;
    }
#pragma unroll
    for (unsigned s = 0; s < 16 * SQUARES; ++s) {
        unsigned element = s * THREADS + threadIdx.x, n = element / TILE_M, m = element % TILE_M;
        unsigned row = at.row + m, col = at.col + n;
        if (row < M && col < N)
            store<STREAM_STORES>(at.t + (offset)col * M + row,
                      ((const unsigned *)tile)[n * TILE_M + ((m / 4) ^ spread(n)) * 4 + m % 4]);
    }
}
#endif
