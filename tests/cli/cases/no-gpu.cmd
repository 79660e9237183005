# Without a GPU and without a device by name: estimated times, and the limit of a first sweep.
unset KILN_DEVICE
export KILN_LIBCUDA=/nowhere/libcuda.so.1
kiln run add -s default | grep -E 'device|time'
kiln run add -s default --arch sm_80 | grep device
kiln run add --arch sm_80 --device sim; echo "exit $?"
kiln run add --arch 80; echo "exit $?"
kiln doctor | grep -c 'estimated times; the default without a GPU'
one="--variants plain -p BLOCK=32 -p ITEMS=1"
kiln tune add $one | sed '/^Totals/,/^$/d'
kiln tune add $one --json | grep -E '"(ranked_by|limit_seconds|space)"'
kiln tune add $one --all --json | grep limit_seconds
kiln tune add $one --device sim:h200 --json | grep limit_seconds
KILN_DEVICE=sim kiln tune add $one --json | grep -E '"(ranked_by|limit_seconds)"'
kiln tune add $one -m 3 --json | grep -E '"(limit_seconds|space)"'
kiln tune add --max-seconds 3 --all; echo "exit $?"
# The time is over before the first is done: nothing is known about the time of the rest.
kiln tune add --variants plain --max-seconds 1e-9 | tail -n 1
# What does not take the small sizes is left out, and said; unless that is everything.
cat >two.cu <<'X'
extern "C" __global__ void one(float *x) { x[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
X
cat >two.yaml <<'X'
kiln: 1
name: two
source: two.cu
sizes: {default: {N: 4096}, tiny: {N: 64}}
buffers: {x: {type: f32, shape: [N], out: true}}
variants:
  any: {launch: {kernel: one, grid: ["N // 32"], block: [32], args: [x]}}
  large: {where: N >= 1000, launch: {kernel: one, grid: ["N // 64"], block: [64], args: [x]}}
X
kiln tune ./two.yaml | grep -E 'left out|Tried| any| large'
sed '/  any:/d' two.yaml >large.yaml
kiln tune ./large.yaml | grep -E 'left out|Tried| any| large'
# The checks see every block, and not only those that the estimate looks at.
cat >late.cu <<'X'
extern "C" __global__ void late(float *x)
{
    x[blockIdx.x * blockDim.x + threadIdx.x] = 1;
    if (blockIdx.x == gridDim.x - 1)
        x[gridDim.x * blockDim.x + threadIdx.x] = 2;
}
X
cat >late.yaml <<'X'
kiln: 1
name: late
source: late.cu
sizes: {default: {N: 4096}}
buffers: {x: {type: f32, shape: [N + 4], out: true}}
launch: {kernel: late, grid: ["ceil_div(N, 32)"], block: [32], args: [x]}
X
kiln run ./late.yaml --check --device sim >sim.txt 2>&1; echo "exit $?"
kiln run ./late.yaml --check >h200.txt 2>&1; echo "exit $?"
grep -v -E 'device|time|rate|code' sim.txt | sed 's/0x[0-9a-f]*//' >a.txt
grep -v -E 'device|time|rate|code' h200.txt | sed 's/0x[0-9a-f]*//' | diff a.txt - && head -n 3 a.txt
# A profile that cannot be read: the simulated device without estimates, and a warning.
echo nonsense >h200.profile
kiln run add -s default | grep -E 'device|time'
