#!/bin/sh
# planted.sh KILN DEVICE [WORKER]: runs a sweep over every kind of bad configuration, measured in a separate process. The
# result must contain each bad configuration with its reason, and the good ones must work. WORKER is planted_worker; by
# default it is the one of KILN's build tree (KILN is build/tools/kiln).
set -u
kiln=$(realpath "$1") device=$2
here=$(cd "$(dirname "$0")" && pwd)
real=$(dirname "$kiln")/kiln-worker
worker=${3:-$(dirname "$kiln")/../tests/planted_worker}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

mkdir "$work/marks"
KILN_PLANTED_MARKS=$work/marks KILN_PLANTED_WORKER=$real KILN_WORKER=$worker "$kiln" tune "$here/planted.yaml" -d "$device" --isolate \
    --no-early-stop --cache-dir "$work" --store "$work/samples.db" --jobs 2 --compile-timeout "${COMPILE_TIMEOUT:-40}" \
    --sample-timeout "${SAMPLE_TIMEOUT:-6}" --csv "$work/samples.csv" >"$work/out" 2>"$work/err"
code=$?
cat "$work/out" "$work/err"
[ "$code" = 7 ] && { echo "SKIP gpu: there is no $device"; exit 77; }
failed=0
[ "$code" = 0 ] || { echo "FAIL: the sweep ended with $code"; failed=1; }

# expect CONFIGURATION STATUS COUNT: checks that COUNT of the samples whose line matches CONFIGURATION have this status.
expect() {
    found=$(grep -E -- "$1" "$work/samples.csv" | grep -c -- ",$2,")
    if [ "$found" = "$3" ]; then
        echo "ok: $1 $2"
    else
        echo "FAIL: $1: $found samples with $2, not $3"
        failed=1
    fi
}
expect '^[0-9]*,planted,.*compile_error' KILN_ERROR_COMPILE 1
expect '^[0-9]*,planted,.*compiler_crash' KILN_ERROR_COMPILE 1
expect '^[0-9]*,planted,.*compiler_hang' KILN_ERROR_TIMEOUT 1
expect '^[0-9]*,planted,.*illegal_address' KILN_ERROR_DEVICE 1
expect '^[0-9]*,planted,.*misaligned_address' KILN_ERROR_DEVICE 1
expect '^[0-9]*,planted,.*endless' KILN_ERROR_TIMEOUT 1
expect '^[0-9]*,planted,.*wrong_answer' KILN_ERROR_WRONG_ANSWER 1
expect '^[0-9]*,planted,.*runner_killed[^_]' KILN_ERROR_DEVICE 1
expect '^[0-9]*,refused,' KILN_ERROR_LAUNCH 1
expect '^[0-9]*,too_large,' KILN_ERROR_DEVICE_MEMORY 1
expect '^[0-9]*,planted,.*good' KILN_OK 1
expect '^[0-9]*,reference,' KILN_OK 1
expect '^[0-9]*,after,' KILN_OK 3
expect '^[0-9]*,planted,.*compiler_killed[^_]' KILN_ERROR_COMPILE 1
expect '^[0-9]*,planted,.*compiler_killed_once' KILN_OK 1
expect '^[0-9]*,planted,.*runner_killed_once' KILN_OK 1
[ -e "$work/marks/not-alone" ] && { echo "FAIL: a configuration that killed its runner was not measured again alone"; failed=1; }
cat "$work/samples.csv"

# The store has all samples. A second sweep uses a worker that does not die. This sweep measures again the
# configurations whose worker died or ran out of time. It takes the other samples from the store, because their failures
# are faults of the kernel.
again() {
    KILN_WORKER=$real "$kiln" tune "$here/planted.yaml" -d "$device" --isolate -v planted -p "KIND=$1" \
        --cache-dir "$work" --store "$work/samples.db" --jobs 1 --csv "$work/samples.csv" >"$work/out" 2>&1
    expect "^[0-9]*,planted,.*$1" "$2" 1
    grep -q "reused from earlier sweeps" "$work/out" && found=taken || found=made
    [ "$found" = "$3" ] && return
    echo "FAIL: the second sweep: $1 was $found, not $3"
    cat "$work/out"
    failed=1
}
for kind in compiler_crash compiler_hang compiler_killed runner_killed; do
    again "$kind" KILN_OK made
done
for kind in compile_error illegal_address wrong_answer; do
    again "$kind" 'KILN_ERROR_[A-Z_]*' taken
done
for kind in compiler_killed_once runner_killed_once; do
    again "$kind" KILN_OK taken
done
[ "$failed" = 0 ] && echo "every planted failure cost one sample"
exit $failed
