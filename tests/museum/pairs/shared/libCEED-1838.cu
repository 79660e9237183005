//! project: libCEED
//! number: 1838
//! title: a slice is written again before the other threads have contracted it
//! kind: race in shared memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {COMPONENTS: 3}}
//!   buffers:
//!     u: {type: f64, shape: [COMPONENTS * 64], fill: 1}
//!     b: {type: f64, shape: [64], fill: 0.125}
//!     v: {type: f64, shape: [COMPONENTS * 64], out: true}
//!   launch: {kernel: contract, grid: [1], block: [8, 8], args: [u, b, v, COMPONENTS]}

extern "C" __global__ void contract(const double *u, const double *b, double *v, int components)
{
    __shared__ double slice[64];
    int x = threadIdx.x, y = threadIdx.y;
    for (int c = 0; c < components; c++) {
        double sum = 0;
#if FIXED
        __syncthreads();
#endif
        slice[x + 8 * y] = u[c * 64 + x + 8 * y]; // BUG
        __syncthreads();
        for (int i = 0; i < 8; i++)
            sum += b[i + 8 * x] * slice[y + 8 * i];
        v[c * 64 + x + 8 * y] = sum;
    }
}
