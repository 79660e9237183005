# exit 18
# An instruction that the simulated device does not run, by its name.
cat >asm.cu <<'X'
extern "C" __global__ void odd(unsigned *x)
{
    asm volatile("multimem.cp.async.bulk.global.shared::cta.bulk_group [%0], [%0], 16;" ::"l"(x));
}
X
cat >asm.yaml <<'X'
kiln: 1
name: asm
source: asm.cu
sizes: {default: {N: 1}}
buffers: {x: {type: u32, shape: [N], out: true}}
launch: {kernel: odd, grid: [1], block: [1], args: [x]}
X
kiln run ./asm.yaml
