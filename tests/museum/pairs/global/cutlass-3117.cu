//! project: cutlass
//! number: 3117
//! title: a loop waits for a flag by relaxed reads, and no acquire follows
//! kind: race in global memory
//! finds: nothing
//! why: the checks take every strong read of a flag as an acquire, because CUDA code that polls by volatile reads relies on it
//! spec: |
//!   sizes: {tiny: {N: 32}}
//!   buffers:
//!     x: {type: i32, shape: [N], fill: 0}
//!     flag: {type: i32, shape: [1], fill: 0}
//!     y: {type: i32, shape: [N], out: true}
//!   launch: {kernel: hand_over, grid: [2], block: [N], args: [x, flag, y]}

extern "C" __global__ void hand_over(int *x, int *flag, int *y)
{
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        x[t] = t;
        __syncwarp();
        if (t == 0)
            asm volatile("st.release.gpu.s32 [%0], 1;" ::"l"(flag) : "memory");
        return;
    }
    for (int seen = 0; !seen;)
#if FIXED
        asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
#else
        asm volatile("ld.relaxed.gpu.s32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
#endif
    __syncwarp();
    y[t] = x[31 - t];
}
