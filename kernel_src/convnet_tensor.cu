// convnet_tensor.cu - the convolution layer of convnet.cu in single precision on tensor cores. It is at least as exact.
// The sizes may have any values that the constraints of the spec allow, including 0 images and 0 filters. Offsets have
// 64 bits.
//
// Numbers are split into three bf16 parts as in matmul_tensor.cu. The errors are the same, and so is the treatment of
// numbers that cannot be split (TENSOR.md). There is one difference from matmul_tensor.cu: one factor of the product,
// the unrolled image, is never stored. For the taps of one row of a filter, the columns of this factor are equal, but
// shifted by one place from tap to tap. This holds under two conditions: neighbours in a row of y have consecutive
// numbers, and the zeros at the ends of a row have numbers too:
//
//     number = (row of y * images + image) * PITCH + column of y
//
// Each number has a place of 16 bytes, which holds eight channels of one bf16 part. A tile of points needs a run of
// neighbouring places. Each tap of a row of the filter multiplies this run, but begins at another place. Without a
// swizzle, wgmma takes operands in groups of 8 places of 16 bytes, which may begin at any place. If there is a stride,
// the coordinates with the same remainder (a phase) have their own places. Rows are outermost, so zeros above and below
// an image are not multiplied. The zeros at the end of a row are also the zeros before the next row. So a layer of 56
// x 56 has PITCH = 57.

#include "async.cuh"
#include "common.cuh"
#include "convnet.cuh"
#include "split.cuh"
#include "tensor.cuh"

#ifndef TILE_N
#define TILE_N 136 // number of points that each warp group computes, for 64 filters
#endif
#ifndef CONSUMERS_M
#define CONSUMERS_M 1 // number of warp groups of a block along the filters
#endif
#ifndef CONSUMERS_N
#define CONSUMERS_N 2 // number of warp groups of a block along the points
#endif
#ifndef IN_TURN
// 1: two sets of these warp groups take tiles by turns, so that one set multiplies while the other stores
#define IN_TURN 0
#endif
#ifndef CHUNK
#define CHUNK 16 // number of channels of one step of the loop
#endif
#ifndef WHOLE
#define WHOLE 1 // 1: a step has all taps of the filter; 0: a step has the taps of one row
#endif
#ifndef SUM
#define SUM 64 // number of rows of the unrolled image after which an accumulator leaves the tensor cores, at most
#endif
#ifndef STAGES
#define STAGES 2 // number of steps in shared memory: one is multiplied while the others are copied
#endif
#ifndef SPLITTERS
// number of warps of a block that split x themselves; 0: a separate kernel splits x before this kernel
#define SPLITTERS 7
#endif
#ifndef SPLITS
#define SPLITS 1 // number of parts of each sum; separate blocks compute the parts
#endif
#ifndef RESIDENT
#define RESIDENT 1 // minimum number of blocks whose registers must fit on an SM
#endif

