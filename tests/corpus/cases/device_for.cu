//! nvcc
//! T = u8 int double
#include <cub/device/device_adjacent_difference.cuh>
#include <cub/device/device_copy.cuh>
#include <cub/device/device_for.cuh>
#include <cub/device/device_memcpy.cuh>
#include <cub/device/device_transform.cuh>
#include "prelude.h"
struct twice { __device__ T operator()(T x) const { return x + x; } };
struct touch { T *p; __device__ void operator()(int i) const { p[i] += T(1); } };
struct each { __device__ void operator()(T &x) const { x += T(1); } };
void call(T *in, T *out, int n, void **from, void **to, size_t *sizes)
{
    size_t bytes = 0;
    cub::DeviceAdjacentDifference::SubtractLeftCopy(nullptr, bytes, in, out, n);
    cub::DeviceFor::Bulk(n, touch{in});
    cub::DeviceFor::ForEachN(in, n, each());
    cub::DeviceTransform::Transform(in, out, n, twice());
    cub::DeviceMemcpy::Batched(nullptr, bytes, from, to, sizes, n);
}
