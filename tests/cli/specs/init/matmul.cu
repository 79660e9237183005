#ifndef TILE
#define TILE 16
#endif
template <typename T, int UNROLL>
__global__ void __launch_bounds__(TILE * TILE) matmul(const T *A, const T *B, T *C, int M, int N, int K)
{
    __shared__ T a[TILE][TILE], b[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    T sum = 0;
    for (int t = 0; t < K; t += TILE) {
        a[ty][tx] = row < M && t + tx < K ? A[row * K + t + tx] : T(0);
        b[ty][tx] = t + ty < K && col < N ? B[(t + ty) * N + col] : T(0);
        __syncthreads();
#pragma unroll UNROLL
        for (int k = 0; k < TILE; k++)
            sum += a[ty][k] * b[k][tx];
        __syncthreads();
    }
    if (row < M && col < N)
        C[row * N + col] = sum;
}
