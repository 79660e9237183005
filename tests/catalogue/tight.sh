#!/bin/sh
# tight.sh KILN SPEC FACTOR VARIANT,...:SIZE...: runs these variants at these sizes with the spec's absolute tolerance
# times FACTOR. The spec's tolerance is for all params and for the largest sizes, at which the largest error of all sums
# is larger.
set -eu
kiln=$1 spec=$2 factor=$3
shift 3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export KILN_CACHE_DIR="${KILN_TEST_CACHE:-$folder/cache}"
tight=$folder/$(basename "$spec")
sed "s/atol: \([^,}]*\)/atol: $factor * (\1)/" "$spec" >"$tight"
! cmp -s "$spec" "$tight" || { echo "$spec has no atol" >&2; exit 1; }
failed=0
for work; do
    arguments=$(echo ",${work#*:}" | sed 's/,/ -s /g; s/+/ -p /g')
    names=${work%%:*}
    wanted=$(echo "$names" | tr , ' ' | wc -w)
    # shellcheck disable=SC2086  # a list of words
    output=$("$kiln" run "$tight" -v "$names" -I "$(dirname "$spec")/../kernel_src" $arguments --device sim \
                 --no-measure 2>&1) && code=0 || code=$?
    verified=$(echo "$output" | grep -c '^  answer  *verified' || :)
    if [ "$verified" != "$wanted" ] || [ "$code" != 0 ]; then
        failed=$((failed + 1))
        printf '%s at %s: %s of %s verified, exit code %s:\n%s\n' "$spec" "${work#*:}" "$verified" "$wanted" "$code" "$output"
    fi
done
[ "$failed" = 0 ] || { echo "$failed failed"; exit 1; }
