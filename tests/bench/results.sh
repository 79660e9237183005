#!/bin/sh
# results.sh ROOT: tests the way from measuring to the pages of results, without a GPU. catalogue.sh runs with an nvcc and a
# kiln that print the lines that a device would give; the test compares the rows and the pages. At the end it tests that the
# pages in kernel_src are up to date with their rows. Without python3 it exits with 77, which is a skip.
set -eu
root=$1
export PYTHONDONTWRITEBYTECODE=1
python3 -c '' 2>/dev/null || { echo "SKIP tool: there is no python3"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/tests/bench/peers" "$work/kernel_src"
cp "$root/tests/bench/catalogue.sh" "$root/tests/bench/results.py" "$root/tests/bench/search.py" "$root/tests/bench/charts.py" \
    "$work/tests/bench/"
: >"$work/tests/bench/peers/bounds.cu"
echo "// link: -lcublas" >"$work/tests/bench/peers/turn.cu"
: >"$work/tests/bench/peers/shift.cu"
printf '# a comment\nturn copy default N=3,M=4\nadd flops default\nshift flops default\nproduct tensor default\n' >"$work/tests/bench/works.txt"

# This nvcc makes an "executable" that prints the lines of bounds.cu. If the program is turn.cu, linked with cuBLAS, it
# prints the lines of turn.cu. shift.cu does not compile.
cat >"$work/bin/nvcc" <<'END'
#!/bin/sh
while [ "$1" != -o ]; do shift; done
lines='bound\t1GiB\tcopy\t0.5\t2e12\nbound\t1GiB\tread\t0.25\t1e12\n'
case $* in *shift.cu*) echo "error: shift" >&2; exit 1 ;; *turn.cu*-lcublas*) lines='turn\tdefault\tcuBLAS geam\t2e-4\t0\nturn\tother\tcuBLAS geam\t1\t0\n' ;; esac
printf '#!/bin/sh\nprintf "%s"\n' "$lines" >"$2"
chmod +x "$2"
END
# This kiln prints a sweep of two variants and of a bound. One configuration of a variant fails. For the spec `add` all
# times are estimates.
cat >"$work/bin/kiln" <<'END'
#!/bin/sh
measured=true
case $* in */add.yaml*) measured=false ;; esac
flops=null
case $* in */product.yaml*) flops=1e9 ;; esac
contender=true
sample() { # VARIANT SECONDS PARAMS STATUS
    printf '{"variant": "%s", "params": {%s}, "status": "%s", "contender": %s, "result": {"measured": %s,
            "seconds": %s, "bytes": 4e8, "flops": %s, "roofline": 0.5, "roofline_unit": "tensor_fp16"}}' \
        "$1" "$3" "$4" $contender $measured "$2" $flops
}
printf '{"device": {"name": "Some GPU", "peak_flops": 6e13}, "sizes": {"M": 4, "N": 3}, "samples": [%s, %s, %s, %s],
        "totals": {"configurations": 4, "seconds": 1.5}}' \
    "$(sample naive 4e-4 '"BLOCK": 32, "FAST": true' KILN_OK), $(contender=false && sample bound 5e-5 '' KILN_OK)" "$(sample tiled 2e-4 '"TILE": 32' KILN_OK)" \
    "$(sample tiled 1e-4 '"TILE": 16' KILN_OK)" "$(sample tiled 1e-9 '"TILE": 8' KILN_ERROR_WRONG_ANSWER)"
echo "$*" >>"$KILN_SAID"
END
chmod +x "$work/bin/nvcc" "$work/bin/kiln"
PATH=$work/bin:$PATH KILN=$work/bin/kiln KILN_SAID=$work/said
export PATH KILN KILN_SAID

same() { # WHAT GOT WANTED
    diff "$3" "$2" || { echo "$1 differs (< wanted)"; exit 1; }
}

"$work/tests/bench/catalogue.sh" "$work/out" turn 2>"$work/progress"
root_of_copy=$(cd "$work" && pwd)
cat >"$work/said.wanted" <<END
tune $root_of_copy/specs/turn.yaml -s default --no-store --quiet --json
tune $root_of_copy/specs/turn.yaml -s N=3 -s M=4 --no-store --quiet --json
END
same "what kiln was asked" "$work/said" "$work/said.wanted"
for size in default N=3,M=4; do
    printf 'turn\t%s\twork\tSome GPU\t0\t0\t0\tM=4 N=3\n' $size
    printf 'turn\t%s\tbound\tcopy\t0.5\t2e+12\t0\t\n' $size
    printf 'turn\t%s\tsweep\t4\t1.5\t0\t0\t1 x KILN_ERROR_WRONG_ANSWER\n' $size
    printf 'turn\t%s\taside\tbound\t5e-05\t400000000\t0\t\n' $size
    printf 'turn\t%s\tvariant\ttiled\t0.0001\t400000000\t0\tTILE=16\n' $size
    printf 'turn\t%s\tvariant\tnaive\t0.0004\t400000000\t0\tBLOCK=32 FAST=true\n' $size
    [ $size != default ] || printf 'turn\t%s\tpeer\tcuBLAS geam\t0.0002\t0\t0\t\n' $size
done >"$work/rows.wanted"
same "rows.tsv" "$work/out/rows.tsv" "$work/rows.wanted"

