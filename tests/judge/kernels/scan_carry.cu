// spec: scan
// The sum of earlier sections is read from the output, which the same block has written.
// wrong stale: first ? y[first - 1] : 0 => first ? __ldg(&y[first - 1]) : 0
// wrong behind: first ? y[first - 1] : 0 => first ? y[first] : 0
// wrong overrun: __shared__ int sums[8], totals[8]; => __shared__ int sums[7], totals[9];
// wrong registers: int own[4]; => int own[3];
extern "C" __global__ void scan(const int *x, int *y, int n)
{
    __shared__ int sums[8], totals[8];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int first = 0; first < n; first += 1024) {
        const int before = first ? y[first - 1] : 0, begin = first + 4 * threadIdx.x;
        int own[4];
        int all = 0;
        for (int k = 0; k < 4; k++)
            own[k] = all += begin + k < n ? x[begin + k] : 0;
        int scanned = all;
        for (int step = 1; step < 32; step *= 2) {
            const int other = __shfl_up_sync(0xffffffff, scanned, step);
            scanned += lane >= step ? other : 0;
        }
        if (lane == 31)
            sums[warp] = scanned;
        __syncthreads();
        if (threadIdx.x < 8) {
            int total = 0;
            for (int k = 0; k < threadIdx.x; k++)
                total += sums[k];
            totals[threadIdx.x] = total;
        }
        __syncthreads();
        for (int k = 0; k < 4; k++)
            if (begin + k < n)
                y[begin + k] = before + totals[warp] + scanned - all + own[k];
        __syncthreads();
    }
}
