// spec: prefmax
// Wrong: the lowest value is taken as -1e5; wrong if x[0] is below -1e5, as the contract allows.
extern "C" __global__ void prefmax(const float *x, float *y, int n)
{
    __shared__ float part[256];
    const int t = threadIdx.x;
    float before = -1e5f;
    for (int first = 0; first < n; first += 256) {
        part[t] = first + t < n ? x[first + t] : -INFINITY;
        __syncthreads();
        for (int step = 1; step < 256; step *= 2) {
            const float other = t >= step ? part[t - step] : -INFINITY;
            __syncthreads(); // read before write
            part[t] = fmaxf(part[t], other);
            __syncthreads(); // write before read
        }
        if (first + t < n)
            y[first + t] = fmaxf(before, part[t]);
        before = fmaxf(before, part[255]);
        __syncthreads(); // round
    }
}
