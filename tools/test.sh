#!/bin/sh
# Sets up, builds and runs every test: the suites in a release build, again under the address and undefined behaviour
# sanitizers, the threaded ones under the thread sanitizer; static checks; each fuzz target for some seconds.
#
#   tools/test.sh                  all of it (14 minutes on two cores, with a new machine's packages)
#   tools/test.sh release          only that part: release, asan, tsan, lint or fuzz
#   tools/test.sh whole [PART...]  every test, with more configurations of the catalogue's kernels (tests/README.md)
#   KILN_FUZZ_SECONDS=900 tools/test.sh fuzz
#
# The parts asan and tsan leave out the tests of tests/covered.txt, and the part release leaves out those of
# tests/nightly.txt. Each part says how many. Other tests find nearly all errors of these tests (tests/README.md). With `whole`,
# or with KILN_EVERY_TEST=1, all tests run. CI does this every night.
#
# At the end stands a list of what was skipped, and why (tests/skips.py). It is an error to skip a test that this
# machine could run.
#
# Many tests wait for processes and time limits. Meanwhile the later parts are built and the static checks run, at a low
# priority. Their output is shown when their part begins (build/ahead.log has it before).
set -eu
cd "$(dirname "$0")/.."
all='release asan tsan lint fuzz'
cores=$(nproc)
tests=$((cores * 2 + 2)) # number of tests at a time
# The tests of the catalogue compile the same kernels in each part, so all parts share a cache. The next run uses the
# cache again. This is safe, because its keys are digests of everything on which a compile depends. CI begins in a fresh
# clone, so its cache is empty.
export KILN_TEST_CACHE="$PWD/build/test-cache"
every=OFF
if [ "${KILN_EVERY_TEST:-0}" != 0 ] || [ "${1:-}" = whole ]; then
    every=ON
    export KILN_EVERY_TEST=1 KILN_TEST_WHOLE=1 # KILN_EVERY_TEST is for the work ahead
    [ "${1:-}" != whole ] || shift
fi

# build PART [TARGET]
build() {
    # shellcheck disable=SC2086  # no word where there is no target
    case $1 in
    release) # KILN_DEBUG_INFO is for the test abi
        KILN_CMAKE_ARGS="-DKILN_WERROR=ON -DKILN_DEBUG_INFO=ON -DKILN_EVERY_TEST=$every" tools/build.sh release ${2-} ;;
    asan) KILN_CMAKE_ARGS="-DKILN_WERROR=ON -DKILN_EVERY_TEST=$every" tools/build.sh asan ${2-} ;;
    tsan) KILN_CMAKE_ARGS="-DKILN_WERROR=ON -DKILN_EVERY_TEST=$every" tools/build.sh tsan "${2-threads}" ;;
    fuzz) tools/build.sh asan fuzzers ;; # linked from the objects of asan
    esac
}

# Builds only the library, while packages are installed (below).
if [ "${1:-}" = --library ]; then
    build "$2" kiln_static
    exit
fi

# The work ahead: the builds of later parts, and then the static checks. A failed build is ignored here, because it
# fails again when its part begins.
if [ "${1:-}" = --ahead ]; then
    shift
    for part; do [ "$part" = lint ] || build "$part" || :; done
    case " $* " in *" lint "*) tools/lint.py quick ;; esac
    exit
fi

[ $# != 0 ] || set -- $all
given=" $* "
for part; do
    case " $all " in
    *" $part "*) ;;
    *) echo "test.sh: no part '$part': release, asan, tsan, lint or fuzz" >&2; exit 2 ;;
    esac
done
rm -rf build/results
mkdir -p build/results
# The memory of the stand-in for NVRTC (tests/nvrtc/library.c), which exists only during this run, because an update of
# NVRTC or its headers would make it wrong. It has room for all answers.
export KILN_TEST_NVRTC="$PWD/build/nvrtc.memory"
rm -f "$KILN_TEST_NVRTC"
truncate -s 64M "$KILN_TEST_NVRTC"
ahead=
trap '[ -z "$ahead" ] || kill "$ahead" 2>/dev/null || :' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# On a new machine the packages that only tests need take half a minute, mostly of one core. Meanwhile the library of
# the first part is built. If this fails, the build of the part fails again and reports it. Afterwards CMake looks for
# all packages again, and the object files are kept.
case $1 in
release | asan | tsan)
    if [ ! -e "build/$1" ] && ! tools/setup.sh --test --check >build/setup.log 2>&1; then
        tools/setup.sh
        timeout 7200 tools/test.sh --library "$1" >build/library.log 2>&1 &
        ahead=$!
    fi
    ;;
esac
tools/setup.sh --test
if [ -n "$ahead" ]; then
    wait "$ahead" || :
    ahead=
    rm -f "build/$1/CMakeCache.txt"
fi

# Waits for the work ahead, before the first part that needs it.
ahead_failed=0
wait_for_ahead() {
    [ -z "$ahead" ] || wait "$ahead" || ahead_failed=1
    ahead=
}

