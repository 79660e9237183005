# exit 3
# References: a host function that knows the buffers by other names, and a variant with params of its own.
cat >product.cu <<'END'
extern "C" __global__ void product(const float *left, const float *right, float *out, int m, int n, int k)
{
    int row = blockIdx.y, column = blockIdx.x * BLOCK + threadIdx.x;
    if (column >= n)
        return;
    float sum = START;
    for (int i = 0; i < k; i++)
        sum += left[row * k + i] * right[i * n + column];
    out[row * n + column] = sum;
}
END
cat >product.yaml <<'END'
kiln: 1
name: product
source: product.cu
sizes: {default: {ROWS: 5, COLUMNS: 6, DEPTH: 7}}
buffers:
  left: {type: f32, shape: [ROWS, DEPTH], fill: {uniform: [-1, 1]}}
  right: {type: f32, shape: [DEPTH, COLUMNS], fill: {uniform: [-1, 1]}}
  out: {type: f32, shape: [ROWS, COLUMNS], out: true}
params: {START: [0, 1]}
variants:
  one:
    params: {BLOCK: [32]}
    launch: {kernel: product, grid: [1, ROWS], block: [BLOCK], args: [left, right, out, ROWS, COLUMNS, DEPTH]}
  two:
    params: {BLOCK: [2, 64]}
    launch: {kernel: product, grid: [ceil_div(COLUMNS, BLOCK), ROWS], block: [BLOCK], args: [left, right, out, ROWS, COLUMNS, DEPTH]}
verify:
  out: {against: {host: matmul_f64, A: left, B: right, P: out}}
END
kiln run product.yaml | grep answer
kiln run product.yaml -p START=1
echo "--- with one that it does not ask for" >&2
sed 's/P: out/P: out, Q: right, C: 3/' product.yaml >names.yaml
kiln run names.yaml | grep answer
echo "--- without the names" >&2
sed 's/, A: left, B: right, P: out//' product.yaml >names.yaml
kiln run names.yaml
echo "--- against a variant, with params of its own and one that both have" >&2
sed 's/{host: .*}}/{variant: two, params: {BLOCK: 64, START: START}}}/' product.yaml >variant.yaml
kiln run variant.yaml -p START=1 | grep answer
sed 's/{host: .*}}/{variant: two, params: {BLOCK: 64}}}/' product.yaml >other.yaml
kiln run other.yaml -p START=1
echo "--- what is refused" >&2
sed 's/{host: .*}}/{variant: two, params: {BLOK: 64}}}/' product.yaml >wrong.yaml
kiln run wrong.yaml
sed 's/P: out/P: out, n: START/' product.yaml >wrong.yaml
kiln run wrong.yaml
