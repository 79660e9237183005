# needs python3
# Every command that results show runs as it is printed: folders of specs, sources and headers (-I), inputs, sizes, commands
# as references, answers that were not checked, names that a shell must be given in quotes.
unset KILN_DEVICE
export KILN_LIBCUDA=/nowhere/libcuda.so.1
mkdir vega "a folder" headers && echo >vega/vega.min.js
export KILN_VEGA=vega
# Runs each line of a file as a shell does, and shows how it ended. Params differ from run to run: times choose them.
run_each() {
    while read -r line; do
        sh -c "$line" >out 2>&1
        code=$?
        echo "$code: $line" | sed -E 's/(BLOCK|ITEMS)=[0-9]+/\1=N/g'
        [ $code = 0 ] || cat out
    done
}
# The commands in the results of a sweep, and in the page about it.
printed() {
    sed -n -E 's/^  (kiln run .*)/\1/p; s/.*accesses out of bounds: (kiln check .*)/\1/p; s/.*then: (kiln tune .*)/\1/p' "$1"
}
taken() {
    sed -n 's/^<p class=run><code>//p' "$1" | sed 's/<.*//' |
        python3 -c 'import html, sys; print(html.unescape(sys.stdin.read()), end="")'
}
sweep() {
    name=$1
    shift
    kiln tune "$@" --store "$name.db" >"$name.txt" 2>&1 || cat "$name.txt"
    printed "$name.txt" | run_each
    kiln report "$name" --store "$name.db" -o page.html >/dev/null
    taken page.html | run_each
}
few="-v plain -p BLOCK=32"
echo "--- found in a folder of the search path, with a header there"
sed 's/add.cu/near.cu/; s/^name: add/name: near/' "$SPECS/add.yaml" >"a folder/near.yaml"
{ echo '#include "unit.h"' && cat "$SPECS/add.cu"; } >headers/near.cu
echo '#define UNIT 1' >headers/unit.h
sweep near near $few -I "a folder" -I headers -s prime -d sim
echo "--- without a GPU: estimated at the full sizes, verified at the small ones"
cp "$SPECS/add.cu" "$SPECS/add.yaml" .
sweep add ./add.yaml $few
echo "--- not checked, at a size of its own"
sed 's/^name: add/name: free/' add.yaml >free.yaml
sweep free free.yaml $few -s N=77 --no-verify -d sim
echo "--- a command as the reference, and an input"
cat >ref.py <<'X'
import os, sys
os.rename(sys.argv[1] + '/in/x.npy', sys.argv[1] + '/out/z.npy')
X
python3 - <<'X'
import array
head = "{'descr': '<f4', 'fortran_order': False, 'shape': (300,), }"
data = b'\x93NUMPY\x01\x00' + (118).to_bytes(2, 'little') + head.ljust(117).encode() + b'\n'
open('it is x.npy', 'wb').write(data + array.array('f', range(300)).tobytes())
X
sed -e 's/^name: add/name: cmd/' -e 's/fill: 2}/fill: 0}/' -e 's/against: {variant: plain}/against: {command: [python3, ref.py]}/' \
    add.yaml >cmd.yaml
sweep cmd cmd.yaml $few -s tiny -i "x=it is x.npy" --allow-commands -d sim
echo "--- a file elsewhere"
mkdir far && cp "$SPECS/add.cu" far/
mkdir below && sed -e 's/^name: add/name: away/' -e 's|add.cu|../far/add.cu|' add.yaml >below/away.yaml
sweep away below/away.yaml $few --read-anywhere -s tiny -d sim
echo "--- a first spec"
kiln init add.cu -k add -p BLOCK=32,64 -p ITEMS=1,2 -I headers -o "a folder/first spec.yaml" >init.txt
printed init.txt | sed 's/$/ -m 1/' | run_each
echo "--- nothing yet"
kiln results race --store none.db || echo "exit $?"
kiln tune add.yaml $few -m 1 -d sim --store some.db >/dev/null
kiln report race --store some.db || echo "exit $?"
