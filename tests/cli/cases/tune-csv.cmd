kiln tune add -v wide --csv sweep.csv >/dev/null || exit
sed -n 1p sweep.csv
sed 1d sweep.csv | cut -d, -f2,3,4,12- | LC_ALL=C sort
kiln tune add -v wide -m 1 --csv /dev/full >table; code=$?; grep -c "^Totals" table; (exit $code) # the table is printed all the same
echo $?
# What a spreadsheet would take for a formula is a text, a number is a number.
cat >formula.cu <<'EOF'
extern "C" __global__ void k(float *y) { *y = 1; }
EOF
cat >formula.yaml <<'EOF'
kiln: 1
name: formula
source: formula.cu
sizes: {tiny: {N: 1}}
buffers: {y: {type: f32, shape: [N], out: true}}
variants:
  v:
    params: {TEXT: ["=1+1", "-2+3", "@SUM(A1)", "'=1", "a;=1", "-7"], NUMBER: [-1.5]}
    launch: {kernel: k, grid: [1], block: [1], args: [y]}
EOF
kiln tune formula.yaml --csv formula.csv >/dev/null
sed 1d formula.csv | cut -d, -f21- | LC_ALL=C sort
