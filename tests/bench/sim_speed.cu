/* The kernels of sim_speed.c. tests/sim/ptx.py compiles them. */

/* Every kernel has the parameters of every other one: five arrays, its size, and two numbers of the stage. */
#define KERNEL extern "C" __global__ void
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)

KERNEL gemm(const float *__restrict__ a, const float *__restrict__ b, float *c, const int *, const int *, int n, int, int)
{
    __shared__ float as[16][16], bs[16][16];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        as[y][x] = a[row * n + k + x];
        bs[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int i = 0; i < 16; i++)
            sum += as[y][i] * bs[i][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

KERNEL bodies(const float4 *__restrict__ p, const float *, float4 *f, const int *, const int *, int n, int, int)
{
    __shared__ float4 tile[128];
    const int i = blockIdx.x * 128 + threadIdx.x;
    const float4 me = p[i];
    float x = 0, y = 0, z = 0;
    for (int k = 0; k < n; k += 128) {
        tile[threadIdx.x] = p[k + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 128; j++) {
            const float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
            const float r = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-4f), s = tile[j].w * r * r * r;
            x += dx * s, y += dy * s, z += dz * s;
        }
        __syncthreads();
    }
    f[i] = make_float4(x, y, z, 0);
}

KERNEL sum(const float *__restrict__ x, const float *, float *total, const int *, const int *, int n, int, int)
{
    __shared__ float warps[8];
    const unsigned all = __ballot_sync(0xffffffffu, true);
    float mine = 0;
    for (int i = THREAD; i < n; i += gridDim.x * blockDim.x) {
        float v = x[i];
        for (int d = 16; d; d /= 2)
            v += __shfl_down_sync(all, v, d);
        mine += v;
    }
    if ((threadIdx.x & 31) == 0)
        warps[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; w++)
            mine += warps[w];
        total[blockIdx.x] = mine;
    }
}

/* A block adds 2048 numbers: each thread eight of them, and then a tree in shared memory. */
KERNEL reduction(const float *__restrict__ x, const float *, float *total, const int *, const int *, int n, int, int)
{
    __shared__ float tree[256];
    float mine = 0;
    for (int i = blockIdx.x * 2048 + threadIdx.x; i < n && i < (blockIdx.x + 1) * 2048; i += 256)
        mine += x[i];
    tree[threadIdx.x] = mine;
    __syncthreads();
    for (int d = 128; d; d /= 2) {
        if (threadIdx.x < d)
            tree[threadIdx.x] += tree[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        total[blockIdx.x] = tree[0];
}

KERNEL histogram(const unsigned *__restrict__ x, const float *, unsigned *counts, const int *, const int *, int n, int,
                 int)
{
    __shared__ unsigned bins[256];
    for (int b = threadIdx.x; b < 256; b += blockDim.x)
        bins[b] = 0;
    __syncthreads();
    for (int i = THREAD; i < n; i += gridDim.x * blockDim.x) {
        const unsigned w = x[i];
        atomicAdd(bins + (w & 255), 1);
        atomicAdd(bins + (w >> 8 & 255), 1);
        atomicAdd(bins + (w >> 16 & 255), 1);
        atomicAdd(bins + (w >> 24), 1);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < 256; b += blockDim.x)
        atomicAdd(counts + b, bins[b]);
}

/* Short blocks: the time that it takes to begin and end them. */
KERNEL saxpy(const float *__restrict__ x, const float *, float *y, const int *, const int *, int n, int, int)
{
    const int i = THREAD;
    if (i < n)
        y[i] = 2.5f * x[i] + y[i];
}

KERNEL saxpy_stride(const float *__restrict__ x, const float *, float *y, const int *, const int *, int n, int, int)
{
    for (int i = THREAD; i < n; i += gridDim.x * blockDim.x)
        y[i] = 2.5f * x[i] + y[i];
}

KERNEL jacobi(const float *__restrict__ from, const float *, float *to, const int *, const int *, int n, int, int)
{
    const int x = THREAD, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && x < n - 1 && y > 0 && y < n - 1)
        to[y * n + x] = 0.25f * (from[y * n + x - 1] + from[y * n + x + 1] + from[(y - 1) * n + x] + from[(y + 1) * n + x]);
}

/* A matrix by its rows (CSR), a row for each thread. Rows have 0 to 31 elements. */
KERNEL sparse(const float *__restrict__ values, const float *__restrict__ x, float *y, const int *__restrict__ columns,
              const int *__restrict__ rows, int n, int, int)
{
    const int row = THREAD;
    if (row < n) {
        float sum = 0;
        for (int k = rows[row]; k < rows[row + 1]; k++)
            sum += values[k] * x[columns[k]];
        y[row] = sum;
    }
}

/* A stage of a bitonic sort. */
KERNEL bitonic(const float *, const float *, unsigned *x, const int *, const int *, int, int k, int j)
{
    const unsigned i = THREAD, other = i ^ j;
    if (other > i) {
        const unsigned mine = x[i], its = x[other];
        if ((i & k) == 0) {
            if (mine > its)
                x[i] = its, x[other] = mine;
        } else {
            if (mine < its)
                x[i] = its, x[other] = mine;
        }
    }
}

/* A stage of Stockham's transform, a butterfly for each thread. `s` transforms lie side by side. */
KERNEL fft(float2 *from, const float2 *__restrict__ roots, float2 *to, const int *, const int *, int n, int s, int odd)
{
    const int t = THREAD, p = t / s, q = t % s;
    const float2 *in = odd ? to : from;
    float2 *out = odd ? from : to;
    if (t < n / 2) {
        const float2 a = in[q + s * p], b = in[q + s * p + n / 2], w = roots[p * s];
        const float x = a.x - b.x, y = a.y - b.y;
        out[q + 2 * s * p] = make_float2(a.x + b.x, a.y + b.y);
        out[q + 2 * s * p + s] = make_float2(x * w.x - y * w.y, x * w.y + y * w.x);
    }
}

KERNEL mandelbrot(const float *, const float *, unsigned *steps, const int *, const int *, int n, int most, int)
{
    const int x = THREAD, y = blockIdx.y * blockDim.y + threadIdx.y;
    const float a = -2.2f + 3.f * x / n, b = -1.5f + 3.f * y / n;
    float u = 0, v = 0;
    int k = 0;
    while (k < most && u * u + v * v < 4) {
        const float t = u * u - v * v + a;
        v = 2 * u * v + b;
        u = t;
        k++;
    }
    steps[y * n + x] = k;
}

/* Each thread draws `most` points and counts those in the circle. */
KERNEL carlo(const float *, const float *, unsigned *hits, const int *, const int *, int n, int most, int)
{
    const int i = THREAD;
    unsigned state = i * 2654435761u + 1, inside = 0;
    if (i >= n)
        return;
    for (int k = 0; k < most; k++) {
        state = state * 1664525u + 1013904223u;
        const float x = (state >> 8) * 0x1p-24f;
        state = state * 1664525u + 1013904223u;
        const float y = (state >> 8) * 0x1p-24f;
        inside += x * x + y * y < 1;
    }
    hits[i] = inside;
}
