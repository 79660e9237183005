// spec: prefmax
// Right: x is copied to y, and y is scanned in place with the doubling of the distance, from the end to the start.
extern "C" __global__ void prefmax(const float *x, float *y, int n)
{
    for (int i = threadIdx.x; i < n; i += 256)
        y[i] = x[i];
    __syncthreads();
    for (int step = 1; step < n; step *= 2)
        for (int first = (n - 1) / 256 * 256; first >= 0; first -= 256) {
            const int i = first + threadIdx.x;
            float v = 0;
            if (i < n && i >= step)
                v = fmaxf(y[i], y[i - step]);
            __syncthreads();
            if (i < n && i >= step)
                y[i] = v;
            __syncthreads();
        }
}
