extern "C" __global__ void scan(const int *x, int *y, int n)
{
    __shared__ int part[256];
    const int t = threadIdx.x;
    int before = 0;
    for (int first = 0; first < n; first += 256) {
        part[t] = first + t < n ? x[first + t] : 0;
        __syncthreads();
        for (int step = 1; step < 256; step *= 2) {
            const int other = t >= step ? part[t - step] : 0;
            __syncthreads();
            part[t] += other;
            __syncthreads();
        }
        if (first + t < n)
            y[first + t] = before + part[t];
        before += part[255];
        __syncthreads();
    }
}
