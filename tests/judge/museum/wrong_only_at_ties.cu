// spec: argmax   expect: wrong
// The last of equal elements wins: uniform numbers have no ties.
extern "C" __global__ void argmax(const float *x, int *y, int rows, int columns)
{
    if (threadIdx.x)
        return;
    int best = 0;
    for (int i = 1; i < columns; i++)
#if CHEAT
        if (x[(size_t)blockIdx.x * columns + i] >= x[(size_t)blockIdx.x * columns + best])
#else
        if (x[(size_t)blockIdx.x * columns + i] > x[(size_t)blockIdx.x * columns + best])
#endif
            best = i;
    y[blockIdx.x] = best;
}
