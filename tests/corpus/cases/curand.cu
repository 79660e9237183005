//! STATE = curandStateXORWOW_t curandStatePhilox4_32_10_t curandStateMRG32k3a_t
//! F = curand curand_uniform curand_uniform_double curand_normal curand_normal_double
#include <curand_kernel.h>
extern "C" __global__ void k(unsigned long long seed, double *out, STATE *states)
{
    STATE state;
    curand_init(seed, threadIdx.x, 3, &state);
    double sum = 0;
    for (int i = 0; i < 10; i++)
        sum += F(&state);
    skipahead(1000ull, &state);
    out[threadIdx.x] = sum + F(&state);
    states[threadIdx.x] = state;
}
