// async.cuh - the asynchronous operations of sm_90. They are barriers in shared memory that count arrivals and bytes
// (mbarrier), copies of boxes by tensor maps (TMA), clusters of blocks, and registers that move between warp groups.
//
// Ordinary loads and stores go through the generic proxy (PTX ISA, "Async proxy"). Copies by tensor maps and wgmma go
// through the async proxy. Writes through one proxy are visible to the other proxy only after a fence (fence_async).
// For example, a fence is needed if threads write a tile that a tensor map then copies out. Data that an asynchronous
// copy brings needs no fence if the reader waits on the barrier on which the copy completes.
//
// A ring is an array of stages in shared memory, which are used by turns. The kernels use it as follows. Each stage of
// the ring has two barriers. `full` counts one arrival (expect) and the bytes of the copies. `empty` counts the
// arrivals of the readers. Use number u of a stage completes phase u of both barriers. A step has u = step / stages.
// Readers wait for phase u of `full`, and the writer waits for phase u - 1 of `empty`:
//     writer:  wait(empty, u + 1 & 1); expect(full, bytes); tensor_load(...);
//     reader:  wait(full, u & 1); ...; arrive(empty);
// A new barrier is in phase 0. A wait for parity 1 on a new barrier returns at once, because this is the parity of the
// phase before phase 0. Therefore the first use of a stage needs no special case.
//
// A reader that multiplies by wgmma waits for its wgmma instructions before it arrives. A reader that loads from shared
// memory by ordinary instructions needs fence_async() between its loads and its arrival, because the copy that
// overwrites the stage goes through another proxy. On an H200 without this fence, copies overwrote data that loads had
// begun to read (dgemm.cu).

#ifndef ASYNC_CUH
#define ASYNC_CUH

#include "common.cuh"

// The type of a kernel argument {tensor_map: ...} in a spec. A tensor_map has the bytes of a CUtensorMap, so this file
// does not need <cuda.h>. A kernel takes the argument as `const __grid_constant__ tensor_map`, because copies need its
// address.
struct alignas(128) tensor_map {
    char bytes[128];
};

// A barrier in shared memory: 8 bytes at a multiple of 8.
typedef offset barrier;

// Returns the 32-bit address of shared memory that instructions need.
__device__ __forceinline__ unsigned shared_address(const void *at)
{
    return (unsigned)__cvta_generic_to_shared(at);
}

// ---- barriers ----

// One thread calls this function to initialise the barrier. A phase is complete after `arrivals` arrivals and after all
// bytes that were expected in this phase.
__device__ __forceinline__ void barrier_init(barrier *at, unsigned arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(at)), "r"(arrivals) : "memory");
}

// The thread that has initialised all barriers calls this function, so that copies and the other blocks of the cluster
// see them. After this call the block needs __syncthreads(), or cluster_sync() if other blocks arrive on the barriers.
__device__ __forceinline__ void barriers_made()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void barrier_arrive(barrier *at)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(at)) : "memory");
}

// Arrives on the barrier at the same address in block `rank` of the cluster, which may be this block. The arrival tells
// that this thread, or a wgmma that it has waited for, has finished reading. The arrival does not make this thread's
// writes visible to the other block. Visible writes would need a fence of the whole device at each arrival
// (release.cluster). With this fence, a product of matrices took 1.5 times as long on an H200.
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

// Arrives on the barrier, and adds `bytes` to the number of bytes that copies must bring before the phase is complete.
__device__ __forceinline__ void barrier_expect(barrier *at, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(at)), "r"(bytes)
                 : "memory");
}

// Waits until the phase of this parity is complete. The parity of phase p is p & 1.
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

// Returns without waiting whether the phase with this parity is complete.
__device__ __forceinline__ bool barrier_passed(barrier *at, unsigned parity)
{
    unsigned passed;
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "mbarrier.test_wait.parity.shared::cta.b64 done, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, done;\n"
                 "}"
                 : "=r"(passed)
                 : "r"(shared_address(at)), "r"(parity)
                 : "memory");
    return passed != 0;
}

// Makes this thread's writes to shared memory visible to copies and wgmma that begin later. Each thread that wrote to
// shared memory calls this function. After the call these threads synchronise at a barrier, and then one of them begins
// the copy.
__device__ __forceinline__ void fence_async()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Begins to copy `bytes` contiguous bytes. `full` counts these bytes. The size and both addresses are multiples of 16.
// One thread calls the function.
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
// A tensor map describes the place of a matrix and the size of the box that one copy transfers. Coordinates count
// elements. The first coordinate is along the dimension whose elements are neighbours in memory. Parts of a box outside
// the matrix are read as zeros and are not written. One thread begins each copy.
//
// With a swizzle of 128 bytes, the rows of a box are 128 bytes long. The pieces of 16 bytes of a row are permuted in
// shared memory. Bits 4 to 6 of the address are exclusive-ored with bits 7 to 9, which are the number of the row modulo
// 8. Therefore the same columns of 8 rows are in different banks, which suits the reads of wgmma and ldmatrix. A
// swizzle of 64 bytes (rows of 64 bytes) combines bits 4 and 5 with bits 7 and 8. A swizzle of 32 bytes combines bit 4
// with bit 7. A box must begin at a multiple of 1024, 512 or 256 bytes for these three swizzles, because the swizzle
// uses address bits and not offsets.

