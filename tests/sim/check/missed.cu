// missed.cu - kernels with planted bugs and without: warps in lockstep, scopes, local arrays, rows with padding.
// memory.cu explains the marks and arguments.
#define K extern "C" __global__ void

// ---- lanes of a warp that exchange values by volatile accesses, as before Volta ----
K bug_volatile(int *in, int *out, int *raw, int n)
{
    __shared__ volatile int s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    s[t + 32] = in[t + 32];
    __syncwarp();
    s[t] = s[t] + s[t + 16];
    s[t] = s[t] + s[t + 8]; // @volatile
    out[t] = s[t];
}
K ok_volatile(int *in, int *out, int *raw, int n)
{
    __shared__ volatile int s[64];
    int t = threadIdx.x, v;
    s[t] = in[t];
    s[t + 32] = in[t + 32];
    __syncwarp();
    v = s[t] + s[t + 16];
    __syncwarp();
    s[t] = v;
    __syncwarp();
    v = s[t] + s[t + 8];
    out[t] = v;
}
K ok_volatile_own(int *in, int *out, int *raw, int n) // each thread uses its own element
{
    __shared__ volatile int s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    s[t] = s[t] + 1;
    out[t] = s[t];
}
K ok_volatile_flag(int *in, int *out, int *raw, int n) // one warp sets a flag for another warp
{
    __shared__ volatile int flag, value;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        value = in[3];
        __threadfence_block();
        flag = 1;
    } else if (threadIdx.x == 32) {
        while (flag == 0)
            ;
        __threadfence_block();
        out[0] = value;
    }
}

// ---- atomics with the scope of a block ----
K bug_scope(int *in, int *out, int *raw, int n)
{
    if (threadIdx.x == 0) atomicAdd_block(out, 1); // @scope
}
K ok_scope(int *in, int *out, int *raw, int n)
{
    if (threadIdx.x == 0) atomicAdd(out, 1);
}
K ok_scope_own(int *in, int *out, int *raw, int n) // each block has its own counter
{
    atomicAdd_block(out + blockIdx.x, 1);
}

// ---- local arrays ----
K bug_local(int *in, int *out, int *raw, int n)
{
    int own[32];
    for (int k = 0; k < 31; k++)
        own[(k + in[0]) & 31] = k;
    out[threadIdx.x] = own[(in[threadIdx.x] + 30) & 31]; // @local
}
K ok_local(int *in, int *out, int *raw, int n)
{
    int own[32];
    for (int k = 0; k < 32; k++)
        own[(k + in[0]) & 31] = k;
    out[threadIdx.x] = own[(in[threadIdx.x] + 30) & 31];
}
struct large { int a[16]; };
__device__ __noinline__ int pick(large l, int k) { return l.a[k & 15]; }
K ok_local_parameter(int *in, int *out, int *raw, int n)
{
    large l;
    for (int k = 0; k < 16; k++)
        l.a[k] = in[k];
    out[threadIdx.x] = pick(l, in[threadIdx.x]);
}

K bug_local_next(int *in, int *out, int *raw, int n) // writes beyond the end of one array into the next array
{
    int a[8], b[8];
    for (int k = 0; k < 8; k++)
        a[(k + in[1]) & 7] = k, b[(k + in[2]) & 7] = 2 * k;
    a[in[8]] = 5; // @local_next
    out[threadIdx.x] = a[in[4]] + b[in[5]];
}
K ok_local_next(int *in, int *out, int *raw, int n)
{
    int a[8], b[8], *p = a + 5;
    for (int k = 0; k < 8; k++)
        a[(k + in[1]) & 7] = k, b[(k + in[2]) & 7] = 2 * k;
    a[in[7]] = 5;
    p[in[2]] = 6;
    out[threadIdx.x] = a[in[4]] + b[in[5]] + b[3 + in[3]];
}

// ---- rows with padding: a row of `raw` has 100 bytes, and begins 128 bytes after the row before ----
K bug_rows(int *in, int *out, int *raw, int n)
{
    raw[32 * blockIdx.x + threadIdx.x] = 1; // @rows
}
K ok_rows(int *in, int *out, int *raw, int n)
{
    if (threadIdx.x < 25) raw[32 * blockIdx.x + threadIdx.x] = 1;
}
