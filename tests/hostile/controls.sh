#!/bin/sh
# controls.sh PROGRAM: checks that the program reports each kind of planted host address, and does not report guest data
# that looks like a host address. Only a second process, whose memory lies elsewhere, can tell the two apart. So without
# address space layout randomisation the program also reports the guest data.
set -u
program=$1
failed=0
# expect STATUS TEXT KIND COMMAND...: runs the command with that kind of planted word.
expect() {
    status=$1 text=$2 kind=$3
    shift 3
    said=$("$@" --handler ld --seed 1 --count 3 --sets 4 --quiet --engine interpreter --plant "$kind" 2>&1)
    got=$?
    if [ "$got" != "$status" ] || ! printf '%s\n' "$said" | grep -q "$text"; then
        printf 'planted word "%s": exit %s, expected %s with "%s":\n%s\n' "$kind" "$got" "$status" "$text" "$said"
        failed=1
    fi
}
for kind in code library stack heap table memory; do
    expect 1 ': a host address, 0x' "$kind" "$program"
done
for kind in bytes pair; do
    expect 0 ': guest data that is the same in another process, 0x' "$kind" "$program"
done
expect 0 ': a word that a kernel made from an address' derived "$program"
expect 1 'nothing to plant: nonsense' nonsense "$program"
if setarch -R true 2>/dev/null; then
    expect 1 'no process whose memory lies elsewhere' bytes setarch -R "$program"
fi
exit $failed
