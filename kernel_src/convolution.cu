// convolution.cu - applies a mask of MASK_H x MASK_W numbers to an image of H x W numbers, in seven ways, in single
// precision.
//
//     y[r][c] = sum over i and j of x[r + i - MASK_H / 2][c + j - MASK_W / 2] * mask[i][j]
//
// The mask is not reversed: signal processing calls this operation a correlation, and neural networks call it a
// convolution. For the other operation, pass the mask with its rows and columns in reverse order. Points outside the
// image are zeros, and the kernels multiply these zeros like any other number. So if the mask has an infinity or a NaN,
// the results at the edges of the image are NaN.
//
// MASK_H and MASK_W are odd. A signal in one dimension is an image of one row, with a mask of one row. All sizes of the
// image below 2^31 are legal, including 0. Offsets have 64 bits. Blocks are numbered in one dimension, first along a
// row of the image. So blocks that run at the same time are neighbours.
//
// All kernels except `separable` add in the same order, row by row of the mask, and round once per multiply-add.
// Therefore the results of these kernels have the same bits. An image of n points needs n multiply-adds for each
// element of the mask, and at least 8 n bytes. On today's GPUs, the bytes take longer than the multiply-adds for masks
// up to about 49 elements. The kernels differ in how each point is read MASK_H * MASK_W times, and in the instructions
// that this takes.
//
// MASK_H and MASK_W are macros, so the compiler unrolls all loops over the mask. The tuning parameters are macros too.
// The engine defines these macros from the spec. The defaults below only let an editor or a compiler parse this file
// alone. A kernel is compiled if its own macro CONVOLUTION_<NAME> is set, or if CONVOLUTION_ONE is not set.

#include "common.cuh"

#ifndef MASK_H
#define MASK_H 5 // number of rows of the mask
#endif
#ifndef MASK_W
#define MASK_W 5 // number of columns of the mask
#endif
#ifndef BLOCK_X
#define BLOCK_X 32 // number of threads of a block along a row of the image
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 8 // number of threads of a block along a column of the image
#endif
#ifndef VECTOR
#define VECTOR 4 // coarsened, separable: number of neighbouring points of a row that each thread computes: 4 or 8
#endif
#ifndef DEPTH
// coarsened, separable: number of rows of the image that a thread holds; as many further rows are in flight
#define DEPTH 2
#endif
#ifndef RESIDENT
#define RESIDENT 512 // coarsened, separable: minimum number of threads whose registers must fit on an SM
#endif
#ifndef PREFETCH
// coarsened, separable: number of rows ahead of the current row whose prefetch to the L2 is in flight; 0: no prefetch
#define PREFETCH 2
#endif

#define RIM_H (MASK_H / 2) // number of rows above and below a point that the mask covers
#define RIM_W (MASK_W / 2)

// The first row and column of a block's tile. Tiles are numbered first along a row of the image.
struct Tile {
    unsigned row, column;
};

__device__ __forceinline__ Tile tile_of_block(unsigned width, unsigned tile_height, unsigned tile_width)
{
    unsigned across = ceil_div(width, tile_width);
    return {blockIdx.x / across * tile_height, blockIdx.x % across * tile_width};
}

// Returns a point of the image, or zero outside it. Rows and columns before the first one are large unsigned numbers.
__device__ __forceinline__ float point(const float *__restrict__ x, unsigned height, unsigned width, unsigned row,
                                       unsigned column)
{
    return row < height && column < width ? x[(offset)row * width + column] : 0.0f;
}

#if !(defined(CONVOLUTION_BASIC) || defined(CONVOLUTION_SEPARABLE)) || !defined(CONVOLUTION_ONE)
__constant__ float mask[MASK_H * MASK_W];
#endif

