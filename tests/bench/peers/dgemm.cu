// dgemm.cu - cuBLAS Dgemm.
// link: -lcublas
#include <cublas_v2.h>

#include "peer.h"

struct Double { // of [-1, 1)
    peer::Uniform of;
    __device__ double operator()(size_t i) const { return of(i); }
};

double *random_doubles(size_t count, uint32_t seed)
{
    double *memory = peer::allocate<double>(count);
    peer::fill(memory, count, Double{{seed}});
    return memory;
}

void measure(cublasHandle_t handle, const char *work, size_t m, size_t n, size_t k)
{
    const size_t bytes = sizeof(double) * (m * k + k * n + m * n);
    double *a = random_doubles(m * k, 1), *b = random_doubles(k * n, 2), *c = peer::allocate<double>(m * n);
    const double one = 1, zero = 0;
    const int rows = static_cast<int>(m), wide = static_cast<int>(n), deep = static_cast<int>(k);
    const double seconds = peer::median_seconds(bytes, [&] { // row-major C = A B is column-major C' = B' A'
        CHECK(cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, wide, rows, deep, &one, b, wide, a, deep, &zero, c, wide));
    });
    peer::report("dgemm", work, "cuBLAS Dgemm", seconds, static_cast<double>(bytes));
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(c));
}

int main()
{
    cublasHandle_t handle;
    CHECK(cublasCreate(&handle));
    measure(handle, "default", 4096, 4096, 4096);
    measure(handle, "n1024", 1024, 1024, 1024);
    measure(handle, "n2048", 2048, 2048, 2048);
    measure(handle, "n8192", 8192, 8192, 8192);
    measure(handle, "skinny", 8192, 64, 8192);
    return 0;
}
