#!/bin/sh
# sums.sh FOLDER [dcs|mri|cutoff]...: measures the families of sums and writes FOLDER/rows.tsv, as catalogue.sh does. It
# needs about 20 s for a work and 2 min for a family. A sweep with a time limit may never try a variant with few
# configurations, so each fast variant gets its own sweep. For large works the classic variants would take all of the
# time, so they are measured only for small works.
set -eu
[ $# -ge 1 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 2; }
bench=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- dcs mri cutoff
failed=0
: >"$folder/rows.tsv"

measure() { # NAME OPTIONS GROUPS WORK...
    out=$folder/$1
    KILN_TUNE="-b 0.2 $2" KILN_GROUPS=$3
    export KILN_TUNE KILN_GROUPS
    shift 3
    "$bench/catalogue.sh" "$out" "$@" || failed=1
    cat "$out/rows.tsv" >>"$folder/rows.tsv"
}

for family; do
    case $family in
    dcs)
        classic=gather,gather_constant,coarsened,coarsened_coalesced,padded,prefetch
        measure dcs "-t 8" "shared_root newton unrolled" dcs/default dcs/slices
        measure dcs-small "-t 8" "$classic shared_root newton,unrolled" dcs/slice ;;
    mri)
        classic=gather,registers,constant_chunks,readonly,unrolled,coarsened
        measure mri "-t 6" "factored fast_trig" mri/default mri/q # `rotation` needs samples on lines
        measure mri-lines "-t 6" "factored rotation fast_trig" mri/lines mri/q_lines
        measure mri-small "-t 8" "$classic factored rotation fast_trig" mri/small ;;
    cutoff)
        measure cutoff "-t 12" "lists dynamic constant_device" cutoff/default cutoff/clustered
        measure cutoff-small "-t 8" "lists constant_device,constant_walking,dynamic" cutoff/small ;;
    *) echo "sums.sh: there is no family $family here" >&2; exit 2 ;;
    esac
done
exit $failed
