// spec: layernorm   expect: wrong
// E[x^2] - E[x]^2 loses all digits where the mean is large.
extern "C" __global__ void layernorm(const float *x, float *y, int rows, int columns, float epsilon)
{
    if (threadIdx.x)
        return;
    const float *from = x + (size_t)blockIdx.x * columns;
    float all = 0, square = 0;
    for (int i = 0; i < columns; i++)
        all += from[i];
    const float mean = all / columns;
    for (int i = 0; i < columns; i++)
#if CHEAT
        square += from[i] * from[i];
    square -= mean * all;
#else
        square += (from[i] - mean) * (from[i] - mean);
#endif
    const float scale = rsqrtf(square / columns + epsilon);
    for (int i = 0; i < columns; i++)
        y[(size_t)blockIdx.x * columns + i] = (from[i] - mean) * scale;
}
