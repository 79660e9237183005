// gemm_scaled.cu - C = A B of floats of 8 or 4 bits, with a scale for each block of elements along K. A is M x K by
// rows, and C is M x N by rows. B is K x N by columns, so in memory it is N x K by rows.
//
// FORMAT is one of three:
// - 0, mxf8: Elements are e4m3, which has 8 bits. Each block of 32 elements has a scale that is a power of two (ue8m0,
//   8 bits).
// - 1, mxf4: Elements are e2m1, which has 4 bits. Two elements are in a byte. Each block of 32 elements has a scale
//   that is a power of two.
// - 2, nvf4: Elements are e2m1. Each block of 16 elements has a scale that is a float of 8 bits without sign (ue4m3).
//
// Scales are needed because floats of 4 bits have only eight magnitudes, from 0 to 6. A scale moves the range of these
// magnitudes to the numbers of a block. A block must be short, because its largest number determines the scale. So a
// block has 16 or 32 numbers, and tensor cores apply the scales while they multiply. The element of C is
//     sum over k of a[k] scale_a[k / block] b[k] scale_b[k / block]
// Accumulators are in single precision. C is f32, f16 or bf16. A_scales is M x K / block and B_scales is N x K / block,
// both by rows. A scale is a byte. K is a multiple of 32. In the kernel `plain`, M and N have any size, and K may be 0.
//
// The kernels `mma_scaled` and `tcgen05` need devices that were not available. They were never run on hardware, and
// were tested only on the simulated device. Their code is left out on other devices.
//
// The tuning parameters are macros. The engine defines these macros from the spec. If SCALED_ONE is set, only the
// kernels whose macro SCALED_<NAME> is set are compiled. Otherwise all kernels are compiled.

#ifndef FORMAT
#define FORMAT 0
#endif
#ifndef TILE
#define TILE 16 // plain: number of rows and of columns of C that each block computes
#endif

// In this file, gemm.cuh and gemm_tcgen05.cuh see matrices of bytes. B is stored by columns, and a step has 128 bytes
// of a row.
#undef ELEMENT
#undef COLUMNS
#undef TILE_K
#define ELEMENT 2
#define COLUMNS 1
#define TILE_K 128
#include "gemm_tcgen05.cuh"

#ifndef WARPS_M
#define WARPS_M 2 // mma_scaled: number of warps that share the rows of a block's tile
#endif
#ifndef WARPS_N
#define WARPS_N 4 // mma_scaled: number of warps that share the columns of a block's tile
#endif
typedef unsigned char byte;

enum : unsigned {
    BITS = FORMAT == 0 ? 8 : 4,   // bits of an element
    BLOCK_K = FORMAT == 2 ? 16 : 32, // number of elements along K that share a scale
    LINE = TILE_K,                // bytes along K in a step of the loop, for both operands
    STEP_K = LINE * 8 / BITS,     // elements along K in a step of the loop
    // Tensor cores take scales in words of four scales. A step has WORDS words for each row.
    WORDS = STEP_K / BLOCK_K / 4,
    CHUNK_ROWS = 128,
    CHUNK = CHUNK_ROWS * 4        // bytes of the words of scales of 128 rows
};

// ---- the formats ----

// Returns the value of a float of 8 bits. The exponent and the fraction move to the places that they have in a float of
// 32 bits. A multiplication corrects the exponent. The multiplication also makes subnormal numbers normal. For the code
// of NaN, the function returns 480.
__device__ __forceinline__ float of_e4m3(unsigned code)
{
    return __uint_as_float((code & 0x80) << 24 | (code & 0x7f) << 20) * 0x1p120f;
}

// Returns the value of a float of 4 bits in the same way.
__device__ __forceinline__ float of_e2m1(unsigned code)
{
    return __uint_as_float((code & 8) << 28 | (code & 7) << 22) * 0x1p126f;
}

// Returns the value of a scale of the present format.
__device__ __forceinline__ float of_scale(unsigned code)
{
    if (FORMAT == 2)
        return of_e4m3(code & 0x7f);
    return __uint_as_float(code ? code << 23 : 1 << 22); // code 0 is 2^-127, a subnormal float
}

