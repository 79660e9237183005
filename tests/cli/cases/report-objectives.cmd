# exit 4
# needs python3
# Other quantities than time: the best in each, and the front of two, computed again from the samples.
mkdir vega && echo > vega/vega.min.js
export KILN_VEGA=vega
sed -e 's/bytes: 12 \* N/bytes: 12 * N, speed: N \/ time/' -e 's/^    params: {BLOCK: .*/    metrics: {threads: BLOCK \/ ITEMS}\n&/' \
    "$SPECS/add.yaml" >add.yaml
cp "$SPECS/add.cu" .
kiln tune ./add.yaml --device sim:h200 >/dev/null
kiln results export all.csv >/dev/null
python3 - <<'END'
import csv
with open("all.csv", newline="") as file:
    rows = list(csv.DictReader(file))
for number, row in enumerate(rows):  # the simulated device has neither
    row["energy_joules"], row["power_watts"] = 0.001 * (1 + number * 7 % 9), 300 + number
    row["clock_hz"], row["memory_clock_hz"], row["temperature"] = 1.2e9 + 1e8 * number, 2.6e9, 50 + number
with open("more.csv", "w", newline="") as file:
    out = csv.DictWriter(file, rows[0].keys())
    out.writeheader()
    out.writerows(rows)
END
kiln results import more.csv --store more.db >/dev/null
cat > check.py <<'END'
import csv, html, json, re, sys
page = open(sys.argv[1]).read()
first, second = sys.argv[2:4]
maximised = [name[4:] for name in sys.argv[2:4] if name.startswith("max:")]
first, second = (name.removeprefix("max:") for name in (first, second))
rows = list(csv.DictReader(open("more.csv", newline="")))
def value(row, name):
    own = dict(item.split("=") for item in row["metrics"].split())
    return float({"time": row["seconds"], "energy": row["energy_joules"], "power": row["power_watts"], **own}[name])
def loss(row, name):
    return -value(row, name) if name in maximised else value(row, name)
front = [row for row in rows if not any(
    loss(other, first) <= loss(row, first) and loss(other, second) <= loss(row, second) and
    (loss(other, first) < loss(row, first) or loss(other, second) < loss(row, second)) for other in rows)]
wanted = sorted({(value(row, first), value(row, second)) for row in front})
data = json.loads(re.search(r'id="kiln-data">(.*?)</script>', page).group(1))["problems"][0]["quantities"]
names = [one["name"] for one in data["list"]]
unit = {"\u00b5s": 1e-6, "ns": 1e-9}[data["list"][0]["unit"]]
wanted = [tuple(number / (unit if name == "time" else 1) for number, name in zip(pair, (first, second))) for pair in wanted]
assert names[data["first"]] == first and names[data["second"]] == second, (names, data["first"], data["second"])
at = lambda name: 2 + names.index(name)
found = sorted((data["rows"][i][at(first)], data["rows"][i][at(second)]) for i in data["list"][data["second"]]["front"])
assert len(found) == len(wanted) and all(abs(a / b - 1) < 1e-4 for x, y in zip(found, wanted) for a, b in zip(x, y)), (found, wanted)
assert len(data["rows"]) == len(rows)
table = page[page.index("Best in each quantity"):page.index("Pareto front of")]
for row in re.findall(r"<tr>(.*?)</tr>", table, re.S)[1:]:
    cells = [html.unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)]
    if cells[0] in ("time", "energy", "power", "threads"):
        best = (max if cells[2] == "more" else min)(value(row, cells[0]) for row in rows) / (unit if cells[0] == "time" else 1)
        assert abs(float(cells[3]) / best - 1) < 1e-3, (cells, best)
    print(cells[0], cells[1], cells[2], cells[5])
table = page[page.index("Pareto front of"):page.index("data-chart=trade")]
assert table.count("<tr>") == len(found) + 1
END
kiln report add --store more.db && python3 check.py report.html time energy
grep -A1 -E '<dt>(SM clock|memory clock|temperature|power)' report.html | sed 's/<[^>]*>/ /g'
kiln report add --store more.db --objective max:power --objective threads >/dev/null && python3 check.py report.html max:power threads | grep power
kiln report add --store more.db --objective tme
