#: project: cutlass
#: number: 2760
#: title: a persistent kernel without a wait for the kernel before overwrites what that kernel still reads
#: kind: race of launches
#: finds: race
import driver

KERNELS = """
extern "C" __global__ void reduce(const float *c, float *sum)
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    sum[threadIdx.x] = c[threadIdx.x] + c[63 - threadIdx.x];
}

extern "C" __global__ void grouped(const float *a, float *c)
{
    float value = a[threadIdx.x];
#if FIXED
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    c[threadIdx.x] = value * value; // BUG
}
"""


def main(cuda, fixed):
    """The output of the second launch is the input of the first one."""
    del fixed
    stream, a, c, total = cuda.stream(), cuda.zeros(256), cuda.zeros(256), cuda.memory(256)
    cuda.launch("reduce", 1, 64, [c, total], stream)
    cuda.launch("grouped", 1, 64, [a, c], stream, dependent=True)


driver.run(main, KERNELS)
