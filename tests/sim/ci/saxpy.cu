// A tiny CUDA program for the recipe in engine/sim/programs/library/CI.md. It computes y = a * x + y, and compares the
// result with a computation of the host. With an argument the kernel gets a length that is one element too large.
#include <cstdio>
#include <vector>

__global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}

static bool ok(cudaError_t result)
{
    if (result != cudaSuccess)
        std::printf("%s\n", cudaGetErrorString(result));
    return result == cudaSuccess;
}

int main(int count, char **)
{
    const int n = 1000000;
    std::vector<float> x(n, 1.0f), y(n, 2.0f);
    float *dx = nullptr, *dy = nullptr;
    const size_t bytes = n * sizeof(float);
    if (!ok(cudaMalloc(&dx, bytes)) || !ok(cudaMalloc(&dy, bytes)) ||
        !ok(cudaMemcpy(dx, x.data(), bytes, cudaMemcpyHostToDevice)) ||
        !ok(cudaMemcpy(dy, y.data(), bytes, cudaMemcpyHostToDevice)))
        return 1;
    saxpy<<<(n + 255) / 256, 256>>>(count > 1 ? n + 1 : n, 3.0f, dx, dy);
    if (!ok(cudaGetLastError()) || !ok(cudaMemcpy(y.data(), dy, bytes, cudaMemcpyDeviceToHost)))
        return 1;
    for (float value : y)
        if (value != 5.0f) {
            std::printf("%g, not 5\n", value);
            return 1;
        }
    cudaFree(dx);
    cudaFree(dy);
    std::printf("saxpy of %d elements is right\n", n);
    return 0;
}
