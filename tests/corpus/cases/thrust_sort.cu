//! nvcc
//! T = int double
#include <thrust/sort.h>
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include "prelude.h"
struct odd_one { __host__ __device__ bool operator()(T x) const { return (int)x & 1; } };
void call(thrust::device_vector<T> &a, thrust::device_vector<T> &b, thrust::device_vector<T> &c,
          thrust::device_vector<int> &i)
{
    thrust::sort(a.begin(), a.end());
    thrust::stable_sort_by_key(a.begin(), a.end(), b.begin(), thrust::greater<T>());
}
