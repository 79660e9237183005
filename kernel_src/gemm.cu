// gemm.cu - matrix products C = A B on tensor cores. A is an M x K matrix stored by rows, and C is an M x N matrix
// stored by rows. B is a K x N matrix stored by rows or, with COLUMNS, stored by columns (that is, as N rows of K
// elements). The elements of A and B are f16 or bf16. If B is stored by columns, the elements may also be f8e4m3, or
// f32 numbers that the tensor core cuts to tf32. The kernels accumulate in single precision. The elements of C are f32,
// f16 or bf16. In a batch, all products have the same shape, and their matrices follow each other in memory.
//
// Each kernel improves the kernel before it: in how it copies the tiles, in which threads wait for which, or in where
// it keeps the accumulators. The first three kernels and the kernel direct take any M, N and K, including 0. Elements
// outside a matrix count as zero and are not written, and rows may begin at any address. The kernel thin does the same
// for small K. The other kernels copy by tensor maps, which need rows whose length is a multiple of 16 bytes, and no M,
// N or K of 0. The spec states this as a constraint.
//
// Each kernel adds the terms of a result in a fixed order, in blocks of 32 bytes along K. Apart from direct, a kernel
// takes the blocks of a part of K in order of k. The tensor core adds all terms of a block at once and cuts the bits
// that lie more than about 25 bits below the largest term. For f8e4m3, wgmma cuts the bits that lie more than 13 bits
// below it (engine/sim/device/ops/README.md). Because the order is fixed, each kernel gives the same bits in every run.
//
// Code for sm_90a is left out on other devices, so that the whole file compiles for any device.
//
// The tuning parameters are macros. The engine defines these macros from the spec. A kernel is compiled if its own
// macro GEMM_<NAME> is set, or if GEMM_ONE is not set.

#include "gemm.cuh"

#ifndef WARPS_M
#define WARPS_M 2 // wmma, mma_*, thin: number of warps that share the rows of a block's tile
#endif
#ifndef WARPS_N
#define WARPS_N 2 // wmma, mma_*: number of warps that share the columns of a block's tile
#endif
#ifndef PAD
// mma_*: number of bytes between the rows of a tile in shared memory. With 0, the kernel permutes the pieces of 16
// bytes instead
#define PAD 0
#endif
#ifndef DOWN
#define DOWN 1 // direct, thin: number of 16-row matrix instructions that a warp makes, one below the other
#endif
#ifndef STEPS
#define STEPS 1 // thin: number of steps of 32 bytes along K, enough for all k
#endif
#ifndef ACROSS
#define ACROSS 2 // direct: number of 8-column matrix instructions that a warp makes, one beside the other
#endif
#ifndef WARPS_K
#define WARPS_K 1 // direct: number of warps of a block that share the steps along K
#endif
#ifndef UNROLL
#define UNROLL 2 // direct: number of steps of 64 bytes along K whose loads are in flight together
#endif
#ifndef WHOLE_A
#define WHOLE_A 0 // direct: 1 if the length of a row of A is a multiple of 16 bytes
#endif
#ifndef WHOLE_B
// direct: 1 if B is stored by columns whose length is a multiple of 16 bytes, or by rows whose length is a multiple of
// ACROSS elements
#define WHOLE_B 0
#endif
#ifndef RAW
#define RAW 0 // direct: 1: each warp has a ring of copied rows, which keep the alignment that they have in memory
#endif
#ifndef CONSUMERS
#define CONSUMERS 2 // wgmma_*: number of warp groups that multiply. Each computes some rows of the tile
#endif
#ifndef SPLIT
#define SPLIT 2 // number of blocks of a cluster that share the steps of a tile: 1 or 2 for split_k, up to 16 for direct
#endif
#ifndef PARTS
#define PARTS 1 // split_k: number of clusters that share the steps of a tile
#endif
#ifndef INTERLEAVE
// split_k: 1: the blocks of a tile take its steps by turns. 0: each block takes consecutive steps
#define INTERLEAVE 0
#endif

// ---- Tiles in shared memory that threads fill ----

// The layout in shared memory of a tile of `rows` rows of `bytes` bytes. With padding, each row is followed by `pad`
// unused bytes. Without padding, the pieces of 16 bytes are permuted within their rows. In both layouts, the pieces
// with the same number in 8 consecutive rows lie in different banks. Padding costs memory, and the permutation costs an
// instruction.
template <unsigned rows_, unsigned bytes, unsigned pad> struct tile {
    enum : unsigned {
        rows = rows_,
        pieces = bytes / 16,
        size = rows * (bytes + pad),
        beside = pieces < 8 ? 8 / pieces : 1, // number of rows in 128 bytes, which cover all banks
        places = pieces < 8 ? pieces : 8
    };
    static __device__ __forceinline__ unsigned place(unsigned row, unsigned piece)
    {
        return row * (bytes + pad) + 16 * (pad ? piece : piece ^ row / beside % places);
    }
};

// A matrix stored by rows.
struct matrix {
    const element *at;
    unsigned rows, columns;
};

// A piece of `bytes` bytes (4, 8 or 16), as words of 4 bytes.
template <unsigned bytes> struct piece {
    unsigned words[bytes / 4];
};

// Returns the piece that begins `behind` bytes after the start of two consecutive pieces.
template <unsigned bytes>
__device__ __forceinline__ piece<bytes> read_behind(const piece<bytes> (&two)[2], unsigned behind)
{
    enum : unsigned { count = bytes / 4 };
    unsigned words[2 * count];
#pragma unroll
    for (unsigned i = 0; i < 2 * count; ++i)
        words[i] = two[i / count].words[i % count];
#pragma unroll
    // in words; the remaining bits of `behind` are below
    for (unsigned distance = count / 2; distance > 0; distance /= 2)
#pragma unroll
        for (unsigned i = 0; i + distance < 2 * count; ++i)
            words[i] = behind & 4 * distance ? words[i + distance] : words[i];
    piece<bytes> made;
#pragma unroll
    for (unsigned i = 0; i < count; ++i)
        made.words[i] = __funnelshift_r(words[i], words[i + 1], 8 * (behind & 3));
    return made;
}

template <unsigned bytes> __device__ __forceinline__ piece<bytes> load_piece(const void *from)
{
    typedef choose<bytes / 8, unsigned, uint2, uint4> word;
    union {
        word at_once;
        piece<bytes> made;
    } both = {*(const word *)from};
    return both.made;
}

// Reads the piece that begins at element `at`, which may have any alignment. If the piece spans two aligned pieces, the
// function reads both completely. Therefore the second piece must be inside the matrix, and the matrix must begin at a
// multiple of the piece's size. The parameter `whole` tells that all pieces are aligned. The function has no branch, so
// that several loads can be in flight together.
template <unsigned bytes, bool whole> __device__ __forceinline__ piece<bytes> read_anywhere(const element *at)
{
    if (whole)
        return load_piece<bytes>(at);
    const unsigned behind = (unsigned)(offset)at % bytes;
    const char *first = (const char *)at - behind;
    const piece<bytes> two[2] = {load_piece<bytes>(first), load_piece<bytes>(first + bytes)};
    return read_behind(two, behind);
}

// Returns the first `count` elements of a piece. The other elements become zeros.
template <unsigned bytes> __device__ __forceinline__ piece<bytes> keep_first(piece<bytes> made, unsigned count)
{
    const int bits = 8 * SIZE * (int)min(count, bytes / SIZE);
#pragma unroll
    for (int w = 0; w < (int)bytes / 4; ++w) {
        const int left = bits - 32 * w; // bits of this word that are kept
        made.words[w] &= left >= 32 ? 0xffffffffu : left <= 0 ? 0 : (1u << left) - 1;
    }
    return made;
}

// Reads the piece that begins at (row, column). Elements outside the matrix are zeros. The function reads a piece at
// the end of a row like any other piece, together with elements of the next row. It reads only the last elements of the
// matrix one by one.
template <unsigned bytes>
__device__ __forceinline__ piece<bytes> read_piece(const matrix &from, unsigned row, unsigned column)
{
    enum : unsigned { count = bytes / SIZE };
    if (row >= from.rows || column >= from.columns)
        return {};
    const offset begin = (offset)row * from.columns + column;
    const element *at = from.at + begin;
    if (column + count <= from.columns && is_aligned<bytes>(at))
        return load_piece<bytes>(at);
    if (is_aligned<bytes>(from.at) && begin + 2 * count <= (offset)from.rows * from.columns)
        return keep_first(read_anywhere<bytes, false>(at), from.columns - column);
    union {
        piece<bytes> made;
        element items[count];
    } both = {};
#pragma unroll
    for (unsigned i = 0; i < count; ++i)
        if (column + i < from.columns)
            both.items[i] = at[i];
    return both.made;
}

// All threads of the block begin to copy the tile at (row, column), `bytes` bytes at a time. The length of a row is a
// multiple of `bytes`, and rows are aligned to `bytes`.
template <class Tile, unsigned bytes, unsigned threads>
__device__ __forceinline__ void copy_tile_async(unsigned char *to, const matrix &from, unsigned row, unsigned column)
{
    // number of elements per copy, and number of copies per piece of the tile
    enum : unsigned { count = bytes / SIZE, parts = 16 / bytes };
#pragma unroll
    for (unsigned i = threadIdx.x; i < Tile::rows * Tile::pieces * parts; i += threads) {
        const unsigned r = i / parts / Tile::pieces, c = i / parts % Tile::pieces, part = i % parts;
        const unsigned from_row = row + r, from_column = column + c * PIECE + part * count;
        const bool inside = from_row < from.rows && from_column < from.columns;
        copy_async<bytes>(to + Tile::place(r, c) + part * bytes,
                          from.at + (inside ? (offset)from_row * from.columns + from_column : 0), inside);
    }
}

// All threads of the block copy the tile that begins at (row, column). With `async`, the copies continue after the call
// if the length of a row is a multiple of 4, 8 or 16 bytes, which are the sizes that the hardware copies.
template <class Tile, bool async, unsigned threads>
__device__ __forceinline__ void fill_tile(unsigned char *to, const matrix &from, unsigned row, unsigned column)
{
    const unsigned bytes = from.columns * SIZE; // its lowest bits tell the alignment
    if (async && bytes % 16 == 0 && is_aligned<16>(from.at))
        copy_tile_async<Tile, 16, threads>(to, from, row, column);
    else if (async && bytes % 8 == 0 && is_aligned<8>(from.at))
        copy_tile_async<Tile, 8, threads>(to, from, row, column);
    else if (async && bytes % 4 == 0 && is_aligned<4>(from.at))
        copy_tile_async<Tile, 4, threads>(to, from, row, column);
    else if (bytes % 16 == 0 && is_aligned<16>(from.at))
#pragma unroll
        for (unsigned i = threadIdx.x; i < Tile::rows * Tile::pieces; i += threads) {
            const unsigned r = row + i / Tile::pieces, c = column + i % Tile::pieces * PIECE;
            const bool inside = r < from.rows && c < from.columns;
            const uint4 made = *(const uint4 *)(from.at + (inside ? (offset)r * from.columns + c : 0));
            *(uint4 *)(to + Tile::place(i / Tile::pieces, i % Tile::pieces)) = inside ? made : uint4{};
        }
    else if ((offset)from.rows * from.columns >= 2 * PIECE && is_aligned<16>(from.at)) {
        // the last element from which two pieces can be read
        const offset last = (offset)from.rows * from.columns - 2 * PIECE;
#pragma unroll 4
        for (unsigned i = threadIdx.x; i < Tile::rows * Tile::pieces; i += threads) {
            const unsigned r = row + i / Tile::pieces, c = column + i % Tile::pieces * PIECE;
            const bool inside = r < from.rows && c < from.columns;
            const offset begin = inside ? (offset)r * from.columns + c : 0;
            const piece<16> made = read_anywhere<16, false>(from.at + (begin < last ? begin : last));
            *(piece<16> *)(to + Tile::place(i / Tile::pieces, i % Tile::pieces)) =
                keep_first(made, inside ? from.columns - c : 0);
        }
        if ((offset)(row + Tile::rows) * from.columns <= last)
            return;
        // The tile contains the end of the matrix. The threads read its last pieces again, element by element. So the
        // loop above needs no branch, and its loads are in flight together.
#pragma unroll 1
        for (unsigned i = threadIdx.x; i < Tile::rows * Tile::pieces; i += threads) {
            const unsigned r = row + i / Tile::pieces, c = column + i % Tile::pieces * PIECE;
            if (r < from.rows && c < from.columns && (offset)r * from.columns + c > last)
                *(piece<16> *)(to + Tile::place(i / Tile::pieces, i % Tile::pieces)) = read_piece<16>(from, r, c);
        }
    } else
#pragma unroll 1
        for (unsigned i = threadIdx.x; i < Tile::rows * Tile::pieces; i += threads)
            *(piece<16> *)(to + Tile::place(i / Tile::pieces, i % Tile::pieces)) =
                read_piece<16>(from, row + i / Tile::pieces, column + i % Tile::pieces * PIECE);
}

#if defined(GEMM_WMMA) || !defined(GEMM_ONE)
#include <mma.h>

