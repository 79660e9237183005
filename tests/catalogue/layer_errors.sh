#!/bin/sh
# layer_errors.sh KILN SCRIPT LAYER VARIANT REFERENCE: checks that a variant of specs/convnet.yaml has no larger errors
# than another variant, for each of four classes of numbers. It compares the median, the 99.9th percentile and the
# maximum. SCRIPT is tests/bench/layer_errors.sh.
set -eu
kiln=$1 script=$2 layer=$3 variant=$4 reference=$5
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export KILN_CACHE_DIR="${KILN_TEST_CACHE:-$folder/cache}"
"$script" "$kiln" sim "$layer" "$reference" "$variant" | tee "$folder/errors.txt"
awk -v variant="$variant" -v reference="$reference" '
    $1 == reference { for (i = 2; i <= 6; i += 2) bound[i] = $i }
    $1 == variant { for (i = 2; i <= 6; i += 2) { checked++; if ($i + 0 > bound[i] + 0) { print "larger: " $0; failed = 1 } } }
    END { if (checked != 12) { print checked " of 12 errors"; failed = 1 } exit failed }' "$folder/errors.txt"
