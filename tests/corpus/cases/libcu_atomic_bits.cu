//! T = u8 u16 int u64
//! SCOPE = block device
#include <cuda/atomic>
#include "prelude.h"
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
extern "C" __global__ void k(cuda::atomic<T, cuda::JOIN(thread_scope_, SCOPE)> *a, T v, T *out)
{
    out[0] = (*a)++;
    out[1] = a->fetch_and(v) + a->fetch_or(v) + a->fetch_xor(v);
    a->wait(v);
    a->notify_all();
    T expected = v;
    while (!a->compare_exchange_weak(expected, (T)(expected + 1)))
        ;
}
