// spec: winsum
// Wrong: the last window of a block that is not full is not written; wrong unless R is a multiple of 4.
extern "C" __global__ void winsum(const int *x, const int *first, const int *count, int *y, int n, int windows)
{
    const int w = blockIdx.x * 4 + threadIdx.x;
    if (threadIdx.x >= 4 || w >= windows / 4 * 4)
        return;
    int all = 0;
    for (int i = first[w], left = count[w]; left > 0 && i < n; i++, left--)
        all += x[i];
    y[w] = all;
}
