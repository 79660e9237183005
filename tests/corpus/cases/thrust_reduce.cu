//! nvcc
//! T = int double
#include <thrust/reduce.h>
#include <thrust/transform_reduce.h>
#include <thrust/inner_product.h>
#include <thrust/extrema.h>
#include <thrust/count.h>
#include <thrust/logical.h>
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include "prelude.h"
struct odd_one { __host__ __device__ bool operator()(T x) const { return (int)x & 1; } };
void call(thrust::device_vector<T> &a, thrust::device_vector<T> &b, thrust::device_vector<T> &c,
          thrust::device_vector<int> &i)
{
    c[0] = thrust::reduce(a.begin(), a.end()) + thrust::inner_product(a.begin(), a.end(), b.begin(), T(0));
    c[1] = *thrust::max_element(a.begin(), a.end());
    i[0] = (int)thrust::count_if(a.begin(), a.end(), odd_one()) + thrust::any_of(a.begin(), a.end(), odd_one());
    thrust::reduce_by_key(a.begin(), a.end(), b.begin(), c.begin(), c.begin());
}
