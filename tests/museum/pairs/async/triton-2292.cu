//! project: triton (TLX)
//! number: 2292
//! title: a block stores to another block's shared memory before it knows that the block has begun
//! kind: asynchronous order
//! finds: race
//! spec: |
//!   sizes: {tiny: {N: 64}}
//!   buffers:
//!     x: {type: f32, shape: [2 * N], fill: 1}
//!     y: {type: f32, shape: [2 * N], out: true}
//!   launch: {kernel: exchange, grid: [2], block: [N], cluster: [2], args: [x, y]}

#define CLUSTER_BARRIER() asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory")

extern "C" __global__ void exchange(const float *x, float *y)
{
    __shared__ float tile[64];
    unsigned rank, at, t = threadIdx.x, here = (unsigned)__cvta_generic_to_shared(&tile[t]);
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#if FIXED
    CLUSTER_BARRIER();
#endif
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(here), "r"(rank ^ 1));
    asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(at), "f"(x[rank * 64 + t]) : "memory"); // BUG
    CLUSTER_BARRIER();
    y[rank * 64 + t] = tile[63 - t];
}
