// spec: dot
// Wrong: block 0 adds the parts and does not wait for other blocks; depends on the order of the blocks.
__device__ float parts[16];
__device__ unsigned finished;

extern "C" __global__ void dot(const float *a, const float *b, float *y, int n)
{
    __shared__ float part[256];
    __shared__ bool last;
    const int t = threadIdx.x;
    float all = 0;
    for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256)
        all += a[i] * b[i];
    part[t] = all;
    __syncthreads();
    for (int step = 128; step > 0; step /= 2) {
        if (t < step)
            part[t] += part[t + step];
        __syncthreads();
    }
    if (t == 0) {
        parts[blockIdx.x] = part[0];
        __threadfence(); // parts before counter
        last = blockIdx.x == 0;
    }
    __syncthreads();
    if (last && t == 0) {
        __threadfence();
        float sum = 0;
        for (int k = 0; k < gridDim.x; k++)
            sum += ((volatile float *)parts)[k];
        *y = sum;
        finished = 0; // for the next call
    }
}
