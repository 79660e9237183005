//! arch 80 90 100
//! every
#include <cuda_awbarrier_primitives.h>
#include <cuda_pipeline_primitives.h>
extern "C" __global__ void k(const int4 *in, int4 *out)
{
    __shared__ int4 room[64];
    __shared__ __mbarrier_t bar;
    if (threadIdx.x == 0)
        __mbarrier_init(&bar, blockDim.x);
    __syncthreads();
    __pipeline_memcpy_async(&room[threadIdx.x], &in[threadIdx.x], 16);
    __pipeline_memcpy_async(&room[threadIdx.x].x, &in[threadIdx.x].y, 4, 1);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __pipeline_arrive_on(&bar);
    __mbarrier_token_t token = __mbarrier_arrive(&bar);
    while (!__mbarrier_test_wait(&bar, token))
        ;
    out[threadIdx.x] = room[63 - threadIdx.x];
    __mbarrier_inval(&bar);
}
