/* sources.h - kernels that the tests of the compiler share. */
#ifndef KILN_TESTS_SOURCES_H
#define KILN_TESTS_SOURCES_H

__attribute__((unused)) static const char source_small[] =
    "extern \"C\" __global__ void add(const float *a, const float *b, float *c, int n)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n)\n"
    "        c[i] = a[i] + b[i];\n"
    "}\n"
    "template <typename T, int N> __global__ void scale(T *x) { x[threadIdx.x] *= N; }\n"
    "__global__ void plain(int *x) { x[threadIdx.x] = 0; }\n";

__attribute__((unused)) static const char source_fp16[] =
    "#include <cuda_fp16.h>\n"
    "extern \"C\" __global__ void k(const __half *a, float *b) { b[threadIdx.x] = __half2float(a[threadIdx.x]); }\n";

__attribute__((unused)) static const char source_texture[] =
    "extern \"C\" __global__ void k(cudaTextureObject_t t, float *x) { x[0] = tex1Dfetch<float>(t, 3); }\n";

/* A kernel for which NVRTC takes seconds: it instantiates and unrolls each level of the template. */
__attribute__((unused)) static const char source_slow[] =
    "template <int N> struct work { static __device__ float go(float x) {\n"
    "    return work<N - 1>::go(x * 1.0001f + N) + work<N - 2>::go(x - N) * sinf(x); } };\n"
    "template <> struct work<0> { static __device__ float go(float x) { return x; } };\n"
    "template <> struct work<1> { static __device__ float go(float x) { return x + 1; } };\n"
    "extern \"C\" __global__ void slow(float *x) { x[threadIdx.x] = work<17>::go(x[threadIdx.x]); }\n";

/* A register-tiled matrix product. A sweep compiles hundreds of such kernels. */
__attribute__((unused)) static const char source_matmul[] =
    "#ifndef TILE_M\n#define TILE_M 128\n#endif\n#ifndef TILE_N\n#define TILE_N 128\n#endif\n"
    "#define TILE_K 16\n#define THREAD_M 8\n#define THREAD_N 8\n"
    "#define THREADS ((TILE_M / THREAD_M) * (TILE_N / THREAD_N))\n"
    "extern \"C\" __global__ void __launch_bounds__(THREADS)\n"
    "matmul(const float *__restrict__ A, const float *__restrict__ B, float *P, int M, int N, int K)\n"
    "{\n"
    "    __shared__ float a[TILE_K][TILE_M], b[TILE_K][TILE_N];\n"
    "    int t = threadIdx.x, tx = t % (TILE_N / THREAD_N), ty = t / (TILE_N / THREAD_N);\n"
    "    int m0 = blockIdx.y * TILE_M, n0 = blockIdx.x * TILE_N;\n"
    "    float sum[THREAD_M][THREAD_N] = {};\n"
    "    for (int k0 = 0; k0 < K; k0 += TILE_K) {\n"
    "        for (int i = t; i < TILE_M * TILE_K; i += THREADS) {\n"
    "            int m = i / TILE_K, k = i % TILE_K;\n"
    "            a[k][m] = m0 + m < M && k0 + k < K ? A[(size_t)(m0 + m) * K + k0 + k] : 0.0f;\n"
    "        }\n"
    "        for (int i = t; i < TILE_N * TILE_K; i += THREADS) {\n"
    "            int k = i / TILE_N, n = i % TILE_N;\n"
    "            b[k][n] = n0 + n < N && k0 + k < K ? B[(size_t)(k0 + k) * N + n0 + n] : 0.0f;\n"
    "        }\n"
    "        __syncthreads();\n"
    "#pragma unroll\n"
    "        for (int k = 0; k < TILE_K; k++)\n"
    "#pragma unroll\n"
    "            for (int i = 0; i < THREAD_M; i++)\n"
    "#pragma unroll\n"
    "                for (int j = 0; j < THREAD_N; j++)\n"
    "                    sum[i][j] += a[k][ty * THREAD_M + i] * b[k][tx * THREAD_N + j];\n"
    "        __syncthreads();\n"
    "    }\n"
    "    for (int i = 0; i < THREAD_M; i++)\n"
    "        for (int j = 0; j < THREAD_N; j++) {\n"
    "            int m = m0 + ty * THREAD_M + i, n = n0 + tx * THREAD_N + j;\n"
    "            if (m < M && n < N)\n"
    "                P[(size_t)m * N + n] = sum[i][j];\n"
    "        }\n"
    "}\n";

#endif
