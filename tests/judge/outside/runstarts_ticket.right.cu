// spec: runstarts
// Right: blocks take their part of the input by a ticket, in the order in which they begin; the last one sets the ticket back.
__device__ unsigned ticket, done;

extern "C" __global__ void runstarts(const int *x, unsigned char *flag, unsigned *count, int n)
{
    __shared__ unsigned mine;
    if (threadIdx.x == 0)
        mine = atomicAdd(&ticket, 1u);
    __syncthreads();
    const int i = mine * 256 + threadIdx.x;
    const bool start = i < n && (i == 0 || x[i] != x[i - 1]);
    if (i < n)
        flag[i] = start;
    const int found = __syncthreads_count(start);
    if (threadIdx.x == 0) {
        atomicAdd(count, (unsigned)found);
        if (atomicAdd(&done, 1u) == gridDim.x - 1) {
            atomicExch(&done, 0u);
            atomicExch(&ticket, 0u);
        }
    }
}
