// spec: sum
// wrong barrier-inside:             part[threadIdx.x] += part[threadIdx.x + step];\n        __syncthreads(); =>             part[threadIdx.x] += part[threadIdx.x + step];
// wrong half-tree: step = 128 => step = 64
// wrong wrong-partner: part[threadIdx.x + step]; => part[threadIdx.x + step - 1];
// wrong result: y[0] = part[0] => y[0] = part[1]
// wrong lost-sign: x[i] - lost => x[i] + 1000 * lost
// Compensated sums in each thread, then a tree.
extern "C" __global__ void sum(const float *x, float *y, int n)
{
    __shared__ float part[256];
    float all = 0, lost = 0;
    for (int i = threadIdx.x; i < n; i += 256) {
        const float now = x[i] - lost, next = all + now;
        lost = (next - all) - now;
        all = next;
    }
    part[threadIdx.x] = all;
    __syncthreads();
    for (int step = 128; step > 0; step >>= 1) {
        if (threadIdx.x < step)
            part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    if (!threadIdx.x)
        y[0] = part[0];
}
