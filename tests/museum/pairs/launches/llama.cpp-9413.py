#: project: llama.cpp
#: number: 9413
#: title: several streams take the same scratch memory from a pool
#: kind: race of launches
#: finds: race
import driver

KERNELS = """
extern "C" __global__ void multiply(const float *x, float *scratch, float *y)
{
    scratch[63 - threadIdx.x] = x[threadIdx.x]; // BUG
    __syncthreads();
    y[threadIdx.x] = scratch[threadIdx.x];
}
"""


def main(cuda, fixed):
    """The pool hands out memory in the order of the host's calls, which is right for one stream only."""
    scratch = cuda.memory(256)
    memory = [(cuda.zeros(256), cuda.memory(256) if fixed else scratch, cuda.memory(256), cuda.stream()) for _ in range(2)]
    for x, own, y, stream in memory:
        cuda.launch("multiply", 1, 64, [x, own, y], stream)


driver.run(main, KERNELS)
