// gemm.cuh - the common part of gemm.cu and gemm_tcgen05.cu. It has the parameters of the problem, the order of tiles,
// the epilogue, and the copies of tiles by tensor maps. gemm.cu describes the problem.

#ifndef GEMM_CUH
#define GEMM_CUH

#include "async.cuh"
#include "tensor.cuh"

#ifndef ELEMENT
// type of A and B: 0: f16, 1: bf16, 2: f8e4m3, 3: f32, of which the tensor core uses the sign, the exponent and 10
// fraction bits (tf32)
#define ELEMENT 1
#endif
#ifndef RESULT
#define RESULT 2 // type of C: 0: f32, 1: f16, 2: bf16
#endif
#ifndef COLUMNS
#define COLUMNS 0 // 1: B is stored by columns
#endif
#ifndef TILE_M
#define TILE_M 128 // number of rows of C that a block computes
#endif
#ifndef TILE_N
#define TILE_N 128 // number of columns of C that a block computes
#endif
#ifndef TILE_K
#define TILE_K 64 // number of elements along K in one step of the loop
#endif
#ifndef STAGES
#define STAGES 4 // number of tiles in the ring buffer
#endif
#ifndef CLUSTER_M
#define CLUSTER_M 2 // wgmma_cluster, split_k: number of blocks of a cluster that share a tile of B
#endif
#ifndef CLUSTER_N
#define CLUSTER_N 1 // wgmma_cluster, split_k: number of blocks of a cluster that share a tile of A
#endif
#ifndef BATCHED
#define BATCHED 0 // wgmma_specialised: 1: the third coordinate of a tensor map is the number of the product
#endif
#ifndef EPILOGUE
// a sum of flags: 1: add a bias for each column, 2: apply GELU, 4: add a residual, which is a matrix like C
#define EPILOGUE 0
#endif
#ifndef STAGED
// The way in which C is written. With 0, each thread writes its own accumulators. With 1, C goes through shared memory;
// wgmma_* write it from there by tensor maps, and mma_* in aligned pieces. The value 2 is for wgmma_padded: C goes
// through shared memory, and warps write complete lines of 128 bytes, wherever rows begin.
#define STAGED 1
#endif

typedef choose<ELEMENT, f16, bf16, f8e4m3, tf32> element;
typedef choose<RESULT, float, f16, bf16> result;

enum : unsigned {
    SIZE = sizeof(element),
    PIECE = 16 / SIZE, // number of elements in 16 bytes
    STEP = 32 / SIZE   // number of elements along K in one matrix instruction
};

// Returns the place of tile `index` of C. The order goes down `walk` rows of tiles before it moves to the next column.
// So blocks that run at the same time need few different rows and columns of tiles, and memory has to send few tiles to
// the L2. `walk` is an argument, not a macro, so that configurations with different values share their code.
struct tile_place {
    unsigned row, column;
};

__device__ __forceinline__ tile_place find_tile(unsigned index, unsigned tiles_m, unsigned tiles_n, unsigned walk)
{
    const unsigned first = index / (walk * tiles_n) * walk, rest = index % (walk * tiles_n);
    const unsigned height = min(walk, tiles_m - first);
    return {first + rest % height, rest / height};
}

// ---- the epilogue: the steps that follow a matrix product ----

#if EPILOGUE
// The epilogue computes GELU(sum + bias) + residual while the accumulators are in registers. A separate kernel would
// read and write C once more. The bias has N elements, and the residual is M x N. Both have the type of C. If a step is
// not in EPILOGUE, its array is not read.
struct epilogue {
    const result *bias, *residual;
    unsigned M, N;
    bool pairs; // true if no row ends between two neighbours, and pairs are aligned

    __device__ __forceinline__ epilogue(const result *bias_, const result *residual_, unsigned M_, unsigned N_)
        : bias(bias_), residual(residual_), M(M_), N(N_),
          pairs(N_ % 2 == 0 && is_aligned<2 * sizeof(result)>(bias_, residual_))
    {
    }

    // Returns GELU of x, which is x (1 + tanh(y)) / 2, computed as x divided by 1 + exp(-2 y). As usual, y is 0.7978846
    // x + 0.0356774 x^3. If results have 16 bits, the function uses the tanh of the hardware, whose error is below
    // 2^-10.
    static __device__ __forceinline__ float gelu(float x)
    {
        const float y = x * fmaf(0.035677408f * x, x, 0.79788456f);
        if (sizeof(result) == 4)
            return __fdividef(x, 1 + __expf(fminf(-2 * y, 80))); // if y is smaller than -40, the quotient is 0
        float tangent;
        asm("tanh.approx.f32 %0, %1;" : "=f"(tangent) : "f"(y));
        return fmaf(0.5f * x, tangent, 0.5f * x);
    }

    // Reads two neighbouring elements at `from`. Outside C it reads the first element instead, whose value is not used.
    // A load without a branch does not delay the next load. `left` is the number of elements from the first of them to
    // the end of the row.
    template <bool paired> static __device__ __forceinline__ float2 read(const result *from, unsigned left)
    {
        if (paired)
            return load_pair(from);
        return {load_one(from), load_one(from + (left > 1 ? 1 : 0))};
    }

    template <bool paired> __device__ __forceinline__ float2 bias_of(unsigned c) const
    {
        return EPILOGUE & 1 ? read<paired>(bias + (c < N ? c : 0), c < N ? N - c : 1) : float2{};
    }

    __device__ __forceinline__ const result *row_of_residual(unsigned r) const
    {
        return EPILOGUE & 4 ? residual + (offset)(r < M ? r : 0) * N : nullptr;
    }