#if defined(CONVOLUTION_BASIC) || !defined(CONVOLUTION_ONE)
// Each thread computes one point. The image and the mask come from global memory. So each multiply-add needs two loads
// and a test of the edges.
//
// The L1 serves most loads: threads of a warp read neighbours, and all of them read the same element of the mask. The
// bound of the kernel is the throughput of the L1.
extern "C" __global__ void convolution_basic(const float *__restrict__ x, const float *__restrict__ weights,
                                             float *__restrict__ y, unsigned height, unsigned width)
{
    Tile tile = tile_of_block(width, BLOCK_Y, BLOCK_X);
    unsigned row = tile.row + threadIdx.y, column = tile.column + threadIdx.x;
    if (row >= height || column >= width)
        return;
    float sum = 0.0f;
#pragma unroll
    for (unsigned i = 0; i < MASK_H; ++i)
#pragma unroll
        for (unsigned j = 0; j < MASK_W; ++j)
            sum = fmaf(point(x, height, width, row + i - RIM_H, column + j - RIM_W), weights[i * MASK_W + j], sum);
    y[(offset)row * width + column] = sum;
}
#endif

#if defined(CONVOLUTION_CONSTANT_MASK) || !defined(CONVOLUTION_ONE)
// The mask is in constant memory. The elements of the mask are operands of the multiply-adds, so half of the loads are
// gone.
extern "C" __global__ void convolution_constant_mask(const float *__restrict__ x, float *__restrict__ y,
                                                     unsigned height, unsigned width)
{
    Tile tile = tile_of_block(width, BLOCK_Y, BLOCK_X);
    unsigned row = tile.row + threadIdx.y, column = tile.column + threadIdx.x;
    if (row >= height || column >= width)
        return;
    float sum = 0.0f;
#pragma unroll
    for (unsigned i = 0; i < MASK_H; ++i)
#pragma unroll
        for (unsigned j = 0; j < MASK_W; ++j)
            sum = fmaf(point(x, height, width, row + i - RIM_H, column + j - RIM_W), mask[i * MASK_W + j], sum);
    y[(offset)row * width + column] = sum;
}
#endif

#if defined(CONVOLUTION_HALO_STAGED) || !defined(CONVOLUTION_ONE)
// The block's points and the rim around them are copied to shared memory. The block has as many threads as it computes
// points, and each thread loads several points.
//
// Compared with constant_mask, a point comes from global memory 1 + rim / tile times. The edges are tested once per
// load instead of once per multiply-add. A multiply-add needs one load from shared memory, in which the lanes read
// neighbouring banks.
extern "C" __global__ void __launch_bounds__(BLOCK_X *BLOCK_Y)
    convolution_halo_staged(const float *__restrict__ x, float *__restrict__ y, unsigned height, unsigned width)
{
    constexpr unsigned HEIGHT = BLOCK_Y + MASK_H - 1, WIDTH = BLOCK_X + MASK_W - 1;
    __shared__ float staged[HEIGHT][WIDTH];
    Tile tile = tile_of_block(width, BLOCK_Y, BLOCK_X);
    for (unsigned i = threadIdx.y; i < HEIGHT; i += BLOCK_Y)
        for (unsigned j = threadIdx.x; j < WIDTH; j += BLOCK_X)
            staged[i][j] = point(x, height, width, tile.row + i - RIM_H, tile.column + j - RIM_W);
    __syncthreads();
    unsigned row = tile.row + threadIdx.y, column = tile.column + threadIdx.x;
    if (row >= height || column >= width)
        return;
    float sum = 0.0f;
#pragma unroll
    for (unsigned i = 0; i < MASK_H; ++i)
#pragma unroll
        for (unsigned j = 0; j < MASK_W; ++j)
            sum = fmaf(staged[threadIdx.y + i][threadIdx.x + j], mask[i * MASK_W + j], sum);
    y[(offset)row * width + column] = sum;
}
#endif

