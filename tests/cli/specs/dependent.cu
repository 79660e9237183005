/* For the golden runs of the checks: a dependent launch that reads before its wait. */
enum { WAITS, LATE, NEVER };

/* Doubles x. Allows the next launch to begin at once. */
extern "C" __global__ void primary(const float *x, float *y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    y[i] = 2 * x[i];
}

template <int kind> __device__ void finish(const float *x, const float *y, float *z)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = x[i]; /* the primary only reads x */
    if (kind == LATE)
        sum += y[i];
    if (kind != NEVER)
        asm volatile("griddepcontrol.wait;" ::: "memory");
    if (kind != LATE)
        sum += y[i];
    z[i] = sum;
}
extern "C" __global__ void waits(const float *x, const float *y, float *z) { finish<WAITS>(x, y, z); }
extern "C" __global__ void late(const float *x, const float *y, float *z) { finish<LATE>(x, y, z); }
extern "C" __global__ void never(const float *x, const float *y, float *z) { finish<NEVER>(x, y, z); }
