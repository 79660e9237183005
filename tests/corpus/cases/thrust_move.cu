//! nvcc
//! T = u8 double
#include <thrust/gather.h>
#include <thrust/scatter.h>
#include <thrust/copy.h>
#include <thrust/remove.h>
#include <thrust/unique.h>
#include <thrust/partition.h>
#include <thrust/reverse.h>
#include <thrust/replace.h>
#include <thrust/swap.h>
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include "prelude.h"
struct odd_one { __host__ __device__ bool operator()(T x) const { return (int)x & 1; } };
void call(thrust::device_vector<T> &a, thrust::device_vector<T> &b, thrust::device_vector<T> &c,
          thrust::device_vector<int> &i)
{
    thrust::gather(i.begin(), i.end(), a.begin(), b.begin());
    thrust::scatter(a.begin(), a.end(), i.begin(), b.begin());
    thrust::remove_if(a.begin(), a.end(), odd_one());
    thrust::copy_if(a.begin(), a.end(), b.begin(), odd_one());
    thrust::unique(a.begin(), a.end());
    thrust::partition(a.begin(), a.end(), odd_one());
    thrust::reverse(a.begin(), a.end());
    thrust::replace_if(b.begin(), b.end(), odd_one(), T(0));
}
