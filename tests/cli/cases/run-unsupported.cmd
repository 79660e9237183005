# exit 18
# An instruction that the simulated device does not run, by its name.
cat >asm.cu <<'X'
extern "C" __global__ void odd(unsigned *x)
{
    unsigned r;
    asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%1], 0, %0;" :: "r"(r), "l"(x));
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
