#!/bin/sh
# Sets up, builds and runs every test: the suites in a release build, again under the address and undefined behaviour
# sanitizers, the threaded ones under the thread sanitizer, and each fuzz target for some seconds.
#
#   tools/test.sh                  all of it (about a quarter of an hour on two cores)
#   tools/test.sh release          only that part: release, asan, tsan or fuzz
#   KILN_FUZZ_SECONDS=900 tools/test.sh fuzz
set -eu
cd "$(dirname "$0")/.."
parts=${*:-release asan tsan fuzz}
tools/setup.sh --test
cores=$(nproc)

for part in $parts; do
    case $part in
    release | asan | tsan)
        echo "== $part: build"
        KILN_CMAKE_ARGS=-DKILN_WERROR=ON tools/build.sh "$part"
        echo "== $part: tests"
        only=
        [ "$part" != tsan ] || only='-L threads'
        # shellcheck disable=SC2086  # a list of words
        ctest --test-dir "build/$part" --output-on-failure --no-tests=error -j "$cores" $only
        ;;
    fuzz)
        echo "== fuzz: build"
        tools/build.sh fuzz fuzzers
        for target in build/fuzz/tests/fuzz/fuzz_*; do
            [ -x "$target" ] && [ ! -d "$target" ] || continue
            name=$(basename "$target")
            echo "== fuzz: $name"
            mkdir -p "build/corpus/$name" build/findings
            seeds=tests/fuzz/corpus/$name
            [ "$name" != fuzz_spec ] || seeds="specs tests/spec/good tests/spec/broken"
            [ "$name" != fuzz_vm ] || seeds="$seeds tests/fuzz/corpus/fuzz_ptx tests/sim/vm -dict=tests/fuzz/ptx.dict"
            [ "$name" != fuzz_ptx ] || seeds="$seeds -dict=tests/fuzz/ptx.dict"
            # New inputs go to the first folder; the ones kept in the tree only seed it.
            # shellcheck disable=SC2086  # a list of words
            "$target" -max_total_time="${KILN_FUZZ_SECONDS:-10}" -timeout=10 -rss_limit_mb=2048 -print_final_stats=0 \
                -verbosity=0 -artifact_prefix="build/findings/$name-" "build/corpus/$name" $seeds
        done
        ;;
    *)
        echo "test.sh: no part '$part': release, asan, tsan or fuzz" >&2
        exit 2
        ;;
    esac
done
