# needs python3
# Two results: verdicts beyond noise and their criteria, every form of a side, and the exit code for CI.
cat >make.py <<'X'
import json, sys
# name: (seconds, half of the interval, repetitions), or a status
def write(file, rows, device="GPU", measured=True):
    samples = []
    for name, row in rows.items():
        sample = {"variant": "v", "params": {"BLOCK": name}, "status": "KILN_OK", "message": ""}
        if isinstance(row, str):
            sample.update(status=row, message="why")
        else:
            sample["result"] = {"measured": measured, "estimated": not measured, "seconds": row[0],
                                "seconds_low": row[0] - row[1], "seconds_high": row[0] + row[1], "repetitions": row[2]}
        samples.append(sample)
    json.dump({"spec": "s", "device": {"name": device}, "sizes": {"N": 8}, "samples": samples, "totals": {}}, open(file, "w"))
write("a.json", {1: (1.0, .01, 50), 2: (2.0, .01, 50), 3: (3.0, .01, 50), 4: (4.0, .01, 50), 5: "KILN_ERROR_COMPILE",
                 6: (6.0, .01, 50), 7: (7.0, 0, 1), 8: (8.0, 0, 1), 9: (9.0, .01, 50)})
write("b.json", {1: (1.1, .01, 50), 2: (2.011, .01, 50), 3: (2.9, .01, 50), 4: "KILN_ERROR_WRONG_ANSWER", 5: (5.0, .01, 50),
                 6: (6.03, .001, 50), 7: (7.6, 0, 1), 8: (8.9, 0, 1), 10: (9.0, .01, 50)})
write("other.json", {1: (1.1, .01, 50)}, device="another GPU")
write("estimate.json", {1: (1.1, 0, 1)}, measured=False)
# The same difference, alone and among a hundred configurations.
write("one-a.json", {1: (1.0, .012, 50)})
write("one-b.json", {1: (1.03, .012, 50)})
write("many-a.json", {i: (1.0, .012, 50) for i in range(100)})
write("many-b.json", {i: (1.03 if i == 50 else 1.0, .012, 50) for i in range(100)})
X
python3 make.py
kiln compare a.json b.json; echo "exit $?"
echo "--- less is noise, and the winners only"
kiln compare a.json b.json --noise 20 --top 3 | tail -n 3; echo "exit $?"
kiln compare a.json b.json --best --csv all.csv; echo "exit $?"
cat all.csv
kiln compare b.json a.json --markdown --top 2; echo "exit $?"
echo "--- alone, and among many"
kiln compare one-a.json one-b.json | tail -n 2
kiln compare many-a.json many-b.json | tail -n 2
echo "--- devices, and times of different kinds"
kiln compare a.json other.json | head -n 5; kiln compare a.json estimate.json | tail -n 1
echo "--- stores, exported files, a device of a store, profiles"
cp "$SPECS/add.cu" "$SPECS/add.yaml" .
few="-v plain -p BLOCK=64 -s default --no-verify"
kiln tune ./add.yaml $few -d sim:h200 --store one.db >/dev/null
kiln tune ./add.yaml $few -d sim:t4 --store one.db >/dev/null
kiln profile ./add.yaml -v plain -s tiny --json >one.profile.json
kiln run ./add.yaml $few -d sim:h200 -p ITEMS=1 --json >one.run.json
kiln results export one.csv --store one.db >/dev/null
sed -i 's/z\[i + k\] = x\[i + k\] + y\[i + k\]/z[i + k] = x[i + k] + y[((i + k) * 97) % n] - y[((i + k) * 89) % n] + y[i + k]/' add.cu
kiln tune ./add.yaml $few -d sim:h200 --store two.db >/dev/null
kiln profile ./add.yaml -v plain -s tiny --json >two.profile.json
for sides in "one.db one.db" "one.csv one.db" "one.run.json one.db" "one.db two.db" "two.db one.csv" "t4 h200 --store one.db" \
    "one.profile.json two.profile.json --top 1" "one.profile.json one.profile.json"; do
    kiln compare $sides -q >out; code=$?
    echo "$code $sides: $(tail -n 1 out)"
done
kiln compare one.profile.json two.profile.json --json | grep '"regression"'
echo "--- mistakes"
kiln compare one.db none.db; kiln compare one.db h300 --store one.db; kiln compare one.db a.json; kiln compare one.db
kiln compare a.json b.json --json --markdown; echo "exit $?"
