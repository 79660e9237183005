# exit 2
# A sweep as T4 results and as Kernel Tuner's file: importing gives the same samples, and the file can be searched
# again.
kiln tune add >/dev/null
kiln tune add -s N=127 >/dev/null
kiln results export all.json
kiln results export n127.csv -s N=127
kiln results export n127.t4.json -s N=127
kiln results export n127.json.gz -s N=127 --format kernel-tuner
for file in n127.t4.json n127.json.gz; do
    kiln results import $file --store $file.db
    kiln results export $file.csv --store $file.db && cmp n127.csv $file.csv
    kiln tune --replay $file --json | grep -E '"(format|kernel|device|configurations|failed)"'
done
kiln results -s N=128
kiln results -s tiny
