// spec: runstarts
// Wrong: values are compared as floats; wrong for 16777216 before 16777217.
extern "C" __global__ void runstarts(const int *x, unsigned char *flag, unsigned *count, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const bool start = i == 0 || (float)x[i] != (float)x[i - 1];
    flag[i] = start;
    if (start)
        atomicAdd(count, 1u);
}
