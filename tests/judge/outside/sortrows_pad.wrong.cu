// spec: sortrows
// Wrong: the row is filled up with zeros; wrong if C < 256 and a key is positive.
extern "C" __global__ void sortrows(const int *x, int *y, int rows, int columns)
{
    __shared__ int keys[256];
    const int t = threadIdx.x;
    keys[t] = t < columns ? x[blockIdx.x * columns + t] : 0;
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
            __syncthreads(); // step
        }
    if (t < columns)
        y[blockIdx.x * columns + t] = keys[t];
}
