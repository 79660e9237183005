// spec: winsum
extern "C" __global__ void winsum(const int *x, const int *first, const int *count, int *y, int n, int windows)
{
    const int w = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (w >= windows)
        return;
    const int from = first[w], to = min(n, from + count[w]);
    int all = 0;
    for (int i = from + lane; i < to; i += 32)
        all += x[i];
    for (int step = 16; step > 0; step /= 2)
        all += __shfl_down_sync(0xffffffffu, all, step);
    if (lane == 0)
        y[w] = all;
}
