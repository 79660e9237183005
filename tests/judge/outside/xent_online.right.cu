// spec: xent
// Right: maximum and sum in one pass, joined by shuffles.
extern "C" __global__ void xent(const float *x, const int *label, float *y, int rows, int columns)
{
    __shared__ float tops[4], sums[4];
    const int t = threadIdx.x;
    const float *from = x + (size_t)blockIdx.x * columns;
    float most = -1e30f, all = 0;
    for (int i = t; i < columns; i += 128) {
        const float v = from[i], next = fmaxf(most, v);
        all = all * expf(most - next) + expf(v - next);
        most = next;
    }
    for (int step = 16; step > 0; step /= 2) {
        const float m = __shfl_xor_sync(0xffffffffu, most, step), s = __shfl_xor_sync(0xffffffffu, all, step);
        const float next = fmaxf(most, m);
        all = all * expf(most - next) + s * expf(m - next);
        most = next;
    }
    if (t % 32 == 0) {
        tops[t / 32] = most;
        sums[t / 32] = all;
    }
    __syncthreads();
    if (t == 0) {
        most = fmaxf(fmaxf(tops[0], tops[1]), fmaxf(tops[2], tops[3]));
        all = 0;
        for (int k = 0; k < 4; k++)
            all += sums[k] * expf(tops[k] - most);
        y[blockIdx.x] = logf(all) + (most - from[label[blockIdx.x]]);
    }
}
