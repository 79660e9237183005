// The two kernels of variants.yaml. Each variant has its own params, so #ifdef gives the compiler only the kernel of
// the variant.
#ifdef BLOCK
extern "C" __global__ void sum_by_threads(const float *a, float *sums, int rows, int columns)
{
    int row = blockIdx.x * BLOCK + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0;
    for (int i = 0; i < columns; i++)
        sum += a[(size_t)row * columns + i];
    sums[row] = sum;
}
#endif

#ifdef WARPS
extern "C" __global__ void sum_by_warps(const float *a, float *sums, int rows, int columns)
{
    int row = blockIdx.x * WARPS + threadIdx.y; // this value is equal for all lanes of a warp
    if (row >= rows)
        return;
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += 32)
        sum += a[(size_t)row * columns + i];
    for (int step = 16; step > 0; step /= 2) // lane 0 ends up with the sum of all lanes
        sum += __shfl_down_sync(0xffffffff, sum, step);
    if (threadIdx.x == 0)
        sums[row] = sum;
}
#endif
