# Mistakes that make every configuration fail are told before the first one is compiled: no compile, no sample.
cp "$SPECS/add.cu" .
try() {
    echo "--- $*"
    sed "$1" "$SPECS/add.yaml" >m.yaml
    shift
    kiln tune m.yaml --no-store "$@" >out 2>err
    echo "exit $?"
    sed "s|; searched.*||" err
    grep -E "configurations|cache|ended" out | sed "s|; searched.*||"
}
try 's/{variant: plain}, exact: true/{host: gemm_f64}/'
try 's/{variant: plain}, exact: true/{host: gemm_f64, A: x, B: y, C: z}/' -m 1
try 's/{variant: plain}, exact: true/{file: "want-{N}.npy"}/'
try 's/{variant: plain}, exact: true/{file: "want-{N}.npy"}/' -s prime
try 's/{variant: plain}, exact: true/{file: "want-{N}.npy"}/' -m 1 --no-verify
try 's/{variant: plain}, exact: true/{command: [python3, ref.py]}/'
try 's/kernel: add,/kernel: addd,/'
try 's/source: add.cu/source: addd.cu/'
