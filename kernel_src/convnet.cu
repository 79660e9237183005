// convnet.cu - a convolution layer of a neural network, forward, in single precision.
//
//     y[n][k][p][q] = sum over c, r, s of
//         x[n][c'][p * STRIDE_H + r * DILATION_H - PAD_H][q * STRIDE_W + s * DILATION_W - PAD_W] * w[k][c][r][s]
//
// The array x holds images of CHANNELS x HEIGHT x WIDTH. The array w holds FILTERS filters of CHANNELS / GROUPS x
// FILTER_H x FILTER_W. The array y holds images of FILTERS x OUT_H x OUT_W. In the formula, channel c' of the image is
// channel c of the group that filter k belongs to. With NHWC, the channel is the last index of all three arrays. The
// filter is not reversed. An image is padded with zeros. The kernels multiply these zeros like other numbers. If a
// filter contains an infinity or a NaN, the points where this weight meets the padding become NaN.
//
// All sizes except the number of images are macros. Therefore the compiler turns divisions by them into
// multiplications, and unrolls the loops over a filter. The number of images is an argument. Any size is legal,
// including 0 channels, 0 filters and 0 images. Offsets have 64 bits. A channel of y must have fewer than 2^31 points,
// counted over all images.
//
// A layer is a matrix product: the matrix of the filters, with FILTERS rows of CHANNELS FILTER_H FILTER_W elements,
// times the unrolled image. A column of the unrolled image holds the elements of x that one point of y needs. The
// kernels differ in where they form the unrolled image:
//
// - The kernel direct does not form it.
// - The kernels shared and coarsened keep parts of it in shared memory.
// - The kernel unrolled_gemm writes it to global memory.
// - The kernel implicit_gemm forms it in shared memory, one tile of a matrix product (as in matmul.cu) at a time.
//
// The kernels winograd and fft first transform the images and the filters, so they need fewer multiplications. The
// kernel depthwise is for filters that use one channel only.
//
// Every kernel gives the same bits in every run. The kernels direct, shared, coarsened (with a DEALT of 1),
// unrolled_gemm and depthwise add the same terms in the same order, and round once per term. The other kernels add in
// another order.
//
// The tuning parameters are macros as well. The engine defines these macros from the spec. The defaults below only let
// an editor or a compiler parse this file alone. A kernel is compiled if its own macro CONVNET_<NAME> is set, or if
// CONVNET_ONE is not set.

#include "common.cuh"
#include "convnet.cuh"

#ifndef BLOCK
#define BLOCK 256 // direct, unrolled_gemm: number of threads of a block
#endif
#ifndef BLOCK_X
#define BLOCK_X 16 // shared: width of a block, in threads
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 8 // shared: height of a block, in threads
#endif
#ifndef KERNELS
#define KERNELS 4 // shared: number of filters that a thread applies to the staged points
#endif
#ifndef AT_ONCE
#define AT_ONCE 1 // unrolled_gemm: number of channels of each group that are unrolled at once
#endif
#ifndef TILE
#define TILE 16 // unrolled_gemm: side of the square tiles
#endif
#ifndef TILE_M
#define TILE_M 64 // implicit_gemm: number of filters of a block's tile
#endif
#ifndef TILE_N
#define TILE_N 64 // implicit_gemm: number of points of a block's tile
#endif
#ifndef TILE_K
#define TILE_K 8 // number of channels of a step
#endif
#ifndef THREAD_M
#define THREAD_M 8 // number of filters of a thread; a multiple of 4
#endif
#ifndef THREAD_N
#define THREAD_N 8 // number of points of a thread; a multiple of 4
#endif
#ifndef LANES_M
#define LANES_M 4 // a warp has LANES_M x 32 / LANES_M threads
#endif
#ifndef STAGES
#define STAGES 3 // number of pairs of tiles in shared memory: one pair is multiplied while the others are being copied
#endif
#ifndef RESIDENT
#define RESIDENT 1 // minimum number of blocks whose registers must fit on an SM
#endif
#ifndef SPLITS
#define SPLITS 1 // number of parts of the sum; separate blocks compute each part
#endif
#ifndef PACK
#define PACK 1 // 0: the filters are not repacked, which is possible for NHWC and for filters of one point
#endif

// Stores `count` neighbouring floats (2 or 4) by one store. The address is aligned. The store is written in assembler.
// Otherwise the compiler would merge it with a branch that stores the same numbers one by one, and would use single
// stores for both.
template <unsigned count> __device__ __forceinline__ void store_together(float *to, const float *from)
{
    offset global = __cvta_generic_to_global(to);
    if (count == 4)
        asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(global), "f"(from[0]), "f"(from[1 % count]),
                     "f"(from[2 % count]), "f"(from[3 % count])
                     : "memory");
    else
        asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(global), "f"(from[0]), "f"(from[1 % count]) : "memory");
}

// Does the same as copy_async() of common.cuh, for a shared address that is a number. If a constant is added to this
// number, the addition costs no instruction.
template <unsigned bytes>
__device__ __forceinline__ void copy_to(unsigned to, const float *from, bool inside = true)
{
#if __CUDA_ARCH__ >= 800
    unsigned read = inside ? bytes : 0;
    offset global = __cvta_generic_to_global(from);
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(read) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(global), "r"(read) : "memory");
#endif
}

__device__ __forceinline__ unsigned shared_address(const float *at)
{
    return (unsigned)__cvta_generic_to_shared(at);
}

#if defined(CONVNET_DIRECT) || !defined(CONVNET_ONE)
// In this kernel, each thread computes one point of y, in the order of y. The image and the filter come from global
// memory, so each multiply-add needs two loads.
//
// The threads of a warp read neighbouring elements of one of the two arrays, and the same element of the other array.
// Therefore the L1 cache serves most reads: a point of x is read FILTERS / GROUPS * FILTER_H * FILTER_W times.
extern "C" __global__ void convnet_direct(const float *__restrict__ x, const float *__restrict__ w,
                                          float *__restrict__ y, unsigned images)
{
    offset i = grid_thread<BLOCK>();
    if (i >= (offset)images * FILTERS * POINTS)
        return;
    unsigned filter = (NHWC ? i : i / POINTS_1) % FILTERS_1, point = (NHWC ? i / FILTERS_1 : i) % POINTS_1;
    unsigned image = i / ((offset)FILTERS_1 * POINTS_1), channel0 = filter / GROUP_FILTERS_1 * GROUP_CHANNELS;
    unsigned row0 = point / OUT_W_1 * STRIDE_H - PAD_H, column0 = point % OUT_W_1 * STRIDE_W - PAD_W;
    float sum = 0.0f;
    for (unsigned c = 0; c < GROUP_CHANNELS; ++c)
#pragma unroll
        for (unsigned r = 0; r < FILTER_H; ++r)
#pragma unroll
            for (unsigned s = 0; s < FILTER_W; ++s)
                sum = fmaf(image_at(x, image, channel0 + c, row0 + r * DILATION_H, column0 + s * DILATION_W),
                           w[index_w(filter, c, r, s)], sum);
    y[i] = sum;
}
#endif

