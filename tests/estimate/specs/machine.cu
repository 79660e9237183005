#ifndef STRIDE
#define STRIDE 33
#endif
#ifndef LINES
#define LINES 1
#endif
#ifndef WIDE
#define WIDE 0
#endif
#ifndef SPREAD
#define SPREAD 32
#endif
#ifndef APART
#define APART 1
#endif

extern "C" __global__ void empty(unsigned *y)
{
}

extern "C" __global__ void chase(const unsigned *x, unsigned *y, unsigned steps, unsigned mask)
{
    unsigned at = 0;
    for (unsigned k = 0; k < steps; k++)
        at = (x[at] + STRIDE) & mask;
    y[0] = at;
}

// The lanes of a warp read LINES lines; eight accesses are under way at a time.
extern "C" __global__ void tags(const unsigned *x, unsigned *y, unsigned steps)
{
    unsigned lane = threadIdx.x % 32, sum = 0, first = lane % LINES * 32 + lane / LINES;
    const volatile unsigned *unused = x;
    (void)unused;
    for (unsigned k = 0; k < steps; k += 8) {
        unsigned base = k % 128 * 8;
#pragma unroll
        for (unsigned u = 0; u < 8; u++) {
            unsigned value;
            asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(value) : "l"(x + first + base + u * 1024 % 8192));
            sum += value;
        }
    }
    if (sum == 0xffffffffu)
        y[0] = sum;
}

extern "C" __global__ void l2(const unsigned *x, unsigned *y, unsigned steps)
{
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x, sum = 0;
    const unsigned words = 4194304, lane_words = WIDE ? 4 : 1;
    unsigned at = thread * lane_words % words;
    for (unsigned k = 0; k < steps; k += 4) {
#pragma unroll
        for (unsigned u = 0; u < 4; u++) {
            unsigned a, b, c, d;
            if (WIDE) {
                asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(x + at));
                sum += a ^ b ^ c ^ d;
            } else {
                asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(a) : "l"(x + at));
                sum += a;
            }
            at = (at + threads * lane_words) % words;
        }
    }
    if (sum == 0xffffffffu)
        y[0] = sum;
}

extern "C" __global__ void meet(unsigned *y, unsigned steps)
{
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned k = 0; k < steps; k++)
        atomicAdd(&y[(thread + k) % SPREAD * APART], thread);
}

extern "C" __global__ void shared_meet(unsigned *y, unsigned steps)
{
    __shared__ unsigned own[1024];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (unsigned k = 0; k < steps; k++)
        atomicAdd(&own[(threadIdx.x + k) % SPREAD], threadIdx.x);
    __syncthreads();
    if (own[threadIdx.x] == 0xffffffffu)
        y[0] = 1;
}
