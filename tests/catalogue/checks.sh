#!/bin/sh
# checks.sh KILN SPEC SIZE...: some configurations of every variant of a spec at each size, drawn at random but the same
# in every run, under the checks of the simulated device: nothing may be found. A SIZE is as in sizes.sh; with
# VARIANT,...: before its settings it is for these alone, and +NAME=VALUE after them fixes a param.
set -eu
kiln=$1 spec=$2
shift 2
own=$(mktemp -d)
trap 'rm -rf "$own"' EXIT
export KILN_CACHE_DIR="${KILN_TEST_CACHE:-$own}"
variants=$("$kiln" show "$spec" --names)
[ -n "$variants" ] || { echo "no variants" >&2; exit 1; }
failed=0
for size; do
    names=$variants
    case $size in
    *:*) names=$(echo "${size%%:*}" | tr , ' ') size=${size#*:} ;;
    esac
    case $size in
    *=*) arguments=$(echo ",$size" | sed 's/,/ -s /g; s/+/ -p /g') ;;
    *) arguments="-s $size" ;;
    esac
    # In one process, with one compiler: another would cost more to start than it saves, where other tests run beside it.
    list=$(echo "$names" | tr ' \n' ,,)
    # shellcheck disable=SC2086  # a list of words
    if ! output=$("$kiln" check "$spec" -v "${list%,}" $arguments --each -m 3 --strategy random --seed 1 -j 1 2>&1) ||
       ! echo "$output" | grep -q "configurations* checked, nothing found"; then
        failed=$((failed + 1))
        printf '%s at %s:\n%s\n' "$spec" "$size" "$output"
    fi
done
[ "$failed" = 0 ] || { echo "$failed failed"; exit 1; }
