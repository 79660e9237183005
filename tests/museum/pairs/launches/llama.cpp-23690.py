#: project: llama.cpp
#: number: 23690
#: title: a kernel that may begin early reads before it has waited for the kernel before it
#: kind: race of launches
#: finds: race
import driver

KERNELS = """
extern "C" __global__ void produce(float *x)
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    x[blockIdx.x * 64 + threadIdx.x] = threadIdx.x;
}

extern "C" __global__ void transform(const float *x, float *y)
{
    __shared__ float row[64];
#if FIXED
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    row[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x]; // BUG
    __syncthreads();
    y[blockIdx.x * 64 + threadIdx.x] = row[threadIdx.x] + row[threadIdx.x ^ 1];
}
"""


def main(cuda, fixed):
    """The new kernel was launched as a dependent launch like all others, but it did not wait."""
    del fixed
    stream, x, y = cuda.stream(), cuda.memory(512), cuda.memory(512)
    cuda.launch("produce", 2, 64, [x], stream)
    cuda.launch("transform", 2, 64, [x, y], stream, dependent=True)


driver.run(main, KERNELS)
