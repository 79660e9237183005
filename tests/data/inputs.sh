#!/bin/sh
# inputs.sh KILN_INPUTS HASHES BUT CORES...: tests that inputs, fills and references of the catalogue have the hashes of
# the file HASHES, with each of these numbers of cores. Recorded answers, counters and keys rely on these bytes. Size
# sets that match the regular expression BUT are left out ('' leaves out none).
#
# In HASHES, a line without an indent names a spec and a size set. The lines after it are the output of kiln-inputs
# --hash. attention_f64, decode_f64 and mri_f64 are left out: they call libm, whose last bits differ between machines.
set -eu
kiln_inputs=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
hashes=$folder/hashes
awk -v but="$3" '/^[a-z]/ { out = but != "" && $0 ~ but } !out' "$2" >"$hashes"
shift 3
for cores; do
    for spec in $(sed -n 's/^\([a-z][a-z]*\) .*/\1/p' "$hashes" | uniq); do
        # shellcheck disable=SC2046  # a list of words
        "$kiln_inputs" --cores $cores --hash "$spec" $(sed -n "s/^$spec //p" "$hashes")
    done | grep -Ev '^  (attention_f64|decode_f64|mri_f64) ' >"$folder/$cores"
    diff "$hashes" "$folder/$cores" >"$folder/diff" || { head -n 40 "$folder/diff"; echo "inputs.sh: other bytes with $cores cores" >&2; exit 1; }
done
