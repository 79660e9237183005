// spec: layernorm
// wrong unbiased: square / columns => square / (columns > 1 ? columns - 1 : 1)
// wrong no-epsilon: square / columns + epsilon => square / columns
// wrong epsilon-outside: rsqrtf(square / columns + epsilon) => 1 / (sqrtf(square / columns) + epsilon)
// wrong mean-missing: (from[i] - mean) * scale => from[i] * scale
// wrong root-missing: rsqrtf(square / columns + epsilon) => 1 / (square / columns + epsilon)
// wrong rows: mean /= columns => mean /= rows
// wrong lanes: step = 16; step > 0; step /= 2)\n        square => step = 16; step > 1; step /= 2)\n        square
// One warp; mean first, then squares of the differences.
extern "C" __global__ void layernorm(const float *x, float *y, int rows, int columns, float epsilon)
{
    const float *from = x + (size_t)blockIdx.x * columns;
    if (threadIdx.x >= 32)
        return;
    float mean = 0, square = 0;
    for (int i = threadIdx.x; i < columns; i += 32)
        mean += from[i];
    for (int step = 16; step > 0; step /= 2)
        mean += __shfl_xor_sync(0xffffffffu, mean, step);
    mean /= columns;
    for (int i = threadIdx.x; i < columns; i += 32)
        square += (from[i] - mean) * (from[i] - mean);
    for (int step = 16; step > 0; step /= 2)
        square += __shfl_xor_sync(0xffffffffu, square, step);
    const float scale = rsqrtf(square / columns + epsilon);
    for (int i = threadIdx.x; i < columns; i += 32)
        y[(size_t)blockIdx.x * columns + i] = (from[i] - mean) * scale;
}
