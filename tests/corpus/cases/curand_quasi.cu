//! STATE = Sobol32 ScrambledSobol32 Sobol64 ScrambledSobol64
//! F = curand curand_uniform curand_normal curand_normal_double
#include <curand_kernel.h>
#define JOIN_(a, b, c) a##b##c
#define JOIN(a, b, c) JOIN_(a, b, c)
extern "C" __global__ void k(JOIN(curandState, STATE, _t) *states, double *out)
{
    auto state = states[threadIdx.x];
    out[threadIdx.x] = F(&state);
    skipahead(77, &state);
    out[threadIdx.x + 32] = F(&state);
    states[threadIdx.x] = state;
}