#if defined(CONVOLUTION_HALO_ALL_THREADS) || !defined(CONVOLUTION_ONE)
// The block has as many threads as points in shared memory. Each thread loads one point, and the threads of the rim
// then end.
//
// Compared with halo_staged, loading needs no loop and has no divergence. But threads are idle after the loads. If the
// mask is large, these are many: a tile of 32 x 32 with a mask of 15 x 15 gives 18 x 18 results.
extern "C" __global__ void __launch_bounds__(BLOCK_X *BLOCK_Y)
    convolution_halo_all_threads(const float *__restrict__ x, float *__restrict__ y, unsigned height, unsigned width)
{
    // rows and columns of results that a block computes
    constexpr unsigned HEIGHT = BLOCK_Y - MASK_H + 1, WIDTH = BLOCK_X - MASK_W + 1;
    __shared__ float staged[BLOCK_Y][BLOCK_X];
    Tile tile = tile_of_block(width, HEIGHT, WIDTH);
    unsigned row = tile.row + threadIdx.y - RIM_H, column = tile.column + threadIdx.x - RIM_W;
    staged[threadIdx.y][threadIdx.x] = point(x, height, width, row, column);
    __syncthreads();
    unsigned top = threadIdx.y - RIM_H, left = threadIdx.x - RIM_W;
    if (top >= HEIGHT || left >= WIDTH || row >= height || column >= width)
        return;
    float sum = 0.0f;
#pragma unroll
    for (unsigned i = 0; i < MASK_H; ++i)
#pragma unroll
        for (unsigned j = 0; j < MASK_W; ++j)
            sum = fmaf(staged[top + i][left + j], mask[i * MASK_W + j], sum);
    y[(offset)row * width + column] = sum;
}
#endif

#if defined(CONVOLUTION_HALO_CACHED) || !defined(CONVOLUTION_ONE)
// Only the inner part of the tile is copied to shared memory, with one load per thread. The rim comes from the caches,
// because it is the inner part of the neighbouring blocks, which have just loaded it.
//
// Compared with the two kernels before, the copy to shared memory is simpler, and no thread is idle. But each
// multiply-add needs a test. Threads near the edges of the tile load from global memory, where warps diverge.
extern "C" __global__ void __launch_bounds__(BLOCK_X *BLOCK_Y)
    convolution_halo_cached(const float *__restrict__ x, float *__restrict__ y, unsigned height, unsigned width)
{
    __shared__ float staged[BLOCK_Y][BLOCK_X];
    Tile tile = tile_of_block(width, BLOCK_Y, BLOCK_X);
    unsigned row = tile.row + threadIdx.y, column = tile.column + threadIdx.x;
    staged[threadIdx.y][threadIdx.x] = point(x, height, width, row, column);
    __syncthreads();
    if (row >= height || column >= width)
        return;
    float sum = 0.0f;
#pragma unroll
    for (unsigned i = 0; i < MASK_H; ++i)
#pragma unroll
        for (unsigned j = 0; j < MASK_W; ++j) {
            unsigned top = threadIdx.y + i - RIM_H, left = threadIdx.x + j - RIM_W;
            float value = top < BLOCK_Y && left < BLOCK_X
                              ? staged[top][left]
                              : point(x, height, width, row + i - RIM_H, column + j - RIM_W);
            sum = fmaf(value, mask[i * MASK_W + j], sum);
        }
    y[(offset)row * width + column] = sum;
}
#endif

#if defined(CONVOLUTION_COARSENED) || defined(CONVOLUTION_SEPARABLE) || !defined(CONVOLUTION_ONE)
// SIDE is the number of vectors of 4 floats that the mask needs on either side of a thread's points. WORDS is the
// number of all such vectors of a row that a thread reads.
#define SIDE ((RIM_W + 3) / 4)
#define WORDS (VECTOR / 4 + 2 * SIDE)

// The points of one row of the image that a thread needs: its own columns and the columns around them.
struct Window {
    float at[4 * WORDS];
};

// The place from which a thread reads. The columns of the window begin at `column`, which may be before the first
// column.
struct Reader {
    const float *from; // address of the window in row `row`
    unsigned row, column;
    unsigned height, width;
    unsigned needed; // rows from this number on are not needed
};

// Reads a row inside the image and advances to the next row. Columns outside the image keep the value that the window
// had before, which is zero. ALIGNED means that each vector of 4 floats is completely inside or outside the image, so
// whole vectors are read. The function also prefetches the thread's own columns in the row that is PREFETCH rows later
// to the L2. A prefetch in flight needs no registers.
template <bool ALIGNED> __device__ __forceinline__ void read_inside(Reader &reader, Window &window)
{
    if (PREFETCH > 0 && ALIGNED && reader.row + PREFETCH < reader.needed)
        prefetch_l2(reader.from + (offset)PREFETCH * reader.width + 4 * SIDE);
#pragma unroll
    for (unsigned i = 0; i < 4 * WORDS; i += ALIGNED ? 4 : 1) {
        if (reader.column + i >= reader.width)
            continue;
        if (ALIGNED)
            unpack(window.at + i, load_quad(reader.from + i));
        else
            window.at[i] = reader.from[i];
    }
    reader.from += reader.width;
    ++reader.row;
}

