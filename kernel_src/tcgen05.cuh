// tcgen05.cuh - products in tensor memory, from compute capability 10.0 on: allocation, products, loads and stores.
//
// No kernel that includes this file was ever run on hardware, because no such device was available. The kernels were
// tested only on the simulated device (engine/sim/device/ops/TENSOR_MEMORY.md).
//
// Why there is such a memory: wgmma keeps the sums of a tile in registers. They fill the registers of two warp groups,
// and these groups cannot do anything else. Here the sums are in a memory of the tensor core: 128 lanes of 512 columns
// of 32 bits for each SM. Row r of a tile is in lane r, and column c of the tile in column c. So one thread can issue
// all products of a block, and other warps write one tile to C while the next tile is multiplied.
//
// Each operation is asynchronous, and its end must be awaited in its own way:
//     products        tcgen05_commit() makes them arrive on a barrier; a thread waits there, then tcgen05_fence_after()
//     tensor_load     tensor_load_wait(), before the registers are read
//     tensor_put      tensor_put_wait(), before another thread uses the columns
// The fences order these operations against barriers: tcgen05_fence_before() before a thread arrives or synchronises,
// tcgen05_fence_after() after it waited. Products of one thread that add to the same sums run in the order in which
// they were issued. Products of other sums may overtake them.
//
// Warp w of a block accesses the lanes 32 (w % 4) to 32 (w % 4) + 31, and no others.

#ifndef TCGEN05_CUH
#define TCGEN05_CUH

#include "async.cuh"
#include "tensor.cuh"

// Whether the code is compiled for a target that has these instructions.
#if defined(__CUDA_ARCH_FEAT_SM100_ALL) || defined(__CUDA_ARCH_FEAT_SM103_ALL)
#define HAS_TCGEN05 1
#else
#define HAS_TCGEN05 0
#endif

// ---- allocation ----

// Returns the number of columns that an allocation for `needed` columns has: a power of two, at least 32.
__host__ __device__ constexpr unsigned tensor_columns(unsigned needed)
{
    return needed <= 32 ? 32 : 2 * tensor_columns((needed + 1) / 2);
}

// Two neighbouring blocks of a cluster can work as a pair (cta_group::2): one product then reads the shared memory of
// both, and writes to the tensor memory of both. `group` is the number of blocks that work together, 1 or 2. All calls
// of these functions in a kernel must have the same `group`.

// One warp allocates columns and writes their address to `place` in shared memory. The address has the lane in its
// upper half and the column in its lower half. If other blocks of the SM have the columns, the warp waits. It then
// gives up the block's right to allocate, for which another block may wait, so no warp of the block may call this
// again. In a pair, a warp of each block must call it.
template <unsigned columns, unsigned group = 1> __device__ __forceinline__ void tensor_allocate(unsigned *place)
{
    if (group == 1)
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;\n"
                     "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::"r"(shared_address(place)),
                     "n"(columns)
                     : "memory");
    else
        asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;\n"
                     "tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;" ::"r"(shared_address(place)),
                     "n"(columns)
                     : "memory");
}

// Frees the columns. The warp that allocated them must call it, after the last access of any warp and before the block
// ends.
template <unsigned columns, unsigned group = 1> __device__ __forceinline__ void tensor_free(unsigned address)
{
    if (group == 1)
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "n"(columns) : "memory");
    else
        asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(address), "n"(columns) : "memory");
}

// ---- order ----

// The two fences are explained at the top of the file.
__device__ __forceinline__ void tcgen05_fence_before()
{
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}

__device__ __forceinline__ void tcgen05_fence_after()
{
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}

// Makes one arrival on the barrier when all products that this thread has issued are complete. They have then read
// their shared memory, and their sums are in tensor memory.
__device__ __forceinline__ void tcgen05_commit(barrier *at)
{
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(shared_address(at))
                 : "memory");
}

// For a pair: makes the arrival on the barrier at the same address in each block of the cluster whose bit is set in
// `blocks`.
__device__ __forceinline__ void tcgen05_commit(barrier *at, unsigned blocks)
{
    asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(
                     shared_address(at)),
                 "h"((unsigned short)blocks)
                 : "memory");
}

// ---- copies for a pair ----

// Returns the address of a barrier in block `rank` of the cluster, for the two functions below.
__device__ __forceinline__ unsigned barrier_of(barrier *at, unsigned rank)
{
    unsigned remote;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(shared_address(at)), "r"(rank));
    return remote;
}

// Begins to copy the box at (x, y) to this block's shared memory. Its bytes are counted on `full`, which may be in the
// other block of the pair. So one barrier counts the bytes that both blocks need for a product.
__device__ __forceinline__ void tensor_load_pair(void *to, const tensor_map &map, int x, int y, unsigned full)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::2 "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(to)),
                 "l"(&map), "r"(x), "r"(y), "r"(full)
                 : "memory");
}

