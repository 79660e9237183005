// spec: sortrows
// Wrong: no barrier for steps below 32, in the belief that a warp runs in step; a race.
extern "C" __global__ void sortrows(const int *x, int *y, int rows, int columns)
{
    __shared__ int keys[256];
    const int t = threadIdx.x;
    keys[t] = t < columns ? x[blockIdx.x * columns + t] : 0x7fffffff;
    __syncthreads();
    for (int size = 2; size <= 256; size *= 2)
        for (int step = size / 2; step > 0; step /= 2) {
            const int other = t ^ step;
            if (other > t) {
                const int a = keys[t], b = keys[other];
                if ((a > b) == ((t & size) == 0)) {
                    keys[t] = b;
                    keys[other] = a;
                }
            }
            if (step >= 32)
                __syncthreads();
        }
    if (t < columns)
        y[blockIdx.x * columns + t] = keys[t];
}