// This kernel uses the tensor core through CUDA C++ (wmma). A warp multiplies fragments of 16 x 16, whose layout in
// registers is not specified. It loads the fragments from tiles in shared memory, in which 16 unused bytes follow each
// row. Because the layout is hidden, a warp must store its accumulators to shared memory before it can round and write
// them.
//
// Each element that a warp reads from shared memory takes part in (TILE_N / WARPS_N) or (TILE_M / WARPS_M)
// multiply-adds.
extern "C" __global__ void __launch_bounds__(WARP *WARPS_M *WARPS_N)
    gemm_wmma(const element *__restrict__ A, const element *__restrict__ B, result *__restrict__ C, unsigned M,
              unsigned N, unsigned K, unsigned walk)
{
    // selects the matrices of this block's product in the batch
    A += (offset)blockIdx.y * M * K, B += (offset)blockIdx.y * N * K, C += (offset)blockIdx.y * M * N;
    using namespace nvcuda;
    constexpr unsigned threads = WARP * WARPS_M * WARPS_N, down = TILE_M / WARPS_M / 16, across = TILE_N / WARPS_N / 16;
    typedef choose<ELEMENT, __half, __nv_bfloat16> item;
    typedef choose<COLUMNS, wmma::row_major, wmma::col_major> layout;
    typedef tile<TILE_M, TILE_K * SIZE, 16> tile_a;
    typedef tile<COLUMNS ? TILE_N : TILE_K, (COLUMNS ? TILE_K : TILE_N) * SIZE, 16> tile_b;
    constexpr unsigned line = 20, square = 16 * line * sizeof(float), squares = WARPS_M * WARPS_N * square;
    __shared__ alignas(
        128) unsigned char room[tile_a::size + tile_b::size > squares ? tile_a::size + tile_b::size : squares];
    constexpr unsigned pitch_a = TILE_K + PIECE, pitch_b = (COLUMNS ? TILE_K : TILE_N) + PIECE;
    const item *a = (const item *)room, *b = (const item *)(room + tile_a::size);
    const matrix from_a = {A, M, K}, from_b = {B, COLUMNS ? N : K, COLUMNS ? K : N};
    const tile_place at = find_tile(blockIdx.x, ceil_div(M, TILE_M), ceil_div(N, TILE_N), walk);
    const unsigned row = at.row * TILE_M, column = at.column * TILE_N;
    const unsigned warp_row = warp_id() / WARPS_N * (TILE_M / WARPS_M),
                   warp_column = warp_id() % WARPS_N * (TILE_N / WARPS_N);

    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[down][across];
#pragma unroll
    for (unsigned i = 0; i < down; ++i)
#pragma unroll
        for (unsigned j = 0; j < across; ++j)
            wmma::fill_fragment(sums[i][j], 0.0f);
    for (unsigned k0 = 0; k0 < K; k0 += TILE_K) {
        fill_tile<tile_a, false, threads>(room, from_a, row, k0);
        fill_tile<tile_b, false, threads>(room + tile_a::size, from_b, COLUMNS ? column : k0, COLUMNS ? k0 : column);
        __syncthreads();
#pragma unroll
        for (unsigned k = 0; k < TILE_K; k += 16) {
            wmma::fragment<wmma::matrix_b, 16, 16, 16, item, layout> fragment_b[across];
#pragma unroll
            for (unsigned j = 0; j < across; ++j) {
                const unsigned n = warp_column + 16 * j;
                wmma::load_matrix_sync(fragment_b[j], b + (COLUMNS ? n * pitch_b + k : k * pitch_b + n), pitch_b);
            }
#pragma unroll
            for (unsigned i = 0; i < down; ++i) {
                wmma::fragment<wmma::matrix_a, 16, 16, 16, item, wmma::row_major> fragment_a;
                wmma::load_matrix_sync(fragment_a, a + (warp_row + 16 * i) * pitch_a + k, pitch_a);
#pragma unroll
                for (unsigned j = 0; j < across; ++j)
                    wmma::mma_sync(sums[i][j], fragment_a, fragment_b[j], sums[i][j]);
            }
        }
        __syncthreads();
    }
    float *mine = (float *)(room + warp_id() * square); // the tiles are no longer needed
#pragma unroll
    for (unsigned i = 0; i < down; ++i)
#pragma unroll
        for (unsigned j = 0; j < across; ++j) {
            wmma::store_matrix_sync(mine, sums[i][j], line, wmma::mem_row_major);
            __syncwarp();
            const unsigned r = row + warp_row + 16 * i + lane_id() / 2,
                           c = column + warp_column + 16 * j + lane_id() % 2 * 8;
#pragma unroll
            for (unsigned l = 0; l < 8; ++l)
                if (r < M && c + l < N)
                    store_one(C + (offset)r * N + c + l, mine[lane_id() / 2 * line + lane_id() % 2 * 8 + l]);
            __syncwarp();
        }
}
#endif

#if defined(GEMM_MMA_LDMATRIX) || defined(GEMM_MMA_ASYNC) || defined(GEMM_GROUPED_MMA) || !defined(GEMM_ONE)
// A warp's part of a tile of C, computed by mma.sync with `down` x `across` matrix instructions of 16 x 8.
struct warp_product {
    enum : unsigned { down = TILE_M / WARPS_M / 16, across = TILE_N / WARPS_N / 8, threads = WARP * WARPS_M * WARPS_N };
    typedef tile<TILE_M, TILE_K * SIZE, PAD> tile_a;
    typedef tile<COLUMNS ? TILE_N : TILE_K, (COLUMNS ? TILE_K : TILE_N) * SIZE, PAD> tile_b;
    enum : unsigned { stage = tile_a::size + tile_b::size };
    float sums[down][across][4];
    unsigned row, column; // first row and first column of this warp's part in the tile

    __device__ __forceinline__ warp_product()
        : row(warp_id() / WARPS_N * (TILE_M / WARPS_M)), column(warp_id() % WARPS_N * (TILE_N / WARPS_N))
    {
#pragma unroll
        for (unsigned i = 0; i < down; ++i)
#pragma unroll
            for (unsigned j = 0; j < across; ++j)
#pragma unroll
                for (unsigned l = 0; l < 4; ++l)
                    sums[i][j][l] = 0.0f;
    }

    // Adds the product of two tiles to the accumulators. One ldmatrix loads the 16 x 32 bytes of A for one matrix
    // instruction, or the elements of B for two. If B is stored by columns, B is read like A. If B is stored by rows,
    // ldmatrix transposes its squares of 8 x 8.
    __device__ __forceinline__ void add(unsigned a, unsigned b)
    {
        const unsigned lane = lane_id();
#pragma unroll
        for (unsigned k = 0; k < TILE_K / STEP; ++k) {
            unsigned of_a[down][4], of_b[across / 2][4];
#pragma unroll
            for (unsigned i = 0; i < down; ++i)
                load_fragments(of_a[i], a + tile_a::place(row + 16 * i + lane % 16, 2 * k + lane / 16));
#pragma unroll
            for (unsigned j = 0; j < across / 2; ++j)
                if (COLUMNS)
                    load_fragments(of_b[j],
                                   b + tile_b::place(column + 16 * j + lane / 16 * 8 + lane % 8, 2 * k + lane / 8 % 2));
                else
                    load_fragments_turned(of_b[j],
                                          b + tile_b::place(16 * k + lane % 16, (column + 16 * j) / PIECE + lane / 16));
#pragma unroll
            for (unsigned i = 0; i < down; ++i)
#pragma unroll
                for (unsigned j = 0; j < across; ++j)
                    multiply(element(), sums[i][j], of_a[i], of_b[j / 2][j % 2 * 2], of_b[j / 2][j % 2 * 2 + 1]);
        }
    }

    // Writes the accumulators to C, where the tile begins at (first_row, first_column). Four lanes together hold 8
    // neighbouring elements of a row.
    __device__ __forceinline__ void store(result *C, unsigned first_row, unsigned first_column, unsigned M,
                                          unsigned N) const
    {
        const bool pairs = N % 2 == 0 && is_aligned<2 * sizeof(result)>(C);
#pragma unroll
        for (unsigned i = 0; i < down; ++i)
#pragma unroll
            for (unsigned j = 0; j < across; ++j)
#pragma unroll
                for (unsigned half = 0; half < 2; ++half) {
                    const unsigned r = first_row + row + 16 * i + 8 * half + lane_id() / 4;
                    const unsigned c = first_column + column + 8 * j + lane_id() % 4 * 2;
                    store_inside(C, r, c, M, N, pairs, sums[i][j][2 * half], sums[i][j][2 * half + 1]);
                }
    }

    enum : unsigned {
        line = 16 / sizeof(result), // number of elements in 16 bytes of C
        pitch = TILE_N + line       // number of elements from one row of `room` to the next
    };
    // Writes the accumulators to C through shared memory: 16 WARPS_M rows at a time, in aligned pieces of 16 bytes.
    // Rows of C may begin at any address. In `room`, a row begins as many elements after a multiple of 16 bytes as it
    // does in C. Therefore a piece that is aligned in C is also aligned in `room`. At each end of a row, at most 16
    // bytes are written element by element. The buffer `room` has 16 WARPS_M rows of `pitch` elements, and may be the
    // memory of the tiles.
    __device__ __forceinline__ void store_staged(unsigned char *room, result *C, unsigned first_row,
                                                 unsigned first_column, unsigned M, unsigned N) const
    {
        constexpr unsigned rows = 16 * WARPS_M, pieces = pitch / line;
        result *const staged = (result *)room;
        const bool pairs = N % 2 == 0 && is_aligned<2 * sizeof(result)>(C);
        const unsigned width = min((unsigned)TILE_N, N - first_column);
        auto row_of = [&](unsigned r, unsigned i) { // the row of C that is row r of `room`
            return first_row + r / 16 * (TILE_M / WARPS_M) + 16 * i + r % 16;
        };
        auto first_of = [&](unsigned r) { // the element of a row of `room` that belongs to the tile's first column
            return (unsigned)(((offset)C / sizeof(result) + (offset)r * N + first_column) % line);
        };
#pragma unroll
        for (unsigned i = 0; i < down; ++i) {
            __syncthreads(); // all threads have read the tiles, or the previous rows
#pragma unroll
            for (unsigned half = 0; half < 2; ++half) {
                const unsigned r = row / (TILE_M / WARPS_M) * 16 + 8 * half + lane_id() / 4;
                result *to = staged + r * pitch + first_of(row_of(r, i)) + column + lane_id() % 4 * 2;
#pragma unroll
                for (unsigned j = 0; j < across; ++j) {
                    const float first = sums[i][j][2 * half], second = sums[i][j][2 * half + 1];
                    if (pairs)
                        store_pair(to + 8 * j, first, second);
                    else
                        store_one(to + 8 * j, first), store_one(to + 8 * j + 1, second);
                }
            }
            __syncthreads();
#pragma unroll 2
            for (unsigned n = threadIdx.x; n < rows * pieces; n += threads) {
                const unsigned r = row_of(n / pieces, i), begin = n % pieces * line, first = first_of(r);
                if (r < M && begin >= first && begin + line <= first + width)
                    *(uint4 *)(C + (offset)r * N + first_column + begin - first) =
                        *(const uint4 *)(staged + n / pieces * pitch + begin);
            }
#pragma unroll 2
            for (unsigned n = threadIdx.x; n < rows * 2 * line; n += threads) {
                const unsigned r = row_of(n / (2 * line), i), first = first_of(r), end = first + width;
                // the end of the elements before the first aligned piece
                const unsigned left = min(ceil_div(first, (unsigned)line) * line, end);
                const bool last = n / line % 2;
                const unsigned e = n % line + (last ? max(end / line * line, left) : first);
                if (r < M && e < (last ? end : left))
                    C[(offset)r * N + first_column + e - first] = staged[n / (2 * line) * pitch + e];
            }
        }
    }

#if FUSED
    __device__ __forceinline__ void finish(const epilogue &after, unsigned first_row, unsigned first_column)
    {
        if (after.M == 0 || after.N == 0)
            return;
        if (after.pairs)
            finish<true>(after, first_row, first_column);
        else
            finish<false>(after, first_row, first_column);
    }

    template <bool paired>
    __device__ __forceinline__ void finish(const epilogue &after, unsigned first_row, unsigned first_column)
    {
#pragma unroll
        for (unsigned j = 0; j < across; ++j) {
            const unsigned c = first_column + column + 8 * j + lane_id() % 4 * 2;
            const float2 bias = after.bias_of<paired>(c);
#pragma unroll
            for (unsigned i = 0; i < down; ++i)
#pragma unroll
                for (unsigned half = 0; half < 2; ++half)
                    epilogue::apply(sums[i][j][2 * half], sums[i][j][2 * half + 1], bias,
                                    after.residual_of<paired>(
                                        after.row_of_residual(first_row + row + 16 * i + 8 * half + lane_id() / 4), c));
        }
    }
#endif
};
#endif

