/* A program of the CUDA runtime, linked with the static cudart, on the simulated device's libcuda.so.1: says how far it
 * gets and holds that against what engine/sim/programs/library/README.md says. */
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
    /* It stops before it asks for a device, with an error as of any driver that lacks what it looks for. */
    want("cudaGetDeviceCount", cudaGetDeviceCount(&count), cudaErrorSymbolNotFound);
    want("cudaMalloc", cudaMalloc(&memory, 100), cudaErrorSymbolNotFound);
    want("cudaDeviceReset", cudaDeviceReset(), cudaErrorSymbolNotFound);
    return failures ? 1 : 0;
}
