// spec: dot
// Right: loads, fences and the counter are PTX: a release and an acquire at the scope of the GPU.
__device__ float parts[16];
__device__ unsigned finished;

extern "C" __global__ void dot(const float *a, const float *b, float *y, int n)
{
    float all = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += 4096) {
        float p, q;
        asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(p) : "l"(a + i));
        asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(q) : "l"(b + i));
        all += p * q;
    }
    __shared__ float own;
    if (threadIdx.x == 0)
        own = 0;
    __syncthreads();
    atomicAdd(&own, all);
    __syncthreads();
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = own;
        unsigned before;
        asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(&finished) : "memory");
        if (before == gridDim.x - 1) {
            float sum = 0;
            for (int k = 0; k < 16; k++)
                sum += parts[k];
            y[0] = sum;
            finished = 0;
        }
    }
}
