// spec: sortrows
// Wrong: the last of 256 columns never moves; wrong if C = 256.
extern "C" __global__ void sortrows(const int *x, int *y, int rows, int columns)
{
    __shared__ int keys[256];
    const int t = threadIdx.x;
    if (t < columns)
        keys[t] = x[blockIdx.x * columns + t];
    __syncthreads();
    for (int round = 0; round < columns; round++) {
        const int at = 2 * t + round % 2;
        if (at + 1 < min(columns, 255) && keys[at] > keys[at + 1]) {
            const int a = keys[at];
            keys[at] = keys[at + 1];
            keys[at + 1] = a;
        }
        __syncthreads(); // round
    }
    if (t < columns)
        y[blockIdx.x * columns + t] = keys[t];
}
