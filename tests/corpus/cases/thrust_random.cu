//! nvcc
//! T = int double
#include <thrust/random.h>
#include <thrust/transform.h>
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include "prelude.h"
struct odd_one { __host__ __device__ bool operator()(T x) const { return (int)x & 1; } };
void call(thrust::device_vector<T> &a, thrust::device_vector<T> &b, thrust::device_vector<T> &c,
          thrust::device_vector<int> &i)
{
    thrust::transform(i.begin(), i.end(), a.begin(), [] __device__(int n) {
        thrust::default_random_engine engine(n);
        thrust::uniform_real_distribution<double> flat(0, 1);
        thrust::normal_distribution<double> bell(0, 1);
        engine.discard(n);
        return T(flat(engine) + bell(engine));
    });
}
