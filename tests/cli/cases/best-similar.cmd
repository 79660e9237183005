# The best for an input that was not measured: by the features of those that were.
cat > known.yaml <<'YAML'
kiln-best: 2
best:
- {spec: bezier, device: Kiln simulated device (generic), cc: '9.0', variant: block_a_curve, params: {BLOCK: 64},
   sizes: {CURVES: 300, CONTROL: bent, SCALE: 64, SEED: 1}, seconds: 0.001, how: simulated, verified: true,
   features: {curves: 300, points: 300000, mean: 1000, deviation: 0, largest: 1000}, made: 2026-01-31T12:00:00Z}
- {spec: bezier, device: Kiln simulated device (generic), cc: '9.0', variant: two_pass, params: {BLOCK: 128, PAIRS: 2},
   sizes: {CURVES: 100, CONTROL: straight, SCALE: 64, SEED: 1}, seconds: 0.001, how: simulated, verified: true,
   features: {curves: 100, points: 100, mean: 1, deviation: 0, largest: 1}, made: 2026-01-31T12:00:00Z}
YAML
kiln best bezier --known known.yaml --no-store -s CURVES=200 -s CONTROL=bent
kiln best bezier --known known.yaml --no-store -s CURVES=200 -s CONTROL=same
kiln best bezier --known known.yaml --no-store -s CURVES=200 -s CONTROL=bent --json | grep -A 60 '"from"' | sed -E 's/([0-9][.][0-9]{3})[0-9]+/\1/'
