# An edit of the source is tuned, then taken back, and the source is tuned again. The last sweep takes the samples of the
# first one from the store, and these samples count.
export KILN_DEVICE=sim:h200
mkdir own && cp "$SPECS/add.yaml" "$SPECS/add.cu" own
tune() { kiln tune own/add.yaml --variants wide -p BLOCK=64 -s tiny --json 2>/dev/null | sed -n -E 's/^ +"reused": ([0-9]+),/reused \1/p'; }
best() { kiln best own/add.yaml -s tiny | head -n 1; }
tune
first=$(best)
echo "$first" | sed 's/ITEMS=.*/ITEMS=N/'
# The edit makes the best configuration slow.
items=${first##*ITEMS=}
sed "s/^    for (int k = 0/    for (int slow = 0; ITEMS == $items \&\& slow < 50; slow++)\n        for (int k = 0; k < ITEMS; k++)\n            if (i + k < n)\n                ((volatile float *)z)[i + k] = 0;\n&/" "$SPECS/add.cu" > own/add.cu
tune
[ "$(best)" = "$first" ] || echo "another one is the best"
kiln best own/add.yaml -s tiny | grep changed || echo "the code is the present one"
cp "$SPECS/add.cu" own
# The sample of the edit is the latest one, but the source is another one now.
kiln best own/add.yaml -s tiny | sed -n '/changed/p'
kiln best own/add.yaml -s tiny --json | grep code_changed
tune
kiln best own/add.yaml -s tiny --json | grep code_changed
[ "$(best)" = "$first" ] && echo "the first one is the best again"
kiln best own/add.yaml --export out.yaml
grep -c "ITEMS: $items" out.yaml
# The edit does not compile: each configuration fails, until the edit is taken back.
echo '#error edited' >> own/add.cu
tune
kiln best own/add.yaml -s tiny | tail -n 1
kiln best own/add.yaml --export none.yaml 2>&1 | sed 's/the store .* has/the store has/'
[ -e none.yaml ] || echo "no file"
cp "$SPECS/add.cu" own
tune
[ "$(best)" = "$first" ] && echo "the first one is the best again"
kiln best own/add.yaml --export out.yaml
# Configurations with equal estimates: kiln tune and kiln best name the same one, the first of the space.
sed -i 's/{BLOCK: \[64, 256\], ITEMS: .*/{BLOCK: [256], ITEMS: [8], TIE: [9, 10, 2]}/' own/add.yaml
kiln tune own/add.yaml --variants wide -s tiny 2>/dev/null | sed -n 's/.*kiln run .*\(TIE=[0-9]*\).*/tune: \1/p'
best | sed 's/.*TIE/best: TIE/'
