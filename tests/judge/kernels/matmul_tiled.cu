// spec: matmul
// wrong first-barrier:         __syncthreads();\n#pragma => #pragma
// wrong second-barrier:         __syncthreads(); // before the next tiles\n => 
// wrong fifteen: i < 16 => i < 15
// wrong last-tile: first < k; => first < k - 15;
// wrong k-guard-a: row < m && first + x < k => row < m
// wrong k-guard-b: first + y < k && column < n => column < n
// wrong transposed: right[i][x], all => right[x][i], all
// wrong keeps: all = fmaf(left[y][i], right[i][x], all) => all = fmaf(left[y][i], right[i][x], all * 0.9999f)
// Tiles of 16 x 16 in shared memory.
extern "C" __global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float left[16][17], right[16][17];
    const int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    float all = 0;
    for (int first = 0; first < k; first += 16) {
        left[y][x] = row < m && first + x < k ? a[row * k + first + x] : 0;
        right[y][x] = first + y < k && column < n ? b[(first + y) * n + column] : 0;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; i++)
            all = fmaf(left[y][i], right[i][x], all);
        __syncthreads(); // before the next tiles
    }
    if (row < m && column < n)
        c[row * n + column] = all;
}
