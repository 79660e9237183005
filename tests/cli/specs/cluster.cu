/* For the golden runs of clusters: SIZE blocks have a row. */
extern "C" __global__ void greatest(const int *x, int *z, int n)
{
    __shared__ int most;
    if (threadIdx.x == 0)
        most = x[blockIdx.y * n];
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
    int *first = (int *)__cluster_map_shared_rank(&most, 0);
    for (int k = blockIdx.x * BLOCK + threadIdx.x; k < n; k += SIZE * BLOCK)
        atomicMax(first, x[blockIdx.y * n + k]);
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
    if (blockIdx.x == 0 && threadIdx.x == 0)
        z[blockIdx.y] = most;
}
