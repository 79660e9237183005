#!/bin/sh
# driver_cases.sh PROGRAM EXPECTED [gpu|TEXT] tests that PROGRAM prints the text of the file EXPECTED and ends with 0.
# With "gpu", the exit code is 77 if there is no driver (then the program does not start), or if the program finds no
# GPU and ends with 77. With any other TEXT, the error output of the program must contain it.
out=$(mktemp) || exit 1
trap 'rm -f "$out" "$out.err"' EXIT
"$1" >"$out" 2>"$out.err"
code=$?
cat "$out.err" >&2
if [ "$3" = gpu ] && { [ $code = 77 ] || [ $code = 127 ]; }; then
    echo "SKIP gpu: the program has no driver, or no device"
    exit 77
fi
if [ "${3:-gpu}" != gpu ] && ! grep -qF "$3" "$out.err"; then
    echo "the error output does not have: $3"
    exit 1
fi
diff -u "$2" "$out" && exit $code
