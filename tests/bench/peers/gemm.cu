// gemm.cu - cuBLAS with 16-bit floats in, sums in single precision (cublasGemmEx, CUBLAS_COMPUTE_32F).
// link: -lcublas
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "peer.h"

template <class T> struct Element { // of [-1, 1), rounded
    peer::Uniform of;
    __device__ T operator()(size_t i) const { return static_cast<T>(of(i)); }
};

template <class T> T *random_elements(size_t count, uint32_t seed)
{
    T *memory = peer::allocate<T>(count);
    peer::fill(memory, count, Element<T>{{seed}});
    return memory;
}

template <class T, class Out>
void measure(cublasHandle_t handle, const char *work, cudaDataType type, cudaDataType out, size_t m, size_t n, size_t k,
             bool columns)
{
    const size_t bytes = sizeof(T) * (m * k + k * n) + sizeof(Out) * m * n;
    T *a = random_elements<T>(m * k, 1), *b = random_elements<T>(k * n, 2);
    Out *c = peer::allocate<Out>(m * n);
    const float one = 1, zero = 0;
    const int rows = static_cast<int>(m), wide = static_cast<int>(n), deep = static_cast<int>(k);
    const double seconds = peer::median_seconds(bytes, [&] {
        // Row-major C = A B is column-major C' = B' A'.
        CHECK(cublasGemmEx(handle, columns ? CUBLAS_OP_T : CUBLAS_OP_N, CUBLAS_OP_N, wide, rows, deep, &one, b, type,
                           columns ? deep : wide, a, type, deep, &zero, c, out, wide, CUBLAS_COMPUTE_32F,
                           CUBLAS_GEMM_DEFAULT));
    });
    peer::report("gemm", work, "cuBLAS GemmEx", seconds, static_cast<double>(bytes));
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(c));
}

int main()
{
    cublasHandle_t handle;
    CHECK(cublasCreate(&handle));
    void *workspace = peer::allocate<char>(32u << 20); // what NVIDIA recommends for sm_90
    CHECK(cublasSetWorkspace(handle, workspace, 32u << 20));
    struct { const char *work; size_t m, n, k; bool columns; } shapes[] = {
        {"default", 4096, 4096, 4096, false}, {"n1024", 1024, 1024, 1024, false}, {"n2048", 2048, 2048, 2048, false},
        {"n8192", 8192, 8192, 8192, false},   {"columns", 4096, 4096, 4096, true}, {"skinny", 64, 4096, 14336, true}};
    for (auto shape : shapes)
        measure<__nv_bfloat16, __nv_bfloat16>(handle, shape.work, CUDA_R_16BF, CUDA_R_16BF, shape.m, shape.n, shape.k,
                                              shape.columns);
    measure<__half, float>(handle, "floats", CUDA_R_16F, CUDA_R_32F, 4096, 4096, 4096, false);
    return 0;
}
