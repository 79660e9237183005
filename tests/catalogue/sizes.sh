#!/bin/sh
# sizes.sh KILN DEVICE SPEC SIZE...: runs every variant of a spec at each size, checked against its reference. A SIZE is
# the name of a size set, or settings joined by commas (M=7,N=5,K=3); with VARIANT,...: before it, it is for these alone,
# and +NAME=VALUE after it sets a param. On a device that is not there: exit 77, a skip.
set -eu
kiln=$1 device=$2 spec=$3
shift 3
own=$(mktemp -d)
trap 'rm -rf "$own"' EXIT
export KILN_CACHE_DIR="${KILN_TEST_CACHE:-$own}"

if [ "$device" != sim ] && ! "$kiln" devices | grep -q "$device"; then
    echo "SKIP: there is no device $device"
    exit 77
fi
failed=0 passed=0
variants=$("$kiln" show "$spec" --names)
[ -n "$variants" ] || { echo "no variants" >&2; exit 1; }
for size; do
    names=$variants
    case $size in
    *:*) names=$(echo "${size%%:*}" | tr , ' ') size=${size#*:} ;;
    esac
    case $size in
    *=*) arguments=$(echo ",$size" | sed 's/,/ -s /g; s/+/ -p /g') ;;
    *) arguments="-s $size" ;;
    esac
    case $size in */*) arguments="$arguments --read-anywhere" ;; esac # a file of the tests
    for variant in $names; do
        # shellcheck disable=SC2086  # a list of words
        if output=$("$kiln" run "$spec" -v "$variant" $arguments --device "$device" --no-measure 2>&1) &&
           echo "$output" | grep -q verified; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            printf '%s %s at %s:\n%s\n' "$spec" "$variant" "$size" "$output"
        fi
    done
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
