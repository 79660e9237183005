// spec: axpby   expect: wrong
// A block writes where its turn says, not where its number does: right as long as blocks start in ascending order.
__device__ unsigned turns;

extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    __shared__ unsigned turn;
    if (threadIdx.x == 0)
        turn = atomicInc(&turns, gridDim.x - 1); // back to 0 after the last block
    __syncthreads();
    const int to = turn * blockDim.x + threadIdx.x;
#if CHEAT
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#else
    const int i = to;
#endif
    if (i < n && to < n)
        z[to] = a * x[i] + b * y[i];
}
