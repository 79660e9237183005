/* A program of the CUDA runtime, linked with the static cudart, on the simulated device's libcuda.so.1. It prints how
 * far it gets, and compares this with engine/sim/programs/library/README.md. */
#include <cuda_runtime_api.h>
#include <stdio.h>

static int failures;

static void want(const char *call, cudaError_t got, cudaError_t expected)
{
    printf("%s: %d %s\n", call, (int)got, cudaGetErrorString(got));
    failures += got != expected;
}

int main(void)
{
    int version = 0, count = -1;
    void *memory = NULL;
    want("cudaDriverGetVersion", cudaDriverGetVersion(&version), cudaSuccess);
    failures += version < 13000;
    /* The runtime stops before it asks for a device, with the error for a driver that lacks a function. */
    want("cudaGetDeviceCount", cudaGetDeviceCount(&count), cudaErrorSymbolNotFound);
    want("cudaMalloc", cudaMalloc(&memory, 100), cudaErrorSymbolNotFound);
    want("cudaDeviceReset", cudaDeviceReset(), cudaErrorSymbolNotFound);
    return failures ? 1 : 0;
}