// Reads any row. A row outside the image is zero.
template <bool ALIGNED> __device__ __forceinline__ void read_row(Reader &reader, Window &window)
{
    if (reader.row < reader.height) {
        read_inside<ALIGNED>(reader, window);
        return;
    }
#pragma unroll
    for (unsigned i = 0; i < 4 * WORDS; ++i)
        window.at[i] = 0.0f;
    reader.from += reader.width;
    ++reader.row;
}

template <bool ALIGNED> __device__ __forceinline__ void write_row(float *to, const float *v, unsigned count)
{
#pragma unroll
    for (unsigned i = 0; i < VECTOR; i += ALIGNED ? 4 : 1) {
        if (i > 0 && i >= count)
            break;
        if (ALIGNED)
            store_quad(to + i, make_float4(v[i], v[i + 1], v[i + 2], v[i + 3]));
        else
            to[i] = v[i];
    }
}

// The loop of coarsened and separable. A thread computes VECTOR columns of `chunk` rows. The thread reads each row of
// the image once, by accesses of 16 bytes. The vectors on either side belong to its neighbours, so they come from the
// L1.
//
// A row of the image contributes to MASK_H rows of the result, whose accumulators are in registers. The accumulator
// sums[i] belongs to that row of the result for which the current row is row i of the mask. With the next row of the
// image, each accumulator moves by one place. The move costs nothing, because the first multiply-add writes to the new
// place. Then the last accumulator is complete, and is written. The type `Add` adds the contribution of a row of the
// image.
template <class Add, bool ALIGNED, unsigned AHEAD>
__device__ __forceinline__ void walk(const float *__restrict__ x, float *__restrict__ y, unsigned height,
                                     unsigned width, unsigned chunk)
{
    Tile tile = tile_of_block(width, chunk, BLOCK_X * VECTOR);
    const unsigned column = tile.column + threadIdx.x * VECTOR;
    if (column >= width)
        return;
    const unsigned first = tile.row - RIM_H, left = column - 4 * SIDE, rows = min(chunk, height - tile.row);
    const unsigned needed = min(height, tile.row + rows + RIM_H);
    Reader reader = {x + ((long long)(int)first * width + (int)left), first, left, height, width, needed};
    float *to = y + ((offset)tile.row * width + column);

    Window windows[AHEAD] = {};
#pragma unroll
    for (unsigned d = 0; d < AHEAD; ++d)
        read_row<ALIGNED>(reader, windows[d]);
    float sums[MASK_H][VECTOR] = {};

    // Row t of this loop is row i of the mask for row t - i of the tile's results.
    const unsigned end = rows + MASK_H - 1;
    for (unsigned t = 0; t < end; t += AHEAD) {
        if (t >= MASK_H - 1 && t + AHEAD <= rows && t + 2 * AHEAD <= end && first + t + 2 * AHEAD <= height) {
            // These rows contribute to MASK_H rows of the tile, and there are AHEAD more rows to read. So no test is
            // needed. Each row is read into its own window while the window before it is used. If both shared a window,
            // the loads would begin only after the last multiply-add.
#pragma unroll
            for (unsigned d = 0; d < AHEAD; ++d) {
                Window ahead = windows[d];
                read_inside<ALIGNED>(reader, ahead);
                Add add(windows[d]);
#pragma unroll
                for (int i = MASK_H - 1; i >= 0; --i)
                    add(i, sums);
                write_row<ALIGNED>(to, sums[MASK_H - 1], width - column);
                to += width;
                windows[d] = ahead;
            }
            continue;
        }
#pragma unroll
        for (unsigned d = 0; d < AHEAD; ++d) {
            if (t + d >= end)
                break;
            Add add(windows[d]);
#pragma unroll
            for (int i = MASK_H - 1; i >= 0; --i)
                if (!Add::SKIPS || t + d - i < rows)
                    add(i, sums);
            if (t + d >= MASK_H - 1) {
                write_row<ALIGNED>(to, sums[MASK_H - 1], width - column);
                to += width;
            }
            if (t + d + AHEAD < end)
                read_row<ALIGNED>(reader, windows[d]);
        }
    }
}

