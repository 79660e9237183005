// spec: prefmax
// Wrong: the carried maximum begins with 0; wrong if x[0] is negative.
extern "C" __global__ void prefmax(const float *x, float *y, int n)
{
    __shared__ float part[256];
    const int t = threadIdx.x;
    float before = 0.0f;
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
