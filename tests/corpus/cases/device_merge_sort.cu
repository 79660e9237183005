//! nvcc
//! K = u8 float
#include <cub/device/device_merge.cuh>
#include <cub/device/device_merge_sort.cuh>
#include "prelude.h"
void call(K *in, K *out, int *v, int n)
{
    size_t bytes = 0;
    cub::DeviceMergeSort::SortKeys(nullptr, bytes, in, n, cuda::std::less<>());
    cub::DeviceMergeSort::StableSortPairs(nullptr, bytes, in, v, n, cuda::std::greater<>());
    cub::DeviceMerge::MergeKeys(nullptr, bytes, in, n, in + n, n, out, cuda::std::less<>());
}
