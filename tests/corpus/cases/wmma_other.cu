//! KIND = 0 1 2 3
//! arch 80 90 100
//! every
#include <mma.h>
#include "prelude.h"
namespace w = nvcuda::wmma;
extern "C" __global__ void k(const void *a, const void *b, void *c)
{
#if KIND == 0
    w::fragment<w::matrix_a, 16, 16, 8, w::precision::tf32, w::row_major> x;
    w::fragment<w::matrix_b, 16, 16, 8, w::precision::tf32, w::col_major> y;
    w::fragment<w::accumulator, 16, 16, 8, float> z;
    w::load_matrix_sync(x, (const float *)a, 16);
    w::load_matrix_sync(y, (const float *)b, 16);
    for (int i = 0; i < x.num_elements; i++)
        x.x[i] = w::__float_to_tf32(x.x[i]);
    w::load_matrix_sync(z, (float *)c, 16, w::mem_col_major);
    w::mma_sync(z, x, y, z);
    w::store_matrix_sync((float *)c, z, 16, w::mem_col_major);
#elif KIND == 1
    w::fragment<w::matrix_a, 8, 8, 4, double, w::row_major> x;
    w::fragment<w::matrix_b, 8, 8, 4, double, w::col_major> y;
    w::fragment<w::accumulator, 8, 8, 4, double> z;
    w::load_matrix_sync(x, (const double *)a, 8);
    w::load_matrix_sync(y, (const double *)b, 8);
    w::fill_fragment(z, 0.0);
    w::mma_sync(z, x, y, z);
    w::store_matrix_sync((double *)c, z, 8, w::mem_row_major);
#elif KIND == 2
    w::fragment<w::matrix_a, 8, 8, 32, w::experimental::precision::s4, w::row_major> x;
    w::fragment<w::matrix_b, 8, 8, 32, w::experimental::precision::s4, w::col_major> y;
    w::fragment<w::accumulator, 8, 8, 32, int> z;
    w::load_matrix_sync(x, a, 32);
    w::load_matrix_sync(y, b, 32);
    w::fill_fragment(z, 0);
    w::mma_sync(z, x, y, z);
    w::store_matrix_sync((int *)c, z, 8, w::mem_row_major);
#else
    w::fragment<w::matrix_a, 8, 8, 128, w::experimental::precision::b1, w::row_major> x;
    w::fragment<w::matrix_b, 8, 8, 128, w::experimental::precision::b1, w::col_major> y;
    w::fragment<w::accumulator, 8, 8, 128, int> z;
    w::load_matrix_sync(x, a, 128);
    w::load_matrix_sync(y, b, 128);
    w::fill_fragment(z, 0);
    w::bmma_sync(z, x, y, z);
    w::store_matrix_sync((int *)c, z, 8, w::mem_row_major);
#endif
}
