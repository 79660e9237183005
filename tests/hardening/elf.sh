#!/bin/sh
# elf.sh BUILD_TYPE PROGRAM_OR_LIBRARY...: checks in the ELF headers and symbols of each file that the options of
# tools/hardening.cmake took effect. If a name ends with ":plain", the file calls no function that has a checked version.
set -u
type=$1
shift
if [ "$type" = Debug ]; then
    echo "SKIP build: a Debug build is not hardened (tools/hardening.cmake)"
    exit 77
fi
command -v readelf >/dev/null || { echo "SKIP tool: there is no readelf"; exit 77; }
bad=0
complain() { echo "$1: $2" >&2; bad=1; }
for file in "$@"; do
    plain=false
    case $file in *:plain) plain=true file=${file%:plain} ;; esac
    [ -f "$file" ] || { complain "$file" "there is no such file"; continue; }
    head=$(readelf -hW "$file") parts=$(readelf -lW "$file") dynamic=$(readelf -dW "$file")
    symbols=$(readelf --dyn-syms -W "$file")
    echo "$head" | grep -q 'Type: *DYN' || complain "$file" "is not position-independent"
    echo "$parts" | grep -q ' GNU_RELRO ' || complain "$file" "has no read-only relocations (-z relro)"
    echo "$parts" | grep -q ' GNU_STACK .* RW ' || complain "$file" "has an executable stack (-z noexecstack)"
    echo "$dynamic" | grep -q 'FLAGS.*\bNOW\b\|BIND_NOW' || complain "$file" "binds symbols lazily (-z now)"
    echo "$symbols" | grep -q ' UND __stack_chk_fail' || complain "$file" "has no stack protector"
    $plain || echo "$symbols" | grep -q ' UND __[a-z]*_chk\b' || complain "$file" "has no checked copies (_FORTIFY_SOURCE)"
done
[ $bad = 0 ] && echo "hardened: $# files"
exit $bad
