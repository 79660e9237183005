// spec: scan
// wrong exclusive: y[i] = ahead + value => y[i] = ahead
// wrong carry: before = all; => before = 0;
// wrong lane-guard: lane >= step ? other : 0 => other
// wrong steps: step < 32 => step < 16
// wrong second-barrier:         __syncthreads(); // before sums are written again\n => 
// wrong first-barrier:         __syncthreads();\n        int =>         int
// wrong warp-order: k < warp => k <= warp
// wrong seven: k < 8; k++ => k < 7; k++
// wrong sixteen-bits: int value = i < n ? x[i] : 0 => int value = i < n ? (short)(x[i] * 64) / 64 : 0
// Warps scan by shuffles; the sums of warps are scanned by the first warp.
extern "C" __global__ void scan(const int *x, int *y, int n)
{
    __shared__ int sums[8];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int before = 0;
    for (int first = 0; first < n; first += 256) {
        const int i = first + threadIdx.x;
        int value = i < n ? x[i] : 0;
        for (int step = 1; step < 32; step *= 2) {
            const int other = __shfl_up_sync(0xffffffffu, value, step);
            value += lane >= step ? other : 0;
        }
        if (lane == 31)
            sums[warp] = value;
        __syncthreads();
        int ahead = before, all = before;
        for (int k = 0; k < 8; k++) {
            ahead += k < warp ? sums[k] : 0;
            all += sums[k];
        }
        if (i < n)
            y[i] = ahead + value;
        before = all;
        __syncthreads(); // before sums are written again
    }
}