#if defined(SCALED_PLAIN) || !defined(SCALED_ONE)
// Returns an element multiplied by its scale. `row_bytes` is the length of a row of elements.
__device__ __forceinline__ float scaled_element(const byte *elements, const byte *scales, unsigned row, unsigned k,
                                                unsigned row_bytes, unsigned blocks)
{
    const unsigned code = BITS == 8 ? elements[(offset)row * row_bytes + k]
                                    : elements[(offset)row * row_bytes + k / 2] >> k % 2 * 4 & 15;
    return (BITS == 8 ? of_e4m3(code) : of_e2m1(code)) * of_scale(scales[(offset)row * blocks + k / BLOCK_K]);
}

// Each thread computes one element of C. The tiles have 16 elements along K. They are converted to floats once for all
// threads of the block, and are in shared memory. This kernel runs on every device. It shows how the formats are read.
// It is far from the bound of tensor cores.
extern "C" __global__ void __launch_bounds__(TILE *TILE)
    scaled_plain(const byte *__restrict__ A, const byte *__restrict__ A_scales, const byte *__restrict__ B,
                 const byte *__restrict__ B_scales, result *__restrict__ C, unsigned M, unsigned N, unsigned K)
{
    constexpr unsigned depth = 16;
    __shared__ float a[TILE][depth + 1], b[TILE][depth + 1];
    const unsigned row_bytes = K / 8 * BITS, blocks = K / BLOCK_K;
    const unsigned y = threadIdx.x / TILE, x = threadIdx.x % TILE;
    const unsigned first_row = blockIdx.y * TILE, first_column = blockIdx.x * TILE;
    float sum = 0;
    for (unsigned k0 = 0; k0 < K; k0 += depth) {
        for (unsigned i = threadIdx.x; i < TILE * depth; i += TILE * TILE) {
            const unsigned r = i / depth, k = i % depth;
            const bool in_a = first_row + r < M, in_b = first_column + r < N;
            a[r][k] = in_a ? scaled_element(A, A_scales, first_row + r, k0 + k, row_bytes, blocks) : 0.0f;
            b[r][k] = in_b ? scaled_element(B, B_scales, first_column + r, k0 + k, row_bytes, blocks) : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (unsigned k = 0; k < depth; ++k)
            sum = fmaf(a[y][k], b[x][k], sum);
        __syncthreads();
    }
    if (first_row + y < M && first_column + x < N)
        store_one(C + (offset)(first_row + y) * N + first_column + x, sum);
}
#endif

#if defined(SCALED_ARRANGE) || !defined(SCALED_ONE)
// Puts scales into the order that tensor cores and cuBLAS take. A chunk has four scales of each of 128 rows, which are
// one word for each row. Word r of a chunk is at word r % 32 * 4 + r / 32. So four neighbouring words (16 bytes) have
// the rows r, r + 32, r + 64 and r + 96. Chunks of the same rows follow each other along K, up to the end of the last
// step. Scales of rows after the last row, and scales after the last scale of a row, are 0. They scale elements that
// are zero, so any scale but NaN would do. Each thread writes one word.
extern "C" __global__ void __launch_bounds__(128)
    scaled_arrange(const byte *__restrict__ scales, unsigned *__restrict__ words, unsigned rows, unsigned blocks)
{
    const unsigned row = blockIdx.x * CHUNK_ROWS + threadIdx.x, word = blockIdx.y, words_of_row = gridDim.y;
    unsigned made = 0;
#pragma unroll
    for (unsigned i = 0; i < 4; ++i)
        if (row < rows && 4 * word + i < blocks)
            made |= (unsigned)scales[(offset)row * blocks + 4 * word + i] << 8 * i;
    words[((offset)blockIdx.x * words_of_row + word) * CHUNK_ROWS + threadIdx.x % 32 * 4 + threadIdx.x / 32] = made;
}
#endif

#if defined(SCALED_MMA) || !defined(SCALED_ONE)
#if defined(__CUDA_ARCH_FEAT_SM120_ALL) || defined(__CUDA_ARCH_FEAT_SM121_ALL)
#define HAS_SCALED_MMA 1
#else
#define HAS_SCALED_MMA 0
#endif

// Issues a matrix instruction of a warp that adds to d, with the shapes and fragments of tensor.cuh. The instruction
// reads words of four scales from these lanes, and ignores the words of the other lanes:
//     scales_a   lane 4 i has the scales of row i, and lane 4 i + 1 the scales of row i + 8
//     scales_b   lane 4 i has the scales of column i
// `part` is the number of this instruction among the instructions that share the words. An instruction for mxf8 needs
// one scale of a row, so four instructions share a word. An instruction for mxf4 needs two scales, and an instruction
// for nvf4 needs four.
__device__ __forceinline__ void multiply_scaled(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1,
                                                unsigned scales_a, unsigned scales_b, unsigned part)
{
#if HAS_SCALED_MMA
#define SCALED_MMA_TEXT(shape, kind, types)                                                                            \
    "mma.sync.aligned." shape ".row.col.kind::" kind "." types " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "       \
    "{%0, %1, %2, %3}, %10, {%12, 0}, %11, {%12, 0};"
#define SCALED_MMA_OPERANDS(byte)                                                                                      \
    "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                                     \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(scales_a), "r"(scales_b),                  \
          "h"((unsigned short)(byte))
    if (FORMAT == 0)
        asm volatile(SCALED_MMA_TEXT("m16n8k32", "mxf8f6f4.block_scale.scale_vec::1X", "f32.e4m3.e4m3.f32.ue8m0")
                     : SCALED_MMA_OPERANDS(part));
    else if (FORMAT == 1)
        asm volatile(SCALED_MMA_TEXT("m16n8k64", "mxf4.block_scale.scale_vec::2X", "f32.e2m1.e2m1.f32.ue8m0")
                     : SCALED_MMA_OPERANDS(2 * part));
    else
        asm volatile(SCALED_MMA_TEXT("m16n8k64", "mxf4nvf4.block_scale.scale_vec::4X", "f32.e2m1.e2m1.f32.ue4m3")
                     : SCALED_MMA_OPERANDS(0));
#endif
}

// A stage of the ring in shared memory. It has LINE bytes of each row of A and of B, and their scales. The pieces of 16
// bytes of a row are permuted, so that 8 rows are in different banks.
struct mma_stage {
    enum : unsigned {
        a_bytes = TILE_M * LINE,
        b_bytes = TILE_N * LINE,
        a_chunks = (TILE_M + CHUNK_ROWS - 1) / CHUNK_ROWS * WORDS, // number of chunks of scales of A
        b_chunks = (TILE_N + CHUNK_ROWS - 1) / CHUNK_ROWS * WORDS,
        of_a = a_bytes + b_bytes, // offset at which the scales of A begin
        of_b = of_a + a_chunks * CHUNK,
        bytes = of_b + b_chunks * CHUNK
    };
    static __device__ __forceinline__ unsigned place(unsigned row, unsigned piece)
    {
        return row * LINE + 16 * (piece ^ row % 8);
    }
};

// All threads of the block begin to copy LINE bytes of `rows` rows. Rows and bytes outside the matrix become zeros.
template <unsigned rows, unsigned threads>
__device__ __forceinline__ void copy_lines(byte *to, const byte *from, unsigned first, unsigned all, unsigned begin,
                                           unsigned row_bytes)
{
#pragma unroll
    for (unsigned i = threadIdx.x; i < rows * (LINE / 16); i += threads) {
        const unsigned r = first + i / 8, at = begin + i % 8 * 16;
        const bool inside = r < all && at < row_bytes;
        copy_async<16>(to + mma_stage::place(i / 8, i % 8), from + (inside ? (offset)r * row_bytes + at : 0), inside);
    }
}

// All threads of the block begin to copy the chunks of scales for one step. `first` is the first row of the tile. A
// tile with fewer than 128 rows needs only a part of a chunk, but the whole chunk is copied.
template <unsigned rows, unsigned threads>
__device__ __forceinline__ void copy_scales(byte *to, const byte *from, unsigned first, unsigned all, unsigned word,
                                            unsigned words)
{
    constexpr unsigned count = (rows + CHUNK_ROWS - 1) / CHUNK_ROWS * WORDS;
#pragma unroll
    for (unsigned i = threadIdx.x; i < count * (CHUNK / 16); i += threads) {
        const unsigned c = i / (CHUNK / 16), chunk_row = first / CHUNK_ROWS + c / WORDS, w = word + c % WORDS;
        const bool inside = chunk_row * CHUNK_ROWS < all && w < words;
        copy_async<16>(to + i * 16, from + (inside ? ((offset)chunk_row * words + w) * CHUNK + i % (CHUNK / 16) * 16 : 0),
                       inside);
    }
}

// Warps multiply by mma.sync with scales. This is for devices of compute capability 12.x, which have no tensor memory.
// As in gemm_mma_async, cp.async fills a ring of STAGES steps. Elements of 4 bits need no other code than elements of 8
// bits, because an instruction always reads 32 bytes along K of each row. Only the number of scales differs between the
// formats.
extern "C" __global__ void __launch_bounds__(WARP *WARPS_M *WARPS_N)
    scaled_mma(const byte *__restrict__ A, const byte *__restrict__ A_scales, const byte *__restrict__ B,
               const byte *__restrict__ B_scales, result *__restrict__ C, unsigned M, unsigned N, unsigned K)
{
#if HAS_SCALED_MMA
    extern __shared__ __align__(128) byte room[];
    constexpr unsigned threads = WARP * WARPS_M * WARPS_N, down = TILE_M / WARPS_M / 16, across = TILE_N / WARPS_N / 8;
    typedef mma_stage stage;
    const unsigned row_bytes = K / 8 * BITS, steps = ceil_div(K, STEP_K), words = steps * WORDS;
    const unsigned row = blockIdx.y * TILE_M, column = blockIdx.x * TILE_N, lane = lane_id();
    const unsigned warp_row = warp_id() / WARPS_N * (TILE_M / WARPS_M),
                   warp_column = warp_id() % WARPS_N * (TILE_N / WARPS_N);
    float sums[down][across][4] = {};
    auto begin = [&](unsigned step) {
        if (step < steps) {
            byte *to = room + step % STAGES * stage::bytes;
            copy_lines<TILE_M, threads>(to, A, row, M, step * LINE, row_bytes);
            copy_lines<TILE_N, threads>(to + stage::a_bytes, B, column, N, step * LINE, row_bytes);
            copy_scales<TILE_M, threads>(to + stage::of_a, A_scales, row, M, step * WORDS, words);
            copy_scales<TILE_N, threads>(to + stage::of_b, B_scales, column, N, step * WORDS, words);
        }
        copy_async_commit();
    };
    // Returns the word of scales of row `r` of a tile that begins at row `first`.
    auto word_of = [](const byte *chunks, unsigned first, unsigned r, unsigned word) {
        const unsigned in_chunk = (first + r) % CHUNK_ROWS, c = (first % CHUNK_ROWS + r) / CHUNK_ROWS * WORDS + word;
        return *(const unsigned *)(chunks + c * CHUNK + in_chunk % 32 * 16 + in_chunk / 32 * 4);
    };
#pragma unroll 1
    for (unsigned step = 0; step < STAGES - 1; ++step)
        begin(step);
    for (unsigned step = 0; step < steps; ++step) {
        copy_async_wait<STAGES - 2>();
        __syncthreads(); // all threads have passed here, so this step has arrived, and the previous step has been read
        begin(step + STAGES - 1);
        const byte *at = room + step % STAGES * stage::bytes;
        const unsigned a = shared_address(at), b = a + stage::a_bytes;
#pragma unroll
        for (unsigned k = 0; k < LINE / 32; ++k) {
            constexpr unsigned together = LINE / 32 / WORDS; // number of instructions that share a word of scales
            unsigned of_a[down][4], of_b[across / 2][4], scales_a[down], scales_b[across];
#pragma unroll
            for (unsigned i = 0; i < down; ++i) {
                load_fragments(of_a[i], a + stage::place(warp_row + 16 * i + lane % 16, 2 * k + lane / 16));
                scales_a[i] = word_of(at + stage::of_a, row, warp_row + 16 * i + lane / 4 + lane % 2 * 8, k / together);
            }
#pragma unroll
            for (unsigned j = 0; j < across / 2; ++j)
                load_fragments(of_b[j],
                               b + stage::place(warp_column + 16 * j + lane / 16 * 8 + lane % 8, 2 * k + lane / 8 % 2));
#pragma unroll
            for (unsigned j = 0; j < across; ++j)
                scales_b[j] = word_of(at + stage::of_b, column, warp_column + 8 * j + lane / 4, k / together);
#pragma unroll
            for (unsigned i = 0; i < down; ++i)
#pragma unroll
                for (unsigned j = 0; j < across; ++j)
                    multiply_scaled(sums[i][j], of_a[i], of_b[j / 2][j % 2 * 2], of_b[j / 2][j % 2 * 2 + 1], scales_a[i],
                                    scales_b[j], k % together);
        }
    }
    const bool pairs = N % 2 == 0 && is_aligned<2 * sizeof(result)>(C);
#pragma unroll
    for (unsigned i = 0; i < down; ++i)
#pragma unroll
        for (unsigned j = 0; j < across; ++j)
#pragma unroll
            for (unsigned half = 0; half < 2; ++half)
                store_inside(C, row + warp_row + 16 * i + 8 * half + lane / 4, column + warp_column + 8 * j + lane % 4 * 2, M,
                             N, pairs, sums[i][j][2 * half], sums[i][j][2 * half + 1]);
#endif
}
#endif

#if defined(SCALED_TCGEN05) || !defined(SCALED_ONE)
// A stage of the ring. It has 128 rows of A and TILE_N rows of B, as tensor maps write them, and the scales of both.
struct scaled_step {
    enum : unsigned {
        a_bytes = sums_place::rows * LINE,
        b_bytes = TILE_N * LINE,
        chunks_b = TILE_N / CHUNK_ROWS,  // number of chunks of B's scales beside each other
        scale_bytes = (1 + chunks_b) * WORDS * CHUNK,
        needed = a_bytes + b_bytes + scale_bytes,
        bytes = (needed + 1023) / 1024 * 1024, // a multiple of 1024, because swizzles permute address bits
        // columns of tensor memory for the scales of a step: first the words of A, then the words of B
        columns_b = 4 * chunks_b,
        columns = WORDS * (4 + columns_b)
    };

    // Begins to copy one step. `words` is the number of chunks along K, and `chunks_n` is the number of chunks along N.
    // If a chunk of rows is beyond the end of B, the last chunk of B is copied instead. Results for these rows are not
    // written.
    static __device__ __forceinline__ void load(unsigned char *to, const tensor_map &map_a, const tensor_map &map_b,
                                                const byte *scales_a, const byte *scales_b, unsigned row, unsigned column,
                                                unsigned step, unsigned words, unsigned chunks_n, barrier *full)
    {
        unsigned char *const scales = to + a_bytes + b_bytes;
        constexpr unsigned together = WORDS * CHUNK; // bytes of neighbouring chunks
        barrier_expect(full, needed);
        tensor_load(to, map_a, (int)(step * LINE), (int)row, full);
        tensor_load(to + a_bytes, map_b, (int)(step * LINE), (int)column, full);
        bulk_load(scales, scales_a + ((offset)(row / CHUNK_ROWS) * words + step * WORDS) * CHUNK, together, full);
#pragma unroll
        for (unsigned i = 0; i < chunks_b; ++i)
            bulk_load(scales + (1 + i) * together,
                      scales_b + ((offset)min(column / CHUNK_ROWS + i, chunks_n - 1) * words + step * WORDS) * CHUNK,
                      together, full);
    }
};

// Uses matrix instructions with scales and tensor memory, on compute capability 10.0. The roles of the warps and the
// barriers are as in gemm_tcgen05, with two differences:
// - The producer also copies chunks of scales, which are contiguous.
// - The issuer copies the scales of a step from shared memory to tensor memory, and then issues the matrix instructions
//   of the step. These instructions see the scales without a wait. But such a copy may overtake earlier instructions,
//   so each stage has its own columns. The earlier instructions that read the columns of a stage are complete, because
//   the producer waits for them before it fills the stage again.
extern "C" __global__ void __launch_bounds__(32 * role::warps, 1)
    scaled_tcgen05(const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_b,
                   const __grid_constant__ tensor_map map_c, const byte *__restrict__ scales_a,
                   const byte *__restrict__ scales_b, result *C, unsigned M, unsigned N, unsigned K, unsigned walk)
{
#if HAS_TCGEN05
    extern __shared__ __align__(16) unsigned char shared[];
    typedef choose<FORMAT, tcgen05_mxf8, tcgen05_mxf4, tcgen05_nvf4> format;
    typedef scaled_step part;
    constexpr unsigned allocated = tensor_columns(SETS * TILE_N + STAGES * part::columns);
    const room_of<part> room(shared);
    const unsigned warp = warp_id(), steps = ceil_div(K, STEP_K), words = steps * WORDS;
    const unsigned tiles_m = ceil_div(M, sums_place::rows), tiles_n = ceil_div(N, TILE_N), tiles = tiles_m * tiles_n;
    if (warp == role::issuer)
        tensor_allocate<allocated>(room.tensor_address());
    if (threadIdx.x == 0)
        room.make(1, role::writers);
    tcgen05_fence_before();
    __syncthreads();
    tcgen05_fence_after();
    const unsigned tensor = *room.tensor_address();
    unsigned count = 0, made = 0; // number of steps of this block so far; number of its tiles so far
    if (warp == role::producer) {
        if (is_elected()) {
            tensor_prefetch(map_a);
            tensor_prefetch(map_b);
            for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
                const tile_place at = find_tile(tile, tiles_m, tiles_n, walk);
                for (unsigned step = 0; step < steps; ++step, ++count) {
                    barrier_wait(room.empty(count), room.parity(count) ^ 1);
                    part::load(room.at(count), map_a, map_b, scales_a, scales_b, at.row * sums_place::rows,
                               at.column * TILE_N, step, words, ceil_div(N, CHUNK_ROWS), room.full(count));
                }
            }
        }
    } else if (warp == role::issuer) {
        if (is_elected())
            for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x, ++made) {
                barrier_wait(room.taken(made), room.parity_of_set(made) ^ 1);
                tcgen05_fence_after();
                for (unsigned step = 0; step < steps; ++step, ++count) {
                    barrier_wait(room.full(count), room.parity(count));
                    tcgen05_fence_after();
                    const unsigned at = shared_address(room.at(count)), scales = at + part::a_bytes + part::b_bytes;
                    const unsigned columns_a = tensor + SETS * TILE_N + count % STAGES * part::columns,
                                   columns_b = columns_a + 4 * WORDS;
#pragma unroll
                    for (unsigned w = 0; w < WORDS; ++w) {
                        tcgen05_copy_scales(columns_a + 4 * w, scales + w * CHUNK);
#pragma unroll
                        for (unsigned i = 0; i < part::chunks_b; ++i)
                            tcgen05_copy_scales(columns_b + part::columns_b * w + 4 * i,
                                                scales + ((1 + i) * WORDS + w) * CHUNK);
                    }
                    const offset a = tcgen05_descriptor<128>(at, 16, 1024),
                                 b = tcgen05_descriptor<128>(at + part::a_bytes, 16, 1024);
#pragma unroll
                    for (unsigned k = 0; k < LINE / 32; ++k) {
                        // number of instructions that share a word of scales
                        constexpr unsigned together = LINE / 32 / WORDS;
                        const unsigned w = k / together;
                        format::multiply(tensor + made % SETS * TILE_N, descriptor_after(a, 32 * k),
                                         descriptor_after(b, 32 * k),
                                         format::shape(sums_place::rows, TILE_N, k % together * (4 / together)),
                                         columns_a + 4 * w, columns_b + part::columns_b * w, step > 0 || k > 0);
                    }
                    tcgen05_commit(room.empty(count));
                }
                tcgen05_commit(room.done(made));
            }
    } else {
        tile_writer writer(room.result_parts(warp % 4), map_c, C, M, N);
        for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x, ++made) {
            const tile_place at = find_tile(tile, tiles_m, tiles_n, walk);
            barrier_wait(room.done(made), room.parity_of_set(made));
            tcgen05_fence_after();
            writer.write(
                tensor + made % SETS * TILE_N, at.row * sums_place::rows, at.column * TILE_N, 1,
                [](float(&)[32], unsigned, unsigned) {},
                [&] {
                    tcgen05_fence_before();
                    __syncwarp();
                    if (lane_id() == 0)
                        barrier_arrive(room.taken(made));
                });
        }
        writer.end();
    }
    __syncwarp();
    tcgen05_fence_before();
    __syncthreads(); // all accumulators have been read
    if (warp == role::issuer) {
        tcgen05_fence_after();
        tensor_free<allocated>(tensor);
    }
#endif
}
#endif
