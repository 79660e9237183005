// The kernel of python.yaml: one block computes the softmax of one row.
template <class Join> __device__ float reduce(float value, float *part, Join join)
{
    part[threadIdx.x] = value;
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            part[threadIdx.x] = join(part[threadIdx.x], part[threadIdx.x + half]);
    }
    __syncthreads();
    float result = part[0];
    __syncthreads(); // after this barrier all threads have read part[0], so the next call may overwrite it
    return result;
}

extern "C" __global__ void softmax(const float *x, float *y, int columns)
{
    __shared__ float part[BLOCK];
    const float *from = x + (size_t)blockIdx.x * columns;
    float *to = y + (size_t)blockIdx.x * columns, largest = from[0], sum = 0;
    for (int i = threadIdx.x; i < columns; i += BLOCK)
        largest = fmaxf(largest, from[i]);
    largest = reduce(largest, part, [](float a, float b) { return fmaxf(a, b); });
    for (int i = threadIdx.x; i < columns; i += BLOCK)
        sum += expf(from[i] - largest);
    sum = reduce(sum, part, [](float a, float b) { return a + b; });
    for (int i = threadIdx.x; i < columns; i += BLOCK)
        to[i] = expf(from[i] - largest) / sum;
}