#if defined(CONVNET_SHARED) || !defined(CONVNET_ONE)
// In this kernel, a block computes BLOCK_Y x BLOCK_X points of KERNELS channels of y. For one channel of x after the
// other, the block stages the elements of x that these points need, and the filters' weights for this channel, in
// shared memory.
//
// Compared with direct, a block reads a point of x from global memory once for KERNELS filters, and tests the edges of
// the image once. A multiply-add still needs more than one load from shared memory. One load brings a point of the
// image for KERNELS filters. One load per filter brings a weight, which all threads read at once (a broadcast).
extern "C" __global__ void __launch_bounds__(BLOCK_X *BLOCK_Y)
    convnet_shared(const float *__restrict__ x, const float *__restrict__ w, float *__restrict__ y)
{
    constexpr unsigned ROWS = (BLOCK_Y - 1) * STRIDE_H + (FILTER_H - 1) * DILATION_H + 1;
    constexpr unsigned COLUMNS = (BLOCK_X - 1) * STRIDE_W + (FILTER_W - 1) * DILATION_W + 1;
    __shared__ float staged[ROWS][COLUMNS], weights[TAPS][KERNELS];
    constexpr unsigned ACROSS = ceil_div(OUT_W_1, (unsigned)BLOCK_X);
    constexpr unsigned DOWN = ceil_div(POINTS_1 / OUT_W_1, (unsigned)BLOCK_Y);
    // number of blocks that share the filters of a group
    constexpr unsigned PARTS = ceil_div(GROUP_FILTERS_1, (unsigned)KERNELS);
    unsigned across = blockIdx.x % ACROSS, down = blockIdx.x / ACROSS % DOWN, part = blockIdx.x / (ACROSS * DOWN);
    unsigned group = part / PARTS % GROUPS, image = part / (PARTS * GROUPS);
    unsigned filter0 = part % PARTS * KERNELS; // the number, in the group, of the block's first filter
    unsigned row0 = down * BLOCK_Y, column0 = across * BLOCK_X;
    unsigned thread = threadIdx.y * BLOCK_X + threadIdx.x;

    float sums[KERNELS] = {};
    for (unsigned c = 0; c < GROUP_CHANNELS; ++c) {
        for (unsigned i = threadIdx.y; i < ROWS; i += BLOCK_Y)
            for (unsigned j = threadIdx.x; j < COLUMNS; j += BLOCK_X)
                staged[i][j] = image_at(x, image, group * GROUP_CHANNELS + c, row0 * STRIDE_H + i - PAD_H,
                                        column0 * STRIDE_W + j - PAD_W);
        for (unsigned i = thread; i < TAPS * KERNELS; i += BLOCK_X * BLOCK_Y) {
            unsigned tap = i / KERNELS, filter = filter0 + i % KERNELS;
            weights[tap][i % KERNELS] =
                filter < GROUP_FILTERS
                    ? w[index_w(group * GROUP_FILTERS + filter, c, tap / FILTER_W, tap % FILTER_W)]
                    : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (unsigned r = 0; r < FILTER_H; ++r)
#pragma unroll
            for (unsigned s = 0; s < FILTER_W; ++s) {
                float value = staged[threadIdx.y * STRIDE_H + r * DILATION_H][threadIdx.x * STRIDE_W + s * DILATION_W];
#pragma unroll
                for (unsigned k = 0; k < KERNELS; ++k)
                    sums[k] = fmaf(value, weights[r * FILTER_W + s][k], sums[k]);
            }
        __syncthreads();
    }
    unsigned row = row0 + threadIdx.y, column = column0 + threadIdx.x;
    if (row >= OUT_H || column >= OUT_W)
        return;
#pragma unroll
    for (unsigned k = 0; k < KERNELS; ++k)
        if (filter0 + k < GROUP_FILTERS)
            y[index_y(image, group * GROUP_FILTERS + filter0 + k, row * OUT_W + column)] = sums[k];
}
#endif

#if defined(CONVNET_COARSENED) || !defined(CONVNET_ONE)
// In this kernel, a thread computes 4 neighbouring points in each of THREAD_ROWS rows for THREAD_FILTERS filters. It
// reads from shared memory and keeps its accumulators in registers.
//
// Compared with shared, a thread reads larger parts at once. For one row of a filter, it reads THREAD_ROWS windows of 4
// + FILTER_W - 1 points and FILTER_W * THREAD_FILTERS weights, 16 bytes at a time. With these values it does 4 *
// THREAD_ROWS * THREAD_FILTERS * FILTER_W multiply-adds. With 2 rows, 8 filters and a FILTER_W of 3, these are 192
// multiply-adds for ten reads. Meanwhile asynchronous copies bring the next CHUNK channels. The weights of different
// filters are neighbours in shared memory, so a thread reads its weights as whole words of 16 bytes, and all threads of
// a warp read the same words.
//
// If a layer has few points, DEALT groups of threads take the channels of a chunk by turns. The sums of these groups
// are added in a fixed order.
#ifndef QUADS
#define QUADS 14 // number of threads along a row of y
#endif
#ifndef ROW_GROUPS
#define ROW_GROUPS 2 // number of groups of threads along the rows of y
#endif
#ifndef THREAD_ROWS
#define THREAD_ROWS 2 // number of rows of y that a thread computes
#endif
#ifndef FILTER_GROUPS
#define FILTER_GROUPS 8 // number of groups of threads along the filters
#endif
#ifndef THREAD_FILTERS
#define THREAD_FILTERS 8 // number of filters that a thread applies: 4 or 8
#endif
#ifndef CHUNK
#define CHUNK 4 // number of channels that are staged together
#endif
#ifndef DEALT
#define DEALT 1 // number of groups of threads that share the channels of a chunk
#endif

namespace coarsened
{
enum : unsigned {
    PARTNERS = QUADS * ROW_GROUPS * FILTER_GROUPS, // number of threads that add the same channels
    COUNT = PARTNERS * DEALT,
    BLOCK_ROWS = ROW_GROUPS * THREAD_ROWS,
    BLOCK_COLUMNS = QUADS * 4,
    BLOCK_FILTERS = FILTER_GROUPS * THREAD_FILTERS,
    IN_ROWS = (BLOCK_ROWS - 1) * STRIDE_H + (FILTER_H - 1) * DILATION_H + 1,
    IN_COLUMNS = (BLOCK_COLUMNS - 1) * STRIDE_W + (FILTER_W - 1) * DILATION_W + 1,
    PITCH = (IN_COLUMNS + 3) / 4 * 4, // the length of a row, rounded up to whole words of 16 bytes
    WINDOW = 3 * STRIDE_W + (FILTER_W - 1) * DILATION_W + 1,
    WINDOW_WORDS = (WINDOW + 3) / 4,
    FILTER_PITCH = BLOCK_FILTERS + 4, // the gap spreads the words that a warp writes together over the banks
    IMAGE_FLOATS = CHUNK * IN_ROWS * PITCH + 4, // the last window may end in the word after the image
    STAGE_FLOATS = IMAGE_FLOATS + CHUNK * TAPS * FILTER_PITCH,
    ROUNDS = (GROUP_CHANNELS + CHUNK - 1) / CHUNK
};

// The part of y that a block computes.
struct Tile {
    unsigned image, group, filter0, row0, column0;
};

// The values that a thread needs for its copies to shared memory and that stay the same in every round.
#if NHWC
struct Copies {
    const float *x, *w;
    Tile tile;

    __device__ __forceinline__ Copies(const float *image, const float *filters, const Tile &where)
        : x(image), w(filters), tile(where)
    {
    }

    // Begins to copy channels [channel0, channel0 + CHUNK). Elements outside the image or the group become zeros.
    __device__ __forceinline__ void begin(unsigned to, unsigned channel0) const
    {
        for (unsigned i = threadIdx.x; i < CHUNK * IN_ROWS * PITCH; i += COUNT) {
            unsigned c = i % CHUNK, place = i / CHUNK;
            unsigned row = tile.row0 * STRIDE_H + place / PITCH - PAD_H;
            unsigned column = tile.column0 * STRIDE_W + place % PITCH - PAD_W;
            bool inside = row < HEIGHT && column < WIDTH && channel0 + c < GROUP_CHANNELS;
            const float *from =
                inside ? x + index_x(tile.image, tile.group * GROUP_CHANNELS + channel0 + c, row, column) : x;
            copy_to<4>(to + 4 * (c * (IN_ROWS * PITCH) + place), from, inside);
        }
        to += 4 * IMAGE_FLOATS;
        for (unsigned i = threadIdx.x; i < CHUNK * TAPS * BLOCK_FILTERS; i += COUNT) {
            unsigned c = i % CHUNK, tap = i / CHUNK % TAPS, filter = i / (CHUNK * TAPS);
            bool inside = tile.filter0 + filter < GROUP_FILTERS && channel0 + c < GROUP_CHANNELS;
            const float *from = inside ? w + index_w(tile.group * GROUP_FILTERS + tile.filter0 + filter, channel0 + c,
                                                     tap / FILTER_W, tap % FILTER_W)
                                       : w;
            copy_to<4>(to + 4 * ((c * TAPS + tap) * FILTER_PITCH + filter), from, inside);
        }
        copy_async_commit();
    }
};
#else
struct Copies {
    enum : unsigned {
        PLACES = (IN_ROWS * PITCH + COUNT - 1) / COUNT, // number of elements of a channel that one thread copies
        WARPS = COUNT / WARP,                           // number of complete warps, which copy the filters
        FILTERS_EACH = (BLOCK_FILTERS + WARPS - 1) / WARPS,
        ELEMENTS = CHUNK * TAPS // number of elements of a chunk, which are neighbours in w
    };
    static_assert(WARPS > 0, "a block must have a whole warp");
    static_assert(PLACES <= 32, "there is a bit for each");
    const float *from[PLACES]; // for each element, its address in the first channel of the group
    unsigned inside;           // one bit for each element, set if the element is in the image
    const float *w;            // the address of this lane's first element of this warp's first filter
    // the number of filters from this warp's first filter on; every WARPS-th of them is this warp's filter
    int filters;

    __device__ __forceinline__ Copies(const float *x, const float *weights, const Tile &tile) : inside(0)
    {
        const float *image = x + index_x(tile.image, tile.group * GROUP_CHANNELS, 0, 0);
#pragma unroll
        for (unsigned i = 0; i < PLACES; ++i) {
            unsigned place = i * COUNT + threadIdx.x;
            unsigned row = tile.row0 * STRIDE_H + place / PITCH - PAD_H;
            unsigned column = tile.column0 * STRIDE_W + place % PITCH - PAD_W;
            bool there = row < HEIGHT && column < WIDTH;
            from[i] = there ? image + (row * WIDTH + column) : x;
            inside |= (unsigned)there << i;
        }
        const unsigned warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
        w = weights + index_w(tile.group * GROUP_FILTERS + tile.filter0 + warp, 0, 0, 0) + lane;
        filters = warp < WARPS ? (int)(min(GROUP_FILTERS - tile.filter0, (unsigned)BLOCK_FILTERS) - warp) : 0;
    }

    // Begins to copy channels [channel0, channel0 + CHUNK). Elements outside the image or the group become zeros.
    __device__ __forceinline__ void begin(unsigned to, unsigned channel0) const
    {
#pragma unroll
        for (unsigned i = 0; i < PLACES; ++i) {
            if (i * COUNT + threadIdx.x >= IN_ROWS * PITCH)
                break;
            const float *place = from[i] + (offset)channel0 * (HEIGHT * WIDTH);
#pragma unroll
            for (unsigned c = 0; c < CHUNK; ++c)
                copy_to<4>(to + 4 * (i * COUNT + threadIdx.x + c * (IN_ROWS * PITCH)), place + c * (HEIGHT * WIDTH),
                           (inside >> i & 1) && (GROUP_CHANNELS % CHUNK == 0 || channel0 + c < GROUP_CHANNELS));
        }
        const unsigned warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
        to += 4 * (IMAGE_FLOATS + lane * FILTER_PITCH + warp);
        const float *weights = w + channel0 * TAPS;
        const unsigned there = (GROUP_CHANNELS - channel0) * TAPS; // number of remaining elements of a filter
#pragma unroll
        for (unsigned f = 0; f < FILTERS_EACH; ++f) {
            if (warp >= WARPS || warp + f * WARPS >= BLOCK_FILTERS)
                break;
#pragma unroll
            for (unsigned e = 0; e < ELEMENTS; e += WARP)
                if (ELEMENTS % WARP == 0 || e + lane < ELEMENTS)
                    copy_to<4>(to + 4 * (e * FILTER_PITCH + f * WARPS),
                               weights + (offset)f * WARPS * (GROUP_CHANNELS * TAPS) + e,
                               (int)(f * WARPS) < filters && (GROUP_CHANNELS % CHUNK == 0 || e + lane < there));
        }
        copy_async_commit();
    }
};
#endif

typedef float Sums[THREAD_ROWS][4][THREAD_FILTERS];

// Adds the terms of one channel to the thread's accumulators. The pointer `points` points to the thread's first window,
// and `weights` to its first weights.
__device__ __forceinline__ void add_channel(Sums &sums, const float *points, const float *weights)
{
#pragma unroll
    for (unsigned r = 0; r < FILTER_H; ++r) {
        float window[THREAD_ROWS][4 * WINDOW_WORDS];
#pragma unroll
        for (unsigned o = 0; o < THREAD_ROWS; ++o)
#pragma unroll
            for (unsigned word = 0; word < WINDOW_WORDS; ++word)
                unpack(window[o] + 4 * word, load_quad(points + (o * STRIDE_H + r * DILATION_H) * PITCH + 4 * word));
#pragma unroll
        for (unsigned s = 0; s < FILTER_W; ++s) {
            float mine[THREAD_FILTERS];
#pragma unroll
            for (unsigned f = 0; f < THREAD_FILTERS; f += 4)
                unpack(mine + f, load_quad(weights + (r * FILTER_W + s) * FILTER_PITCH + f));
#pragma unroll
            for (unsigned o = 0; o < THREAD_ROWS; ++o)
#pragma unroll
                for (unsigned q = 0; q < 4; ++q)
#pragma unroll
                    for (unsigned f = 0; f < THREAD_FILTERS; ++f)
                        sums[o][q][f] = fmaf(window[o][q * STRIDE_W + s * DILATION_W], mine[f], sums[o][q][f]);
        }
    }
}

// Adds the accumulators of the other groups of threads to the accumulators of the first group, in the order of the
// groups. Each group has added other channels.
__device__ __forceinline__ void add_dealt(Sums &sums, float *shared, unsigned turn, unsigned partner)
{
    constexpr unsigned EACH = THREAD_ROWS * 4 * THREAD_FILTERS;
    float *mine = &sums[0][0][0];
    __syncthreads(); // all threads have read the stages
    float *slot = shared + (turn > 0 ? turn - 1 : 0) * (EACH * PARTNERS) + partner;
    if (turn > 0)
#pragma unroll
        for (unsigned i = 0; i < EACH; ++i)
            slot[i * PARTNERS] = mine[i];
    __syncthreads();
    if (turn > 0)
        return;
#pragma unroll
    for (unsigned other = 0; other + 1 < DEALT; ++other)
#pragma unroll
        for (unsigned i = 0; i < EACH; ++i)
            mine[i] += slot[(other * EACH + i) * PARTNERS];
}
} // namespace coarsened

extern "C" __global__ void __launch_bounds__(coarsened::COUNT)
    convnet_coarsened(const float *__restrict__ x, const float *__restrict__ w, float *__restrict__ y)
{
    using namespace coarsened;
    extern __shared__ float4 two_stages[]; // the type determines the alignment
    float *base = (float *)two_stages;
    constexpr unsigned ACROSS = ceil_div(OUT_W_1, BLOCK_COLUMNS), DOWN = ceil_div(POINTS_1 / OUT_W_1, BLOCK_ROWS);
    constexpr unsigned PARTS = ceil_div(GROUP_FILTERS_1, BLOCK_FILTERS);
    // blocks with neighbouring numbers use the same part of the image
    unsigned part = blockIdx.x % PARTS, rest = blockIdx.x / PARTS;
    coarsened::Tile tile = {rest / (ACROSS * DOWN * GROUPS), rest / (ACROSS * DOWN) % GROUPS, part * BLOCK_FILTERS,
                            rest / ACROSS % DOWN * BLOCK_ROWS, rest % ACROSS * BLOCK_COLUMNS};
    const unsigned turn = threadIdx.x / PARTNERS, partner = threadIdx.x % PARTNERS;
    const unsigned quad = partner % QUADS, rows = partner / QUADS % ROW_GROUPS, filters = partner / (QUADS * ROW_GROUPS);
    const unsigned points = rows * THREAD_ROWS * STRIDE_H * PITCH + quad * 4 * STRIDE_W;
    const unsigned weights = IMAGE_FLOATS + filters * THREAD_FILTERS;

    Sums sums = {};
    const Copies copies(x, w, tile);
    if (ROUNDS > 0)
        copies.begin(shared_address(base), 0);
    for (unsigned round = 0; round < ROUNDS; ++round) {
        copy_async_wait<0>();
        __syncthreads(); // the channels of this round have arrived, and all threads have read the previous stage
        if (round + 1 < ROUNDS)
            copies.begin(shared_address(base + (round + 1) % 2 * STAGE_FLOATS), (round + 1) * CHUNK);
        const float *staged = base + round % 2 * STAGE_FLOATS;
#pragma unroll 1
        for (unsigned c = turn; c < CHUNK; c += DEALT)
            add_channel(sums, staged + points + c * (IN_ROWS * PITCH), staged + weights + c * TAPS * FILTER_PITCH);
    }
    if (DEALT > 1)
        add_dealt(sums, base, turn, partner);
    if (turn > 0)
        return;
    const unsigned column = tile.column0 + quad * 4;
    const bool together = !NHWC && OUT_W % 4 == 0 && is_aligned<16>(y);
#pragma unroll
    for (unsigned o = 0; o < THREAD_ROWS; ++o) {
        const unsigned row = tile.row0 + rows * THREAD_ROWS + o;
        if (row >= OUT_H || column >= OUT_W)
            break;
#pragma unroll
        for (unsigned f = 0; f < THREAD_FILTERS; ++f) {
            const unsigned filter = tile.filter0 + filters * THREAD_FILTERS + f;
            if (filter >= GROUP_FILTERS)
                break;
            if (together) {
                store_quad(y + index_y(tile.image, tile.group * GROUP_FILTERS + filter, row * OUT_W + column),
                           make_float4(sums[o][0][f], sums[o][1][f], sums[o][2][f], sums[o][3][f]));
                continue;
            }
#pragma unroll
            for (unsigned q = 0; q < 4; ++q)
                if (column + q < OUT_W)
                    y[index_y(tile.image, tile.group * GROUP_FILTERS + filter, row * OUT_W + column + q)] =
                        sums[o][q][f];
        }
    }
}
#endif

#if defined(CONVNET_UNROLLED_GEMM) || !defined(CONVNET_ONE)
// These two kernels keep the unrolled image in global memory. They process AT_ONCE channels of each group at a time,
// because the whole unrolled image would be FILTER_H * FILTER_W times as large as x. The first kernel unrolls. The
// second kernel adds the product of the filters and the unrolled image to y.
//
// Compared with shared, both kernels are simple, and the second kernel is an ordinary matrix product. But each element
// of the unrolled image is written and read again, and for every AT_ONCE channels all of y is read and written again.
//
// A row of `unrolled` belongs to one tap (one element of the filter) of one channel. The rows of a group are adjacent.
// The columns are the points of all images.
extern "C" __global__ void convnet_unroll(const float *__restrict__ x, float *__restrict__ unrolled, unsigned columns,
                                          unsigned round)
{
    unsigned blocks = ceil_div(columns, (unsigned)BLOCK); // number of blocks per row
    unsigned row = blockIdx.x / blocks, column = blockIdx.x % blocks * BLOCK + threadIdx.x;
    if (column >= columns)
        return;
    unsigned tap = row % TAPS, channel = round * AT_ONCE + row / TAPS % AT_ONCE, group = row / (TAPS * AT_ONCE);
    unsigned image = column / POINTS_1, point = column % POINTS_1;
    float value = 0.0f;
    if (channel < GROUP_CHANNELS)
        value = image_at(x, image, group * GROUP_CHANNELS + channel,
                         point / OUT_W_1 * STRIDE_H + tap / FILTER_W * DILATION_H - PAD_H,
                         point % OUT_W_1 * STRIDE_W + tap % FILTER_W * DILATION_W - PAD_W);
    unrolled[(offset)row * columns + column] = value;
}

// Computes y += filters * unrolled, in tiles of TILE x TILE. The first round starts from zeros instead of y.
extern "C" __global__ void __launch_bounds__(TILE *TILE)
    convnet_add_product(const float *__restrict__ unrolled, const float *__restrict__ w, float *__restrict__ y,
                        unsigned columns, unsigned round)
{
    constexpr unsigned ROWS = AT_ONCE * TAPS, DOWN = ceil_div(GROUP_FILTERS_1, (unsigned)TILE);
    __shared__ float tile_w[TILE][TILE], tile_u[TILE][TILE];
    unsigned group = blockIdx.x / DOWN % GROUPS, i = threadIdx.y, j = threadIdx.x;
    unsigned filter = blockIdx.x % DOWN * TILE + i, column = blockIdx.x / (DOWN * GROUPS) * TILE + j;
    unsigned image = column / POINTS_1, point = column % POINTS_1;
    bool inside = filter < GROUP_FILTERS && column < columns;
    float *to = y + index_y(image, group * GROUP_FILTERS + filter, point);
    float sum = round > 0 && inside ? *to : 0.0f;
    for (unsigned k0 = 0; k0 < ROWS; k0 += TILE) {
        unsigned tap = (k0 + j) % TAPS, channel = round * AT_ONCE + (k0 + j) / TAPS;
        tile_w[i][j] = k0 + j < ROWS && channel < GROUP_CHANNELS && filter < GROUP_FILTERS
                           ? w[index_w(group * GROUP_FILTERS + filter, channel, tap / FILTER_W, tap % FILTER_W)]
                           : 0.0f;
        tile_u[i][j] =
            k0 + i < ROWS && column < columns ? unrolled[(offset)(group * ROWS + k0 + i) * columns + column] : 0.0f;
        __syncthreads();
#pragma unroll
        for (unsigned k = 0; k < TILE; ++k)
            if (k0 + k < ROWS)
                sum = fmaf(tile_w[i][k], tile_u[k][j], sum);
        __syncthreads();
    }
    if (inside)
        *to = sum;
}
#endif

#if defined(CONVNET_PRODUCT) || !defined(CONVNET_ONE)
// The kernels that compute tiles of a matrix product share the following code. A block computes TILE_M x TILE_N
// results, and a thread computes THREAD_M x THREAD_N of them, as in the kernel `coarsened` of matmul.cu. Shared memory
// holds STAGES pairs of tiles. While one pair is multiplied, asynchronous copies fill the others. The type `Source`
// begins these copies, because it knows the addresses of the matrices.

#define THREADS ((TILE_M / THREAD_M) * (TILE_N / THREAD_N))
#define LANES_N (32 / LANES_M)
#define WARPS_N (TILE_N / (LANES_N * THREAD_N))
#define A_FLOATS (TILE_K * TILE_M + (PACK ? 0 : 32))

// number of chunks of TILE_K channels; the last chunk is filled up with zeros
constexpr unsigned CHUNKS = ceil_div(GROUP_CHANNELS, (unsigned)TILE_K);
constexpr unsigned PACKED_FILTERS = ceil_div(GROUP_FILTERS, (unsigned)TILE_M) * TILE_M;

static_assert(TILE_K % 4 == 0 && 128 % TILE_K == 0, "TILE_K must be 4, 8, 16 or 32");
static_assert(THREAD_M % 4 == 0 && THREAD_N % 4 == 0, "a thread's results come in squares of 4 x 4");
static_assert(TILE_M % (LANES_M * THREAD_M) == 0 && TILE_N % (LANES_N * THREAD_N) == 0, "whole warps must fill a tile");

// Returns the offset of row k in a tile. If threads write columns of four rows at a time, a gap follows every fourth
// row. It spreads the words that a warp writes together over all 32 banks.
template <unsigned TILE_FLOATS, bool TURNED> __device__ __forceinline__ constexpr unsigned row_at(unsigned k)
{
    return k * TILE_FLOATS + (TURNED ? k / 4 * (128 / TILE_K) : 0);
}

template <bool TURNED> struct Stage {
    enum : unsigned { FLOATS = A_FLOATS + TILE_K * TILE_N + (TURNED ? 32 : 0) };
};

// The elements that a thread needs from row k of both tiles.
struct Strip {
    float a[THREAD_M], b[THREAD_N];
};

__device__ __forceinline__ void read_strip(Strip &strip, const float *a, const float *b)
{
#pragma unroll
    for (unsigned i = 0; i < THREAD_M; i += 4)
        unpack(strip.a + i, load_quad(a + i * LANES_M));
#pragma unroll
    for (unsigned j = 0; j < THREAD_N; j += 4)
        unpack(strip.b + j, load_quad(b + j * LANES_N));
}

__device__ __forceinline__ void multiply_strip(float (&sum)[THREAD_M][THREAD_N], const Strip &strip)
{
#pragma unroll
    for (unsigned i = 0; i < THREAD_M; ++i)
#pragma unroll
        for (unsigned j = 0; j < THREAD_N; ++j)
            sum[i][j] = fmaf(strip.a[i], strip.b[j], sum[i][j]);
}

// The results of a thread form squares of 4 x 4. The squares are LANES_M * 4 rows and LANES_N * 4 columns apart, so
// that the lanes of a warp read neighbouring quads (groups of four floats). The functions first_m() and first_n()
// return the row and the column of the thread's first result in the tile. The function row_of(i) returns the distance
// of the thread's row i from its first row.
__device__ __forceinline__ unsigned first_m()
{
    return warp_id() / WARPS_N * (LANES_M * THREAD_M) + lane_id() / LANES_N * 4;
}

__device__ __forceinline__ unsigned row_of(unsigned i)
{
    return i / 4 * (LANES_M * 4) + i % 4;
}

__device__ __forceinline__ unsigned first_n()
{
    return warp_id() % WARPS_N * (LANES_N * THREAD_N) + lane_id() % LANES_N * 4;
}

// Multiplies one pair of tiles. `a` and `b` point to the thread's first elements.
template <bool TURNED>
__device__ __forceinline__ void multiply_tiles(float (&sum)[THREAD_M][THREAD_N], const float *a, const float *b)
{
    Strip now, next;
    read_strip(now, a, b);
#pragma unroll
    for (unsigned k = 0; k < TILE_K; ++k) {
        if (k + 1 < TILE_K) // the hardware does these reads during the multiply-adds
            read_strip(next, a + row_at<TILE_M, !PACK>(k + 1), b + row_at<TILE_N, TURNED>(k + 1));
        multiply_strip(sum, now);
        now = next;
    }
}

// Adds the steps [begin, end) of the source to the thread's accumulators. It requests the steps from the source in this
// order.
template <class Source>
__device__ __forceinline__ void add_steps(Source &source, unsigned begin, unsigned end,
                                          float (&sum)[THREAD_M][THREAD_N])
{
    extern __shared__ float4 stages[]; // the type determines the alignment
    float *base = (float *)stages;
    constexpr unsigned FLOATS = Stage<Source::TURNED>::FLOATS;
    const unsigned m = first_m(), n = first_n();
#pragma unroll
    for (unsigned i = 0; i < STAGES - 1; ++i) {
        if (begin + i < end) {
            source.fetch(begin + i, base + i * FLOATS);
            source.land(base + i * FLOATS);
        }
        copy_async_commit();
    }
    unsigned reading = 0, writing = STAGES - 1;
    for (unsigned step = begin; step < end; ++step) {
        copy_async_wait<STAGES - 2>();
        // the tiles of this step have arrived, and all threads have read the tiles of the previous step
        __syncthreads();
        const bool more = step + STAGES - 1 < end;
        float *to = base + writing * FLOATS;
        if (more)
            source.fetch(step + STAGES - 1, to);
        copy_async_commit();
        const float *a = base + reading * FLOATS + m, *b = base + reading * FLOATS + A_FLOATS + n;
        multiply_tiles<Source::TURNED>(sum, a, b);
        if (more)
            source.land(to);
        reading = reading + 1 == STAGES ? 0 : reading + 1;
        writing = writing + 1 == STAGES ? 0 : writing + 1;
    }
}

// A source of tiles of TILE_K rows from a matrix whose rows are `pitch` floats apart. The tiles lie one below the
// other, and each tile consists of TILE_FLOATS elements of each row. All rows exist and are aligned to 16 bytes.
template <unsigned TILE_FLOATS> struct Rows {
    static constexpr unsigned WORDS_OF_ROW = TILE_FLOATS / 4, ROWS_AT_ONCE = THREADS / WORDS_OF_ROW;
    static_assert(THREADS % WORDS_OF_ROW == 0 && TILE_K % ROWS_AT_ONCE == 0, "a thread's copies must lie below each other");
    const float *from; // the address of the first element of the next tile that this thread copies
    offset pitch;

    __device__ __forceinline__ Rows(const float *tile, offset row_floats)
        : from(tile + (threadIdx.x / WORDS_OF_ROW) * row_floats + threadIdx.x % WORDS_OF_ROW * 4), pitch(row_floats)
    {
    }

    __device__ __forceinline__ void copy(unsigned to)
    {
        to += threadIdx.x * 16;
#pragma unroll
        for (unsigned i = 0; i < TILE_K / ROWS_AT_ONCE; ++i)
            copy_to<16>(to + i * THREADS * 16, from + i * ROWS_AT_ONCE * pitch);
        from += TILE_K * pitch;
    }
};
#endif

#if defined(CONVNET_IMPLICIT_GEMM) || !defined(CONVNET_ONE)
// In this kernel, the unrolled image is never stored as a whole. A block forms each tile of it while it copies from
// global to shared memory.
//
// Compared with unrolled_gemm, x is read once and y is written once, and nearly all issued instructions are
// multiply-adds. A step is TILE_K channels of one tap of the filter, so one test tells a thread whether a point is in
// the image for all these channels. The steps of all taps of the same channels follow each other, so that they find
// these channels in the L1 cache. The separate kernel convnet_pack brings the filters into the order of these steps. It
// stores them tile by tile, row by row, and adds zeros after the last channel and the last filter. Without PACK,
// threads read the filters in their original order, through registers.
//
// If a layer has few points, a SPLITS above 1 cuts the sum over the channels and taps into parts. Separate blocks
// compute each part, and a last kernel adds the parts in order.
constexpr unsigned STEPS = CHUNKS * TAPS;

// Writes the packed filters: for each group, STEPS * TILE_K rows of PACKED_FILTERS elements. The kernel transposes a
// tile of 32 filters x 32 elements in shared memory. Blocks have 32 x 8 threads.
extern "C" __global__ void convnet_pack(const float *__restrict__ w, float *__restrict__ packed)
{
    constexpr unsigned ELEMENTS = STEPS * TILE_K, ACROSS = ceil_div(at_least_one(ELEMENTS), 32u);
    constexpr unsigned DOWN = at_least_one(ceil_div(PACKED_FILTERS, 32u)), CHANNELS_ALL = at_least_one(CHUNKS * TILE_K);
    __shared__ float tile[32][33];
    unsigned across = blockIdx.x % ACROSS, down = blockIdx.x / ACROSS % DOWN, group = blockIdx.x / (ACROSS * DOWN);
    for (unsigned i = threadIdx.y; i < 32; i += 8) { // number of the element in the order of w
        unsigned element = across * 32 + threadIdx.x, filter = down * 32 + i;
        unsigned channel = NHWC ? element % CHANNELS_ALL : element / TAPS;
        unsigned tap = NHWC ? element / CHANNELS_ALL : element % TAPS;
        tile[i][threadIdx.x] =
            element < ELEMENTS && channel < GROUP_CHANNELS && filter < GROUP_FILTERS
                ? w[index_w(group * GROUP_FILTERS + filter, channel, tap / FILTER_W, tap % FILTER_W)]
                : 0.0f;
    }
    __syncthreads();
    for (unsigned i = threadIdx.y; i < 32; i += 8) {
        unsigned element = across * 32 + i, filter = down * 32 + threadIdx.x;
        unsigned channel = NHWC ? element % CHANNELS_ALL : element / TAPS;
        unsigned tap = NHWC ? element / CHANNELS_ALL : element % TAPS;
        unsigned row = (channel / TILE_K * TAPS + tap) * TILE_K + channel % TILE_K;
        if (element < ELEMENTS && filter < PACKED_FILTERS)
            packed[((offset)group * ELEMENTS + row) * PACKED_FILTERS + filter] = tile[threadIdx.x][i];
    }
}

// A point of y, counted over all images, represented by the position in x of the element under the filter's first tap.
struct Place {
    const float *at; // the address may lie before the image
    unsigned row, column;
};

__device__ __forceinline__ Place place_of(const float *x, unsigned group, unsigned pixel, unsigned pixels)
{
    unsigned image = pixel / POINTS_1, point = pixel % POINTS_1;
    unsigned row = point / OUT_W_1 * STRIDE_H - PAD_H, column = point % OUT_W_1 * STRIDE_W - PAD_W;
    long long in_image = ((long long)(int)row * WIDTH + (int)column) * (NHWC ? CHANNELS : 1);
    Place place = {x + ((long long)index_x(image, group * GROUP_CHANNELS, 0, 0) + in_image), row, column};
    if (pixel >= pixels)
        // with this number, the row is outside the image under every tap
        place.row = 0x80000000u - FILTER_H * DILATION_H;
    return place;
}

// Reads four channels, beginning with `channel`. Channels after the last channel of the group become zeros.
__device__ __forceinline__ float4 read_channels(const float *from, unsigned channel, bool aligned)
{
    float4 quad = {0.0f, 0.0f, 0.0f, 0.0f};
    if (aligned) {
        if (channel < GROUP_CHANNELS)
            quad = load_quad(from);
        return quad;
    }
    if (channel + 0 < GROUP_CHANNELS)
        quad.x = from[0];
    if (channel + 1 < GROUP_CHANNELS)
        quad.y = from[1];
    if (channel + 2 < GROUP_CHANNELS)
        quad.z = from[2];
    if (channel + 3 < GROUP_CHANNELS)
        quad.w = from[3];
    return quad;
}

// Writes four rows of one column of a tile, beginning with row k, which is a multiple of four.
template <unsigned TILE_FLOATS>
__device__ __forceinline__ void write_column(float *tile, unsigned k, unsigned column, float4 quad)
{
    float *at = tile + row_at<TILE_FLOATS, true>(k) + column;
    at[0 * TILE_FLOATS] = quad.x;
    at[1 * TILE_FLOATS] = quad.y;
    at[2 * TILE_FLOATS] = quad.z;
    at[3 * TILE_FLOATS] = quad.w;
}

// The source of the filters of a tile. With PACK, the filters have the order that convnet_pack wrote. Otherwise the
// channels of a tap are neighbours in w, and a thread reads four channels of a filter at once and writes them to four
// rows of the tile.
#if PACK
struct Filters {
    Rows<TILE_M> rows;

    __device__ __forceinline__ Filters(const float *, const float *packed, unsigned group, unsigned filter0, unsigned step)
        : rows(packed + ((offset)group * STEPS + step) * TILE_K * PACKED_FILTERS + filter0, PACKED_FILTERS)
    {
    }

    __device__ __forceinline__ void fetch(unsigned, float *tiles)
    {
        rows.copy(shared_address(tiles));
    }

    __device__ __forceinline__ void land(float *) {}
};
#else
struct Filters {
    // the number of threads along the channels, and along the filters
    static constexpr unsigned ACROSS = TILE_K / 4, DOWN = THREADS / ACROSS;
    static constexpr unsigned LOADS = TILE_M / DOWN;
    static_assert((NHWC || TAPS == 1) && LOADS * DOWN == TILE_M, "the channels of a tap must be neighbours");
    const float *from;
    unsigned there; // number of filters from this thread's first filter to the end of the group
    bool aligned;
    float4 held[LOADS];

    __device__ __forceinline__ Filters(const float *w, const float *, unsigned group, unsigned filter0, unsigned)
        : there(GROUP_FILTERS - min(filter0 + threadIdx.x / ACROSS, (unsigned)GROUP_FILTERS)),
          aligned(is_aligned<16>(w) && GROUP_CHANNELS % 4 == 0)
    {
        from = w + (offset)(group * GROUP_FILTERS + filter0 + threadIdx.x / ACROSS) * (TAPS * GROUP_CHANNELS);
    }

    __device__ __forceinline__ void fetch(unsigned step, float *)
    {
        const unsigned channel = step / TAPS * TILE_K + threadIdx.x % ACROSS * 4;
#pragma unroll
        for (unsigned i = 0; i < LOADS; ++i) {
            const float *quad = from + ((offset)i * DOWN * TAPS + step % TAPS) * GROUP_CHANNELS + channel;
            held[i] = read_channels(quad, i * DOWN < there ? channel : GROUP_CHANNELS, aligned);
        }
    }

    __device__ __forceinline__ void land(float *tiles)
    {
#pragma unroll
        for (unsigned i = 0; i < LOADS; ++i)
            write_column<TILE_M>(tiles, threadIdx.x % ACROSS * 4, i * DOWN + threadIdx.x / ACROSS, held[i]);
    }
};
#endif

// If channels are first, neighbouring threads copy neighbouring points of one channel, four bytes each. If a filter is
// a single point and the image has no padding, they copy 16 bytes each.
struct ChannelsFirst {
    static constexpr bool TURNED = false;
    static constexpr bool PLAIN = TAPS == 1 && STRIDE_H == 1 && STRIDE_W == 1 && PAD_H == 0 && PAD_W == 0 &&
                                  POINTS % 4 == 0; // x is a matrix whose rows are channels
    static constexpr unsigned WIDE = PLAIN ? TILE_N / 4 : TILE_N; // number of copies for a row
    static constexpr unsigned PLACES = WIDE > THREADS ? WIDE / THREADS : 1;
    static constexpr unsigned ROWS_AT_ONCE = WIDE > THREADS ? 1 : THREADS / WIDE;
    Filters filters;
    const float *x;
    Place places[PLACES];
    // first row of the tile that this thread copies, or 0 if the thread copies several points of each row
    unsigned row0;
    bool aligned;

    __device__ __forceinline__ ChannelsFirst(const Filters &of_tile, const float *from, unsigned group, unsigned pixel0,
                                             unsigned pixels)
        : filters(of_tile), x(from), row0(threadIdx.x / WIDE), aligned(is_aligned<16>(from))
    {
#pragma unroll
        for (unsigned i = 0; i < PLACES; ++i)
            places[i] = place_of(x, group, pixel0 + (threadIdx.x % WIDE + i * THREADS) * (PLAIN ? 4 : 1), pixels);
    }

    __device__ __forceinline__ void fetch(unsigned step, float *tiles)
    {
        const unsigned column_bytes = PLAIN ? 16 : 4;
        filters.fetch(step, tiles);
        unsigned to = shared_address(tiles) + 4 * (A_FLOATS + row0 * TILE_N) + threadIdx.x % WIDE * column_bytes;
        const unsigned tap = step % TAPS, r = tap / FILTER_W, s = tap % FILTER_W;
        const unsigned channel0 = step / TAPS * TILE_K + row0;
#pragma unroll
        for (unsigned i = 0; i < PLACES; ++i, to += THREADS * column_bytes) {
            const bool covered = places[i].row + r * DILATION_H < HEIGHT && places[i].column + s * DILATION_W < WIDTH;
            const float *from = covered ? places[i].at + (r * DILATION_H * WIDTH + s * DILATION_W) : x;
            from += (offset)channel0 * (HEIGHT * WIDTH);
#pragma unroll
            for (unsigned k = 0; k < TILE_K; k += ROWS_AT_ONCE) {
                bool inside = covered && (GROUP_CHANNELS % TILE_K == 0 || channel0 + k < GROUP_CHANNELS);
                copy_place(to + 4 * k * TILE_N, from + (offset)k * (HEIGHT * WIDTH), inside);
            }
        }
    }

    __device__ __forceinline__ void copy_place(unsigned to, const float *from, bool inside)
    {
        if (!PLAIN)
            copy_to<4>(to, from, inside);
        else if (aligned)
            copy_to<16>(to, from, inside);
        else
#pragma unroll
            for (unsigned q = 0; q < 4; ++q)
                copy_to<4>(to + 4 * q, from + q, inside);
    }

    __device__ __forceinline__ void land(float *tiles)
    {
        filters.land(tiles);
    }
};

// If channels are last, a thread reads four channels of one point at once. It keeps them in registers until it writes
// them to four rows of the tile.
struct ChannelsLast {
    static constexpr bool TURNED = true;
    static constexpr unsigned LOADS = TILE_K * TILE_N / 4 / THREADS;
    Filters filters;
    Place places[LOADS];
    float4 held[LOADS];
    bool aligned;

    __device__ __forceinline__ ChannelsLast(const Filters &of_tile, const float *x, unsigned group, unsigned pixel0,
                                            unsigned pixels)
        : filters(of_tile), aligned(is_aligned<16>(x) && CHANNELS % 4 == 0 && GROUP_CHANNELS % 4 == 0)
    {
#pragma unroll
        for (unsigned i = 0; i < LOADS; ++i)
            places[i] = place_of(x, group, pixel0 + (i * THREADS + threadIdx.x) / (TILE_K / 4), pixels);
    }

    __device__ __forceinline__ void fetch(unsigned step, float *tiles)
    {
        filters.fetch(step, tiles);
        const unsigned tap = step % TAPS, r = tap / FILTER_W, s = tap % FILTER_W;
        const unsigned channel = step / TAPS * TILE_K + threadIdx.x % (TILE_K / 4) * 4;
#pragma unroll
        for (unsigned i = 0; i < LOADS; ++i) {
            const float *from = places[i].at + (offset)(r * DILATION_H * WIDTH + s * DILATION_W) * CHANNELS + channel;
            bool covered = places[i].row + r * DILATION_H < HEIGHT && places[i].column + s * DILATION_W < WIDTH;
            held[i] = read_channels(from, covered ? channel : GROUP_CHANNELS, aligned);
        }
    }

    __device__ __forceinline__ void land(float *tiles)
    {
        filters.land(tiles);
#pragma unroll
        for (unsigned i = 0; i < LOADS; ++i) {
            unsigned quad = i * THREADS + threadIdx.x;
            write_column<TILE_N>(tiles + A_FLOATS, quad % (TILE_K / 4) * 4, quad / (TILE_K / 4), held[i]);
        }
    }
};

// Stores a thread's results. The number `filter0` counts filters in the group, and `pixel0` counts points over all
// images. The function stores four results by one store if they are adjacent and aligned.
__device__ __forceinline__ void store_tile(float *y, const float (&sum)[THREAD_M][THREAD_N], unsigned group,
                                           unsigned filter0, unsigned pixel0, unsigned pixels)
{
    const bool aligned = is_aligned<16>(y) && (NHWC ? FILTERS % 4 == 0 && GROUP_FILTERS % 4 == 0 : POINTS % 4 == 0);
    const unsigned m0 = filter0 + first_m(), n0 = pixel0 + first_n();
#pragma unroll
    for (unsigned j = 0; j < THREAD_N; ++j) {
        const unsigned pixel = n0 + j / 4 * (LANES_N * 4) + j % 4, image = pixel / POINTS_1;
        if (pixel >= pixels)
            continue;
        if (!NHWC && aligned && j % 4 != 0)
            continue; // this result was stored together with the first of its four
#pragma unroll
        for (unsigned i = 0; i < THREAD_M; ++i) {
            const unsigned filter = m0 + row_of(i);
            if (filter >= GROUP_FILTERS || (NHWC && aligned && i % 4 != 0))
                continue;
            float *to = y + index_y(image, group * GROUP_FILTERS + filter, pixel % POINTS_1);
            if (!aligned)
                *to = sum[i][j];
            else if (NHWC)
                store_quad(to, make_float4(sum[i][j], sum[(i + 1) % THREAD_M][j], sum[(i + 2) % THREAD_M][j],
                                           sum[(i + 3) % THREAD_M][j]));
            else
                store_quad(to, make_float4(sum[i][j], sum[i][(j + 1) % THREAD_N], sum[i][(j + 2) % THREAD_N],
                                           sum[i][(j + 3) % THREAD_N]));
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
    convnet_implicit_gemm(const float *__restrict__ x, const float *__restrict__ w, const float *__restrict__ packed,
                          float *__restrict__ y, float *__restrict__ partial, unsigned pixels)
{
    // Neighbouring blocks have different filters, because blocks that run at the same time should use the same points.
    constexpr unsigned DOWN = at_least_one(PACKED_FILTERS / TILE_M), PART = ceil_div(STEPS, (unsigned)SPLITS);
    unsigned filter0 = blockIdx.x % DOWN * TILE_M, pixel0 = blockIdx.x / DOWN * TILE_N;
    unsigned group = blockIdx.y, begin = min(blockIdx.z * PART, STEPS), end = min(begin + PART, STEPS);
    const Filters filters(w, packed, group, filter0, begin);
    float sum[THREAD_M][THREAD_N] = {};
#if NHWC
    ChannelsLast source(filters, x, group, pixel0, pixels);
#else
    ChannelsFirst source(filters, x, group, pixel0, pixels);
#endif
    add_steps(source, begin, end, sum);
    float *to = SPLITS > 1 ? partial + (offset)blockIdx.z * pixels * FILTERS : y;
    store_tile(to, sum, group, filter0, pixel0, pixels);
}

// Computes y as the sum of SPLITS arrays of `count` elements, added in order.
extern "C" __global__ void convnet_add_splits(const float *__restrict__ partial, float *__restrict__ y, offset count)
{
    add_splits<SPLITS>(partial, y, count);
}
#endif

#if defined(CONVNET_WINOGRAD) || defined(CONVNET_WINOGRAD_FUSED) || !defined(CONVNET_ONE)
// Winograd's minimal filtering (A. Lavin and S. Gray, Fast algorithms for convolutional neural networks, CVPR 2016). A
// tile of OUT x OUT points of y needs ALPHA x ALPHA points of x, where ALPHA is OUT + FILTER_H - 1. The kernels
// transform such a tile of x and the filter to ALPHA x ALPHA numbers each. They multiply the two sets number by number,
// add these terms over the channels, and transform the sums back.
//
// Compared with implicit_gemm, the number of multiplications is (OUT * FILTER_H / ALPHA)^2 times smaller:
//
//     F(2 x 2, 3 x 3)  2.25      F(2 x 2, 5 x 5)  2.78
//     F(4 x 4, 3 x 3)  4         F(4 x 4, 5 x 5)  6.25
//
// The sums over the channels are ALPHA^2 matrix products, filters times channels times tiles. But winograd writes the
// transformed images and the sums to global memory and reads them again. If there are few channels, this traffic costs
// as much as the arithmetic saves. The kernel winograd_fused avoids the traffic.
//
// The transforms of 6 x 6 and 8 x 8 multiply by numbers from 1/90 to 8, and large terms of their sums cancel each
// other. With 512 or 6 channels, the largest error of winograd is 8 to 12 times the largest error of direct for filters
// of 3 x 3, and 3 to 10 times for 5 x 5. With 4 x 4, the error is below the error of direct, because each sum has fewer
// terms. An infinity or a NaN in x may turn all points of the tiles that contain it into infinities and NaNs, and
// numbers above 3e36 may overflow. Denormals are kept, as far as a sum with larger numbers can keep them.
//
// The filter is square with a side of 3 or 5, and the stride is 1. If ALPHA is 4, the method interpolates at the points
// 0, 1, -1 and infinity. If ALPHA is 6, it adds 2 and -2, and if ALPHA is 8, also 1/2 and -1/2. These points depend on
// ALPHA alone, not on the size of the filter.
#ifndef OUT
#define OUT 2 // width and height of a tile, in points of y
#endif

// number of elements of a transformed tile or filter
constexpr unsigned ALPHA = OUT + FILTER_H - 1, PAIRS = ALPHA * ALPHA;
constexpr unsigned TILES_DOWN = ceil_div(at_least_one(OUT_H), (unsigned)OUT), TILES_ACROSS = ceil_div(OUT_W_1, (unsigned)OUT);
static_assert((ALPHA == 4 || ALPHA == 6 || ALPHA == 8) && FILTER_H == FILTER_W, "filters are 3 x 3 or 5 x 5");

// The next functions transform one row or one column of a tile. The elements of `from` are `apart` floats from each
// other, and so are the elements of `to`. Both may be the same array.
__device__ __forceinline__ void transform_image(float *v, unsigned apart)
{
    float d0 = v[0], d1 = v[apart], d2 = v[2 * apart], d3 = v[3 * apart];
    if (ALPHA == 4) {
        v[0] = d0 - d2, v[apart] = d1 + d2, v[2 * apart] = d2 - d1, v[3 * apart] = d3 - d1;
        return;
    }
    float d4 = v[(ALPHA == 8 ? 4 : ALPHA - 2) * apart], d5 = v[(ALPHA == 8 ? 5 : ALPHA - 1) * apart];
    if (ALPHA == 8) {
        float d6 = v[(ALPHA - 2) * apart], d7 = v[(ALPHA - 1) * apart];
        float even = d2 + d6 - 4.25f * d4, odd = d1 + d5 - 4.25f * d3;
        float even2 = d6 + 0.25f * d2 - 1.25f * d4, odd2 = 0.5f * d1 - 2.5f * d3 + 2.0f * d5;
        float even3 = d6 + 4.0f * d2 - 5.0f * d4, odd3 = 2.0f * d1 - 2.5f * d3 + 0.5f * d5;
        v[0] = d0 - d6 + 5.25f * (d4 - d2);
        v[apart] = even + odd, v[2 * apart] = even - odd;
        v[3 * apart] = even2 + odd2, v[4 * apart] = even2 - odd2;
        v[5 * apart] = even3 + odd3, v[(ALPHA - 2) * apart] = even3 - odd3;
        v[(ALPHA - 1) * apart] = d7 - d1 + 5.25f * (d3 - d5);
        return;
    }
    float even = d4 - 4.0f * d2, odd = d3 - 4.0f * d1, even2 = d4 - d2, odd2 = 2.0f * (d3 - d1);
    v[0] = 4.0f * d0 - 5.0f * d2 + d4;
    v[apart] = even + odd, v[2 * apart] = even - odd;
    v[3 * apart] = even2 + odd2, v[(ALPHA - 2) * apart] = even2 - odd2;
    v[(ALPHA - 1) * apart] = 4.0f * d1 - 5.0f * d3 + d5;
}

// Transforms FILTER_H elements of w to ALPHA numbers.
__device__ __forceinline__ void transform_filter(const float *g, unsigned g_apart, float *v, unsigned apart)
{
    constexpr unsigned LAST = FILTER_H - 1;
    float even = g[0], odd = 0.0f, even2 = g[0], odd2 = 0.0f, even3 = g[0], odd3 = 0.0f;
#pragma unroll
    for (unsigned i = 1; i < FILTER_H; ++i) {
        if (i % 2 == 0)
            even += g[i * g_apart], even2 += (1 << i) * g[i * g_apart], even3 += 1.0f / (1 << i) * g[i * g_apart];
        else
            odd += g[i * g_apart], odd2 += (1 << i) * g[i * g_apart], odd3 += 1.0f / (1 << i) * g[i * g_apart];
    }
    const float part0 = ALPHA == 6 ? 0.25f : 1.0f, part1 = ALPHA == 4 ? 0.5f : ALPHA == 6 ? -1.0f / 6.0f : -2.0f / 9.0f;
    const float part2 = ALPHA == 6 ? 1.0f / 24.0f : 1.0f / 90.0f, part3 = 32.0f / 45.0f;
    v[0] = part0 * g[0];
    v[apart] = part1 * (even + odd), v[2 * apart] = part1 * (even - odd);
    if (ALPHA >= 6)
        v[3 * apart] = part2 * (even2 + odd2), v[(ALPHA == 8 ? 4 : ALPHA - 2) * apart] = part2 * (even2 - odd2);
    if (ALPHA == 8)
        v[(ALPHA - 3) * apart] = part3 * (even3 + odd3), v[(ALPHA - 2) * apart] = part3 * (even3 - odd3);
    v[(ALPHA - 1) * apart] = g[LAST * g_apart];
}

// Transforms ALPHA sums to OUT points.
__device__ __forceinline__ void transform_sums(float *v, unsigned apart)
{
    // index of the second element of the pair for the points 2 and -2
    constexpr unsigned SECOND = ALPHA == 6 ? 4 : ALPHA - 4;
    const float last = v[(ALPHA - 1) * apart], even = v[apart] + v[2 * apart], odd = v[apart] - v[2 * apart];
    float even2 = 0.0f, odd2 = 0.0f, even3 = 0.0f, odd3 = 0.0f;
    if (ALPHA >= 6)
        even2 = v[3 * apart] + v[SECOND * apart], odd2 = v[3 * apart] - v[SECOND * apart];
    if (ALPHA == 8)
        even3 = v[(ALPHA - 3) * apart] + v[(ALPHA - 2) * apart], odd3 = v[(ALPHA - 3) * apart] - v[(ALPHA - 2) * apart];
#pragma unroll
    for (unsigned j = 0; j < OUT; ++j) {
        float point = j % 2 == 0 ? even : odd;
        if (ALPHA >= 6)
            point += (1 << j) * (j % 2 == 0 ? even2 : odd2);
        if (ALPHA == 8)
            point += 1.0f / (1 << j) * (j % 2 == 0 ? even3 : odd3);
        if (j == 0)
            point += v[0];
        if (j + 1 == OUT)
            point += last;
        v[j * apart] = point;
    }
}

// Transforms all ALPHA x ALPHA numbers of a tile.
__device__ __forceinline__ void transform_image_tile(float (&v)[PAIRS])
{
#pragma unroll
    for (unsigned j = 0; j < ALPHA; ++j)
        transform_image(v + j, ALPHA);
#pragma unroll
    for (unsigned i = 0; i < ALPHA; ++i)
        transform_image(v + i * ALPHA, 1);
}

// Transforms one channel of a filter. Channels after the last channel become zeros.
__device__ __forceinline__ void transform_filter_of(const float *__restrict__ w, unsigned group, unsigned filter,
                                                    unsigned channel, float (&v)[PAIRS])
{
    float g[TAPS], half[FILTER_W * ALPHA];
    const bool inside = filter < GROUP_FILTERS && channel < GROUP_CHANNELS;
#pragma unroll
    for (unsigned tap = 0; tap < TAPS; ++tap)
        g[tap] =
            inside ? w[index_w(group * GROUP_FILTERS + filter, channel, tap / FILTER_W, tap % FILTER_W)] : 0.0f;
#pragma unroll
    for (unsigned s = 0; s < FILTER_W; ++s) // first the columns, then the rows
        transform_filter(g + s, FILTER_W, half + s, FILTER_W);
#pragma unroll
    for (unsigned r = 0; r < ALPHA; ++r)
        transform_filter(half + r * FILTER_W, 1, v + r * ALPHA, 1);
}

// Transforms the sums of a tile and stores its points. The function stores a row of OUT points by one store if the
// points are adjacent and aligned.
__device__ __forceinline__ void store_points(float *y, float (&v)[PAIRS], unsigned image, unsigned filter, unsigned down,
                                             unsigned across)
{
#pragma unroll
    for (unsigned j = 0; j < ALPHA; ++j)
        transform_sums(v + j, ALPHA);
#pragma unroll
    for (unsigned i = 0; i < OUT; ++i)
        transform_sums(v + i * ALPHA, 1);
    const bool together = !NHWC && OUT_W % OUT == 0 && is_aligned<4 * OUT>(y);
#pragma unroll
    for (unsigned i = 0; i < OUT; ++i) {
        unsigned row = down * OUT + i, column = across * OUT;
        if (row >= OUT_H)
            break;
        if (together) {
            store_together<OUT>(y + index_y(image, filter, row * OUT_W + column), v + i * ALPHA);
            continue;
        }
#pragma unroll
        for (unsigned j = 0; j < OUT; ++j)
            if (column + j < OUT_W)
                y[index_y(image, filter, row * OUT_W + column + j)] = v[i * ALPHA + j];
    }
}
#endif

#if defined(CONVNET_WINOGRAD) || !defined(CONVNET_ONE)
// Computes the transformed filters. The array has CHUNKS * TILE_K rows of PACKED_FILTERS elements for each of the PAIRS
// numbers and each group. Each row belongs to one channel, and zeros follow the last channel and the last filter.
// Neighbouring threads process neighbouring filters.
extern "C" __global__ void convnet_winograd_filters(const float *__restrict__ w, float *__restrict__ transformed)
{
    constexpr unsigned ROWS = CHUNKS * TILE_K, ROWS_1 = at_least_one(ROWS), WIDE = at_least_one(PACKED_FILTERS);
    offset i = grid_thread<128>();
    unsigned filter = i % WIDE, channel = i / WIDE % ROWS_1, group = i / ((offset)WIDE * ROWS_1);
    if (group >= GROUPS)
        return;
    float v[PAIRS];
    transform_filter_of(w, group, filter, channel, v);
#pragma unroll
    for (unsigned pair = 0; pair < PAIRS; ++pair)
        transformed[(((offset)pair * GROUPS + group) * ROWS + channel) * WIDE + filter] = v[pair];
}

// Computes the transformed tiles. For each of the PAIRS numbers and each group, the array has rows of `wide` tiles,
// counted over all images, with zeros after the last channel and the last tile. Neighbouring threads process
// neighbouring tiles. A block processes one channel.
extern "C" __global__ void __launch_bounds__(128)
    convnet_winograd_image(const float *__restrict__ x, float *__restrict__ transformed, unsigned images, unsigned wide)
{
    constexpr unsigned ROWS = CHUNKS * TILE_K, ROWS_1 = at_least_one(ROWS);
    unsigned blocks = ceil_div(wide, 128u);
    unsigned tile = blockIdx.x % blocks * 128 + threadIdx.x, channel = blockIdx.x / blocks % ROWS_1;
    unsigned group = blockIdx.x / blocks / ROWS_1;
    if (tile >= wide)
        return;
    unsigned across = tile % TILES_ACROSS, down = tile / TILES_ACROSS % TILES_DOWN, image = tile / (TILES_ACROSS * TILES_DOWN);
    unsigned row0 = down * OUT - PAD_H, column0 = across * OUT - PAD_W;
    float v[PAIRS];
    constexpr unsigned APART = NHWC ? CHANNELS : 1; // distance between neighbouring elements of a row
    const bool inside = image < images && channel < GROUP_CHANNELS;
    const float *from = x + ((long long)index_x(image, group * GROUP_CHANNELS + channel, 0, 0) +
                             // the address may lie before the image
                             ((long long)(int)row0 * WIDTH + (int)column0) * APART);
#pragma unroll
    for (unsigned i = 0; i < ALPHA; ++i)
#pragma unroll
        for (unsigned j = 0; j < ALPHA; ++j)
            v[i * ALPHA + j] =
                load_if(from + (i * WIDTH + j) * APART, inside && row0 + i < HEIGHT && column0 + j < WIDTH);
    transform_image_tile(v);
    float *to = transformed + ((offset)group * ROWS + channel) * wide + tile;
#pragma unroll
    for (unsigned pair = 0; pair < PAIRS; ++pair)
        to[pair * ((offset)GROUPS * ROWS * wide)] = v[pair];
}

// A source whose two matrices are in global memory in the layout that the matrix product needs.
struct Matrices {
    static constexpr bool TURNED = false;
    Rows<TILE_M> filters;
    Rows<TILE_N> tiles;

    __device__ __forceinline__ Matrices(const float *a, const float *b, unsigned wide)
        : filters(a, PACKED_FILTERS), tiles(b, wide)
    {
    }

    __device__ __forceinline__ void fetch(unsigned, float *to)
    {
        filters.copy(shared_address(to));
        tiles.copy(shared_address(to) + 4 * A_FLOATS);
    }

    __device__ __forceinline__ void land(float *) {}
};

// Computes the sums over the channels. The result has GROUPS * GROUP_FILTERS rows of `wide` tiles for each of the PAIRS
// numbers. The number `wide` is a multiple of TILE_N.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
    convnet_winograd_sums(const float *__restrict__ filters, const float *__restrict__ tiles, float *__restrict__ sums,
                          unsigned wide)
{
    constexpr unsigned DOWN = at_least_one(PACKED_FILTERS / TILE_M), ROWS = CHUNKS * TILE_K;
    unsigned filter0 = blockIdx.x % DOWN * TILE_M, tile0 = blockIdx.x / DOWN * TILE_N;
    const offset pair_group = blockIdx.y; // the index pair * GROUPS + group
    float sum[THREAD_M][THREAD_N] = {};
    Matrices source(filters + pair_group * ROWS * PACKED_FILTERS + filter0, tiles + pair_group * ROWS * wide + tile0, wide);
    add_steps(source, 0, CHUNKS, sum);
    float *to = sums + (pair_group * GROUP_FILTERS) * wide + tile0 + first_n();
#pragma unroll
    for (unsigned i = 0; i < THREAD_M; ++i) {
        unsigned filter = filter0 + first_m() + row_of(i);
        if (filter >= GROUP_FILTERS)
            continue;
#pragma unroll
        for (unsigned j = 0; j < THREAD_N; j += 4)
            store_quad(to + (offset)filter * wide + j * LANES_N,
                       make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]));
    }
}

// Computes the points of y. Neighbouring threads process neighbouring tiles. A block processes one filter.
extern "C" __global__ void __launch_bounds__(128)
    convnet_winograd_points(const float *__restrict__ sums, float *__restrict__ y, unsigned images, unsigned wide)
{
    unsigned blocks = ceil_div(wide, 128u), tile = blockIdx.x % blocks * 128 + threadIdx.x, filter = blockIdx.x / blocks;
    unsigned across = tile % TILES_ACROSS, down = tile / TILES_ACROSS % TILES_DOWN, image = tile / (TILES_ACROSS * TILES_DOWN);
    if (image >= images || OUT_H == 0 || OUT_W == 0)
        return;
    float v[PAIRS];
    const float *from = sums + (offset)filter * wide + tile;
#pragma unroll
    for (unsigned pair = 0; pair < PAIRS; ++pair)
        v[pair] = from[pair * ((offset)FILTERS * wide)];
    store_points(y, v, image, filter, down, across);
}
#endif

#if defined(CONVNET_WINOGRAD_FUSED) || !defined(CONVNET_ONE)
// Winograd's minimal filtering by one kernel (after D. Yan, W. Wang and X. Chu, Optimizing batched Winograd convolution
// on GPUs, PPoPP 2020). A block computes the points of TILE_N tiles for TILE_M filters. It takes TILE_K channels at a
// time: it reads the tiles from x, transforms them, writes them to shared memory, and adds to all PAIRS matrix
// products. The accumulators, TILE_M x TILE_N for each matrix product, stay in registers. At the end, the threads
// exchange the sums through shared memory and transform them back.
//
// Compared with winograd, transformed tiles and sums are never in global memory, where they would be PAIRS / OUT^2
// times as large as x and y. But the blocks of different filters transform the same tiles again. Therefore TILE_M
// should cover the filters of a group, as far as the registers suffice: if PAIRS is 16, the accumulators of 64 filters
// and 32 tiles need half of an SM's registers.
//
// PARTNERS threads compute one matrix product. Each of them has THREAD_M x THREAD_N accumulators.
//
// With TEAMS, the filters of all channels stay in shared memory. Then TEAMS groups of threads each compute one set of
// TILE_N tiles after the other, at their own pace. While one team waits for x or stores points, the other teams
// multiply.
#ifndef HELD
// 1: the elements of the next chunk are read from x and stay in registers while the current chunk is multiplied
#define HELD 0
#endif
#ifndef UNROLL
#define UNROLL TILE_K // number of channels of a chunk whose loop is unrolled
#endif
#ifndef TEAMS
#define TEAMS 0 // number of teams; with 0, a block computes one set of tiles
#endif

namespace fused
{
enum : unsigned {
    PARTNERS_M = TILE_M / THREAD_M,
    PARTNERS_N = TILE_N / THREAD_N,
    PARTNERS = PARTNERS_M * PARTNERS_N,
    COUNT = PAIRS * PARTNERS,                                      // number of threads for one set of tiles
    THREADS_ALL = COUNT * (TEAMS > 0 ? TEAMS : 1),                 // number of threads of a block
    // number of chunks of TILE_K channels; the last chunk is filled up with zeros
    CHUNKS = (GROUP_CHANNELS + TILE_K - 1) / TILE_K,
    DOWN = (at_least_one(GROUP_FILTERS) + TILE_M - 1) / TILE_M,    // number of blocks that share the filters of a group
    // this gap puts the next matrix product of the same warp into other banks
    A_APART = PARTNERS < 32 ? 16 : 0,
    B_APART = PARTNERS < 32 ? TILE_N == 8 ? 4 : 16 : 0,
    A_FLOATS_OF_PAIR = TILE_K * TILE_M + A_APART,
    // with NHWC, a warp writes rows of several channels at once
    B_PITCH = TILE_N + (NHWC ? 4 : 0),
    B_FLOATS_OF_PAIR = TILE_K * B_PITCH + B_APART,
    FILTER_FLOATS = PAIRS * A_FLOATS_OF_PAIR,                      // number of floats of a chunk's filters
    TILE_FLOATS = PAIRS * B_FLOATS_OF_PAIR,
    STAGE_FLOATS = FILTER_FLOATS + TILE_FLOATS,
    ROUNDS = (TILE_N * TILE_K + COUNT - 1) / COUNT,                // number of patches of a chunk per thread
    // with channels first, all patches of a thread belong to the same tile
    PLACES = NHWC ? ROUNDS : 1,
    // QUADS_AT_ONCE is the number of quads of a thread's filters that are exchanged at once, and PART is the number of
    // filters in them over all threads.
    QUADS_AT_ONCE = TEAMS == 0 && PARTNERS_M * 4 * TILE_N < COUNT ? THREAD_M / 4 : 1,
    PART = PARTNERS_M * 4 * QUADS_AT_ONCE,
    // SUM_PITCH is the number of floats from one filter's sums to the next in the exchange. SUM_GAP is a further gap
    // after every four filters, so that a warp reads and writes without bank conflicts.
    SUM_PITCH = TILE_N + (NHWC ? 4 : 0),
    SUM_GAP = NHWC ? 0 : TILE_N <= 16 ? 8 : 16,
    SUMS_OF_PAIR = PART * SUM_PITCH + PART / 4 * SUM_GAP + (TILE_N == 8 ? 4 : 0),
    OWN_FLOATS = TILE_FLOATS > PAIRS * SUMS_OF_PAIR ? TILE_FLOATS : PAIRS * SUMS_OF_PAIR // number of floats of a team
};
static_assert(PARTNERS_M % 2 == 0 && (PARTNERS % 32 == 0 || 32 % PARTNERS == 0),
              "whole warps make a product, or a warp makes whole products");
static_assert(NHWC ? COUNT % TILE_K == 0 : COUNT % TILE_N == 0, "a thread's patches are of one channel, or of one tile");
static_assert(TEAMS == 0 || CHUNKS <= 1, "filters of one chunk");
static_assert(TEAMS <= 1 || COUNT % 32 == 0, "teams are whole warps");

__device__ __forceinline__ unsigned team()
{
    return TEAMS > 1 ? threadIdx.x / COUNT : 0;
}

__device__ __forceinline__ unsigned rank() // Returns the number of this thread in its team.
{
    return TEAMS > 1 ? threadIdx.x % COUNT : threadIdx.x;
}

__device__ __forceinline__ void sync_team()
{
    if (TEAMS > 1)
        asm volatile("bar.sync %0, %1;" ::"r"(team() + 1), "r"((unsigned)COUNT) : "memory");
    else
        __syncthreads();
}

struct Strip {
    float a[THREAD_M], b[THREAD_N];
};

__device__ __forceinline__ void read_strip(Strip &strip, const float *a, const float *b)
{
#pragma unroll
    for (unsigned i = 0; i < THREAD_M; i += 4)
        unpack(strip.a + i, load_quad(a + i * PARTNERS_M));
#pragma unroll
    for (unsigned j = 0; j < THREAD_N; j += 4)
        unpack(strip.b + j, load_quad(b + j * PARTNERS_N));
}

// The part of a block that handles the image: it reads patches (parts of x that one tile needs), transforms them and
// writes them to a stage.
struct Patches {
    // The threads read whole words only if no accumulators are in registers yet. Together with the accumulators, words
    // would need too many registers.
    static constexpr bool WORDS = !NHWC && WIDTH % OUT == 0 && PAD_W + OUT <= ALPHA && CHUNKS <= 1;
    static constexpr unsigned MASK_ROWS = ALPHA == 4 ? 4 : ALPHA / 2;
    bool aligned;
    // the addresses of the elements that this thread reads for the first chunk; they may lie before the image
    const float *at[PLACES];
    // Bit i of a word tells whether element i is in the image. A word holds the bits of MASK_ROWS rows.
    unsigned masks[PLACES][ALPHA / MASK_ROWS];
    unsigned channel;
    float held[HELD ? ROUNDS : 1][PAIRS];

    __device__ __forceinline__ Patches(const float *x, unsigned group, unsigned tile0, unsigned images)
    {
        aligned = is_aligned<4 * OUT>(x);
        channel = NHWC ? rank() % TILE_K : rank() / TILE_N;
#pragma unroll
        for (unsigned i = 0; i < PLACES; ++i) {
            const unsigned tile = tile0 + (NHWC ? (rank() + i * COUNT) / TILE_K : rank() % TILE_N);
            const unsigned image = tile / (TILES_ACROSS * TILES_DOWN);
            const unsigned row = tile / TILES_ACROSS % TILES_DOWN * OUT - PAD_H, column = tile % TILES_ACROSS * OUT - PAD_W;
            at[i] = x + ((long long)index_x(image, group * GROUP_CHANNELS + channel, 0, 0) +
                         ((long long)(int)row * WIDTH + (int)column) * (NHWC ? CHANNELS : 1));
            unsigned columns = 0;
#pragma unroll
            for (unsigned s = 0; s < ALPHA; ++s)
                columns |= image < images && column + s < WIDTH ? 1u << s : 0;
#pragma unroll
            for (unsigned r = 0; r < ALPHA; ++r) {
                const unsigned bits = row + r < HEIGHT ? columns << r % MASK_ROWS * ALPHA : 0;
                masks[i][r / MASK_ROWS] = r % MASK_ROWS > 0 ? masks[i][r / MASK_ROWS] | bits : bits;
            }
        }
    }

    // Returns whether this thread has a patch in this round.
    static __device__ __forceinline__ bool has(unsigned round)
    {
        return TILE_N * TILE_K % COUNT == 0 || rank() + round * COUNT < TILE_N * TILE_K;
    }

    __device__ __forceinline__ void read(float (&v)[PAIRS], unsigned round, unsigned chunk) const
    {
        // number of channels after the first channel
        const unsigned i = NHWC ? round : 0, further = NHWC ? 0 : round * (COUNT / TILE_N);
        const bool inside = GROUP_CHANNELS % TILE_K == 0 || chunk * TILE_K + channel + further < GROUP_CHANNELS;
        const float *from = at[i] + (offset)(chunk * TILE_K + further) * (NHWC ? 1 : HEIGHT * WIDTH);
        const unsigned upper = inside ? masks[i][0] : 0, lower = inside ? masks[i][ALPHA / MASK_ROWS - 1] : 0;
        if (WORDS && aligned)
            read_rows<true>(v, from, upper, lower);
        else
            read_rows<false>(v, from, upper, lower);
    }

    // Returns how many neighbouring elements of a row, from column s of a patch on, are read at once. These elements
    // are all in the image or all outside it, and are aligned. The function returns 0 if column s is read together with
    // the columns before it.
    static constexpr __device__ unsigned word_at(unsigned s)
    {
        const unsigned after = s - PAD_W - OUT; // the distance of column s from the first column of the next tile
        return s == PAD_W                      ? OUT
               : s < PAD_W                     ? (PAD_W == 2 ? 2 - 2 * s : 1)
               : s < PAD_W + OUT || after % 2  ? 0
               : s + 1 < ALPHA                 ? 2
                                               : 1;
    }

    template <bool BY_WORDS>
    static __device__ __forceinline__ void read_rows(float (&v)[PAIRS], const float *from, unsigned upper, unsigned lower)
    {
        constexpr unsigned NEXT = NHWC ? CHANNELS : 1; // distance between neighbouring elements of a row
#pragma unroll
        for (unsigned i = 0; i < PAIRS; ++i)
            v[i] = 0.0f;
#pragma unroll
        for (unsigned i = 0; i < PAIRS; ++i) {
            const unsigned r = i / ALPHA, s = i % ALPHA, count = BY_WORDS ? word_at(s) : 1;
            const unsigned there = (r < MASK_ROWS ? upper : lower) & 1u << (r % MASK_ROWS * ALPHA + s);
            const float *at = from + (r * WIDTH + s) * NEXT;
            if (count == 4)
                load_word<4>(v + i, at, there, true);
            else if (count == 2)
                load_word<2>(v + i, at, there, true);
            else if (count == 1)
                v[i] = load_if(at, there);
        }
    }

    __device__ __forceinline__ void write(float (&v)[PAIRS], unsigned round, float *tiles) const
    {
        const unsigned patch = rank() + round * COUNT;
        float *to = tiles + (NHWC ? patch % TILE_K * B_PITCH + patch / TILE_K : patch);
        transform_image_tile(v);
#pragma unroll
        for (unsigned pair = 0; pair < PAIRS; ++pair)
            to[pair * B_FLOATS_OF_PAIR] = v[pair];
    }

    // With HELD, the elements that fetch() reads stay in registers until land() writes them. Otherwise fetch() writes
    // them at once.
    __device__ __forceinline__ void fetch(unsigned chunk, float *tiles)
    {
#pragma unroll
        for (unsigned round = 0; round < ROUNDS; ++round)
            if (has(round)) {
                read(held[HELD ? round : 0], round, chunk);
                if (!HELD)
                    write(held[0], round, tiles);
            }
    }

    __device__ __forceinline__ void land(float *tiles)
    {
#pragma unroll
        for (unsigned round = 0; round < ROUNDS; ++round)
            if (HELD && has(round))
                write(held[round], round, tiles);
    }
};

// Begins to copy the filters of a chunk, which are contiguous.
__device__ __forceinline__ void copy_filters(const float *from, float *stage)
{
    constexpr unsigned WORDS = PAIRS * TILE_K * TILE_M / 4, WORDS_OF_PAIR = TILE_K * TILE_M / 4;
    const unsigned to = shared_address(stage);
#pragma unroll
    for (unsigned i = 0; i < (WORDS + THREADS_ALL - 1) / THREADS_ALL; ++i) {
        const unsigned word = threadIdx.x + i * THREADS_ALL;
        if (WORDS % THREADS_ALL == 0 || word < WORDS)
            copy_to<16>(to + 16 * word + word / WORDS_OF_PAIR * (4 * A_APART), from + 4 * word);
    }
}

// These functions choose the results of the matrix product that a thread computes. Bit 0 and the highest bits of the
// thread's number choose the filters, and the bits between them choose the tiles. Therefore lanes that differ in one of
// the lowest two bits read the same quad, which the hardware then reads once.
__device__ __forceinline__ unsigned first_m()
{
    const unsigned partner = rank() % PARTNERS;
    return 4 * (partner % 2 + partner / (2 * PARTNERS_N) * 2);
}

__device__ __forceinline__ unsigned first_n()
{
    return 4 * (rank() % PARTNERS / 2 % PARTNERS_N);
}

__device__ __forceinline__ void multiply_chunk(float (&sum)[THREAD_M][THREAD_N], const float *a, const float *b)
{
#pragma unroll 1
    for (unsigned begin = 0; begin < TILE_K; begin += UNROLL, a += UNROLL * TILE_M, b += UNROLL * B_PITCH) {
        Strip now, next;
        read_strip(now, a, b);
#pragma unroll
        for (unsigned k = 0; k < UNROLL; ++k) {
            if (k + 1 < UNROLL) // the hardware does these reads during the multiply-adds
                read_strip(next, a + (k + 1) * TILE_M, b + (k + 1) * B_PITCH);
#pragma unroll
            for (unsigned i = 0; i < THREAD_M; ++i)
#pragma unroll
                for (unsigned j = 0; j < THREAD_N; ++j)
                    sum[i][j] = fmaf(now.a[i], now.b[j], sum[i][j]);
            now = next;
        }
    }
}

// Adds the terms of all chunks. With two or more chunks there are two stages: one is multiplied while the other is
// filled.
__device__ __forceinline__ void add_chunks(float (&sum)[THREAD_M][THREAD_N], Patches &patches, const float *filters,
                                           float *stages)
{
    const float *a = stages + rank() / PARTNERS * A_FLOATS_OF_PAIR + first_m();
    const float *b = stages + FILTER_FLOATS + rank() / PARTNERS * B_FLOATS_OF_PAIR + first_n();
    if (CHUNKS > 0) {
        copy_filters(filters, stages);
        patches.fetch(0, stages + FILTER_FLOATS);
        patches.land(stages + FILTER_FLOATS);
    }
    unsigned reading = 0;
    for (unsigned chunk = 0; chunk < CHUNKS; ++chunk, reading ^= STAGE_FLOATS) {
        copy_async_commit();
        copy_async_wait<0>();
        __syncthreads(); // this chunk has arrived, and all threads have read the previous chunk
        float *to = stages + (reading ^ STAGE_FLOATS);
        if (chunk + 1 < CHUNKS) {
            copy_filters(filters + (offset)(chunk + 1) * (PAIRS * TILE_K * TILE_M), to);
            patches.fetch(chunk + 1, to + FILTER_FLOATS);
        }
        multiply_chunk(sum, a + reading, b + reading);
        if (chunk + 1 < CHUNKS)
            patches.land(to + FILTER_FLOATS);
    }
}

// Returns the offset of a filter's sums in shared memory. The number `filter` is below PART.
__device__ __forceinline__ unsigned sums_at(unsigned filter)
{
    return filter * SUM_PITCH + filter / 4 * SUM_GAP;
}

// Writes the sums to shared memory, PART filters at a time, and gives each sum to the thread that computes points from
// it.
__device__ __forceinline__ void store_sums(const float (&sum)[THREAD_M][THREAD_N], float *y, float *shared, unsigned group,
                                           unsigned filter0, unsigned tile0, unsigned images)
{
    float *to = shared + rank() / PARTNERS * SUMS_OF_PAIR + sums_at(first_m()) + first_n();
#pragma unroll 1 // an unrolled loop would cost instruction fetches, because each set of tiles runs it only once
    for (unsigned part = 0; part < THREAD_M; part += 4 * QUADS_AT_ONCE) {
        sync_team();
#pragma unroll
        for (unsigned i = 0; i < THREAD_M; ++i)
            if (i / (4 * QUADS_AT_ONCE) * (4 * QUADS_AT_ONCE) == part)
#pragma unroll
                for (unsigned j = 0; j < THREAD_N; j += 4)
                    store_quad(to + sums_at((i / 4 % QUADS_AT_ONCE) * (PARTNERS_M * 4) + i % 4) + j * PARTNERS_N,
                               make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]));
        sync_team();
#pragma unroll 1
        for (unsigned point = rank(); point < PART * TILE_N; point += COUNT) {
            const unsigned of_part = NHWC ? point % PART : point / TILE_N, of_block = NHWC ? point / PART : rank() % TILE_N;
            const unsigned filter = filter0 + part * PARTNERS_M + of_part, tile = tile0 + of_block;
            const unsigned image = tile / (TILES_ACROSS * TILES_DOWN);
            if (filter >= GROUP_FILTERS || image >= images)
                continue;
            float v[PAIRS];
#pragma unroll
            for (unsigned pair = 0; pair < PAIRS; ++pair)
                v[pair] = shared[pair * SUMS_OF_PAIR + sums_at(of_part) + of_block];
            store_points(y, v, image, group * GROUP_FILTERS + filter, tile / TILES_ACROSS % TILES_DOWN,
                         tile % TILES_ACROSS);
        }
    }
}
} // namespace fused

