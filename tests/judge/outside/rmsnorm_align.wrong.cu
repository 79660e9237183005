// spec: rmsnorm
// Wrong: rows are read as vectors if C is no multiple of 4 too, so that rows after the first are not aligned.
extern "C" __global__ void rmsnorm(const float *x, const float *g, float *y, int rows, int columns, float epsilon)
{
    __shared__ float part[4];
    const float *from = x + (size_t)blockIdx.x * columns;
    float *to = y + (size_t)blockIdx.x * columns;
    const int t = threadIdx.x, vectors = columns / 4;
    float all = 0;
    for (int i = t; i < vectors; i += 128) {
        const float4 v = ((const float4 *)from)[i];
        all += v.x * v.x + v.y * v.y + (v.z * v.z + v.w * v.w);
    }
    for (int i = vectors * 4 + t; i < columns; i += 128)
        all += from[i] * from[i];
    for (int step = 16; step > 0; step /= 2)
        all += __shfl_xor_sync(0xffffffffu, all, step);
    if (t % 32 == 0)
        part[t / 32] = all;
    __syncthreads();
    const float scale = rsqrtf((part[0] + part[1] + part[2] + part[3]) / columns + epsilon);
    for (int i = t; i < vectors; i += 128) {
        float4 v = ((const float4 *)from)[i];
        const float4 w = ((const float4 *)g)[i];
        v.x *= scale * w.x;
        v.y *= scale * w.y;
        v.z *= scale * w.z;
        v.w *= scale * w.w;
        ((float4 *)to)[i] = v;
    }
    for (int i = vectors * 4 + t; i < columns; i += 128)
        to[i] = from[i] * scale * g[i];
}
