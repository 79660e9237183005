# needs python3
# Scripts that call Kernel Tuner: read, not run.
cat >stencil.cu <<'X'
#define WIDTH 1024
#define HEIGHT 512
__constant__ float weights[3];
__global__ void stencil(float *out, float *in)
{
    int x = blockIdx.x * block_size_x + threadIdx.x, y = blockIdx.y * block_size_y * tile_y + threadIdx.y;
    for (int t = 0; t < tile_y; t++, y += block_size_y)
        if (x > 0 && x < WIDTH - 1 && y < HEIGHT)
            out[y * WIDTH + x] = weights[0] * in[y * WIDTH + x - 1] + weights[1] * in[y * WIDTH + x] + weights[2] * in[y * WIDTH + x + 1];
}
__global__ void naive(float *out, float *in)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && x < WIDTH - 1 && y < HEIGHT)
        out[y * WIDTH + x] = weights[0] * in[y * WIDTH + x - 1] + weights[1] * in[y * WIDTH + x] + weights[2] * in[y * WIDTH + x + 1];
}
X
cat >stencil.py <<'X'
import numpy as np
import os
from collections import OrderedDict
import kernel_tuner

os.system("touch the-script-was-run")

def tune(kernel, reference):
    with open("stencil.cu") as f:
        source = f.read()
    problem_size = (1024, 512)
    size = np.prod(problem_size)
    image = np.random.randn(size).astype(np.float32)
    result = np.zeros_like(image)
    weights = np.array([0.25, 0.5, 0.25]).astype(np.float32)
    args = [result, image]
    params = OrderedDict(block_size_x=[2**i for i in range(4, 8)])
    params["block_size_y"] = [1, 2, 4]
    params["tile_y"] = [1, 2]
    restrictions = ["block_size_x*block_size_y >= 64", lambda p: p["block_size_y"] * p["tile_y"] <= 4]
    run = kernel_tuner.run_kernel(reference, source, problem_size, args, {"block_size_x": 16, "block_size_y": 16},
                                  grid_div_x=["block_size_x"], grid_div_y=["block_size_y"], cmem_args={"weights": weights})
    return kernel_tuner.tune_kernel(kernel, source, problem_size, args, params, grid_div_x=["block_size_x"],
                                    grid_div_y=["block_size_y", "tile_y"], restrictions=restrictions, answer=[run[0], None],
                                    cmem_args={"weights": weights}, atol=1e-5, compiler_options=["-std=c++17", "-arch=sm_90"],
                                    metrics={"GB/s": lambda p: (size * 8 / 1e9) / (p["time"] / 1e3)})

if __name__ == "__main__":
    tune("stencil", "naive")
