# Threads that share a row, bins whose number is a param, and groups larger than a block.
cat >csr.cu <<'X'
__global__ void csr(const int *row_ptr, const int *col, const float *val, const float *x, float *y, int rows)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
    float sum = 0;
    if (row < rows)
        for (int i = row_ptr[row] + lane; i < row_ptr[row + 1]; i += LANES)
            sum += val[i] * x[col[i]];
    for (int step = LANES / 2; step; step /= 2)
        sum += __shfl_down_sync(~0u, sum, step, LANES);
    if (row < rows && lane == 0)
        y[row] = sum;
}
X
kiln init csr.cu -p LANES=2,4,8 -o csr.yaml && sed -n '/^params/,/^$/p; /^buffers/,/^$/p; /^launch/,$p' csr.yaml
kiln check csr.yaml -q | tail -1
sed 's/int row = (\(.*\)) \/ LANES, /int index = \1; int row = index \/ LANES; int /' csr.cu >csr2.cu
kiln init csr2.cu -p LANES=2,4,8 | sed -n '/^  grid/,/^  block/p'
cat >hist.cu <<'X'
__global__ void hist(const unsigned *x, unsigned *bins, int n)
{
    __shared__ unsigned local[BINS];
    for (int i = threadIdx.x; i < BINS; i += blockDim.x)
        local[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[x[i] % BINS], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < BINS; i += blockDim.x)
        atomicAdd(&bins[i], local[i]);
}
X
kiln init hist.cu -p BINS=64,128,256 | sed -n '/^params/,/^$/p; /^buffers/,/^$/p'
cat >groups.cu <<'X'
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void groups(float *y, int n)
{
    auto all = cg::this_grid();
    cg::thread_block block = cg::this_thread_block();
    unsigned i = block.group_index().x * block.group_dim().x + block.thread_index().x;
    if (i < n)
        y[i] = all.group_dim().x;
}
X
kiln init groups.cu | sed -n '/^params/,/^$/p; /^  grid/,$p'
# A block is a row that has two parts.
echo '__global__ void parts(const float *x, float *y, int d) { long row = blockIdx.x, from = row * 2 * d; for (int i = threadIdx.x; i < d; i += blockDim.x) y[row * d + i] = x[from + i] * x[from + d + i]; }' >parts.cu
kiln init parts.cu | sed -n '/^  x:/p; /^  y:/p; /^  grid/,$p'
# A value that is missing or has no name, and the place of a reason.
kiln init hist.cu -p BINS=64,,256; echo $?
kiln init hist.cu -p BINS=64,; echo $?
kiln init hist.cu -p 1X=3; echo $?
echo '__global__ void large(float *y, int n) { int i = blockIdx.x * THREADS + threadIdx.x; if (i < n) y[i] = i; }' >large.cu
kiln init large.cu -p THREADS=512,1024,2048 2>/dev/null | sed -n '/^params/,/^$/p'
