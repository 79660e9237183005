#!/bin/sh
# sizes.sh KILN DEVICE SPEC [--params] SIZE... [-- SIZE...]: runs every variant of a spec at each size, and checks it against its
# reference. A SIZE is the name of a size set, or settings joined by commas (M=7,N=5,K=3). VARIANT,...: before a SIZE
# limits it to these variants, and +NAME=VALUE after it sets a param. If the device does not exist, the exit code is 77, a
# skip.
#
# At the sizes after --, NVRTC optimises less (quick.sh), because these sizes only test the answers. Users compile with
# full optimisation, so each variant must also run at a size before the --. With --params another test runs the variants at
# their other sizes, so this demand is off.
set -eu
. "$(dirname "$0")/quick.sh"
kiln=$1 device=$2 spec=$3 params=0
shift 3
[ "$1" != --params ] || { params=1 && shift; }
own=$(mktemp -d)
trap 'rm -rf "$own"' EXIT
export KILN_CACHE_DIR="${KILN_TEST_CACHE:-$own}"

if [ "$device" != sim ] && ! "$kiln" devices | grep -q "$device"; then
    echo "SKIP gpu: there is no device $device"
    exit 77
fi
failed=0 passed=0 used=$spec folders='' whole=' '
variants=$("$kiln" show "$spec" --names)
[ -n "$variants" ] || { echo "no variants" >&2; exit 1; }
for size; do
    if [ "$size" = -- ]; then
        make_quick "$spec" "$own"
        continue
    fi
    names=$variants
    case $size in
    *:*) names=$(echo "${size%%:*}" | tr , ' ') size=${size#*:} ;;
    esac
    case $size in
    *=*) arguments=$(echo ",$size" | sed 's/,/ -s /g; s/+/ -p /g') ;;
    *) arguments="-s $size" ;;
    esac
    case $size in */*) arguments="$arguments --read-anywhere" ;; esac # the size is a file of the tests
    # All variants run in one process, because each process would load the compiler again.
    wanted=$(echo "$names" | wc -w)
    list=$(echo "$names" | tr ' \n' ,,)
    # shellcheck disable=SC2086  # a list of words
    run() { output=$("$kiln" run "$1" $2 -v "${list%,}" $arguments --device "$device" --no-measure 2>&1) && code=0 || code=$?; }
    run "$used" "$folders"
    if lacks_option "$output"; then
        used=$spec folders=
        run "$used" ''
    fi
    for name in $names; do
        if [ "$used" = "$spec" ] || [ $params = 1 ]; then
            whole="$whole$name "
        else
            case $whole in *" $name "*) ;; *) failed=$((failed + 1)); echo "$name: compiled with -Ofc=mid alone" ;; esac
        fi
    done
    verified=$(echo "$output" | grep -c '^  answer  *verified' || :)
    passed=$((passed + verified))
    if [ "$verified" != "$wanted" ] || [ "$code" != 0 ]; then
        failed=$((failed + 1))
        printf '%s at %s: %s of %s verified, exit code %s:\n%s\n' "$spec" "$size" "$verified" "$wanted" "$code" "$output"
    fi
done
echo "$passed passed, failures at $failed sizes"
[ "$failed" = 0 ]
