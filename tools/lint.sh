#!/bin/bash
# lint.sh [CHECK...] [--changed REF] [FILE...]: static checks of engine/ and tools/, or of the .c files that are named
# or differ from REF. It needs build/dev configured (cmake --preset dev), for the flags of each file. Exit 1: findings.
#
#   cppcheck         warning, performance, portability
#   tidy             clang-tidy: bugprone-*, cert-* (.clang-tidy says which are off, and why)
#   clang-analyzer   clang-tidy: clang-analyzer-* (the path to a finding: clang-tidy -p build/dev FILE)
#   gcc-analyzer     gcc -fanalyzer
#   ci               cppcheck and tidy: what is quick enough for every push
#
# Without a CHECK: all of them. KILN_JOBS: how many at once (all cores).
set -uo pipefail
shopt -s lastpipe # report() below is the last of a pipe, and sets `failed`
cd "$(dirname "$0")/.."
build=${KILN_LINT_BUILD:-build/dev}
jobs=${KILN_JOBS:-$(nproc)}
checks=() files=()
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    ci) checks+=(cppcheck tidy) ;;
    cppcheck | tidy | clang-analyzer | gcc-analyzer) checks+=("$1") ;;
    --changed)
        shift
        ref=${1:?--changed needs a REF}
        mapfile -t files < <(git diff --name-only --diff-filter=d "$ref" -- 'engine/*.c' 'tools/*.c')
        [ ${#files[@]} -gt 0 ] || { echo "lint.sh: no .c file of engine/ or tools/ differs from $ref"; exit 0; } ;;
    *.c | *.h) files+=("$1") ;;
    *) echo "lint.sh: unknown argument '$1'; lint.sh --help lists the checks" >&2; exit 2 ;;
    esac
    shift
done
[ ${#checks[@]} -gt 0 ] || checks=(cppcheck tidy clang-analyzer gcc-analyzer)

need() { # PROGRAM PACKAGE
    command -v "$1" >/dev/null && return
    echo "lint.sh: there is no $1; install it: apt-get install $2" >&2
    exit 2
}
need python3 python3
[ -e "$build/compile_commands.json" ] || { echo "lint.sh: $build is not configured: cmake --preset dev" >&2; exit 2; }

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
# A line for each file that is to be checked, once, and its compile command for the gcc analyzer.
python3 - "$build/compile_commands.json" "$PWD" "$work" "${files[@]+"${files[@]}"}" <<'PYTHON' || exit 2
import json, os, re, sys
database, top, work, wanted = sys.argv[1], sys.argv[2], sys.argv[3], [os.path.abspath(f) for f in sys.argv[4:]]
chosen = {}
for entry in json.load(open(database)):
    path = entry["file"]
    inside = path.startswith((top + "/engine/", top + "/tools/"))
    if (path in wanted) if wanted else inside:
        chosen.setdefault(path, entry)
for path in wanted:
    if path not in chosen and path.endswith(".c"):
        sys.exit(f"lint.sh: {path} is not compiled in {os.path.dirname(database)}")
json.dump(list(chosen.values()), open(work + "/compile_commands.json", "w"))
with open(work + "/files", "w") as out:
    out.writelines(os.path.relpath(path, top) + "\n" for path in chosen)
with open(work + "/commands", "w") as out:
    for entry in chosen.values():
        command = re.sub(r" -o \S+ -c ", " -o /dev/null -c ", re.sub(r" -W\S+", "", entry["command"]))
        # Off: uninitialised values. It reports every slot of a stack machine (expr/eval.c) and every out parameter that
        # is filled where the call succeeded; valgrind and clang's analyzer look for the same.
        options = "-DKILN_ANALYZER -fanalyzer -Wno-analyzer-use-of-uninitialized-value"
        out.write(f"cd {entry['directory']} && {command} {options}\n")
PYTHON
echo "$(wc -l <"$work/files") files"

# report NAME: shows what a check found (standard input), and notes that there was something.
failed=0
report() {
    sed "s|$PWD/||g" | awk '!seen[$0]++' >"$work/found"
    local count
    count=$(grep -c -E ': (warning|error|performance|portability): ' "$work/found")
    cat "$work/found"
    echo "$1: $count findings, $SECONDS s"
    [ "$count" = 0 ] || failed=1
}

tidy() { # NAME CHECKS
    need clang-tidy clang-tidy
    xargs -P "$jobs" -n 4 clang-tidy -p "$build" --quiet --checks="$2" <"$work/files" 2>/dev/null |
        grep -E ': (warning|error): ' | report "$1"
}

for check in "${checks[@]}"; do
    SECONDS=0
    case $check in
    cppcheck)
        need cppcheck cppcheck
        cppcheck --project="$work/compile_commands.json" --enable=warning,performance,portability --inline-suppr \
            -j "$jobs" --std=c11 --quiet --template='{file}:{line}: {severity}: {message} [{id}]' \
            2>&1 >/dev/null | report cppcheck ;;
    tidy) tidy tidy '-clang-analyzer-*' ;;
    clang-analyzer) tidy clang-analyzer '-bugprone-*,-cert-*' ;;
    gcc-analyzer)
        need gcc gcc
        tr '\n' '\0' <"$work/commands" | xargs -0 -P "$jobs" -n 1 sh -c 2>&1 |
            grep -E '(warning|error): ' | report gcc-analyzer ;;
    esac
done
exit $failed