#if defined(GEMM_MMA_LDMATRIX) || !defined(GEMM_ONE)
// This kernel loads fragments by ldmatrix and multiplies by mma.sync, whose layout is specified. Compared with wmma, a
// lane rounds and writes its own accumulators. The rows of a tile need no padding, because the kernel can permute the
// pieces. The performance counters show that it reads shared memory without bank conflicts. A step still waits until
// its tiles have arrived.
extern "C" __global__ void __launch_bounds__(WARP *WARPS_M *WARPS_N)
    gemm_mma_ldmatrix(const element *__restrict__ A, const element *__restrict__ B, result *__restrict__ C, unsigned M,
                      unsigned N, unsigned K, unsigned walk)
{
    // selects the matrices of this block's product in the batch
    A += (offset)blockIdx.y * M * K, B += (offset)blockIdx.y * N * K, C += (offset)blockIdx.y * M * N;
    typedef warp_product product;
    extern __shared__ __align__(128) unsigned char room[];
    const matrix from_a = {A, M, K}, from_b = {B, COLUMNS ? N : K, COLUMNS ? K : N};
    const tile_place at = find_tile(blockIdx.x, ceil_div(M, TILE_M), ceil_div(N, TILE_N), walk);
    const unsigned row = at.row * TILE_M, column = at.column * TILE_N;
    unsigned char *b = room + product::tile_a::size;
    product sums;
    for (unsigned k = 0; k < K; k += TILE_K) {
        fill_tile<product::tile_a, false, product::threads>(room, from_a, row, k);
        fill_tile<product::tile_b, false, product::threads>(b, from_b, COLUMNS ? column : k, COLUMNS ? k : column);
        __syncthreads();
        sums.add(shared_address(room), shared_address(b));
        __syncthreads();
    }
    if (STAGED)
        sums.store_staged(room, C, row, column, M, N);
    else
        sums.store(C, row, column, M, N);
}
#endif

#if defined(GEMM_MMA_ASYNC) || defined(GEMM_GROUPED_MMA) || !defined(GEMM_ONE)
// Adds the terms of a block's tile at (row, column) to the accumulators, through a ring of STAGES tiles that cp.async
// fills.
__device__ __forceinline__ void multiply_async(warp_product &sums, unsigned char *room, const matrix &from_a,
                                               const matrix &from_b, unsigned row, unsigned column, unsigned K)
{
    typedef warp_product product;
    const unsigned steps = ceil_div(K, TILE_K);
    // If there is nothing to copy, it commits an empty group, so that the number of groups equals the number of steps
    auto begin = [&](unsigned step) {
        if (step < steps) {
            unsigned char *to = room + step % STAGES * product::stage;
            const unsigned k = step * TILE_K;
            fill_tile<product::tile_a, true, product::threads>(to, from_a, row, k);
            fill_tile<product::tile_b, true, product::threads>(to + product::tile_a::size, from_b, COLUMNS ? column : k,
                                                               COLUMNS ? k : column);
        }
        copy_async_commit();
    };
#pragma unroll 1
    for (unsigned step = 0; step < STAGES - 1; ++step)
        begin(step);
    for (unsigned step = 0; step < steps; ++step) {
        copy_async_wait<STAGES - 2>();
        __syncthreads(); // the tiles of this step have arrived, and all threads have read the tiles of the step before
        begin(step + STAGES - 1);
        const unsigned a = shared_address(room + step % STAGES * product::stage);
        sums.add(a, a + product::tile_a::size);
    }
}
#endif

#if defined(GEMM_MMA_ASYNC) || !defined(GEMM_ONE)
// This kernel has a ring of STAGES tiles, filled by cp.async. While it multiplies the tiles of one step, the copies of
// the next STAGES - 1 steps are in flight. Compared with mma_ldmatrix, copies from global to shared memory need no
// registers, a step needs one barrier, and the ring hides the latency of memory. But the ring takes shared memory, so
// fewer blocks run on a multiprocessor (SM).
extern "C" __global__ void __launch_bounds__(WARP *WARPS_M *WARPS_N)
    gemm_mma_async(const element *__restrict__ A, const element *__restrict__ B, result *__restrict__ C, unsigned M,
                   unsigned N, unsigned K, unsigned walk EPILOGUE_PARAMS)
{
    // selects the matrices of this block's product in the batch
    A += (offset)blockIdx.y * M * K, B += (offset)blockIdx.y * N * K, C += (offset)blockIdx.y * M * N;
    typedef warp_product product;
    extern __shared__ __align__(128) unsigned char room[];
    const matrix from_a = {A, M, K}, from_b = {B, COLUMNS ? N : K, COLUMNS ? K : N};
    const tile_place at = find_tile(blockIdx.x, ceil_div(M, TILE_M), ceil_div(N, TILE_N), walk);
    const unsigned row = at.row * TILE_M, column = at.column * TILE_N;
    product sums;
    multiply_async(sums, room, from_a, from_b, row, column, K);
#if FUSED
    sums.finish(epilogue(bias, residual, M, N), row, column);
#endif
    if (STAGED)
        sums.store_staged(room, C, row, column, M, N);
    else
        sums.store(C, row, column, M, N);
}
#endif

#if defined(GEMM_DIRECT) || !defined(GEMM_ONE)
enum : unsigned { LINE = ACROSS == 1 ? 4 : 2 * ACROSS }; // number of bytes of ACROSS 16-bit elements in a row of B

// Transposes 8 rows of ACROSS 16-bit elements, so that to[j] holds the 8 elements of column j along K.
__device__ __forceinline__ void turn(piece<16> (&to)[ACROSS], const piece<LINE> (&lines)[8])
{
#pragma unroll
    for (unsigned j = 0; j < ACROSS; ++j)
#pragma unroll
        for (unsigned i = 0; i < 4; ++i)
            to[j].words[i] = __byte_perm(lines[2 * i].words[j / 2], lines[2 * i + 1].words[j / 2], j % 2 ? 0x7632 : 0x5410);
}

// Reads ACROSS 16-bit elements that begin at (row, column). Elements outside the matrix are zeros.
__device__ __forceinline__ piece<LINE> read_line(const matrix &from, unsigned row, unsigned column)
{
    piece<LINE> line = {};
    const unsigned short *at = (const unsigned short *)from.at + (offset)row * from.columns + column;
#pragma unroll
    for (unsigned j = 0; j < ACROSS; ++j)
        if (row < from.rows && column + j < from.columns)
            line.words[j / 2] |= (unsigned)at[j] << j % 2 * 16;
    return line;
}

#if RAW
// A warp's ring of parts of rows, which keep the alignment that they have in memory.
struct raw_ring {
    enum : unsigned {
        depth = 32,                           // number of elements along K in a step
        rows_a = 16 * DOWN,
        rows_b = COLUMNS ? 8 * ACROSS : depth,
        line_b = COLUMNS ? depth : 8 * ACROSS, // number of elements in a part of a row of B
        // a number of bytes; both pitches are 16 mod 64, so that lanes read different banks
        pitch_a = 2 * depth + 16,
        pitch_b = 2 * line_b + 16,
        bytes_a = rows_a * pitch_a,
        bytes = bytes_a + rows_b * pitch_b
    };

    // Begins to copy `rows` parts of `count` elements each, from (row, column) on. Rows outside the matrix become
    // zeros. The parameter `end` is the address after the last element that may be read.
    template <unsigned rows, unsigned count>
    static __device__ __forceinline__ void copy(unsigned char *to, const matrix &from, unsigned row, unsigned column,
                                                const element *end)
    {
        constexpr unsigned pieces = count / 8 + 1, pitch = 2 * count + 16;
#pragma unroll
        for (unsigned i = 0; i < ceil_div(rows * pieces, (unsigned)WARP); ++i) {
            const unsigned n = i * WARP + lane_id(), r = n / pieces, p = n % pieces;
            if (rows * pieces % WARP != 0 && n >= rows * pieces)
                break;
            const bool inside = row + r < from.rows && column < from.columns;
            const offset at = (offset)(from.at + (inside ? (offset)(row + r) * from.columns + column : 0));
            const offset begin = at - at % 16 + 16 * p, left = (offset)end - begin;
            // the last piece is needed only if the part of the row does not begin at a whole piece
            const bool needed = inside && begin < (offset)end && (p + 1 < pieces || at % 16 != 0);
            copy_async_first(to + r * pitch + 16 * p, (const void *)(needed ? begin : at - at % 16),
                             !needed ? 0 : left < 16 ? (unsigned)left : 16);
        }
    }

    // Begins a copy of 16 bytes, but reads only the first `bytes` bytes. The others become zeros.
    static __device__ __forceinline__ void copy_async_first(void *to, const void *from, unsigned bytes)
    {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
                     "l"(__cvta_generic_to_global(from)), "r"(bytes)
                     : "memory");
    }

    static __device__ __forceinline__ unsigned pair(const unsigned char *first, const unsigned char *second)
    {
        return (unsigned)*(const unsigned short *)first | (unsigned)*(const unsigned short *)second << 16;
    }

    // Keeps those elements of a word, which are number k and number k + 1, that are below K.
    static __device__ __forceinline__ unsigned keep(unsigned word, unsigned k, unsigned K)
    {
        return k + 1 < K ? word : k < K ? word & 0xffff : 0;
    }
};
#endif

