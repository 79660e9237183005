# Estimates of a few blocks: if a kernel takes its addresses from an earlier kernel, all blocks run, and nothing fails.
cat > place.cu <<'END'
extern "C" __global__ void place(int *to, int n)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n)
        to[i] = n - 1 - i;
}
extern "C" __global__ void put(const int *to, int *y, int n)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n)
        y[to[(i + n / 3) % n]] = i;
}
END
cat > place.yaml <<'END'
kiln: 1
name: place
source: place.cu
sizes: {default: {N: 400000}}
buffers:
  to: {type: i32, shape: [N], fill: 2000000000}
  y: {type: i32, shape: [N], out: true}
params: {BLOCK: [128, 256]}
steps:
  - launch: {kernel: place, grid: [ceil_div(N, BLOCK)], block: [BLOCK], args: [to, N]}
  - launch: {kernel: put, grid: [ceil_div(N, BLOCK)], block: [BLOCK], args: [to, y, N]}
END
kiln tune place.yaml --device sim:h200 --no-verify --no-store --json --quiet | grep -E '"(status|configurations|failed|estimated)"'