X
kiln init stencil.py -o stencil.yaml && cat stencil.yaml
[ -e the-script-was-run ] && echo "the script was run"
kiln tune stencil.yaml -q -m 5 | grep configurations
# A kernel as a text, the answer in Python, several calls, a range, an argument of a type.
cat >add.py <<'X'
import numpy
from kernel_tuner import tune_kernel
code = """
__global__ void add(float *c, const float *a, const float *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
"""
size = 100000
a = numpy.random.rand(size).astype(numpy.float32)
b = numpy.ones_like(a)
c = numpy.zeros_like(a)
want = a + b
tune = {"block_size_x": [32 * i for i in range(1, 5)]}
tune_kernel("add", code, size, [c, a, b, numpy.int32(size)], tune, answer=[want, None, None, None])
tune["block_size_x"] = [1]
X
kiln init add.py -o add.yaml && sed -n '/^kiln/,$p' add.yaml && cat add_reference.py
mkdir other && cp add.py other && echo 1 >other/add.cu && echo 2 >other/add_add.cu
kiln init other/add.py -o other/again.yaml; echo $?
kiln init add.py; echo $?
# What cannot be read is said, with the line.
printf 'import kernel_tuner\nkernel_tuner.tune_kernel("k", lambda p: "", 10, [], {"a": [1]})\n' >made.py
kiln init made.py; echo $?
printf 'import kernel_tuner\nkernel_tuner.tune_kernel("k", "k.cu", 10, [], {"a": load()})\n' >values.py
echo '__global__ void k() {}' >k.cu
kiln init values.py; echo $?
# A text that would show the variables of the program which reads the script.
printf 'import numpy, kernel_tuner\nkernel_tuner.tune_kernel("{0.__init__.__globals__}".format(numpy.zeros(1)), "k.cu", 10, [], {"a": [1]})\n' >shows.py
kiln init shows.py; echo $?
printf 'x = (\n' >broken.py
kiln init broken.py; echo $?
printf 'print(1)\n' >nothing.py
kiln init nothing.py; echo $?
PATH=$(dirname "$(command -v kiln)") kiln init add.py -o other.yaml; echo $?
# Scripts in one folder may share a file. Another text of the same name gets the script's name. A param chooses the type.
mkdir many && cd many || exit 1
cat >first.py <<'X'
import numpy
from kernel_tuner import tune_kernel
from kernel_tuner.accuracy import TunablePrecision
source = """
template <typename T> __global__ void add(int n, const T *x, const T *y, T *z)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        z[i] = x[i] + y[i];
}
"""
size = 80000000
n = numpy.int32(size)
x = numpy.random.randn(size).astype(numpy.float64)
y = numpy.random.randn(size).astype(numpy.float64)
args = [n, TunablePrecision("T_name", x), TunablePrecision("T_name", y), TunablePrecision("T_name", numpy.zeros_like(x))]
params = {"block_size_x": [64, 128], "T_name": ["float", "double"]}
metrics = {"gflops": lambda p: (size / 1e9) / (p["time"] / 1000), "watts": lambda p: p["nvidia_power"]}
tune_kernel("add<T_name>", source, size, args, params, metrics=metrics, answer=[None, None, None, x + y])
X
sed 's/x\[i\] + y/x[i] - y/; s/x + y/x - y/' first.py >second.py
kiln init first.py -o first.yaml
kiln init first.py -o twice.yaml
kiln init second.py -o second.yaml
sed -n '/^# check/p; /^source/p; /^sizes/,/^$/p; /^metrics/p; /^buffers/,/^$/p; /^params/,$p' second.yaml
sed -n '/^x =/,$p' second_add_T_name_reference.py
# A function of the host launches the kernel; texture references; elements for each block; a huge size that is no problem size.
cat >kernel.cu <<'X'
__global__ void part(float *sums, const float *x, int n)
{
    float sum = 0;
    for (int i = blockIdx.x * block_size_x + threadIdx.x; i < n; i += block_size_x * gridDim.x)
        sum += twice ? x[i] + x[i] : 2 * x[i];
    __shared__ float all[block_size_x];
    all[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int t = 1; t < block_size_x; t++)
            sum += all[t];
        sums[blockIdx.x] = sum;
    }
}
X
echo 'extern "C" float part_host(float *s, float *x, int n) { part<<<num_blocks, block_size_x>>>(s, x, n); return 0; }' >host.cu
cat >part.py <<'X'
import numpy, kernel_tuner
size = 800000000
n = numpy.int32(size)
x = numpy.random.rand(size).astype(numpy.float32)
sums = numpy.zeros(64).astype(numpy.float32)
params = {"block_size_x": [32, 64], "num_blocks": [4, 8], "twice": [0, 1]}
kernel_tuner.tune_kernel("part", "kernel.cu", "num_blocks", [sums, x, n], params, grid_div_x=[])
X
kiln init part.py -o part.yaml; sed -n '/^# check/p; /^sizes/,/^$/p; /^verify/,/^$/p' part.yaml
kiln tune part.yaml -q | grep configurations
sed 's/"part", "kernel.cu"/"part_host", ["host.cu", "kernel.cu"]/' part.py >host.py
kiln init host.py; echo $?
sed 's/grid_div_x=\[\]/texmem_args={"t": x}/' part.py >texture.py
kiln init texture.py; echo $?
# The command line of a script chooses a value: the default of the parameter counts. Paths from the script's own folder,
# and arrays in files.
mkdir -p ../files && cd ../files || exit 1
echo '__global__ void twice(float *y, const float *x, int n) { int i = blockIdx.x * block_size_x + threadIdx.x; if (i < n) y[i] = 2 * x[i]; }' >twice.cu
cat >twice.py <<'X'
import os, sys
import numpy as np
import kernel_tuner

def tune(device, lang="CUDA"):
    if lang == "CUDA":
        name = "/twice.cu"
    elif lang == "HIP":
        name = "/twice.hip"
    with open(os.path.dirname(os.path.realpath(__file__)) + name) as file:
        source = file.read()
    n = np.int32(5000)
    args = [np.zeros(n, dtype=np.float32), np.load("x.npy"), n]
    answer = [np.load("want.npy"), None, None]
    kernel_tuner.tune_kernel("twice", source, n, args, {"block_size_x": [32, 64]}, answer=answer,
                             restrictions=["32 <= block_size_x <= 64"])

if __name__ == "__main__":
    tune(lang=sys.argv[1], device=sys.argv[2])
X
kiln init twice.py >twice.yaml; grep -E '^# check|^source|^  [xy]:|^  - ' twice.yaml