// This kernel does not bring A and B into shared memory: each lane reads pieces of 16 bytes directly into the registers
// of its fragments. The order of the terms of a result does not matter, so a lane may take any elements along K, if it
// takes the same elements of A and of B. Lane 4 g + t takes piece number t of the next 64 bytes of row g, which holds
// terms of two matrix instructions. If B is stored by rows, a lane takes ACROSS neighbouring elements from each of 8
// rows and transposes them. Matrix instruction j then computes every ACROSS-th column.
//
// With RAW, a lane does not read into registers. Each warp has a ring in shared memory for STAGES steps of 32 k. The
// instruction cp.async fills it with the aligned pieces of 16 bytes that contain a part of a row. Therefore each
// element is read once even if a row begins at any address, and many bytes are in flight without registers. In the
// ring, a row begins as many bytes after a multiple of 16 as it does in memory. Lanes read the ring element by element.
// Elements have 16 bits, and A and B begin at multiples of 16 bytes.
//
// No warp waits for another warp, so small matrix products end soon. But every warp reads its tiles from the caches
// itself, which slows down large matrix products. SPLIT blocks of a cluster, with WARPS_K warps each, share the steps
// of a tile. Their accumulators are added in a fixed order, and the results are written in complete lines. For both
// purposes, all accumulators go through shared memory.
extern "C" __global__ void __launch_bounds__(WARP *WARPS_M *WARPS_N *WARPS_K)
    gemm_direct(const element *__restrict__ A, const element *__restrict__ B, result *__restrict__ C, unsigned M,
                unsigned N, unsigned K)
{
    // selects the matrices of this block's product in the batch
    A += (offset)blockIdx.y * M * K, B += (offset)blockIdx.y * N * K, C += (offset)blockIdx.y * M * N;
    constexpr unsigned tile_warps = WARPS_M * WARPS_N, threads = WARP * tile_warps * WARPS_K;
    // the size of a tile
    constexpr unsigned rows = WARPS_M * DOWN * 16, columns = WARPS_N * ACROSS * 8, pitch = columns + 8;
    constexpr unsigned parts = SPLIT * WARPS_K;
    // the accumulators of this block: [part][row][column], with rows `pitch` apart
    extern __shared__ __align__(16) float own[];
    // both matrices with their sizes, for pieces at their edges
    const matrix from_a = {A, M, K}, from_b = {B, COLUMNS ? N : K, COLUMNS ? K : N};
    const unsigned warp = warp_id() % tile_warps, part = warp_id() / tile_warps, rank = blockIdx.x % SPLIT;
    const unsigned group = lane_id() / 4, lane_piece = lane_id() % 4;
    const tile_place at = find_tile(blockIdx.x / SPLIT, ceil_div(M, rows), ceil_div(N, columns), 8);
    const unsigned warp_row = warp / WARPS_N * DOWN * 16, warp_column = warp % WARPS_N * ACROSS * 8;
    const unsigned row = at.row * rows + warp_row, column = at.column * columns + warp_column;

    float sums[DOWN][ACROSS][4] = {};
#if RAW
    typedef raw_ring raw;
    unsigned char *const rings = (unsigned char *)own + warp_id() * STAGES * raw::bytes;
    const element *const end_a = A + (offset)(gridDim.y - blockIdx.y) * M * K;
    const element *const end_b = B + (offset)(gridDim.y - blockIdx.y) * N * K;
    const unsigned share = rank * WARPS_K + part;
    auto begin = [&](unsigned i) {
        const offset k0 = (offset)(share + i * parts) * raw::depth;
        if (k0 < K) {
            unsigned char *to = rings + i % STAGES * raw::bytes;
            raw::copy<raw::rows_a, raw::depth>(to, from_a, row, (unsigned)k0, end_a);
            raw::copy<raw::rows_b, raw::line_b>(to + raw::bytes_a, from_b, COLUMNS ? column : (unsigned)k0,
                                                COLUMNS ? (unsigned)k0 : column, end_b);
        }
        copy_async_commit();
    };
    // The number of bytes from a multiple of 16 bytes to the beginning of this lane's rows. It is the same for the row
    // that is 8 rows further on. If B is stored by rows, the lane reads its rows 2 t and 2 t + 1, whose beginnings have
    // different alignments.
    const unsigned behind_a = (unsigned)((offset)(A + (offset)(row + group) * K) % 16);
    const unsigned behind_b = (unsigned)((offset)(B + (COLUMNS ? (offset)(column + group) * K
                                                               : (offset)(2 * lane_piece) * N + column)) % 16);
    const unsigned behind_b1 = (unsigned)((offset)(B + (offset)(2 * lane_piece + 1) * N + column) % 16);
#pragma unroll 1
    for (unsigned i = 0; i < STAGES - 1; ++i)
        begin(i);
#pragma unroll 1
    for (unsigned i = 0; (offset)(share + i * parts) * raw::depth < K; ++i) {
        copy_async_wait<STAGES - 2>();
        __syncwarp(); // the step has arrived, and all lanes have read the previous step
        begin(i + STAGES - 1);
        const unsigned k0 = (share + i * parts) * raw::depth;
        const unsigned char *const ring_a = rings + i % STAGES * raw::bytes + group * raw::pitch_a + behind_a;
        const unsigned char *const ring_b = rings + i % STAGES * raw::bytes + raw::bytes_a;
        const bool whole = k0 + raw::depth <= K;
#pragma unroll
        for (unsigned k = 0; k < raw::depth; k += 16) {
            unsigned of_a[DOWN][4];
#pragma unroll
            for (unsigned d = 0; d < DOWN; ++d)
#pragma unroll
                for (unsigned w = 0; w < 4; ++w) {
                    const unsigned at_k = k + w / 2 * 8 + 2 * lane_piece;
                    const unsigned char *at = ring_a + (16 * d + w % 2 * 8) * raw::pitch_a + 2 * at_k;
                    of_a[d][w] = raw::pair(at, at + 2);
                    if (!whole)
                        of_a[d][w] = raw::keep(of_a[d][w], k0 + at_k, K);
                }
#pragma unroll
            for (unsigned j = 0; j < ACROSS; ++j) {
                unsigned of_b[2];
#pragma unroll
                for (unsigned w = 0; w < 2; ++w) {
                    const unsigned at_k = k + w * 8 + 2 * lane_piece;
                    if (COLUMNS) {
                        const unsigned char *at = ring_b + (8 * j + group) * raw::pitch_b + behind_b + 2 * at_k;
                        of_b[w] = raw::pair(at, at + 2);
                        if (!whole)
                            of_b[w] = raw::keep(of_b[w], k0 + at_k, K);
                    } else {
                        const unsigned char *at = ring_b + at_k * raw::pitch_b + 2 * (8 * j + group);
                        of_b[w] = raw::pair(at + behind_b, at + raw::pitch_b + behind_b1);
                    }
                }
#pragma unroll
                for (unsigned d = 0; d < DOWN; ++d)
                    multiply(element(), sums[d][j], of_a[d], of_b[0], of_b[1]);
            }
        }
    }
    copy_async_wait<0>();
    __syncthreads(); // the accumulators take the place of the rings
#else
    constexpr unsigned step = 4 * PIECE;
    const bool aligned = is_aligned<16>(A, B);
    for (unsigned k0 = (rank * WARPS_K + part) * UNROLL * step; k0 < K; k0 += parts * UNROLL * step) {
        piece<16> a[UNROLL][DOWN][2], b[UNROLL][ACROSS];
        const unsigned k1 = k0 + UNROLL * step; // the end of these UNROLL steps
        // The variable `inside` tells whether all reads are inside the matrices, including the bytes that
        // read_anywhere() reads after a piece. Rows after the last row of A repeat the last row, and columns after the
        // last column of B repeat the last column. Their results are not written.
        const bool inside = aligned && k1 + (WHOLE_A ? 0 : PIECE) <= K &&
                            (WHOLE_B || (COLUMNS ? k1 + PIECE <= K : k1 < K && (offset)(K - k1) * N >= 2 * ACROSS));
        // The variable `before_end` tells that only K may end within these steps. The bytes after a piece belong to the
        // matrix, because the warp's rows are not the last rows.
        const bool before_end = aligned && row + 16 * DOWN <= M && (offset)(M - row - 16 * DOWN) * K >= 2 * PIECE &&
                                (COLUMNS ? column + 8 * ACROSS <= N && (offset)(N - column - 8 * ACROSS) * K >= 2 * PIECE
                                         : column + 9 * ACROSS <= N);
        if (inside) {
#pragma unroll
            for (unsigned u = 0; u < UNROLL; ++u) {
                const unsigned k = k0 + u * step + lane_piece * PIECE;
#pragma unroll
                for (unsigned i = 0; i < DOWN; ++i)
#pragma unroll
                    for (unsigned half = 0; half < 2; ++half)
                        a[u][i][half] =
                            read_anywhere<16, WHOLE_A>(A + (offset)min(row + 16 * i + 8 * half + group, M - 1) * K + k);
                if (COLUMNS) {
#pragma unroll
                    for (unsigned j = 0; j < ACROSS; ++j)
                        b[u][j] = read_anywhere<16, WHOLE_B>(B + (offset)min(column + 8 * j + group, N - 1) * K + k);
                } else {
                    piece<LINE> lines[8];
                    const unsigned last = WHOLE_B ? N - ACROSS : N - 1, c = min(column + ACROSS * group, last);
#pragma unroll
                    for (unsigned r = 0; r < 8; ++r)
                        if (ACROSS > 1)
                            lines[r] = read_anywhere<LINE, WHOLE_B>(B + (offset)(k + r) * N + c);
                        else
                            lines[r].words[0] = *(const unsigned short *)(B + (offset)(k + r) * N + c);
                    turn(b[u], lines);
                }
            }
        } else if (before_end) {
#pragma unroll
            for (unsigned u = 0; u < UNROLL; ++u) {
                const unsigned k = k0 + u * step + lane_piece * PIECE, left = k < K ? K - k : 0, from_k = k < K ? k : 0;
#pragma unroll
                for (unsigned i = 0; i < DOWN; ++i)
#pragma unroll
                    for (unsigned half = 0; half < 2; ++half)
                        a[u][i][half] = keep_first(
                            read_anywhere<16, WHOLE_A>(A + (offset)(row + 16 * i + 8 * half + group) * K + from_k), left);
                if (COLUMNS) {
#pragma unroll
                    for (unsigned j = 0; j < ACROSS; ++j)
                        b[u][j] = keep_first(
                            read_anywhere<16, WHOLE_B>(B + (offset)(column + 8 * j + group) * K + from_k), left);
                } else {
                    piece<LINE> lines[8];
#pragma unroll
                    for (unsigned r = 0; r < 8; ++r) {
                        const element *at = B + (offset)(k + r < K ? k + r : 0) * N + column + ACROSS * group;
                        if (ACROSS > 1)
                            lines[r] = keep_first(read_anywhere<LINE, WHOLE_B>(at), r < left ? ACROSS : 0);
                        else
                            lines[r].words[0] = r < left ? *(const unsigned short *)at : 0;
                    }
                    turn(b[u], lines);
                }
            }
        } else {
#pragma unroll
            for (unsigned u = 0; u < UNROLL; ++u) {
                const unsigned k = k0 + u * step + lane_piece * PIECE;
#pragma unroll
                for (unsigned i = 0; i < DOWN; ++i)
#pragma unroll
                    for (unsigned half = 0; half < 2; ++half)
                        a[u][i][half] = read_piece<16>(from_a, row + 16 * i + 8 * half + group, k);
                if (COLUMNS) {
#pragma unroll
                    for (unsigned j = 0; j < ACROSS; ++j)
                        b[u][j] = read_piece<16>(from_b, column + 8 * j + group, k);
                } else {
                    piece<LINE> lines[8];
#pragma unroll
                    for (unsigned r = 0; r < 8; ++r)
                        lines[r] = read_line(from_b, k + r, column + ACROSS * group);
                    turn(b[u], lines);
                }
            }
        }
#pragma unroll
        for (unsigned u = 0; u < UNROLL; ++u)
#pragma unroll
            for (unsigned i = 0; i < DOWN; ++i)
#pragma unroll
                for (unsigned j = 0; j < ACROSS; ++j)
#pragma unroll
                    for (unsigned w = 0; w < 4; w += 2) { // a matrix instruction uses words w and w + 1 of all pieces
                        const piece<16> &upper = a[u][i][0], &lower = a[u][i][1];
                        const unsigned of_a[4] = {upper.words[w], lower.words[w], upper.words[w + 1], lower.words[w + 1]};
                        multiply(element(), sums[i][j], of_a, b[u][j].words[w], b[u][j].words[w + 1]);
                    }
    }
#endif

#pragma unroll
    for (unsigned i = 0; i < DOWN; ++i)
#pragma unroll
        for (unsigned l = 0; l < 4; ++l)
#pragma unroll
            for (unsigned j = 0; j < ACROSS; ++j) {
                const unsigned r = warp_row + 16 * i + l / 2 * 8 + group, of_lane = lane_piece * 2 + l % 2;
                own[(part * rows + r) * pitch + warp_column + (COLUMNS || RAW ? 8 * j + of_lane : ACROSS * of_lane + j)] =
                    sums[i][j][l];
            }
    // adds the accumulators of this block's warps, so that the other blocks read one number from this block instead of
    // WARPS_K
    if (SPLIT > 1 && WARPS_K > 1) {
        __syncthreads();
        for (unsigned item = threadIdx.x; item < rows * columns / 4; item += threads) {
            const unsigned r = 4 * item / columns, c = 4 * item % columns;
            if (at.row * rows + r >= M || at.column * columns + c >= N)
                continue;
            float4 *const to = (float4 *)(own + r * pitch + c);
            float4 sum = *to;
#pragma unroll
            for (unsigned other = 1; other < WARPS_K; ++other) {
                const float4 more = to[other * rows * pitch / 4];
                sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
            }
            *to = sum;
        }
    }
    if (SPLIT > 1)
        cluster_sync();
    else
        __syncthreads();
    // A thread adds and writes four results of a row at a time. The blocks of a cluster share the tile.
    const bool quads = N % 4 == 0 && is_aligned<4 * sizeof(result)>(C);
    for (unsigned item = rank * threads + threadIdx.x; item < rows * columns / 4; item += SPLIT * threads) {
        // If a thread cannot write four results at once, neighbouring threads write neighbouring results. Item 32 q + l
        // then consists of the results 128 q + l, 128 q + l + 32, and so on.
        constexpr unsigned stretch = columns < 128 ? columns : 128, apart = stretch / 4;
        const unsigned begin = quads ? 4 * item : item / apart * stretch + item % apart, distance = quads ? 1 : apart;
        const unsigned r = begin / columns, c = begin % columns;
        const unsigned to_row = at.row * rows + r, to_column = at.column * columns + c;
        if (to_row >= M || to_column >= N)
            continue;
        float values[4] = {};
#pragma unroll
        for (unsigned other = 0; other < (SPLIT > 1 ? SPLIT : WARPS_K); ++other) {
            const float *from = own + ((SPLIT > 1 ? 0 : other * rows) + r) * pitch + c;
#pragma unroll
            for (unsigned l = 0; l < 4; ++l)
                values[l] += SPLIT > 1 ? cluster_read(from + l * distance, other) : from[l * distance];
        }
        result *to = C + (offset)to_row * N + to_column;
        if (quads) {
            store_pair(to, values[0], values[1]);
            store_pair(to + 2, values[2], values[3]);
        } else {
#pragma unroll
            for (unsigned l = 0; l < 4; ++l)
                if (to_column + l * distance < N)
                    store_one(to + l * distance, values[l]);
        }
    }
    if (SPLIT > 1)
        cluster_sync(); // the other blocks have read this block's sums
}
#endif

// ---- Rows of C in complete lines ----

// Tells whether all rows of all tiles begin and end at a multiple of 4 bytes.
__device__ __forceinline__ bool whole_words(const result *C, unsigned N)
{
    return sizeof(result) == 4 || (N % 2 == 0 && is_aligned<4>(C));
}

// A warp writes `width` elements of a row, at most `columns`, from shared memory to C. A lane has a word of 4 bytes,
// and each instruction writes one line of 128 bytes. So the row shares lines with other tiles only at its two ends. If
// fragments are written directly and rows begin at odd addresses, each sector is written twice. On an H200, complete
// lines take a third of the time that fragments take. The address `from` is a multiple of 4 bytes. If `words` is true,
// `to` and the end of the row are also multiples of 4 bytes.
template <unsigned columns>
__device__ __forceinline__ void store_lines(result *to, const result *from, unsigned width, bool words)
{
    enum : unsigned { word = 4 / sizeof(result), line = 32 * word };
    // number of elements of the first line that belong to another tile
    const unsigned before = (unsigned)((offset)to / sizeof(result)) % line;
    const int first = (int)(lane_id() * word) - (int)before;                // this lane's word in the first line
    const int last = (int)width - (int)word;                                // the last word that belongs to this tile
                                                                            // completely
    auto each_word = [&](auto &&write) {
#pragma unroll
        for (unsigned i = 0; i <= (columns + line - 1) / line; ++i)
            if ((i > 0 || first >= 0) && first + (int)(i * line) <= last)
                write((unsigned *)(to + first + i * line), from + first + i * line);
    };
    if (word == 1 || words || before % 2 == 0)
        each_word([](unsigned *at, const result *two) { *at = *(const unsigned *)two; });
    else
        each_word([](unsigned *at, const result *two) {
            *at = *(const unsigned short *)two | (unsigned)*(const unsigned short *)(two + 1) << 16;
        });
    if (word == 2 && !words) { // half a word may remain at one end or at both ends
        const unsigned end = before + width;
        if (before % 2 && lane_id() == before / 2)
            to[0] = from[0];
        if (end % 2 && lane_id() == end / 2 % 32)
            to[width - 1] = from[width - 1];
    }
}

