// spec: runstarts
// Wrong: only the flags of starts are written, in the belief that the rest is zero.
extern "C" __global__ void runstarts(const int *x, unsigned char *flag, unsigned *count, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const bool start = i == 0 || x[i] != x[i - 1];
    if (start)
        flag[i] = 1;
    if (start)
        atomicAdd(count, 1u);
}
