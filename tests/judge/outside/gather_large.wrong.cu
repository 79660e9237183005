// spec: gather
// Wrong: the table has 1024 elements and larger indices wrap; wrong if M > 1024.
extern "C" __global__ void gather(const float *x, const int *at, float *y, int n, int m)
{
    __shared__ float table[1024];
    for (int k = threadIdx.x; k < min(m, 1024); k += 256)
        table[k] = x[k];
    __syncthreads(); // table
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) {
        const int k = at[i];
        y[i] = k < 0 || k >= m ? 0.0f : table[k % 1024];
    }
}
