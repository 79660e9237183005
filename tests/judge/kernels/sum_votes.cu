// spec: sum
// All lanes take part in each shuffle, also those without an element.
// wrong early: const float own = i < n ? x[i] : 0; => if (i >= n)\n            break;\n        const float own = x[i];
// wrong mask: const unsigned lanes = 0xffffffff; => const unsigned lanes = 0x0000ffff;
// wrong width: step = 16; => step = 8;
extern "C" __global__ void sum(const float *x, float *y, int n)
{
    const unsigned lanes = 0xffffffff;
    __shared__ float part[8];
    float all = 0;
    for (int first = 0; first < n; first += 256) {
        const int i = first + threadIdx.x;
        const float own = i < n ? x[i] : 0;
        all += own;
        if (__any_sync(lanes, own != own))
            all += own;
    }
    for (int step = 16; step > 0; step /= 2)
        all += __shfl_down_sync(lanes, all, step);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = all;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int k = 1; k < 8; k++)
            all += part[k];
        y[0] = all;
    }
}
