# 2 x 128^9 configurations, more than 64 bits can count: kiln never prints a wrong number. Samples differ from each
# other.
cat >wide.yaml <<'YAML'
kiln: 1
name: wide
source: add.cu
sizes: {default: {N: 300}}
buffers:
  x: {type: f32, shape: [N], fill: {iota: [0, 1]}}
  y: {type: f32, shape: [N], fill: 2}
  z: {type: f32, shape: [N], out: true}
params: {BLOCK: [64], ITEMS: [1, 2], A: &a {from: 0, to: 127}, B: *a, C: *a, D: *a, E: *a, F: *a, G: *a, H: *a, I: *a}
launch: {kernel: add, grid: ["ceil_div(N, BLOCK * ITEMS)"], block: [BLOCK], args: [x, y, z, N]}
YAML
cp "$SPECS/add.cu" .
kiln show ./wide.yaml | grep configurations
kiln show ./wide.yaml --json | sed -n '/"space"/,/}/p'
kiln tune ./wide.yaml --strategy random -m 8 --seed 1 --no-verify --json >tuned.json
grep -o '"A": [0-9]*' tuned.json | sort -u | wc -l | sed 's/^[3-9]$/several values of A/'
