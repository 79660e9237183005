// A kernel with a race, for check.c: thread i reads what its neighbour writes, without a barrier between.
extern "C" __global__ void shift(const int *from, int *to)
{
    __shared__ int part[64];
    part[threadIdx.x] = from[threadIdx.x];
    to[threadIdx.x] = part[(threadIdx.x + 1) % 64]; // a __syncthreads() is missing before this line
}
