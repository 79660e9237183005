// tensor.h - instructions of tensor memory with marks, for tensor.cu and ../check/tensor.cu.
#pragma once
#include "idioms.h"

#define ALLOC(mark, to, n)                                                                                             \
    DO("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], " #n ";", mark, ::"r"(AT(to)) : "memory")
#define DEALLOC(mark, at, n) DO("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, " #n ";", mark, ::"r"(at) : "memory")
#define RELINQUISH(mark) DO("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;", mark, ::: "memory")
#define TENSOR_COMMIT(mark, bar)                                                                                       \
    DO("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];", mark, ::"r"(AT(bar)) : "memory")
#define TENSOR_COMMIT_ALL(mark, group, bar)                                                                            \
    DO("tcgen05.commit.cta_group::" #group ".mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;",  \
       mark, ::"r"(AT(bar)), "h"((short)3)                                                                             \
       : "memory")
#define BEFORE(mark) DO("tcgen05.fence::before_thread_sync;", mark, ::: "memory")
#define AFTER(mark) DO("tcgen05.fence::after_thread_sync;", mark, ::: "memory")
#define LD(mark, r, at)                                                                                                \
    DO("tcgen05.ld.sync.aligned.16x256b.x1.b32 {%0,%1,%2,%3}, [%4];", mark,                                            \
       : "=r"((r)[0]), "=r"((r)[1]), "=r"((r)[2]), "=r"((r)[3])                                                        \
       : "r"(at)                                                                                                       \
       : "memory")
#define WAIT_LD(mark, r)                                                                                               \
    DO("tcgen05.wait::ld.sync.aligned;", mark, : "+r"((r)[0]), "+r"((r)[1]), "+r"((r)[2]), "+r"((r)[3])::"memory")
#define ST(mark, at, r)                                                                                                \
    DO("tcgen05.st.sync.aligned.16x256b.x1.b32 [%0], {%1,%2,%3,%4};", mark, ::"r"(at), "r"((r)[0]), "r"((r)[1]),       \
       "r"((r)[2]), "r"((r)[3])                                                                                        \
       : "memory")
#define WAIT_ST(mark) DO("tcgen05.wait::st.sync.aligned;", mark, ::: "memory")
#define PRODUCT(mark, d, a, b, add)                                                                                    \
    asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %4, 0;\n"                                                           \
                 "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p; // @" mark "\n}\n" ::"r"(d),                 \
                 "l"(a), "l"(b), "r"(SHAPE(64)), "r"((u32)(add))                                                       \
                 : "memory")
#define PRODUCT_A(mark, d, a, b, add)                                                                                  \
    asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %4, 0;\n"                                                           \
                 "tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, p; // @" mark "\n}\n" ::"r"(d),               \
                 "r"(a), "l"(b), "r"(SHAPE(64)), "r"((u32)(add))                                                       \
                 : "memory")
#define SHAPE(m) (1u << 4 | 1u << 17 | (u32)(m) / 16 << 24) // the product has 8 columns, and its sums have 32 bits
#define TENSOR_DESCRIPTOR(mark, name, at)                                                                              \
    DESCRIPTOR(mark, name, at);                                                                                        \
    name |= 1ull << 46
// The matrix has rows of 32 bytes, swizzled like a tensor map with a swizzle of 32 bytes.
#define MATRIX(p) ((u64)(AT(p) >> 4 & 0x3fff) | 1ull << 16 | 16ull << 32 | 1ull << 46 | 6ull << 61)
#define LANES(base, t) ((base) + ((u32)(t) / 32 % 4 << 21)) // the lanes of tensor memory that the warp can access

__device__ __forceinline__ void put(int *out, int t, const u32 *r)
{
    for (int j = 0; j < 4; j++)
        out[4 * t + j] = r[j];
}
