# With --json the output is one JSON object, also if the answer is a text, and if a kernel prints.
# needs python3
check() { python3 -c 'import json, sys; print(sorted(json.load(sys.stdin)))'; }
for words in "help" "help run" "help exit-codes" "man" "completion bash" "show add --names" "show add --only sizes" \
    "run --help" "version" "bogus"; do
    kiln $words --json | check
done
cat >print.cu <<'EOF'
extern "C" __global__ void k(float *y) { printf("printed\n"); *y = 1; }
EOF
cat >print.yaml <<'EOF'
kiln: 1
name: print
source: print.cu
sizes: {tiny: {N: 1}}
buffers: {y: {type: f32, shape: [N], out: true}}
launch: {kernel: k, grid: [1], block: [1], args: [y]}
EOF
kiln run print.yaml --json 2>/dev/null | check
