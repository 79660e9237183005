#!/bin/sh
# references.sh KILN ATOMS: checks that a sweep whose kernels run in a sandbox writes its reference to disk, that the next
# sweep reads it, and that `kiln cache` lists and clears it. A sweep that computes a reference again writes a new file, so
# the test looks at the time of the last change.
set -u
kiln=$(realpath "$1") atoms=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset KILN_CACHE_DIR KILN_STORE
export KILN_DEVICE=sim
failed=0

fail() {
    echo "FAIL: $1"
    failed=1
}

# Some 10^7 pairs of 5,000 atoms and points for the host, and a few blocks for the simulated device.
sweep() {
    "$kiln" tune cutoff -v lists -s NX=32 -s NY=32 -s NZ=32 -s COUNT="$atoms" -s RADIUS=6 -d sim:h200 --max-configurations 1 --fresh \
        --cache-dir "$work/cache" --store "$work/samples.db" "$@" >"$work/out" 2>&1 || { cat "$work/out"; fail "sweep $*"; }
}
entry() { ls "$work/cache/references/v1"; }

sweep
first=$(entry)
# Kiln does not keep a reference that takes only a moment to compute. So a fast machine gets more work.
while [ -z "$first" ] && [ "$atoms" -lt 1000000 ]; do
    atoms=$((atoms * 4))
    sweep
    first=$(entry)
done
[ "$(echo "$first" | wc -w)" = 1 ] || fail "after a sweep there are these references: $first"
file=$work/cache/references/v1/$first
changed=$(stat -c %z "$file")
sweep
[ "$(stat -c %z "$file")" = "$changed" ] || fail "the second sweep computed the reference again"
sweep --sandbox=off --isolate
[ "$(stat -c %z "$file")" = "$changed" ] || fail "a sweep without a sandbox computed the reference again"
printf 'damage' | dd of="$file" bs=1 seek=3000 conv=notrunc 2>/dev/null
changed=$(stat -c %z "$file")
sweep
[ "$(stat -c %z "$file")" != "$changed" ] || fail "a damaged reference was used"

"$kiln" cache list --cache-dir "$work/cache" >"$work/list"
grep -q 'cutoff  *reference  *cutoff_f64' "$work/list" || { cat "$work/list"; fail "the list lacks it"; }
"$kiln" cache show "$(echo "$first" | cut -c 1-12)" --cache-dir "$work/cache" --source | grep -q '^host cutoff_f64$' ||
    fail "its key cannot be shown"
"$kiln" cache verify --cache-dir "$work/cache" | grep -q 'none damaged' || fail "it counts as damaged"
"$kiln" cache clear --cache-dir "$work/cache" >/dev/null
[ -z "$(entry)" ] || fail "clear left it"
sweep --no-cache
[ -z "$(entry)" ] || fail "without a cache it was kept"
[ "$failed" = 0 ] && echo "references are kept"
exit $failed
