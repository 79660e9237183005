//! T = i8 i16 u16 int u64 f16 bf16 float double
//! OP = plus minimum maximum
#include <cub/thread/thread_reduce.cuh>
#include <cuda/functional>
#include <cuda/std/functional>
#include "prelude.h"
namespace op { template <class X> using plus = cuda::std::plus<X>; template <class X> using minimum = cuda::minimum<X>;
               template <class X> using maximum = cuda::maximum<X>; }
extern "C" __global__ void k(const T *in, T *out)
{
    T v[16];
    for (int i = 0; i < 16; i++)
        v[i] = in[threadIdx.x * 16 + i];
    out[threadIdx.x] = cub::ThreadReduce(v, op::OP<T>{});
}
