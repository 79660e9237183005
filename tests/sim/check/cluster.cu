// cluster.cu - kernels with clusters and distributed shared memory, with planted bugs and without. See memory.cu.
#include <cooperative_groups.h>
#include <cstdint>
namespace cg = cooperative_groups;
#define K(n) extern "C" __global__ void __cluster_dims__(n, 1, 1)
__device__ uint32_t place(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ uint32_t place(const void *p, unsigned rank)
{
    uint32_t at;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(place(p)), "r"(rank));
    return at;
}
__device__ void init(uint64_t *bar, int count)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(place(bar)), "r"(count) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ void expect(uint64_t *bar, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(place(bar)), "r"(bytes) : "memory");
}
__device__ void arrive(uint64_t *bar, unsigned rank)
{
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(place(bar, rank)) : "memory");
}
__device__ void wait(uint64_t *bar, int parity)
{
    asm volatile("{ .reg .pred p; L%=: mbarrier.try_wait.parity.acquire.cluster.shared.b64 p, [%0], %1; @!p bra L%=; }"
                 ::"r"(place(bar)), "r"(parity) : "memory");
}

// The first block adds the values of the cluster, which it reads from distributed shared memory.
K(4) ok_reduce(int *in, int *out, int *raw, int n)
{
    cg::cluster_group cluster = cg::this_cluster();
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, in[blockIdx.x * blockDim.x + threadIdx.x]);
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x == 0) {
        int all = 0;
        for (unsigned k = 0; k < cluster.num_blocks(); k++) all += *cluster.map_shared_rank(&sum, k);
        out[blockIdx.x / cluster.num_blocks()] = all;
    }
    cluster.sync();
}
K(4) bug_reduce(int *in, int *out, int *raw, int n)
{
    cg::cluster_group cluster = cg::this_cluster();
    __shared__ int sum;
    if (threadIdx.x == 0) sum = in[blockIdx.x]; // @reduce.other
    if (cluster.block_rank() == 0 && threadIdx.x == 0)
        out[0] = *cluster.map_shared_rank(&sum, 0);
    if (cluster.block_rank() == 3 && threadIdx.x == 0)
        out[1] = *cluster.map_shared_rank(&sum, 1); // @reduce
    cluster.sync();
}
// The first block ends while another block still reads its memory.
K(2) bug_left(int *in, int *out, int *raw, int n)
{
    cg::cluster_group cluster = cg::this_cluster();
    __shared__ int s[32];
    s[threadIdx.x] = in[threadIdx.x];
    cluster.sync();
    if (cluster.block_rank() == 0) return;
    __shared__ volatile int turns;
    for (turns = 0; turns < 100000; turns = turns + 1) {}
    out[threadIdx.x] = cluster.map_shared_rank(s, 0)[threadIdx.x]; // @left
}
K(2) bug_end(int *in, int *out, int *raw, int n)
{
    cg::cluster_group cluster = cg::this_cluster();
    __shared__ int s[32];
    s[threadIdx.x] = in[threadIdx.x];
    cluster.sync();
    if (cluster.block_rank() == 1) out[threadIdx.x] = cluster.map_shared_rank(s, 0)[threadIdx.x + 1]; // @end
    cluster.sync();
}
K(2) bug_unwritten(int *in, int *out, int *raw, int n)
{
    cg::cluster_group cluster = cg::this_cluster();
    __shared__ int s[32];
    if (cluster.block_rank() == 1) s[threadIdx.x] = in[threadIdx.x];
    cluster.sync();
    out[32 * blockIdx.x + threadIdx.x] = cluster.map_shared_rank(s, 0)[threadIdx.x]; // @unwritten
    cluster.sync();
}
// A block changes memory that the other block reads, without a barrier after the read.
K(2) bug_again(int *in, int *out, int *raw, int n)
{
    cg::cluster_group cluster = cg::this_cluster();
    __shared__ int s[32];
    s[threadIdx.x] = in[threadIdx.x];
    cluster.sync();
    int got = cluster.map_shared_rank(s, cluster.block_rank() ^ 1)[threadIdx.x]; // @again.other
    s[threadIdx.x] = got + 1; // @again
    cluster.sync();
    out[32 * blockIdx.x + threadIdx.x] = s[threadIdx.x];
}
K(2) ok_again(int *in, int *out, int *raw, int n)
{
    cg::cluster_group cluster = cg::this_cluster();
    __shared__ int s[32];
    s[threadIdx.x] = in[threadIdx.x];
    cluster.sync();
    int got = cluster.map_shared_rank(s, cluster.block_rank() ^ 1)[threadIdx.x];
    cluster.sync();
    s[threadIdx.x] = got + 1;
    __syncthreads();
    out[32 * blockIdx.x + threadIdx.x] = s[31 - threadIdx.x];
}
// The bins of a histogram are spread over the cluster, as in the CUDA C++ Programming Guide.
K(8) ok_histogram(int *in, int *out, int *raw, int n)
{
    cg::cluster_group cluster = cg::this_cluster();
    __shared__ int bins[16];
    const int size = cluster.num_blocks(), all = 16 * size;
    for (int k = threadIdx.x; k < 16; k += blockDim.x) bins[k] = 0;
    cluster.sync();
    for (int k = cg::this_grid().thread_rank(); k < n; k += cg::this_grid().size()) {
        int bin = in[k] * 7 % all;
        atomicAdd(cluster.map_shared_rank(bins, bin / 16) + bin % 16, 1);
    }
    cluster.sync();
    for (int k = threadIdx.x; k < 16; k += blockDim.x) atomicAdd(&out[cluster.block_rank() * 16 + k], bins[k]);
}
// In three rounds, each of four blocks copies a quarter of a tile to all blocks. Readers tell when they are done.
K(4) ok_multicast(int *in, int *out, int *raw, int n)
{
    __shared__ __align__(128) int tile[256];
    __shared__ uint64_t full, empty;
    const unsigned rank = cg::this_cluster().block_rank();
    if (threadIdx.x == 0) {
        init(&full, 1);
        init(&empty, 4);
    }
    cg::this_cluster().sync();
    for (int k = 0; k < 3; k++) {
        if (threadIdx.x == 0) {
            if (k) wait(&empty, (k - 1) & 1);
            expect(&full, 1024);
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                         "[%0], [%1], 256, [%2], %3;" ::"r"(place(tile + 64 * rank)),
                         "l"(__cvta_generic_to_global(in + 256 * k + 64 * rank)), "r"(place(&full)), "h"((short)15)
                         : "memory");
        }
        wait(&full, k & 1);
        int got = 0;
        for (int j = threadIdx.x; j < 256; j += blockDim.x) got += tile[j];
        atomicAdd(&out[4 * k + rank], got);
        __syncthreads();
        if (threadIdx.x < 4) arrive(&empty, threadIdx.x);
    }
    cg::this_cluster().sync();
}
// One block copies tiles to all blocks, and does not wait until the others have read the first tile.
K(4) bug_multicast(int *in, int *out, int *raw, int n)
{
    __shared__ __align__(128) int tile[64];
    __shared__ uint64_t full;
    __shared__ volatile int turns;
    const unsigned rank = cg::this_cluster().block_rank();
    if (threadIdx.x == 0) init(&full, 1);
    cg::this_cluster().sync();
    for (int k = 0; k < 2; k++) {
        if (threadIdx.x == 0) expect(&full, 256);
        if (threadIdx.x == 0 && rank == 0) {
            if (k) for (turns = 0; turns < 100000; turns = turns + 1) {}
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 256, [%2], %3;" ::"r"(place(tile)), "l"(__cvta_generic_to_global(in + 64 * k)), "r"(place(&full)), "h"((short)15) : "memory"); // @multicast
        }
        wait(&full, k & 1);
        atomicAdd(&out[rank], tile[threadIdx.x]); // @multicast.other
        __syncthreads();
    }
    cg::this_cluster().sync();
}
// In a ring, each block sends its values to the next block, which waits for the bytes.
K(8) ok_ring(int *in, int *out, int *raw, int n)
{
    __shared__ __align__(16) int box[32];
    __shared__ uint64_t full;
    const unsigned rank = cg::this_cluster().block_rank(), next = (rank + 1) % 8;
    if (threadIdx.x == 0) init(&full, 1);
    cg::this_cluster().sync();
    if (threadIdx.x == 0) expect(&full, 128);
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(
                     place(box + threadIdx.x, next)),
                 "r"(in[32 * rank + threadIdx.x]), "r"(place(&full, next))
                 : "memory");
    wait(&full, 0);
    out[32 * rank + threadIdx.x] = box[threadIdx.x];
    cg::this_cluster().sync();
}
// Copies from one block's shared memory to another block's shared memory.
K(2) ok_push(int *in, int *out, int *raw, int n)
{
    __shared__ __align__(128) int from[32], to[32];
    __shared__ uint64_t full;
    const unsigned rank = cg::this_cluster().block_rank();
    from[threadIdx.x] = in[32 * rank + threadIdx.x];
    if (threadIdx.x == 0) init(&full, 1);
    cg::this_cluster().sync();
    if (threadIdx.x == 0) {
        expect(&full, 128);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];" ::"r"(
                         place(to, rank ^ 1)),
                     "r"(place(from)), "r"(place(&full, rank ^ 1))
                     : "memory");
    }
    wait(&full, 0);
    out[32 * rank + threadIdx.x] = to[31 - threadIdx.x];
    cg::this_cluster().sync();
}
// One block writes to global memory, and another block reads it after the barrier.
K(4) ok_global(int *in, int *out, int *raw, int n)
{
    cg::cluster_group cluster = cg::this_cluster();
    raw[blockIdx.x * 32 + threadIdx.x] = in[threadIdx.x] + blockIdx.x;
    auto token = cluster.barrier_arrive();
    cluster.barrier_wait(std::move(token));
    out[blockIdx.x * 32 + threadIdx.x] = raw[(blockIdx.x ^ 3) * 32 + 31 - threadIdx.x];
}
K(2) bug_global(int *in, int *out, int *raw, int n)
{
    cg::cluster_group cluster = cg::this_cluster();
    raw[blockIdx.x * 32 + threadIdx.x] = in[threadIdx.x]; // @global.other
    cluster.sync();
    out[blockIdx.x * 32 + threadIdx.x] = raw[(blockIdx.x ^ 3) * 32 + threadIdx.x]; // @global
}
// A block sets a flag in another block's memory. A fence with the scope of the block is not enough.
__device__ void hand(int *box, volatile int *flag, int *out, unsigned rank, bool wide)
{
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) *flag = 0;
    cluster.sync();
    if (rank == 1 && threadIdx.x == 0) {
        *cluster.map_shared_rank(box, 0) = 7; // @narrow.other
        if (wide) __threadfence();
        else __threadfence_block();
        *(volatile int *)cluster.map_shared_rank((int *)flag, 0) = 1;
    }
    if (rank == 0 && threadIdx.x == 0) {
        while (*flag == 0) {}
        out[0] = *box; // @narrow
    }
    cluster.sync();
}
K(2) ok_narrow(int *in, int *out, int *raw, int n)
{
    __shared__ int box, flag;
    hand(&box, &flag, out, cg::this_cluster().block_rank(), true);
}
K(2) bug_narrow(int *in, int *out, int *raw, int n)
{
    __shared__ int box, flag;
    hand(&box, &flag, out, cg::this_cluster().block_rank(), false);
}
// The first block may exit while the second one reads its memory. In this run it exits later.
template <bool sync> __device__ void visit(int *s, const int *in, int *out, int n)
{
    cg::cluster_group cluster = cg::this_cluster();
    s[threadIdx.x] = in[threadIdx.x];
    cluster.sync();
    if (cluster.block_rank() == 1) {
        out[threadIdx.x] = *cluster.map_shared_rank(s + threadIdx.x, 0); // @leaves
    } else {
        int sum = 0;
        for (volatile int k = 0; k < 3000; k++)
            sum += k;
        out[32 + threadIdx.x] = sum;
    }
    if (sync) cluster.sync();
}
K(2) bug_leaves(int *in, int *out, int *raw, int n)
{
    __shared__ int s[32];
    visit<false>(s, in, out, n);
}
K(2) ok_leaves(int *in, int *out, int *raw, int n)
{
    __shared__ int s[32];
    visit<true>(s, in, out, n);
}
// One thread of the first block never arrives at the cluster's barrier.
K(2) bug_never(int *in, int *out, int *raw, int n)
{
    if (blockIdx.x == 0 && threadIdx.x < 32) asm volatile("bar.sync 1, 64;" ::: "memory"); // @never
    cg::this_cluster().sync();
    out[threadIdx.x] = 1;
}
