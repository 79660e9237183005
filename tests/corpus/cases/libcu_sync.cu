//! SCOPE = block device system
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda/atomic>
#include "prelude.h"
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
extern "C" __global__ void k(cuda::latch<cuda::JOIN(thread_scope_, SCOPE)> *latch,
                             cuda::counting_semaphore<cuda::JOIN(thread_scope_, SCOPE), 8> *semaphore, int *out)
{
    semaphore->acquire();
    out[threadIdx.x] = 1;
    semaphore->release();
    latch->arrive_and_wait();
    out[threadIdx.x] += latch->try_wait();
    out[threadIdx.x] += semaphore->try_acquire();
}
