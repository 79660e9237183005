// spec: scatteradd
// Right: lanes with equal indices join their sums before one of them adds.
extern "C" __global__ void scatteradd(const int *at, const int *v, int *y, int n, int k)
{
    for (int first = blockIdx.x * 256; first < n; first += 2048) {
        const int i = first + threadIdx.x;
        const unsigned active = __ballot_sync(0xffffffffu, i < n);
        if (i >= n)
            continue;
        const unsigned peers = __match_any_sync(active, at[i]);
        const int sum = __reduce_add_sync(peers, v[i]);
        if ((int)(threadIdx.x % 32) == __ffs(peers) - 1)
            atomicAdd(y + at[i], sum);
    }
}
