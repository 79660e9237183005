#!/bin/sh
# checks.sh KILN: measures the speed of the simulated device on the tiled matrix product of 256 cubed, without checks
# and with all checks. The speed is the number of lanes that one core executes in a second. The script takes the
# processor time of ten repetitions, three times, and uses the shortest, so that a busy machine disturbs it little.
set -e
kiln=${1:?usage: checks.sh KILN}
point="matmul --device sim -v tiled -s M=256 -s N=256 -s K=256"
lanes=$("$kiln" profile $point --no-verify --json | sed -n 's/.*"lanes": \([0-9]*\),*/\1/p' | head -1)

user() { # CHECKS REPETITIONS: prints the processor seconds of a run
    for _ in 1 2 3; do
        KILN_SIM_CHECK=$1 KILN_SIM_THREADS=1 bash -c 'TIMEFORMAT=%U; time "$@" >/dev/null 2>&1' - \
            "$kiln" run $point --no-verify -n "$2" 2>&1
    done | sort -n | head -n 1
}

for check in 0 1; do
    awk -v check="$check" -v lanes="$lanes" -v one="$(user "$check" 1)" -v many="$(user "$check" 11)" 'BEGIN {
        s = (many - one) / 10
        printf "checks %s: %.4f s, %.2e lanes a second\n", check == 1 ? "on" : "off", s, lanes / s }'
done
