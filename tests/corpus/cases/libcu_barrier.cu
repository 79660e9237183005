//! SCOPE = block device
//! N = 1 2
//! every
#include <cuda/barrier>
#include "prelude.h"
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
extern "C" __global__ void k(int *out)
{
    __shared__ cuda::barrier<cuda::JOIN(thread_scope_, SCOPE)> barriers[N];
    if (threadIdx.x < N)
        init(&barriers[threadIdx.x], blockDim.x);
    __syncthreads();
    for (int i = 0; i < N; i++) {
        barriers[i].arrive_and_wait();
        auto token = barriers[i].arrive();
        out[threadIdx.x] += 1;
        barriers[i].wait(cuda::std::move(token));
        barriers[i].wait_parity(1);
        barriers[i].arrive_and_drop();
    }
}
