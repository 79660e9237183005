/* The kernels of sim_speed.c. nvcc -ptx -arch=sm_90 -o sim_speed.ptx sim_speed.cu */
extern "C" __global__ void gemm(const float *__restrict__ a, const float *__restrict__ b, float *c, int n)
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

extern "C" __global__ void bodies(const float4 *__restrict__ p, float4 *f, int n)
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

extern "C" __global__ void sum(const float *__restrict__ x, float *total, int n)
{
    __shared__ float warps[8];
    const unsigned all = __ballot_sync(0xffffffffu, true);
    float mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
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

extern "C" __global__ void histogram(const unsigned *__restrict__ x, unsigned *counts, int n)
{
    __shared__ unsigned bins[256];
    for (int b = threadIdx.x; b < 256; b += blockDim.x)
        bins[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
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

/* Short blocks: what it costs to begin and end them. */
extern "C" __global__ void add(const float *__restrict__ x, float *y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += x[i];
}
