// peer_sgemm.cu - cuBLAS SGEMM in full single precision (CUBLAS_PEDANTIC_MATH: no TF32), beside which matmul is held.
//
//   nvcc -O3 -o peer_sgemm tests/bench/peer_sgemm.cu -lcublas && ./peer_sgemm
//
// Random inputs, warm-up, median of many runs timed by events, the L2 flushed between runs where the matrices fit in it.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        auto status_ = (call);                                                                                         \
        if (status_ != 0) {                                                                                            \
            std::fprintf(stderr, "%s: error %d\n", #call, static_cast<int>(status_));                                  \
            std::exit(1);                                                                                              \
        }                                                                                                              \
    } while (0)

static float *random_matrix(size_t count)
{
    std::vector<float> host(count);
    for (float &x : host)
        x = static_cast<float>(std::rand()) / RAND_MAX * 2 - 1;
    float *device = nullptr;
    CHECK(cudaMalloc(&device, count * sizeof(float)));
    CHECK(cudaMemcpy(device, host.data(), count * sizeof(float), cudaMemcpyHostToDevice));
    return device;
}

int main()
{
    struct { int m, n, k; } shapes[] = {{512, 512, 512}, {1024, 1024, 1024}, {2048, 2048, 2048},
                                        {4096, 4096, 4096}, {8192, 8192, 8192}, {4096, 64, 4096}};
    cublasHandle_t handle;
    CHECK(cublasCreate(&handle));
    CHECK(cublasSetMathMode(handle, CUBLAS_PEDANTIC_MATH));
    cudaEvent_t start, end;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    void *flush = nullptr;
    const size_t flush_bytes = size_t(256) << 20, l2 = size_t(50) << 20;
    CHECK(cudaMalloc(&flush, flush_bytes));
    for (auto shape : shapes) {
        const size_t m = shape.m, n = shape.n, k = shape.k;
        float *a = random_matrix(m * k), *b = random_matrix(k * n), *p = random_matrix(m * n);
        const float one = 1, zero = 0;
        std::vector<float> times;
        for (int i = 0; i < 33; i++) {
            if (4 * (m * k + k * n + m * n) < l2)
                CHECK(cudaMemsetAsync(flush, i, flush_bytes));
            CHECK(cudaEventRecord(start));
            // Row-major P = A B is column-major P' = B' A'.
            CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, shape.n, shape.m, shape.k, &one, b, shape.n, a, shape.k,
                              &zero, p, shape.n));
            CHECK(cudaEventRecord(end));
            CHECK(cudaEventSynchronize(end));
            float ms = 0;
            CHECK(cudaEventElapsedTime(&ms, start, end));
            if (i >= 3)
                times.push_back(ms);
        }
        std::sort(times.begin(), times.end());
        const double ms = times[times.size() / 2];
        std::printf("cuBLAS SGEMM %5zu x %5zu x %5zu  %9.4f ms  %6.2f TFLOP/s\n", m, n, k, ms, 2.0 * m * n * k / ms * 1e-9);
        CHECK(cudaFree(a));
        CHECK(cudaFree(b));
        CHECK(cudaFree(p));
    }
    return 0;
}
