// Computes random numbers in two ways.
#include <curand_kernel.h>
extern "C" __global__ void philox(unsigned long long seed, unsigned long long offset, unsigned *bits, float *flat,
                                  float *bell)
{
    curandStatePhilox4_32_10_t s;
    curand_init(seed, threadIdx.x, offset, &s);
    for (int i = 0; i < 8; i++)
        bits[threadIdx.x * 8 + i] = curand(&s);
    curand_init(seed, threadIdx.x, offset, &s);
    for (int i = 0; i < 4; i++)
        flat[threadIdx.x * 4 + i] = curand_uniform(&s);
    curand_init(seed, threadIdx.x, offset, &s);
    float4 n = curand_normal4(&s);
    bell[threadIdx.x * 4] = n.x;
    bell[threadIdx.x * 4 + 1] = n.y;
    bell[threadIdx.x * 4 + 2] = n.z;
    bell[threadIdx.x * 4 + 3] = n.w;
}
/* Reaches the same state of the generator by skipping and by drawing. */
template <class S> __device__ void skip(unsigned *bits)
{
    S a, b;
    curand_init(1234ull, 5ull, 0ull, &a);
    curand_init(1234ull, 5ull, 0ull, &b);
    unsigned n = 100 + 13 * threadIdx.x;
    for (unsigned i = 0; i < n; i++)
        curand(&a);
    skipahead((unsigned long long)n, &b);
    bits[threadIdx.x * 2] = curand(&a);
    bits[threadIdx.x * 2 + 1] = curand(&b);
}
extern "C" __global__ void skip_xorwow(unsigned *bits) { skip<curandStateXORWOW_t>(bits); }
extern "C" __global__ void skip_mrg(unsigned *bits) { skip<curandStateMRG32k3a_t>(bits); }
/* Runs Marsaglia's generator from a given state. */
extern "C" __global__ void xorwow(const unsigned *start, unsigned *bits)
{
    curandStateXORWOW_t s;
    curand_init(0ull, 0ull, 0ull, &s);
    s.d = start[0];
    for (int i = 0; i < 5; i++)
        s.v[i] = start[i + 1];
    for (int i = 0; i < 100; i++)
        bits[i] = curand(&s);
}
extern "C" __global__ void sobol(unsigned *directions, unsigned *bits)
{
    curandStateSobol32_t s;
    curand_init(directions, threadIdx.x * 100, &s);
    for (int i = 0; i < 100; i++)
        bits[threadIdx.x * 100 + i] = curand(&s);
}