    template <bool paired> __device__ __forceinline__ float2 residual_of(const result *row, unsigned c) const
    {
        return EPILOGUE & 4 ? read<paired>(row + (c < N ? c : 0), c < N ? N - c : 1) : float2{};
    }

    static __device__ __forceinline__ void apply(float &first, float &second, float2 bias, float2 residual)
    {
        first += bias.x, second += bias.y;
        if (EPILOGUE & 2)
            first = gelu(first), second = gelu(second);
        first += residual.x, second += residual.y;
    }
};
#endif

// The epilogue that the kernel of the product applies itself. If gemm_finish follows, the kernel applies no epilogue.
#ifdef GEMM_FINISH
#define FUSED 0
#else
#define FUSED EPILOGUE
#endif
#if FUSED
#define EPILOGUE_PARAMS , const result *__restrict__ bias, const result *__restrict__ residual
#else
#define EPILOGUE_PARAMS
#endif

#if FUSED & 4
// One thread begins to prefetch a tile of the residual to the L2, one row at a time. Meanwhile the other threads
// multiply. Rows are whole pieces of 16 bytes.
__device__ __forceinline__ void ask_for_residual(const result *residual, unsigned row, unsigned column, unsigned M,
                                                 unsigned N)
{
#if __CUDA_ARCH__ >= 900
    if (column >= N || N % (16 / sizeof(result)) || !is_aligned<16>(residual))
        return;
    const unsigned bytes = min(TILE_N, N - column) * (unsigned)sizeof(result);
    for (unsigned r = row; r < min(row + TILE_M, M); ++r)
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(residual + (offset)r * N + column), "r"(bytes));
#endif
}
#endif

// ---- tiles that tensor maps copy to shared memory ----

// A tile of A and a tile of B as tensor maps write them: boxes whose rows are 128 bytes, swizzled. A box of A has all
// rows of the tile and 128 bytes along K. If B is stored by columns, a box of B has the same form. Otherwise a box of B
// has all k of the tile and 64 columns.
struct stage {
    enum : unsigned {
        box = 128 / SIZE, // number of elements in a row of a box
        a_bytes = TILE_M * TILE_K * SIZE,
        b_bytes = TILE_N * TILE_K * SIZE,
        bytes = a_bytes + b_bytes,
        a_box = 128 * TILE_M, // bytes of a box
        b_box = 128 * (COLUMNS ? TILE_N : TILE_K),
        box_steps = 128 / 32
    };

    // Begins to copy the tiles of A and B at (row, column) and k. One thread calls the function.
    static __device__ __forceinline__ void load(unsigned char *to, const tensor_map &map_a, const tensor_map &map_b,
                                                unsigned row, unsigned column, unsigned k, barrier *full,
                                                unsigned product = 0)
    {
        barrier_expect(full, bytes);
#pragma unroll
        for (unsigned i = 0; i < TILE_K / box; ++i)
            begin(to + i * a_box, map_a, k + i * box, row, product, full);
#pragma unroll
        for (unsigned i = 0; i < b_bytes / b_box; ++i)
            begin(to + a_bytes + i * b_box, map_b, COLUMNS ? k + i * box : column + i * box, COLUMNS ? column : k,
                  product, full);
    }

    // Does the same for a block of a cluster whose blocks share tiles. `first` is the first of these blocks, and this
    // block is number (m, n) of them. The block loads the n-th part of the rows of each box of A for all blocks with
    // the same rows of C. It loads the m-th part of B for all blocks with the same columns of C. Every block expects
    // the bytes of all parts.
    static __device__ __forceinline__ void load_shares(unsigned char *to, const tensor_map &map_a,
                                                       const tensor_map &map_b, unsigned row, unsigned column,
                                                       unsigned k, barrier *full, unsigned m, unsigned n,
                                                       unsigned first = 0)
    {
        constexpr unsigned a_rows = TILE_M / CLUSTER_N, b_rows = (COLUMNS ? TILE_N : TILE_K) / CLUSTER_M;
        unsigned same_m = 0;
#pragma unroll
        for (unsigned i = 0; i < CLUSTER_N; ++i)
            same_m |= 1u << CLUSTER_M * i;
        barrier_expect(full, bytes);
#pragma unroll
        for (unsigned i = 0; i < TILE_K / box; ++i)
            bring<CLUSTER_N>(to + i * a_box + n * a_rows * 128, map_a, k + i * box, row + n * a_rows, full,
                             same_m << (first + m));
#pragma unroll
        for (unsigned i = 0; i < b_bytes / b_box; ++i)
            bring<CLUSTER_M>(to + a_bytes + i * b_box + m * b_rows * 128, map_b, COLUMNS ? k + i * box : column + i * box,
                             (COLUMNS ? column : k) + m * b_rows, full,
                             ((1u << CLUSTER_M) - 1) << (first + CLUSTER_M * n));
    }

  private:
    static __device__ __forceinline__ void begin(unsigned char *to, const tensor_map &map, unsigned x, unsigned y,
                                                 unsigned product, barrier *full)
    {
        if (BATCHED)
            tensor_load(to, map, (int)x, (int)y, (int)product, full);
        else
            tensor_load(to, map, (int)x, (int)y, full);
    }

    template <unsigned readers>
    static __device__ __forceinline__ void bring(unsigned char *to, const tensor_map &map, unsigned x, unsigned y,
                                                 barrier *full, unsigned blocks)
    {
        if (readers > 1)
            tensor_multicast(to, map, (int)x, (int)y, full, blocks);
        else
            tensor_load(to, map, (int)x, (int)y, full);
    }
};

#endif
