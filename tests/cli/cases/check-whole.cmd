# If all blocks are whole at the checked sizes, a clean result has a note, because an access past the end may stay hidden.
cat >copy.yaml <<'END'
kiln: 1
name: copy
source: copy.cu
sizes: {tiny: {N: 512}}
buffers:
  x: {type: f32, shape: [N], fill: {uniform: [-1, 1]}}
  y: {type: f32, shape: [N], out: true}
params: {BLOCK: [64, 128]}
launch: {kernel: copy, grid: ["ceil_div(N, BLOCK)"], block: [BLOCK], args: [x, y]}
END
printf 'extern "C" __global__ void copy(const float *x, float *y)\n{\n    const int i = blockIdx.x * BLOCK + threadIdx.x;\n    y[i] = x[i];\n}\n' >copy.cu
kiln check copy.yaml; echo "exit $?"
kiln check copy.yaml --json | grep whole_blocks
kiln check copy.yaml -s N=500 | tail -1; echo "exit $?"
