# The best configuration for an input that was not measured, chosen by the features of measured inputs.
cat > rows.yaml <<'YAML'
kiln: 1
name: rows
source: rows.cu
sizes: {tiny: {MATRIX: band, ROWS: 50, DEGREE: 3}}
inputs: {A: {host: sparse_matrix, matrix: MATRIX, rows: ROWS, degree: DEGREE}}
features: {rows: A.rows, largest: A.largest}
params: {BLOCK: [32, 64, 128]}
buffers: {x: {from: A.csr.values}, y: {type: f32, shape: [A.rows], out: true}}
launch: {kernel: rows, grid: [A.rows], block: [BLOCK], args: [x, y, A.rows]}
YAML
cat > known.yaml <<'YAML'
kiln-best: 2
best:
- {spec: rows, device: Kiln simulated device (generic), cc: '9.0', variant: default, params: {BLOCK: 64},
   sizes: {MATRIX: fem, ROWS: 300, DEGREE: 27}, seconds: 0.001, how: simulated, verified: true,
   features: {rows: 300, largest: 40}, made: 2026-01-31T12:00:00Z}
- {spec: rows, device: Kiln simulated device (generic), cc: '9.0', variant: default, params: {BLOCK: 128},
   sizes: {MATRIX: power, ROWS: 70, DEGREE: 3}, seconds: 0.001, how: simulated, verified: true,
   features: {rows: 70, largest: 3}, made: 2026-01-31T12:00:00Z}
YAML
kiln best rows.yaml --known known.yaml --no-store -s ROWS=200 -s DEGREE=31
kiln best rows.yaml --known known.yaml --no-store -s ROWS=100
kiln best rows.yaml --known known.yaml --no-store -s ROWS=100 --json | grep -A 60 '"from"' | sed -E 's/([0-9][.][0-9]{3})[0-9]+/\1/'
# Where the input cannot be made, Kiln chooses by the sizes alone.
kiln best rows.yaml --known known.yaml --no-store -s MATRIX=none.mtx 2>&1 | sed "s:/none.mtx.*::; /^kiln/s|: rows.yaml.*||; /^ /d"
