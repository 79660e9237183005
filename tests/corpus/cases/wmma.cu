//! SHAPE = 16,16,16 32,8,16 8,32,16
//! T = f16,f16 f16,float i8,int u8,int bf16,float
//! LAYOUT = row_major col_major
//! arch 80 90 100
#include <mma.h>
#include "prelude.h"
namespace w = nvcuda::wmma;
template <class A, class C> struct types { using a = A; using c = C; };
using t = types<T>;
extern "C" __global__ void k(const t::a *a, const t::a *b, t::c *c)
{
    w::fragment<w::matrix_a, SHAPE, t::a, w::LAYOUT> x;
    w::fragment<w::matrix_b, SHAPE, t::a, w::LAYOUT> y;
    w::fragment<w::accumulator, SHAPE, t::c> z;
    w::load_matrix_sync(x, a, 32);
    w::load_matrix_sync(y, b, 32);
    w::fill_fragment(z, t::c(0));
    w::mma_sync(z, x, y, z);
    w::store_matrix_sync(c, z, 32, w::mem_row_major);
}
