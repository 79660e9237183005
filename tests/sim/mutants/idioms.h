// idioms.h - instructions with marks for idioms.cu and tensor.cu.
#pragma once
#include <cstdint>
typedef uint32_t u32;
typedef uint64_t u64;
struct alignas(64) tensor_map {
    char bytes[128];
};
#define K extern "C" __global__ void
#define ARGS const int *in, int *out, int *raw, int n
#define MAPS                                                                                                           \
    ARGS, const __grid_constant__ tensor_map a_map, const __grid_constant__ tensor_map b_map,                          \
        const __grid_constant__ tensor_map c_map
#define DO(text, mark, ...) asm volatile(text " // @" mark "\n" __VA_ARGS__)
#define AT(p) ((u32)__cvta_generic_to_shared(p))

#define SYNC(mark) DO("bar.sync 0;", mark, ::: "memory")
#define SYNC_SOME(mark, id, count) DO("bar.sync " #id ", " #count ";", mark, ::: "memory")
#define SYNC_WARP(mark) DO("bar.warp.sync 0xffffffff;", mark, ::: "memory")
#define PROXY(mark) DO("fence.proxy.async;", mark, ::: "memory")
#define INIT(mark, bar, count) DO("mbarrier.init.shared::cta.b64 [%0], " #count ";", mark, ::"r"(AT(bar)) : "memory")
#define INIT_FENCE(mark) DO("fence.mbarrier_init.release.cluster;", mark, ::: "memory")
#define ARRIVE(mark, bar) DO("mbarrier.arrive.shared::cta.b64 _, [%0];", mark, ::"r"(AT(bar)) : "memory")
#define EXPECT(mark, bar, bytes)                                                                                       \
    DO("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;", mark, ::"r"(AT(bar)), "r"((u32)(bytes)) : "memory")
#define WAIT(mark, bar, parity)                                                                                        \
    asm volatile("{\n.reg .pred p;\nL: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; // @" mark                \
                 "\n@!p bra L;\n}\n" ::"r"(AT(bar)),                                                                   \
                 "r"((u32)(parity))                                                                                    \
                 : "memory")
#define PEEK(mark, done, bar, parity)                                                                                  \
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; // @" mark                   \
                 "\nselp.u32 %0, 1, 0, p;\n}\n"                                                                        \
                 : "=r"(done)                                                                                          \
                 : "r"(AT(bar)), "r"((u32)(parity))                                                                    \
                 : "memory")
#define LOAD(mark, to, from, bytes, bar)                                                                               \
    DO("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];", mark, ::"r"(AT(to)), \
       "l"(__cvta_generic_to_global(from)), "r"((u32)(bytes)), "r"(AT(bar))                                            \
       : "memory")
#define LOAD_BOX(mark, to, map, x, y, bar)                                                                             \
    DO("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];",      \
       mark, ::"r"(AT(to)), "l"(map), "r"(x), "r"(y), "r"(AT(bar))                                                     \
       : "memory")
#define STORE(mark, to, from, bytes)                                                                                   \
    DO("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;", mark, ::"l"(__cvta_generic_to_global(to)),       \
       "r"(AT(from)), "r"((u32)(bytes))                                                                                \
       : "memory")
#define STORE_BOX(mark, map, x, y, from)                                                                               \
    DO("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];", mark, ::"l"(map), "r"(x),        \
       "r"(y), "r"(AT(from))                                                                                           \
       : "memory")
#define BULK_COMMIT(mark) DO("cp.async.bulk.commit_group;", mark, ::: "memory")
#define BULK_READ(mark, n) DO("cp.async.bulk.wait_group.read " #n ";", mark, ::: "memory")
#define BULK_WAIT(mark, n) DO("cp.async.bulk.wait_group " #n ";", mark, ::: "memory")
#define COPY(to, from)                                                                                                 \
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(AT(to)), "l"(__cvta_generic_to_global(from))         \
                 : "memory")
#define COMMIT(mark) DO("cp.async.commit_group;", mark, ::: "memory")
#define WAIT_GROUP(mark, n) DO("cp.async.wait_group " #n ";", mark, ::: "memory")
#define MMA_FENCE(mark) /* orders registers, so that the compiler moves no access to them after it */                  \
    DO("wgmma.fence.sync.aligned;", mark, : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory")
#define MMA_COMMIT(mark) DO("wgmma.commit_group.sync.aligned;", mark, ::: "memory")
#define MMA_WAIT(mark, n)                                                                                              \
    DO("wgmma.wait_group.sync.aligned " #n ";", mark, : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory")
#define MMA(a, b)                                                                                                      \
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, 1, 1, 1, 0, 0;\n"           \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                      \
                 : "l"(a), "l"(b)                                                                                      \
                 : "memory")
#define MMA_REGS(r, b)                                                                                                 \
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, {%4,%5,%6,%7}, %8, 1, 1, 1, 0;\n"   \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                      \
                 : "r"((r)[0]), "r"((r)[1]), "r"((r)[2]), "r"((r)[3]), "l"(b)                                          \
                 : "memory")
// The rows have 32 bytes, swizzled like a tensor map of 32 bytes. Macros give each use its own mark.
#define LAYOUT(at) ((u64)((at) >> 4 & 0x3fff) | 1ull << 16 | 16ull << 32 | 3ull << 62)
#define DESCRIPTOR(mark, name, at)                                                                                     \
    u64 name = (u64)((at) >> 4 & 0x3fff) | 1ull << 16 | 16ull << 32;                                                   \
    DO("or.b64 %0, %1, 0xC000000000000000;", mark, : "=l"(name) : "l"(name))

// Takes longer than the simulated device runs one warp at a time, so that other warps run ahead.
__device__ __forceinline__ void dawdle()
{
#pragma unroll 1
    for (int k = 0; k < 20000; k++)
        asm volatile("" ::: "memory");
}

// Clusters.
#define CLUSTER(blocks) extern "C" __global__ void __cluster_dims__(blocks, 1, 1)
#define CLUSTER_SYNC(mark) DO("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;", mark, ::: "memory")
#define ARRIVE_FAR(mark, bar) DO("mbarrier.arrive.shared::cluster.b64 _, [%0];", mark, ::"r"(bar) : "memory")
#define ARRIVE_RELEASE(mark, bar)                                                                                      \
    DO("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];", mark, ::"r"(bar) : "memory")
#define SEND(mark, to, value, bar)                                                                                     \
    DO("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];", mark, ::"r"(to), "r"(value),       \
       "r"(bar)                                                                                                        \
       : "memory")
#define LOAD_ALL(mark, to, from, bytes, bar)                                                                           \
    DO("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], "   \
       "%4;",                                                                                                          \
       mark, ::"r"(AT(to)), "l"(__cvta_generic_to_global(from)), "r"((u32)(bytes)), "r"(AT(bar)), "h"((short)3)        \
       : "memory")
#define LOAD_BOX_ALL(mark, to, map, x, y, bar)                                                                         \
    DO("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "         \
       "[%1, {%2, %3}], [%4], %5;",                                                                                    \
       mark, ::"r"(AT(to)), "l"(map), "r"(x), "r"(y), "r"(AT(bar)), "h"((short)3)                                      \
       : "memory")
#define PUSH(mark, to, from, bytes, bar)                                                                               \
    DO("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];", mark,           \
       ::"r"(to), "r"(AT(from)), "r"((u32)(bytes)), "r"(bar)                                                           \
       : "memory")
__device__ __forceinline__ u32 far(const void *p, u32 rank)
{
    u32 at;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(AT(p)), "r"(rank));
    return at;
}
__device__ __forceinline__ u32 rank_of()
{
    u32 rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
