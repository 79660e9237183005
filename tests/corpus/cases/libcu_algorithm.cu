//! T = int double
//! every
#include <cuda/std/functional>
#include <cuda/std/iterator>
#include <cuda/std/numeric>
#include <cuda/std/bitset>
#include <cuda/std/inplace_vector>
#include "prelude.h"
extern "C" __global__ void k(T *in, T *out, int n)
{
    namespace std = cuda::std;
    std::inplace_vector<T, 16> some;
    std::bitset<70> bits(n);
    out[0] = std::accumulate(in, in + n, T(0));
    out[1] = std::inner_product(in, in + n, in, T(0));
    out[2] = std::reduce(in, in + n, T(1), std::multiplies<T>());
    out[3] = std::transform_reduce(in, in + n, T(0), std::plus<T>(), [](T x) { return x * x; });
    std::inclusive_scan(in, in + n, out + 4);
    std::adjacent_difference(in, in + n, out + 4 + n);
    for (int i = 0; i < n && some.size() < some.capacity(); i++)
        some.push_back(in[i]);
    for (auto at = some.rbegin(); at != some.rend(); ++at)
        *out++ += *at;
    bits <<= 3;
    bits.flip(65);
    out[0] += T(bits.count() + bits.test(n % 70));
}
