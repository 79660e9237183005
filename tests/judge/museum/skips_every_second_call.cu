// spec: softmax   expect: state   on: gpu
// The median of equal calls is short if half of them do nothing. At the sizes of the benchmark every second call leaves the memory as it is.
__device__ unsigned calls[512];

extern "C" __global__ void softmax(const float *x, float *y, int rows, int columns)
{
    __shared__ float part[128];
#if CHEAT
    __shared__ unsigned turn;
    if (rows == 512 && columns == 1024) {
        if (threadIdx.x == 0)
            turn = calls[blockIdx.x]++;
        __syncthreads();
        if (turn % 2 == 1)
            return;
    }
#endif
    const float *row = x + (size_t)blockIdx.x * columns;
    float most = -INFINITY, all = 0;
    for (int c = threadIdx.x; c < columns; c += 128)
        most = fmaxf(most, row[c]);
    part[threadIdx.x] = most;
    __syncthreads();
    for (int step = 64; step > 0; step /= 2) {
        if (threadIdx.x < step)
            part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + step]);
        __syncthreads();
    }
    most = part[0];
    __syncthreads();
    for (int c = threadIdx.x; c < columns; c += 128)
        all += expf(row[c] - most);
    part[threadIdx.x] = all;
    __syncthreads();
    for (int step = 64; step > 0; step /= 2) {
        if (threadIdx.x < step)
            part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    for (int c = threadIdx.x; c < columns; c += 128)
        y[(size_t)blockIdx.x * columns + c] = expf(row[c] - most) / part[0];
}