// Returns the swizzled place of the byte at `place` of a box. The box begins at a multiple of 1024 bytes.
template <unsigned width> __device__ __forceinline__ unsigned swizzled(unsigned place)
{
    return width == 0 ? place : place ^ (place >> 3 & (width / 16 - 1) << 4);
}

// Prefetches a tensor map. Fetching a map takes some hundred clocks.
__device__ __forceinline__ void tensor_prefetch(const tensor_map &map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// Begins to copy the box at (x, y) to shared memory. `full` counts the bytes of the whole box, even if a part of the
// box is outside the matrix.
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

// Copies the same box as tensor_load() to each block of the cluster whose bit is set in `blocks`. The copy has the same
// address in each of these blocks, and the barrier at the same address as `full` counts its bytes.
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

// Begins to copy a box from shared to global memory. Before this call, the threads that wrote the box call
// fence_async() and synchronise.
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

// Begins to add `bytes` bytes of floats in shared memory to contiguous floats in global memory. Each addition of a
// float is atomic. The size and both addresses are multiples of 16. Before this call, the threads that wrote the floats
// call fence_async() and synchronise.
__device__ __forceinline__ void bulk_add(float *to, const void *from, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(
                     (offset)__cvta_generic_to_global(to)),
                 "r"(shared_address(from)), "r"(bytes)
                 : "memory");
}

// Makes a group of all copies to global memory that this thread has begun since the last call.
__device__ __forceinline__ void tensor_store_commit()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until all groups of this thread except the last `pending` groups have read their shared memory. This memory may
// then be overwritten. A block must not end before its copies have read their shared memory.
template <unsigned pending> __device__ __forceinline__ void tensor_store_wait()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}

// ---- warp groups: four warps that run wgmma together; the number of the first warp is a multiple of four ----

// Waits until `threads` threads of the block have arrived at barrier `number`. `number` is 1 to 15, because
// __syncthreads() uses barrier 0.
__device__ __forceinline__ void group_sync(unsigned number, unsigned threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

// Returns true in one lane of the warp, the same lane at each call. All lanes of the warp must call the function
// together.
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

// These functions release registers of this warp group, or take registers that other warp groups released. After the
// call each thread of the warp group has `count` registers. `count` is a multiple of 8 from 24 to 256.
// __launch_bounds__ determines the initial number. An SM has 65,536 registers.
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

// cluster_sync() synchronises all threads of all blocks of a cluster. Each thread arrives, and then waits until all
// threads have arrived. Writes that other threads made before they arrived are visible after the wait. Other blocks may
// write to a block's shared memory or arrive on its barriers. The block must have started before that, and must not end
// before the other blocks have finished.
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

// Reads from shared memory of block `rank` of the cluster, at the same address as `at`.
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

// Writes to shared memory of block `rank` of the cluster, at the same address as `at`. Then counts the four bytes on
// that block's barrier, which is at the same address as `full`. A thread that waits on that barrier sees the value
// without a further fence or barrier.
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

// ---- blocks that have not started, from compute capability 10.0 on (clusterlaunchcontrol) ----

// Begins to cancel a block of this launch that has not started. The 16 bytes of the answer are written to `answer`, and
// `full` counts these bytes. If an answer says that no such block is left, the block must not ask again.
__device__ __forceinline__ void launch_cancel(uint4 *answer, barrier *full)
{
    asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];" ::"r"(
                     shared_address(answer)),
                 "r"(shared_address(full))
                 : "memory");
}

// Returns whether a block was cancelled, and sets `block` to its blockIdx.x.
__device__ __forceinline__ bool launch_cancelled(const uint4 &answer, unsigned &block)
{
    unsigned cancelled, first;
    const offset low = (offset)answer.y << 32 | answer.x, high = (offset)answer.w << 32 | answer.z;
    asm volatile("{\n"
                 ".reg .pred cancelled;\n"
                 ".reg .b128 answer;\n"
                 "mov.b128 answer, {%2, %3};\n"
                 "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 cancelled, answer;\n"
                 "selp.u32 %0, 1, 0, cancelled;\n"
                 "mov.u32 %1, 0;\n"
                 "@cancelled clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %1, answer;\n"
                 "}"
                 : "=r"(cancelled), "=r"(first)
                 : "l"(low), "l"(high)
                 : "memory");
    if (cancelled)
        block = first;
    return cancelled;
}

// ---- launches that overlap, for steps with `overlap: true` in a spec ----

// Waits until the earlier kernels of the stream that this kernel may overtake have ended. Their writes are then
// visible.
__device__ __forceinline__ void wait_for_launch_before()
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

// Lets the next kernel of the stream begin. The next kernel must call wait_for_launch_before() before it reads results
// of this kernel.
__device__ __forceinline__ void let_next_launch_begin()
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

#endif
