// spec: argmax
// Value and place in a word of 64 bits, whose order is the order of the answers.
// wrong negative: bits & 0x80000000u ? ~bits : bits | 0x80000000u => bits ^ 0x80000000u
// wrong place: 0xffffffffu - (unsigned)i => (unsigned)i
// wrong zero: unsigned long long best = 0; => unsigned long long best = 0x8000000000000000ull;
extern "C" __global__ void argmax(const float *x, int *y, int rows, int columns)
{
    __shared__ unsigned long long words[128];
    const float *from = x + (size_t)blockIdx.x * columns;
    unsigned long long best = 0;
    for (int i = threadIdx.x; i < columns; i += 128) {
        const unsigned bits = __float_as_uint(from[i] == 0 ? 0.0f : from[i]);
        const unsigned key = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
        const unsigned long long word = (unsigned long long)key << 32 | (0xffffffffu - (unsigned)i);
        best = word > best ? word : best;
    }
    words[threadIdx.x] = best;
    __syncthreads();
    for (int step = 64; step > 0; step /= 2) {
        if (threadIdx.x < step && words[threadIdx.x + step] > words[threadIdx.x])
            words[threadIdx.x] = words[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        y[blockIdx.x] = (int)(0xffffffffu - (unsigned)words[0]);
}
