#!/bin/sh
# Sets up, builds and runs every test: static checks; the suites in a release build, again under the address and
# undefined behaviour sanitizers, the threaded ones under the thread sanitizer; each fuzz target for some seconds.
#
#   tools/test.sh                  all of it (some 20 minutes on two cores; release alone some 9, and 5 when run again)
#   tools/test.sh release          only that part: lint, release, asan, tsan or fuzz
#   KILN_FUZZ_SECONDS=900 tools/test.sh fuzz
set -eu
cd "$(dirname "$0")/.."
parts=${*:-lint release asan tsan fuzz}
tools/setup.sh --test
cores=$(nproc)
tests=$((cores * 2 + 2)) # at a time: some wait for processes and clocks most of the time
# The tests of the catalogue compile the same kernels, in each part again: all take them from one cache. It is kept for the
# next run: its keys are the contents of all that a compile depends on, and CI begins in a fresh clone, so with none.
export KILN_TEST_CACHE="$PWD/build/test-cache"

for part in $parts; do
    case $part in
    lint)
        echo "== lint"
        case " $parts " in *" release "*) ;; *) tests/style/format.sh ;; esac # it is one of release's tests
        tools/lint.py quick
        ;;
    release | asan | tsan)
        echo "== $part: build"
        only='' targets='' options=-DKILN_WERROR=ON
        [ "$part" != release ] || options="$options -DKILN_DEBUG_INFO=ON" # for the test abi
        [ "$part" != tsan ] || only='-L threads' targets=threads
        # shellcheck disable=SC2086  # a list of words
        KILN_CMAKE_ARGS=$options tools/build.sh "$part" $targets
        echo "== $part: tests"
        # shellcheck disable=SC2086  # a list of words
        ctest --test-dir "build/$part" --output-on-failure --no-tests=error -j "$tests" $only
        ;;
    fuzz)
        echo "== fuzz: build"
        tools/build.sh fuzz fuzzers
        find build/fuzz/tests/fuzz -maxdepth 1 -type f -perm -u+x -name 'fuzz_*' | sort |
            xargs -n 1 -P "$cores" tests/fuzz/run.sh
        ;;
    *)
        echo "test.sh: no part '$part': lint, release, asan, tsan or fuzz" >&2
        exit 2
        ;;
    esac
done
