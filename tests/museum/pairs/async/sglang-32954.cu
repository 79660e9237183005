//! project: sglang
//! number: 32954
//! title: a block of a cluster ends while another block still uses its shared memory
//! kind: asynchronous order
//! finds: use after free
//! spec: |
//!   sizes: {tiny: {N: 64}}
//!   buffers:
//!     x: {type: f32, shape: [2 * N], fill: 1}
//!     y: {type: f32, shape: [2 * N], out: true}
//!   launch: {kernel: pair, grid: [2], block: [N], cluster: [2], args: [x, y]}

// The first block computes longer, and reads the second block's tile at its end.
extern "C" __global__ void pair(const float *x, float *y)
{
    __shared__ float tile[64];
    unsigned rank, other, t = threadIdx.x;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    tile[t] = x[rank * 64 + t];
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    float sum = tile[63 - t];
    if (rank == 0) {
        for (int i = 0; i < 5000; i++)
            sum += tile[(t + i) % 64] * i;
        for (int i = 0; i < 8; i++) {
            float there;
            asm volatile("mapa.shared::cluster.u32 %0, %1, 1;"
                         : "=r"(other)
                         : "r"((unsigned)__cvta_generic_to_shared(&tile[(t + i) % 64])));
            asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(there) : "r"(other) : "memory"); // BUG
            sum += there;
        }
    }
    y[rank * 64 + t] = sum;
#if FIXED
    asm volatile("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;" ::: "memory");
#endif
}
