// spec: sortrows
// Wrong: no barrier after the keys are loaded; a race if C > 32.
extern "C" __global__ void sortrows(const int *x, int *y, int rows, int columns)
{
    __shared__ int keys[256];
    const int t = threadIdx.x;
    const int *from = x + (size_t)blockIdx.x * columns;
    if (t < columns)
        keys[t] = from[t];
    if (t >= columns)
        return;
    const int own = keys[t];
    int rank = 0;
    for (int k = 0; k < columns; k++)
        rank += keys[k] < own || (keys[k] == own && k < t);
    y[(size_t)blockIdx.x * columns + rank] = own;
}
