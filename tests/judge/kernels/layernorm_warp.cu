// spec: layernorm
// One warp makes the row; the sums are combined by Welford's formula.
// wrong unbiased: / columns + eps => / (columns > 64 ? columns - 1 : columns) + eps
// wrong count: const float n = count + other_count; => const float n = 2 * count;
// wrong cached: float kept[40]; => float kept[36];
extern "C" __global__ void layernorm(const float *x, float *y, int rows, int columns, float eps)
{
    if (threadIdx.x >= 32)
        return;
    const float *from = x + (size_t)blockIdx.x * columns;
    float kept[40];
    float mean = 0, square = 0, count = 0;
    for (int i = threadIdx.x, k = 0; i < columns; i += 32, k++) {
        const float value = from[i], delta = value - mean;
        if (k < 40)
            kept[k] = value;
        count++;
        mean += delta / count;
        square += delta * (value - mean);
    }
    for (int step = 16; step > 0; step /= 2) {
        const float other_mean = __shfl_xor_sync(0xffffffff, mean, step), other_square = __shfl_xor_sync(0xffffffff, square, step);
        const float other_count = __shfl_xor_sync(0xffffffff, count, step);
        const float n = count + other_count;
        if (n == 0)
            continue;
        const float delta = other_mean - mean;
        square += other_square + delta * delta * count * other_count / n;
        mean = (count * mean + other_count * other_mean) / n;
        count = n;
    }
    const float factor = rsqrtf(square / columns + eps);
    for (int i = threadIdx.x, k = 0; i < columns; i += 32, k++)
        y[(size_t)blockIdx.x * columns + i] = ((k < 40 ? kept[k] : from[i]) - mean) * factor;
}
