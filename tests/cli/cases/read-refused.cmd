# Every option that reads a file refuses files that are not regular, and never waits for them: a pipe without a writer,
# and a device without an end. A hang is ended after a minute and shows as exit code 137.
mkdir bad vega
for kind in fifo zero; do
    for name in x.yaml x.yml x.json known.yaml x.profile x.npy x.cu x.csv x.json.gz x.db samples.db-wal; do
        rm -f bad/$name vega/vega.min.js
        if [ $kind = fifo ]; then mkfifo bad/$name vega/vega.min.js; else ln -s /dev/zero bad/$name; fi
    done
    [ $kind = fifo ] || ln -s /dev/zero vega/vega.min.js
    # Specs that name such files. A link to a device leads out of the folder, and is refused for that (6).
    sed 's/fill: {iota: \[0, 1\]}/file: x.npy/' "$SPECS/add.yaml" >bad/array.yaml
    cp "$SPECS/add.cu" bad/add.cu
    sed 's/source: .*/source: x.cu/' "$SPECS/add.yaml" >bad/source.yaml
    sed 's/source: .*/source: h.cu/' "$SPECS/add.yaml" >bad/header.yaml
    { echo '#include "x.cu"' && cat "$SPECS/add.cu"; } >bad/h.cu
    echo "== $kind"
    for command in "show bad/x.yaml" "show bad/x.json" "run bad/array.yaml" "run bad/source.yaml" "run bad/header.yaml" \
        "check bad/array.yaml" "profile bad/array.yaml" "inspect bad/header.yaml" "tune bad/array.yaml --no-store -m 1" \
        "tune bad/source.yaml --no-store -m 1 -t 5" "run add --input x=bad/x.npy" "tune add --input x=bad/x.npy --no-store" \
        "best add --known bad/known.yaml" "run add --device sim:bad/x.profile" "results import bad/x.csv" \
        "results import bad/x.json.gz" "results convert bad/x.json.gz out.json" "tune --replay bad/x.json" \
        "report --replay bad/x.json.gz" "compare-strategies bad/x.json" "results --store bad/x.db" \
        "tune add -m 1 --store bad/x.db" "results --store bad/samples.db" "report add --vega vega/vega.min.js" \
        "report add --vega vega" "list -I bad"; do
        timeout -s KILL 280 kiln $command >out 2>err
        code=$?
        echo "$code $command: $(cat err out | tr -s '\n ' ' ' |
            grep -oE 'is a (FIFO .named pipe.|character device), not a regular file|is neither a folder.*|has neither.*' | head -n 1)"
    done
done