# LeakSanitizer stops a program's threads by ptrace. Some containers forbid that, and every program would then fail.
look_for_leaks() {
    [ -e build/results/sanitizers-leaks.log ] && return
    : >build/results/sanitizers-leaks.log
    echo 'int main(void) { return 0; }' | cc -x c -fsanitize=address -o build/leaks - && ! build/leaks >build/leaks.log 2>&1 || return 0
    grep -q 'LeakSanitizer has encountered a fatal error' build/leaks.log || return 0
    export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
    echo 'leaks: SKIP ptrace: leaks of memory are not looked for: ptrace is not permitted' | tee build/results/sanitizers-leaks.log
}

# The sanitizers' runtime of GCC up to 13 takes two words before some blocks of thread-local storage for the header that
# glibc wrote there before version 2.25. LeakSanitizer then crashes now and then when a program ends ("Tracer caught signal
# 11", google/sanitizers issue 1322). Without this interceptor the runtime does not look at these blocks.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}intercept_tls_get_addr=0"

# NVIDIA's driver keeps some memory of cuInit() for ever.
mkdir -p build
echo 'leak:libcuda.so' >build/leaks.driver
export LSAN_OPTIONS="suppressions=$PWD/build/leaks.driver:print_suppressions=0${LSAN_OPTIONS:+:$LSAN_OPTIONS}"

# The address sanitizer keeps 256 MB of freed memory from reuse, and 30 frames of each allocation. Few processes of the tests
# free more than 32 MB. With these settings the processes touch fewer pages. Undefined behaviour traps (tools/settings.cmake);
# handle_sigill prints where.
address_options='handle_sigill=1:quarantine_size_mb=32:thread_local_quarantine_size_kb=64:malloc_context_size=12'

# glibc gives freed memory back to the operating system, and the next allocation of a test makes it again page by page.
# Programs that keep up to 256 MB take a tenth less processor time in the tests of the judge.
export GLIBC_TUNABLES="${GLIBC_TUNABLES-glibc.malloc.mmap_threshold=33554432:glibc.malloc.trim_threshold=268435456:glibc.malloc.hugetlb=1}"

while [ $# != 0 ]; do
    part=$1
    shift
    if [ "$part" != lint ]; then
        echo "== $part: build"
        build "$part"
    fi
    if [ -z "$ahead" ] && [ $# != 0 ]; then
        timeout 7200 nice tools/test.sh --ahead "$@" >build/ahead.log 2>&1 & # timeout ends all processes that it
                                                                             # started
        ahead=$!
    fi
    case $part in
    release | asan | tsan)
        echo "== $part: tests"
        only=
        [ "$part" != asan ] || look_for_leaks
        [ "$part" != tsan ] || only='-L threads'
        list=tests/covered.txt
        [ "$part" != release ] || list=tests/nightly.txt
        # shellcheck disable=SC2086  # a list of words
        count() { ctest --test-dir "build/$part" -N $only "$@" | sed -n 's/^Total Tests: //p'; }
        covered=$(count -L '^covered$')
        [ "$covered" = 0 ] || echo "$part: $(count -LE '^covered$') of $(count) tests run. $covered are left out" \
            "($list). KILN_EVERY_TEST=1 runs all."
        # shellcheck disable=SC2086  # a list of words
        ASAN_OPTIONS="$address_options${ASAN_OPTIONS:+:$ASAN_OPTIONS}" \
            ctest --test-dir "build/$part" --output-on-failure --no-tests=error -j "$tests" $only -LE '^covered$' \
            --output-junit "$PWD/build/results/$part-tests.xml" --test-output-size-passed 1000000
        ;;
    lint)
        echo "== lint"
        case $given in *" release "*) ;; *) tests/style/format.sh ;; esac # the part release runs it as a test
        case $given in
        " lint "*) tools/lint.py quick ;;
        *)
            wait_for_ahead
            cat build/ahead.log
            [ $ahead_failed = 0 ] || exit 1
            ;;
        esac
        ;;
    fuzz)
        wait_for_ahead # the targets run for a fixed time, so nothing else may run meanwhile
        failed=0
        look_for_leaks
        targets=$(find build/asan/tests/fuzz -maxdepth 1 -type f -perm -u+x -name 'fuzz_*' | sort)
        if [ -z "$targets" ]; then
            echo 'test.sh: there are no fuzz targets in build/asan: no libFuzzer links (tools/setup.sh --test installs it)' >&2
            exit 1
        fi
        # shellcheck disable=SC2086  # a list of words
        printf '%s\n' $targets |
            xargs -n 1 -P "$cores" tests/fuzz/run.sh >build/results/fuzz-tests.log || failed=$?
        cat build/results/fuzz-tests.log
        [ $failed = 0 ] || exit "$failed"
        ;;
    esac
done
# Lists the skipped tests and the reasons. Fails if this machine could have run one of them.
set -- build/results/*
[ ! -e "$1" ] || tests/skips.py "$@"
