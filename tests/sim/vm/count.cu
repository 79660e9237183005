// count.cu - kernels with the accesses of textbooks. ../ptx.py compiles it.
#define HERE (blockIdx.x * blockDim.x + threadIdx.x)

// ---- global memory ----
extern "C" __global__ void pattern(const float *in, float *out, unsigned times, unsigned plus, unsigned flip)
{
    out[HERE] = in[((HERE * times) + plus) ^ flip];
}
extern "C" __global__ void scattered(const float *in, float *out, const unsigned *index)
{
    out[HERE] = in[index[HERE]];
}
extern "C" __global__ void halves(const float *in, float *out)
{
    if (threadIdx.x % 32 < 16)
        out[HERE] = in[HERE];
}
extern "C" __global__ void wide2(const double *in, double *out) { out[HERE] = in[HERE]; }
extern "C" __global__ void wide4(const float4 *in, float4 *out) { out[HERE] = in[HERE]; }
extern "C" __global__ void bytes(const unsigned char *in, unsigned char *out) { out[HERE] = in[HERE]; }
extern "C" __global__ void corner(const float *in, float *out, int n) // blocks of 16 x 2
{
    out[threadIdx.y * n + threadIdx.x] = in[threadIdx.y * n + threadIdx.x];
}
extern "C" __global__ void thread_a_row(const float *in, float *out, int n)
{
    float sum = 0;
    for (int j = 0; j < n; j++)
        sum += in[HERE * n + j];
    out[HERE] = sum;
}
extern "C" __global__ void thread_a_column(const float *in, float *out, int n)
{
    float sum = 0;
    for (int j = 0; j < n; j++)
        sum += in[j * n + HERE];
    out[HERE] = sum;
}
struct point { float x, y, z; };
extern "C" __global__ void aos(const point *in, float *out) { out[HERE] = in[HERE].x; }
extern "C" __global__ void aos_same(const point *in, float *out) { out[HERE] = in[0].x + in[0].y + in[0].z; }
extern "C" __global__ void soa_same(const float *in, float *out, int n) { out[HERE] = in[0] + in[n] + in[2 * n]; }
extern "C" __global__ void spilled(const int *in, int *out)
{
    int mine[8];
    for (int k = 0; k < 8; k++)
        mine[(k + in[0]) % 8] = k;
    out[HERE] = mine[in[1] % 8];
}

// ---- constant memory ----
__constant__ float table[256];
extern "C" __global__ void constant(float *out, unsigned times) { out[HERE] = table[threadIdx.x * times % 256]; }

// ---- shared memory: 32 x 32 threads ----
template <int PAD> __device__ void transpose(const float *in, float *out)
{
    __shared__ float tile[32][32 + PAD];
    tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
extern "C" __global__ void transpose_plain(const float *in, float *out) { transpose<0>(in, out); }
extern "C" __global__ void transpose_padded(const float *in, float *out) { transpose<1>(in, out); }

extern "C" __global__ void banks(float *out, unsigned times, unsigned plus) // 32 threads
{
    __shared__ float words[2048];
    words[(threadIdx.x * times + plus) % 2048] = 1;
    __syncwarp();
    out[HERE] = words[(threadIdx.x * times + plus) % 2048];
}
template <class T> __device__ void banks_of(T *out, unsigned times)
{
    __shared__ T words[512];
    words[threadIdx.x * times % 512] = T();
    __syncwarp();
    out[HERE] = words[threadIdx.x * times % 512];
}
extern "C" __global__ void banks1(unsigned char *out, unsigned times) { banks_of(out, times); }
extern "C" __global__ void banks8(double *out, unsigned times) { banks_of(out, times); }
extern "C" __global__ void banks16(float4 *out, unsigned times) { banks_of(out, times); }

// ---- reductions: 256 threads ----
extern "C" __global__ void reduce_divergent(const float *in, float *out)
{
    __shared__ float part[256];
    unsigned t = threadIdx.x;
    part[t] = in[t];
    for (unsigned s = 1; s < 256; s *= 2) {
        __syncthreads();
        if (t % (2 * s) == 0)
            part[t] += part[t + s];
    }
    if (t == 0)
        out[0] = part[0];
}
extern "C" __global__ void reduce_strided(const float *in, float *out)
{
    __shared__ float part[256];
    unsigned t = threadIdx.x;
    part[t] = in[t];
    for (unsigned s = 1; s < 256; s *= 2) {
        __syncthreads();
        if (2 * s * t < 256)
            part[2 * s * t] += part[2 * s * t + s];
    }
    if (t == 0)
        out[0] = part[0];
}
extern "C" __global__ void reduce_sequential(const float *in, float *out)
{
    __shared__ float part[256];
    unsigned t = threadIdx.x;
    part[t] = in[t];
    for (unsigned s = 128; s > 0; s /= 2) {
        __syncthreads();
        if (t < s)
            part[t] += part[t + s];
    }
    if (t == 0)
        out[0] = part[0];
}

// ---- atomics ----
extern "C" __global__ void histogram(const unsigned *keys, unsigned *bins) { atomicAdd(&bins[keys[HERE]], 1); }
extern "C" __global__ void histogram_shared(const unsigned *keys, unsigned *bins)
{
    __shared__ unsigned own[256];
    own[threadIdx.x % 256] = 0;
    __syncthreads();
    atomicAdd(&own[keys[HERE]], 1);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x % 256]);
}
extern "C" __global__ void warp_sum(const int *in, int *out)
{
    int sum = in[HERE];
    for (int s = 16; s > 0; s /= 2)
        sum += __shfl_down_sync(~0u, sum, s);
    if (threadIdx.x % 32 == 0)
        out[HERE / 32] = sum;
}

// ---- wide accesses in which neighbours share an address ----
template <class T> __device__ void pairs_of(T *out, unsigned divide)
{
    __shared__ T words[32];
    words[threadIdx.x] = T();
    __syncwarp();
    out[HERE] = words[threadIdx.x / divide];
}
extern "C" __global__ void shared_pairs8(double *out, unsigned divide) { pairs_of(out, divide); }
extern "C" __global__ void shared_pairs16(float4 *out, unsigned divide) { pairs_of(out, divide); }

// Lanes 0 and 2, 1 and 3, ... share an address.
template <class T> __device__ void apart_of(T *out)
{
    __shared__ T words[32];
    words[threadIdx.x] = T();
    __syncwarp();
    out[HERE] = words[threadIdx.x / 4 * 2 + threadIdx.x % 2];
}
extern "C" __global__ void shared_apart8(double *out) { apart_of(out); }
extern "C" __global__ void shared_apart16(float4 *out) { apart_of(out); }
