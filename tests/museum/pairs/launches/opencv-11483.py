#: project: opencv
#: number: 11483
#: title: a filter is uploaded to constant memory while a kernel of another stream reads it
#: kind: race of launches
#: finds: race
import ctypes
import driver

KERNELS = """
__constant__ float weights[64];

extern "C" __global__ void filter(float *y)
{
    y[threadIdx.x] = weights[63 - threadIdx.x];
}
"""


def main(cuda, fixed):
    """Both streams have the same constant variable. The copy of the second stream may come too early."""
    a, b = cuda.stream(), cuda.stream()
    y, host = cuda.zeros(256), cuda.pinned(4096)
    size = ctypes.c_size_t()
    weights = ctypes.c_void_p()
    cuda.call("cuModuleGetGlobal_v2", ctypes.byref(weights), ctypes.byref(size), cuda.module, b"weights")
    cuda.upload(weights, host, 256, None)
    cuda.synchronize(None)
    cuda.launch("filter", 1, 64, [y], a)
    if fixed:
        cuda.synchronize(a)
    cuda.upload(weights, host, 256, b)


driver.run(main, KERNELS)
