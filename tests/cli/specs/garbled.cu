/* Compiles where WORD names a type. */
extern "C" __global__ void garbled(float *z)
{
    WORD i = threadIdx.x;
    z[i] = 0;
}
