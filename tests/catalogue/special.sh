#!/bin/sh
# special.sh KILN SPEC BUFFER EXTENT... -- SETTINGS: every variant of a spec on infinities, NaN, -0, denormals and numbers that
# overflow (special.py), checked against its reference. SETTINGS are options of kiln run.
set -eu
kiln=$1 spec=$2 buffer=$3
shift 3
extents=
while [ "$1" != -- ]; do
    extents="$extents $1"
    shift
done
shift
here=$(dirname "$0")
folder=$(mktemp -d)
export KILN_CACHE_DIR="$folder/cache"
trap 'rm -rf "$folder"' EXIT
# shellcheck disable=SC2086  # a list of numbers
python3 "$here/special.py" "$folder/special.npy" $extents
variants=$("$kiln" show "$spec" --names)
[ -n "$variants" ] || { echo "no variants" >&2; exit 1; }
failed=0
for variant in $variants; do
    if ! output=$("$kiln" run "$spec" -v "$variant" --device sim --input "$buffer=$folder/special.npy" "$@" 2>&1) ||
       ! echo "$output" | grep -q verified; then
        failed=$((failed + 1))
        printf '%s %s:\n%s\n' "$spec" "$variant" "$output"
    fi
done
[ "$failed" = 0 ] || { echo "$failed failed"; exit 1; }
