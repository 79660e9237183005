#!/bin/sh
# program.sh PROGRAM SOURCE_FOLDER NAME: runs the example engine/examples/NAME.c on the simulated device. It must print
# expected/NAME.out. If a line of this file begins with ~, the rest is an extended regular expression for the whole
# line. Then the script plants a fault in a file that the program reads. The output must now differ; otherwise the test
# could not notice the fault.
set -eu
program=$1 source=$2 name=$3 here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export KILN_DEVICE=sim HOME="$work" KILN_CACHE_DIR="${KILN_TEST_CACHE:-$work/cache}"
unset KILN_PATH KILN_STORE || true
fail() { echo "FAIL: $name: $*" >&2; exit 1; }

lines=$(wc -l <"$source/engine/examples/$name.c")
[ "$lines" -lt 60 ] || fail "$lines lines, not fewer than 60"
head -n 1 "$source/engine/examples/$name.c" | grep -q "^/\* $name\.c - .*?\$" || fail "its first line asks no question"

cp -r "$source/specs/examples/." "$work"
cp "$source"/engine/examples/*.yaml "$source"/engine/examples/*.cu "$work"
cd "$work"
set -- first.yaml
file=first.cu fault='s/+ y\[at\]/- y[at]/'
case $name in
launch | own_context | graph | host_function) ;;
best) set -- first.yaml known.yaml; file=known.yaml fault='s/BLOCK: 256/BLOCK: 128/' ;;
tune) file=first.yaml fault='s/ITEMS: .*/ITEMS: [1]/' ;;
threads) set -- launch_only.yaml; file=launch_only.cu fault='s/i < n;/i < n - 1;/' ;;
errors) file=first.yaml fault='s/BLOCK: .*/BLOCK: [100]/' ;;
check) set -- race.yaml; file=race.cu fault='s/^    to/    __syncthreads();&/' ;;
allocator) fault='s/float a/flaot a/' ;;
*) fail "no line of this script says how it is run" ;;
esac

agrees() { # tells whether got.out equals the expected output
    awk -v expected="$here/expected/$name.out" '
        { have = (getline want <expected) > 0 }
        !have { bad = 1 }
        have && want ~ /^~/ { if ($0 !~ "^(" substr(want, 2) ")$") bad = 1; next }
        have && $0 != want { bad = 1 }
        END { if ((getline want <expected) > 0) bad = 1; exit bad }' got.out
}
"$program" "$@" >got.out 2>got.err || fail "exit code $?: $(cat got.out got.err)"
agrees || fail "it does not print expected/$name.out: $(cat got.out)"
if [ "$name" = tune ]; then # checks the lines of progress
    [ "$(grep -c ' of 6, works$' got.err)" = 6 ] || fail "no six lines of progress: $(cat got.err)"
fi

cp "$file" before
sed -i "$fault" "$file"
! cmp -s before "$file" || fail "the fault is not in $file"
if "$program" "$@" >got.out 2>got.err && agrees; then
    fail "the fault in $file is not noticed"
fi
echo "$name: prints what it should, the planted fault is noticed"
