// spec: runstarts
extern "C" __global__ void runstarts(const int *x, unsigned char *flag, unsigned *count, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const bool start = i == 0 || x[i] != x[i - 1];
    flag[i] = start;
    if (start)
        atomicAdd(count, 1u);
}
