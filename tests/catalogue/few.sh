#!/bin/sh
# few.sh KILN SPEC PROFILE SIZE...: does the same as checks.sh, on a simulated device with only two of the
# multiprocessors of PROFILE. So persistent blocks process several tiles even at a small size. The answers are checked too.
set -eu
kiln=$1 spec=$2 profile=$3
shift 3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export KILN_CACHE_DIR="${KILN_TEST_CACHE:-$folder/cache}"
sed 's/^sm_count:.*/sm_count: 2/; s/^gpc_sms:.*/gpc_sms: 2/' "$profile" >"$folder/few.profile"
! cmp -s "$profile" "$folder/few.profile" || { echo "$profile has no sm_count" >&2; exit 1; }
failed=0
for size; do
    arguments=$(echo ",${size#*:}" | sed 's/,/ -s /g; s/+/ -p /g')
    # shellcheck disable=SC2086  # a list of words
    if ! output=$("$kiln" run "$spec" -v "${size%%:*}" $arguments --device "sim:$folder/few.profile" --check \
                      --no-measure 2>&1) || ! echo "$output" | grep -q '^  answer  *verified'; then
        failed=$((failed + 1))
        printf '%s at %s:\n%s\n' "$spec" "$size" "$output"
    fi
done
[ "$failed" = 0 ] || { echo "$failed failed"; exit 1; }
