// spec: histogram
// Counts of 8 bits, four in a word of shared memory. Half of the block counts, and the words are emptied before they overflow.
// wrong once: rounds = 2 => rounds = 1
// wrong shift: >> 8 * (k % 4) & 0xff => >> 8 * (k % 4) & 0x7f
extern "C" __global__ void histogram(const int *x, unsigned *bins, int n, int count)
{
    __shared__ unsigned words[16];
    constexpr int rounds = 2, part = 256 / rounds;
    for (int round = 0; round < rounds; round++) {
        for (int k = threadIdx.x; k < 16; k += 256)
            words[k] = 0;
        __syncthreads();
        const int i = blockIdx.x * 256 + threadIdx.x;
        if ((int)threadIdx.x / part == round && i < n)
            atomicAdd(&words[x[i] / 4], 1u << 8 * (x[i] % 4));
        __syncthreads();
        for (int k = threadIdx.x; k < count; k += 256) {
            const unsigned found = words[k / 4] >> 8 * (k % 4) & 0xff;
            if (found)
                atomicAdd(&bins[k], found);
        }
        __syncthreads();
    }
}
