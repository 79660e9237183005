static __device__ int first(int block, int items)
{
    return (int)(blockIdx.x * block + threadIdx.x) * items;
}
