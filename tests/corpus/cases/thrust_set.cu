//! nvcc
//! T = int float
#include <thrust/set_operations.h>
#include <thrust/merge.h>
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include "prelude.h"
struct odd_one { __host__ __device__ bool operator()(T x) const { return (int)x & 1; } };
void call(thrust::device_vector<T> &a, thrust::device_vector<T> &b, thrust::device_vector<T> &c,
          thrust::device_vector<int> &i)
{
    thrust::set_union(a.begin(), a.end(), b.begin(), b.end(), c.begin());
    thrust::set_intersection(a.begin(), a.end(), b.begin(), b.end(), c.begin());
    thrust::set_difference(a.begin(), a.end(), b.begin(), b.end(), c.begin());
    thrust::merge(a.begin(), a.end(), b.begin(), b.end(), c.begin());
}
