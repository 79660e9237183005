# What the runs of a draft show: values that fail, rows at indices from memory, extents with an argument of the template,
# outputs that are written only partly. The drafts run as written, and a check finds nothing.
cat >rows.cu <<'X'
#ifndef VEC
#define VEC 4
#endif
__global__ void rows(const float *x, float *y, int n)
{
    int i = VEC * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 4 <= n)
        *(float4 *)&y[i] = *(const float4 *)&x[i];
}
void run(const float *x, float *y, int n) { rows<<<(n + 64 * VEC - 1) / (64 * VEC), 64>>>(x, y, n); }
X
kiln init rows.cu -o rows.yaml && sed -n '/^params/,/^$/p' rows.yaml | cut -c 1-110
kiln tune rows.yaml -q | grep configurations
# The kernel is compiled twelve times: NVIDIA's cooperative_groups.h would take half a second each time.
cat >groups.h <<'X'
namespace cooperative_groups {
struct group { __device__ dim3 group_index() const { return blockIdx; } __device__ dim3 thread_index() const { return threadIdx; } };
static __device__ group this_thread_block() { return {}; }
}
X
cat >gather.cu <<'X'
#include "groups.h"
namespace cg = cooperative_groups;
#define TILE 16
__global__ void __launch_bounds__(TILE * TILE) gather(const uint2 *ranges, const int *list, int W, int H, const float2 *points, float *out)
{
    auto block = cg::this_thread_block();
    uint2 pixel = {block.group_index().x * TILE + block.thread_index().x, block.group_index().y * TILE + block.thread_index().y};
    uint2 range = ranges[block.group_index().y * ((W + TILE - 1) / TILE) + block.group_index().x];
    float sum = 0;
    for (unsigned i = range.x; i < range.y; i++)
        sum += points[list[i]].x;
    if (pixel.x < W && pixel.y < H)
        out[pixel.y * W + pixel.x] = sum * pixel.x;
}
void render(const dim3 grid, dim3 block, uint2 *ranges, int *list, int W, int H, float2 *points, float *out)
{
    gather<<<grid, block>>>(ranges, list, W, H, points, out);
}
X
kiln init gather.cu -o gather.yaml && sed -n '/^buffers/,/^$/p; /^  grid/,$p' gather.yaml
kiln check gather.yaml -q | tail -1
cat >heads.cu <<'X'
template <int HEAD> __global__ void heads(const half *q, half *o, int rows)
{
    for (int i = threadIdx.x; i < HEAD; i += 32)
        o[((size_t)blockIdx.y * rows + blockIdx.x) * HEAD + i] = q[((size_t)blockIdx.y * rows + blockIdx.x) * HEAD + i];
}
template <int HEAD> void run(torch::Tensor q)
{
    int batch = q.size(0), rows = q.size(1);
    heads<HEAD><<<dim3(rows, batch), 32>>>(q.data(), q.data(), rows);
}
void all(torch::Tensor q) { run<48>(q); }
X
sed -i '1i #include <torch/extension.h>' heads.cu
kiln init heads.cu -o heads.yaml && sed -n '/^sizes/,/^$/p; /^params/,/^$/p; /^buffers/,/^$/p; /^  grid/,$p' heads.yaml
kiln check heads.yaml -q | tail -1
echo '__global__ void some(const float *x, float *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i & ~1] = x[i & ~1]; }' >some.cu
kiln init some.cu -o some.yaml && sed -n '/^buffers/,/^$/p' some.yaml
kiln tune some.yaml -q | grep configurations
# A value that needs a larger array than the defaults is left out, and the draft runs as it did before.
cat >wide.cu <<'X'
template <int WIDTH> __global__ void wide(const int *index, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        for (int k = 0; k < WIDTH; k++)
            y[i * WIDTH + k] = x[index[i] * WIDTH + k];
}
X
kiln init wide.cu -p WIDTH=1,2,4 -o wide.yaml 2>/dev/null && sed -n '/^params/,/^$/p; /^buffers/,/^$/p' wide.yaml | sed 's/\(failed: 4\): .*/\1/' # reads out of bounds: wrong, or a fault
kiln run wide.yaml -s tiny -q | head -1
# A value that needs more steps than a trial may take stays in the list, and a comment says so.
echo '__global__ void slow(float *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; float s = 1; for (int k = 0; k < LOOPS; k++) s = s * 0.5f + i; if (i < n) y[i] = s > 1e30f ? s : i; }' >slow.cu
KILN_SIM_STEPS=200000 kiln init slow.cu -p LOOPS=4,8,100000 -o slow.yaml && sed -n '/^params/,/^$/p' slow.yaml
