// spec: runstarts
// Right: a vote a warp, and one addition a warp.
extern "C" __global__ void runstarts(const int *x, unsigned char *flag, unsigned *count, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool start = i < n && (i == 0 || x[i] != x[i - 1]);
    const unsigned votes = __ballot_sync(0xffffffffu, start);
    if (i < n)
        flag[i] = start;
    if (threadIdx.x % 32 == 0 && votes)
        atomicAdd(count, (unsigned)__popc(votes));
}
