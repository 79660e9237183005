// spec: sortrows
// Right: warps sort 32 keys by shuffles, then the rank of a key is the sum of binary searches in the other warps.
extern "C" __global__ void sortrows(const int *x, int *y, int rows, int columns)
{
    __shared__ int keys[256];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    int key = t < columns ? x[blockIdx.x * columns + t] : 0x7fffffff;
    for (int size = 2; size <= 32; size *= 2)
        for (int step = size / 2; step > 0; step /= 2) {
            const int other = __shfl_xor_sync(0xffffffffu, key, step);
            const bool up = (lane & size) == 0, low = (lane & step) == 0;
            key = up == low ? min(key, other) : max(key, other);
        }
    keys[t] = key;
    __syncthreads();
    int rank = lane;
    for (int w = 0; w < 8; w++) {
        if (w == warp)
            continue;
        int low = 0, high = 32;
        while (low < high) {
            const int middle = (low + high) / 2, k = keys[w * 32 + middle];
            if (k < key || (k == key && w < warp))
                low = middle + 1;
            else
                high = middle;
        }
        rank += low;
    }
    if (rank < columns)
        y[blockIdx.x * columns + rank] = key;
}
