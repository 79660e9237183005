# needs python3
# The inputs that the host makes are timed for each function, and their sum with the time of the kernel is right.
cat >host.yaml <<'EOF'
kiln: 1
name: host
source: host.cu
sizes: {default: {N: 300}}
inputs: {A: {host: sparse_matrix, matrix: band, rows: N, degree: 5}}
buffers:
  values: {from: A.csr.values}
  y: {type: f32, shape: [A.nonzeros], out: true}
verify: {y: {against: {variant: plain}}}
variants:
  plain:
    params: {BLOCK: [32, 64]}
    steps: # twice, so that the other's conversion pays in the end
      - launch: &launch {kernel: copy, grid: ["ceil_div(A.nonzeros, BLOCK)"], block: [BLOCK], args: [values, y, A.nonzeros]}
      - launch: *launch
  padded:
    params: {BLOCK: [32, 64]}
    inputs: {E: {host: sparse_ell, matrix: A, padding: 16}}
    buffers: {ell: {from: E.ell.values}}
    launch: *launch
EOF
cat >host.cu <<'EOF'
extern "C" __global__ void copy(const float *values, float *y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = values[i];
}
EOF
kiln show ./host.yaml | sed -n '/Buffers/,/^$/p'
kiln run ./host.yaml -v padded | sed -n '/inputs/p'
kiln tune ./host.yaml --device sim:h200 -v plain -v padded --json --quiet >tune.json || exit
kiln best ./host.yaml --device sim:h200 | tail -1 | sed 's/(.*)/(...)/'
mkdir vega && echo '/* none */' > vega/vega.min.js
KILN_PATH=. KILN_VEGA=vega kiln report host -o page.html
python3 - <<'EOF'
import json, math, re
tuned = json.load(open("tune.json"))
for sample in tuned["samples"]:
    result = sample["result"]
    named = ["sparse_matrix"] + ["sparse_ell"] * (sample["variant"] == "padded")
    assert list(result["input_functions"]) == named, result
    assert all(seconds > 0 for seconds in result["input_functions"].values())
    assert math.isclose(sum(result["input_functions"].values()), result["inputs_seconds"], rel_tol=1e-4)
    assert result["copy_seconds"] > 0 and result["rounds"] == 0
costs = {cost["variant"]: cost for cost in tuned["end_to_end"]}
assert set(costs) == {"plain", "padded"}
for cost in costs.values():
    assert cost["compared_with"] == "plain"
    for count, seconds in cost["seconds_of_repetitions"].items():
        once = cost["inputs_seconds"] + cost["copy_seconds"]
        assert math.isclose(seconds, once + int(count) * cost["repetition_seconds"], rel_tol=1e-9)
plain, padded = costs["plain"], costs["padded"]
once = [cost["inputs_seconds"] + cost["copy_seconds"] for cost in (plain, padded)]
least = padded["pays_from_repetition"]
sums = [[once[i] + count * cost["repetition_seconds"] for i, cost in enumerate((plain, padded))]
        for count in (least - 1, least)]
assert sums[0][1] >= sums[0][0] and sums[1][1] < sums[1][0], (least, sums)
page = open("page.html", encoding="utf-8").read()
table = re.search("<h3>Made by the host, end to end</h3>.*?</section>", page, re.S).group(0)
assert "compared with this" in table and "sparse_ell" in table and table.count("<tr>") == 3, table
print("sums are right")
EOF
