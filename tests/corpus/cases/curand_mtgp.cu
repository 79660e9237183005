//! F = curand curand_uniform curand_normal curand_poisson
#include <curand_kernel.h>
#include <curand_mtgp32_kernel.h>
__device__ unsigned draw(curandStateMtgp32 *s) { return curand(s); }
#define curand_poisson(s) curand_poisson(s, 4.0)
extern "C" __global__ void k(curandStateMtgp32 *states, double *out)
{
    out[threadIdx.x] = F(&states[blockIdx.x]) + draw(&states[blockIdx.x]);
}
