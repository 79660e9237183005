# Params without a macro, macros with a prefix, sources that compile once, and what a failed compile says about macros.
spec() {
    cat >"$1.yaml" <<EOF
kiln: 1
name: $1
source: $1.cu
$2
sizes: {default: {N: 300}}
buffers: {z: {type: i32, shape: [N], out: true}}
launch: {kernel: k, grid: ["ceil_div(N, BLOCK)"], block: [BLOCK], args: [z, N]}
EOF
}
kernel() {
    echo "extern \"C\" __global__ void k(int *z, int n)
{
    int i = blockIdx.x * $1 + threadIdx.x;
    if (i < n) z[i] = $2;
}"
}
blocks="32, 64, 96, 128, 160, 192, 224, 256, 288"
spec launch "params: {BLOCK: {values: [$blocks], macro: false}}"
kernel blockDim.x 1 >launch.cu
spec unnamed "params: {BLOCK: [$blocks], ONE: [1, 2]}"
kernel blockDim.x ONE >unnamed.cu
spec pasted "params: {BLOCK: [32, 64]}"
{ echo '#define JOIN(a, b) a##b' && kernel 'JOIN(BLO, CK)' 1; } >pasted.cu
spec prefixed 'prefix: OF_
params: {T: [int, long], BLOCK: [32]}
define: {class: 7}
bake: [N]'
{ echo '#include <mma.h>' && kernel OF_BLOCK "OF_T(OF_class + OF_N)"; } >prefixed.cu
for name in launch unnamed pasted prefixed; do
    kiln tune $name.yaml --no-verify --no-store >out 2>&1 || cat out
    echo "$name: $(sed -n 's/^ *configurations *//p' out); kept: $(kiln cache list --json | grep -c '"id"')"
    kiln cache clear >/dev/null
done
echo "== errors"
spec value 'params: {TYPE: [int, integer], BLOCK: [32]}'
kernel BLOCK "TYPE(1)" >value.cu
kiln run value.yaml -p TYPE=integer
spec collides 'params: {T: [int], BLOCK: [32]}
define: {GroupT: 3}'
{ echo '#define FIRST' && echo '#include <cooperative_groups.h>' && # behind the macros, as it is not the first line
    kernel BLOCK 'T(1)'; } >collides.cu
kiln run collides.yaml 2>&1 | grep '^('
# The name of a template's own parameter, and two instructions of sm_90a.
spec template 'params: {M: [1], BLOCK: [32]}'
{ echo 'template <int M> __device__ int f() { return M; }' && kernel BLOCK 'f<2>()'; } >template.cu
kiln run template.yaml 2>&1 | grep '^('
spec own 'params: {BLOCK: [32]}'
kernel BLOCK '1; asm volatile("wgmma.fence.sync.aligned;")' >own.cu
kiln run own.yaml --device sim:h200 2>&1 | grep '^('
# A variant lacks the param of another variant, and both have one source.
cat >lacks.yaml <<EOF
kiln: 1
name: lacks
source: lacks.cu
sizes: {default: {N: 300}}
buffers: {z: {type: i32, shape: [N], out: true}}
variants:
  serial: {launch: {kernel: k, grid: [1], block: [1], args: [z, N]}}
  blocks: {params: {BLOCK: [32], n: [1]}, launch: {kernel: k, grid: [9], block: [BLOCK], args: [z, N]}}
EOF
kernel BLOCK 1 >lacks.cu
kiln run lacks.yaml -v serial 2>&1 | grep '^('
sed -i 's/^launch/verify: {z: {against: {host: none_such_thing}}}\n&/' own.yaml
kiln run own.yaml || true
