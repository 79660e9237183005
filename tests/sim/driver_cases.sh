#!/bin/sh
# driver_cases.sh PROGRAM EXPECTED [gpu]: PROGRAM's output is the file EXPECTED, and it ends with 0. With "gpu", 77 where
# there is no driver (the program does not start) or no GPU (it says 77 itself).
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
"$1" >"$out"
code=$?
if [ "$3" = gpu ] && { [ $code = 77 ] || [ $code = 127 ]; }; then
    echo "SKIP gpu: the program has no driver, or no device"
    exit 77
fi
diff -u "$2" "$out" && exit $code
