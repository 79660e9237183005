//! nvcc
//! T = u8 int double
#include <cub/device/device_partition.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_select.cuh>
#include "prelude.h"
struct small { __device__ bool operator()(T x) const { return x < T(5); } };
void call(T *in, T *out, int n, const char *flags, int *count)
{
    size_t bytes = 0;
    cub::DeviceSelect::If(nullptr, bytes, in, out, count, n, small());
    cub::DeviceSelect::Flagged(nullptr, bytes, in, flags, out, count, n);
    cub::DeviceSelect::Unique(nullptr, bytes, in, out, count, n);
    cub::DevicePartition::If(nullptr, bytes, in, out, count, n, small());
    cub::DeviceRunLengthEncode::Encode(nullptr, bytes, in, out, count + 1, count, n);
    cub::DeviceRunLengthEncode::NonTrivialRuns(nullptr, bytes, in, count + 1, count + n, count, n);
}
