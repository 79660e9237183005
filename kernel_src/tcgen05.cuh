// tcgen05.cuh - matrix instructions with tensor memory (tcgen05), from compute capability 10.0 on: allocation of tensor
// memory, the instructions, loads and stores.
//
// No kernel that includes this file was ever run on hardware, because no such device was available. The kernels were
// tested only on the simulated device (engine/sim/device/ops/TENSOR_MEMORY.md).
//
// wgmma keeps the accumulators of a tile in registers. These accumulators fill the registers of two warp groups, and
// these warp groups cannot do anything else. tcgen05 keeps the accumulators in a memory of the tensor core. Each SM has
// 128 lanes of 512 columns of 32 bits. Row r of a tile is in lane r of this memory, and column c of the tile is in
// column c. So one thread can issue all matrix instructions of a block, and other warps write one tile to C while the
// next tile is multiplied.
//
// All operations are asynchronous. Each kind has its own way to wait for its end:
//
// - Matrix instructions: after tcgen05_commit() they arrive on a barrier when they end. A thread waits at this barrier,
//   and then calls tcgen05_fence_after().
// - `tensor_load()`: a thread calls tensor_load_wait() before it reads the registers.
// - `tensor_put()`: a thread calls tensor_put_wait() before another thread uses the columns.
//
// Two fences order these operations against barriers. A thread calls tcgen05_fence_before() before it arrives at a
// barrier, and tcgen05_fence_after() after it has waited at a barrier. If matrix instructions of one thread add to the
// same accumulators, they run in the order in which they were issued. Matrix instructions with other accumulators may
// overtake them.
//
// Warp w of a block accesses only the lanes 32 (w % 4) to 32 (w % 4) + 31.

#ifndef TCGEN05_CUH
#define TCGEN05_CUH

#include "async.cuh"
#include "tensor.cuh"

// HAS_TCGEN05 tells whether the code is compiled for a target that has these instructions.
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

// Two neighbouring blocks of a cluster can work as a pair (cta_group::2). Then a matrix instruction reads the shared
// memory of both blocks and writes to the tensor memory of both blocks. `group` is the number of blocks that work
// together, 1 or 2. All calls of these functions in a kernel must have the same `group`.

// One warp allocates columns, and writes the address of these columns to `place` in shared memory. The address has the
// lane in its upper half and the column in its lower half. If other blocks of the SM have allocated the columns, the
// warp waits. After the allocation, the warp gives up the block's right to allocate, because another block may wait for
// it. So no warp of the block may call this function again. In a pair, one warp of each block must call the function.
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

// Frees the columns at `address`. The warp that allocated the columns must call the function, after the last access of
// any warp and before the block ends.
template <unsigned columns, unsigned group = 1> __device__ __forceinline__ void tensor_free(unsigned address)
{
    if (group == 1)
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "n"(columns) : "memory");
    else
        asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(address), "n"(columns) : "memory");
}

// ---- order ----

// The comment at the top of the file explains these two fences.
__device__ __forceinline__ void tcgen05_fence_before()
{
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}

__device__ __forceinline__ void tcgen05_fence_after()
{
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}

// Makes one arrival on the barrier when all matrix instructions that this thread has issued are complete. These
// instructions have then read their shared memory, and their accumulators are in tensor memory.
__device__ __forceinline__ void tcgen05_commit(barrier *at)
{
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(shared_address(at))
                 : "memory");
}

// Does the same for a pair of blocks. The arrival happens in each block of the cluster whose bit is set in `blocks`, on
// the barrier at the same address.
__device__ __forceinline__ void tcgen05_commit(barrier *at, unsigned blocks)
{
    asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(
                     shared_address(at)),
                 "h"((unsigned short)blocks)
                 : "memory");
}

// ---- copies for a pair of blocks ----

// Returns the address of a barrier in block `rank` of the cluster. The two functions below take such an address.
__device__ __forceinline__ unsigned barrier_of(barrier *at, unsigned rank)
{
    unsigned remote;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(shared_address(at)), "r"(rank));
    return remote;
}

// Begins to copy the box at (x, y) of a tensor map to this block's shared memory. The barrier `full` counts the bytes.
// It may be in the other block of the pair. So one barrier counts the bytes that both blocks need for a matrix
// instruction.
__device__ __forceinline__ void tensor_load_pair(void *to, const tensor_map &map, int x, int y, unsigned full)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::2 "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(to)),
                 "l"(&map), "r"(x), "r"(y), "r"(full)
                 : "memory");
}

// Does the same as tensor_load_pair(), but copies the box to each block of the cluster whose bit is set in `blocks`.
// The barrier `full` must be in a block of even rank. The bytes of each destination block are counted on the barrier at
// this address in the block of even rank of its pair.
__device__ __forceinline__ void tensor_multicast_pair(void *to, const tensor_map &map, int x, int y, unsigned full,
                                                      unsigned blocks)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                 ".cta_group::2 [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(to)),
                 "l"(&map), "r"(x), "r"(y), "r"(full), "h"((unsigned short)blocks)
                 : "memory");
}

// ---- matrix instructions ----
//
// A matrix instruction adds the product a b to d. Here d is m x n, a has m rows of 32 bytes along K, and b has n
// columns of 32 bytes along K.