// Writes the transformed filters in the order in which blocks read them: for each group and each TILE_M filters all
// chunks, and for each chunk PAIRS tiles of TILE_K x TILE_M elements. Zeros follow the last channel and the last
// filter. Neighbouring threads process neighbouring filters.
extern "C" __global__ void convnet_fused_filters(const float *__restrict__ w, float *__restrict__ transformed)
{
    using namespace fused;
    constexpr unsigned ROWS_1 = at_least_one(fused::CHUNKS * TILE_K), WIDE = DOWN * TILE_M;
    const offset i = grid_thread<64>();
    const unsigned filter = i % WIDE, channel = i / WIDE % ROWS_1, group = i / ((offset)WIDE * ROWS_1);
    if (group >= GROUPS || fused::CHUNKS == 0)
        return;
    float v[PAIRS];
    transform_filter_of(w, group, filter, channel, v);
    float *to = transformed + (((offset)group * DOWN + filter / TILE_M) * fused::CHUNKS + channel / TILE_K) *
                                  (PAIRS * TILE_K * TILE_M) +
                channel % TILE_K * TILE_M + filter % TILE_M;
#pragma unroll
    for (unsigned pair = 0; pair < PAIRS; ++pair)
        to[pair * (TILE_K * TILE_M)] = v[pair];
}

