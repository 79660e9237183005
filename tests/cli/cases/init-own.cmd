# Params of names that the source itself defines: a trial decides which other values keep the answer. WARP_SIZE, and a
# constant of the host, are no tile sizes.
cat >own.cu <<'X'
#define TILE 16
#define WARP_SIZE 32
constexpr int ROWS_PER_BLOCK = 4;
__global__ void own(const float *a, float *b, int width, int height)
{
    __shared__ float tile[ROWS_PER_BLOCK][TILE];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * ROWS_PER_BLOCK + threadIdx.y;
    if (x < width && y < height) {
        tile[threadIdx.y][threadIdx.x] = a[y * width + x];
        b[y * width + x] = 2 * tile[threadIdx.y][threadIdx.x] + threadIdx.y % 4;
    }
}
void run(const float *a, float *b, int width, int height)
{
    const int TILE_OF_HOST = 8;
    dim3 block(TILE, ROWS_PER_BLOCK, 1);
    dim3 grid(width / TILE, height / ROWS_PER_BLOCK, 1);
    if (width % TILE != 0) grid.x += 1;
    if (height % ROWS_PER_BLOCK) { grid.y++; }
    own<<<grid, block>>>(a, b, width, height);
}
X
kiln init own.cu -o own.yaml && sed -n '/^params/,/^$/p; /^  grid/,$p' own.yaml
kiln tune own.yaml -q | grep configurations
# The host computes the threads in a function that kiln does not read.
cat >rows.cu <<'X'
__global__ void rows(int b, int m, const float *x, float *y)
{
    for (int i = threadIdx.x; i < m; i += blockDim.x)
        y[blockIdx.x * m + i] = 2 * x[blockIdx.x * m + i];
}
void run(int b, int m, const float *x, float *y) { rows<<<b, threads_for(m), 0, stream>>>(b, m, x, y); }
X
kiln init rows.cu -o rows.yaml && sed -n '/^params/,/^$/p; /^  grid/,$p' rows.yaml
# A loop in steps of the whole grid: the number of blocks may vary, but not if each block has a result.
cat >steps.cu <<'X'
__global__ void steps(const float *x, float *y, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = 2 * x[i];
}
__global__ void sums(const float *x, float *y, int n)
{
    float sum = 0;
    for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64)
        sum += x[i];
    y[blockIdx.x * 64 + threadIdx.x] = sum;
}
void run(const float *x, float *y, int n)
{
    const int blocks = 32, threads = 128;
    steps<<<blocks, threads>>>(x, y, n);
    sums<<<32, 64>>>(x, y, n);
}
X
kiln init steps.cu -o steps.yaml && sed -n '/^params/,/^$/p; /^  grid/,$p' steps.yaml
kiln init steps.cu -k sums | sed -n '/^params/,/^$/p; /^  grid/p' | cut -c 1-110
# The number of threads is a quotient of two arguments of the template, and the kernel computes it too.
cat >items.cu <<'X'
template <int SPAN, int ITEMS> __global__ void items(const float *x, float *y, int n)
{
    constexpr int STEP = SPAN / ITEMS;
    for (int i = 0; i < ITEMS; i++)
        if (blockIdx.x * SPAN + i * STEP + threadIdx.x < n)
            y[blockIdx.x * SPAN + i * STEP + threadIdx.x] = 2 * x[blockIdx.x * SPAN + i * STEP + threadIdx.x];
}
void run(const float *x, float *y, int n) { items<512, 4><<<(n + 511) / 512, 128>>>(x, y, n); }
X
kiln init items.cu -o items.yaml && sed -n '/^params/,/^$/p; /^  grid/,$p' items.yaml
kiln tune items.yaml -q | grep configurations
# An array has an element for each block, so the number of blocks keeps its value.
cat >parts.cu <<'X'
#define BLOCK 64
__global__ void parts(const float *x, float *y, int n)
{
    float sum = 0;
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK)
        sum += x[i];
    atomicAdd(&y[blockIdx.x], sum);
}
void run(const float *x, float *y, int n) { parts<<<32, BLOCK>>>(x, y, n); }
X
kiln init parts.cu | sed -n '/^params/,/^$/p; /^  y/p; /^  grid/,$p' | cut -c 1-110
# The number of blocks depends on a condition in whose braces other statements stand, so kiln does not read it.
cat >nested.cu <<'X'
__global__ void nested(const float *x, float *y, int n)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i];
}
void run(const float *x, float *y, int n)
{
    dim3 grid(n / 64);
    int rest = 0;
    if (n % 64) { rest = n % 64; grid.x += 1; }
    nested<<<grid, 64>>>(x, y, n);
}
X
kiln init nested.cu -o nested.yaml && sed -n '/^  grid/,$p' nested.yaml
