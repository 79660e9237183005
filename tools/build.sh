#!/bin/sh
# tools/build.sh PRESET [TARGET...]: configures and builds one preset of CMakePresets.json, quietly unless it fails. If
# several are started at the same time, they run one after the other.
set -eu
cd "$(dirname "$0")/.."
preset=$1
shift
mkdir -p build
exec 9>"build/.lock-$preset"
if command -v flock >/dev/null 2>&1; then flock 9; fi
log=build/$preset.log
# If the command fails, prints its log without the numbered lines of ninja, which belong to successful steps.
run() { "$@" >"$log" 2>&1 || { sed '/^\[[0-9]*\/[0-9]*\] /d' "$log" >&2; echo "build: failed: $*; log: $log" >&2; exit 1; }; }
[ -e "build/$preset/build.ninja" ] || echo "build: the first build of $preset takes some minutes; it writes $log" >&2
if [ ! -e "build/$preset/build.ninja" ] || [ -n "${KILN_CMAKE_ARGS:-}" ]; then
    # shellcheck disable=SC2086  # a list of words
    run cmake --preset "$preset" ${KILN_CMAKE_ARGS:-}
    sed -n 's/^-- left out: /build: left out: /p' "$log" >&2
fi
run cmake --build "build/$preset" ${1+--target "$@"}
