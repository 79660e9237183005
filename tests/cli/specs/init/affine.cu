extern "C" __global__ void affine(float a, const float *x, float b, float *y, int n)
{
    int first = blockIdx.x * BLOCK * ITEMS + threadIdx.x;
#pragma unroll
    for (int i = 0; i < ITEMS; i++)
        if (first + i * BLOCK < n)
            y[first + i * BLOCK] = a * x[first + i * BLOCK] + b;
}
