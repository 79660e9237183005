// references.cu - the answers of all operations of this folder, in double precision, an element a thread.
extern "C" {

__global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        z[i] = (float)((double)a * x[i] + (double)b * y[i]);
}

__global__ void relu(const float *x, float *y, int n) // NaN stays NaN
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] < 0 ? 0.0f : x[i];
}

__global__ void sum(const float *x, float *y, int n)
{
    double all = 0;
    for (int i = 0; i < n; i++)
        all += x[i];
    y[0] = (float)all;
}

__global__ void softmax(const float *x, float *y, int rows, int columns)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    const float *from = x + (size_t)row * columns;
    double most = from[0], all = 0;
    for (int i = 1; i < columns; i++)
        most = fmax(most, (double)from[i]);
    for (int i = 0; i < columns; i++)
        all += exp(from[i] - most);
    for (int i = 0; i < columns; i++)
        y[(size_t)row * columns + i] = (float)(exp(from[i] - most) / all);
}

__global__ void layernorm(const float *x, float *y, int rows, int columns, float epsilon)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    const float *from = x + (size_t)row * columns;
    double mean = 0, square = 0;
    for (int i = 0; i < columns; i++)
        mean += from[i];
    mean /= columns;
    for (int i = 0; i < columns; i++)
        square += (from[i] - mean) * (from[i] - mean);
    const double scale = 1 / sqrt(square / columns + epsilon);
    for (int i = 0; i < columns; i++)
        y[(size_t)row * columns + i] = (float)((from[i] - mean) * scale);
}

__global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= m * n)
        return;
    double all = 0;
    for (int i = 0; i < k; i++)
        all += (double)a[at / n * k + i] * b[i * n + at % n];
    c[at] = (float)all;
}

__global__ void transpose(const float *x, float *y, int rows, int columns)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < rows * columns)
        y[at % columns * rows + at / columns] = x[at];
}

__global__ void histogram(const int *x, unsigned *bins, int n, int count)
{
    const int bin = blockIdx.x * blockDim.x + threadIdx.x;
    if (bin >= count)
        return;
    unsigned found = 0;
    for (int i = 0; i < n; i++)
        found += x[i] == bin;
    bins[bin] = found;
}

__global__ void scan(const int *x, int *y, int n)
{
    int all = 0;
    for (int i = 0; i < n; i++)
        y[i] = all += x[i];
}

__global__ void argmax(const float *x, int *y, int rows, int columns) // the first of equal ones
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    int best = 0;
    for (int i = 1; i < columns; i++)
        if (x[(size_t)row * columns + i] > x[(size_t)row * columns + best])
            best = i;
    y[row] = best;
}

__global__ void blur(const float *x, float *y, int rows, int columns) // edges are repeated
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= rows * columns)
        return;
    double all = 0;
    for (int dr = -1; dr <= 1; dr++)
        for (int dc = -1; dc <= 1; dc++) {
            const int r = min(max(at / columns + dr, 0), rows - 1), c = min(max(at % columns + dc, 0), columns - 1);
            all += x[r * columns + c];
        }
    y[at] = (float)(all / 9);
}
}
