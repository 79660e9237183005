// spec: xent
// Wrong: only the first 2048 columns are added; wrong if C > 2048 and later columns matter.
extern "C" __global__ void xent(const float *x, const int *label, float *y, int rows, int columns)
{
    __shared__ float part[128];
    const int t = threadIdx.x, row = blockIdx.x;
    const float *from = x + (size_t)row * columns;
    float most = -INFINITY;
    for (int i = t; i < columns; i += 128)
        most = fmaxf(most, from[i]);
    part[t] = most;
    __syncthreads();
    for (int step = 64; step > 0; step /= 2) {
        if (t < step)
            part[t] = fmaxf(part[t], part[t + step]);
        __syncthreads();
    }
    most = part[0];
    __syncthreads(); // reuse
    float all = 0;
    for (int i = t; i < min(columns, 2048); i += 128)
        all += expf(from[i] - most);
    part[t] = all;
    __syncthreads();
    for (int step = 64; step > 0; step /= 2) {
        if (t < step)
            part[t] += part[t + step];
        __syncthreads();
    }
    if (t == 0)
        y[row] = most + logf(part[0]) - from[label[row]];
}
