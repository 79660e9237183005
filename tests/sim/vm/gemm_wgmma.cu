/* gemm_wgmma.cu - computes C = A B^T, from halves to floats. One warpgroup copies by tensor maps into a ring of stages,
 * and two warpgroups multiply by wgmma. One thread of a warpgroup tells that the warpgroup has read a stage. ../ptx.py
 * compiles it. */
typedef unsigned int u32;
typedef unsigned long long u64;
struct alignas(64) tensor_map {
    char bytes[128];
};
enum { BM = 128, BN = 64, BK = 64, STAGES = 3, GROUP = 128 };

static __device__ u32 shared_of(const void *p) { return (u32)__cvta_generic_to_shared(p); }
static __device__ void wait(u32 bar, u32 parity)
{
    asm volatile("{.reg .pred p; L: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra D; bra L; D: }" ::"r"(bar),
                 "r"(parity)
                 : "memory");
}
static __device__ void load(u32 to, const tensor_map *map, int x, int y, u32 bar)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::
                     "r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(bar)
                 : "memory");
}
static __device__ u64 descriptor(u32 at) { return (u64)(at >> 4 & 0x3fff) | 1ull << 16 | 64ull << 32 | 1ull << 62; }

extern "C" __global__ void __launch_bounds__(384)
gemm(const __grid_constant__ tensor_map a_map, const __grid_constant__ tensor_map b_map, float *c, int n, int k)
{
    extern __shared__ __align__(1024) unsigned char room[];
    __shared__ u64 full[STAGES], empty[STAGES];
    const int group = threadIdx.x / GROUP, steps = k / BK, row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const u32 base = (shared_of(room) + 1023) & ~1023u, stage_bytes = (BM + BN) * BK * 2;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_of(&full[s])));
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 2;" ::"r"(shared_of(&empty[s])));
        }
        asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
    }
    __syncthreads();
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        if (threadIdx.x == 0)
            for (int i = 0; i < steps; i++) {
                const int s = i % STAGES;
                const u32 at = base + s * stage_bytes, bar = shared_of(&full[s]);
                wait(shared_of(&empty[s]), i / STAGES + 1 & 1);
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(stage_bytes)
                             : "memory");
                load(at, &a_map, i * BK, row0, bar);
                load(at + BM * BK * 2, &b_map, i * BK, col0, bar);
            }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    float d[32];
    for (int i = 0; i < 32; i++)
        d[i] = 0;
    for (int i = 0; i < steps; i++) {
        const int s = i % STAGES;
        const u32 at = base + s * stage_bytes;
        wait(shared_of(&full[s]), i / STAGES & 1);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int part = 0; part < BK / 16; part++) {
            const u64 a = descriptor(at + (group - 1) * 64 * BK * 2 + part * 32);
            const u64 b = descriptor(at + BM * BK * 2 + part * 32);
            asm volatile("{wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
                         "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,"
                         "%27,%28,%29,%30,%31}, %32, %33, 1, 1, 1, 0, 0;}"
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                           "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),
                           "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),
                           "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),
                           "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
                         : "l"(a), "l"(b));
        }
        asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
        if (threadIdx.x % GROUP == 0)
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_of(&empty[s])) : "memory");
    }
    const int t = threadIdx.x % GROUP, row = row0 + (group - 1) * 64 + t / 32 * 16 + t % 32 / 4;
    for (int i = 0; i < 32; i++)
        c[(size_t)(row + (i & 2) * 4) * n + col0 + i / 4 * 8 + t % 4 * 2 + (i & 1)] = d[i];
}
