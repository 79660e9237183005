# exit 2
# needs python3
# Two devices, and two sweeps, on one page: the rank correlation and the rest, computed again from the samples.
mkdir vega && echo > vega/vega.min.js
export KILN_VEGA=vega
kiln tune add --device sim:h200 -v plain >/dev/null
kiln tune add --device sim:t4 >/dev/null
kiln report add
cat > check.py <<'END'
import csv, html, json, re, subprocess, sys
same_device = "two" in sys.argv[1]
page = open(sys.argv[1]).read()
data = json.loads(re.search(r'id="kiln-data">(.*?)</script>', page).group(1))
rows = []
for store in sys.argv[2:]:
    subprocess.run(["kiln", "results", "export", "all.csv", "--store", store], check=True, stdout=subprocess.DEVNULL)
    name = store.split("/")[-1]
    rows += [dict(row, store=name) for row in csv.DictReader(open("all.csv"))]
def ranks(values):
    return [(sum(other < value for other in values) + sum(other <= value for other in values) - 1) / 2 for value in values]
def spearman(a, b):
    a, b = ranks(a), ranks(b)
    mean = (len(a) - 1) / 2
    dot = lambda x, y: sum((i - mean) * (k - mean) for i, k in zip(x, y))
    return dot(a, b) / (dot(a, a) * dot(b, b)) ** 0.5
cells = [html.unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", page[page.index("id=comparison"):page.index("data-chart=compare")])]
for number, pair in enumerate(data["pairs"]):
    sets = []
    for name in pair["name_a"], pair["name_b"]:
        own = [row for row in rows if name in (row["device"], row["store"]) and (not same_device or "H200" in row["device"])]
        sets.append({(row["variant"], row["params"]): float(row["seconds"]) for row in own})
    a, b = sets
    both = sorted(set(a) & set(b))
    assert pair["count"] == len(both) == len(pair["points"]), pair
    wanted = spearman([a[key] for key in both], [b[key] for key in both])
    assert abs(pair["correlation"] - wanted) < 1e-5, (pair["correlation"], wanted)
    best_a, best_b = min(a, key=a.get), min(b, key=b.get)
    row = cells[9 * number:9 * number + 9]
    count, *shares = re.findall(r"[0-9.]+", row[4])
    assert int(count) == len(both), row
    assert [float(share) for share in shares] == [round(100 * len(both) / len(one), 1) for one in sets], row
    assert row[5] == f"{wanted:.3f}", row
    for cell, best, other in (row[6], best_a, b), (row[7], best_b, a):
        assert bool(cell) == (best in other), row
        if cell:
            assert abs(float(cell.split()[0]) / (other[best] / min(other.values())) - 1) < 0.006, row
    print(pair["name_a"], "and", pair["name_b"], len(both), "in common:", "nothing" == row[8] or row[8].split()[0])
END
python3 check.py report.html "$HOME/.local/share/kiln/samples.db"
# Another sweep, of another store.
kiln tune add --device sim:h200 --store second.db >/dev/null
kiln report add -d h200 --compare second.db -o two.html
python3 check.py two.html "$HOME/.local/share/kiln/samples.db" second.db
kiln report add --compare none.db
kiln report --replay none.json --compare second.db
