#!/bin/sh
# run.sh TARGET: fuzzes one target of build/asan for KILN_FUZZ_SECONDS (1). Run it at the top of the tree. It begins with
# the inputs of the tree, and keeps new inputs in build/corpus/TARGET. Findings and the output go to build/findings.
# KILN_FUZZ_SEED is the random seed, by default 1, so that two runs try nearly the same inputs. 0 takes a new seed in each
# run.
set -eu
target=$1
name=$(basename "$target")
mkdir -p "build/corpus/$name" build/findings
seeds=tests/fuzz/corpus/$name
[ "$name" != fuzz_spec ] || seeds="specs tests/spec/good tests/spec/broken"
[ "$name" != fuzz_profile ] || seeds="$seeds specs/devices"
# the command needs inputs of many bytes from the start
[ "$name" != fuzz_command ] || seeds="$seeds -max_len=256 -len_control=0"
[ "$name" != fuzz_vm ] || seeds="$seeds tests/fuzz/corpus/fuzz_ptx build/asan/ptx/vm -dict=tests/fuzz/ptx.dict"
[ "$name" != fuzz_jit ] || seeds="$seeds -dict=tests/fuzz/ptx.dict"
[ "$name" != fuzz_ptx ] || seeds="$seeds -dict=tests/fuzz/ptx.dict"
[ "$name" != fuzz_includes ] || seeds="$seeds -max_len=48 -len_control=0 -detect_leaks=0" # NVRTC keeps some memory
# shellcheck disable=SC2086  # a list of words
if "$target" -seed="${KILN_FUZZ_SEED:-1}" -max_total_time="${KILN_FUZZ_SECONDS:-1}" -timeout=60 -rss_limit_mb=2048 \
    -print_final_stats=1 -verbosity=0 -artifact_prefix="build/findings/$name-" "build/corpus/$name" $seeds \
    >"build/findings/$name.log" 2>&1; then
    echo "== fuzz: $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "build/findings/$name.log") inputs"
else
    code=$?
    if [ "$code" = 77 ] && grep -q '^SKIP ' "build/findings/$name.log"; then
        echo "== fuzz: $name: $(grep "^SKIP " "build/findings/$name.log")"
        exit 0
    fi
    echo "== fuzz: $name: FAILED (exit code $code); the end of build/findings/$name.log:"
    tail -n 60 "build/findings/$name.log"
    exit 1
fi
