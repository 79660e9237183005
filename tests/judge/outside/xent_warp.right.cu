// spec: xent
// Right: one warp does a row, the others leave at once.
extern "C" __global__ void xent(const float *x, const int *label, float *y, int rows, int columns)
{
    const int lane = threadIdx.x;
    if (lane >= 32)
        return;
    const float *from = x + (size_t)blockIdx.x * columns;
    float most = from[0], all = 0;
    for (int i = lane; i < columns; i += 32)
        most = fmaxf(most, from[i]);
    for (int step = 16; step > 0; step /= 2)
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, step));
    for (int i = lane; i < columns; i += 32)
        all += expf(from[i] - most);
    for (int step = 16; step > 0; step /= 2)
        all += __shfl_xor_sync(0xffffffffu, all, step);
    if (lane == 0)
        y[blockIdx.x] = most - from[label[blockIdx.x]] + logf(all);
}
