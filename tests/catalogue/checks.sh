#!/bin/sh
# checks.sh KILN DEVICE SPEC [quick] SIZE...: runs every variant of a spec at each size under the checks of this simulated
# device, which must find nothing. A SIZE is as in sizes.sh. With VARIANT,...: before its settings it is for these variants
# alone, and +NAME=VALUE after them fixes a param.
#
# NVRTC takes most of the time. So every size runs, and every variant has a random configuration, but not at every size:
# - The default, whose code sizes.sh needs too, runs at every size without a fixed param.
# - A variant also runs with a random configuration, the same in every run, at its last size that is not `one`. Most of
#   these sizes have a ragged edge.
# - At a size with fixed params one random configuration of each variant runs and no default, because the other defaults
#   may not be valid with these values.
# With KILN_TEST_WHOLE=1 a random configuration runs at every size, and two at the sizes with fixed params. With `quick`
# NVRTC optimises the random configurations less (quick.sh).
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
failed=0 checked=0 whole=${KILN_TEST_WHOLE:-0}
fail() {
    failed=$((failed + 1))
    printf '%s at %s:\n%s\n' "$spec" "$size" "$output"
}
# Sets `names` to the variants of a size, and `size` to the rest of the argument.
split_size() {
    names=$variants
    case $size in
    *:*) names=$(echo "${size%%:*}" | tr , ' ') size=${size#*:} ;;
    esac
}

# last_NAME: the number of the last size of a variant that fixes no param and is not `one`.
number=0
for size; do
    number=$((number + 1))
    split_size
    case $size in *+* | one) continue ;; esac
    for name in $names; do
        eval "last_$name=$number"
    done
done
number=0
for size; do
    number=$((number + 1))
    split_size
    case $size in
    *=*) arguments=$(echo ",$size" | sed 's/,/ -s /g; s/+/ -p /g') ;;
    *) arguments="-s $size" ;;
    esac
    # All variants run in one process with one compiler. A second compiler would cost more to start than it saves,
    # because other tests run at the same time.
    wanted=$(echo "$names" | wc -w)
    list=$(echo "$names" | tr ' \n' ,,)
    default=1 drawn=1 random=
    case $size in *+*) default=0 drawn=$((1 + whole)) ;; esac
    for name in $names; do
        [ "$default$whole" = 10 ] && eval "[ \$last_$name != $number ]" || random=$random$name,
    done
    # shellcheck disable=SC2086  # a list of words
    if [ $default = 1 ] &&
       { ! output=$("$kiln" run "$spec" -v "${list%,}" $arguments --device "$device" --check --no-measure -j 1 2>&1) ||
         [ "$(echo "$output" | grep -c '^  answer  *verified' || :)" != "$wanted" ]; }; then
        fail
    fi
    checked=$((checked + default * wanted))
    [ -n "$random" ] || continue
    # shellcheck disable=SC2086  # a list of words
    check() {
        output=$("$kiln" check "$used" $folders --device "$device" -v "${random%,}" $arguments --each -m $drawn --strategy random --seed 1 -j 1 2>&1)
    }
    if ! { check || { lacks_option "$output" && used=$spec && check; }; } ||
       ! echo "$output" | grep -q "configurations* checked, nothing found"; then
        fail
    fi
    count=$(echo "$output" | sed -n 's/.*  \([0-9]*\) configurations* checked.*/\1/p')
    checked=$((checked + ${count:-0}))
done
echo "$checked configurations checked, failures at $failed sizes"
[ "$failed" = 0 ]
