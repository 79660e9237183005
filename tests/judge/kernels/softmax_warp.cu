// spec: softmax
// wrong no-maximum: expf(from[i] - most) * scale => expf(from[i]) * scale
// wrong lanes: step = 16; step > 0; step /= 2)\n        all => step = 8; step > 0; step /= 2)\n        all
// wrong maximum-of-half: step = 16; step > 0; step /= 2)\n        most => step = 2; step > 1; step /= 2)\n        most
// wrong start: most = -INFINITY => most = 0
// wrong row: (size_t)blockIdx.x * columns;\n    float => (size_t)blockIdx.x * rows;\n    float
// wrong approximate: all += expf(from[i] - most) => all += 1 + (from[i] - most)
// wrong missing-last: i < columns; i += 32)\n        to => i < columns - 1; i += 32)\n        to
// wrong base-two: expf(from[i] - most) * scale => exp2f(from[i] - most) * scale
// One thread of each row's block would do; all lanes of the first warp work.
extern "C" __global__ void softmax(const float *x, float *y, int rows, int columns)
{
    const float *from = x + (size_t)blockIdx.x * columns;
    float *to = y + (size_t)blockIdx.x * columns;
    if (threadIdx.x >= 32)
        return;
    float most = -INFINITY, all = 0;
    for (int i = threadIdx.x; i < columns; i += 32)
        most = fmaxf(most, from[i]);
    for (int step = 16; step > 0; step /= 2)
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, step));
    for (int i = threadIdx.x; i < columns; i += 32)
        all += expf(from[i] - most);
    for (int step = 16; step > 0; step /= 2)
        all += __shfl_xor_sync(0xffffffffu, all, step);
    const float scale = 1 / all;
    for (int i = threadIdx.x; i < columns; i += 32)
        to[i] = expf(from[i] - most) * scale;
}