extern "C" __global__ void __launch_bounds__(fused::THREADS_ALL, RESIDENT)
    convnet_winograd_fused(const float *__restrict__ x, const float *__restrict__ transformed, float *__restrict__ y,
                           unsigned images)
{
    using namespace fused;
    extern __shared__ float4 fused_stages[]; // the type determines the alignment
    float *stages = (float *)fused_stages;
    // Filters change fastest, because blocks that run at the same time should use the same tiles.
    const unsigned block = blockIdx.x % fused::DOWN, group = blockIdx.y, filter0 = block * TILE_M;
    transformed += ((offset)group * fused::DOWN + block) * fused::CHUNKS * (PAIRS * TILE_K * TILE_M);
#if TEAMS
    const unsigned teams = gridDim.x / fused::DOWN * TEAMS, sets = ceil_div(images * TILES_DOWN * TILES_ACROSS, (unsigned)TILE_N);
    float *own = stages + FILTER_FLOATS + team() * OWN_FLOATS;
    if (fused::CHUNKS > 0)
        copy_filters(transformed, stages);
    copy_async_commit();
    for (unsigned i = 0, set = blockIdx.x / fused::DOWN * TEAMS + team(); i == 0 || set < sets; ++i, set += teams) {
        if (set < sets && fused::CHUNKS > 0) {
            Patches patches(x, group, set * TILE_N, images);
            patches.fetch(0, own);
            patches.land(own);
        }
        copy_async_wait<0>();
        if (i == 0)
            __syncthreads(); // the filters have arrived
        else
            sync_team();
        if (set >= sets)
            break;
        float sum[THREAD_M][THREAD_N] = {};
        if (fused::CHUNKS > 0)
            multiply_chunk(sum, stages + rank() / PARTNERS * A_FLOATS_OF_PAIR + fused::first_m(),
                           own + rank() / PARTNERS * B_FLOATS_OF_PAIR + fused::first_n());
        store_sums(sum, y, own, group, filter0, set * TILE_N, images);
        sync_team(); // all threads of the team have read these sums
    }
#else
    const unsigned tile0 = blockIdx.x / fused::DOWN * TILE_N;
    Patches patches(x, group, tile0, images);
    float sum[THREAD_M][THREAD_N] = {};
    add_chunks(sum, patches, transformed, stages);
    store_sums(sum, y, stages, group, filter0, tile0, images);
#endif
}
#endif

