// spec: winsum
// Right: a window a thread; four threads of a block have work.
extern "C" __global__ void winsum(const int *x, const int *first, const int *count, int *y, int n, int windows)
{
    const int w = blockIdx.x * 4 + threadIdx.x;
    if (threadIdx.x >= 4 || w >= windows)
        return;
    int all = 0;
    for (int i = first[w], left = count[w]; left > 0 && i < n; i++, left--)
        all += x[i];
    y[w] = all;
}
