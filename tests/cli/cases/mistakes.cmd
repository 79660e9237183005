# exit 2
# Frequent mistakes: the message says what to write instead.
cat >affine.cu <<'X'
extern "C" __global__ void affine(const float *x, float *y, int n)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i];
}
X
cat >base.yaml <<'X'
kiln: 1
name: affine
source: affine.cu
sizes: {default: {N: 5000}}
buffers:
  x: {type: f32, shape: [N], fill: {uniform: [-1, 1]}}
  y: {type: f32, shape: [N], out: true}
params: {BLOCK: [64, 128]}
launch: {kernel: affine, grid: [ceil_div(N, BLOCK)], block: [BLOCK], args: [x, y, N]}
X
try() {
    sed "$1" base.yaml >m.yaml
    kiln show m.yaml 2>&1 | head -n 1
}
for values in '1-4' '[1-4]' '1..4' '1:4' '"1, 2, 4"' '1 2 4' 'range(1, 5)'; do
    try "s/BLOCK: \[64, 128\]/BLOCK: $values/"
done
for fill in '{uniform: [1, -1]}' iota random randn zeros ones normal; do
    try "s/{uniform: \[-1, 1\]}/$fill/"
done
for type in float32 float64 float16 bfloat16 fp8 int32 uint8 size_t double half; do
    try "s/x: {type: f32/x: {type: $type/"
done
try 's/BLOCK: \[64, 128\]/BLOCK: [8-4, 128]/'
kiln tune affine.cu; echo $?
kiln run affine.cu; echo $?
kiln init base.yaml; echo $?
for option in --time --seconds --timeout --gpu --trials --repeat --metric --no-check; do
    kiln tune base.yaml $option 5
done
