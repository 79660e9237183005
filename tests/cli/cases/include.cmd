# Headers in another folder than the source's: by `include:`, by a path that leads upwards, by -I and $KILN_INCLUDE.
sources() {
    mkdir -p "$1/src" "$1/include/deep"
    cat >"$1/add.yaml" <<EOF
kiln: 1
name: project
source: src/add.cu
include: include
sizes: {default: {N: 100}}
buffers: {z: {type: i32, shape: [N], out: true}}
params: {BLOCK: [32]}
launch: {kernel: k, grid: ["ceil_div(N, BLOCK)"], block: [BLOCK], args: [z, N]}
EOF
    echo '#pragma once
#include "../../src/mine.cuh"
struct helper { int one; };' >"$1/include/deep/helper.cuh"
    echo '#include "helper.cuh"
#define ONE (helper{MINE}.one)' >"$1/include/deep/value.cuh"
    echo '#define MINE 1' >"$1/src/mine.cuh"
    echo '#include "mine.cuh"
#include <deep/value.cuh>
#include "../include/deep/helper.cuh"
extern "C" __global__ void k(int *z, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = ONE;
}' >"$1/src/add.cu"
}
refused() { kiln run "$@" --no-verify 2>&1 | sed -E "s/(searched|below) .*(;|$)/\1 .../; s/, which are .*;/;/"; }
sources here
sources "there/of another name"
kiln run here/add.yaml --no-verify | grep code
kiln run "there/of another name/add.yaml" --no-verify | grep code
kiln cache list --json | grep -c '"id"'
echo '#define MINE 2' >here/src/mine.cuh
kiln run here/add.yaml --no-verify | grep code
echo "== a folder outside the spec's"
mkdir specs
sed 's|src/add.cu|../there/of another name/src/add.cu|; s|^include.*||' here/add.yaml >specs/add.yaml
refused specs/add.yaml
refused specs/add.yaml -I "there/of another name"
refused specs/add.yaml -I "there/of another name/src"
kiln run specs/add.yaml --no-verify -I "there/of another name" -I "there/of another name/include" | grep code
KILN_INCLUDE="there/of another name/include" kiln run specs/add.yaml --no-verify -I "there/of another name" | grep code
echo "== not there"
sed 's|^include.*|include: [include, none]|' here/add.yaml >here/none.yaml
refused here/none.yaml
sed 's|^include.*|include: ../there|' here/add.yaml >here/out.yaml
refused here/out.yaml
sed 's|^include.*|include: src/add.cu|' here/add.yaml >here/file.yaml
refused here/file.yaml
