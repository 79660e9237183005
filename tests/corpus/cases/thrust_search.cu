//! nvcc
//! T = int float
#include <thrust/binary_search.h>
#include <thrust/find.h>
#include <thrust/mismatch.h>
#include <thrust/equal.h>
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include "prelude.h"
struct odd_one { __host__ __device__ bool operator()(T x) const { return (int)x & 1; } };
void call(thrust::device_vector<T> &a, thrust::device_vector<T> &b, thrust::device_vector<T> &c,
          thrust::device_vector<int> &i)
{
    thrust::lower_bound(a.begin(), a.end(), b.begin(), b.end(), i.begin());
    thrust::binary_search(a.begin(), a.end(), b.begin(), b.end(), i.begin());
    i[0] = (int)(thrust::find(a.begin(), a.end(), T(3)) - a.begin()) + thrust::equal(a.begin(), a.end(), b.begin());
}
