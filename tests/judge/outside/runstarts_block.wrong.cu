// spec: runstarts
// Wrong: each block begins a run; wrong if a run crosses a multiple of 256.
extern "C" __global__ void runstarts(const int *x, unsigned char *flag, unsigned *count, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const bool start = threadIdx.x == 0 || x[i] != x[i - 1];
    flag[i] = start;
    if (start)
        atomicAdd(count, 1u);
}
