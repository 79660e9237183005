# After a sweep was killed, the same command continues it. Only the launch uses the params, so there is one compile.
cat >many.cu <<'X'
extern "C" __global__ void add(const float *x, float *z, int n, int items)
{
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * items;
    for (int i = first; i < first + items && i < n; i++)
        z[i] = x[i] + x[i];
}
X
cat >many.yaml <<'X'
kiln: 1
name: many
source: many.cu
sizes: {tiny: {N: 300}}
buffers:
  x: {type: f32, shape: [N], fill: {iota: [0, 1]}}
  z: {type: f32, shape: [N], out: true}
params: {BLOCK: {from: 32, to: 1024, step: 32, macro: false}, ITEMS: {from: 1, to: 1000, macro: false}}
launch: {kernel: add, grid: ["ceil_div(N, BLOCK * ITEMS)"], block: [BLOCK], args: [x, z, N, ITEMS]}
X
kiln tune ./many.yaml --no-verify -m 1 --no-store >/dev/null # compiled
for after in 0.02 0.05 0.08 0.12 0.16 0.25; do
    kiln tune ./many.yaml --no-verify -m 300 --strategy exhaustive >/dev/null 2>&1 &
    sleep $after
    kill -KILL $! 2>/dev/null # it may have ended
    wait $! 2>/dev/null
    count=$(kiln results ./many.yaml --json 2>/dev/null | grep -c '"key"')
    kept=$(kiln tune ./many.yaml --no-verify --strategy exhaustive -m "$((count > 0 ? count : 1))" --json | sed -n -E 's/^ +"reused": ([0-9]+),/\1/p')
    [ "$kept" = "$count" ] || echo "killed after $after s: $count were there, $kept were taken"
    kiln results prune ./many.yaml >/dev/null
done
echo done
