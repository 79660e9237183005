//! nvcc
//! T = u8 int float
#include <cub/device/device_histogram.cuh>
#include "prelude.h"
void call(T *in, int *bins, int n, T *levels)
{
    size_t bytes = 0;
    cub::DeviceHistogram::HistogramEven(nullptr, bytes, in, bins, 257, T(0), T(255), n);
    cub::DeviceHistogram::HistogramRange(nullptr, bytes, in, bins, 17, levels, n);
    int *each[3] = {bins, bins, bins}, many[3] = {17, 33, 65};
    T low[3] = {}, high[3] = {T(99), T(99), T(99)};
    cub::DeviceHistogram::MultiHistogramEven<4, 3>(nullptr, bytes, in, each, many, low, high, n);
}
