#!/bin/sh
# same.sh KILN DEVICE SPEC BUFFER VARIANT... -- SETTINGS: runs each of these variants twice, or three times with
# KILN_TEST_WHOLE=1. They promise the same bits in every run. The simulated device starts blocks in their order, on one,
# four and two host threads, and the warps of a block take turns. So its runs differ only in the progress of the running blocks. Only a GPU tests other orders of
# blocks (same.SPEC.cuda:0). SETTINGS are options of kiln run. If the device does not exist, the exit code is 77, a skip.
set -eu
kiln=$1 device=$2 spec=$3 buffer=$4
shift 4
variants=
while [ "$1" != -- ]; do
    variants="$variants $1"
    shift
done
shift
if [ "$device" != sim ] && ! "$kiln" devices | grep -q "$device"; then
    echo "SKIP gpu: there is no device $device"
    exit 77
fi
folder=$(mktemp -d)
export KILN_CACHE_DIR="${KILN_TEST_CACHE:-$folder/cache}"
trap 'rm -rf "$folder"' EXIT
failed=0 runs='1 4'
[ "${KILN_TEST_WHOLE:-0}" = 0 ] && [ "$device" = sim ] || runs='1 4 2'
for variant in $variants; do
    for run in $runs; do
        KILN_SIM_THREADS=$run "$kiln" run "$spec" -v "$variant" --device "$device" --no-measure \
            --output "$buffer=$folder/$run.npy" "$@" >/dev/null
        cmp "$folder/1.npy" "$folder/$run.npy" || { failed=$((failed + 1)); echo "$spec $variant: run $run differs"; }
    done
done
[ "$failed" = 0 ] || { echo "$failed failed"; exit 1; }
