// async.cuh - what sm_90 does on its own while threads go on: barriers in shared memory that count arrivals and bytes
// (mbarrier), copies of boxes by tensor maps (TMA), clusters of blocks, registers that move between warp groups.
//
// Two worlds. Ordinary loads and stores go through the generic proxy; copies by tensor maps and wgmma go through the
// async proxy. What one writes, the other sees only after a fence between them (fence_async): for example where threads
// write a tile that a tensor map then copies out. A barrier that a copy completes needs no fence for what it brought.
//
// A ring of stages, as the kernels use it. Each stage has two barriers: `full`, on which one arrival (expect) and the
// bytes of the copies are counted, and `empty`, on which each reader arrives. Use number u of a stage (u = step /
// stages) completes phase u of each. Readers wait for phase u of `full`, the writer for phase u - 1 of `empty`:
//     writer:  wait(empty, u + 1 & 1); expect(full, bytes); tensor_load(...);
//     reader:  wait(full, u & 1); ...; arrive(empty);
// A fresh barrier is in phase 0. To wait for the parity of the phase before it, 1, returns at once: so the first use of
// a stage needs no special case.

#ifndef ASYNC_CUH
#define ASYNC_CUH

#include "common.cuh"

// What the driver makes for an argument {tensor_map: ...}: the same bytes as CUtensorMap, without <cuda.h>. The kernel
// takes it as `const __grid_constant__ tensor_map`, since copies need its address.
struct alignas(128) tensor_map {
    char bytes[128];
};

// A barrier in shared memory, 8 bytes at a multiple of 8.
typedef offset barrier;

// An address of shared memory as instructions take it.
__device__ __forceinline__ unsigned shared_address(const void *at)
{
    return (unsigned)__cvta_generic_to_shared(at);
}

// ---- barriers ----

// One thread makes it. `arrivals` complete a phase, with all bytes that were expected in it.
__device__ __forceinline__ void barrier_init(barrier *at, unsigned arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(at)), "r"(arrivals) : "memory");
}

// The same thread, after it has made all: copies and the other blocks of the cluster see them. Then __syncthreads(), or
// cluster_sync() where other blocks arrive on them.
__device__ __forceinline__ void barriers_made()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void barrier_arrive(barrier *at)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(at)) : "memory");
}

// Arrives on the barrier that lies at the same place in block `rank` of the cluster; its own is one of them. It says that
// this thread, or a wgmma that it waited for, has read; what it wrote is not seen there. That would take a fence of the
// whole device at each arrival (release.cluster), which made a product of matrices take 1.5 times as long on an H200.
__device__ __forceinline__ void barrier_arrive(barrier *at, unsigned rank)
{
    asm volatile("{\n"
                 ".reg .b32 remote;\n"
                 "mapa.shared::cluster.u32 remote, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
                 "}" ::"r"(shared_address(at)),
                 "r"(rank)
                 : "memory");
}

// Arrives, and adds to the bytes that copies must bring before the phase completes.
__device__ __forceinline__ void barrier_expect(barrier *at, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(at)), "r"(bytes)
                 : "memory");
}

// Waits until the phase of this parity is complete: that of phase p is p & 1.
__device__ __forceinline__ void barrier_wait(barrier *at, unsigned parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "AGAIN:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra AGAIN;\n"
                 "}" ::"r"(shared_address(at)),
                 "r"(parity)
                 : "memory");
}

// What this thread has written to shared memory is seen by copies and wgmma that begin after it. Each thread that wrote
// calls it, then they meet at a barrier, then one begins the copy.
__device__ __forceinline__ void fence_async()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Begins to copy neighbours, a multiple of 16 bytes and so are both addresses; they are counted on `full`. One thread
// begins a copy.
__device__ __forceinline__ void bulk_load(void *to, const void *from, unsigned bytes, barrier *full)
{
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            shared_address(to)),
        "l"((offset)__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(full))
        : "memory");
}

// ---- copies by tensor maps ----
//
// A map says where a matrix lies and which box of it one copy takes. Coordinates count elements, the fastest dimension
// first; parts of a box outside of the matrix come as zeros, and are not written. One thread begins a copy.
//
// With a swizzle of 128 bytes, a box whose rows are 128 bytes long lies in shared memory with its pieces of 16 bytes
// changed: bits 4 to 6 of the address are exclusive-ored with bits 7 to 9, the row's number mod 8. So the same columns
// of 8 rows lie in different banks, which is how wgmma and ldmatrix read. Swizzles of 64 and 32 bytes do the same with
// 2 bits and 1 (rows of 64 and 32 bytes: bits 4 and 5 with 7 and 8, bit 4 with 7). The place of a box must be a
// multiple of 1024, 512, 256 bytes, since address bits count, not offsets.

// Where the byte at `place` of such a box lies, which begins at a multiple of 1024.
template <unsigned width> __device__ __forceinline__ unsigned swizzled(unsigned place)
{
    return width == 0 ? place : place ^ (place >> 3 & (width / 16 - 1) << 4);
}

// Fetches a map, some hundred clocks before its first use.
__device__ __forceinline__ void tensor_prefetch(const tensor_map &map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// Begins to copy the box at (x, y) to shared memory; its bytes, all of the box's, are counted on `full`.
__device__ __forceinline__ void tensor_load(void *to, const tensor_map &map, int x, int y, barrier *full)
{
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            shared_address(to)),
        "l"(&map), "r"(x), "r"(y), "r"(shared_address(full))
        : "memory");
}

__device__ __forceinline__ void tensor_load(void *to, const tensor_map &map, int x, int y, int z, barrier *full)
{
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
        "[%5];" ::"r"(shared_address(to)),
        "l"(&map), "r"(x), "r"(y), "r"(z), "r"(shared_address(full))
        : "memory");
}