#if defined(GEMM_THIN) || !defined(GEMM_ONE)
// This kernel is for matrix products with a small K, which take the time of writing C. All k of a tile are in shared
// memory at once, because STEPS times 32 bytes hold a whole row. Rows of A follow each other in memory without a gap,
// so the rows of a tile are one stretch of bytes. The kernel copies the aligned pieces of 16 bytes that contain the
// stretch by cp.async, wherever it begins. The same holds for B if B is stored by columns. If B is stored by rows, each
// row is a stretch of its own. Lanes read the stretches element by element.
//
// A warp keeps the fragments of B for all columns of the tile in registers. It computes DOWN times 16 rows. It puts 16
// rows of results into shared memory, and writes them in complete lines. A warp waits for no other warp. A and B begin
// at multiples of 16 bytes.
struct thin {
    enum : unsigned { rows = 16 * WARPS_M * DOWN, threads = WARP * WARPS_M, across = TILE_N / 8, pitch = TILE_N + 8 };
    enum : unsigned { row_b = TILE_N * SIZE + 32 }; // number of bytes for a stretch of a row of B

    // Begins to copy `bytes` bytes, together with the bytes before them in the same piece of 16 bytes. The copy reads
    // nothing at or after `end`.
    static __device__ __forceinline__ void copy(unsigned char *to, const element *from, unsigned bytes, const element *end,
                                                unsigned thread, unsigned threads)
    {
        const unsigned behind = (unsigned)((offset)from % 16);
        const unsigned char *begin = (const unsigned char *)from - behind;
        for (unsigned at = 16 * thread; at < behind + bytes; at += 16 * threads) {
            const offset left = (offset)((const unsigned char *)end - begin) - at;
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to + at)),
                         "l"(__cvta_generic_to_global(begin + at)), "r"(left < 16 ? (unsigned)left : 16)
                         : "memory");
        }
    }

    // Returns the word of elements that begins at byte `place` of a row of `bytes` bytes. Elements after the end of the
    // row are zeros. For them the function reads place 0 instead, so that no lane branches.
    static __device__ __forceinline__ unsigned read(const unsigned char *row, unsigned place, unsigned bytes)
    {
        unsigned word = 0;
#pragma unroll
        for (unsigned i = 0; i < 4; i += SIZE) {
            const bool inside = place + i < bytes;
            const unsigned char *at = row + (inside ? place + i : 0);
            const unsigned value = SIZE == 4 ? *(const unsigned *)at : SIZE == 2 ? *(const unsigned short *)at : *at;
            word |= (inside ? value : 0) << 8 * i;
        }
        return word;
    }
};

extern "C" __global__ void __launch_bounds__(WARP *WARPS_M)
    gemm_thin(const element *__restrict__ A, const element *__restrict__ B, result *__restrict__ C, unsigned M, unsigned N,
              unsigned K, unsigned walk)
{
    // the ends of A and B, and the matrices of this block's product in the batch
    const element *const end_a = A + (offset)gridDim.y * M * K, *const end_b = B + (offset)gridDim.y * N * K;
    A += (offset)blockIdx.y * M * K, B += (offset)blockIdx.y * N * K, C += (offset)blockIdx.y * M * N;
    extern __shared__ __align__(128) unsigned char room[];
    const tile_place at = find_tile(blockIdx.x, ceil_div(M, (unsigned)thin::rows), ceil_div(N, (unsigned)TILE_N), walk);
    const unsigned row = at.row * thin::rows, column = at.column * TILE_N;
    const unsigned rows = min((unsigned)thin::rows, M - row), columns = min((unsigned)TILE_N, N - column);
    const unsigned line = K * SIZE; // number of bytes of a row of A
    unsigned char *const raw_a = room + WARPS_M * 16 * thin::pitch * sizeof(result);
    unsigned char *const raw_b = raw_a + ceil_div(thin::rows * line, 16u) * 16 + 16;
    const element *const from_a = A + (offset)row * K, *const from_b = B + (COLUMNS ? (offset)column * K : column);
    // the place of a stretch in its buffer
    auto begin_of = [](const element *at) { return (unsigned)((offset)at % 16); };

    thin::copy(raw_a, from_a, rows * line, end_a, threadIdx.x, thin::threads);
    if (COLUMNS)
        thin::copy(raw_b, from_b, columns * line, end_b, threadIdx.x, thin::threads);
    else
        for (unsigned k = warp_id(); k < K; k += WARPS_M)
            thin::copy(raw_b + k * thin::row_b, from_b + (offset)k * N, columns * SIZE, end_b, lane_id(), WARP);
    copy_async_commit();
    copy_async_wait<0>();
    __syncthreads();

    const unsigned group = lane_id() / 4, place = lane_id() % 4 * 4; // the byte of this lane's word in each 16 bytes of
                                                                     // a row
    unsigned of_b[thin::across][STEPS][2];
#pragma unroll
    for (unsigned s = 0; s < STEPS; ++s)
#pragma unroll
        for (unsigned w = 0; w < 2; ++w) {
            const unsigned in_row = 32 * s + 16 * w + place, k = in_row / 2;
            // If B is stored by rows, the two elements of a word come from two rows. Row 0 stands for rows that do not
            // exist.
            auto row_of = [&](unsigned k) { return raw_b + (k < K ? k * thin::row_b + begin_of(from_b + (offset)k * N) : 0); };
            const unsigned char *const of_k = row_of(k), *const of_next = row_of(k + 1);
            const unsigned existing = (k < K ? 0xffff : 0) | (k + 1 < K ? 0xffff0000 : 0);
#pragma unroll
            for (unsigned j = 0; j < thin::across; ++j) {
                const unsigned c = min(8 * j + group, columns - 1);
                if (COLUMNS)
                    of_b[j][s][w] = thin::read(raw_b + begin_of(from_b) + c * line, in_row, line);
                else
                    of_b[j][s][w] = (*(const unsigned short *)(of_k + 2 * c) |
                                     (unsigned)*(const unsigned short *)(of_next + 2 * c) << 16) & existing;
            }
        }

    result *const staged = (result *)room + warp_id() * 16 * thin::pitch;
    const bool words = whole_words(C, N);
#pragma unroll 1
    for (unsigned i = 0; i < DOWN; ++i) {
        const unsigned first = (warp_id() * DOWN + i) * 16; // the first of these 16 rows, counted in the tile
        if (first >= rows)
            break;
        unsigned of_a[STEPS][4];
#pragma unroll
        for (unsigned s = 0; s < STEPS; ++s)
#pragma unroll
            for (unsigned w = 0; w < 4; ++w) {
                const unsigned r = min(first + group + w % 2 * 8, rows - 1), in_row = 32 * s + w / 2 * 16 + place;
                of_a[s][w] = thin::read(raw_a + begin_of(from_a) + r * line, in_row, line);
            }
        result *to = C + (offset)(row + first) * N + column;
        __syncwarp(); // all lanes have read the previous rows
#pragma unroll
        for (unsigned j = 0; j < thin::across; ++j) {
            float sums[4] = {};
#pragma unroll
            for (unsigned s = 0; s < STEPS; ++s)
                multiply(element(), sums, of_a[s], of_b[j][s][0], of_b[j][s][1]);
#pragma unroll
            for (unsigned half = 0; half < 2; ++half)
                store_pair(staged + (group + 8 * half) * thin::pitch + 8 * j + lane_id() % 4 * 2, sums[2 * half],
                           sums[2 * half + 1]);
        }
        __syncwarp();
        const unsigned inside = min(16u, rows - first);
#pragma unroll 4
        for (unsigned r = 0; r < inside; ++r, to += N)
            store_lines<TILE_N>(to, staged + r * thin::pitch, columns, words);
    }
}
#endif

#if defined(GEMM_WGMMA_TMA) || defined(GEMM_WGMMA_SPECIALISED) || defined(GEMM_WGMMA_CLUSTER) ||                       \
    defined(GEMM_STREAM_K) || defined(GEMM_SPLIT_K) || defined(GEMM_GROUPED) || !defined(GEMM_ONE)
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)

// The parts of dynamic shared memory: the ring, space for results, and barriers. The ring begins at a multiple of 1024
// bytes, because swizzles permute address bits. Kernels declare the array with a smaller alignment. Otherwise the
// compiler would remove the rounding to a multiple of 1024.
struct ring {
    enum : unsigned {
        // number of elements of a row in the buffer of store_rows(), chosen so that the rows of a fragment use
        // different banks
        pitch = TILE_N + 8,
        results = CONSUMERS * 4 * (STAGED == 2 ? 8 * pitch * sizeof(result) : STAGED * 2 * 2048)
    };
    unsigned char *stages;

    __device__ __forceinline__ ring(unsigned char *shared)
        : stages(shared + (1024 - shared_address(shared) % 1024) % 1024)
    {
    }
    __device__ __forceinline__ unsigned char *at(unsigned step) const
    {
        return stages + step % STAGES * stage::bytes;
    }
    __device__ __forceinline__ unsigned char *room() const
    {
        return stages + STAGES * stage::bytes;
    }
    __device__ __forceinline__ barrier *full(unsigned step) const
    {
        return (barrier *)(room() + results) + step % STAGES;
    }
    __device__ __forceinline__ barrier *empty(unsigned step) const
    {
        return full(step) + STAGES;
    }
    // Returns the parity of the phase in which this step uses its stage.
    static __device__ __forceinline__ unsigned parity(unsigned step)
    {
        return step / STAGES & 1;
    }
    // Initialises the barriers; one thread calls it. On each `empty` barrier, `readers` threads arrive.
    __device__ __forceinline__ void make(unsigned readers) const
    {
        for (unsigned i = 0; i < STAGES; ++i) {
            barrier_init(full(i), 1);
            barrier_init(empty(i), readers);
        }
        barriers_made();
    }
};

// The part of a tile that one warp group computes: its rows, 64 at a time.
struct group_product {
    enum : unsigned { down = TILE_M / CONSUMERS / 64, columns = 128 / sizeof(result), parts = TILE_N / columns };
    float sums[down][TILE_N / 2];

    // Begins to add the product of a stage's tiles to the accumulators. If `add` is 0, the accumulators start from
    // zero. The matrix instructions form one wgmma group.
    __device__ __forceinline__ void add(unsigned at, unsigned group, unsigned add)
    {
        const offset a = matrix_descriptor<128>(at + group * down * 64 * 128, 16, 1024);
        const offset b = matrix_descriptor<128>(at + stage::a_bytes, COLUMNS ? 16 : stage::b_box, 1024);
#pragma unroll
        for (unsigned i = 0; i < down; ++i)
            wgmma_keep(sums[i]);
        wgmma_fence();
#pragma unroll
        for (unsigned k = 0; k < TILE_K / STEP; ++k) {
            const unsigned box = k / stage::box_steps, in_box = k % stage::box_steps * 32;
            const offset b_k = descriptor_after(b, COLUMNS ? box * stage::b_box + in_box : k * STEP * 128);
#pragma unroll
            for (unsigned i = 0; i < down; ++i)
                wgmma<element, TILE_N>::template multiply<!COLUMNS>(
                    sums[i], descriptor_after(a, box * stage::a_box + i * 64 * 128 + in_box), b_k, k > 0 || add);
        }
        wgmma_commit();
#pragma unroll
        for (unsigned i = 0; i < down; ++i)
            wgmma_keep(sums[i]);
    }

    // For a warp group that only multiplies: adds the terms of the next `steps` steps of the ring. The parameter
    // `count` is the number of steps before them. All threads of the group call `release` when wgmma has read a stage.
    template <class Release>
    __device__ __forceinline__ void consume(const ring &ring, unsigned group, unsigned steps, unsigned &count,
                                            Release release)
    {
        for (unsigned step = 0; step < steps; ++step, ++count) {
            barrier_wait(ring.full(count), ring.parity(count));
            add(shared_address(ring.at(count)), group, step > 0);
            wgmma_wait<1>(); // waits until wgmma has read the tiles of the previous step
            if (step > 0)
                release(ring.empty(count - 1));
        }
        wgmma_wait<0>();
        release(ring.empty(count - 1));
        __syncwarp();
    }

    // Releases stages by one thread per group, which is enough because wgmma reads for all four warps.
    __device__ __forceinline__ void consume(const ring &ring, unsigned group, unsigned steps, unsigned &count)
    {
        consume(ring, group, steps, count, [](barrier *empty) {
            if (threadIdx.x % 128 == 0)
                barrier_arrive(empty);
        });
    }

