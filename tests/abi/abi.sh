#!/bin/sh
# abi.sh LIBRARY HEADER_FOLDER DUMP [--accept]: reports changes that matter to programs which were built with an earlier
# library. The script compares the library, which needs debug information, with the kept dump. It compares only types
# that the headers declare. If something has changed, it exits with 1 after a report. --accept writes a new dump. If the
# test is skipped, it prints the reason and exits with 77. It needs abigail-tools.
set -eu
library=$1 headers=$2 dump=$3 accept=${4:-}
again="$0 $library $headers $dump --accept"

if ! command -v abidw >/dev/null || ! command -v abidiff >/dev/null; then
    echo "SKIP tool: abigail-tools is not installed (tools/setup.sh --test installs it)"
    exit 77
fi
if ! readelf -S "$library" | grep -q '\.debug_info'; then
    echo "SKIP build: $library has no debug information (the preset dev, or -DKILN_DEBUG_INFO=ON)"
    exit 77
fi
if ! readelf -h "$library" | grep -q 'X86-64'; then
    echo "SKIP processor: the dump that is kept is of x86-64"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
abidw --headers-dir "$headers" --drop-private-types --exported-interfaces-only --no-corpus-path --no-comp-dir-path \
    --no-show-locs --no-elf-needed --no-parameter-names --no-write-default-sizes --type-id-style hash \
    --out-file "$work/now.abi" "$library"
if [ "$accept" = --accept ]; then
    sed "s|path='[^']*/engine/|path='engine/|" "$work/now.abi" >"$dump" # removes the folders of this machine
    echo "abi: $dump is that of $library"
    exit 0
fi
if ! abidiff "$dump" "$work/now.abi" >"$work/report"; then
    cat "$work/report"
    echo "abi: this changed since it was accepted last; engine/include/README.md says what is promised. What is only added"
    echo "abi: (a function, a member at the end of a struct) breaks no program; all else needs a new version."
    echo "abi: To accept it, run: $again"
    exit 1
fi
echo "abi: nothing that programs rely on has changed"
