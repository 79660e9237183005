kiln cache list
kiln run add >/dev/null
kiln run add -v wide >/dev/null
kiln cache list | sed -E 's/^[0-9a-f]{12}/ID/; s/[0-9.]+ (B|KiB)/N/g'
id=$(kiln cache list --json | sed -n 's/.*"id": "\(....\).*/\1/p' | head -n 1)
kiln cache show "$id" | sed -E 's/[0-9a-f]{32}/ID/; s/[0-9.]+ (B|KiB)/N/g'
kiln cache show "$id" --ptx | grep -c '^.visible .entry'
kiln cache show "$id" --source | head -n 1 | grep -c '^#define'
kiln cache verify | sed -E 's/[0-9.]+ (B|KiB)/N/g'
for entry in $(find "$KILN_CACHE_DIR" -type f -size +1k | head -n 1); do
    printf x | dd of="$entry" bs=1 seek=600 conv=notrunc 2>/dev/null
done
kiln cache verify | sed -E 's/^[0-9a-f]{12}.*/.../; s/[0-9.]+ (B|KiB)/N/g'
kiln cache gc --max-size 1G | sed -E 's/[0-9.]+ (B|KiB)/N/g'
kiln cache gc --max-size 0
kiln run add | grep code
kiln cache clear
kiln cache list
