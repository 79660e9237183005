# The launch in the same file or in another one, host libraries, types of 16 and 8 bits, variables that the host fills.
# What is written runs.
cat >norm.cu <<'X'
#include <cuda_bf16.h>
#include <torch/extension.h>
#include <cublas_v2.h>
#include <vector>
using bf16 = __nv_bfloat16;
__constant__ float gain[1];
template <typename T, int THREADS>
__global__ void __launch_bounds__(THREADS) norm(const T *x, T *y, int hidden, float eps)
{
    __shared__ float sum;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < hidden; i += THREADS)
        atomicAdd(&sum, (float)x[(int64_t)blockIdx.x * hidden + i]);
    __syncthreads();
    for (int i = threadIdx.x; i < hidden; i += THREADS)
        y[(int64_t)blockIdx.x * hidden + i] = (T)((float)x[(int64_t)blockIdx.x * hidden + i] * gain[0] / (sum * sum + eps));
}
void run(torch::Tensor x, torch::Tensor y)
{
    int rows = x.size(0), hidden = x.size(1);
    TORCH_CHECK(hidden % 8 == 0);
    norm<bf16, 128><<<rows, 128, 0, at::cuda::getCurrentCUDAStream()>>>((const bf16 *)x.data_ptr(), (bf16 *)y.data_ptr(), hidden, 1e-6f);
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &run); }
X
kiln init norm.cu -o norm.yaml && sed -n '/^sizes/,/^$/p; /^params/,/^$/p; /^buffers/,/^$/p; /^before_each/,/^$/p; /^launch/,$p' norm.yaml
grep 'trial run' norm.yaml
kiln tune norm.yaml -q | grep configurations
# A whole program. INFINITY and uint32_t need no #include, as with nvcc.
cat >program.cu <<'X'
#include <iostream>
#include <algorithm>
__global__ void add(uint32_t n, float a, const float *x, float *y)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] == INFINITY ? 0 : a * x[i] + y[i];
}
int main()
{
    const int N = 3 << 18;
    float *x, *y;
    cudaMalloc(&x, N * sizeof(float));
    cudaMalloc(&y, N * sizeof(float));
    dim3 block(256), grid((N + block.x - 1) / block.x);
    add<<<grid, block>>>(N, 2.5f, x, y);
    std::cout << cudaGetErrorString(cudaDeviceSynchronize()) << std::endl;
}
X
kiln init program.cu -o program.yaml && sed -n '/^sizes/,/^$/p; /^params/,/^$/p; /^launch/,$p' program.yaml
kiln tune program.yaml -q | grep configurations
# The launch in another file, with static_assert as constraints. A file near the source is found; without one the values are
# asked for.
cat >tile.cuh <<'X'
#pragma once
template <int BM, int TM> __global__ void tile(const float *x, float *y, int M)
{
    int i = blockIdx.x * BM + threadIdx.x * TM;
    for (int k = 0; k < TM; k++)
        if (i + k < M)
            y[i + k] = 2 * x[i + k];
}
X
cat >runner.cu <<'X'
#include "tile.cuh"
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
void run(float *x, float *y, int M)
{
    const int SIZE = 128;
    static_assert(SIZE % 4 == 0, "whole threads");
    tile<SIZE, 4><<<CEIL_DIV(M, SIZE), SIZE / 4>>>(x, y, M);
}
X
mkdir -p lone/a/b && cp tile.cuh lone/a/b && kiln init lone/a/b/tile.cuh; echo $?
mkdir -p near/kernels && cp tile.cuh near/kernels && kiln init near/kernels/tile.cuh | grep '^# The launch'
cp runner.cu near && kiln init near/kernels/tile.cuh 2>/dev/null | sed -n '/^params/,/^$/p; /^# The launch/,$p'
# No launch: a comment, and a kernel of the same name in a file that defines it itself.
echo '// run as tile<SIZE, 4><<<grid, block>>>' >near/comment.h
sed 's/^#include.*/template <int A, int B> __global__ void tile(float *x, float *y, int M) { y[0] = M; }/; s/SIZE \/ 4/7/' runner.cu >near/a.cu
kiln init near/kernels/tile.cuh 2>/dev/null | sed -n '/^# The launch/,$p'
kiln init tile.cuh --launch runner.cu -o tile.yaml && sed -n '/^params/,/^$/p; /^launch/,$p' tile.yaml
kiln tune tile.yaml -q | grep configurations
# An output that is the same everywhere is no evidence.
echo '__global__ void same(float *y, const float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i] > 5; }' >same.cu
kiln init same.cu | grep '^  y: {type'
# A name that the source declares itself is no param, whatever the compiler says of it.
echo '__global__ void broken(widget_t *out, int n) { float in2 = 1; out[n] = in2; }' >broken.cu
kiln init broken.cu 2>&1 | grep -cE 'widget_t|guesses'
echo 'namespace lib { } __global__ void broken(float *out, const float *in) { lib::vec *sh = (lib::vec *)in; out[0] = sh[0].x; }' >broken2.cu
kiln init broken2.cu 2>&1 | grep -c 'a value for sh' || true
# A kernel that is launched in two ways: the launch is asked for by its line, in the source or in the other file.
cat >twice.cu <<'X'
#ifndef BM
#define BM 64
#endif
__global__ void twice(float *x, int n)
{
    for (int i = blockIdx.x * BM + threadIdx.x; i < n && i < (blockIdx.x + 1) * BM; i += blockDim.x)
        x[i] *= 2;
}
void one(float *x, int n) { twice<<<n / BM, 32>>>(x, n); }
void two(float *x, int n)
{
#if BM == 64
    int threads = 64;
#else
    int threads = 32;
#endif
    twice<<<(n + BM - 1) / BM, threads>>>(x, n);
}
X
kiln init twice.cu; echo $?
kiln init twice.cu --launch 3; echo $?
kiln init twice.cu --launch 17 -o twice.yaml && sed -n '/^params/,/^$/p; /^launch/,$p' twice.yaml
kiln tune twice.yaml -q | grep configurations
sed '/^void/,$d' twice.cu >alone.cu
sed -n '/^void/,$p' twice.cu >host.cpp
kiln init alone.cu --launch host.cpp:1 | sed -n '/^params/,/^$/p; /^launch/,$p'
# Templates that call each other: the call in the plain function tells the launches apart.
cat >levels.cu <<'X'
template <int B> __global__ void k(float *x, int n) { int i = blockIdx.x * B + threadIdx.x; if (i < n) x[i] += 1; }
template <int B, int G> void run(float *x, int n) { k<B><<<G, B>>>(x, n); }
template <int B, int H> void outer(float *x, int n) { run<B, H>(x, n); }
void a(float *x, int n) { outer<64, 8>(x, n); }
void b(float *x, int n) { outer<64, 16>(x, n); }
X
kiln init levels.cu; echo $?
kiln init levels.cu --launch 5 | sed -n '/^launch/,$p'
# cuBLAS's headers include those of CUDA's 16-bit types, and sources rely on that.
cat >blas.cu <<'X'
#include <cublas_v2.h>
__global__ void twice(__nv_bfloat16 *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = x[i] + x[i]; }
void run(cublasHandle_t handle, __nv_bfloat16 *x, int n) { twice<<<(n + 255) / 256, 256>>>(x, n); }
X
kiln init blas.cu | sed -n '/^buffers/,/^$/p; /^launch/,$p'
# sizeof in the launch: the type is a parameter of the function around the launch, and the draft chooses it.
cat >cast.cu <<'X'
template <int LOAD, typename I, typename O>
__global__ void cast(const I *in, O *out, size_t rows, size_t width)
{
    const size_t tile = LOAD / sizeof(I) * 32, y = blockIdx.y;
    for (size_t x = blockIdx.x * tile + threadIdx.x; x < (blockIdx.x + 1) * tile && x < width && y < rows; x += 32)
        out[y * width + x] = (O)(float)in[y * width + x];
}
template <typename In, typename Out>
void run(const In *in, Out *out, size_t rows, size_t width)
{
    constexpr size_t in_size = sizeof(In);
    const size_t tile = 8 / in_size * 32;
    cast<8, In, Out><<<dim3((width + tile - 1) / tile, rows), 32>>>(in, out, rows, width);
}
X
kiln init cast.cu -o cast.yaml && sed -n '/^sizes/,/^$/p; /^launch/,$p' cast.yaml
