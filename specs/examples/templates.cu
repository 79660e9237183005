// The templates of templates.yaml.
template <class T, int items> __global__ void block_sums(const T *x, T *sums, int n)
{
    __shared__ T part[256];
    T sum = 0;
    for (int i = 0; i < items; i++) {
        int at = (blockIdx.x * items + i) * 256 + threadIdx.x;
        sum += at < n ? x[at] : T(0);
    }
    part[threadIdx.x] = sum;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads(); // after this barrier the threads read values that other threads wrote in the previous round
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] = part[0];
}

template <class T, int items> __global__ void slow_sums(const T *x, T *sums, int n)
{
    T sum = 0;
    for (int i = 0; i < 256 * items; i++) {
        int at = blockIdx.x * 256 * items + i;
        sum += at < n ? x[at] : T(0);
    }
    sums[blockIdx.x] = sum;
}
