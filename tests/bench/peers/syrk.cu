// syrk.cu - cuBLAS SSYRK in full single precision (CUBLAS_PEDANTIC_MATH: no TF32). It writes one triangle.
// link: -lcublas
#include <cublas_v2.h>

#include "peer.h"

int main()
{
    struct { const char *work; int n, k; } shapes[] = {
        {"default", 4096, 4096}, {"n1024", 1024, 1024}, {"n2048", 2048, 2048}, {"n8192", 8192, 8192}};
    cublasHandle_t handle;
    CHECK(cublasCreate(&handle));
    CHECK(cublasSetMathMode(handle, CUBLAS_PEDANTIC_MATH));
    for (auto shape : shapes) {
        const size_t n = shape.n, k = shape.k, bytes = 4 * (n * k + n * n);
        float *a = peer::random_floats(n * k), *c = peer::allocate<float>(n * n);
        const float one = 1, zero = 0;
        const double seconds = peer::median_seconds(bytes, [&] {
            // Row-major A is column-major A', so C = (A')' A'. The upper triangle of one order is the lower triangle
            // of the other.
            CHECK(cublasSsyrk(handle, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_T, shape.n, shape.k, &one, a, shape.k, &zero, c,
                              shape.n));
        });
        peer::report("syrk", shape.work, "cuBLAS SSYRK", seconds, bytes);
        CHECK(cudaFree(a));
        CHECK(cudaFree(c));
    }
    return 0;
}
