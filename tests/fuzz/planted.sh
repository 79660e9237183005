#!/bin/sh
# planted.sh PROGRAM: tests that libFuzzer finds an error of each kind in planted.c, and that it finds nothing if no
# error is planted.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# find KIND WORDS: requires that the run fails, and that its message matches WORDS, an extended regular expression.
find() {
    if KILN_FUZZ_PLANT=$1 "$program" -seed=1 -runs=400000 -max_len=8 -verbosity=0 >log 2>&1; then
        echo "planted: $1: nothing was found"
        exit 1
    fi
    grep -Eq "$2" log || { echo "planted: $1: no '$2' in:"; cat log; exit 1; }
}
program=$1
find address heap-buffer-overflow
case ${ASAN_OPTIONS:-} in
*detect_leaks=0*) ;; # tools/test.sh has said why
*) find leak 'detected memory leaks' ;;
esac
find overflow 'deadly signal|AddressSanitizer: ILL|signed integer overflow'
find cast 'deadly signal|AddressSanitizer: ILL|outside the range of representable values'
"$program" -seed=1 -runs=1000 -max_len=8 -verbosity=0 >log 2>&1 || { cat log; exit 1; }
echo "every kind is found"
