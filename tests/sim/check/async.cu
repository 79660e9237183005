// async.cu - kernels with mbarriers, bulk copies and matrix loads, with planted bugs and without. See memory.cu.
#include <cstdint>
#define K extern "C" __global__ void
__device__ uint32_t place(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ void init(uint64_t *bar, int count) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(place(bar)), "r"(count) : "memory"); }
__device__ void arrive(uint64_t *bar) { asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(place(bar)) : "memory"); }
__device__ void expect(uint64_t *bar, int bytes) { asm volatile("{ .reg .b64 t; mbarrier.arrive.expect_tx.shared.b64 t, [%0], %1; }" ::"r"(place(bar)), "r"(bytes) : "memory"); }
__device__ void wait(uint64_t *bar, int parity)
{
    asm volatile("{ .reg .pred p; L%=: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra L%=; }" ::"r"(place(bar)), "r"(parity) : "memory");
}
__device__ void fetch(void *to, const void *from, int bytes, uint64_t *bar)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(place(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(place(bar)) : "memory");
}
K ok_mbarrier(int *in, int *out, int *raw, int n)
{
    __shared__ uint64_t bar;
    __shared__ int s[64];
    if (threadIdx.x == 0) init(&bar, 64);
    __syncthreads();
    s[threadIdx.x] = in[threadIdx.x];
    arrive(&bar);
    wait(&bar, 0);
    out[threadIdx.x] = s[63 - threadIdx.x];
}
K bug_mbarrier(int *in, int *out, int *raw, int n)
{
    __shared__ uint64_t bar;
    __shared__ int s[64];
    if (threadIdx.x == 0) init(&bar, 64);
    __syncthreads();
    s[threadIdx.x] = in[threadIdx.x]; // @mbarrier.other
    arrive(&bar);
    out[threadIdx.x] = s[63 - threadIdx.x]; // @mbarrier
    wait(&bar, 0);
}
K ok_bulk(int *in, int *out, int *raw, int n)
{
    __shared__ uint64_t bar;
    __shared__ __align__(16) int s[256];
    if (threadIdx.x == 0) {
        init(&bar, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    for (int k = 0; k < 3; k++) {
        if (threadIdx.x == 0) {
            expect(&bar, 1024);
            fetch(s, in + 256 * k, 1024, &bar);
        }
        wait(&bar, k & 1);
        for (int j = threadIdx.x; j < 256; j += 64)
            out[256 * k + j] = s[255 - j];
        __syncthreads();
    }
}
K bug_bulk_end(int *in, int *out, int *raw, int n)
{
    __shared__ uint64_t bar;
    __shared__ __align__(16) int s[256];
    if (threadIdx.x == 0) init(&bar, 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        expect(&bar, 1024);
        fetch(s, in + 4 * 200, 1024, &bar); // @bulk_end
    }
}
K bug_bulk_over_reads(int *in, int *out, int *raw, int n) // the next copy does not wait until the readers have read
{
    __shared__ uint64_t bar[2];
    __shared__ __align__(16) int s[256];
    if (threadIdx.x == 0) init(bar, 1), init(bar + 1, 1);
    __syncthreads();
    for (int k = 0; k < 2; k++) {
        if (threadIdx.x == 0) {
            expect(bar + k, 1024);
            fetch(s, in + 256 * k, 1024, bar + k); // @bulk_over_reads
        }
        wait(bar + k, 0);
        for (int j = threadIdx.x; j < 256; j += 64)
            out[256 * k + j] = s[255 - j]; // @bulk_over_reads.other
    }
}
__device__ int load(const void *row)
{
    int r;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(place(row)) : "memory");
    return r;
}
K ok_ldmatrix(int *in, int *out, int *raw, int n)
{
    __shared__ __align__(16) int s[64];
    s[threadIdx.x] = in[threadIdx.x], s[threadIdx.x + 32] = 1;
    __syncwarp();
    out[threadIdx.x] = load(s + threadIdx.x % 8 * 4);
}
K bug_ldmatrix(int *in, int *out, int *raw, int n)
{
    __shared__ __align__(16) int s[64];
    s[threadIdx.x] = in[threadIdx.x]; // @ldmatrix.other
    out[threadIdx.x] = load(s + threadIdx.x % 8 * 4); // @ldmatrix
}
