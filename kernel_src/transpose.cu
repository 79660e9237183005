// transpose.cu - T = the transpose of each of BATCH matrices A, M x N each, dense and row-major, 4-byte elements: nine
// ways. Two of them only copy; their times bound the others.
//
// There is no arithmetic, so the time depends only on the accesses. A warp's 32 elements along a row are one request of
// four sectors; along a column they are a request of 32 sectors. A transpose needs one of each. The kernels differ in
// the place where rows become columns. In naive the place is global memory, and in tiled it is shared memory.
// tiled_padded and swizzled avoid bank conflicts there, and tiled_unrolled and vectorised have more bytes in flight at
// a time. Elements are words of 32 bits whose bits are kept, also for floats: NaN, -0 and others.
//
// M and N may be any numbers below 2^31, also 0; edges are checked. Matrices may have more than 2^32 elements, because
// offsets have 64 bits. Blocks are numbered in one dimension, because a grid is at most 65,535 high.
//
// The tuning parameters are macros. The engine defines these macros from the spec. The defaults below only let an
// editor or a compiler parse this file alone. A kernel is compiled if its own macro TRANSPOSE_<NAME> is set, or if
// TRANSPOSE_ONE is not set. A sweep compiles this file once per configuration.

#include "common.cuh"

#ifndef BLOCK_X
#define BLOCK_X 32 // threads of a block across; also the width of the tile if a thread has one element
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 16 // and down
#endif
#ifndef ITEMS
#define ITEMS 4 // copy_row, copy_column: elements of a thread
#endif
#ifndef PAD
#define PAD 1 // tiled_padded, tiled_unrolled: unused elements after each row of the tile (or after each 32 elements)
#endif
#ifndef TILE
#define TILE 32 // tiled_unrolled, swizzled: side of the square tile
#endif
#ifndef DIAGONAL
#define DIAGONAL 0 // swizzled: 1: neighbouring blocks take tiles along a diagonal, not along a row
#endif
#ifndef TILE_M
#define TILE_M 64 // vectorised: rows of A in a tile; a multiple of 32
#endif
#ifndef TILE_N
#define TILE_N 64 // vectorised: columns; a multiple of 32
#endif
#ifndef THREADS
#define THREADS 256 // vectorised: threads of a block
#endif
#ifndef DOWN
#define DOWN 0 // vectorised: 1: neighbouring blocks take tiles below each other; 0: beside each other
#endif
#ifndef STREAM
#define STREAM 0 // vectorised: hint "used once": 1: for stores, 2: for loads, 3: for both
#endif

// The part of the work of a block: its matrices, and the first row and column of A's tile.
struct Place {
    const unsigned *a;
    unsigned *t;
    unsigned row, col;
};

// Returns the place of tile blockIdx.x among the `height` x `width` tiles of BATCH matrices of M x N. A division takes
// about twenty instructions, as many as the rest of a kernel with one element per thread. If there is only one matrix,
// the function saves the first division.
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
// Each thread moves one element. Neighbouring threads have neighbours along a row of T, so the write is coalesced and
// the read is not.
//
// Each warp reads 32 sectors of 32 bytes and needs 4 bytes of each, so a request uses 12.5 % of its bytes. The rest is
// used only if the block reads it again before the L1 or L2 evicts it. A store has 4 sectors per request, like a copy.
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
// Each thread moves one element. Neighbouring threads have neighbours along a row of A, so the read is coalesced and
// the write is not.
//
// Compared with naive_column, the counters change sides: 4 sectors per request are read, 32 written. No thread waits
// for a write, and the L2 combines the pieces of a sector if it can. But if a sector leaves the L2 incomplete, memory
// must also read it.
extern "C" __global__ void transpose_naive_row(const unsigned *__restrict__ A, unsigned *__restrict__ T, unsigned M,
                                               unsigned N)
{
    Place at = place(A, T, M, N, BLOCK_Y, BLOCK_X, false);
    unsigned row = at.row + threadIdx.y, col = at.col + threadIdx.x;
    if (row < M && col < N)
        at.t[(offset)col * M + row] = at.a[(offset)row * N + col];
}
#endif

// The input of the two copies was transposed before by transpose_naive_row, so their answer is checked like any other:
// X and T are BATCH matrices of N x M. A thread has ITEMS elements, and the distance between two of them is the size of
// a block. All loads of a thread are in flight together.

#if defined(TRANSPOSE_COPY_ROW) || !defined(TRANSPOSE_ONE)
// A copy, whose speed is the upper bound of a transpose. Neighbouring threads read and write neighbours along a row:
// 4 sectors per request on both sides.
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
// The lower bound: neighbours along a column for reading and writing, 32 sectors per request on both sides.
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
// Returns the offset of element `number` of the tile, counted along its rows. There are `pad` unused elements after
// each row, or after each 32 elements if rows are shorter, so that the writes of a warp stay contiguous.
template <unsigned pad> __device__ __forceinline__ constexpr unsigned in_tile(unsigned number)
{
    return number + number / (BLOCK_X < 32 ? 32 : BLOCK_X) * pad;
}

