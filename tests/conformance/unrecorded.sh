#!/bin/sh
# unrecorded.sh CONFORMANCE RECORDING: tests that a case without a recorded answer passes on the simulated device, and
# that the output names it. If the recording has none of the checked cases, the check must fail.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
name='add.s16 D@1, A@1, B@1;' some='.s16 D@1, A@1, B@1;'
grep -v -F -- "$name" "$2" > "$work/less.txt"
"$1" check "$work/less.txt" --device sim --only "$some" > "$work/out" || { cat "$work/out"; exit 1; }
grep -q -x -F -- "NOT RECORDED: $name" "$work/out" || { cat "$work/out"; echo "the case is not named: $name"; exit 1; }
if "$1" check "$work/less.txt" --device sim --only "$name" > "$work/out"; then
    cat "$work/out"
    echo "a recording without any of the cases passed"
    exit 1
fi
