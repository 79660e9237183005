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
# Blocks are whole along one size only. kiln init takes odd sizes where the kernel runs with them, and warns of the others.
cat >scale.cu <<'END'
__global__ void scale(const float *x, float *y, int width, int height)
{
    const int x0 = blockIdx.x * 32, y0 = blockIdx.y * ROWS;
    const int column = x0 + threadIdx.x, row = y0 + threadIdx.y;
    if (column <= width && row < height)
        y[row * width + column] = 2 * x[row * width + column];
}
END
kiln init scale.cu -p ROWS=4,8 -o scale.yaml 2>&1 | sed 's/failed: .*\. If/failed: WHY. If/'
grep -E '^# .tiny|  tiny:|grid: |check: the grid' scale.yaml
kiln check scale.yaml
kiln check scale.yaml -s width=65 | tail -1
sed 's/<= width/< width/' scale.cu >right.cu
kiln init right.cu -p ROWS=4,8 -o right.yaml
grep -E '^# .tiny|  tiny:|grid: |check: the grid' right.yaml
kiln check right.yaml