    // Each thread writes its results, beginning at column `from` of the tile. Four lanes hold 8 neighbouring elements
    // of a row, which are half a sector if results have 16 bits.
    template <unsigned from = 0>
    __device__ __forceinline__ void store(result *C, unsigned first_row, unsigned first_column, unsigned M,
                                          unsigned N) const
    {
        const unsigned r0 = first_row + warp_id() % 4 * 16 + lane_id() / 4, c0 = first_column + lane_id() % 4 * 2;
        const bool pairs = N % 2 == 0 && is_aligned<2 * sizeof(result)>(C);
#pragma unroll
        for (unsigned i = 0; i < down; ++i)
#pragma unroll
            for (unsigned j = from / 8; j < TILE_N / 8; ++j)
#pragma unroll
                for (unsigned half = 0; half < 2; ++half) {
                    const unsigned r = r0 + 64 * i + 8 * half, c = c0 + 8 * j;
                    store_inside(C, r, c, M, N, pairs, sums[i][4 * j + 2 * half], sums[i][4 * j + 2 * half + 1]);
                }
    }

#if FUSED
    __device__ __forceinline__ void finish(const epilogue &after, unsigned first_row, unsigned first_column)
    {
        if (after.pairs)
            finish<true>(after, first_row, first_column);
        else
            finish<false>(after, first_row, first_column);
    }

    // A thread loads AHEAD pairs of the residual before it uses the first pair, because no other warp hides the latency
    // of these loads.
    template <bool paired>
    __device__ __forceinline__ void finish(const epilogue &after, unsigned first_row, unsigned first_column)
    {
        const unsigned r0 = first_row + warp_id() % 4 * 16 + lane_id() / 4, c0 = first_column + lane_id() % 4 * 2;
        enum : unsigned { AHEAD = 16, across = AHEAD / 2 };
#pragma unroll
        for (unsigned i = 0; i < down; ++i) {
            const result *upper = after.row_of_residual(r0 + 64 * i), *lower = after.row_of_residual(r0 + 64 * i + 8);
#pragma unroll
            for (unsigned first = 0; first < TILE_N / 8; first += across) {
                float2 residuals[AHEAD], biases[across];
#pragma unroll
                for (unsigned l = 0; l < across; ++l) {
                    const unsigned c = c0 + 8 * (first + l);
                    biases[l] = after.bias_of<paired>(c);
                    residuals[2 * l] = after.residual_of<paired>(upper, c);
                    residuals[2 * l + 1] = after.residual_of<paired>(lower, c);
                }
#pragma unroll
                for (unsigned l = 0; l < across; ++l) {
                    float *d = sums[i] + 4 * (first + l);
                    epilogue::apply(d[0], d[1], biases[l], residuals[2 * l]);
                    epilogue::apply(d[2], d[3], biases[l], residuals[2 * l + 1]);
                }
            }
        }
    }
#endif

    // Each warp writes 8 rows of the tile at a time to shared memory, and from there to C in complete lines. Rows of C
    // may begin at any address.
    __device__ __forceinline__ void store_rows(unsigned char *room, result *C, unsigned first_row, unsigned first_column,
                                               unsigned M, unsigned N) const
    {
        enum : unsigned { pitch = ring::pitch };
        result *const mine = (result *)room + warp_id() % (4 * CONSUMERS) * 8 * pitch;
        const unsigned width = min((unsigned)TILE_N, N - first_column), lane = lane_id();
        const bool words = whole_words(C, N);
#pragma unroll
        for (unsigned i = 0; i < down; ++i)
#pragma unroll
            for (unsigned half = 0; half < 2; ++half) {
                const unsigned row = first_row + 64 * i + warp_id() % 4 * 16 + 8 * half;
                result *to = C + (offset)row * N + first_column;
                result *part = mine + lane / 4 * pitch + lane % 4 * 2;
                __syncwarp(); // all lanes have read the previous rows
#pragma unroll
                for (unsigned j = 0; j < TILE_N / 8; ++j) {
                    const float *d = sums[i] + 4 * j + 2 * half;
                    store_pair(part + 8 * j, d[0], d[1]);
                }
                __syncwarp();
                const unsigned rows = row < M ? min(M - row, 8u) : 0;
                for (unsigned r = 0; r < rows; ++r, to += N)
                    store_lines<TILE_N>(to, mine + r * pitch, width, words);
            }
    }

    // Stores a single quad, number i of thread `thread` of the group: two neighbouring results in each of two rows.
    static __device__ __forceinline__ void store_quad(float4 quad, unsigned i, unsigned thread, result *C,
                                                      unsigned first_row, unsigned first_column, unsigned M, unsigned N)
    {
        const unsigned r = first_row + i / (TILE_N / 8) * 64 + thread / 32 * 16 + thread % 32 / 4,
                       c = first_column + i % (TILE_N / 8) * 8 + thread % 4 * 2;
        const bool pairs = N % 2 == 0 && is_aligned<2 * sizeof(result)>(C);
        store_inside(C, r, c, M, N, pairs, quad.x, quad.y);
        store_inside(C, r + 8, c, M, N, pairs, quad.z, quad.w);
    }

    __device__ __forceinline__ float4 quad(unsigned i) const
    {
        const float *d = sums[i / (TILE_N / 8)] + 4 * (i % (TILE_N / 8));
        return {d[0], d[1], d[2], d[3]};
    }

    // Writes the unrounded accumulators to memory. The quads of a thread are 128 quads apart.
    __device__ __forceinline__ void save(float4 *to)
    {
        each_quad([&](const float *d, unsigned i) { to[i * 128] = {d[0], d[1], d[2], d[3]}; });
    }

    __device__ __forceinline__ void restore(const float4 *from)
    {
        each_quad([&](float *d, unsigned i) {
            const float4 quad = __ldcg(from + i * 128);
            d[0] = quad.x, d[1] = quad.y, d[2] = quad.z, d[3] = quad.w;
        });
    }

    __device__ __forceinline__ void add_saved(const float4 *from)
    {
        each_quad([&](float *d, unsigned i) {
            const float4 quad = __ldcg(from + i * 128);
            d[0] += quad.x, d[1] += quad.y, d[2] += quad.z, d[3] += quad.w;
        });
    }

    static __device__ __forceinline__ void add_quad(float4 &to, float4 quad)
    {
        to.x += quad.x, to.y += quad.y, to.z += quad.z, to.w += quad.w;
    }

    // Each warp writes 16 rows of 128 bytes to shared memory, swizzled, and a copy by tensor map writes them to C in
    // complete lines. The warp continues during the copy, because it has two buffers.
    __device__ __forceinline__ void store_staged(const tensor_map &map_c, unsigned char *room, unsigned first_row,
                                                 unsigned first_column, unsigned product = 0) const
    {
        const unsigned lane = lane_id();
        unsigned char *mine = room + warp_id() % (4 * CONSUMERS) * (2 * 2048);
#pragma unroll
        for (unsigned i = 0; i < down; ++i)
#pragma unroll
            for (unsigned part = 0; part < parts; ++part) {
                unsigned char *buffer = mine + (i * parts + part) % 2 * 2048;
                if (lane == 0) {
                    if (down * parts % 2 && i == 0 && part == 0)
                        tensor_store_wait<0>(); // the copy that used this buffer before has ended
                    else
                        tensor_store_wait<1>();
                }
                __syncwarp();
                write_part(buffer, sums[i] + part * columns / 2, lane);
                fence_async();
                __syncwarp();
                if (lane == 0) {
                    const int x = (int)(first_column + part * columns),
                              y = (int)(first_row + 64 * i + warp_id() % 4 * 16);
                    if (BATCHED)
                        tensor_store(map_c, x, y, (int)product, buffer);
                    else
                        tensor_store(map_c, x, y, buffer);
                    tensor_store_commit();
                }
            }
    }

  private:
    template <class Do> __device__ __forceinline__ void each_quad(Do &&act)
    {
#pragma unroll
        for (unsigned i = 0; i < down; ++i)
#pragma unroll
            for (unsigned j = 0; j < TILE_N / 8; ++j)
                act(sums[i] + 4 * j, i * (TILE_N / 8) + j);
    }

    static __device__ __forceinline__ void write_part(unsigned char *buffer, const float *d, unsigned lane)
    {
        if (sizeof(result) == 4) {
            // A warp writes 32 bytes of each of 4 rows at once. With the plain swizzle, rows 0 and 1 would use the same
            // banks, and so would rows 2 and 3. Therefore lanes with odd rows first write the columns that are 16
            // further on, and then their own columns.
            const bool odd = lane / 4 % 2;
#pragma unroll
            for (unsigned j = 0; j < columns / 8; ++j)
#pragma unroll
                for (unsigned half = 0; half < 2; ++half) {
                    const unsigned i = 4 * j + 2 * half, other = 4 * (j ^ 2) + 2 * half;
                    const unsigned place = (lane / 4 + 8 * half) * 128 + (j ^ 2 * odd) * 32 + lane % 4 * 8;
                    store_pair((float *)(buffer + swizzled<128>(place)), odd ? d[other] : d[i],
                               odd ? d[other + 1] : d[i + 1]);
                }
        } else {
            typedef choose<RESULT, f16, f16, bf16> half_result;
#pragma unroll
            for (unsigned j = 0; j < columns / 8; j += 2)
                store_fragments(shared_address(buffer) + swizzled<128>(lane % 16 * 128 + j * 16 + lane / 16 * 16),
                                pack_pair(half_result(), d[4 * j], d[4 * j + 1]),
                                pack_pair(half_result(), d[4 * j + 2], d[4 * j + 3]),
                                pack_pair(half_result(), d[4 * j + 4], d[4 * j + 5]),
                                pack_pair(half_result(), d[4 * j + 6], d[4 * j + 7]));
        }
    }
};
#endif
#endif

#if defined(GEMM_FINISH)
// This kernel computes the epilogue separately, for comparison. It reads and writes C a second time. Each thread
// processes two neighbouring elements.
extern "C" __global__ void __launch_bounds__(256)
    gemm_finish(result *C, unsigned M, unsigned N, const result *__restrict__ bias, const result *__restrict__ residual)
{
    const epilogue after(bias, residual, M, N);
    const unsigned r = blockIdx.x, c = (blockIdx.y * 256 + threadIdx.x) * 2;
    if (c >= N)
        return;
    result *to = C + (offset)r * N + c;
    float2 sums;
    if (after.pairs) {
        sums = epilogue::read<true>(to, N - c);
        epilogue::apply(sums.x, sums.y, after.bias_of<true>(c), after.residual_of<true>(after.row_of_residual(r), c));
    } else {
        sums = epilogue::read<false>(to, N - c);
        epilogue::apply(sums.x, sums.y, after.bias_of<false>(c), after.residual_of<false>(after.row_of_residual(r), c));
    }
    store_inside(C, r, c, M, N, after.pairs, sums.x, sums.y);
}
#endif

#if defined(GEMM_PAD) || !defined(GEMM_ONE)
// This kernel copies the rows of both matrices, which may have any length, to rows whose length is a multiple of 16
// bytes, as tensor maps need. It fills the end of each row with zeros. A thread writes one piece of 16 bytes. The first
// blocks copy A.
extern "C" __global__ void __launch_bounds__(256)
    gemm_pad(const element *__restrict__ A, uint4 *__restrict__ to_a, unsigned rows_a, unsigned length_a,
             const element *__restrict__ B, uint4 *__restrict__ to_b, unsigned rows_b, unsigned length_b)
{
    const offset blocks_a = ((offset)rows_a * ceil_div(length_a, PIECE) + 255) / 256;
    const bool of_a = blockIdx.x < blocks_a;
    const unsigned length = of_a ? length_a : length_b, pieces = ceil_div(length, PIECE);
    const offset first = (offset)(of_a ? blockIdx.x : blockIdx.x - blocks_a) * 256, first_row = first / pieces;
    const unsigned place = (unsigned)(first % pieces) + threadIdx.x, piece = place % pieces;
    const offset row = first_row + place / pieces;
    if (row >= (of_a ? rows_a : rows_b))
        return;
    const element *from = (of_a ? A : B) + row * length;
    alignas(16) element made[PIECE] = {};
#pragma unroll
    for (unsigned i = 0; i < PIECE; ++i)
        if (piece * PIECE + i < length)
            made[i] = from[piece * PIECE + i];
    (of_a ? to_a : to_b)[row * pieces + piece] = *(const uint4 *)made;
}
#endif

