# Pointers to void get the type to which the kernel casts them. Classes as arguments of a template, a header that the
# user of a library may name, and macros of the host that stand alone. What is written runs.
cat >copy.cuh <<'X'
#ifdef LIBRARY_PORT_FILE // a file that the user of the library may name
#include LIBRARY_PORT_FILE
#endif
#include <sys/syscall.h> // a header of the host
namespace lib {
template <class T> struct twice { __device__ T operator()(T x) const { return x + x; } };
template <class T, class U> struct add { __device__ T operator()(T x) const { return x + (U)2; } };
}
X
cat >copy.cu <<'X'
#include "copy.cuh"
template <typename OP>
__global__ void copy(const void *from, void *to, const void *other, int n)
{
    const float4 *in = reinterpret_cast<const float4 *>(from);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 x = in[i];
        OP op;
        ((float4 *)to)[i] = make_float4(op(x.x), op(x.y), op(x.z), op(x.w + (other != nullptr)));
    }
}
template <typename T> void run(const std::string &x) { x.call<T>(); }
#define INSTANTIATE(T) template void run<T>(const std::string &);
INSTANTIATE(float)
INSTANTIATE(double)
X
kiln init copy.cu -p 'OP=lib::twice<float>' -o copy.yaml -q && sed -n '/^params/,/^$/p; /^buffers/,/^$/p' copy.yaml
kiln tune copy.yaml -q | grep configurations
kiln init copy.cu -p 'OP=lib::add<float,int>' -q | grep OP_VALUE:
# Each element of the only size has 64 numbers; the first guess of the arrays is too small.
cat >rows.cu <<'X'
__global__ void rows(float *out, const float *in, const long long *index, const long long size)
{
    const int i = blockIdx.x * blockDim.y + threadIdx.y, t = threadIdx.x;
    if (i < size)
        reinterpret_cast<float4 *>(out)[i * 16 + t] = reinterpret_cast<const float4 *>(in)[index[i] * 16 + t];
}
void run(float *out, float *in, long long *index, long long size)
{
    dim3 block(16, 16);
    rows<<<(size + 15) / 16, block>>>(out, in, index, size);
}
X
kiln init rows.cu -o rows.yaml -q && sed -n '/^buffers/,/^$/p' rows.yaml
kiln tune rows.yaml -q | grep configurations
# A name that stands for a type; a structure with a base class, whose fields kiln cannot read.
cat >kind.cu <<'X'
using IN = INPUT_KIND;
__global__ void first(IN *x) { x[threadIdx.x] = 1; }
X
kiln init kind.cu
cat >view.cu <<'X'
template <class T> struct base { T *data; };
template <class T> struct view : base<T> { int n; };
__global__ void fill(view<float> v)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < v.n)
        v.data[i] = 1;
}
X
kiln init view.cu | grep 'args:'
