# The best known configuration: which one it is, and where it comes from.
kiln best add
cat > known.yaml <<'YAML'
kiln-best: 1
best:
- {spec: add, device: Kiln simulated device (generic), cc: '9.0', sizes: {N: 300}, variant: wide,
   params: {BLOCK: 256, ITEMS: 4}, seconds: 0.001, how: simulated, verified: true, made: 2026-01-31T12:00:00Z}
- {spec: add, device: Kiln simulated device (generic), cc: '9.0', sizes: {N: 300}, variant: plain,
   params: {BLOCK: 128, ITEMS: 2}, seconds: 0.0001, how: simulated, verified: true, made: 2026-01-31T12:00:00Z}
- {spec: add, device: NVIDIA GPU, cc: '8.6', sizes: {N: 300}, variant: plain,
   params: {BLOCK: 64, ITEMS: 2}, seconds: 0.00001, how: measured, verified: true, made: 2026-01-31T12:00:00Z}
YAML
kiln best add --known known.yaml
kiln best add --known known.yaml -s N=1200
kiln best add --known known.yaml -s N=1200 --device sim:t4
kiln best add --known known.yaml -p BLOCK=32
kiln best add --known known.yaml --json | grep -A 21 '"from"'
# Which is the fastest differs, and the one that the others are checked against is not checked itself.
kiln best add --tune 60 | sed -E '1d; s/N=[0-9]+/N/; s/, verified//'
kiln best add | sed -E '1d; s/, verified//; s/[0-9-]+$/DATE/'
kiln best --export out.yaml add
sed -E 's/(seconds|made|verified): .*/\1: .../; s/params: .*/params: .../' out.yaml
printf 'kiln-best: 1\nbest: []\n' > empty.yaml
kiln best add --known empty.yaml --no-store
