// gemm.cu - cuBLAS with 16-bit inputs and sums in single precision (cublasGemmEx, CUBLAS_COMPUTE_32F), and cuBLASLt
// with 8-bit inputs (E4M3, B by columns, one scale of 1). Arguments are shapes, which are measured in place of the
// works: NAME:TYPE:M:N:K[:columns[:BATCH]] with TYPE bf16, f16 (to f16), f32 (f16 to f32), tf32 (f32 to f32), f8e4m3
// (to bf16); ":rows" means B by rows.
// link: -lcublas -lcublasLt
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstring>
#include <string>

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
             bool columns, size_t batch)
{
    const size_t bytes = batch * (sizeof(T) * (m * k + k * n) + sizeof(Out) * m * n);
    const cublasComputeType_t compute = type == CUDA_R_32F ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    T *a = random_elements<T>(batch * m * k, 1), *b = random_elements<T>(batch * k * n, 2);
    Out *c = peer::allocate<Out>(batch * m * n);
    const float one = 1, zero = 0;
    const int rows = static_cast<int>(m), wide = static_cast<int>(n), deep = static_cast<int>(k);
    const double seconds = peer::median_seconds(bytes, [&] {
        // Row-major C = A B is column-major C' = B' A'.
        const cublasOperation_t turned = columns ? CUBLAS_OP_T : CUBLAS_OP_N;
        if (batch == 1)
            CHECK(cublasGemmEx(handle, turned, CUBLAS_OP_N, wide, rows, deep, &one, b, type, columns ? deep : wide, a,
                               type, deep, &zero, c, out, wide, compute, CUBLAS_GEMM_DEFAULT));
        else
            CHECK(cublasGemmStridedBatchedEx(
                handle, turned, CUBLAS_OP_N, wide, rows, deep, &one, b, type, columns ? deep : wide,
                static_cast<long long>(k * n), a, type, deep, static_cast<long long>(m * k), &zero, c, out, wide,
                static_cast<long long>(m * n), static_cast<int>(batch), compute, CUBLAS_GEMM_DEFAULT));
    });
    peer::report("gemm", work, batch == 1 ? "cuBLAS GemmEx" : "cuBLAS GemmStridedBatchedEx", seconds,
                 static_cast<double>(bytes));
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(c));
}

// Chooses the algorithm that cuBLASLt's heuristic puts first.
void measure_eight(const char *work, size_t m, size_t n, size_t k, void *workspace, size_t workspace_size)
{
    const size_t bytes = m * k + k * n + sizeof(__nv_bfloat16) * m * n;
    __nv_fp8_e4m3 *a = random_elements<__nv_fp8_e4m3>(m * k, 1), *b = random_elements<__nv_fp8_e4m3>(k * n, 2);
    __nv_bfloat16 *c = peer::allocate<__nv_bfloat16>(m * n);
    cublasLtHandle_t handle;
    CHECK(cublasLtCreate(&handle));
    cublasLtMatmulDesc_t operation;
    CHECK(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    const cublasOperation_t turned = CUBLAS_OP_T, plain = CUBLAS_OP_N;
    CHECK(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &turned, sizeof turned));
    CHECK(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSB, &plain, sizeof plain));
    // Row-major C = A B with B by columns is column-major C' = B' A', where B is transposed.
    cublasLtMatrixLayout_t of_b, of_a, of_c;
    CHECK(cublasLtMatrixLayoutCreate(&of_b, CUDA_R_8F_E4M3, k, n, static_cast<int64_t>(k)));
    CHECK(cublasLtMatrixLayoutCreate(&of_a, CUDA_R_8F_E4M3, k, m, static_cast<int64_t>(k)));
    CHECK(cublasLtMatrixLayoutCreate(&of_c, CUDA_R_16BF, n, m, static_cast<int64_t>(n)));
    cublasLtMatmulPreference_t preference;
    CHECK(cublasLtMatmulPreferenceCreate(&preference));
    CHECK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_size,
                                               sizeof workspace_size));
    cublasLtMatmulHeuristicResult_t first;
    int found = 0;
    CHECK(cublasLtMatmulAlgoGetHeuristic(handle, operation, of_b, of_a, of_c, of_c, preference, 1, &first, &found));
    if (found > 0) {
        const float one = 1, zero = 0;
        const double seconds = peer::median_seconds(bytes, [&] {
            CHECK(cublasLtMatmul(handle, operation, &one, b, of_b, a, of_a, &zero, c, of_c, c, of_c, &first.algo,
                                 workspace, workspace_size, nullptr));
        });
        peer::report("gemm", work, "cuBLASLt", seconds, static_cast<double>(bytes));
    }
    CHECK(cublasLtMatmulPreferenceDestroy(preference));
    CHECK(cublasLtMatrixLayoutDestroy(of_b));
    CHECK(cublasLtMatrixLayoutDestroy(of_a));
    CHECK(cublasLtMatrixLayoutDestroy(of_c));
    CHECK(cublasLtMatmulDescDestroy(operation));
    CHECK(cublasLtDestroy(handle));
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(c));
}

int main(int count, char **arguments)
{
    constexpr size_t workspace_size = 32u << 20; // the size that NVIDIA recommends for sm_90
    cublasHandle_t handle;
    CHECK(cublasCreate(&handle));
    void *workspace = peer::allocate<char>(workspace_size);
    CHECK(cublasSetWorkspace(handle, workspace, workspace_size));
    std::vector<std::string> shapes(arguments + 1, arguments + count);
    if (shapes.empty())
        shapes = {"default:bf16:4096:4096:4096", "n1024:bf16:1024:1024:1024", "n2048:bf16:2048:2048:2048",
                  "n8192:bf16:8192:8192:8192", "columns:bf16:4096:4096:4096:columns",
                  "skinny:bf16:64:4096:14336:columns", "floats:f32:4096:4096:4096", "floats32:tf32:4096:4096:4096:columns",
                  "batch:bf16:512:512:512:rows:64", "eight:f8e4m3:4096:4096:4096:columns",
                  "eight8192:f8e4m3:8192:8192:8192:columns"};
    for (const std::string &shape : shapes) {
        char work[64], type[16], order[16] = "";
        size_t m, n, k, batch = 1;
        if (std::sscanf(shape.c_str(), "%63[^:]:%15[^:]:%zu:%zu:%zu:%15[^:]:%zu", work, type, &m, &n, &k, order,
                        &batch) < 5) {
            std::fprintf(stderr, "not a shape: %s\n", shape.c_str());
            return 1;
        }
        const bool columns = std::strcmp(order, "columns") == 0;
        if (std::strcmp(type, "bf16") == 0)
            measure<__nv_bfloat16, __nv_bfloat16>(handle, work, CUDA_R_16BF, CUDA_R_16BF, m, n, k, columns, batch);
        else if (std::strcmp(type, "f16") == 0)
            measure<__half, __half>(handle, work, CUDA_R_16F, CUDA_R_16F, m, n, k, columns, batch);
        else if (std::strcmp(type, "tf32") == 0)
            measure<float, float>(handle, work, CUDA_R_32F, CUDA_R_32F, m, n, k, columns, batch);
        else if (std::strcmp(type, "f32") == 0)
            measure<__half, float>(handle, work, CUDA_R_16F, CUDA_R_32F, m, n, k, columns, batch);
        else
            measure_eight(work, m, n, k, workspace, workspace_size);
    }
    return 0;
}