#if defined(CONVNET_DEPTHWISE) || !defined(CONVNET_ONE)
// This kernel is for filters that use one channel only (GROUPS == CHANNELS). Here a matrix product would use only one
// of its rows. A thread computes PATCH rows of VECTOR neighbouring results. These are neighbouring points of a row or,
// with NHWC, neighbouring channels of one point.
//
// Memory limits this kernel, because a point of x takes part in only FILTER_H * FILTER_W multiply-adds. Unlike direct,
// a thread reads each row of x that it needs once, in words of VECTOR elements, and uses the row for all rows of y that
// need it. Neighbouring threads also read the words at the sides and the rows above and below, so the L1 cache serves
// these reads. The kernel adds in the same order as direct.
#ifndef PATCH
#define PATCH 4 // number of rows of y per thread
#endif
#ifndef VECTOR
#define VECTOR 4 // number of columns of y per thread (NHWC: number of channels): 1, 2 or 4
#endif

template <unsigned count> __device__ __forceinline__ void store_word(float *to, const float *from, bool aligned)
{
    if (aligned) {
        *(vec<float, count> *)to = pack<count>(from);
        return;
    }
#pragma unroll
    for (unsigned i = 0; i < count; ++i)
        to[i] = from[i];
}

constexpr unsigned PATCHES = ceil_div(at_least_one(OUT_H), (unsigned)PATCH);
// number of rows of x that a thread reads
constexpr unsigned PATCH_ROWS = (PATCH - 1) * STRIDE_H + (FILTER_H - 1) * DILATION_H + 1;

