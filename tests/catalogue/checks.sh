#!/bin/sh
# checks.sh KILN DEVICE SPEC [quick] SIZE...: runs two configurations of every variant of a spec at each size with all
# checks of this simulated device. The checks must find nothing. The configurations are the default, whose code sizes.sh
# needs too, and a random one, the same in every run. A SIZE is as in sizes.sh. VARIANT,...: before a SIZE limits it to
# these variants, and +NAME=VALUE after it sets a param. With a param there is one random configuration and no default,
# because the other defaults may not be valid with this value. With `quick`, NVRTC optimises the random configurations
# less (quick.sh). KILN_TEST_WHOLE=1 adds a random configuration at the first size and at the sizes with params.
set -eu
. "$(dirname "$0")/quick.sh"
kiln=$1 device=$2 spec=$3 used=$3 folders=''
shift 3
own=$(mktemp -d)
trap 'rm -rf "$own"' EXIT
[ "$1" != quick ] || { make_quick "$spec" "$own" && shift; }
export KILN_CACHE_DIR="${KILN_TEST_CACHE:-$own}"
variants=$("$kiln" show "$spec" --names)
[ -n "$variants" ] || { echo "no variants" >&2; exit 1; }
failed=0 checked=0 more=0
[ "${KILN_TEST_WHOLE:-0}" = 0 ] || more=1
drawn=$((1 + more))
fail() {
    failed=$((failed + 1))
    printf '%s at %s:\n%s\n' "$spec" "$size" "$output"
}
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
    wanted=$(echo "$names" | wc -w)
    list=$(echo "$names" | tr ' \n' ,,)
    default=1
    case $size in *+*) default=0 drawn=$((1 + more)) ;; esac
    # shellcheck disable=SC2086  # a list of words
    if [ $default = 1 ] &&
       { ! output=$("$kiln" run "$spec" -v "${list%,}" $arguments --device "$device" --check --no-measure -j 1 2>&1) ||
         [ "$(echo "$output" | grep -c '^  answer  *verified' || :)" != "$wanted" ]; }; then
        fail
    fi
    # shellcheck disable=SC2086  # a list of words
    check() {
        output=$("$kiln" check "$used" $folders --device "$device" -v "${list%,}" $arguments --each -m $drawn --strategy random --seed 1 -j 1 2>&1)
    }
    if ! { check || { lacks_option "$output" && used=$spec && check; }; } ||
       ! echo "$output" | grep -q "configurations* checked, nothing found"; then
        fail
    fi
    drawn=1
    checked=$((checked + default * wanted + $(echo "$output" | sed -n 's/.*  \([0-9]*\) configurations* checked.*/\1/p')))
done
echo "$checked configurations checked, failures at $failed sizes"
[ "$failed" = 0 ]
