#!/bin/sh
# driver_cases.sh PROGRAM EXPECTED [gpu|TEXT]: PROGRAM's output is the file EXPECTED, and it ends with 0. With "gpu", 77 where
# there is no driver (the program does not start) or no GPU (it says 77 itself). With another TEXT, the error output has it.
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