namespace layer
{
enum : unsigned {
    CONSUMERS = CONSUMERS_M * CONSUMERS_N,
    ROWS = 64 * CONSUMERS_M,        // filters of a block
    COLUMNS = TILE_N * CONSUMERS_N, // points of a block
    OCTETS = CHUNK / 8,             // groups of eight channels in a step
    CHUNKS = (GROUP_CHANNELS + CHUNK - 1) / CHUNK,
    ROWS_A_STEP = WHOLE ? FILTER_H : 1, // rows of the filter in one step
    TAPS_A_STEP = ROWS_A_STEP * FILTER_W,
    STEPS = CHUNKS * (FILTER_H / ROWS_A_STEP),
    DOWN = (GROUP_FILTERS + ROWS - 1) / ROWS, // number of blocks along the filters of a group
    // SHIFT_*: the distance from the first tap to the last tap, in places. PHASES*: the number of phases.
    SHIFT_H = (FILTER_H - 1) * DILATION_H / STRIDE_H,
    SHIFT_W = (FILTER_W - 1) * DILATION_W / STRIDE_W,
    PHASES_H = STRIDE_H <= (FILTER_H - 1) * DILATION_H ? STRIDE_H : (FILTER_H - 1) * DILATION_H + 1,
    PHASES_W = STRIDE_W <= (FILTER_W - 1) * DILATION_W ? STRIDE_W : (FILTER_W - 1) * DILATION_W + 1,
    PHASES = PHASES_H * PHASES_W,
    // The zeros before a row are also the zeros after the previous row. The rows of an image share zeros in the same
    // way.
    SHARED_H = (PAD_H < SHIFT_H ? PAD_H : SHIFT_H) * (STRIDE_H == 1),
    SHARED_W = (PAD_W < SHIFT_W ? PAD_W : SHIFT_W) * (STRIDE_W == 1),
    PITCH = OUT_W_1 + SHIFT_W - SHARED_W,
    PITCH_H = OUT_H + SHIFT_H - SHARED_H,               // rows of an image with WHOLE, including zeros
    PHASES_A_STEP = WHOLE ? PHASES : PHASES_W,
    RUN = COLUMNS + SHIFT_W + WHOLE * SHIFT_H * PITCH,  // number of places that a tile needs
    W_BYTES = TAPS_A_STEP * 3 * OCTETS * ROWS * 16,
    RUN_BYTES = RUN * 16,
    X_BYTES = PHASES_A_STEP * 3 * OCTETS * RUN_BYTES,
    STAGE_BYTES = (W_BYTES + X_BYTES + 127) / 128 * 128,
    MOST_TAPS = SUM / CHUNK < 1 ? 1 : SUM / CHUNK,
    TAPS_A_SUM = (TAPS_A_STEP + (TAPS_A_STEP - 1) / MOST_TAPS) / ((TAPS_A_STEP + MOST_TAPS - 1) / MOST_TAPS),
    // For the warps that split: the number of places of a step's runs, the number of places of one thread, and how many
    // of these it loads at once.
    TASKS = PHASES_A_STEP * OCTETS * RUN,
    EACH = SPLITTERS == 0 ? 1 : (TASKS + 32 * SPLITTERS - 1) / (32 * SPLITTERS),
    AT_ONCE = EACH < 6 ? EACH : (EACH + (EACH + 5) / 6 - 1) / ((EACH + 5) / 6),
    ROW_PITCH = NHWC ? WIDTH * CHANNELS : WIDTH, // distance of two rows of x, in elements
    CHANNEL_PITCH = NHWC ? 1 : HEIGHT * WIDTH,
    // the distance in floats between two rows; 8 rows of 2 floats are in different banks
    TURNED_PITCH = 40,
    SETS = IN_TURN ? 2 : 1,
    GROUPS_ALL = CONSUMERS * SETS, // number of warp groups that multiply
    THREADS = 128 * GROUPS_ALL + 32 * (1 + SPLITTERS),
    // For convnet_split: the number of filters of a block. The block holds eight channels of each of these filters.
    HELD = TAPS <= 16 ? 16 : 8,
    HELD_NUMBERS = 8 * TAPS
};

// These functions return the number of points, and the number of places in a phase of eight channels of x.
__device__ __forceinline__ unsigned points_of(unsigned images)
{
    return (WHOLE ? PITCH_H : OUT_H) * images * PITCH;
}

__device__ __forceinline__ unsigned places_of(unsigned images)
{
    return ceil_div(points_of(images), (unsigned)COLUMNS) * COLUMNS + SHIFT_H * (WHOLE ? 1 : images) * PITCH + SHIFT_W;
}

// The position of a point, computed from its number. Numbers after the end of a row, or after the last point, do not
// belong to a point.
struct Point {
    unsigned row, image, column;

    __device__ __forceinline__ Point(unsigned number, unsigned images)
    {
        const unsigned outer = number / PITCH;
        column = number % PITCH;
        row = WHOLE ? outer % PITCH_H : outer / images;
        image = WHOLE ? outer / PITCH_H : outer - row * images;
    }

