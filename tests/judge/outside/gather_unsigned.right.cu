// spec: gather
// Right: one unsigned comparison, and a load through the read-only path.
extern "C" __global__ void gather(const float *__restrict__ x, const int *__restrict__ at, float *__restrict__ y, int n,
                                  int m)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = (unsigned)at[i] < (unsigned)m ? __ldg(x + at[i]) : 0.0f;
}
