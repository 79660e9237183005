// spec: sum
// wrong no-barrier:     __syncthreads();\n => 
// wrong first-step: step = 16; => step = 8;
// wrong seven-warps: threadIdx.x < 8 ? => threadIdx.x < 7 ?
// wrong mask: __shfl_down_sync(0xffffffffu, all, step);\n    if => __shfl_down_sync(0x0000ffffu, all, step);\n    if
// wrong skips-first: int i = threadIdx.x; => int i = threadIdx.x + 1;
// wrong last: i < n; => i < n - 1;
// wrong every-thread: if (threadIdx.x == 0)\n            y[0] = all; => y[0] = all;
// wrong integer: all += x[i] => all += (int)(x[i] * 65536) / 65536.0f
// wrong absolute: all += x[i] => all += fabsf(x[i])
// Warps add by shuffles, and the first warp adds the warps.
extern "C" __global__ void sum(const float *x, float *y, int n)
{
    __shared__ float part[8];
    float all = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        all += x[i];
    for (int step = 16; step > 0; step /= 2)
        all += __shfl_down_sync(0xffffffffu, all, step);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = all;
    __syncthreads();
    if (threadIdx.x < 32) {
        all = threadIdx.x < 8 ? part[threadIdx.x] : 0.0f;
        for (int step = 4; step > 0; step /= 2)
            all += __shfl_down_sync(0xffffffffu, all, step);
        if (threadIdx.x == 0)
            y[0] = all;
    }
}
