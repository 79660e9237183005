// spec: runstarts
// Right: the value before comes from the lane before; lane 0 loads it.
extern "C" __global__ void runstarts(const int *x, unsigned char *flag, unsigned *count, int n)
{
    const int i = blockIdx.x * 256 + threadIdx.x, lane = threadIdx.x % 32;
    const int v = i < n ? x[i] : 0;
    int before = __shfl_up_sync(0xffffffffu, v, 1);
    if (lane == 0 && i > 0 && i < n)
        before = x[i - 1];
    const bool start = i < n && (i == 0 || v != before);
    if (i < n)
        flag[i] = start ? 1 : 0;
    const unsigned votes = __ballot_sync(0xffffffffu, start);
    if (lane == 0)
        atomicAdd(count, (unsigned)__popc(votes));
}
