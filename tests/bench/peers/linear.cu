// linear.cu - cuBLASLt with epilogues: a bias, a bias and GELU, a bias and a residual (its C, with beta = 1), with B
// by columns. The algorithms that its heuristic names first are measured, and the fastest counts. Arguments are
// shapes, which are measured in place of the works: NAME:EPILOGUE:M:N:K with EPILOGUE bias, gelu or residual.
// link: -lcublasLt
#include <cublasLt.h>
#include <cuda_bf16.h>

#include <cstring>
#include <string>

#include "peer.h"

struct Element { // of [-1, 1), rounded
    peer::Uniform of;
    __device__ __nv_bfloat16 operator()(size_t i) const { return static_cast<__nv_bfloat16>(of(i)); }
};

__nv_bfloat16 *random_elements(size_t count, uint32_t seed)
{
    __nv_bfloat16 *memory = peer::allocate<__nv_bfloat16>(count);
    peer::fill(memory, count, Element{{seed}});
    return memory;
}

void measure(cublasLtHandle_t handle, const char *work, const std::string &after, size_t m, size_t n, size_t k,
             void *workspace, size_t workspace_size)
{
    enum { TRIED = 8 };
    const bool residual = after == "residual";
    const size_t bytes = sizeof(__nv_bfloat16) * (m * k + k * n + (residual ? 2 : 1) * m * n);
    __nv_bfloat16 *a = random_elements(m * k, 1), *b = random_elements(k * n, 2), *bias = random_elements(n, 3);
    __nv_bfloat16 *added = random_elements(m * n, 4), *c = peer::allocate<__nv_bfloat16>(m * n);
    cublasLtMatmulDesc_t operation;
    CHECK(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    const cublasOperation_t turned = CUBLAS_OP_T, plain = CUBLAS_OP_N;
    const cublasLtEpilogue_t epilogue = after == "gelu" ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
    const cudaDataType_t type = CUDA_R_16BF;
    CHECK(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &turned, sizeof turned));
    CHECK(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSB, &plain, sizeof plain));
    CHECK(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    CHECK(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &type, sizeof type));
    CHECK(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
    // Row-major C = A B with B by columns is column-major C' = B' A', where B is transposed.
    cublasLtMatrixLayout_t of_b, of_a, of_c;
    CHECK(cublasLtMatrixLayoutCreate(&of_b, type, k, n, static_cast<int64_t>(k)));
    CHECK(cublasLtMatrixLayoutCreate(&of_a, type, k, m, static_cast<int64_t>(k)));
    CHECK(cublasLtMatrixLayoutCreate(&of_c, type, n, m, static_cast<int64_t>(n)));
    cublasLtMatmulPreference_t preference;
    CHECK(cublasLtMatmulPreferenceCreate(&preference));
    CHECK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_size,
                                               sizeof workspace_size));
    cublasLtMatmulHeuristicResult_t found[TRIED];
    int count = 0;
    CHECK(cublasLtMatmulAlgoGetHeuristic(handle, operation, of_b, of_a, of_c, of_c, preference, TRIED, found, &count));
    double best = 0;
    for (int i = 0; i < count; i++) {
        const float one = 1, beta = residual ? 1 : 0;
        const double seconds = peer::median_seconds(bytes, [&] {
            CHECK(cublasLtMatmul(handle, operation, &one, b, of_b, a, of_a, &beta, residual ? added : c, of_c, c, of_c,
                                 &found[i].algo, workspace, workspace_size, nullptr));
        });
        best = i == 0 || seconds < best ? seconds : best;
    }
    if (count > 0)
        peer::report("linear", work, "cuBLASLt", best, static_cast<double>(bytes));
    CHECK(cublasLtMatmulPreferenceDestroy(preference));
    CHECK(cublasLtMatrixLayoutDestroy(of_b));
    CHECK(cublasLtMatrixLayoutDestroy(of_a));
    CHECK(cublasLtMatrixLayoutDestroy(of_c));
    CHECK(cublasLtMatmulDescDestroy(operation));
    for (__nv_bfloat16 *memory : {a, b, bias, added, c})
        CHECK(cudaFree(memory));
}

int main(int count, char **arguments)
{
    constexpr size_t workspace_size = 32u << 20; // the size that NVIDIA recommends for sm_90
    cublasLtHandle_t handle;
    CHECK(cublasLtCreate(&handle));
    void *workspace = peer::allocate<char>(workspace_size);
    std::vector<std::string> shapes(arguments + 1, arguments + count);
    if (shapes.empty())
        shapes = {"default:gelu:4096:4096:4096", "bias:bias:4096:4096:4096", "residual:residual:4096:4096:4096",
                  "up:gelu:8192:16384:4096", "down:residual:8192:4096:16384", "short:gelu:8192:8192:1024"};
    for (const std::string &shape : shapes) {
        char work[64], after[16];
        size_t m, n, k;
        if (std::sscanf(shape.c_str(), "%63[^:]:%15[^:]:%zu:%zu:%zu", work, after, &m, &n, &k) < 5) {
            std::fprintf(stderr, "not a shape: %s\n", shape.c_str());
            return 1;
        }
        measure(handle, work, after, m, n, k, workspace, workspace_size);
    }
    return 0;
}