# With KILN_GROUPS, catalogue.sh runs a sweep for each group of variants, and writes the rows of all groups.
: >"$KILN_SAID"
KILN_GROUPS='naive,tiled bound' KILN_TUNE='-t 3' "$work/tests/bench/catalogue.sh" "$work/groups" turn/default 2>"$work/progress"
cat >"$work/said.wanted" <<END
tune $root_of_copy/specs/turn.yaml -s default -v naive,tiled -t 3 --no-store --quiet --json
tune $root_of_copy/specs/turn.yaml -s default -v bound -t 3 --no-store --quiet --json
END
same "what kiln was asked of groups" "$work/said" "$work/said.wanted"
sed 's/sweep\t4\t1.5\t0\t0\t1 x/sweep\t8\t3\t0\t0\t2 x/; /peer/q' "$work/rows.wanted" >"$work/groups.wanted"
same "rows.tsv of groups" "$work/groups/rows.tsv" "$work/groups.wanted"

# The peak of the tensor cores is computed from the roofline of a sample. Here 1e9 operations in 400 us reach half of
# the peak, so the peak is 5e12 a second.
"$work/tests/bench/catalogue.sh" "$work/product" product 2>"$work/progress"
grep -q "product	default	bound	tensor	1	0	5e+12" "$work/product/rows.tsv"

# An estimated time gives no row, and the exit code is not 0.
if "$work/tests/bench/catalogue.sh" "$work/none" add 2>"$work/progress"; then
    echo "a sweep of estimates passed for one of measurements"
    exit 1
fi
grep -q "no configuration was measured" "$work/progress"
[ ! -s "$work/none/rows.tsv" ]

# If a peer cannot be built, only its own figures are missing, and the exit code is not 0.
if "$work/tests/bench/catalogue.sh" "$work/shift" shift 2>"$work/progress"; then
    echo "a peer that did not compile passed"
    exit 1
fi
grep -q "no figures of the peer shift" "$work/progress"
grep -q "variant	tiled" "$work/shift/rows.tsv"

# The test writes the pages and the pictures. The page of a family that no longer has rows is deleted.
cp "$work/out/rows.tsv" "$work/kernel_src/results.tsv"
mkdir "$work/kernel_src/results"
: >"$work/kernel_src/results/gone.md"
# the rows are added a second time, and no row may be there twice
"$work/tests/bench/results.py" add "$work/kernel_src" "$work/out/rows.tsv"
printf 'family\twork\tdevice\nturn\tdefault\tSome GPU\t4\t5\t1.5\t1e-4\ttiled TILE=16\tinf\t0.7\t0.25\t60\t1.015\t1.02\n' \
    >"$work/kernel_src/search.tsv"
"$work/tests/bench/results.py" page "$work/kernel_src"
sort "$work/rows.wanted" >"$work/sorted.wanted"
sort "$work/kernel_src/results.tsv" >"$work/sorted"
same "results.tsv" "$work/sorted" "$work/sorted.wanted"
# 4e8 bytes in 100 us are 4,000 GB/s. The copy of bounds.cu moves 2e12 bytes in 0.5 s, which is the same speed.
[ ! -e "$work/kernel_src/results/gone.md" ]
for line in '| [turn](turn.md) | default | tiled | 1.000 | 2.00 | cuBLAS geam |' \
            '| turn/default | 4 of 5 | 1.5 s | tiled | 0.2 s | 0.7 s | - | 1.015 | 1.020 |' \
            '| (bound) | 50.0 µs | 8,000 | 2.000 |  |' \
            '| tiled | 100.0 µs | 4,000 | 1.000 | TILE=16 |' \
            '| *cuBLAS geam* (peer) | 200.0 µs | 2,000 | 0.500 |  |' \
            '| naive | 400.0 µs | 1,000 | 0.250 | BLOCK=32 FAST=true |' \
            'The sizes are M=4, N=3. The bound is the rate of a copy of 1 GiB: 4,000 GB/s. The sweep tried 4 configurations in 1.5 s. Failed: 1 x KILN_ERROR_WRONG_ANSWER.'; do
    grep -qxF "$line" "$work/kernel_src/results/README.md" "$work/kernel_src/results/turn.md" ||
        { cat "$work/kernel_src/results/"*.md; echo "no line: $line"; exit 1; }
done
# The chart of a family has a bar for each variant and each peer. The chart of all families compares the best variant
# with the peer.
[ "$(grep -c 'height="11" class="best"' "$work/kernel_src/results/turn.svg")" = 2 ]
[ "$(grep -c 'height="11" class="peer"' "$work/kernel_src/results/turn.svg")" = 1 ]
[ "$(grep -c 'height="11" class="aside"' "$work/kernel_src/results/turn.svg")" = 1 ]
grep -q '>2.00 x cuBLAS<' "$work/kernel_src/results/overview.svg"
for picture in turn overview; do
    python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$work/kernel_src/results/$picture.svg"
done
"$work/tests/bench/results.py" check "$work/kernel_src"
echo "| tiled | by hand |" >>"$work/kernel_src/results/turn.md"
if "$work/tests/bench/results.py" check "$work/kernel_src" 2>/dev/null; then
    echo "a page that was changed by hand passed"
    exit 1
fi

if [ -e "$root/kernel_src/results.tsv" ]; then
    "$root/tests/bench/results.py" check "$root/kernel_src" "$root/specs"
fi
