// matmul.cu - cuBLAS SGEMM in full single precision (CUBLAS_PEDANTIC_MATH: no TF32).
// link: -lcublas
#include <cublas_v2.h>

#include "peer.h"

int main()
{
    struct { const char *work; int m, n, k; } shapes[] = {
        {"default", 4096, 4096, 4096}, {"n512", 512, 512, 512},    {"n1024", 1024, 1024, 1024},
        {"n2048", 2048, 2048, 2048},   {"n8192", 8192, 8192, 8192}, {"skinny", 4096, 64, 4096}};
    cublasHandle_t handle;
    CHECK(cublasCreate(&handle));
    CHECK(cublasSetMathMode(handle, CUBLAS_PEDANTIC_MATH));
    for (auto shape : shapes) {
        const size_t m = shape.m, n = shape.n, k = shape.k, bytes = 4 * (m * k + k * n + m * n);
        float *a = peer::random_floats(m * k, 1), *b = peer::random_floats(k * n, 2), *p = peer::allocate<float>(m * n);
        const float one = 1, zero = 0;
        const double seconds = peer::median_seconds(bytes, [&] {
            // Row-major P = A B is column-major P' = B' A'.
            CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, shape.n, shape.m, shape.k, &one, b, shape.n, a, shape.k,
                              &zero, p, shape.n));
        });
        peer::report("matmul", shape.work, "cuBLAS SGEMM", seconds, bytes);
        CHECK(cudaFree(a));
        CHECK(cudaFree(b));
        CHECK(cudaFree(p));
    }
    return 0;
}
