// spec: transpose
// wrong no-barrier:     __syncthreads();\n => 
// wrong square: (size_t)down * rows + right => (size_t)down * columns + right
// wrong guard: right < rows => right < columns
// wrong not-transposed: tile[threadIdx.x][threadIdx.y] => tile[threadIdx.y][threadIdx.x]
// wrong read-guard: r < rows && c < columns => r < rows
// wrong square-tile: tile[16][16] => tile[15][16]
// Through shared memory without padding.
extern "C" __global__ void transpose(const float *x, float *y, int rows, int columns)
{
    __shared__ float tile[16][16];
    const int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
    if (r < rows && c < columns)
        tile[threadIdx.y][threadIdx.x] = x[(size_t)r * columns + c];
    __syncthreads();
    const int down = blockIdx.x * 16 + threadIdx.y, right = blockIdx.y * 16 + threadIdx.x;
    if (down < columns && right < rows)
        y[(size_t)down * rows + right] = tile[threadIdx.x][threadIdx.y];
}
