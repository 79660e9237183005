// convolution.cu - an image of H x W numbers under a mask of MASK_H x MASK_W, seven ways, in single precision.
//
//     y[r][c] = sum over i and j of x[r + i - MASK_H / 2][c + j - MASK_W / 2] * mask[i][j]
//
// The mask is not reversed: this is what signal processing calls a correlation and neural networks a convolution.
// For the other one pass the mask with its rows and columns in reverse. What lies outside the image is a zero that
// is multiplied like any other number: where the mask holds an infinity or a NaN, the edges of the image get NaN.
//
// Extents of the mask are odd. One dimension is a mask of one row, and an image of one. All extents of the image below
// 2^31 are legal, 0 and 1 included; offsets are 64 bits wide. Blocks are numbered in one dimension, across first, so
// that blocks that run at the same time are neighbours.
//
// All kernels but `separable` add in the same order, row by row of the mask, with one rounding a product: their results
// are the same bits. An image of n points takes n multiply-adds for each element of the mask, and 8 n bytes at the
// least. On GPUs of today the bytes take longer up to about 7 x 7; what a kernel is about is that each point is read
// MASK_H * MASK_W times, and that it takes instructions to do so.
//
// MASK_H and MASK_W are macros, so that all loops over the mask are written out, and so are the tuning parameters. A
// spec sets them; the defaults are for an editor or a compiler that is given none. A kernel is compiled where its own
// macro CONVOLUTION_<NAME> is set, or where CONVOLUTION_ONE is not.

#include "common.cuh"

#ifndef MASK_H
#define MASK_H 5 // rows of the mask
#endif
#ifndef MASK_W
#define MASK_W 5 // columns
#endif
#ifndef BLOCK_X
#define BLOCK_X 32 // threads of a block across
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 8 // and down
#endif
#ifndef VECTOR
#define VECTOR 4 // coarsened, separable: neighbours in a row that a thread makes: 4 or 8
#endif
#ifndef DEPTH
#define DEPTH 2 // coarsened, separable: rows of the image that a thread holds, with as many on their way
#endif
#ifndef RESIDENT
#define RESIDENT 512 // coarsened, separable: threads that an SM has registers for, at the least
#endif
#ifndef PREFETCH
#define PREFETCH 2 // coarsened, separable: rows beyond the one being read that are on their way to the L2; 0: none
#endif

#define RIM_H (MASK_H / 2) // rows above and below an image's point that it takes
#define RIM_W (MASK_W / 2)

// The place of a block's tile, numbered across first.
struct Tile {
    unsigned row, column;
};

__device__ __forceinline__ Tile tile_of_block(unsigned width, unsigned tile_height, unsigned tile_width)
{
    unsigned across = ceil_div(width, tile_width);
    return {blockIdx.x / across * tile_height, blockIdx.x % across * tile_width};
}

// A point of the image, or the zero outside. Rows and columns before the first are large unsigned numbers.
__device__ __forceinline__ float point(const float *__restrict__ x, unsigned height, unsigned width, unsigned row,
                                       unsigned column)
{
    return row < height && column < width ? x[(offset)row * width + column] : 0.0f;
}

#if !(defined(CONVOLUTION_BASIC) || defined(CONVOLUTION_SEPARABLE)) || !defined(CONVOLUTION_ONE)
__constant__ float mask[MASK_H * MASK_W];
#endif

