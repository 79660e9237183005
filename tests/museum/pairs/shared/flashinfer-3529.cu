//! project: flashinfer
//! number: 3529
//! title: the next round clears a histogram that slow threads still read
//! kind: race in shared memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {N: 256}}
//!   buffers:
//!     x: {type: u32, shape: [N], fill: {iota: [0, 77]}}
//!     y: {type: i32, shape: [N], out: true}
//!   launch: {kernel: refine, grid: [1], block: [N], args: [x, y]}

extern "C" __global__ void refine(const unsigned *x, int *y)
{
    __shared__ int histogram[257], threshold;
    int t = threadIdx.x, remain = 100;
    for (int round = 0; round < 2; round++) {
        histogram[t] = 0; // BUG
        if (t == 0)
            histogram[256] = 0;
        __syncthreads();
        atomicAdd(&histogram[x[t] >> (8 * (1 - round)) & 255], 1);
        __syncthreads();
        if (t == 0) {
            int above = 0, bin = 255;
            while (bin > 0 && above + histogram[bin] < remain)
                above += histogram[bin--];
            threshold = bin;
        }
        __syncthreads();
        remain -= histogram[threshold + 1];
#if FIXED
        __syncthreads();
#endif
        if (remain == 0)
            break;
    }
    y[t] = remain;
}
