extern "C" __global__ void argmax(const float *x, int *y, int rows, int columns)
{
    __shared__ float values[128];
    __shared__ int places[128];
    const float *from = x + (size_t)blockIdx.x * columns;
    const int t = threadIdx.x;
    float value = -INFINITY;
    int place = 0x7fffffff;
    for (int i = t; i < columns; i += 128)
        if (from[i] > value) {
            value = from[i];
            place = i;
        }
    values[t] = value;
    places[t] = place;
    __syncthreads();
    for (int step = 64; step > 0; step /= 2) {
        if (t < step && (values[t + step] > values[t] ||
                         (values[t + step] == values[t] && places[t + step] < places[t]))) {
            values[t] = values[t + step];
            places[t] = places[t + step];
        }
        __syncthreads();
    }
    if (t == 0)
        y[blockIdx.x] = places[0];
}
