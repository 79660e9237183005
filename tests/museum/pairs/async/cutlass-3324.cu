//! project: cutlass
//! number: 3324
//! title: a block tells another block of its writes by an arrival that is a release for its own block only
//! kind: asynchronous order
//! finds: race
//! spec: |
//!   sizes: {tiny: {N: 64}}
//!   buffers:
//!     x: {type: f32, shape: [2 * N], fill: 1}
//!     y: {type: f32, shape: [N], out: true}
//!   launch: {kernel: pair, grid: [2], block: [N], cluster: [2], args: [x, y]}
#include "bulk.cuh"

// Both blocks of a pair fill their shared memory, and the leader reads both.
extern "C" __global__ void pair(const float *x, float *y)
{
    __shared__ float tile[64];
    __shared__ unsigned long long full;
    unsigned rank, t = threadIdx.x;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (t == 0) {
        init(&full, 128);
        FENCE_INIT();
    }
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    tile[t] = x[rank * 64 + t]; // BUG
    unsigned leader;
    asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(leader) : "r"(SHARED(&full)));
#if FIXED
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(leader) : "memory");
#else
    asm volatile("mbarrier.arrive.release.cta.shared::cluster.b64 _, [%0];" ::"r"(leader) : "memory");
#endif
    if (rank == 0) {
        for (int done = 0; !done;)
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0;"
                         " selp.s32 %0, 1, 0, p; }"
                         : "=r"(done)
                         : "r"(SHARED(&full))
                         : "memory");
        unsigned other;
        float there;
        asm volatile("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(other) : "r"(SHARED(&tile[63 - t])));
        asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(there) : "r"(other) : "memory");
        y[t] = tile[63 - t] + there;
    }
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}
