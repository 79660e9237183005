#!/bin/sh
# far.sh KILN SOURCE: runs the last blocks of stencils with 2^31 - 1 columns, and with as many rows, with all checks. No
# access may lie outside of the grid. The script changes the shipped kernels in two ways: the first block has the number
# of the first of these last blocks, and the pointers lie so far below the memory that only the last points of the grid
# are inside.
set -eu
kiln=$1 source=$2
folder=$(mktemp -d)
export KILN_CACHE_DIR="${KILN_TEST_CACHE:-$folder/cache}"
trap 'rm -rf "$folder"' EXIT
sed 's/blockIdx\.x/(blockIdx.x + SKIP)/g
     s/^    .*Tile tile = tile_of_block(/    in -= BASE, out -= BASE;\n&/' "$source" >"$folder/far.cu"
cp "$(dirname "$source")"/*.cuh "$folder"
failed=0
# check VARIANT COLUMNS ROWS [STEPS]: checks the blocks, with the defaults of the source.
check() {
    macro=STENCIL_$(echo "$1" | tr '[:lower:]' '[:upper:]')
    for tile in "$2" "$3"; do
        extents="2147483647, 1"
        [ "$tile" = "$2" ] || extents="1, 2147483647"
        cat >"$folder/far.yaml" <<SPEC
kiln: 1
name: far
source: far.cu
sizes: {default: {N: 500}}
buffers: {x: {type: f32, shape: [N], fill: 1}, y: {type: f32, shape: [N], fill: 0, out: true}}
define: {STENCIL_ONE: 1, $macro: 1, BASE: 2147483647 - N, SKIP: "ceil_div(2147483647, $tile) - 3"}
launch: {kernel: stencil_$1, grid: [3], block: [32, 8], shared: 39168, args: [x, y, $extents, 1${4:+, $4}]}
SPEC
        if ! output=$("$kiln" check "$folder/far.yaml" --no-verify 2>&1) ||
           ! echo "$output" | grep -q "1 configuration checked, nothing found"; then
            failed=$((failed + 1))
            printf '%s of %s:\n%s\n' "$1" "$extents" "$output"
        fi
    done
}
check naive 32 8
check pencil 32 8
check register_tiled 32 16
check shared_register 32 8
check coarsened 128 16
check staged 128 16
check temporal 120 14 2
[ "$failed" = 0 ] || { echo "$failed failed"; exit 1; }
