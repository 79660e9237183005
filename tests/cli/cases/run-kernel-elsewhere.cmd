# The name of a kernel may come from an option or from joined lines. With a header of the toolkit the compiler decides.
cat >k.yaml <<'X'
kiln: 1
name: k
source: k.cu
sizes: {default: {N: 64}}
buffers: {z: {type: f32, shape: [N], out: true}}
options: ["-DKERNEL=foo"]
launch: {kernel: foo, grid: [1], block: [N], args: [z]}
X
run() {
    kiln run ./k.yaml --no-verify >out 2>err; echo "exit code $?"
    grep -c 'has no kernel' err; grep -o 'identifier "[a-z]*" is undefined' err; return 0
}
echo 'extern "C" __global__ void KERNEL(float *z) { z[threadIdx.x] = 1; }' >k.cu
run
sed -i 's/^options.*/options: ["--define-macro=KERNEL(a,b)=a##b"]/' k.yaml
sed -i 's/KERNEL/KERNEL(fo, o)/' k.cu
run
sed -i '/^options/d' k.yaml
printf '__global__ void f\\\n\\\noo(float *z) { z[threadIdx.x] = 1; }\n' >k.cu
run
echo "--- unknown: told by the compiler, and before compiling"
printf '#include <cuda_fp16.h>\n__global__ void bar(float *z) { z[threadIdx.x] = 1; }\n' >k.cu
run
echo '__global__ void bar(float *z) { z[threadIdx.x] = 1; }' >k.cu
run