__device__ __forceinline__ void tensor_load(void *to, const tensor_map &map, int x, int y, int z, int w, barrier *full)
{
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], "
        "[%6];" ::"r"(shared_address(to)),
        "l"(&map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(shared_address(full))
        : "memory");
}

// The same to each block of the cluster whose bit is set: the same place, and the barrier at the same place, of each.
__device__ __forceinline__ void tensor_multicast(void *to, const tensor_map &map, int x, int y, barrier *full,
                                                 unsigned blocks)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(to)),
                 "l"(&map), "r"(x), "r"(y), "r"(shared_address(full)), "h"((unsigned short)blocks)
                 : "memory");
}

__device__ __forceinline__ void tensor_multicast(void *to, const tensor_map &map, int x, int y, int z, barrier *full,
                                                 unsigned blocks)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(shared_address(to)),
                 "l"(&map), "r"(x), "r"(y), "r"(z), "r"(shared_address(full)), "h"((unsigned short)blocks)
                 : "memory");
}

// Begins to copy a box out. Before it: fence_async by those who wrote it, and a barrier.
__device__ __forceinline__ void tensor_store(const tensor_map &map, int x, int y, const void *from)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(x),
                 "r"(y), "r"(shared_address(from))
                 : "memory");
}

__device__ __forceinline__ void tensor_store(const tensor_map &map, int x, int y, int z, const void *from)
{
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(&map), "r"(x),
                 "r"(y), "r"(z), "r"(shared_address(from))
                 : "memory");
}

__device__ __forceinline__ void tensor_store(const tensor_map &map, int x, int y, int z, int w, const void *from)
{
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%1, %2, %3, %4}], [%5];" ::"l"(&map),
                 "r"(x), "r"(y), "r"(z), "r"(w), "r"(shared_address(from))
                 : "memory");
}

// Makes a group of this thread's copies out since the last call.
__device__ __forceinline__ void tensor_store_commit()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until all of this thread's groups but the latest `pending` have read their shared memory, which may then be
// written again. A block must not end before that.
template <unsigned pending> __device__ __forceinline__ void tensor_store_wait()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}

// ---- warp groups: four warps, the first a multiple of four, which run wgmma together ----

// A barrier of some threads of the block, by number: 1 to 15, since __syncthreads() is 0.
__device__ __forceinline__ void group_sync(unsigned number, unsigned threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

// One lane of the warp, the same at each call. All lanes call.
__device__ __forceinline__ bool is_elected()
{
    unsigned elected;
    asm volatile("{\n"
                 ".reg .pred mine;\n"
                 "elect.sync _|mine, 0xffffffff;\n"
                 "selp.u32 %0, 1, 0, mine;\n"
                 "}"
                 : "=r"(elected));
    return elected;
}

// Gives registers back, or takes some that others gave back: this warp group's threads have `count` each from here on,
// a multiple of 8 from 24 to 256. The kernel is compiled for what __launch_bounds__ leaves; 65,536 are there in all.
template <unsigned count> __device__ __forceinline__ void registers_give()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}

template <unsigned count> __device__ __forceinline__ void registers_take()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}

// ---- clusters: blocks that run at the same time and reach each other's shared memory ----

__device__ __forceinline__ unsigned cluster_rank()
{
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// All threads of all blocks meet: they have arrived, then each waits until all have. What others did before they arrived
// is seen after the wait. A block whose shared memory others write or arrive in must not end before they have, and must
// have begun before they do.
__device__ __forceinline__ void cluster_arrive()
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

__device__ __forceinline__ void cluster_wait()
{
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ __forceinline__ void cluster_sync()
{
    cluster_arrive();
    cluster_wait();
}

// Reads what lies at the same place in block `rank` of the cluster.
__device__ __forceinline__ float4 cluster_read(const float4 *at, unsigned rank)
{
    float4 value;
    asm volatile("{\n"
                 ".reg .b32 remote;\n"
                 "mapa.shared::cluster.u32 remote, %4, %5;\n"
                 "ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [remote];\n"
                 "}"
                 : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
                 : "r"(shared_address(at)), "r"(rank)
                 : "memory");
    return value;
}

__device__ __forceinline__ float cluster_read(const float *at, unsigned rank)
{
    float value;
    asm volatile("{\n"
                 ".reg .b32 remote;\n"
                 "mapa.shared::cluster.u32 remote, %1, %2;\n"
                 "ld.shared::cluster.f32 %0, [remote];\n"
                 "}"
                 : "=f"(value)
                 : "r"(shared_address(at)), "r"(rank)
                 : "memory");
    return value;
}

// Writes what lies at the same place in block `rank` of the cluster, and then counts its four bytes on the barrier at the
// same place as `full`, of that block. Who waits there sees it: no fence, no barrier of the cluster.
__device__ __forceinline__ void cluster_send(float *at, unsigned rank, float value, barrier *full)
{
    asm volatile("{\n"
                 ".reg .b32 remote, counter;\n"
                 "mapa.shared::cluster.u32 remote, %0, %2;\n"
                 "mapa.shared::cluster.u32 counter, %1, %2;\n"
                 "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.f32 [remote], %3, [counter];\n"
                 "}" ::"r"(shared_address(at)),
                 "r"(shared_address(full)), "r"(rank), "f"(value)
                 : "memory");
}

// ---- launches that overlap: `overlap: true` of a step ----

// Waits until the kernels that this one was allowed to overtake have ended, and sees what they wrote.
__device__ __forceinline__ void wait_for_launch_before()
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

// The next kernel may begin; it still waits for this one's end before it reads its results.
__device__ __forceinline__ void let_next_launch_begin()
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

#endif
