# The estimate counts spilled registers, which the PTX does not contain. One block runs, so the registers do not change
# the occupancy.
cat >many.cu <<'END'
extern "C" __global__ void many(float *x, int n)
{
    float sums[64];
#pragma unroll
    for (int k = 0; k < 64; k++)
        sums[k] = x[threadIdx.x + 32 * k];
    for (int i = 0; i < n; i++)
#pragma unroll
        for (int k = 0; k < 64; k++)
            sums[k] = sums[k] * sums[(k + 1) % 64] + 1;
#pragma unroll
    for (int k = 0; k < 64; k++)
        x[threadIdx.x + 32 * k] = sums[k];
}
END
cat >many.yaml <<'END'
kiln: 1
name: many
source: many.cu
sizes: {default: {N: 2000}}
params: {REGISTERS: [255, 32]}
options: ["-maxrregcount={REGISTERS}"]
buffers:
  x: {type: f32, shape: [2048], fill: 0, out: true}
launch: {kernel: many, grid: [1], block: [32], args: [x, N]}
END
seconds() { kiln run many.yaml --device sim:h200 -s default --no-verify --json --quiet -p REGISTERS=$1 | sed -n 's/^ *"seconds": \([^,]*\),.*/\1/p'; }
echo "$(seconds 255) $(seconds 32)" | awk '{ print ($2 > 1.1 * $1 ? "spills take time" : "spills take no time: " $0) }'
