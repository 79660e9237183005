# needs python3
# Malformed and hostile files: unknown states, times that are no numbers, texts that end a table, many rows.
cat >make.py <<'E'
import json
def run(file, status="KILN_OK", device={"name": "Device A", "id": "cuda:0", "uuid": "GPU-1"}, **result):
    sample = {"spec": "s", "sizes": {"N": 5}, "device": device, "variant": "v", "params": {"A": 1}, "status": status,
              "message": "", "result": {"measured": True, "estimated": False, **result}}
    json.dump(sample, open(file, "w"))
run("good.json", seconds=1.0)
run("state.json", status="NEW_STATUS", seconds=1.0)
run("number.json", status=5, seconds=1.0)
run("missing.json")
run("zero.json", seconds=0)
run("negative.json", seconds=-1)
run("text.json", seconds="1")
run("repetitions.json", seconds=1, repetitions=1e30)
run("huge.json", seconds=1e300, seconds_low=1e299, seconds_high=1e301, repetitions=3)
json.dump({"error": {"status": "KILN_ERROR_WRONG_ANSWER", "message": "wrong"}}, open("failed.json", "w"))
json.dump({"error": {"status": "NEW", "message": "wrong"}}, open("new.json", "w"))
def sweep(file, count, device, seconds=1.0, sizes={"N": 5}):
    samples = [{"variant": "v", "params": {"A": i}, "status": "KILN_OK",
                "result": {"measured": True, "seconds": seconds + i % 7}} for i in range(count)]
    json.dump({"spec": "s", "sizes": sizes, "device": {"name": device, "id": "cuda:0"}, "samples": samples, "totals": {}},
              open(file, "w"))
sweep("bad-sample.json", 3, "D", seconds=-2.0)
sweep("many-a.json", 60000, "A device with a long name A")
sweep("many-b.json", 60000, "A device with a long name B")
sweep("keys.json", 2, "D", sizes={f"size{i}": i for i in range(20000)})
def profile(file, count):
    json.dump({"spec": "s*|\n\n# x", "sizes": {"N|\n": 5}, "device": "D_1", "variant": "v",
               "kernels": [{"name": "k|\n\n# heading", "executed": count, "x": 1e300, "counters": {"a_sectors": -9e18}}]},
              open(file, "w"))
profile("one.json", 1)
profile("two_2.json", -5)
E
python3 make.py
for file in state number missing zero negative text repetitions new bad-sample; do
    kiln compare good.json $file.json >/dev/null; echo "exit $?"
done
echo "--- times in a file of samples"
cp "$SPECS/add.cu" "$SPECS/add.yaml" .
kiln tune ./add.yaml -v plain -p BLOCK=64 -p ITEMS=1 -s default --no-verify -d sim:h200 --store one.db >/dev/null
kiln results export one.csv --store one.db >/dev/null
for time in 2e-6 0 -1 nan; do
    python3 -c "
import csv
rows = list(csv.reader(open('one.csv')))
rows[1][rows[0].index('seconds')] = '$time'
csv.writer(open('time.csv', 'w')).writerows(rows)"
    kiln compare one.db time.csv >/dev/null; echo "exit $?"
done
echo "--- a command that failed"
kiln compare good.json failed.json | sed 1,4d; kiln compare good.json failed.json -q >/dev/null; echo "exit $?"
kiln compare failed.json good.json | tail -n 2
kiln compare failed.json failed.json; echo "exit $?"
echo "--- options"
for option in "--device 'Device A'" "--device cuda:0" "--device GPU-1" "--device B" "-v w" "--store x.db"; do
    eval "kiln compare good.json good.json $option" >/dev/null; echo "exit $? $option"
done
kiln compare one.json one.json -v v >/dev/null; echo "exit $?"
kiln compare one.json one.json -v w; echo "exit $?"
kiln compare one.json one.json -d E; echo "exit $?"
echo "--- numbers and Markdown"
kiln compare good.json huge.json | sed 1,4d
kiln compare one.json two_2.json --markdown
kiln compare one.json two_2.json
echo "--- many rows in seconds of the processor, many keys in little memory"
(ulimit -t 60; kiln compare many-a.json many-b.json | tail -n 2)
python3 -c "
import resource, subprocess
subprocess.run(['kiln', 'compare', 'keys.json', 'keys.json'], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 1 << 20)"