template <class Add>
__device__ __forceinline__ void walk(const float *__restrict__ x, float *__restrict__ y, unsigned height,
                                     unsigned width, unsigned chunk)
{
    if (width % 4 == 0 && is_aligned<16>(x, y))
        walk<Add, true, DEPTH>(x, y, height, width, chunk);
    else
        // in kernels with many small loads per row, one row ahead is enough
        walk<Add, false, 1>(x, y, height, width, chunk);
}
#endif

#if defined(CONVOLUTION_COARSENED) || !defined(CONVOLUTION_ONE)
// Does MASK_W multiply-adds for each row of the mask.
struct AddRow {
    static constexpr bool SKIPS = true; // true: walk() skips the rows of the mask that have no row in the tile
    const Window &window;
    __device__ __forceinline__ explicit AddRow(const Window &row) : window(row)
    {
    }
    __device__ __forceinline__ void operator()(int i, float (&sums)[MASK_H][VECTOR]) const
    {
#pragma unroll
        for (int v = 0; v < VECTOR; ++v) {
            float sum = i > 0 ? sums[i > 0 ? i - 1 : 0][v] : 0.0f;
#pragma unroll
            for (int j = 0; j < MASK_W; ++j)
                sum = fmaf(window.at[4 * SIDE - RIM_W + v + j], mask[i * MASK_W + j], sum);
            sums[i][v] = sum;
        }
    }
};

// A thread computes VECTOR columns of `chunk` rows. It has one row of the image after another in registers.
//
// Compared with halo_staged, the kernel needs no shared memory and no barrier. A row of the image takes a few loads of
// 16 bytes for VECTOR MASK_H MASK_W multiply-adds. The other operand of these is in constant memory. Nearly all issued
// instructions are multiply-adds. Each point is read once, except for MASK_H - 1 rows per chunk.
extern "C" __global__ void __launch_bounds__(BLOCK_X, RESIDENT / BLOCK_X)
    convolution_coarsened(const float *__restrict__ x, float *__restrict__ y, unsigned height, unsigned width,
                          unsigned chunk)
{
    walk<AddRow>(x, y, height, width, chunk);
}
#endif

#if defined(CONVOLUTION_SEPARABLE) || !defined(CONVOLUTION_ONE)
__constant__ float mask_column[MASK_H], mask_row[MASK_W];

// For each row of the image, computes the sum under the mask's row once. For each row of the mask, adds this sum times
// an element of the mask's column.
struct AddSeparable {
    static constexpr bool SKIPS = false; // false, because computing unneeded sums costs less than a test
    float across[VECTOR];
    __device__ __forceinline__ explicit AddSeparable(const Window &window)
    {
#pragma unroll
        for (int v = 0; v < VECTOR; ++v) {
            across[v] = 0.0f;
#pragma unroll
            for (int j = 0; j < MASK_W; ++j)
                across[v] = fmaf(window.at[4 * SIDE - RIM_W + v + j], mask_row[j], across[v]);
        }
    }
    __device__ __forceinline__ void operator()(int i, float (&sums)[MASK_H][VECTOR]) const
    {
#pragma unroll
        for (int v = 0; v < VECTOR; ++v)
            sums[i][v] = fmaf(across[v], mask_column[i], i > 0 ? sums[i > 0 ? i - 1 : 0][v] : 0.0f);
    }
};

// This kernel is for a mask that is a column times a row: mask[i][j] = column[i] * row[j]. It makes both passes at
// once.
//
// Compared with coarsened, the kernel needs MASK_H + MASK_W multiply-adds per point instead of MASK_H MASK_W. The
// results of the first pass never leave the registers.
extern "C" __global__ void __launch_bounds__(BLOCK_X, RESIDENT / BLOCK_X)
    convolution_separable(const float *__restrict__ x, float *__restrict__ y, unsigned height, unsigned width,
                          unsigned chunk)
{
    walk<AddSeparable>(x, y, height, width, chunk);
}
#endif
