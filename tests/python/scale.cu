/* The kernel of the tests of the Python module. */
#ifdef BROKEN
#error "this kernel does not compile"
#endif
extern "C" __global__ void scale(float factor, const float *x, float *y, int n)
{
    int first = blockIdx.x * BLOCK * ITEMS + threadIdx.x;
    for (int i = 0; i < ITEMS; i++)
        if (first + i * BLOCK < n)
            y[first + i * BLOCK] = factor * x[first + i * BLOCK];
}
