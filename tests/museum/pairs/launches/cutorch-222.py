#: project: cutorch
#: number: 222
#: title: one event is recorded in two streams, so a third stream waits for the second one only
#: kind: race of launches
#: finds: race
import driver

KERNELS = """
extern "C" __global__ void produce(float *x)
{
    x[threadIdx.x] = threadIdx.x; // BUG
}

extern "C" __global__ void consume(const float *x, const float *y, float *z)
{
    z[threadIdx.x] = x[threadIdx.x] + y[threadIdx.x]; // BUG
}
"""


def main(cuda, fixed):
    """If an event is recorded again, it no longer stands for the first recording."""
    first, second, third = cuda.stream(), cuda.stream(), cuda.stream()
    x, y, z, event = cuda.memory(256), cuda.memory(256), cuda.memory(256), cuda.event()
    cuda.launch("produce", 1, 64, [x], first)
    cuda.launch("produce", 1, 64, [y], second)
    cuda.record(event, first)
    if fixed:
        cuda.wait(third, event)
    cuda.record(event, second)
    cuda.wait(third, event)
    cuda.launch("consume", 1, 64, [x, y, z], third)


driver.run(main, KERNELS)
