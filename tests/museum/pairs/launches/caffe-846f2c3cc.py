#: project: caffe
#: number: 846f2c3cc
#: title: the next batch is uploaded while a kernel still reads the batch before it
#: kind: race of launches
#: finds: race
import driver

KERNELS = """
extern "C" __global__ void forward(const float *batch, float *top)
{
    top[threadIdx.x] = batch[threadIdx.x];
}
"""


def main(cuda, fixed):
    """The forward pass gives the batch back to the thread that prefetches. This thread uploads the next batch in a
    separate stream."""
    compute, prefetch = cuda.stream(), cuda.stream()
    batch, top, host = cuda.zeros(1024), cuda.zeros(1024), cuda.pinned(4096)
    cuda.launch("forward", 1, 256, [batch, top], compute)
    if fixed:
        cuda.synchronize(compute)
    cuda.upload(batch, host, 1024, prefetch)


driver.run(main, KERNELS)
