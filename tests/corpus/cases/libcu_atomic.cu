//! T = int u32 i64 u64 float double
//! SCOPE = thread block device system
//! ORDER = relaxed acq_rel seq_cst
#include <cuda/atomic>
#include "prelude.h"
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
extern "C" __global__ void k(T *p, T v, T *out)
{
    cuda::atomic_ref<T, cuda::JOIN(thread_scope_, SCOPE)> a(*p);
    constexpr auto order = cuda::std::JOIN(memory_order_, ORDER);
    constexpr bool relaxed = order == cuda::std::memory_order_relaxed, full = order == cuda::std::memory_order_seq_cst;
    constexpr auto load = relaxed || full ? order : cuda::std::memory_order_acquire;
    constexpr auto store = relaxed || full ? order : cuda::std::memory_order_release;
    T was = a.load(load), expected = v;
    a.store(was + v, store);
    out[0] = a.fetch_add(v, order) + a.fetch_sub(v, order) + a.exchange(v, order);
    out[1] = a.compare_exchange_strong(expected, was, order) + expected;
    out[2] = a.fetch_min(v, order) + a.fetch_max(v, order);
    cuda::atomic_thread_fence(order, cuda::JOIN(thread_scope_, SCOPE));
}
