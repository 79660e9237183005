# Launches by functions of the runtime and of the project, kernels in headers, and values that are other problems.
cat >calls.cu <<'X'
__global__ void a(const float *x, float *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i]; }
template <int K> __global__ void b(const float *x, float *y, int n) { int i = (blockIdx.x * blockDim.x + threadIdx.x) * K; for (int k = 0; k < K; k++) if (i + k < n) y[i + k] = x[i + k]; }
__global__ void c(const float *x, float *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i]; }
__global__ void d(const float *x, float *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i]; }
void run_a(float *x, float *y, int n) { void *args[] = {(void *)&x, &y, &n}; cudaLaunchKernel((const void *)a, dim3((n + 127) / 128), dim3(128), args, 0, 0); }
void run_b(float *x, float *y, int n) { cudaLaunchConfig_t config = {dim3((n + 128 * 4 - 1) / (128 * 4)), 128, 0, nullptr}; cudaLaunchKernelEx(&config, b<4>, x, y, n); }
void run_c(float *x, float *y, int n) { cudaLaunchConfig_t config{}; config.gridDim = (n + 63) / 64; config.blockDim = 64; void *args[3] = {&x, &y, &n}; cudaLaunchKernelExC(&config, (void *)c, args); }
struct params { params(dim3 g, dim3 b, int s); };
template <class K, class... A> void my_launch(K k, params p, A... a);
void run_d(float *x, float *y, int n) { const dim3 blocks((n + 31) / 32), threads(32); const params how = params(blocks, threads, 0); my_launch(d, how, x, y, n); }
X
for k in a b c d; do kiln init calls.cu -k $k | sed -n '/^# The launch/,$p'; done
# The launch is a call in a neighbouring file.
mkdir near && echo '__global__ void far_away(float *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = i; }' >near/kernel.cuh
echo 'void run(float *y, int n) { void *args[] = {&y, &n}; cudaLaunchKernel((void *)far_away, dim3((n + 95) / 96), dim3(96), args, 0, 0); }' >near/run.cu
kiln init near/kernel.cuh -o near/k.yaml && sed -n '/^# The launch/,$p' near/k.yaml
# The kernel is in a header, and a macro of another header decides whether the launch counts.
printf '#define GPU\n#define WIDE 16\n' >config.h
printf '\n\n__global__ void tile(const float *x, float *y, int n) { int i = blockIdx.x * WIDE + threadIdx.x; y[i] = x[i]; }\n' >tile.h
printf '#include "config.h"\n#include "tile.h"\n#ifdef GPU\nvoid run(float *x, float *y, int n) { dim3 grid(n / WIDE), block(WIDE); tile<<<grid, block>>>(x, y, n); }\n#endif\n' >tile.cu
kiln init tile.cu | sed -n '/^# Other/p;/^# The launch/,$p'
kiln init tile.cu -k nothing; echo $?
# The cases of a switch, without its default. A value with another answer is another problem.
cat >cases.cu <<'X'
template <int THREADS, int MODE> __global__ void pick(const float *x, float *y, int n) { for (int i = threadIdx.x; i < n; i += THREADS) y[i] = MODE ? x[i] : 2 * x[i]; }
void run(const float *x, float *y, int n)
{
    int threads = how_many(n);
    switch (threads) {
    case 128: pick<128, 1><<<1, threads>>>(x, y, n); break;
    case 64: pick<64, 1><<<1, threads>>>(x, y, n); break;
    case 1: pick<1, 1><<<1, threads>>>(x, y, n); break;
    default: pick<64, 1><<<1, threads>>>(x, y, n);
    }
}
X
kiln init cases.cu | sed -n '/^params/,/^$/p;/^# The launch/,$p'
sed -i '/^void run/,$d' cases.cu
echo 'void run(const float *x, float *y, int n, int mode) { if (mode) pick<64, 1><<<1, 64>>>(x, y, n); else pick<64, 0><<<1, 64>>>(x, y, n); }' >>cases.cu
kiln init cases.cu | sed -n '/^params/,/^$/p;/^# The launch/,$p'
# A template that is written for half only, with no launch that names its type.
cat >halves.cu <<'X'
#include <cuda_fp16.h>
__device__ inline half2 twice(half2 x) { return x + x; }
template <int N, class T> __global__ void halves(const T *x, T *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (2 * i + 1 < n) *(half2 *)&y[2 * i] = twice(make_half2(x[2 * i], T(x[2 * i + 1]))); static_assert(sizeof(T) == 2, "T is half, not float"); }
void run(half *x, half *y, int n) { halves<2><<<(n + 255) / 256, 128>>>(x, y, n); }
X
kiln init halves.cu | sed -n '/^params/,/^$/p'
