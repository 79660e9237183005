//! T = u8 int double
//! HOW = barrier pipeline
//! every
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cooperative_groups.h>
#include "prelude.h"
#define barrier 1
#define pipeline 2
#if HOW == 1
#define WITH_BARRIER 1
#else
#define WITH_BARRIER 0
#endif
#undef barrier
#undef pipeline
namespace cg = cooperative_groups;
extern "C" __global__ void k(const T *in, T *out, int n)
{
    __shared__ alignas(16) T tile[2][128];
    auto block = cg::this_thread_block();
#if WITH_BARRIER
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (block.thread_rank() == 0)
        init(&bar, block.size());
    block.sync();
    for (int i = 0; i < n; i++) {
        cuda::memcpy_async(block, tile[i & 1], in + i * 128, sizeof(T) * 128, bar);
        bar.arrive_and_wait();
        out[i * 128 + threadIdx.x] = tile[i & 1][127 - threadIdx.x];
    }
#else
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto pipe = cuda::make_pipeline(block, &state);
    for (int i = 0; i < n; i++) {
        pipe.producer_acquire();
        cuda::memcpy_async(block, tile[i & 1], in + i * 128, sizeof(T) * 128, pipe);
        pipe.producer_commit();
        pipe.consumer_wait();
        out[i * 128 + threadIdx.x] = tile[i & 1][127 - threadIdx.x];
        pipe.consumer_release();
    }
#endif
}
