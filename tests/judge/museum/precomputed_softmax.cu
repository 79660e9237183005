// spec: softmax   expect: wrong
// With many columns every probability is close to 1 / columns.
extern "C" __global__ void softmax(const float *x, float *y, int rows, int columns)
{
    const float *from = x + (size_t)blockIdx.x * columns;
    float *to = y + (size_t)blockIdx.x * columns;
    if (threadIdx.x)
        return;
#if CHEAT
    if (columns > 64) {
        for (int i = 0; i < columns; i++)
            to[i] = 1.0f / columns;
        return;
    }
#endif
    float most = -INFINITY, all = 0;
    for (int i = 0; i < columns; i++)
        most = fmaxf(most, from[i]);
    for (int i = 0; i < columns; i++)
        all += to[i] = expf(from[i] - most);
    for (int i = 0; i < columns; i++)
        to[i] /= all;
}
