#!/bin/sh
# format.sh [--write]: lists the C files that clang-format would change, and exits with 1 if there are any. With --write
# it changes them.
#
# Versions of clang-format write different formats. The script uses version 14 (the package clang-format-14 of Debian 12
# and Ubuntu 24.04). It exits with 77 if this version is missing. tests/abi/oldest has copies of published headers,
# which must not change.
set -eu
cd "$(dirname "$0")/../.."
format=
for program in clang-format-14 clang-format; do
    case $("$program" --version 2>/dev/null) in *"version 14."*) format=$program; break ;; esac
done
[ -n "$format" ] || { echo "SKIP format: there is no clang-format 14 (tools/setup.sh --test installs it)"; exit 77; }

files() { find engine kernel_src tools tests -path tests/abi/oldest -prune -o -name '*.[ch]' -print | sort; }
case ${1:-} in
--write) files | xargs -n 64 "$format" -i --style=file ;;
'')
    found=$(files | xargs -n 64 "$format" --dry-run --style=file 2>&1 | sed -n 's/^\([^ :]*\):[0-9].*/\1/p' | uniq -c)
    [ -z "$found" ] && exit
    echo "places that clang-format writes otherwise (tests/style/format.sh --write):"
    echo "$found"
    exit 1 ;;
*) echo "format.sh: '$1'? see the head of the script" >&2; exit 2 ;;
esac