// Moves a tile of BLOCK_Y x BLOCK_X elements through shared memory, one element per thread: writes it by rows of A and
// reads it by rows of T. The threads are numbered differently in the second half, so that neighbouring threads have
// neighbours there too.
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
// Compared with naive: both accesses of global memory are coalesced, 4 sectors per request if BLOCK_X and BLOCK_Y are
// 32 (a read is BLOCK_X wide, a write BLOCK_Y). But the read of shared memory goes down a column. Rows of 32 elements
// begin in the same bank, so the BLOCK_Y lanes of a column are all in one bank and take BLOCK_Y wavefronts instead of
// one. (With rows of 16 or 8 elements, only every second or fourth row begins there.)
extern "C" __global__ void transpose_tiled(const unsigned *__restrict__ A, unsigned *__restrict__ T, unsigned M,
                                           unsigned N)
{
    through_tile<0>(A, T, M, N);
}
#endif

#if defined(TRANSPOSE_TILED_PADDED) || !defined(TRANSPOSE_ONE)
// Compared with tiled: PAD elements after each row shift the next row by PAD banks. A warp reads 32 / BLOCK_Y columns.
// So with PAD = 32 / BLOCK_Y its elements are in 32 different banks, and the conflict counter is 0. With any other PAD
// some elements are in the same bank. Accesses of global memory do not change.
extern "C" __global__ void transpose_tiled_padded(const unsigned *__restrict__ A, unsigned *__restrict__ T, unsigned M,
                                                  unsigned N)
{
    through_tile<PAD>(A, T, M, N);
}
#endif

#if defined(TRANSPOSE_TILED_UNROLLED) || !defined(TRANSPOSE_ONE)
// A square tile with fewer threads than elements: each thread reads TILE / BLOCK_Y elements before it writes the first.
//
// Compared with tiled_padded without conflicts: the same sectors and wavefronts. But each thread has that many loads in
// flight at a time, and there are fewer index computations, barriers and blocks per element. A thread waits for memory
// only once.
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
// Element (y, x) of the tile is stored at column x ^ y, so a column of the tile is spread over all banks without
// padding.
//
// Compared with tiled_unrolled: there are no conflicts either, no shared memory is unused, and rows stay aligned. TILE
// must be a power of two. With DIAGONAL, blocks that run at the same time take tiles along a diagonal, each one row and
// one column further. Tiles along a row of A would begin to write in one column of T, TILE rows of M elements apart. On
// older devices, if M is a power of two, these addresses fell on the same few memory channels. Today's devices
// distribute addresses over the channels by a hash, so such addresses fall on many channels also without DIAGONAL.
extern "C" __global__ void transpose_swizzled(const unsigned *__restrict__ A, unsigned *__restrict__ T, unsigned M,
                                              unsigned N)
{
    __shared__ unsigned tile[TILE][TILE];
    static_assert((TILE & (TILE - 1)) == 0 && TILE % BLOCK_Y == 0, "TILE must be a power of two, a multiple of BLOCK_Y");
    Place at = place(A, T, M, N, TILE, TILE, false);
    if (DIAGONAL) { // each column of tiles is rotated down by its number, so every tile still comes exactly once
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
// Four elements per access everywhere. A thread reads squares of 4 x 4 as four rows of 16 bytes, transposes each in its
// registers, and writes it as four rows of 16 bytes to the tile, which is stored transposed.
//
// Compared with swizzled: a quarter of the requests to global and to shared memory. A thread's whole share of the tile,
// 16 elements per square, is in flight before the first result is used. A request of a warp is 16 sectors. If rows of A
// do not begin at multiples of 16 bytes (N % 4), a thread reads four rows of one column instead, one element per
// access. If rows of T do not (M % 4), it writes single elements. The tile is the same in these cases, and it has no
// bank conflicts.

#define QUADS_M (TILE_M / 4)
#define QUADS_N (TILE_N / 4)
#define SQUARES (QUADS_M * QUADS_N / THREADS) // squares per thread

static_assert(TILE_M % 32 == 0 && TILE_N % 32 == 0, "rows of the tile must fill the banks");
static_assert(SQUARES * THREADS == QUADS_M * QUADS_N, "every thread must have the same number of squares");

// Row n of the tile holds column n of A, in quads. Quad r of the row is at place r ^ spread(n). Shared memory serves
// eight lanes at a time for accesses of 16 bytes. These eight lanes must access eight different places (mod 8) in three
// cases. For squares they write quad r of rows 0, 4, ..., 28. For single columns they write quad r of rows 0, 1, ...,
// 7. Or they read eight quads of one row.
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
