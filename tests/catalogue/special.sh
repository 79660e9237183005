#!/bin/sh
# special.sh KILN DEVICE SPEC [VARIANT,...:]BUFFER EXTENT... -- SETTINGS: runs every variant of a spec, or these variants,
# on special numbers, and checks them against their references. special.py writes one array for each kind: infinities, NaN,
# -0, denormals, and numbers that overflow. If all numbers are denormals, even a wrong answer is within the spec's atol, so
# the script uses a copy of the spec with a smaller atol. An EXTENT can also be one of three words: the type of the numbers
# (f16 instead of f32); a variant that treats denormals as 0, as atomics do, and that is left out for denormals; or !KIND,
# a kind that is left out. SETTINGS are options of kiln run.
set -eu
kiln=$1 device=$2 spec=$3 buffer=$4
shift 4
extents='' left_out=' '
while [ "$1" != -- ]; do
    case $1 in
    f16) extents="f16 $extents" ;;
    *[!0-9]*) left_out="$left_out$1 " ;;
    *) extents="$extents $1" ;;
    esac
    shift
done
shift
here=$(dirname "$0")
folder=$(mktemp -d)
export KILN_CACHE_DIR="${KILN_TEST_CACHE:-$folder/cache}"
trap 'rm -rf "$folder"' EXIT
sources=$(dirname "$spec")/../kernel_src
tight=$folder/$(basename "$spec")
sed 's/atol: [^,}]*/atol: 1e-42/' "$spec" >"$tight"
! cmp -s "$spec" "$tight" || { echo "$spec has no atol" >&2; exit 1; }
variants=$("$kiln" show "$spec" --names)
[ -n "$variants" ] || { echo "no variants" >&2; exit 1; }
case $buffer in
*:*) variants=$(echo "${buffer%%:*}" | tr , ' ') buffer=${buffer#*:} ;;
esac
failed=0
# shellcheck disable=SC2086  # a list of numbers
python3 "$here/special.py" "$folder" $extents
for kind in inf -inf nan large zero denormal; do
    checked=$spec
    [ $kind != denormal ] || checked=$tight
    names=
    for variant in $variants; do
        case $kind$left_out in denormal*" $variant "* | *" !$kind "*) continue ;; esac
        names=$names,$variant
    done
    [ -n "$names" ] || continue
    # All variants run in one process, because each process would load the compiler again.
    wanted=$(echo "$names" | tr , ' ' | wc -w)
    output=$("$kiln" run "$checked" -v "${names#,}" -I "$sources" --device "$device" --no-measure \
                 --input "$buffer=$folder/$kind.npy" "$@" 2>&1) && code=0 || code=$?
    verified=$(echo "$output" | grep -c '^  answer  *verified' || :)
    if [ "$verified" != "$wanted" ] || [ "$code" != 0 ]; then
        failed=$((failed + 1))
        printf '%s on %s: %s of %s verified, exit code %s:\n%s\n' "$spec" "$kind" "$verified" "$wanted" "$code" "$output"
    fi
done
[ "$failed" = 0 ] || { echo "$failed failed"; exit 1; }
