/* A kernel that does the same thing over and over. */
extern "C" __global__ void copy(const float *x, volatile float *z)
{
    for (int i = 0; i < REPEAT; i++)
        z[threadIdx.x] = x[threadIdx.x];
}
