// spec: prefmax
// Right: two buffers in shared memory, so that a step has one barrier.
extern "C" __global__ void prefmax(const float *x, float *y, int n)
{
    __shared__ float part[2][256];
    const int t = threadIdx.x;
    float before = -INFINITY;
    for (int first = 0; first < n; first += 256) {
        int now = 0;
        part[0][t] = first + t < n ? x[first + t] : -INFINITY;
        for (int step = 1; step < 256; step *= 2) {
            __syncthreads();
            part[1 - now][t] = t >= step ? fmaxf(part[now][t], part[now][t - step]) : part[now][t];
            now = 1 - now;
        }
        __syncthreads();
        if (first + t < n)
            y[first + t] = fmaxf(before, part[now][t]);
        before = fmaxf(before, part[now][255]);
        __syncthreads();
    }
}
