#!/bin/sh
# run.sh KILN CASE.cmd: runs a golden case of the command. CASE.cmd is a shell script that calls `kiln`. The files
# CASE.out and CASE.err beside it have the expected output. If such a file is missing, the case must print nothing
# there. If the first line is `# exit N`, the case must exit with N, and otherwise with 0. A line `# needs PROGRAM`
# skips the case if there is no such program, or no such file if PROGRAM is a path. `# needs terminal` skips the case if
# no pseudo-terminal can be opened. `# needs browser` skips it if there is no Chromium; $BROWSER is its path. The case
# runs in an empty folder, on the simulated device, with its own cache. $SPECS is the folder of test specs.
#
# Times, folders and identities differ from run to run, so normal() replaces them by fixed words. With UPDATE=1 the
# script writes the expected files; read the difference before you keep it.
set -u
kiln_program=$1 case=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

BROWSER=$(command -v chromium || command -v chromium-headless-shell)
export BROWSER
for program in $(sed -n 's/^# needs //p' "$case"); do
    case $program in
    terminal) python3 -c 'import os; os.openpty()' 2>/dev/null || { echo "SKIP terminal: no pseudo-terminal can be opened"; exit 77; } ;;
    browser) [ -n "$BROWSER" ] || { echo "SKIP browser: there is no chromium or chromium-headless-shell"; exit 77; } ;;
    *) command -v "$program" >/dev/null 2>&1 || [ -e "$program" ] || { echo "SKIP tool: there is no $program"; exit 77; } ;;
    esac
done

mkdir "$work/bin" "$work/run"
ln -s "$kiln_program" "$work/bin/kiln"
worker=$(dirname "$kiln_program")/kiln-worker
[ -x "$worker" ] && export KILN_WORKER="$worker"
export SPECS="$here/specs" TOOLS="$here" KILN="$kiln_program"
export PATH="$work/bin:$PATH" HOME="$work" KILN_CACHE_DIR="$work/cache" KILN_DEVICE=sim KILN_PATH="$SPECS"
export LC_ALL="${KILN_TEST_LOCALE:-C}" TERM=dumb # KILN_TEST_LOCALE and LOCPATH run the case under another locale
unset KILN_INCLUDE XDG_CACHE_HOME XDG_DATA_HOME KILN_STORE KILN_VEGA NO_COLOR

# A loaded machine may announce that a sweep takes more than a minute.
normal() {
    sed -E -e '/; --max-seconds 60 searches for the best in less time$/d' \
        -e '/compile workers are not confined/d' -e '/kernels run (without a sandbox|in a sandbox that)/d' -e "s|$work|\$WORK|g" -e "s|$SPECS|\$SPECS|g" \
        -e 's/[0-9]+(\.[0-9]+)? (ns|us|ms|s)([^a-z]|$)/TIME\3/g' -e 's/[0-9]+ min TIME/TIME/g' \
        -e 's/simulated (ns|us|ms|s)( |$)/simulated UNIT\2/' -e 's/^( +[0-9]* *)[0-9]+\.[0-9]{3}  /\1NUMBER  /' \
        -e 's/0x[0-9a-f]+/ADDRESS/g; s/PTX line [0-9]+/PTX line N/' \
        -e 's/NVRTC [0-9.]+/NVRTC N/g; s/nvrtc [0-9.]+/nvrtc N/g' \
        -e 's/([^ ])  +/\1  /g' -e 's/ +$//'
}

want=$(sed -n '1s/^# exit //p' "$case")
(cd "$work/run" && sh "$case" >"$work/out" 2>"$work/err" </dev/null)
got=$?
normal <"$work/out" >"$work/got.out"
normal <"$work/err" >"$work/got.err"

failed=0
for stream in out err; do
    expected=${case%.cmd}.$stream
    if [ -n "${UPDATE:-}" ]; then
        if [ -s "$work/got.$stream" ]; then cp "$work/got.$stream" "$expected"; else rm -f "$expected"; fi
        continue
    fi
    [ -e "$expected" ] || expected=/dev/null
    diff -u "$expected" "$work/got.$stream" || failed=1
done
if [ "$got" != "${want:-0}" ]; then
    echo "exit code $got, not ${want:-0}; standard error:"
    cat "$work/err"
    failed=1
fi
exit $failed
