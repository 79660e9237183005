//! project: flashinfer
//! number: 4092
//! title: thread 0 publishes a packet before the other threads have written it
//! kind: race in global memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {N: 128}}
//!   buffers:
//!     fifo: {type: i32, shape: [N], fill: 0}
//!     step: {type: i32, shape: [1], fill: 0}
//!     y: {type: i32, shape: [N], out: true}
//!   launch: {kernel: exchange, grid: [2], block: [N], args: [fifo, step, y]}

// The first block sends a packet, and the second one waits for the number of the step.
extern "C" __global__ void exchange(int *fifo, int *step, int *y)
{
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        fifo[t] = t + 1; // BUG
#if FIXED
        __syncthreads();
#endif
        if (t == 0)
            asm volatile("st.release.gpu.s32 [%0], 1;" ::"l"(step) : "memory");
    } else {
        if (t == 0)
            for (int seen = 0; seen == 0;)
                asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(seen) : "l"(step) : "memory");
        __syncthreads();
        y[t] = fifo[127 - t];
    }
}