// Does the same as tensor_load_pair() for each block of the cluster whose bit is set in `blocks`. If `full` is in a
// block of even rank, the bytes are counted in the block of even rank of each of these blocks' pairs.
__device__ __forceinline__ void tensor_multicast_pair(void *to, const tensor_map &map, int x, int y, unsigned full,
                                                      unsigned blocks)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                 ".cta_group::2 [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(to)),
                 "l"(&map), "r"(x), "r"(y), "r"(full), "h"((unsigned short)blocks)
                 : "memory");
}

// ---- products ----
//
// A product adds a b to d. d is m x n, a has m rows of 32 bytes along K, and b has n columns of 32 bytes along K.

// Returns the descriptor of an operand in shared memory. The layouts and distances are as for wgmma (matrix_descriptor
// in tensor.cuh), but two fields differ:
//     bits 46 to 48   1, the version of the format
//     bits 61 to 63   the swizzle: 2 for 128 bytes, 4 for 64, 6 for 32, 0 for none
template <unsigned swizzle>
__device__ __forceinline__ offset tcgen05_descriptor(unsigned address, unsigned leading, unsigned stride)
{
    const offset kind = swizzle == 128 ? 2 : swizzle == 64 ? 4 : swizzle == 32 ? 6 : 0;
    return (offset)(address >> 4 & 0x3fff) | (offset)(leading >> 4) << 16 | (offset)(stride >> 4) << 32 |
           (offset)1 << 46 | kind << 61;
}

// The number of a type in the descriptor of an instruction. Each kind of product (f16, f8f6f4, tf32) has its own
// numbers.
template <class T> struct tcgen05_type;
template <> struct tcgen05_type<f16> {
    enum : unsigned { number = 0 };
};
template <> struct tcgen05_type<bf16> {
    enum : unsigned { number = 1 };
};
template <> struct tcgen05_type<f8e4m3> {
    enum : unsigned { number = 0 };
};
template <> struct tcgen05_type<tf32> {
    enum : unsigned { number = 2 };
};

// Returns the descriptor of an instruction, with sums in single precision:
//     bits 4 and 5      1, sums of 32 bits
//     bits 7 to 9       the type of a
//     bits 10 to 12     the type of b
//     bit 16            1 if the elements of b are neighbours along n (B by rows)
//     bits 17 to 22     n / 8
//     bits 24 to 28     m / 16
template <class T> __host__ __device__ constexpr unsigned tcgen05_shape(unsigned m, unsigned n, bool b_rows)
{
    return 1u << 4 | tcgen05_type<T>::number << 7 | tcgen05_type<T>::number << 10 | (b_rows ? 1u << 16 : 0) |
           n / 8 << 17 | m / 16 << 24;
}

// Issues a product. One thread calls it; in a pair it is a thread of the block of even rank. `d` is an address in
// tensor memory. If `add` is 0, the product overwrites d and does not add to it. The first argument gives the type of
// the elements. In a pair each block has half of the rows of a and d, and half of the columns of b, at the same
// addresses.
#define TCGEN05_MULTIPLY(T, KIND)                                                                                      \
    template <unsigned group = 1>                                                                                      \
    __device__ __forceinline__ void tcgen05_multiply(T, unsigned d, offset a, offset b, unsigned shape, unsigned add)  \
    {                                                                                                                  \
        if (group == 1)                                                                                                \
            asm volatile("{.reg .pred add; setp.ne.b32 add, %4, 0;\n"                                                  \
                         "tcgen05.mma.cta_group::1.kind::" KIND " [%0], %1, %2, %3, add;}" ::"r"(d),                   \
                         "l"(a), "l"(b), "r"(shape), "r"(add)                                                          \
                         : "memory");                                                                                  \
        else                                                                                                           \
            asm volatile("{.reg .pred add; setp.ne.b32 add, %4, 0;\n"                                                  \
                         "tcgen05.mma.cta_group::2.kind::" KIND " [%0], %1, %2, %3, add;}" ::"r"(d),                   \
                         "l"(a), "l"(b), "r"(shape), "r"(add)                                                          \
                         : "memory");                                                                                  \
    }
TCGEN05_MULTIPLY(f16, "f16")
TCGEN05_MULTIPLY(bf16, "f16")
TCGEN05_MULTIPLY(f8e4m3, "f8f6f4")
TCGEN05_MULTIPLY(tf32, "tf32")
#undef TCGEN05_MULTIPLY

// Multiplies like the functions above, but the elements have 16 bits, and `a` is an address in tensor memory. The
// elements of a row along K are in neighbouring columns, two in each column.
__device__ __forceinline__ void tcgen05_multiply_tensor(unsigned d, unsigned a, offset b, unsigned shape, unsigned add)
{
    asm volatile("{.reg .pred add; setp.ne.b32 add, %4, 0;\n"
                 "tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, add;}" ::"r"(d),
                 "r"(a), "l"(b), "r"(shape), "r"(add)
                 : "memory");
}

