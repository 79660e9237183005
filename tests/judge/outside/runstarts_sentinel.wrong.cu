// spec: runstarts
// Wrong: the value before the first one is taken for -1; wrong if x[0] = -1.
extern "C" __global__ void runstarts(const int *x, unsigned char *flag, unsigned *count, int n)
{
    __shared__ int own[257];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    if (i < n)
        own[t + 1] = x[i];
    if (t == 0)
        own[0] = i > 0 ? x[i - 1] : -1;
    __syncthreads(); // values
    const int start = i < n && own[t] != own[t + 1];
    if (i < n)
        flag[i] = (unsigned char)start;
    const int found = __syncthreads_count(start);
    if (t == 0)
        atomicAdd(count, (unsigned)found);
}
