// spec: histogram
// wrong no-atomic: atomicAdd(bins + x[i], 1u) => bins[x[i]] += 1u
// wrong exchange: atomicAdd(bins + x[i], 1u) => atomicExch(bins + x[i], 1u)
// wrong last: i < n => i < n - 1
// wrong mask: x[i], 1u => (x[i] & 31), 1u
// wrong two: 1u) => 1u + (x[i] == 63))
// wrong first-block: i < n => i < n && blockIdx.x < 100
// wrong saturates: atomicAdd(bins + x[i], 1u) => atomicInc(bins + x[i], 255u)
// Atomics in global memory only.
extern "C" __global__ void histogram(const int *x, unsigned *bins, int n, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(bins + x[i], 1u);
}
