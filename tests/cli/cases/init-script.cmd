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
kiln init add.py -o again.yaml; echo $?
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
