# A variant may have a tolerance of its own, which may use its params; the others keep that of `verify`.
cat >n.cu <<'S'
extern "C" __global__ void k(float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 1.0f + OFF * 1e-3f;
}
S
cat >n.yaml <<'S'
kiln: 1
name: n
source: n.cu
sizes: {default: {N: 100}}
buffers: {y: {type: f32, shape: [N], out: true}}
params: {OFF: [0, 1, 3]}
verify: {y: {against: {variant: exactly}}}
variants:
  exactly: {launch: {kernel: k, grid: [1], block: [128], args: [y, N]}}
  roughly:
    tolerance: {y: {atol: 2e-3 if OFF < 3 else 1e-6}}
    launch: {kernel: k, grid: [1], block: [128], args: [y, N]}
S
for config in exactly:0 exactly:1 roughly:1 roughly:3; do
    kiln run n.yaml -v "${config%:*}" -p "OFF=${config#*:}" --no-measure >out 2>&1
    echo "$config: exit $?"
done
kiln tune n.yaml -v roughly --no-store --csv s.csv >out 2>&1
grep -c KILN_OK s.csv
