# exit 18
# An instruction that the simulated device does not run, by its name.
cat >asm.cu <<'X'
extern "C" __global__ void odd(unsigned *x)
{
    unsigned r;
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.u32 %0, [%1];" : "=r"(r) : "l"(x));
    x[0] = r;
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
