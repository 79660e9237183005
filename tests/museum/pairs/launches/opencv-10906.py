#: project: opencv
#: number: 10906
#: title: two streams count in one global variable
#: kind: race of launches
#: finds: race
import driver

KERNELS = """
__device__ int counter;

extern "C" __global__ void find_corners(int *own, int *keypoints)
{
#if FIXED
    int *count = own;
#else
    int *count = &counter;
#endif
    if (threadIdx.x == 0)
        *count = 0; // BUG
    __syncthreads();
    keypoints[atomicAdd(count, 1)] = threadIdx.x;
}
"""


def main(cuda, fixed):
    """Two detectors run at once. The fix gives each detector a counter."""
    del fixed
    memory = [(cuda.zeros(4), cuda.zeros(1024), cuda.stream()) for _ in range(2)]
    for counter, keypoints, stream in memory:
        cuda.launch("find_corners", 1, 64, [counter, keypoints], stream)


driver.run(main, KERNELS)
