#!/bin/sh
# addresses.sh KILN FOLDER: multiplies matrices whose addresses are not multiples of 16 bytes. Callers of the kernels can
# have such matrices.
set -eu
kiln=$1 sources=$2
folder=$(mktemp -d)
export KILN_CACHE_DIR="${KILN_TEST_CACHE:-$folder/cache}"
trap 'rm -rf "$folder"' EXIT
cp "$sources"/common.cuh "$folder"
cat "$sources"/matmul.cu - >"$folder/shifted.cu" <<'EOF'
extern "C" __global__ void copy(const float *from, unsigned from_offset, float *to, unsigned to_offset, unsigned count)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        to[to_offset + i] = from[from_offset + i];
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    shifted(const float *a, const float *b, float *p, unsigned M, unsigned N, unsigned K)
{
    make_tile(product(a + 1, b + 1, p + 1, M, N, K, 0, K, 8), p + 1);
}
EOF
cat >"$folder/shifted.yaml" <<'EOF'
kiln: 1
name: shifted
source: shifted.cu
sizes: {default: {M: 128, N: 128, K: 32}}
buffers:
  A: {type: f32, shape: [M, K], fill: {uniform: [-1, 1], seed: 1}}
  B: {type: f32, shape: [K, N], fill: {uniform: [-1, 1], seed: 2}}
  P: {type: f32, shape: [M, N], out: true}
  a: {type: f32, shape: [M * K + 1]}
  b: {type: f32, shape: [K * N + 1]}
  p: {type: f32, shape: [M * N + 1]}
verify: {P: {against: {host: matmul_f64}, rtol: 1e-5, atol: 1e-5}}
define: {MATMUL_ONE: 1, MATMUL_COARSENED: 1, TILE_M: 64, TILE_N: 64, TILE_K: 16, UNROLL: 16}
steps:
  - launch: {kernel: copy, grid: [ceil_div(M * K, 256)], block: [256], args: [A, 0, a, 1, M * K]}
  - launch: {kernel: copy, grid: [ceil_div(K * N, 256)], block: [256], args: [B, 0, b, 1, K * N]}
  - launch: {kernel: shifted, grid: [4], block: [64], shared: 8 * (16 * 128 + 32), args: [a, b, p, M, N, K]}
  - launch: {kernel: copy, grid: [ceil_div(M * N, 256)], block: [256], args: [p, 1, P, 0, M * N]}
EOF
"$kiln" run "$folder/shifted.yaml" --device sim --no-measure
