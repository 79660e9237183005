# The counts that do not depend on the compiler: accesses, banks, divergence, barriers.
specs="$SPECS/../../estimate/specs"
for pad in 0 1; do
    kiln profile transpose -I "$specs" -v tiled -p TILE=32 -p ROWS=8 -p PAD=$pad |
        sed '/^  instructions/,/^    all/d' | grep -E '^(transpose|  (sizes|memory|shared memory|  (global|load|store)|branches|barriers))'
done
kiln profile reduction -I "$specs" -v conflicting -p BLOCK=256 -p ITEMS=1 |
    sed '/^  instructions/,/^    all/d' | grep -E '^  (shared memory|  (global|load|store|atomic)|barriers|global atomics)'
