#!/bin/sh
# checks.sh KILN: lanes of work a second and core on the tiled matrix product of 256 cubed, without the checks of the
# simulated device and with all of them. By CPU time of ten repetitions, the least of three, so that a busy machine
# disturbs it little.
set -e
kiln=${1:?usage: checks.sh KILN}
point="matmul --device sim -v tiled -s M=256 -s N=256 -s K=256"
lanes=$("$kiln" profile $point --no-verify --json | sed -n 's/.*"lanes": \([0-9]*\),*/\1/p' | head -1)

user() { # CPU seconds of a run that repeats so often
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
