// spec: runstarts
// Wrong: the count is not atomic; a race.
extern "C" __global__ void runstarts(const int *x, unsigned char *flag, unsigned *count, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const bool start = i == 0 || x[i] != x[i - 1];
    flag[i] = start;
    if (start)
        *count += 1;
}
