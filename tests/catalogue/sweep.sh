#!/bin/sh
# sweep.sh KILN DEVICE SPEC COUNT VARIANT,...:SIZE: so many configurations of these variants on this simulated device, drawn
# at random but the same in every run: each is checked against the reference. A SIZE is as in checks.sh.
set -eu
kiln=$1 device=$2 spec=$3 count=$4 variants=${5%%:*} size=${5#*:}
own=$(mktemp -d)
trap 'rm -rf "$own"' EXIT
export KILN_CACHE_DIR="${KILN_TEST_CACHE:-$own}"
# shellcheck disable=SC2046  # a list of words
output=$("$kiln" tune "$spec" -v "$variants" $(echo ",$size" | sed 's/,/ -s /g; s/+/ -p /g') --device "$device" --no-measure \
    --no-store --strategy random --seed 1 -m "$count" 2>&1) || { echo "$output"; exit 1; }
echo "$output" | grep -q "configurations  $count: $count verified, 0 failed" || { echo "$output"; exit 1; }