    __device__ __forceinline__ bool is_there(unsigned images) const
    {
        return row < OUT_H && column < OUT_W && image < images;
    }
};

// Loads eight channels of one place of x. The first of them is channel `channel` of the group, at address `from`. If
// `inside` is false, the place is outside the image, and the function returns zeros.
__device__ __forceinline__ void load_octet(float (&to)[8], const float *from, unsigned channel, bool inside,
                                           bool aligned)
{
#pragma unroll
    for (unsigned c = 0; c < 8; ++c)
        to[c] = 0.0f;
    if (NHWC && GROUP_CHANNELS % 8 == 0 && aligned) {
        const bool there = inside && (GROUP_CHANNELS % CHUNK == 0 || channel < GROUP_CHANNELS);
        load_word<4>(to, from, there, true);
        load_word<4>(to + 4, from + 4, there, true);
    } else {
#pragma unroll
        for (unsigned c = 0; c < 8; ++c)
            to[c] = load_if(from + c * CHANNEL_PITCH,
                            inside && (GROUP_CHANNELS % CHUNK == 0 || channel + c < GROUP_CHANNELS));
    }
}

// Writes the three bf16 parts of eight numbers to three places, which are `apart` places from each other. Numbers that
// cannot be split become NaN.
__device__ __forceinline__ void write_parts(uint4 *to, offset apart, float (&x)[8])
{
#pragma unroll
    for (unsigned i = 0; i < 8; ++i)
        x[i] = is_carried(x[i]) ? x[i] : __uint_as_float(0x7fffffff);
#pragma unroll
    for (unsigned part = 0; part < 3; ++part) {
        unsigned pairs[4];
        take_part(pairs, x);
        to[part * apart] = {pairs[0], pairs[1], pairs[2], pairs[3]};
    }
}

// For HELD filters, writes the bf16 parts of eight channels of all taps. The order of the parts is: group, tile of
// filters, step and tap, and then part, octet of the step and filter. Both the elements of w and the results are
// neighbours, so they go through shared memory.
__device__ __forceinline__ void split_filters(const float *__restrict__ w, uint4 *__restrict__ parts, unsigned block)
{
    __shared__ float held[HELD][HELD_NUMBERS + 1];
    const unsigned octets = CHUNKS * OCTETS, octet = block % octets, pieces = at_least_one(DOWN) * (ROWS / HELD);
    const unsigned first = block / octets % pieces * HELD, group = block / (octets * pieces);
#pragma unroll 5
    for (unsigned i = threadIdx.x; i < HELD * HELD_NUMBERS; i += 256) {
        const unsigned filter = first + i / HELD_NUMBERS, number = i % HELD_NUMBERS;
        const unsigned channel = octet * 8 + (NHWC ? number % 8 : number / TAPS);
        const unsigned tap = NHWC ? number / 8 : number % TAPS;
        const bool inside = filter < GROUP_FILTERS && channel < GROUP_CHANNELS;
        const unsigned all = group * GROUP_FILTERS + filter;
        held[i / HELD_NUMBERS][number] =
            load_if(inside ? w + index_w(all, channel, tap / FILTER_W, tap % FILTER_W) : w, inside);
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < HELD * TAPS; i += 256) {
        const unsigned filter = first + i % HELD, tap = i / HELD;
        float x[8];
#pragma unroll
        for (unsigned c = 0; c < 8; ++c)
            x[c] = held[i % HELD][NHWC ? tap * 8 + c : c * TAPS + tap];
        const offset step = ((offset)(group * DOWN + filter / ROWS) * CHUNKS + octet / OCTETS) * TAPS + tap;
        write_parts(parts + (step * 3 * OCTETS + octet % OCTETS) * ROWS + filter % ROWS, OCTETS * ROWS, x);
    }
}

// Writes the bf16 parts of a phase of eight channels of x. They are ordered by group, octet, phase, part and place.
// Each thread processes one place.
__device__ __forceinline__ void split_image(const float *__restrict__ x, uint4 *__restrict__ parts, unsigned images,
                                            unsigned block)
{
    const unsigned places = places_of(images), across = ceil_div(places, 256u), plane = block / across;
    const unsigned place = block % across * 256 + threadIdx.x;
    if (place >= places)
        return;
    const unsigned phase = plane % PHASES, octet = plane / PHASES % (CHUNKS * OCTETS),
                   group = plane / PHASES / (CHUNKS * OCTETS);
    const Point point(place, images);
    const unsigned row = point.row * STRIDE_H + phase / PHASES_W - PAD_H;
    const unsigned column = point.column * STRIDE_W + phase % PHASES_W - PAD_W;
    const bool inside = row < HEIGHT && column < WIDTH && point.image < images;
    const unsigned channel = octet * 8;
    float value[8];
    load_octet(value, inside ? x + index_x(point.image, group * GROUP_CHANNELS + channel, row, column) : x, channel, inside,
               is_aligned<16>(x));
    write_parts(parts + (offset)plane * 3 * places + place, places, value);
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// The work of a block: a tile, and the steps from `begin` to `end` - 1.
struct Tile {
    unsigned group, down, point0, begin, end, split;
};

// Blocks that differ only in their filters, or in their part of the sum, read the same points. So the number of a block
// counts the filters first, and then the parts.
__device__ __forceinline__ Tile tile_of(unsigned number, unsigned across)
{
    constexpr unsigned PART = (STEPS + SPLITS - 1) / SPLITS;
    Tile tile;
    tile.down = number % at_least_one(DOWN), number /= at_least_one(DOWN);
    tile.split = number % SPLITS, number /= SPLITS;
    tile.point0 = number % across * COLUMNS, tile.group = number / across;
    tile.begin = min(tile.split * PART, STEPS), tile.end = min(tile.begin + PART, STEPS);
    return tile;
}

// The position of a block in the ring. It continues from tile to tile.
struct Ring {
    unsigned stage, parity;

    __device__ __forceinline__ void next()
    {
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        parity ^= stage == 0;
    }

    __device__ __forceinline__ void skip(unsigned steps)
    {
        parity ^= (stage + steps) / STAGES & 1;
        stage = (stage + steps) % STAGES;
    }
};

// One thread copies a tile's steps to the ring. A step has one run of filters. For each part and octet of channels, it
// also has the runs of those phases that a row of the filter needs.
__device__ __forceinline__ void copy_tile(const uint4 *parts_x, const uint4 *parts_w, char *stages, barrier *full,
                                          barrier *empty, const Tile &tile, Ring &ring, unsigned images)
{
    const unsigned places = places_of(images);
    for (unsigned step = tile.begin; step < tile.end; ++step, ring.next()) {
        char *to = stages + ring.stage * STAGE_BYTES;
        const unsigned r = WHOLE ? 0 : step % FILTER_H * DILATION_H, chunk = WHOLE ? step : step / FILTER_H;
        const uint4 *w = parts_w + ((offset)(tile.group * DOWN + tile.down) * STEPS + step) * (W_BYTES / 16);
        const uint4 *x = parts_x + tile.point0 + r / STRIDE_H * images * PITCH;
        barrier_wait(empty + ring.stage, ring.parity ^ 1);
        barrier_expect(full + ring.stage, W_BYTES + (SPLITTERS == 0 ? X_BYTES : 0));
        bulk_load(to, w, W_BYTES, full + ring.stage);
        if (SPLITTERS > 0)
            continue;
        to += W_BYTES;
#pragma unroll
        for (unsigned phase = 0; phase < PHASES_A_STEP; ++phase)
#pragma unroll
            for (unsigned part = 0; part < 3; ++part)
#pragma unroll
                for (unsigned octet = 0; octet < OCTETS; ++octet, to += RUN_BYTES) {
                    const unsigned plane = (tile.group * (CHUNKS * OCTETS) + chunk * OCTETS + octet) * PHASES +
                                           r % STRIDE_H * PHASES_W + phase;
                    bulk_load(to, x + ((offset)plane * 3 + part) * places, RUN_BYTES, full + ring.stage);
                }
    }
}

// The places of x that a thread of the splitting warps writes in each step of a tile.
struct Runs {
    const float *from[EACH]; // address of the element in the first row of the image
    // the row of x under the first row of the filter; if there is no point, a number after the last row
    unsigned row[EACH];

    __device__ __forceinline__ Runs(const float *x, const Tile &tile, unsigned images, unsigned thread)
    {
#pragma unroll
        for (unsigned t = 0; t < EACH; ++t) {
            const unsigned task = t * 32 * SPLITTERS + thread, phase = task / (OCTETS * RUN);
            const Point point(tile.point0 + task % RUN, images);
            const unsigned column = point.column * STRIDE_W + phase % PHASES_W - PAD_W;
            const unsigned channel = tile.group * GROUP_CHANNELS + task / RUN % OCTETS * 8;
            const bool there = task < TASKS && column < WIDTH && point.image < images;
            from[t] = there ? x + index_x(point.image, channel, 0, column) : x;
            row[t] = there ? point.row * STRIDE_H + phase / PHASES_W - PAD_H : 0x80000000;
        }
    }

    // Loads the values of a step's places from place `first` on.
    __device__ __forceinline__ void load(float (&to)[AT_ONCE][8], unsigned first, unsigned step, unsigned thread,
                                         bool aligned) const
    {
        const unsigned chunk = WHOLE ? step : step / FILTER_H, r = WHOLE ? 0 : step % FILTER_H * DILATION_H;
#pragma unroll
        for (unsigned i = 0; i < AT_ONCE; ++i) {
            const unsigned t = first + i < EACH ? first + i : 0; // the last group may have fewer places
            const unsigned octet = (t * 32 * SPLITTERS + thread) / RUN % OCTETS;
            const bool inside = first + i < EACH && row[t] + r < HEIGHT;
            const offset at = (offset)(row[t] + r) * ROW_PITCH + (offset)chunk * CHUNK * CHANNEL_PITCH;
            load_octet(to[i], from[t] + (inside ? at : 0), chunk * CHUNK + octet * 8, inside, aligned);
        }
    }

    // Writes the parts of the loaded places to the stage.
    __device__ __forceinline__ void write(char *stage, float (&values)[AT_ONCE][8], unsigned first,
                                          unsigned thread) const
    {
#pragma unroll
        for (unsigned i = 0; i < AT_ONCE; ++i) {
            const unsigned task = (first + i) * 32 * SPLITTERS + thread, phase = task / (OCTETS * RUN);
            if (first + i < EACH && task < TASKS)
                write_parts((uint4 *)(stage + W_BYTES) + phase * (3 * OCTETS * RUN) + task % (OCTETS * RUN),
                            OCTETS * RUN, values[i]);
        }
    }
};

// The warps that split write the runs of a tile to the ring. The first loads of a step begin before its stage is free,
// to hide their latency.
__device__ __forceinline__ void split_tile(const float *x, char *stages, barrier *full, barrier *empty,
                                           const Tile &tile, Ring &ring, unsigned images, unsigned thread)
{
    const Runs runs(x, tile, images, thread);
    const bool aligned = is_aligned<16>(x);
    for (unsigned step = tile.begin; step < tile.end; ++step, ring.next()) {
#pragma unroll
        for (unsigned first = 0; first < EACH; first += AT_ONCE) {
            float values[AT_ONCE][8];
            runs.load(values, first, step, thread, aligned);
            if (first == 0)
                barrier_wait(empty + ring.stage, ring.parity ^ 1);
            runs.write(stages + ring.stage * STAGE_BYTES, values, first, thread);
        }
        fence_async();
        __syncwarp();
        if (thread % WARP == 0)
            barrier_arrive(full + ring.stage);
    }
}

// Adds one step to the 64 x TILE_N totals of a warp group. The tensor core accumulates TAPS_A_SUM taps at once. `w` and
// `x` are the addresses in the stage of the warp group's filters and points. In each accumulator, the products of
// smaller parts come first.
__device__ __forceinline__ void multiply_step(float (&total)[TILE_N / 2], unsigned w, unsigned x)
{
    const unsigned of_w[6] = {2, 0, 1, 1, 0, 0}, of_x[6] = {0, 2, 1, 0, 1, 0};
    const offset filters = matrix_descriptor<0>(w, ROWS * 16, 128), points = matrix_descriptor<0>(x, RUN_BYTES, 128);
#pragma unroll
    for (unsigned first = 0; first < TAPS_A_STEP; first += TAPS_A_SUM) {
        float sum[TILE_N / 2];
        wgmma_keep(sum);
        wgmma_fence();
#pragma unroll
        for (unsigned product = 0; product < 6; ++product)
#pragma unroll
            for (unsigned tap = first; tap < first + TAPS_A_SUM && tap < TAPS_A_STEP; ++tap)
#pragma unroll
                for (unsigned octet = 0; octet < OCTETS; octet += 2) {
                    const unsigned r = tap / FILTER_W * DILATION_H, s = tap % FILTER_W * DILATION_W;
                    const unsigned phase = r % STRIDE_H * PHASES_W + s % STRIDE_W;
                    const unsigned shift = r / STRIDE_H * PITCH + s / STRIDE_W;
                    wgmma<bf16, TILE_N>::template multiply<false>(
                        sum, descriptor_after(filters, ((tap * 3 + of_w[product]) * OCTETS + octet) * ROWS * 16),
                        descriptor_after(points,
                                         (((phase * 3 + of_x[product]) * OCTETS + octet) * RUN + shift) * 16),
                        product + (tap - first) + octet != 0);
                }
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_keep(sum);
#pragma unroll
        for (unsigned i = 0; i < TILE_N / 2; ++i)
            total[i] += sum[i];
    }
}

// A warp computes 16 filters x TILE_N points by ordinary multiply-adds, because some numbers cannot be split.
__device__ __noinline__ void make_plain(const float *x, const float *w, float *y, unsigned images, Tile tile,
                                        unsigned filter0, unsigned number0)
{
    for (unsigned i = lane_id(); i < 16 * TILE_N; i += WARP) {
        const unsigned filter = filter0 + i / TILE_N;
        const Point point(number0 + i % TILE_N, images);
        if (filter >= GROUP_FILTERS || !point.is_there(images))
            continue;
        float sum = 0.0f;
        for (unsigned step = tile.begin; step < tile.end; ++step) {
            const unsigned first = WHOLE ? 0 : step % FILTER_H, channel0 = (WHOLE ? step : step / FILTER_H) * CHUNK;
            for (unsigned c = channel0; c < channel0 + CHUNK && c < GROUP_CHANNELS; ++c)
                for (unsigned tap = 0; tap < TAPS_A_STEP; ++tap) {
                    const unsigned r = first + tap / FILTER_W, s = tap % FILTER_W;
                    sum = fmaf(image_at(x, point.image, tile.group * GROUP_CHANNELS + c,
                                        point.row * STRIDE_H + r * DILATION_H - PAD_H,
                                        point.column * STRIDE_W + s * DILATION_W - PAD_W),
                               w[index_w(tile.group * GROUP_FILTERS + filter, c, r, s)], sum);
                }
        }
        y[index_y(point.image, tile.group * GROUP_FILTERS + filter, point.row * OUT_W + point.column)] = sum;
    }
}

// Writes a warp's 16 filters x TILE_N points to y, 32 points at a time. Each lane computes the position of one point.
// If channels come first in memory, eight filters at a time go through shared memory, so that a store writes
// neighbouring points of one filter. If channels come last, eight lanes write neighbouring elements.
__device__ __forceinline__ void store_points(float *y, const float (&total)[TILE_N / 2], float *turned, unsigned images,
                                             unsigned group, unsigned filter0, unsigned number0)
{
    const unsigned lane = lane_id(), row = lane / 4, pair = lane % 4 * 2;
#pragma unroll
    for (unsigned column = 0; column < TILE_N; column += WARP) {
        const Point point(number0 + column + lane, images);
        const bool there = point.is_there(images) && column + lane < TILE_N;
        const unsigned place = point.row * OUT_W + point.column,
                       pixel = there ? point.image * POINTS + place : 0xffffffff;
        float *to = y + index_y(point.image, group * GROUP_FILTERS + filter0, place);
#pragma unroll
        for (unsigned half = 0; half < 2; ++half) {
#pragma unroll
            for (unsigned j = 0; j < 4 && column + j * 8 < TILE_N; ++j) {
                const float *sums = total + (column / 2 + 4 * j + 2 * half);
                if (NHWC) {
#pragma unroll
                    for (unsigned i = 0; i < 2; ++i) {
                        const unsigned mine = __shfl_sync(ALL_LANES, pixel, j * 8 + pair + i);
                        const unsigned filter = filter0 + half * 8 + row;
                        if (mine != 0xffffffff && filter < GROUP_FILTERS)
                            y[(offset)mine * FILTERS + group * GROUP_FILTERS + filter] = sums[i];
                    }
                } else {
                    *(float2 *)(turned + row * TURNED_PITCH + j * 8 + pair) = {sums[0], sums[1]};
                }
            }
            if (NHWC)
                continue;
            __syncwarp();
#pragma unroll
            for (unsigned f = 0; f < 8; ++f)
                if (there && filter0 + half * 8 + f < GROUP_FILTERS)
                    to[(offset)(half * 8 + f) * POINTS] = turned[f * TURNED_PITCH + lane];
            __syncwarp();
        }
    }
}
#endif
} // namespace layer

#if __CUDA_ARCH__ >= 800
// The first `filter_blocks` blocks split w. The other blocks split x.
extern "C" __global__ void __launch_bounds__(256)
    convnet_split(const float *__restrict__ x, const float *__restrict__ w, uint4 *__restrict__ parts_x,
                  uint4 *__restrict__ parts_w, unsigned images, unsigned filter_blocks)
{
#if __CUDA_ARCH__ >= 900
    let_next_launch_begin(); // the next kernel may begin on SMs that are free
#endif
    if (blockIdx.x < filter_blocks)
        layer::split_filters(w, parts_w, blockIdx.x);
    else
        layer::split_image(x, parts_x, images, blockIdx.x - filter_blocks);
}
#endif

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// The kernel computes six products of bf16 parts by wgmma. Filters are the rows of the product, and points are its
// columns.
//
// Compared with implicit_gemm, a run of x is copied to shared memory once for all taps of a row of the filter, and no
// thread computes its addresses. One thread issues all copies. Each warp group has two sets of accumulators: the sums
// of a step in the tensor core, and their totals, rounded to nearest. Blocks process one tile after another, so the
// next tile is copied while a tile is stored.
//
// With SPLITTERS, the bf16 parts of x are never in global memory. Instead, more warps read x itself, and neighbouring
// lanes read neighbours of a row. These warps write the parts of a run to the stage. They repeat this work for each row
// of the filter and for each tile of filters. If a layer has few filters, this costs less than writing and reading the
// parts.
extern "C" __global__ void __launch_bounds__(layer::THREADS, RESIDENT)
    convnet_tensor(const uint4 *__restrict__ parts_x, const uint4 *__restrict__ parts_w, const float *__restrict__ x,
                   const float *__restrict__ w, float *__restrict__ y, float *__restrict__ partial, unsigned images,
                   unsigned pixels)
{
    using namespace layer;
    extern __shared__ __align__(128) char ring_bytes[];
    __shared__ barrier full[STAGES], empty[STAGES], passed[SETS];
    const unsigned across = ceil_div(points_of(images), (unsigned)COLUMNS), tiles = across * SPLITS * DOWN * GROUPS;
    const unsigned group = warp_id() / 4;
    if (threadIdx.x == 0) {
        for (unsigned s = 0; s < STAGES; ++s) {
            barrier_init(full + s, 1 + SPLITTERS);
            barrier_init(empty + s, CONSUMERS);
        }
        for (unsigned s = 0; s < SETS; ++s)
            barrier_init(passed + s, CONSUMERS);
        barriers_made();
    }
    __syncthreads();
    Ring ring = {0, 0};
    if (THREADS == 512 && group >= GROUPS_ALL)
        registers_give<80>();
    if (SPLITTERS > 0 && warp_id() > 4 * GROUPS_ALL) {
        for (unsigned number = blockIdx.x; number < tiles; number += gridDim.x)
            split_tile(x, ring_bytes, full, empty, tile_of(number, across), ring, images,
                       threadIdx.x - 32 * (4 * GROUPS_ALL + 1));
        return;
    }
    if (group == GROUPS_ALL) {
        wait_for_launch_before(); // only the copies of this warp depend on the previous launch
        if (lane_id() == 0)
            for (unsigned number = blockIdx.x; number < tiles; number += gridDim.x)
                copy_tile(parts_x, parts_w, ring_bytes, full, empty, tile_of(number, across), ring, images);
        return;
    }
    if (THREADS == 512)
        registers_take<176>();
    const unsigned row = group % CONSUMERS_M * 64, column = group % CONSUMERS / CONSUMERS_M * TILE_N;
    const unsigned set = group / CONSUMERS;
    unsigned turn = 0;
    for (unsigned number = blockIdx.x; number < tiles; number += gridDim.x, ++turn) {
        const Tile tile = tile_of(number, across);
        if (turn % SETS != set) {
            ring.skip(tile.end - tile.begin);
            continue;
        }
        // All stages of the previous tile are full. Therefore this parity can only mean the next use of the barrier, by
        // this tile.
        if (IN_TURN) {
            barrier_wait(passed + (set ^ 1), turn / 2 + set + 1 & 1);
            // One thread arrives for the warp group. In a short tile no wgmma has kept the warps of the group together
            // until this point. Suppose that a warp tested the barrier more than one turn of the other set later. It
            // would wait forever for a phase that is over.
            if (tile.end - tile.begin < 2)
                group_sync(1 + group, 128);
        }
        float total[TILE_N / 2] = {};
        for (unsigned step = tile.begin; step < tile.end; ++step, ring.next()) {
            const unsigned stage = shared_address(ring_bytes + ring.stage * STAGE_BYTES);
            barrier_wait(full + ring.stage, ring.parity);
            if (IN_TURN && step + 1 == tile.end && threadIdx.x % 128 == 0)
                barrier_arrive(passed + set);
            multiply_step(total, stage + row * 16, stage + W_BYTES + column * 16);
            if (threadIdx.x % 128 == 0)
                barrier_arrive(empty + ring.stage);
            __syncwarp();
        }
        if (IN_TURN && tile.begin == tile.end && threadIdx.x % 128 == 0)
            barrier_arrive(passed + set);
        bool carried = true;
#pragma unroll
        for (unsigned i = 0; i < TILE_N / 2; ++i)
            carried &= total[i] == total[i];
        const unsigned filter0 = tile.down * ROWS + row + warp_id() % 4 * 16; // the 16 filters of this warp
        float *to = SPLITS > 1 ? partial + (offset)tile.split * pixels * FILTERS : y;
        if (__all_sync(ALL_LANES, carried))
            store_points(to, total, (float *)(ring_bytes + STAGES * STAGE_BYTES) + warp_id() * 8 * TURNED_PITCH, images,
                         tile.group, filter0, tile.point0 + column);
        else
            make_plain(x, w, to, images, tile, filter0, tile.point0 + column);
    }
}
#endif

// Computes y as the sum of SPLITS arrays of `count` elements. The arrays are added in order.
extern "C" __global__ void convnet_add_splits(const float *__restrict__ partial, float *__restrict__ y, offset count)
{
    add_splits<SPLITS>(partial, y, count);
}
