#!/bin/sh
# alone.sh KILN FOLDER: compiles each CUDA source of the folder without macros, as an editor does. So the test checks that
# the default values of the macros fit together, and that all kernels of a source compile at once.
set -eu
kiln=$1 sources=$2
folder=$(mktemp -d)
export KILN_CACHE_DIR="${KILN_TEST_CACHE:-$folder/cache}"
trap 'rm -rf "$folder"' EXIT
cp "$sources"/*.cuh "$folder"
failed=0 passed=0
# with -Ofc=max NVRTC hardly optimises, and takes a third of the time; before version 13 there is only -G, which takes
# half of the time
option=-Ofc=max
for source in "$sources"/*.cu; do
    name=$(basename "$source" .cu)
    cp "$source" "$folder"
    kernel=$(tr '\n' ' ' <"$source" | grep -o 'extern "C" __global__[^{;]*' | head -n 1 |
             sed -E 's/__launch_bounds__\([^)]*\)//; s/ *\(.*//; s/.* //')
    inspect() {
        cat >"$folder/$name.yaml" <<EOF
kiln: 1
name: $name
source: $name.cu
options: [$option]
sizes: {default: {N: 1}}
launch: {kernel: $kernel, grid: [1], block: [1], args: []}
EOF
        output=$("$kiln" inspect "$folder/$name.yaml" --device sim --ptx="$folder/$name.ptx" 2>&1)
    }
    if ! inspect; then
        case $output in *"unrecognized option"*) option=-G ;; esac
    fi
    if inspect &&
       grep -q "\.entry $kernel" "$folder/$name.ptx"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf '%s:\n%s\n' "$source" "$output"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