#if defined(CONVOLUTION_BASIC) || !defined(CONVOLUTION_ONE)
// A thread a point; image and mask from global memory, two loads and a test of the edges for each multiply-add.
//
// The L1 serves most of it: threads of a warp read neighbours, and all of them the same element of the mask. The kernel
// is bound by its loads' way through the L1.
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
// The mask in constant memory: its elements are operands of the multiply-adds, and half of the loads are gone.
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
// The block's points and the rim around them are staged in shared memory: as many threads as points that are made,
// which load several points each.
//
// Against constant_mask: a point comes from global memory 1 + rim / tile times, and the edges are tested once a load,
// not once a multiply-add. A multiply-add takes one load from shared memory, in neighbouring banks.
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
// As many threads as points that are staged: each loads one, and those of the rim are done with that.
//
// Against halo_staged: no loop and no divergence while loading, but idle threads from then on, and with a large mask
// many of them: a tile of 32 x 32 under 15 x 15 makes 18 x 18 points.
extern "C" __global__ void __launch_bounds__(BLOCK_X *BLOCK_Y)
    convolution_halo_all_threads(const float *__restrict__ x, float *__restrict__ y, unsigned height, unsigned width)
{
    constexpr unsigned HEIGHT = BLOCK_Y - MASK_H + 1, WIDTH = BLOCK_X - MASK_W + 1; // of what is made
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
// Only the inner part is staged, a load a thread. The rim is left to the caches, where the blocks beside, whose inner
// part it is, have just brought it.
//
// Against the two before: the simplest staging and no idle threads, for a test at each multiply-add and, in the threads
// near the tile's edges, loads from global memory: warps diverge there.
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
// Words of 16 bytes on either side of a thread's points that the mask reaches into, and all that a thread reads of a
// row.
#define SIDE ((RIM_W + 3) / 4)
#define WORDS (VECTOR / 4 + 2 * SIDE)

// What a thread needs of one row of the image: its own columns and those around them.
struct Window {
    float at[4 * WORDS];
};

// Where a thread reads: the window's columns begin at `column`, which may lie before the first.
struct Reader {
    const float *from; // the window in `row`
    unsigned row, column;
    unsigned height, width;
    unsigned needed; // rows from here on are not
};

// Reads a row that lies in the image and moves on to the next. Columns outside the image keep what the window holds,
// which is zero. ALIGNED: words may be read whole; each lies in the image or outside it. The thread's own columns of
// the row PREFETCH rows on are set on their way to the L2: what is on its way from memory takes no registers.
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

// Any row: one outside the image is zero.
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

// The walk of coarsened and separable. A thread makes VECTOR columns of `chunk` rows, and reads each row of the image
// once, in words of 16 bytes; those on either side are its neighbours' own, so that they come from the L1.
//
// A row of the image is part of MASK_H rows of the result. Their sums are under way in registers: sums[i] is of the row
// for which the current row is row i of the mask. With the next row each moves on by one place, which costs nothing, as
// it is the first multiply-add that moves it; the last is whole, and written. `Add` is what a row of the image adds.
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

    // Row t of the walk is row i of the mask for row t - i of the tile.
    const unsigned end = rows + MASK_H - 1;
    for (unsigned t = 0; t < end; t += AHEAD) {
        if (t >= MASK_H - 1 && t + AHEAD <= rows && t + 2 * AHEAD <= end && first + t + 2 * AHEAD <= height) {
            // Rows that are part of MASK_H rows of the tile, and AHEAD more to be read: no test is left. Each row has a
            // window of its own to be read into while the current one is in use; read into that one, the row would set
            // out only after the last multiply-add.
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
        walk<Add, false, 1>(x, y, height, width, chunk); // with many small loads a row, one row is enough
}
#endif

#if defined(CONVOLUTION_COARSENED) || !defined(CONVOLUTION_ONE)
// MASK_W multiply-adds for each row of the mask.
struct AddRow {
    static constexpr bool SKIPS = true; // rows of the mask for which there is no row in the tile
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

// VECTOR columns of `chunk` rows a thread, the image's rows in registers one after the other.
//
// Against halo_staged: no shared memory and no barrier; a row of the image takes a few loads of 16 bytes for VECTOR
// MASK_H MASK_W multiply-adds, whose other operand is in constant memory. Next to nothing but multiply-adds is issued,
// and each point is read once, but for MASK_H - 1 rows a chunk.
extern "C" __global__ void __launch_bounds__(BLOCK_X, RESIDENT / BLOCK_X)
    convolution_coarsened(const float *__restrict__ x, float *__restrict__ y, unsigned height, unsigned width,
                          unsigned chunk)
{
    walk<AddRow>(x, y, height, width, chunk);
}
#endif

#if defined(CONVOLUTION_SEPARABLE) || !defined(CONVOLUTION_ONE)
__constant__ float mask_column[MASK_H], mask_row[MASK_W];

// The row is taken under the mask's row once; what comes of it, times an element of the column, for each row of the
// mask.
struct AddSeparable {
    static constexpr bool SKIPS = false; // what no row of the tile needs costs less than a test
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

// For a mask that is a column times a row, mask[i][j] = column[i] * row[j]: both passes in one.
//
// Against coarsened: MASK_H + MASK_W multiply-adds a point in place of MASK_H MASK_W. What lies between the passes
// never leaves the registers.
extern "C" __global__ void __launch_bounds__(BLOCK_X, RESIDENT / BLOCK_X)
    convolution_separable(const float *__restrict__ x, float *__restrict__ y, unsigned height, unsigned width,
                          unsigned chunk)
{
    walk<AddSeparable>(x, y, height, width, chunk);
}
#endif
