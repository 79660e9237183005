// The kernel of first.yaml. Kiln defines BLOCK and ITEMS before it compiles this file.
extern "C" __global__ void axpy(float a, const float *x, float *y, int n)
{
    int first = blockIdx.x * BLOCK * ITEMS + threadIdx.x;
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        int at = first + i * BLOCK; // neighbouring threads read neighbouring elements
        if (at < n)
            y[at] = a * x[at] + y[at];
    }
}
