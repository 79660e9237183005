//! nvcc
//! K = u8 int u64 float
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_segmented_radix_sort.cuh>
#include "prelude.h"
void call(K *in, K *out, int *v, int *w, int n, const int *ends)
{
    size_t bytes = 0;
    cub::DeviceRadixSort::SortKeys(nullptr, bytes, in, out, n);
    cub::DeviceRadixSort::SortPairsDescending(nullptr, bytes, in, out, v, w, n);
    cub::DeviceSegmentedRadixSort::SortKeys(nullptr, bytes, in, out, n, 7, ends, ends + 1);
}
