//! nvcc
//! T = int double
#include <thrust/scan.h>
#include <thrust/adjacent_difference.h>
#include <thrust/sequence.h>
#include <thrust/fill.h>
#include <thrust/tabulate.h>
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include "prelude.h"
struct odd_one { __host__ __device__ bool operator()(T x) const { return (int)x & 1; } };
void call(thrust::device_vector<T> &a, thrust::device_vector<T> &b, thrust::device_vector<T> &c,
          thrust::device_vector<int> &i)
{
    thrust::inclusive_scan(a.begin(), a.end(), b.begin());
    thrust::exclusive_scan_by_key(i.begin(), i.end(), a.begin(), b.begin());
    thrust::adjacent_difference(a.begin(), a.end(), b.begin());
    thrust::sequence(a.begin(), a.end());
    thrust::fill(b.begin(), b.end(), T(3));
}