#if NHWC
// Neighbouring threads process neighbouring channels of a point, and then the next point of the row. The parameter
// ALIGNED tells that the words of all arrays are aligned.
template <bool ALIGNED>
__device__ __forceinline__ void make_patch(const float *__restrict__ x, const float *__restrict__ w,
                                           float *__restrict__ y, unsigned images)
{
    constexpr unsigned WORD = GROUP_FILTERS == 1 && FILTERS % VECTOR == 0 ? VECTOR : 1, WIDE = FILTERS_1 / WORD;
    const unsigned i = blockIdx.x * BLOCK + threadIdx.x; // fewer than 2^32 threads have work
    unsigned filter = i % WIDE * WORD, place = i / WIDE, column = place % OUT_W_1, row0 = place / OUT_W_1 % PATCHES * PATCH;
    unsigned image = place / (OUT_W_1 * PATCHES);
    if (image >= images || OUT_W == 0)
        return;
    float weights[WORD * TAPS], sums[PATCH][WORD] = {};
#pragma unroll
    for (unsigned tap = 0; tap < WORD * TAPS; tap += WORD)
        load_word<WORD>(weights + tap, w + filter * TAPS + tap, true, ALIGNED);
    // The position under the filter's first tap, which may be before the image. All other taps are at constant
    // distances.
    const unsigned top = row0 * STRIDE_H - PAD_H, left = column * STRIDE_W - PAD_W;
    const float *from = x + ((long long)index_x(image, filter / GROUP_FILTERS_1, 0, 0) +
                             ((long long)(int)top * WIDTH + (int)left) * CHANNELS);
#pragma unroll
    for (unsigned t = 0; t < PATCH_ROWS; ++t) {
#pragma unroll
        for (unsigned s = 0; s < FILTER_W; ++s) {
            float values[WORD] = {};
            load_word<WORD>(values, from + (t * WIDTH + s * DILATION_W) * CHANNELS,
                            top + t < HEIGHT && left + s * DILATION_W < WIDTH, ALIGNED);
#pragma unroll
            for (unsigned o = 0; o < PATCH; ++o) // row o of y needs row t of x for row r of the filter
#pragma unroll
                for (unsigned r = 0; r < FILTER_H; ++r)
                    if (o * STRIDE_H + r * DILATION_H == t)
#pragma unroll
                        for (unsigned v = 0; v < WORD; ++v)
                            sums[o][v] = fmaf(values[v], weights[(v * FILTER_H + r) * FILTER_W + s], sums[o][v]);
        }
    }
#pragma unroll
    for (unsigned o = 0; o < PATCH; ++o)
        if (row0 + o < OUT_H)
            store_word<WORD>(y + index_y(image, filter, (row0 + o) * OUT_W + column), sums[o], ALIGNED);
}
#else
// Neighbouring threads process neighbouring words of a row. The parameter ALIGNED tells that the words of x are
// aligned.
template <bool ALIGNED>
__device__ __forceinline__ void make_patch(const float *__restrict__ x, const float *__restrict__ w,
                                           float *__restrict__ y, unsigned images)
{
    constexpr unsigned ACROSS = ceil_div(OUT_W_1, (unsigned)VECTOR);
    // number of columns of x that a thread reads
    constexpr unsigned COLUMNS = (VECTOR - 1) * STRIDE_W + (FILTER_W - 1) * DILATION_W + 1;
    // A thread's part of a row of x begins SIDE columns before the position of its first point. The thread reads whole
    // words if each word is completely inside the row or completely outside.
    constexpr unsigned WORD = STRIDE_W == 1 && WIDTH % VECTOR == 0 ? VECTOR : 1;
    constexpr unsigned SIDE = ceil_div((unsigned)PAD_W, WORD) * WORD, SHIFT = SIDE - PAD_W;
    constexpr unsigned WORDS = ceil_div(SHIFT + COLUMNS, WORD);
    const unsigned i = blockIdx.x * BLOCK + threadIdx.x; // fewer than 2^32 threads have work
    unsigned across = i % ACROSS, patch = i / ACROSS;
    unsigned row0 = patch % PATCHES * PATCH, plane = patch / PATCHES, filter = plane % FILTERS_1;
    if (plane >= images * FILTERS || OUT_H == 0 || OUT_W == 0)
        return;
    float weights[TAPS], sums[PATCH][VECTOR] = {};
#pragma unroll
    for (unsigned tap = 0; tap < TAPS; ++tap)
        weights[tap] = w[filter * TAPS + tap];
    // The thread's first word, which may be before the image. All other words are at constant distances.
    const unsigned top = row0 * STRIDE_H - PAD_H, left = across * VECTOR * STRIDE_W - SIDE;
    const float *from = x + ((long long)index_x(plane / FILTERS_1, filter / GROUP_FILTERS_1, 0, 0) +
                             ((int)top * WIDTH + (int)left));
#pragma unroll
    for (unsigned t = 0; t < PATCH_ROWS; ++t) {
        float values[WORDS * WORD] = {};
#pragma unroll
        for (unsigned word = 0; word < WORDS; ++word)
            load_word<WORD>(values + word * WORD, from + t * WIDTH + word * WORD,
                            top + t < HEIGHT && left + word * WORD < WIDTH, ALIGNED);
#pragma unroll
        for (unsigned o = 0; o < PATCH; ++o) // row o of y needs row t of x for row r of the filter
#pragma unroll
            for (unsigned r = 0; r < FILTER_H; ++r)
                if (o * STRIDE_H + r * DILATION_H == t)
#pragma unroll
                    for (unsigned s = 0; s < FILTER_W; ++s)
#pragma unroll
                        for (unsigned v = 0; v < VECTOR; ++v)
                            sums[o][v] = fmaf(values[SHIFT + v * STRIDE_W + s * DILATION_W], weights[r * FILTER_W + s],
                                              sums[o][v]);
    }
    const bool together = ALIGNED && OUT_W % VECTOR == 0;
#pragma unroll
    for (unsigned o = 0; o < PATCH; ++o) {
        if (row0 + o >= OUT_H)
            break;
        float *to = y + (offset)plane * POINTS + ((row0 + o) * OUT_W + across * VECTOR);
        if (together)
            store_word<VECTOR>(to, sums[o], true);
        else
#pragma unroll
            for (unsigned v = 0; v < VECTOR; ++v)
                if (across * VECTOR + v < OUT_W)
                    to[v] = sums[o][v];
    }
}
#endif

