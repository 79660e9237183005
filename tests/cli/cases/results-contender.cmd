# A variant that is not a contender adds only the first elements, in less time. It is never the best of a sweep, nor of
# a replay of the exported file, unless there is no other variant. The samples come back with their times, and the
# present spec decides which variants are contenders.
cp "$SPECS"/add.cu .
sed -E -e 's/^name: add/name: half/' -e '/^verify:/,/^variants:/d' "$SPECS"/add.yaml >half.yaml
sed -i -e 's/^  plain:/variants:\n  plain:/' half.yaml
cat >>half.yaml <<END
  half:
    contender: false
    params: {BLOCK: [64], ITEMS: [1]}
    launch: {kernel: add, grid: [1], block: [BLOCK], args: [x, y, z, N]}
END
tune() { kiln tune half.yaml --device sim:h200 -s default --no-verify | sed -n -E 's/^ +1  .*(plain|wide|half)  .*/\1/p' | head -n 1; }
replay() { # all of them; the last one that was the best so far
    kiln tune --replay $1 --strategy exhaustive --max-seconds 1000 | sed -n -E 's/.*variant=(plain|wide|half).*/\1/p' | tail -n 1
}
echo "tuned: $(tune)"
kiln results export half.t4.json
kiln results export half.json.gz --format kernel-tuner
kiln results export half.csv
for file in half.t4.json half.json.gz; do
    echo "replayed: $(replay $file)"
    kiln results import $file --store $file.db >/dev/null
    kiln results export $file.csv --store $file.db >/dev/null && cmp half.csv $file.csv
done
kiln results export alone.t4.json half -v half
kiln tune --replay alone.t4.json --json | grep failed
# The spec says otherwise; the sweep takes the samples that are there.
sed -i 's/contender: false/contender: true/' half.yaml
echo "tuned: $(tune)"
kiln results export half.t4.json
echo "replayed: $(replay half.t4.json)"
