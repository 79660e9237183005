#!/bin/sh
# unused.sh KILN SPEC: runs every variant of decode.yaml on a cache of keys and values. All rows after the last key are NaN.
# No answer may depend on these rows. A kernel must not even multiply them by 0, because 0 times NaN is NaN.
set -eu
kiln=$1 spec=$2
folder=$(mktemp -d)
export KILN_CACHE_DIR="${KILN_TEST_CACHE:-$folder/cache}"
trap 'rm -rf "$folder"' EXIT
failed=0
# half of the rows are keys: 50 and 16, so that the last tile of 16 is once partly filled and once full
for keys in 100 33; do
    python3 - "$folder/cache.npy" 2 3 $keys 64 <<'EOF'
import struct, sys
path, batch, heads, keys, depth = sys.argv[1], *map(int, sys.argv[2:])
bits = []
for head in range(batch * heads):
    for key in range(keys):
        # Small numbers as bf16: the upper halves of floats.
        bits += [struct.unpack("<I", struct.pack("<f", (i * 7919 + key * 31 + head) % 13 / 8 - 0.75))[0] >> 16
                 if key < keys // 2 else 0x7FC0 for i in range(depth)]
header = "{'descr': '<V2', 'fortran_order': False, 'shape': (%d, %d, %d, %d), }" % (batch, heads, keys, depth)
header += " " * (63 - (len(header) + 10) % 64) + "\n"
with open(path, "wb") as out:
    out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    out.write(struct.pack(f"<{len(bits)}H", *bits))
EOF
    names=$("$kiln" show "$spec" --names)
    output=$("$kiln" run "$spec" -v "$(echo "$names" | paste -sd, -)" --device sim --no-measure -s BATCH=2 -s HEADS=6 \
                 -s KV_HEADS=3 -s KEYS=$keys -s HEAD_DIM=64 -s LENGTHS=2 --input "k=$folder/cache.npy" \
                 --input "v=$folder/cache.npy" 2>&1) && code=0 || code=$?
    verified=$(echo "$output" | grep -c '^  answer  *verified' || :)
    if [ "$verified" != "$(echo "$names" | wc -l)" ] || [ "$code" != 0 ]; then
        failed=$((failed + 1))
        printf '%s keys: %s verified, exit code %s:\n%s\n' "$keys" "$verified" "$code" "$output"
    fi
done
[ "$failed" = 0 ] || { echo "$failed failed"; exit 1; }