#if defined(GEMM_WGMMA_TMA) || !defined(GEMM_ONE)
// In this kernel, tensor maps fill the ring, and warp groups multiply directly from shared memory. Compared with
// mma_async, one thread begins the copy of a whole box, only the accumulators are in registers, and no lane computes
// addresses. The kernel needs no barrier for the whole block: a thread waits only until the bytes of a stage have
// arrived. The thread that fills the ring also multiplies. Therefore its warp group is idle while it waits until the
// other groups have read a stage.
extern "C" __global__ void __launch_bounds__(128 * CONSUMERS)
    gemm_wgmma_tma(const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_b,
                   const __grid_constant__ tensor_map map_c, result *C, unsigned M, unsigned N, unsigned K, unsigned walk)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(16) unsigned char shared[];
    const ring ring(shared);
    const unsigned group = threadIdx.x / 128, steps = ceil_div(K, TILE_K);
    const tile_place at = find_tile(blockIdx.x, ceil_div(M, TILE_M), ceil_div(N, TILE_N), walk);
    const unsigned row = at.row * TILE_M, column = at.column * TILE_N;
    if (threadIdx.x == 0) {
        ring.make(CONSUMERS);
        for (unsigned step = 0; step < STAGES && step < steps; ++step)
            stage::load(ring.at(step), map_a, map_b, row, column, step * TILE_K, ring.full(step));
    }
    __syncthreads();
    group_product product;
    for (unsigned step = 0; step < steps; ++step) {
        barrier_wait(ring.full(step), ring.parity(step));
        product.add(shared_address(ring.at(step)), group, step > 0);
        wgmma_wait<1>(); // wgmma has read the previous step's tiles
        const unsigned next = step + STAGES - 1;
        if (step > 0 && threadIdx.x % 128 == 0)
            barrier_arrive(ring.empty(step - 1));
        if (step > 0 && threadIdx.x == 0 && next < steps) {
            barrier_wait(ring.empty(next), ring.parity(next) ^ 1);
            stage::load(ring.at(next), map_a, map_b, row, column, next * TILE_K, ring.full(next));
        }
        __syncwarp();
    }
    wgmma_wait<0>();
    const unsigned first_row = row + group * group_product::down * 64;
    if (STAGED) {
        product.store_staged(map_c, ring.room(), first_row, column);
        if (lane_id() == 0)
            tensor_store_wait<0>();
    } else
        product.store(C, first_row, column, M, N);
#endif
}
#endif

#if defined(GEMM_WGMMA_SPECIALISED) || !defined(GEMM_ONE)
// In this kernel, one warp group (the producer) fills the ring, and the other warp groups (the consumers) multiply.
// Compared with wgmma_tma, consumers never wait for a free stage. The instruction setmaxnreg gives the consumers the
// registers that the producer does not need. The launch has as many blocks as fit on the device, and the blocks take
// tiles by turns. While the consumers write one tile, the producer already fills the ring for the next tile. Unless
// STAGED is 1, map_c is not used, and C may have rows of any length. With BATCHED, the tiles of all products of the
// batch form one sequence, so no multiprocessor is idle between two products with few tiles.
extern "C" __global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
    gemm_wgmma_specialised(const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_b,
                           const __grid_constant__ tensor_map map_c, result *C, unsigned M, unsigned N, unsigned K,
                           unsigned batch, unsigned walk EPILOGUE_PARAMS)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(16) unsigned char shared[];
    const ring ring(shared);
    const unsigned group = threadIdx.x / 128, steps = ceil_div(K, TILE_K);
    const unsigned tiles_m = ceil_div(M, TILE_M), tiles_n = ceil_div(N, TILE_N), tiles = tiles_m * tiles_n;
    const unsigned all = BATCHED ? tiles * batch : tiles;
    if (threadIdx.x == 0)
        ring.make(CONSUMERS);
    __syncthreads();
    unsigned count = 0; // number of steps of all tiles so far
    if (group == CONSUMERS) {
        if (CONSUMERS > 1)
            registers_give<CONSUMERS == 2 ? 40 : 32>();
        if (threadIdx.x % 128 == 0) {
            tensor_prefetch(map_a);
            tensor_prefetch(map_b);
            for (unsigned tile = blockIdx.x; tile < all; tile += gridDim.x) {
                const unsigned product = BATCHED ? tile / tiles : 0;
                const tile_place at = find_tile(tile - product * tiles, tiles_m, tiles_n, walk);
#if FUSED & 4
                ask_for_residual(residual, at.row * TILE_M, at.column * TILE_N, M, N);
#endif
                for (unsigned step = 0; step < steps; ++step, ++count) {
                    barrier_wait(ring.empty(count), ring.parity(count) ^ 1);
                    stage::load(ring.at(count), map_a, map_b, at.row * TILE_M, at.column * TILE_N, step * TILE_K,
                                ring.full(count), product);
                }
            }
        }
        return;
    }
    if (CONSUMERS > 1)
        registers_take<CONSUMERS == 2 ? 232 : 160>();
    const unsigned down = group * group_product::down * 64;
    for (unsigned tile = blockIdx.x; tile < all; tile += gridDim.x) {
        const unsigned number = BATCHED ? tile / tiles : 0;
        const tile_place at = find_tile(tile - number * tiles, tiles_m, tiles_n, walk);
        group_product product;
        product.consume(ring, group, steps, count);
#if FUSED
        product.finish(epilogue(bias, residual, M, N), at.row * TILE_M + down, at.column * TILE_N);
#endif
        // The function store_staged() writes whole parts. The columns after the last whole part do not go through
        // shared memory.
        constexpr unsigned staged = STAGED == 1 ? group_product::parts * group_product::columns : 0;
        if (STAGED == 1)
            product.store_staged(map_c, ring.room(), at.row * TILE_M + down, at.column * TILE_N, number);
        if (STAGED == 2)
            product.store_rows(ring.room(), C + (offset)number * M * N, at.row * TILE_M + down, at.column * TILE_N, M, N);
        else if (staged < TILE_N)
            product.store<staged>(C + (offset)number * M * N, at.row * TILE_M + down, at.column * TILE_N, M, N);
    }
    if (STAGED == 1 && lane_id() == 0)
        tensor_store_wait<0>();
#endif
}
#endif

#if defined(GEMM_GROUPED) || defined(GEMM_GROUPED_MMA) || !defined(GEMM_ONE)
// The grouped kernels compute one matrix product for each group of rows (for the experts of a neural network): rows
// offsets[g] to offsets[g + 1] - 1 of A times matrix g of W. Each matrix of W has K x N elements and is stored by
// columns (COLUMNS). Only the device knows the sizes of the groups, so no launch can depend on them. The tiles of all
// groups form one sequence. Blocks stay on their multiprocessors, and each walks along the groups until it finds the
// group of its next tile. It never walks back, so a block reads each offset once.
struct group_walk {
    const int *offsets; // the first row of each group, and then the number of all rows
    unsigned groups, tiles_n;
    unsigned group = 0, before = 0; // the current group, and the number of tiles of all earlier groups

    __device__ __forceinline__ group_walk(const int *offsets_, unsigned groups_, unsigned N)
        : offsets(offsets_), groups(groups_), tiles_n(ceil_div(N, (unsigned)TILE_N))
    {
    }
    __device__ __forceinline__ unsigned begin() const
    {
        return (unsigned)offsets[group];
    }
    __device__ __forceinline__ unsigned end() const
    {
        return (unsigned)offsets[group + 1];
    }
    __device__ __forceinline__ unsigned tiles_m() const
    {
        return ceil_div(end() - begin(), (unsigned)TILE_M);
    }
    // Walks to the group of tile `tile`. Returns false if there is no such tile.
    __device__ __forceinline__ bool find(unsigned tile)
    {
        for (; group < groups; ++group) {
            const unsigned tiles = tiles_m() * tiles_n;
            if (tile < before + tiles)
                return true;
            before += tiles;
        }
        return false;
    }
};
#endif

#if defined(GEMM_GROUPED_MMA) || !defined(GEMM_ONE)
// This kernel has one block for each tile, as gemm_mma_async has. The number of tiles is not known before the launch,
// so the launch has as many blocks as the most unfavourable sizes of groups need. Blocks without a tile end at once. N,
// K and the groups may have any size.
extern "C" __global__ void __launch_bounds__(WARP *WARPS_M *WARPS_N)
    gemm_grouped_mma(const element *__restrict__ A, const element *__restrict__ W, result *__restrict__ C,
                     const int *__restrict__ offsets, unsigned groups, unsigned N, unsigned K, unsigned walk)
{
    extern __shared__ __align__(128) unsigned char room[];
    group_walk at_group(offsets, groups, N);
    if (!at_group.find(blockIdx.x))
        return;
    const tile_place at = find_tile(blockIdx.x - at_group.before, at_group.tiles_m(), at_group.tiles_n, walk);
    const unsigned row = at_group.begin() + at.row * TILE_M, first = at_group.group * N, column = at.column * TILE_N;
    const matrix from_a = {A, at_group.end(), K}, from_w = {W, first + N, K};
    warp_product sums;
    multiply_async(sums, room, from_a, from_w, row, first + column, K);
    sums.store(C, row, column, at_group.end(), N);
}
#endif

#if defined(GEMM_GROUPED) || !defined(GEMM_ONE)
// This kernel has the structure of gemm_wgmma_specialised. The tensor map of A covers the rows of all groups, and the
// tensor map of W the rows of all its matrices. For the last tile of a group, the kernel also reads rows of the next
// group, and for the last column of tiles it also reads rows of the next matrix. It does not write the results of these
// rows. Therefore the results of a tile go through shared memory only if all its rows belong to the group. The copied
// `offsets` are behind the barriers in shared memory.
extern "C" __global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
    gemm_grouped(const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_w,
                 const __grid_constant__ tensor_map map_c, result *C, const int *__restrict__ offsets, unsigned groups,
                 unsigned N, unsigned K, unsigned walk)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(16) unsigned char shared[];
    const ring ring(shared);
    int *const copied = (int *)(ring.empty(0) + STAGES);
    const unsigned part = threadIdx.x / 128, steps = ceil_div(K, TILE_K);
    for (unsigned i = threadIdx.x; i <= groups; i += 128 * (CONSUMERS + 1))
        copied[i] = offsets[i];
    if (threadIdx.x == 0)
        ring.make(CONSUMERS);
    __syncthreads();
    group_walk at_group(copied, groups, N);
    unsigned count = 0; // number of steps of all tiles so far
    if (part == CONSUMERS) {
        if (CONSUMERS > 1)
            registers_give<CONSUMERS == 2 ? 40 : 32>();
        if (threadIdx.x % 128 == 0) {
            tensor_prefetch(map_a);
            tensor_prefetch(map_w);
            for (unsigned tile = blockIdx.x; at_group.find(tile); tile += gridDim.x) {
                const tile_place at = find_tile(tile - at_group.before, at_group.tiles_m(), at_group.tiles_n, walk);
                for (unsigned step = 0; step < steps; ++step, ++count) {
                    barrier_wait(ring.empty(count), ring.parity(count) ^ 1);
                    stage::load(ring.at(count), map_a, map_w, at_group.begin() + at.row * TILE_M,
                                at_group.group * N + at.column * TILE_N, step * TILE_K, ring.full(count));
                }
            }
        }
        return;
    }
    if (CONSUMERS > 1)
        registers_take<CONSUMERS == 2 ? 232 : 160>();
    const unsigned down = part * group_product::down * 64;
    for (unsigned tile = blockIdx.x; at_group.find(tile); tile += gridDim.x) {
        const tile_place at = find_tile(tile - at_group.before, at_group.tiles_m(), at_group.tiles_n, walk);
        const unsigned first = at_group.begin() + at.row * TILE_M, end = at_group.end();
        group_product product;
        product.consume(ring, part, steps, count);
        if (STAGED && first + TILE_M <= end)
            product.store_staged(map_c, ring.room(), first + down, at.column * TILE_N);
        else
            product.store(C, first + down, at.column * TILE_N, end, N);
    }
    if (STAGED && lane_id() == 0)
        tensor_store_wait<0>();
#endif
}
#endif

#if defined(GEMM_WGMMA_CLUSTER) || defined(GEMM_SPLIT_K) || !defined(GEMM_ONE)
// The blocks of a cluster that share tiles: CLUSTER_M x CLUSTER_N blocks from `first` on. The type tells which blocks
// write to the stages of block (m, n).
struct partners {
    enum : unsigned { count = CLUSTER_M + CLUSTER_N - 1 };
    unsigned number; // the block that this thread of a warp group informs when wgmma has read a stage

    // Each of the threads 0 to count - 1 of a group informs one partner: first the blocks with the same m, then the
    // other blocks with the same n.
    __device__ __forceinline__ partners(unsigned m, unsigned n, unsigned first = 0)
    {
        const unsigned thread = threadIdx.x % 128, other = thread - CLUSTER_N;
        number = first + (thread < CLUSTER_N ? m + CLUSTER_M * thread : other + (other >= m ? 1 : 0) + CLUSTER_M * n);
    }
    __device__ __forceinline__ void operator()(barrier *empty) const
    {
        if (count == 1) {
            if (threadIdx.x % 128 == 0)
                barrier_arrive(empty);
        } else if (threadIdx.x % 128 < count) {
            barrier_arrive(empty, number);
        }
    }
};
#endif

