// spec: prefmax
// Wrong: the carry is the last tile's maximum only; wrong if N > 512 and the maximum lies in the first tile.
extern "C" __global__ void prefmax(const float *x, float *y, int n)
{
    __shared__ float part[256];
    const int t = threadIdx.x;
    float before = -INFINITY;
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
        before = part[255];
        __syncthreads(); // round
    }
}
