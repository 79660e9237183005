// memory.cu - kernels with planted bugs for the checks, and the same kernels without the bug. ../ptx.py compiles it to
// memory.ptx, and packs the PTX. The line of a bug ends in "@name", and the line of the other access in "@name.other".
// test_check.c has the expected findings. Every kernel gets n = 1024 and three arrays of n ints: `in`, which the host
// has written, `out`, which is zero, and `raw`, which was never written.
#define K extern "C" __global__ void

// ---- outside ----
K bug_past_end(int *in, int *out, int *raw, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) out[i] = 1; // @past_end
}
K ok_past_end(int *in, int *out, int *raw, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 1;
}
K bug_before(int *in, int *out, int *raw, int n)
{
    out[threadIdx.x] = in[(int)threadIdx.x - 1]; // @before
}
K ok_before(int *in, int *out, int *raw, int n)
{
    out[threadIdx.x] = threadIdx.x ? in[(int)threadIdx.x - 1] : 0;
}
K bug_null(int *in, int *out, int *raw, int n)
{
    int *p = (int *)(size_t)(n - 1024);
    out[threadIdx.x] = p[threadIdx.x + 1]; // @null
}
K bug_far(int *in, int *out, int *raw, int n)
{
    if (threadIdx.x == 5) out[threadIdx.x + 4 * n] = 1; // @far
}
K bug_vector_end(int *in, int *out, int *raw, int n)
{
    int4 v = *(const int4 *)(in + 4 * (threadIdx.x + 225)); // @vector_end
    out[threadIdx.x] = v.x + v.y + v.z + v.w;
}
K ok_vector_end(int *in, int *out, int *raw, int n)
{
    int4 v = *(const int4 *)(in + 4 * (threadIdx.x + 224));
    out[threadIdx.x] = v.x + v.y + v.z + v.w;
}
K bug_atomic_outside(int *in, int *out, int *raw, int n)
{
    if (threadIdx.x == 3) atomicAdd(out + n + 7, 1); // @atomic_outside
}
K bug_inner_loop(int *in, int *out, int *raw, int n)
{
    int sum = 0;
    for (int k = 0; k <= 32; k++)
        sum += in[threadIdx.x * 32 + k]; // @inner_loop
    out[threadIdx.x] = sum;
}
__device__ __forceinline__ void put(int *p, int at, int value)
{
    p[at] = value; // @inlined
}
K bug_inlined(int *in, int *out, int *raw, int n)
{
    put(out, n + threadIdx.x, 1);
}
__device__ int table[64];
K bug_variable(int *in, int *out, int *raw, int n)
{
    table[threadIdx.x + 48] = 1; // @variable
}
K ok_variable(int *in, int *out, int *raw, int n)
{
    table[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = table[threadIdx.x];
}
__constant__ int weights[16];
K bug_constant_outside(int *in, int *out, int *raw, int n)
{
    out[threadIdx.x] = weights[threadIdx.x]; // @constant_outside
}
K ok_constant(int *in, int *out, int *raw, int n)
{
    out[threadIdx.x] = weights[threadIdx.x % 16];
}
K bug_shared_end(int *in, int *out, int *raw, int n)
{
    __shared__ int s[32];
    s[threadIdx.x + 1] = in[threadIdx.x]; // @shared_end
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x % 31 + 1];
}
K bug_shared_neighbour(int *in, int *out, int *raw, int n)
{
    __shared__ int a[32], b[32];
    b[threadIdx.x] = 1;
    a[threadIdx.x + n - 1020] = in[threadIdx.x]; // @shared_neighbour
    __syncthreads();
    out[threadIdx.x] = b[threadIdx.x] + a[threadIdx.x % 28 + 4];
}
K ok_shared_two(int *in, int *out, int *raw, int n)
{
    __shared__ int a[32], b[32];
    b[threadIdx.x] = 1;
    a[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    const int *p = n > 5 ? a : b;
    out[threadIdx.x] = b[threadIdx.x ^ 1] + p[threadIdx.x ^ 3];
}
K bug_dynamic_end(int *in, int *out, int *raw, int n)
{
    extern __shared__ int d[];
    d[threadIdx.x + 8] = in[threadIdx.x]; // @dynamic_end
    __syncthreads();
    out[threadIdx.x] = d[threadIdx.x % 24 + 8];
}
K ok_dynamic(int *in, int *out, int *raw, int n)
{
    extern __shared__ int d[];
    d[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = d[31 - threadIdx.x];
}
K bug_local(int *in, int *out, int *raw, int n)
{
    int own[8];
    for (int k = 0; k < 8; k++)
        own[k] = in[k];
    out[threadIdx.x] = own[in[threadIdx.x % 4] + n - 1014]; // @local
}
K ok_local(int *in, int *out, int *raw, int n)
{
    int own[8];
    for (int k = 0; k < 8; k++)
        own[k] = in[k];
    out[threadIdx.x] = own[in[threadIdx.x % 4] + n - 1024];
}

// ---- misaligned ----
K bug_misaligned(int *in, int *out, int *raw, int n)
{
    if (threadIdx.x == 9) *(int *)((char *)out + 2 * threadIdx.x) = 1; // @misaligned
}
K bug_misaligned_vector(int *in, int *out, int *raw, int n)
{
    float2 v = *(const float2 *)(in + threadIdx.x); // @misaligned_vector
    out[threadIdx.x] = (int)(v.x + v.y);
}
K bug_misaligned_shared(int *in, int *out, int *raw, int n)
{
    __shared__ __align__(16) char s[256];
    *(short *)(s + threadIdx.x * 3 + n - 1024) = 1; // @misaligned_shared
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x * 6];
}

// ---- freed, leaked ----
K bug_use_after_free(int *in, int *out, int *raw, int n)
{
    int *p = (int *)malloc(64);
    p[0] = threadIdx.x;
    int *q = p;
    free(p);
    __threadfence();
    out[threadIdx.x] = *(volatile int *)q; // @use_after_free
}
K ok_malloc(int *in, int *out, int *raw, int n)
{
    int *p = (int *)malloc(64);
    p[3] = threadIdx.x;
    out[threadIdx.x] = *(volatile int *)(p + 3);
    free(p);
}
K bug_double_free(int *in, int *out, int *raw, int n)
{
    void *p = malloc(64);
    out[threadIdx.x] = p != nullptr;
    free(p);
    free(p); // @double_free
}
K bug_free_middle(int *in, int *out, int *raw, int n)
{
    char *p = (char *)malloc(64);
    out[threadIdx.x] = p != nullptr;
    free(p + 16); // @free_middle
    free(p);
}
K bug_free_twice_at_once(int *in, int *out, int *raw, int n)
{
    __shared__ void *p;
    if (threadIdx.x == 0) p = malloc(32);
    __syncthreads();
    if (threadIdx.x < 2) free(p); // @free_twice_at_once
}
K bug_free_foreign(int *in, int *out, int *raw, int n)
{
    if (threadIdx.x == 4) free(in); // @free_foreign
}
K bug_leak(int *in, int *out, int *raw, int n)
{
    int *p = (int *)malloc(96); // @leak
    p[0] = 1;
    out[threadIdx.x] = p[0];
}
K bug_read_freed_by_host(int *in, int *out, int *raw, int n) // runs after the host has freed `raw`
{
    out[threadIdx.x] = raw[threadIdx.x]; // @read_freed_by_host
}

// ---- never written ----
K bug_unwritten(int *in, int *out, int *raw, int n)
{
    out[threadIdx.x] = raw[threadIdx.x + 7]; // @unwritten
}
K ok_written(int *in, int *out, int *raw, int n)
{
    raw[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = raw[threadIdx.x];
}
K bug_unwritten_half(int *in, int *out, int *raw, int n)
{
    if (threadIdx.x < 16) raw[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = raw[threadIdx.x]; // @unwritten_half
}
K bug_unwritten_atomic(int *in, int *out, int *raw, int n)
{
    atomicAdd(raw + 3, 1); // @unwritten_atomic
}
K bug_unwritten_shared(int *in, int *out, int *raw, int n)
{
    __shared__ int s[64];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x + 32]; // @unwritten_shared
}
K ok_written_shared(int *in, int *out, int *raw, int n)
{
    __shared__ int s[64];
    s[threadIdx.x] = in[threadIdx.x];
    s[threadIdx.x + 32] = in[threadIdx.x + 32];
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];
}
K bug_shared_kept(int *in, int *out, int *raw, int n) // reads shared memory of an earlier block
{
    __shared__ int s[32];
    if (blockIdx.x == 0) s[threadIdx.x] = 1;
    __syncthreads();
    out[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x]; // @shared_kept
}
struct padded { int x; char c; };
K ok_padding(int *in, int *out, int *raw, int n)
{
    padded *p = (padded *)raw;
    p[threadIdx.x].x = threadIdx.x;
    p[threadIdx.x].c = 1;
    __syncthreads();
    ((long long *)out)[threadIdx.x] = ((long long *)raw)[threadIdx.x ^ 1];
}
K ok_bytes(int *in, int *out, int *raw, int n)
{
    __shared__ unsigned char s[128];
    s[threadIdx.x] = (unsigned char)threadIdx.x;
    s[threadIdx.x + 32] = 1, s[threadIdx.x + 64] = 2, s[threadIdx.x + 96] = 3;
    __syncthreads();
    out[threadIdx.x] = ((int *)s)[threadIdx.x];
}

// ---- read-only data ----
K bug_read_only(const int *__restrict__ in, int *__restrict__ out, int *raw, int n)
{
    int v = __ldg(in + threadIdx.x); // @read_only.read
    const_cast<int *>(in)[threadIdx.x] = v + 1; // @read_only
    out[threadIdx.x] = v;
}
K ok_read_only(const int *__restrict__ in, int *__restrict__ out, int *raw, int n)
{
    out[threadIdx.x] = __ldg(in + threadIdx.x) + 1;
}

// ---- the stack ----
__device__ __noinline__ int deep(int depth, int *in)
{
    int own[64];
    for (int k = 0; k < 64; k++)
        own[k] = in[k] + depth;
    int below = depth > 0 ? deep(depth - 1, own) : 0;
    return below + own[depth & 63] + own[in[1] & 63];
}
K bug_stack(int *in, int *out, int *raw, int n)
{
    out[threadIdx.x] = deep(n * 1000, in);
}
K ok_stack(int *in, int *out, int *raw, int n)
{
    out[threadIdx.x] = deep(n - 1020, in);
}
