// spec: sortrows
// Wrong: keys are compared by their difference, which overflows; wrong for 2e9 and -2e9 in a row.
extern "C" __global__ void sortrows(const int *x, int *y, int rows, int columns)
{
    __shared__ int keys[256];
    const int t = threadIdx.x;
    const int *from = x + (size_t)blockIdx.x * columns;
    if (t < columns)
        keys[t] = from[t];
    __syncthreads(); // keys
    if (t >= columns)
        return;
    const int own = keys[t];
    int rank = 0;
    for (int k = 0; k < columns; k++)
        rank += (int)((unsigned)keys[k] - (unsigned)own) < 0 || (keys[k] == own && k < t);
    y[(size_t)blockIdx.x * columns + rank] = own;
}