// ---- products with scales ----
//
// Each block of elements along K has a scale.
//
// The scales of 128 rows of a, or of 128 columns of b, are in four columns of tensor memory. Row r has a word of four
// scales in lane r % 32 and column r / 32. All four quarters of the lanes have the same words, because each quarter has
// its own multipliers. A product names the first of its scales in the word: 0 to 3 if it needs one, 0 or 2 if it needs
// two.

// Copies the words of 128 rows from shared memory to four columns of tensor memory. In shared memory the four words of
// the rows r, r + 32, r + 64 and r + 96 are 16 neighbouring bytes. One thread issues the copy. Products that the thread
// issues later see the words, without a wait.
__device__ __forceinline__ void tcgen05_copy_scales(unsigned to, unsigned from)
{
    asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(to), "l"(tcgen05_descriptor<0>(from, 16, 128))
                 : "memory");
}

// Defines a format. `type` is the number of the type of the elements. `powers` is 1 if the scales are powers of two.
#define TCGEN05_SCALED(name, type, powers, KIND)                                                                       \
    struct name {                                                                                                      \
        /* Returns the instruction descriptor of a product of m x n. `first` is the number of the first scale in a word. */ \
        static __host__ __device__ constexpr unsigned shape(unsigned m, unsigned n, unsigned first)                    \
        {                                                                                                              \
            return first << 4 | type << 7 | type << 10 | n / 8 << 17 | powers << 23 | m / 128 << 27 | first << 29;     \
        }                                                                                                              \
        static __device__ __forceinline__ void multiply(unsigned d, offset a, offset b, unsigned shape,                \
                                                        unsigned scales_a, unsigned scales_b, unsigned add)            \
        {                                                                                                              \
            asm volatile("{.reg .pred add; setp.ne.b32 add, %6, 0;\n"                                                  \
                         "tcgen05.mma.cta_group::1.kind::" KIND " [%0], %1, %2, %3, [%4], [%5], add;}" ::"r"(d),       \
                         "l"(a), "l"(b), "r"(shape), "r"(scales_a), "r"(scales_b), "r"(add)                            \
                         : "memory");                                                                                  \
        }                                                                                                              \
    };
TCGEN05_SCALED(tcgen05_mxf8, 0u, 1u, "mxf8f6f4.block_scale.scale_vec::1X")
TCGEN05_SCALED(tcgen05_mxf4, 1u, 1u, "mxf4.block_scale.scale_vec::2X")
TCGEN05_SCALED(tcgen05_nvf4, 1u, 0u, "mxf4nvf4.block_scale.scale_vec::4X")
#undef TCGEN05_SCALED

// ---- loads and stores: thread t of a warp has neighbouring columns of lane t, which are a part of a row ----

#define TENSOR_R32                                                                                                     \
    "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"                                                          \
    "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}"
#define TENSOR_OUT(i) "=f"(to[i]), "=f"(to[i + 1]), "=f"(to[i + 2]), "=f"(to[i + 3])
#define TENSOR_IN(i) "r"(from[i]), "r"(from[i + 1]), "r"(from[i + 2]), "r"(from[i + 3])

// Begins to load 32 columns from `address` on. The lane of the address is the first lane of this warp.
__device__ __forceinline__ void tensor_load(float (&to)[32], unsigned address)
{
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x32.b32 " TENSOR_R32 ", [%32];"
                 : TENSOR_OUT(0), TENSOR_OUT(4), TENSOR_OUT(8), TENSOR_OUT(12), TENSOR_OUT(16), TENSOR_OUT(20),
                   TENSOR_OUT(24), TENSOR_OUT(28)
                 : "r"(address));
}

// Waits until all loads of this thread are complete. Because `to` is an argument of the call, the compiler cannot move
// a read of `to` before the call.
template <unsigned count> __device__ __forceinline__ void tensor_load_wait(float (&to)[count])
{
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
#pragma unroll
    for (unsigned i = 0; i < count; ++i)
        asm volatile("" : "+f"(to[i])::"memory");
}

// Begins to store 32 columns from `address` on. The lane of the address is the first lane of this warp.
__device__ __forceinline__ void tensor_put(unsigned address, const unsigned (&from)[32])
{
    asm volatile("tcgen05.st.sync.aligned.32x32b.x32.b32 [%32], " TENSOR_R32 ";" ::TENSOR_IN(0), TENSOR_IN(4), TENSOR_IN(8),
                 TENSOR_IN(12), TENSOR_IN(16), TENSOR_IN(20), TENSOR_IN(24), TENSOR_IN(28), "r"(address)
                 : "memory");
}

// Waits until all stores of this thread are complete.
__device__ __forceinline__ void tensor_put_wait()
{
    asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
}

#endif
