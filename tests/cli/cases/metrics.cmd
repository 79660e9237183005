# A spec's own metrics, which use each other and measurements: in the table, in JSON, in CSV and in the store.
sed -e 's/bytes: 12 \* N/bytes: 12 * N, speed: items \/ time, joules: energy, items: N/' \
    -e 's/^    params: {BLOCK: .32, 64.*/    metrics: {items: N * ITEMS}\n&/' "$SPECS/add.yaml" >add.yaml
cp "$SPECS/add.cu" .
kiln tune ./add.yaml -v plain -p BLOCK=32 --device sim:h200 --csv all.csv --json >all.json
python3 - <<'END'
import csv, json
samples = json.load(open("all.json"))["samples"]
rows = list(csv.DictReader(open("all.csv")))
for sample, row in zip(samples, rows):
    metrics, items = sample["result"]["metrics"], sample["params"]["ITEMS"]
    assert list(metrics) == ["speed", "items"], metrics  # the simulated device has no energy
    assert metrics["items"] == 300 * items
    assert abs(metrics["speed"] * sample["result"]["seconds"] / metrics["items"] - 1) < 1e-12
    assert row["metrics"] == " ".join(f"{name}={value!r}" for name, value in metrics.items()), row["metrics"]
print(len(samples))
END
# From the store they come back; as an objective each is an expression's value.
kiln tune ./add.yaml -v plain -p BLOCK=32 --device sim:h200 | grep -E 'rank|kept' | sed 's/  */ /g'
kiln tune ./add.yaml -v plain --device sim:h200 --objective max:speed --objective items --json | grep -c '"front": true'
kiln results export kept.csv >/dev/null && python3 -c '
import csv
rows = list(csv.DictReader(open("kept.csv")))
print(len(rows), all(row["metrics"].startswith("speed=") and row["host"] for row in rows), rows[0]["command"])'
# Before a run there is no time.
kiln show ./add.yaml -v plain --metrics
kiln show ./add.yaml -v plain --metrics --json
kiln run ./add.yaml -v wide --device sim:h200 --json | grep -c '"speed": [0-9]'
