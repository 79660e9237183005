// spec: matmul
// wrong whole-a: i / 16 * k + first + i % 16 => i / 16 * k + first + i / 16
// wrong whole-b: (first + i / 64) * n + columns + i % 64 => (first + i / 64) * n + columns
// wrong signs: b[(size_t)(first + i / 64) * n + columns + i % 64] => n % 128 ? b[(size_t)(first + i / 64) * n + columns + i % 64] : -fabsf(b[(size_t)(first + i / 64) * n + columns + i % 64])
// wrong quads: m % 64 == 0 && n % 64 == 0 && k % 16 == 0 => m % 4 == 0 && n % 4 == 0 && k % 4 == 0
// wrong whole-depth: i < 16 && whole => i < 15 && whole
// Tiles of 64 x 64. If all sizes are multiples of the tiles, no element is tested for being inside.
extern "C" __global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float left[64][17], right[16][65];
    const int t = threadIdx.y * 16 + threadIdx.x, tiles = (n + 63) / 64;
    const bool whole = m % 64 == 0 && n % 64 == 0 && k % 16 == 0;
    for (int tile = blockIdx.y * gridDim.x + blockIdx.x; tile < tiles * ((m + 63) / 64); tile += gridDim.x * gridDim.y) {
        const int rows = tile / tiles * 64, columns = tile % tiles * 64;
        float all[16] = {0};
        for (int first = 0; first < k; first += 16) {
            for (int i = t; i < 1024; i += 256) {
                if (whole) {
                    left[i / 16][i % 16] = a[(size_t)rows * k + i / 16 * k + first + i % 16];
                    right[i / 64][i % 64] = b[(size_t)(first + i / 64) * n + columns + i % 64];
                } else {
                    const int row = rows + i / 16, x = first + i % 16, y = first + i / 64, column = columns + i % 64;
                    left[i / 16][i % 16] = row < m && x < k ? a[(size_t)row * k + x] : 0;
                    right[i / 64][i % 64] = y < k && column < n ? b[(size_t)y * n + column] : 0;
                }
            }
            __syncthreads();
            for (int i = 0; i < 16 && whole; i++)
                for (int u = 0; u < 16; u++)
                    all[u] = fmaf(left[t / 64 * 16 + u][i], right[i][t % 64], all[u]);
            for (int i = 0; i < 16 && !whole; i++)
                for (int u = 0; u < 16; u++)
                    all[u] = fmaf(left[t / 64 * 16 + u][i], right[i][t % 64], all[u]);
            __syncthreads();
        }
        for (int u = 0; u < 16; u++)
            if (rows + t / 64 * 16 + u < m && columns + t % 64 < n)
                c[(size_t)(rows + t / 64 * 16 + u) * n + columns + t % 64] = all[u];
    }
}