#if defined(GEMM_WGMMA_CLUSTER) || !defined(GEMM_ONE)
// In this kernel, clusters of CLUSTER_M x CLUSTER_N blocks compute neighbouring tiles. Blocks beside each other need
// the same rows of A, and blocks below each other need the same columns of B. Each block loads a share of these rows
// and columns, and the copy writes it to all blocks that need it (multicast). Compared with wgmma_specialised, the
// blocks read CLUSTER_N times less of A and CLUSTER_M times less of B from the L2 cache. But a stage is free only when
// all blocks that receive its data have read it, so the blocks of a cluster advance together.
extern "C" __global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
    gemm_wgmma_cluster(const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_b,
                       const __grid_constant__ tensor_map map_c, result *C, unsigned M, unsigned N, unsigned K,
                       unsigned walk EPILOGUE_PARAMS)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(16) unsigned char shared[];
    constexpr unsigned blocks = CLUSTER_M * CLUSTER_N;
    const ring ring(shared);
    const unsigned group = threadIdx.x / 128, thread = threadIdx.x % 128, steps = ceil_div(K, TILE_K);
    const unsigned m = cluster_rank() % CLUSTER_M, n = cluster_rank() / CLUSTER_M;
    // number of clusters
    const unsigned tiles_m = ceil_div(M, TILE_M * CLUSTER_M), tiles_n = ceil_div(N, TILE_N * CLUSTER_N);
    if (threadIdx.x == 0)
        ring.make(CONSUMERS * partners::count);
    cluster_sync();
    unsigned count = 0; // number of steps of all tiles so far
    if (group == CONSUMERS) {
        if (CONSUMERS > 1)
            registers_give<56>();
        if (thread == 0) {
            tensor_prefetch(map_a);
            tensor_prefetch(map_b);
            for (unsigned tile = blockIdx.x / blocks; tile < tiles_m * tiles_n; tile += gridDim.x / blocks) {
                const tile_place at = find_tile(tile, tiles_m, tiles_n, walk);
                const unsigned row = (at.row * CLUSTER_M + m) * TILE_M, column = (at.column * CLUSTER_N + n) * TILE_N;
#if FUSED & 4
                ask_for_residual(residual, row, column, M, N);
#endif
                for (unsigned step = 0; step < steps; ++step, ++count) {
                    barrier_wait(ring.empty(count), ring.parity(count) ^ 1);
                    stage::load_shares(ring.at(count), map_a, map_b, row, column, step * TILE_K, ring.full(count), m,
                                       n);
                }
            }
        }
        __syncwarp();
        cluster_sync();
    } else {
        if (CONSUMERS > 1)
            registers_take<CONSUMERS == 2 ? 224 : 152>();
        const partners release(m, n);
        const unsigned down = group * group_product::down * 64;
        for (unsigned tile = blockIdx.x / blocks; tile < tiles_m * tiles_n; tile += gridDim.x / blocks) {
            const tile_place at = find_tile(tile, tiles_m, tiles_n, walk);
            const unsigned row = (at.row * CLUSTER_M + m) * TILE_M + down,
                           column = (at.column * CLUSTER_N + n) * TILE_N;
            group_product product;
            product.consume(ring, group, steps, count, release);
#if FUSED
            product.finish(epilogue(bias, residual, M, N), row, column);
#endif
            if (STAGED)
                product.store_staged(map_c, ring.room(), row, column);
            else
                product.store(C, row, column, M, N);
        }
        if (STAGED && lane_id() == 0)
            tensor_store_wait<0>();
        __syncwarp();
        cluster_sync(); // other blocks arrive on this block's barriers until they have finished
    }
#endif
}
#endif

#if defined(GEMM_STREAM_K) || !defined(GEMM_ONE)
// In this kernel, blocks share steps instead of tiles (stream-K): all steps of all tiles form one sequence, which is
// cut into equal parts, one for each block. Compared with wgmma_specialised, no block is idle if there are few tiles,
// or if their number is not a multiple of the number of blocks. But several blocks compute parts of the same tile.
// Their accumulators go through global memory, where they mostly stay in the L2 cache. The last block of a tile to
// finish adds the parts in order of k, so the result is the same in every run, and no block waits for another.
//
// The array `partial` has two places for each block: place 0 for the tile that the block continues, and place 1 for the
// tile that it begins and does not finish. The array `counters` has one number for each warp group and tile. They must
// be 0 before the launch, and the kernel leaves them 0.
extern "C" __global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
    gemm_stream_k(const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_b,
                  const __grid_constant__ tensor_map map_c, result *C, float4 *partial, unsigned *counters,
                  unsigned share, unsigned M, unsigned N, unsigned K, unsigned walk)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(16) unsigned char shared[];
    const ring ring(shared);
    // number of blocks that wrote their parts of the tile before this block
    unsigned *earlier = (unsigned *)(ring.full(0) + 2 * STAGES);
    const unsigned group = threadIdx.x / 128, thread = threadIdx.x % 128, steps = ceil_div(K, TILE_K);
    const unsigned tiles_m = ceil_div(M, TILE_M), tiles_n = ceil_div(N, TILE_N);
    const unsigned begin = blockIdx.x * share, end = min(begin + share, tiles_m * tiles_n * steps);
    if (threadIdx.x == 0)
        ring.make(CONSUMERS);
    __syncthreads();
    unsigned count = 0; // number of steps so far
    if (group == CONSUMERS) {
        if (CONSUMERS > 1)
            registers_give<CONSUMERS == 2 ? 40 : 32>();
        if (thread == 0)
            for (unsigned at = begin; at < end; ++at, ++count) {
                const tile_place place = find_tile(at / steps, tiles_m, tiles_n, walk);
                barrier_wait(ring.empty(count), ring.parity(count) ^ 1);
                stage::load(ring.at(count), map_a, map_b, place.row * TILE_M, place.column * TILE_N,
                            at % steps * TILE_K, ring.full(count));
            }
        return;
    }
    if (CONSUMERS > 1)
        registers_take<CONSUMERS == 2 ? 232 : 160>();
    constexpr unsigned quads = group_product::down * TILE_N / 8; // number of quads per thread
    auto place_of = [&](unsigned block, unsigned place) {
        return partial + ((offset)(2 * block + place) * CONSUMERS + group) * quads * 128 + thread;
    };
    for (unsigned at = begin; at < end;) {
        const unsigned tile = at / steps, from = tile * steps, mine = min(from + steps, end) - at;
        group_product product;
        product.consume(ring, group, mine, count);
        at += mine;
        if (mine < steps) { // other blocks compute parts of this tile
            const unsigned first = from / share, last = (from + steps - 1) / share;
            product.save(place_of(blockIdx.x, blockIdx.x == first));
            group_sync(1 + group, 128);
            // The fences of this thread are between the accesses of its group and the counter, so they order the
            // accesses of the whole group.
            if (thread == 0) {
                __threadfence();
                earlier[group] = atomicInc(counters + tile * CONSUMERS + group, last - first);
                __threadfence();
            }
            group_sync(1 + group, 128);
            if (earlier[group] < last - first)
                continue;
            product.restore(place_of(first, 1));
            for (unsigned block = first + 1; block <= last; ++block)
                product.add_saved(place_of(block, 0));
        }
        const tile_place place = find_tile(tile, tiles_m, tiles_n, walk);
        const unsigned row = place.row * TILE_M + group * group_product::down * 64;
        if (STAGED)
            product.store_staged(map_c, ring.room(), row, place.column * TILE_N);
        else
            product.store(C, row, place.column * TILE_N, M, N);
    }
    if (STAGED && lane_id() == 0)
        tensor_store_wait<0>();
#endif
}
#endif

#if defined(GEMM_SPLIT_K) || !defined(GEMM_ONE)
// One thread of each of `all` blocks waits until all of them have arrived, and then sees their earlier writes.
// `counter` must be 0 before the first call. It counts from 0 to `all` in one call, and back to 0 in the next.
__device__ __forceinline__ void wait_for_all(unsigned *counter, unsigned all)
{
    __threadfence();
    const unsigned turn = atomicInc(counter, 2 * all - 1) / all;
    while (*(volatile unsigned *)counter / all == turn)
        ;
    __threadfence();
}

// This kernel is for few tiles and a long K: SPLIT blocks of a cluster, in each of PARTS clusters, share the steps of
// one tile equally. In stream_k, one block adds all parts of a tile; here each block adds the parts of a share of the
// tile. The two blocks of a cluster read the accumulators from each other's shared memory. Clusters exchange
// accumulators through global memory and wait for each other. Therefore all blocks must be resident together, which a
// cooperative launch guarantees. The kernel adds first the blocks of a cluster in their order, and then the clusters in
// their order. Therefore the result is the same in every run.
//
// A cluster may compute CLUSTER_M x CLUSTER_N tiles. Their blocks share the elements that they read, as in
// wgmma_cluster, so one read from the L2 cache serves several multiprocessors.
//
// The array `partial` has a place for each block's share of its cluster's accumulators. The array `counters` must be 0
// before the first launch, and has one number for each tile and each block of a cluster that takes steps of this tile.
// Both arrays are used only if PARTS > 1.
extern "C" __global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
    gemm_split_k(const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_b, result *C,
                 float4 *partial, unsigned *counters, unsigned M, unsigned N, unsigned K)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(16) unsigned char shared[];
    constexpr unsigned beside = CLUSTER_M * CLUSTER_N; // number of tiles of a cluster
    const ring ring(shared);
    const unsigned group = threadIdx.x / 128, thread = threadIdx.x % 128, steps = ceil_div(K, TILE_K);
    const unsigned m = cluster_rank() % CLUSTER_M, n = cluster_rank() / CLUSTER_M % CLUSTER_N,
                   rank = cluster_rank() / beside; // this block's number among the cluster's blocks of a tile
    const unsigned cluster = blockIdx.x / (SPLIT * beside), part = cluster % PARTS,
                   tile = cluster / PARTS * beside + cluster_rank() % beside;
    const unsigned number = part * SPLIT + rank; // the number of this block among all blocks of the tile
    const unsigned first = INTERLEAVE ? number : steps * number / (SPLIT * PARTS),
                   mine = INTERLEAVE ? ceil_div(steps - number, SPLIT * PARTS)
                                     : steps * (number + 1) / (SPLIT * PARTS) - first;
    const tile_place place = find_tile(cluster / PARTS, ceil_div(M, TILE_M * CLUSTER_M), ceil_div(N, TILE_N * CLUSTER_N), 8);
    const unsigned row = (place.row * CLUSTER_M + m) * TILE_M, column = (place.column * CLUSTER_N + n) * TILE_N;
    if (threadIdx.x == 0)
        ring.make(CONSUMERS * partners::count);
    if (beside > 1)
        cluster_sync(); // the barriers must exist before other blocks copy or arrive
    else
        __syncthreads();
    if (group == CONSUMERS) {
        if (CONSUMERS > 1)
            registers_give<CONSUMERS == 2 ? 40 : 32>();
        if (thread == 0)
            for (unsigned count = 0; count < mine; ++count) {
                const unsigned step = first + count * (INTERLEAVE ? SPLIT * PARTS : 1);
                barrier_wait(ring.empty(count), ring.parity(count) ^ 1);
                stage::load_shares(ring.at(count), map_a, map_b, row, column, step * TILE_K, ring.full(count), m, n,
                                   rank * beside);
            }
        __syncwarp();
        cluster_sync(); // waits until the other blocks have written their accumulators
        cluster_sync();
        return;
    }
    if (CONSUMERS > 1)
        registers_take<CONSUMERS == 2 ? 232 : 160>();
    constexpr unsigned threads = 128 * CONSUMERS, quads = group_product::down * TILE_N / 8, share = quads / SPLIT;
    // The block's share of the tile. A thread has `share` of the quads that it computed, from quad rank * share on.
    float4 *const sums = (float4 *)ring.stages + group * quads * 128 + thread;
    float4 own[share];
    {
        group_product product;
        unsigned count = 0;
        product.consume(ring, group, mine, count, partners(m, n, rank * beside));
        if (SPLIT > 1)
            group_sync(1, threads); // all threads have read the ring
#pragma unroll
        for (unsigned i = 0; i < share; ++i) {
            own[i] = product.quad(i);
            if (SPLIT > 1) {
                const float4 other = product.quad(share + i);
                sums[(rank ? i : share + i) * 128] = rank ? own[i] : other;
                own[i] = rank ? other : own[i];
            }
        }
    }
    cluster_sync();
    if (SPLIT > 1)
#pragma unroll
        for (unsigned i = 0; i < share; ++i)
            group_product::add_quad(own[i], cluster_read(sums + (rank * share + i) * 128,
                                                              (1 - rank) * beside + cluster_rank() % beside));
    cluster_arrive();
    const auto store = [&](float4 quad, unsigned i, unsigned of_group, unsigned of_thread) {
        group_product::store_quad(quad, rank * share + i, of_thread, C, row + of_group * group_product::down * 64, column,
                                  M, N);
    };
    if (PARTS == 1) {
#pragma unroll
        for (unsigned i = 0; i < share; ++i)
            store(own[i], i, group, thread);
    } else {
        constexpr unsigned all = share * threads; // number of quads of a block's share
        float4 *const parts = partial + (offset)(tile * SPLIT + rank) * PARTS * all;
#pragma unroll
        for (unsigned i = 0; i < share; ++i)
            parts[part * all + (group * share + i) * 128 + thread] = own[i];
        group_sync(1, threads);
        // The fences of this thread are between the accesses of its block and the counter, so they order the accesses
        // of the whole block.
        if (threadIdx.x == 0)
            wait_for_all(counters + tile * SPLIT + rank, PARTS);
        group_sync(1, threads);
        const unsigned end = all * (part + 1) / PARTS;
        for (unsigned at = all * part / PARTS + threadIdx.x; at < end; at += threads) {
            float4 quad = __ldcg(parts + at);
#pragma unroll
            for (unsigned other = 1; other < PARTS; ++other)
                group_product::add_quad(quad, __ldcg(parts + other * all + at));
            store(quad, at / 128 % share, at / 128 / share, at % 128);
        }
    }
    __syncwarp();
    cluster_wait(); // waits until the other blocks have read this block's accumulators
#endif
}
#endif
