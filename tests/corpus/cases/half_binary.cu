//! T = f16 bf16 __half2 __nv_bfloat162
//! F = ADD SUB MUL DIV MAX MIN MAX_NAN FMA FMA_RELU EQ LT ADD_SAT
#include "prelude.h"
#if __CUDA_ARCH__ < 800 // has these for one of the two types only
template <class X> __device__ X __hfma(X a, X b, X c) { return __hadd(__hmul(a, b), c); }
#endif
enum { ADD, SUB, MUL, DIV, MAX, MIN, MAX_NAN, FMA, FMA_RELU, EQ, LT, ADD_SAT };
template <class X> struct pair { static constexpr bool is = false; };
template <> struct pair<__half2> { static constexpr bool is = true; };
template <> struct pair<__nv_bfloat162> { static constexpr bool is = true; };
template <int OP, class X> __device__ X run(X a, X b, X c)
{
    if constexpr (OP == ADD) { if constexpr (pair<X>::is) return __hadd2(a, b); else return __hadd(a, b); }
    if constexpr (OP == SUB) { if constexpr (pair<X>::is) return __hsub2(a, b); else return __hsub(a, b); }
    if constexpr (OP == MUL) { if constexpr (pair<X>::is) return __hmul2(a, b); else return __hmul(a, b); }
    if constexpr (OP == DIV) { if constexpr (pair<X>::is) return __h2div(a, b); else return __hdiv(a, b); }
    if constexpr (OP == MAX) { if constexpr (pair<X>::is) return __hmax2(a, b); else return __hmax(a, b); }
    if constexpr (OP == MIN) { if constexpr (pair<X>::is) return __hmin2(a, b); else return __hmin(a, b); }
    if constexpr (OP == MAX_NAN) { if constexpr (pair<X>::is) return __hmax2_nan(a, b); else return __hmax_nan(a, b); }
    if constexpr (OP == FMA) { if constexpr (pair<X>::is) return __hfma2(a, b, c); else return __hfma(a, b, c); }
    if constexpr (OP == FMA_RELU) { if constexpr (pair<X>::is) return __hfma2_relu(a, b, c); else return __hfma_relu(a, b, c); }
    if constexpr (OP == EQ) { if constexpr (pair<X>::is) return __heq2(a, b); else return __heq(a, b) ? a : b; }
    if constexpr (OP == LT) { if constexpr (pair<X>::is) return __hltu2(a, b); else return __hltu(a, b) ? a : b; }
    if constexpr (OP == ADD_SAT) { if constexpr (pair<X>::is) return __hadd2_sat(a, b); else return __hadd_sat(a, b); }
}
extern "C" __global__ void k(const T *in, T *out)
{
    out[threadIdx.x] = run<F>(in[threadIdx.x], in[threadIdx.x + 32], in[threadIdx.x + 64]);
}
