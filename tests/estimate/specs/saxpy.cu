#ifndef STRIDE
#define STRIDE 1
#endif
#ifndef OFFSET
#define OFFSET 0
#endif
#ifndef PAGE
#define PAGE 32
#endif

extern "C" __global__ void saxpy_strided(float a, const float *__restrict__ x, float *__restrict__ y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i * STRIDE] += a * x[i * STRIDE];
}

extern "C" __global__ void saxpy_offset(float a, const float *__restrict__ x, float *__restrict__ y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i + OFFSET] += a * x[i + OFFSET];
}

extern "C" __global__ void saxpy_permuted(float a, const float *__restrict__ x, float *__restrict__ y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned at = i / PAGE * PAGE + i % PAGE * 17 % PAGE;
    if (i < n)
        y[at] += a * x[at];
}
