//! F = SREG MBARRIER FENCE BULK BULK_REDUCE TENSOR CLUSTER RED_ASYNC ST_ASYNC
//! arch 90 100
//! every
#include <cuda/ptx>
#include "prelude.h"
enum { SREG, MBARRIER, FENCE, BULK, BULK_REDUCE, TENSOR, CLUSTER, RED_ASYNC, ST_ASYNC };
namespace ptx = cuda::ptx;
template <int KIND> __device__ void run(int *g, u64 *out, const void *map)
{
    __shared__ alignas(128) int room[256];
    __shared__ u64 bar, remote;
    if constexpr (KIND == SREG)
        out[0] = ptx::get_sreg_laneid() + ptx::get_sreg_nwarpid() + ptx::get_sreg_warpid() + ptx::get_sreg_nsmid() +
                 ptx::get_sreg_gridid() + ptx::get_sreg_clock64() + ptx::get_sreg_globaltimer() +
                 ptx::get_sreg_total_smem_size() + ptx::get_sreg_dynamic_smem_size() + ptx::get_sreg_aggr_smem_size() +
                 ptx::get_sreg_lanemask_gt() + ptx::get_sreg_clusterid_x() + ptx::get_sreg_cluster_ctarank() +
                 ptx::get_sreg_cluster_nctarank() + ptx::get_sreg_is_explicit_cluster() + ptx::get_sreg_smid();
    if constexpr (KIND == MBARRIER) {
        ptx::mbarrier_init(&bar, 32);
        u64 token = ptx::mbarrier_arrive(&bar);
        token = ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, 64);
        while (!ptx::mbarrier_try_wait(&bar, token))
            ;
        out[0] = ptx::mbarrier_test_wait_parity(&bar, 1) + ptx::mbarrier_try_wait_parity(&bar, 0, 100u);
    }
    if constexpr (KIND == FENCE) {
        ptx::fence(ptx::sem_acq_rel, ptx::scope_cluster);
        ptx::fence(ptx::sem_sc, ptx::scope_gpu);
        ptx::fence_proxy_alias();
        ptx::fence_proxy_async();
        ptx::fence_proxy_async(ptx::space_shared);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    if constexpr (KIND == BULK) {
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, room, g, 1024, &bar);
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, g, room, 1024);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
    if constexpr (KIND == BULK_REDUCE) {
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, g, room, 1024);
        ptx::cp_async_bulk_commit_group();
    }
    if constexpr (KIND == TENSOR) {
        int at[2] = {0, 0};
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, room, map, at, &bar);
        ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, map, at, room);
    }
    if constexpr (KIND == CLUSTER) {
        ptx::barrier_cluster_arrive();
        ptx::barrier_cluster_wait();
        out[0] = ptx::getctarank(ptx::space_cluster, room);
    }
    if constexpr (KIND == RED_ASYNC)
        ptx::red_async(ptx::op_add, (u32 *)room, 1u, &remote);
    if constexpr (KIND == ST_ASYNC)
        ptx::st_async(room, 7, &remote);
    out[1] = room[threadIdx.x];
}
extern "C" __global__ void k(int *g, u64 *out, const void *map)
{
    run<F>(g, out, map);
}
