# A contract from a signature. The author writes the answer, and then kernels can be judged.
kiln init 'def scale(x: Tensor[M, N], a: float = 1.5, shift: int, at: int32[N]) -> (y: f16[M, N], bfloat16[3]):'
kiln init 'twice(x: f32[N]) -> f32[N]' -o twice.yaml
cat twice.cu
kiln judge ./twice.yaml -c twice.cu -d sim 2>&1 | grep -c 'write the answer'
sed -i 's/^#error.*/    out[i] = 2 * x[i];/' twice.cu
sed 's/2 \* x/i == 7 ? 0 : 2 * x/' twice.cu >wrong.cu
kiln judge ./twice.yaml -c twice.cu -d sim | head -1
kiln judge ./twice.yaml -c wrong.cu -d sim | head -1
kiln init 'twice(x: f32[N]) -> f32[N]' -o other.yaml
for text in 'f(x: f32[N])->' 'f(x: real[N]) -> f32[N]' 'f(x f32[N]) -> f32[N]' 'f(x: f32[1.5]) -> f32[N]' 'f(x: f32[N]) -> f32[N] and' 'f(x: f32) -> f32[N]' \
    'f(x: f32[3y]) -> f32[N]' 'f(x: f32[N], x: f32[N]) -> f32[N]' 'f(out: f32[N]) -> f32[N]' 'f(N: f32[N]) -> f32[N]' \
    'f(i: f32[N]) -> f32[N]' 'f(n: int=1.5) -> f32[N]' 'f(a: float=b) -> f32[N]' 'f(a: float=1e) -> f32[N]'; do
    kiln init "$text" 2>&1 | head -1
done
arrays=$(seq 20 | sed 's/.*/x&: f32[A&, B&]/' | paste -s -d ,)
kiln init "f($arrays) -> f32[A1]" 2>&1 | head -1
kiln init 'norm(x: f32[N], eps: float = 1e-5, b: float=-.5, c: int=-8) -> f32[N]' | grep -m 1 args
kiln init 'three(x: f32[3]) -> f32[3]' -o three.yaml >/dev/null
kiln show ./three.yaml | head -2
kiln init 'three(x: f32[3]) -> f32[3]' --json | grep -cE '"(spec|kernel)"'
kiln init 'three(x: f32[3]) -> f32[3]' | tail -1
