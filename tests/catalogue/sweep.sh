#!/bin/sh
# sweep.sh KILN DEVICE SPEC [quick] COUNT VARIANT,...:SIZE: runs random configurations of these variants, the same in every
# run, on this simulated device, and compares each answer with the reference. A SIZE is as in checks.sh. With
# KILN_TEST_WHOLE=1 there are COUNT configurations, otherwise half as many, because checks.sh compares the answers of
# random configurations too. With `quick` NVRTC optimises less (quick.sh).
set -eu
. "$(dirname "$0")/quick.sh"
kiln=$1 device=$2 spec=$3 used=$3 folders=''
own=$(mktemp -d)
trap 'rm -rf "$own"' EXIT
[ "$4" != quick ] || { make_quick "$spec" "$own" && shift; }
count=$4 variants=${5%%:*} size=${5#*:}
[ "${KILN_TEST_WHOLE:-0}" != 0 ] || count=$(((count + 1) / 2))
export KILN_CACHE_DIR="${KILN_TEST_CACHE:-$own}"
# shellcheck disable=SC2046,SC2086  # lists of words
sweep() {
    output=$("$kiln" tune "$used" $folders -v "$variants" $(echo ",$size" | sed 's/,/ -s /g; s/+/ -p /g') --device "$device" --no-measure \
        --no-store --strategy random --seed 1 -m "$count" 2>&1)
}
sweep || { lacks_option "$output" && used=$spec && sweep; } || { echo "$output"; exit 1; }
echo "$output" | grep -q "configurations  $count: $count verified, 0 failed" || { echo "$output"; exit 1; }
echo "$count configurations verified"
