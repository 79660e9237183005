#!/bin/bash
# coverage.sh [--table] [--html FOLDER]: prints how many lines and branches of engine/ the test suites execute, by room
# and in total. Builds build/coverage (cmake --preset coverage, with gcc), runs the suites, and reads their counts with
# gcovr. --table only prints the counts of the last run. --html also writes a page for each file.
#
# Only suites that check results count, and the comparison with recorded answers of a GPU. The catalogue, the golden
# runs of the command and the fuzz targets execute many more lines, but do not check the effect of each line. There is
# one exception: the lines of engine/data that the catalogue executes count too, because the catalogue compares inputs,
# references and kernels with each other.
#
# Compile workers and runners are not counted, because they are killed or confined and cannot write their counts.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/coverage
jobs=${KILN_JOBS:-$(nproc)}
suites='^(base|expr|spec|space|search|data|references|sparse|cache|store|compile|sim|driver|core|plan|tune|library|conformance|random)\.'
suites="$suites|^corpus\.(cub|groups|load|math)\$|^foreign\.jitlink\$"
families='^catalogue\.(attention|bezier|bfs|cutoff|dcs|mergesort|mri|normalise|quadtree|spmv)\.sim$'
table_only=0 html=
while [ $# -gt 0 ]; do
    case $1 in
    --table) table_only=1 ;;
    --html) shift; html=${1:?--html needs a folder} ;;
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    *) echo "coverage.sh: unknown argument '$1'" >&2; exit 2 ;;
    esac
    shift
done
command -v gcovr >/dev/null || { echo "coverage.sh: there is no gcovr; install it: apt-get install gcovr" >&2; exit 2; }

failed=0
if [ $table_only = 0 ]; then
    cmake --preset coverage >/dev/null
    cmake --build $build -j "$jobs"
    find $build -name '*.gcda' -delete # remove the counts of an earlier run
    ctest --test-dir $build -R "$families" -j "$jobs" --output-on-failure || failed=1
    find $build -name '*.gcda' -not -path '*/kiln_data*' -delete
    ctest --test-dir $build -R "$suites" -LE gpu -j "$jobs" --output-on-failure || failed=1
fi
options=(--root . --filter engine/ --exclude engine/sim/device/ptx/tables/main.c --exclude-unreachable-branches --exclude-throw-branches -j "$jobs")
[ -z "$html" ] || { mkdir -p "$html" && gcovr "${options[@]}" --html-details "$html/index.html" $build; }
gcovr "${options[@]}" --json-summary - $build | python3 -c '
import json, re, sys
rooms = sorted(re.findall(r"^ *kiln_room\((\S+?)[ )]", open("engine/sim/CMakeLists.txt").read() + open("engine/CMakeLists.txt").read(), re.M), key=len, reverse=True)
sums = {}
for item in json.load(sys.stdin)["files"]:
    path = item["filename"].removeprefix("engine/")
    room = next((room for room in rooms if path.startswith(room + "/")), path.rsplit("/", 1)[0])
    for name in room, "all":
        row = sums.setdefault(name, [0, 0, 0, 0])
        for i, key in enumerate(["line_covered", "line_total", "branch_covered", "branch_total"]):
            row[i] += item[key]
def percent(part, whole):
    return f"{100 * part / whole:6.1f} %" if whole else "       -"
print("%-20s  %8s %8s  %8s %8s" % ("room", "lines", "run", "branches", "taken"))
for room in sorted(sums, key=lambda room: (room == "all", room)):
    a, b, c, d = sums[room]
    print(f"{room:20}  {b:8} {percent(a, b)}  {d:8} {percent(c, d)}")
'
exit $failed
