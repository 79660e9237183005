#: project: cccl
#: number: 5297
#: title: the wait for the kernel before comes after the read of the partition that it writes
#: kind: race of launches
#: finds: race
import driver

KERNELS = """
extern "C" __global__ void partition(int *begin)
{
    begin[threadIdx.x] = 32 * threadIdx.x;
}

extern "C" __global__ void merge(const int *begin, const int *keys, int *out)
{
#if FIXED
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    int first = begin[blockIdx.x], end = begin[blockIdx.x + 1]; // BUG
#if !FIXED
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    if (first + (int)threadIdx.x < end)
        out[first + threadIdx.x] = keys[end - 1 - threadIdx.x];
}
"""


def main(cuda, fixed):
    """A merge sort finds partitions by one kernel, and merges them by another one."""
    del fixed
    stream, begin, keys, out = cuda.stream(), cuda.memory(12), cuda.zeros(256), cuda.zeros(256)
    cuda.launch("partition", 1, 3, [begin], stream)
    cuda.launch("merge", 2, 32, [begin, keys, out], stream, dependent=True)


driver.run(main, KERNELS)