extern "C" __global__ void __launch_bounds__(BLOCK)
    convnet_depthwise(const float *__restrict__ x, const float *__restrict__ w, float *__restrict__ y, unsigned images)
{
    if (is_aligned<4 * VECTOR>(x, w, y))
        make_patch<true>(x, w, y, images);
    else
        make_patch<false>(x, w, y, images);
}
#endif

#if defined(CONVNET_FFT) || !defined(CONVNET_ONE)
// Convolution by Fourier transforms (M. Mathieu, M. Henaff and Y. LeCun, Fast training of convolutional networks
// through FFTs, ICLR 2014; in tiles: N. Vasilache and others, Fast convolutional nets with fbfft, ICLR 2015). The
// kernels transform overlapping tiles of SIZE x SIZE points of x. They also transform the filters, which are extended
// by zeros to the same size. They multiply the transformed tiles by the conjugates of the transformed filters, add the
// products over the channels, and transform the sums back. A tile gives the points of y whose filters are completely
// inside it.
//
// Compared with winograd, the method takes any filter that fits into a tile, even a dilated one. The method needs
// SIZE^2 complex multiplications for (SIZE - FILTER_H + 1)^2 points (with a stride, for fewer points), whatever the
// size of the filter. Therefore it is fast for large filters. Because the input is real, only half of each transform is
// stored: SIZE / 2 + 1 columns.
//
// An infinity or a NaN in x turns all points of the tiles that contain it into NaNs. If the numbers of a tile have very
// different magnitudes, each of them has the error of the largest number. If all numbers have about the same magnitude,
// the largest error is below the largest error of direct.
#ifndef SIZE
#define SIZE 16 // side of a tile: 8, 16 or 32
#endif
#ifndef TOGETHER
#define TOGETHER 16 // number of tiles per block
#endif

