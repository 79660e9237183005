// transpose.cu - cuBLAS SGEAM as a transpose; it knows no batches, so those are a call a matrix.
// link: -lcublas
#include <cublas_v2.h>

#include "peer.h"

int main()
{
    struct { const char *work; int batch, m, n; } shapes[] = {
        {"default", 1, 8192, 8192}, {"wide", 1, 4096, 16384}, {"tall", 1, 16384, 4096}, {"batched", 256, 1000, 777}};
    cublasHandle_t handle;
    CHECK(cublasCreate(&handle));
    for (auto shape : shapes) {
        const size_t m = shape.m, n = shape.n, count = shape.batch * m * n;
        float *a = peer::random_floats(count), *t = peer::allocate<float>(count);
        const float one = 1, zero = 0;
        const double seconds = peer::median_seconds(8 * count, [&] {
            // A row-major matrix of m x n is a column-major matrix of n x m, so the transposes correspond too.
            for (int i = 0; i < shape.batch; i++)
                CHECK(cublasSgeam(handle, CUBLAS_OP_T, CUBLAS_OP_N, shape.m, shape.n, &one, a + i * m * n, shape.n,
                                  &zero, nullptr, shape.m, t + i * m * n, shape.m));
        });
        peer::report("transpose", shape.work, shape.batch == 1 ? "cuBLAS geam" : "cuBLAS geam, a call a matrix", seconds,
                     8.0 * count);
        CHECK(cudaFree(a));
        CHECK(cudaFree(t));
    }
    return 0;
}
