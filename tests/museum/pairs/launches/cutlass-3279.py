#: project: cutlass
#: number: 3279
#: title: one of several warp roles loads without a wait for the kernel before
#: kind: race of launches
#: finds: race
import driver

KERNELS = """
extern "C" __global__ void quantise(float *values, float *scales)
{
    values[threadIdx.x] = threadIdx.x;
    scales[threadIdx.x] = 2;
}

extern "C" __global__ void product(const float *values, const float *scales, float *y)
{
    __shared__ float tile[64], factor[64];
    if (threadIdx.x < 64) {
        asm volatile("griddepcontrol.wait;" ::: "memory");
        tile[threadIdx.x] = values[threadIdx.x];
    } else {
#if FIXED
        asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
        factor[threadIdx.x - 64] = scales[threadIdx.x - 64]; // BUG
    }
    __syncthreads();
    if (threadIdx.x < 64)
        y[threadIdx.x] = tile[threadIdx.x] * factor[threadIdx.x];
}
"""


def main(cuda, fixed):
    """Two warps load values, and two warps load scales."""
    del fixed
    stream, values, scales, y = cuda.stream(), cuda.memory(256), cuda.memory(256), cuda.memory(256)
    cuda.launch("quantise", 1, 64, [values, scales], stream)
    cuda.launch("product", 1, 128, [values, scales, y], stream, dependent=True)


driver.run(main, KERNELS)