constexpr unsigned SPAN_H = (FILTER_H - 1) * DILATION_H + 1, SPAN_W = (FILTER_W - 1) * DILATION_W + 1;
static_assert(SIZE == 8 || SIZE == 16 || SIZE == 32, "sides of 8, 16 or 32");
// number of rows of y that a tile gives
constexpr unsigned MADE_H = SPAN_H <= SIZE ? (SIZE - SPAN_H) / STRIDE_H + 1 : 1;
// number of columns of y that a tile gives
constexpr unsigned MADE_W = SPAN_W <= SIZE ? (SIZE - SPAN_W) / STRIDE_W + 1 : 1;
// the number of tiles of an image, down and across
constexpr unsigned GRID_H = ceil_div(at_least_one(OUT_H), MADE_H), GRID_W = ceil_div(OUT_W_1, MADE_W);
constexpr unsigned HALF = SIZE / 2 + 1; // number of columns of a transform that are stored

// Returns the cosine of k / 32 of the full circle, for k below 16. After unrolling, the value is a constant.
__device__ __forceinline__ float cosine(unsigned k)
{
    float value = 0.0f;
    switch (k <= 8 ? k : 16 - k) {
    case 0: value = 1.0f; break;
    case 1: value = 0.980785280f; break;
    case 2: value = 0.923879533f; break;
    case 3: value = 0.831469612f; break;
    case 4: value = 0.707106781f; break;
    case 5: value = 0.555570233f; break;
    case 6: value = 0.382683432f; break;
    case 7: value = 0.195090322f; break;
    }
    return k <= 8 ? value : -value;
}

// Computes the Fourier transform of SIZE numbers in registers (radix 2). The result is not divided by SIZE. If INVERSE
// is true, the exponent is positive.
template <bool INVERSE> __device__ __forceinline__ void transform_line(float2 (&v)[SIZE])
{
#pragma unroll
    for (unsigned i = 0, j = 0; i < SIZE; ++i) { // bit-reversed order
        if (i < j) {
            float2 keep = v[i];
            v[i] = v[j], v[j] = keep;
        }
        unsigned bit = SIZE / 2;
#pragma unroll
        for (unsigned round = 0; round < 5; ++round)
            if (bit > 0 && (j & bit))
                j ^= bit, bit /= 2;
        j |= bit;
    }
#pragma unroll
    for (unsigned half = 1; half < SIZE; half *= 2)
#pragma unroll
        for (unsigned i = 0; i < SIZE; ++i) {
            if (i & half)
                continue;
            const unsigned k = i % half * (16 / half); // the angle in 32nds of the circle, below 16
            const float c = cosine(k), s = k < 8 ? cosine(8 - k) : cosine(k - 8), sine = INVERSE ? s : -s;
            const float2 a = v[i], b = v[i + half];
            const float2 turned = {b.x * c - b.y * sine, b.x * sine + b.y * c};
            v[i] = {a.x + turned.x, a.y + turned.y};
            v[i + half] = {a.x - turned.x, a.y - turned.y};
        }
}

// What a thread of a block of TOGETHER x SIZE threads works on: the number of a tile (or filter), and its row in the
// matrices of the result (a channel, or for the sums a filter).
struct Spot {
    unsigned tile, row;
};

__device__ __forceinline__ Spot spot_of_thread(unsigned count)
{
    unsigned blocks = ceil_div(count, (unsigned)TOGETHER);
    return {blockIdx.x % blocks * TOGETHER + threadIdx.x, blockIdx.x / blocks};
}

// Each thread holds row threadIdx.y of a tile in v. The function writes the transform to SIZE * HALF matrices, each of
// `rows` rows and `count` tiles.
__device__ __forceinline__ void transform_tile(float2 (&v)[SIZE], float2 *to, Spot spot, unsigned rows, unsigned count)
{
    __shared__ float2 turned[SIZE][HALF][TOGETHER];
    transform_line<false>(v);
#pragma unroll
    for (unsigned j = 0; j < HALF; ++j)
        turned[threadIdx.y][j][threadIdx.x] = v[j];
    __syncthreads();
    if (threadIdx.y >= HALF || spot.tile >= count)
        return;
#pragma unroll
    for (unsigned i = 0; i < SIZE; ++i)
        v[i] = turned[i][threadIdx.y][threadIdx.x];
    transform_line<false>(v);
#pragma unroll
    for (unsigned i = 0; i < SIZE; ++i)
        to[((offset)(i * HALF + threadIdx.y) * rows + spot.row) * count + spot.tile] = v[i];
}

// In the result, a row belongs to a channel of a group. A column belongs to a filter of that group.
extern "C" __global__ void __launch_bounds__(TOGETHER *SIZE)
    convnet_fft_filters(const float *__restrict__ w, float2 *__restrict__ transformed)
{
    Spot spot = spot_of_thread(GROUP_FILTERS_1);
    constexpr unsigned GROUP_CHANNELS_1 = at_least_one(GROUP_CHANNELS);
    unsigned group = spot.row / GROUP_CHANNELS_1, channel = spot.row % GROUP_CHANNELS_1, r = threadIdx.y / DILATION_H;
    float2 v[SIZE] = {};
    if (spot.tile < GROUP_FILTERS && threadIdx.y % DILATION_H == 0 && r < FILTER_H)
#pragma unroll
        for (unsigned j = 0; j < SIZE; j += DILATION_W)
            if (j / DILATION_W < FILTER_W)
                v[j].x = w[index_w(group * GROUP_FILTERS + spot.tile, channel, r, j / DILATION_W)];
    transform_tile(v, transformed, spot, CHANNELS, GROUP_FILTERS);
}

// In the result, a row belongs to a channel. A column belongs to a tile, counted over all images.
extern "C" __global__ void __launch_bounds__(TOGETHER *SIZE)
    convnet_fft_image(const float *__restrict__ x, float2 *__restrict__ transformed, unsigned images)
{
    const unsigned count = images * (GRID_H * GRID_W);
    Spot spot = spot_of_thread(count);
    unsigned across = spot.tile % GRID_W, down = spot.tile / GRID_W % GRID_H, image = spot.tile / (GRID_W * GRID_H);
    unsigned row = down * MADE_H * STRIDE_H + threadIdx.y - PAD_H, column0 = across * MADE_W * STRIDE_W - PAD_W;
    float2 v[SIZE] = {};
    if (image < images)
#pragma unroll
        for (unsigned j = 0; j < SIZE; ++j)
            v[j].x = image_at(x, image, spot.row, row, column0 + j);
    transform_tile(v, transformed, spot, CHANNELS, count);
}

// Computes the sums over the channels for each bin (element of the transform) and each group. A row belongs to a
// filter, and a column belongs to a tile. Blocks of 16 x 16 threads compute tiles of 32 x 32, four results per thread.
extern "C" __global__ void __launch_bounds__(256)
    convnet_fft_sums(const float2 *__restrict__ filters, const float2 *__restrict__ tiles, float2 *__restrict__ sums,
                     unsigned count)
{
    __shared__ float2 tile_a[16][33], tile_b[16][33];
    constexpr unsigned DOWN = ceil_div(GROUP_FILTERS_1, 32u);
    const unsigned bin = blockIdx.y / GROUPS, group = blockIdx.y % GROUPS, i = threadIdx.y, j = threadIdx.x;
    const unsigned filter0 = blockIdx.x % DOWN * 32, column0 = blockIdx.x / DOWN * 32;
    const offset row0 = (offset)bin * CHANNELS + group * GROUP_CHANNELS;
    float2 sum[2][2] = {};
    for (unsigned c0 = 0; c0 < GROUP_CHANNELS; c0 += 16) {
#pragma unroll
        for (unsigned half = 0; half < 32; half += 16) {
            bool there = c0 + i < GROUP_CHANNELS;
            unsigned filter = filter0 + half + j, column = column0 + half + j;
            tile_a[i][half + j] =
                there && filter < GROUP_FILTERS ? filters[(row0 + c0 + i) * GROUP_FILTERS + filter] : float2{0, 0};
            tile_b[i][half + j] = there && column < count ? tiles[(row0 + c0 + i) * count + column] : float2{0, 0};
        }
        __syncthreads();
#pragma unroll
        for (unsigned c = 0; c < 16; ++c)
#pragma unroll
            for (unsigned m = 0; m < 2; ++m)
#pragma unroll
                for (unsigned n = 0; n < 2; ++n) {
                    // the kernel multiplies a by the conjugate of b
                    float2 a = tile_a[c][m * 16 + i], b = tile_b[c][n * 16 + j];
                    sum[m][n].x = fmaf(a.y, b.y, fmaf(a.x, b.x, sum[m][n].x));
                    sum[m][n].y = fmaf(-a.y, b.x, fmaf(a.x, b.y, sum[m][n].y));
                }
        __syncthreads();
    }
#pragma unroll
    for (unsigned m = 0; m < 2; ++m)
#pragma unroll
        for (unsigned n = 0; n < 2; ++n) {
            unsigned filter = filter0 + m * 16 + i, column = column0 + n * 16 + j;
            if (filter < GROUP_FILTERS && column < count)
                sums[((offset)bin * FILTERS + group * GROUP_FILTERS + filter) * count + column] = sum[m][n];
        }
}

// Transforms the sums back, columns first. Then each row is the transform of real numbers, so the other half of the row
// is the conjugate of this half.
extern "C" __global__ void __launch_bounds__(TOGETHER *SIZE)
    convnet_fft_points(const float2 *__restrict__ sums, float *__restrict__ y, unsigned images)
{
    __shared__ float2 turned[SIZE][HALF][TOGETHER];
    const unsigned count = images * (GRID_H * GRID_W);
    Spot spot = spot_of_thread(count);
    float2 v[SIZE] = {};
    if (threadIdx.y < HALF) {
        if (spot.tile < count)
#pragma unroll
            for (unsigned i = 0; i < SIZE; ++i)
                v[i] = sums[((offset)(i * HALF + threadIdx.y) * FILTERS + spot.row) * count + spot.tile];
        transform_line<true>(v);
#pragma unroll
        for (unsigned i = 0; i < SIZE; ++i)
            turned[i][threadIdx.y][threadIdx.x] = v[i];
    }
    __syncthreads();
#pragma unroll
    for (unsigned j = 0; j < HALF; ++j)
        v[j] = turned[threadIdx.y][j][threadIdx.x];
#pragma unroll
    for (unsigned j = HALF; j < SIZE; ++j)
        v[j] = {v[SIZE - j].x, -v[SIZE - j].y};
    transform_line<true>(v);
    unsigned across = spot.tile % GRID_W, down = spot.tile / GRID_W % GRID_H, image = spot.tile / (GRID_W * GRID_H);
    unsigned row = down * MADE_H + threadIdx.y / STRIDE_H, column0 = across * MADE_W;
    if (image >= images || threadIdx.y % STRIDE_H != 0 || threadIdx.y / STRIDE_H >= MADE_H || row >= OUT_H)
        return;
#pragma unroll
    for (unsigned j = 0; j < MADE_W; ++j)
        if (column0 + j < OUT_W)
            y[index_y(image, spot.row, row * OUT_W + column0 + j)] = v[j * STRIDE_W].x * (1.0f / (SIZE * SIZE));
}
#endif
