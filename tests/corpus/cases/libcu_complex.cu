//! T = float double
//! F = exp log log10 sqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh
#include <cuda/std/complex>
#include "prelude.h"
extern "C" __global__ void k(const cuda::std::complex<T> *in, cuda::std::complex<T> *out)
{
    auto z = in[threadIdx.x];
    out[threadIdx.x] = cuda::std::F(z) * z / (z + T(1)) - cuda::std::conj(z) + cuda::std::polar(T(1), cuda::std::arg(z));
}
