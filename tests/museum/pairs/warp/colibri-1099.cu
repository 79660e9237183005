//! project: colibri
//! number: 1099
//! title: a matrix fragment is stored to shared memory and read by other lanes without a barrier of the warp
//! kind: race inside a warp
//! finds: race (note)
//! spec: |
//!   sizes: {tiny: {N: 256}}
//!   buffers:
//!     x: {type: f16, shape: [N], fill: 1}
//!     y: {type: f32, shape: [N], out: true}
//!   launch: {kernel: grouped, grid: [1], block: [32], args: [x, y]}
#include <mma.h>

extern "C" __global__ void grouped(const half *x, float *y)
{
    using namespace nvcuda::wmma;
    __shared__ float tile[256];
    fragment<matrix_a, 16, 16, 16, half, row_major> a;
    fragment<matrix_b, 16, 16, 16, half, col_major> b;
    fragment<accumulator, 16, 16, 16, float> c;
    load_matrix_sync(a, x, 16);
    load_matrix_sync(b, x, 16);
    fill_fragment(c, 0);
    mma_sync(c, a, b, c);
    store_matrix_sync(tile, c, 16, mem_row_major);
#if FIXED
    __syncwarp();
#endif
    for (int i = threadIdx.x; i < 256; i += 32)
        y[i] = tile[i];
}
