// spec: softmax
// Powers of two in place of powers of e.
// wrong constant: 1.44269504f => 1.4427f
// wrong clamp: exp2f((from[i] - most) * scale) / all => exp2f(fmaxf(from[i] - most, -10.0f) * scale) / all
// wrong guess: float most = -INFINITY; => float most = 0;
extern "C" __global__ void softmax(const float *x, float *y, int rows, int columns)
{
    __shared__ float part[128];
    const float scale = 1.44269504f;
    const float *from = x + (size_t)blockIdx.x * columns;
    float most = -INFINITY;
    for (int i = threadIdx.x; i < columns; i += 128)
        most = fmaxf(most, from[i]);
    part[threadIdx.x] = most;
    __syncthreads();
    for (int i = 0; i < 128; i++)
        most = fmaxf(most, part[i]);
    __syncthreads();
    float all = 0;
    for (int i = threadIdx.x; i < columns; i += 128)
        all += exp2f((from[i] - most) * scale);
    part[threadIdx.x] = all;
    __syncthreads();
    all = 0;
    for (int i = 0; i < 128; i++)
        all += part[i];
    for (int i = threadIdx.x; i < columns; i += 128)
        y[(size_t)blockIdx.x * columns + i] = exp2f((from[i] - most) * scale) / all;
}