// Returns the descriptor of an operand in shared memory, as a number of 64 bits. The layouts and distances are the same
// as in matrix_descriptor() of tensor.cuh, but two fields differ:
//
// - Bits 46 to 48 are 1, the version of the format.
// - Bits 61 to 63 are the swizzle: 2 for 128 bytes, 4 for 64, 6 for 32, 0 for none.
template <unsigned swizzle>
__device__ __forceinline__ offset tcgen05_descriptor(unsigned address, unsigned leading, unsigned stride)
{
    const offset kind = swizzle == 128 ? 2 : swizzle == 64 ? 4 : swizzle == 32 ? 6 : 0;
    return (offset)(address >> 4 & 0x3fff) | (offset)(leading >> 4) << 16 | (offset)(stride >> 4) << 32 |
           (offset)1 << 46 | kind << 61;
}

// The number of an element type in the instruction descriptor. Each kind of instruction (f16, f8f6f4, tf32) has its own
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

// Returns the instruction descriptor, with accumulators in single precision:
//
// - Bits 4 and 5 are 1: the accumulators have 32 bits.
// - Bits 7 to 9 are the type of a.
// - Bits 10 to 12 are the type of b.
// - Bit 16 is 1 if the elements of b are neighbours along n (B by rows).
// - Bits 17 to 22 are n / 8.
// - Bits 24 to 28 are m / 16.
template <class T> __host__ __device__ constexpr unsigned tcgen05_shape(unsigned m, unsigned n, bool b_rows)
{
    return 1u << 4 | tcgen05_type<T>::number << 7 | tcgen05_type<T>::number << 10 | (b_rows ? 1u << 16 : 0) |
           n / 8 << 17 | m / 16 << 24;
}

// Issues a matrix instruction. One thread calls the function. In a pair this is a thread of the block of even rank. `d`
// is an address in tensor memory. If `add` is 0, the instruction overwrites d and does not add to it. The first
// argument gives the type of the elements. In a pair each block has half of the rows of a and d, and half of the
// columns of b. Both blocks use the same addresses.
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

// Does the same as tcgen05_multiply(), but the elements have 16 bits, and `a` is an address in tensor memory. The
// elements of a row of a are in neighbouring columns of tensor memory, two elements in each column.
__device__ __forceinline__ void tcgen05_multiply_tensor(unsigned d, unsigned a, offset b, unsigned shape, unsigned add)
{
    asm volatile("{.reg .pred add; setp.ne.b32 add, %4, 0;\n"
                 "tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, add;}" ::"r"(d),
                 "r"(a), "l"(b), "r"(shape), "r"(add)
                 : "memory");
}

// ---- matrix instructions with scales ----
//
// In these formats each block of elements along K has a scale.
//
// The scales of 128 rows of a, or of 128 columns of b, take four columns of tensor memory. The scales of row r are in a
// word of four scales in lane r % 32 and column r / 32. Each quarter of the 128 lanes has its own multipliers, so all
// four quarters have the same words. A matrix instruction names the first of its scales in the word. This number is 0
// to 3 if the instruction needs one scale, and 0 or 2 if it needs two.

// Copies the words with the scales of 128 rows from shared memory to four columns of tensor memory. In shared memory
// the four words of the rows r, r + 32, r + 64 and r + 96 are 16 neighbouring bytes. One thread issues the copy. Matrix
// instructions that the same thread issues later see the words without a wait.
__device__ __forceinline__ void tcgen05_copy_scales(unsigned to, unsigned from)
{
    asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(to), "l"(tcgen05_descriptor<0>(from, 16, 128))
                 : "memory");
}

// Defines a format of elements with scales. `type` is the number of the type of the elements. `powers` is 1 if the
// scales of the format are powers of two.
#define TCGEN05_SCALED(name, type, powers, KIND)                                                                       \
    struct name {                                                                                                      \
        /* Returns the instruction descriptor for m x n. `first` is the number of the first scale in a word. */ \
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

// ---- loads and stores: thread t of a warp accesses neighbouring columns of its lane t, a part of a row ----

#define TENSOR_R32                                                                                                     \
    "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"                                                          \
    "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}"
#define TENSOR_OUT(i) "=f"(to[i]), "=f"(to[i + 1]), "=f"(to[i + 2]), "=f"(to[i + 3])
#define TENSOR_IN(i) "r"(from[i]), "r"(from[i + 1]), "r"(from[i + 2]), "r"(from[i + 3])

// Begins to load 32 columns from `address` on into registers. The lane in `address` must be the first lane that this
// warp accesses.
__device__ __forceinline__ void tensor_load(float (&to)[32], unsigned address)
{
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x32.b32 " TENSOR_R32 ", [%32];"
                 : TENSOR_OUT(0), TENSOR_OUT(4), TENSOR_OUT(8), TENSOR_OUT(12), TENSOR_OUT(16), TENSOR_OUT(20),
                   TENSOR_OUT(24), TENSOR_OUT(28)
                 : "r"(address));
}

// Waits until all loads of this thread are complete. `to` must be the destination of the loads. Because it is an
// argument of this call, the compiler cannot move a read of `to` before the call.
template <unsigned count> __device__ __forceinline__ void tensor_load_wait(float (&to)[count])
{
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
#pragma unroll
    for (unsigned i = 0; i < count; ++i)
        asm volatile("" : "+f"(to[i])::"memory");
}

// Begins to store 32 registers to the columns from `address` on. The lane in `address` must be the first lane that this
// warp accesses.
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
