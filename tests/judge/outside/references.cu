// references.cu - the answers of all operations of this folder, in double precision where they round.
extern "C" {

__global__ void prefmax(const float *x, float *y, int n)
{
    float most = x[0];
    for (int i = 0; i < n; i++)
        y[i] = most = x[i] > most ? x[i] : most;
}

__global__ void dot(const float *a, const float *b, float *y, int n)
{
    double all = 0;
    for (int i = 0; i < n; i++)
        all += (double)a[i] * b[i];
    y[0] = (float)all;
}

__global__ void conv3(const float *x, const float *w, float *y, int rows, int columns) // zeros outside
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= rows * columns)
        return;
    double all = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int r = at / columns + i - 1, c = at % columns + j - 1;
            if (r >= 0 && r < rows && c >= 0 && c < columns)
                all += (double)w[i * 3 + j] * x[r * columns + c];
        }
    y[at] = (float)all;
}

__global__ void rmsnorm(const float *x, const float *g, float *y, int rows, int columns, float epsilon)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    const float *from = x + (size_t)row * columns;
    double square = 0;
    for (int i = 0; i < columns; i++)
        square += (double)from[i] * from[i];
    const double scale = 1 / sqrt(square / columns + epsilon);
    for (int i = 0; i < columns; i++)
        y[(size_t)row * columns + i] = (float)(from[i] * scale * g[i]);
}

__global__ void quant(const float *x, signed char *y, int n, float scale) // halves to even, NaN is 0
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const double v = rint((double)x[i] / scale);
    y[i] = v != v ? 0 : v < -128 ? -128 : v > 127 ? 127 : (signed char)(int)v;
}

__global__ void gather(const float *x, const int *at, float *y, int n, int m) // 0 for an index out of range
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = at[i] < 0 || at[i] >= m ? 0.0f : x[at[i]];
}

__global__ void scatteradd(const int *at, const int *v, int *y, int n, int k)
{
    const int place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place >= k)
        return;
    int all = 0;
    for (int i = 0; i < n; i++)
        if (at[i] == place)
            all += v[i];
    y[place] = all;
}

__global__ void winsum(const int *x, const int *first, const int *count, int *y, int n, int windows) // clipped at n
{
    const int w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w >= windows)
        return;
    int all = 0;
    for (int i = first[w]; i < first[w] + count[w] && i < n; i++)
        all += x[i];
    y[w] = all;
}

__global__ void stencil3(const float *x, float *y, int depth, int height, int width) // the border is copied
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x, plane = height * width;
    if (at >= depth * plane)
        return;
    const int d = at / plane, h = at / width % height, w = at % width;
    double v = x[at];
    if (d > 0 && d + 1 < depth && h > 0 && h + 1 < height && w > 0 && w + 1 < width)
        v = 0.4 * v + 0.1 * ((double)x[at - 1] + x[at + 1] + x[at - width] + x[at + width] + x[at - plane] + x[at + plane]);
    y[at] = (float)v;
}

__global__ void sortrows(const int *x, int *y, int rows, int columns)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    int *to = y + (size_t)row * columns;
    for (int i = 0; i < columns; i++) {
        const int key = x[(size_t)row * columns + i];
        int k = i;
        for (; k > 0 && to[k - 1] > key; k--)
            to[k] = to[k - 1];
        to[k] = key;
    }
}

__global__ void xent(const float *x, const int *label, float *y, int rows, int columns)
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
    y[row] = (float)(most + log(all) - from[label[row]]);
}

__global__ void cmul(const float *a, const float *b, float *y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    y[2 * i] = (float)((double)a[2 * i] * b[2 * i] - (double)a[2 * i + 1] * b[2 * i + 1]);
    y[2 * i + 1] = (float)((double)a[2 * i] * b[2 * i + 1] + (double)a[2 * i + 1] * b[2 * i]);
}

__global__ void upsample(const float *x, float *y, int rows, int columns) // twice as large, corners not aligned
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= 4 * rows * columns)
        return;
    const double r = fmax(at / (2 * columns) * 0.5 - 0.25, 0.0), c = fmax(at % (2 * columns) * 0.5 - 0.25, 0.0);
    const int r0 = (int)r, c0 = (int)c, r1 = min(r0 + 1, rows - 1), c1 = min(c0 + 1, columns - 1);
    const double v = r - r0, u = c - c0;
    y[at] = (float)((x[r0 * columns + c0] * (1 - u) + x[r0 * columns + c1] * u) * (1 - v) +
                    (x[r1 * columns + c0] * (1 - u) + x[r1 * columns + c1] * u) * v);
}

__global__ void runstarts(const int *x, unsigned char *flag, unsigned *count, int n)
{
    unsigned found = 0;
    for (int i = 0; i < n; i++) {
        flag[i] = i == 0 || x[i] != x[i - 1];
        found += flag[i];
    }
    count[0] = found;
}

__global__ void biasgelu(const float *x, const float *b, float *y, int rows, int columns)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * columns)
        return;
    const double v = (double)x[i] + b[i % columns];
    y[i] = (float)(0.5 * v * erfc(-v * 0.70710678118654752));
}
}
