//! STATE = curandStateXORWOW_t curandStatePhilox4_32_10_t curandStateMRG32k3a_t
//! KIND = 0 1 2 3
#include <curand_kernel.h>
extern "C" __global__ void k(STATE *states, double lambda, double *out, curandDiscreteDistribution_t table)
{
    STATE state = states[threadIdx.x];
#if KIND == 0
    out[threadIdx.x] = curand_poisson(&state, lambda);
#elif KIND == 1
    out[threadIdx.x] = curand_log_normal(&state, 1.0f, 2.0f) + curand_log_normal_double(&state, 1.0, 2.0);
#elif KIND == 2
    float2 a = curand_normal2(&state);
    double2 b = curand_normal2_double(&state);
    out[threadIdx.x] = a.x + a.y + b.x + b.y;
#else
    out[threadIdx.x] = curand_discrete(&state, table);
    skipahead_sequence(5ull, &state);
#endif
    states[threadIdx.x] = state;
}
