#: project: rmm
#: number: 2490
#: title: a block of memory moves to another stream's list, whose event is not recorded again
#: kind: race of launches
#: finds: race
import driver

KERNELS = """
extern "C" __global__ void use(int *block, int value)
{
    block[threadIdx.x] = value; // BUG
}
"""


def main(cuda, fixed):
    """Stream a frees a block, stream b takes over its list, and stream c gets the block and waits for the event of b."""
    a, b, c = cuda.stream(), cuda.stream(), cuda.stream()
    event_a, event_b = cuda.event(), cuda.event()
    block = cuda.memory(256)
    cuda.record(event_b, b)
    cuda.launch("use", 1, 64, [block, 1], a)
    cuda.record(event_a, a)
    cuda.wait(b, event_a)
    if fixed:
        cuda.record(event_b, b)
    cuda.wait(c, event_b)
    cuda.launch("use", 1, 64, [block, 2], c)


driver.run(main, KERNELS)
