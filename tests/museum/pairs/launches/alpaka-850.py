#: project: alpaka
#: number: 850
#: title: a synchronous copy does not wait for a kernel in a stream that is not blocking
#: kind: race of launches
#: finds: race
import driver

KERNELS = """
extern "C" __global__ void work(int *x)
{
    x[threadIdx.x] = 2 * threadIdx.x;
}
"""


def main(cuda, fixed):
    """Before the fix, the copy of a blocking queue ran in the default stream."""
    stream, x, host = cuda.stream(), cuda.zeros(256), cuda.pinned(4096)
    cuda.launch("work", 1, 64, [x], stream)
    cuda.download(host, x, 256, stream if fixed else None)
    cuda.synchronize(stream if fixed else None)


driver.run(main, KERNELS)
