// spec: scatteradd
// Right: each thread joins neighbours with equal indices before it adds.
extern "C" __global__ void scatteradd(const int *at, const int *v, int *y, int n, int k)
{
    const int threads = gridDim.x * blockDim.x, t = blockIdx.x * blockDim.x + threadIdx.x;
    const int each = (n + threads - 1) / threads, to = min(n, (t + 1) * each);
    int place = -1, sum = 0;
    for (int i = t * each; i < to; i++) {
        if (at[i] != place) {
            if (place >= 0)
                atomicAdd(y + place, sum);
            place = at[i];
            sum = 0;
        }
        sum += v[i];
    }
    if (place >= 0)
        atomicAdd(y + place, sum);
}
