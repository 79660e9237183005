#: project: opencv
#: number: 11193
#: title: a buffer is cleared in the default stream and used in a stream that does not wait for it
#: kind: race of launches
#: finds: race
import driver

KERNELS = """
extern "C" __global__ void detect_edges(int *map)
{
    map[threadIdx.x] += threadIdx.x & 1;
}
"""


def main(cuda, fixed):
    """Before the fix, the call that clears the map ignored the caller's stream."""
    stream, map_ = cuda.stream(), cuda.zeros(256)
    cuda.clear(map_, 256, stream if fixed else None)
    cuda.launch("detect_edges", 1, 64, [map_], stream)


driver.run(main, KERNELS)
