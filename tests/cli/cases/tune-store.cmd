# A sweep does not measure stored samples again, except with other options of the run or with --fresh.
kept() { sed -n -E 's/^ +"reused": ([0-9]+),/\1/p'; }
kiln tune add -v wide --json | kept
kiln tune add -v wide --json | kept
kiln tune add --json | kept
kiln tune add --json --no-verify | kept
kiln tune add --json -s prime | kept
kiln tune add --json --device sim:h200 | kept
kiln tune add --json --fresh | kept
kiln tune add --json --no-store | kept
# A value more, a variant less, another comment in the spec: the other samples stay. A changed source: none does.
mkdir own && cp "$SPECS/add.yaml" "$SPECS/add.cu" own
kiln tune own/add.yaml --json | kept
sed -i -E 's/ITEMS: \[1, 2\]/ITEMS: [1, 2, 4]/; s/^variants:/# a comment\nvariants:/' own/add.yaml
kiln tune own/add.yaml --json | kept
echo '// changed' >> own/add.cu
kiln tune own/add.yaml --json | kept
