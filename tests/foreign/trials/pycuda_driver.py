"""PyCUDA on the driver API: PTX, a constant, streams, events, page-locked memory, the memory pool."""
import numpy as np
import pycuda.driver as drv
import pycuda.tools as tools
from pycuda.compiler import compile

SOURCE = """
__constant__ float scale[4];
__device__ int count;
__global__ void scaled(float *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        p[i] *= scale[i & 3];
        atomicAdd(&count, 1);
    }
}
"""
N = 1000

drv.init()
device = drv.Device(0)
context = device.make_context()
try:
    module = drv.module_from_buffer(compile(SOURCE, target="ptx", arch="compute_80"))
    scaled = module.get_function("scaled")
    drv.memcpy_htod(module.get_global("scale")[0], np.array([1, 2, 3, 4], np.float32))
    before = np.random.rand(N).astype(np.float32)
    memory = tools.DeviceMemoryPool().allocate(before.nbytes)
    stream, start, end = drv.Stream(), drv.Event(), drv.Event()
    host = drv.pagelocked_empty(N, np.float32)
    host[:] = before
    drv.memcpy_htod_async(int(memory), host, stream)
    start.record(stream)
    scaled(memory, np.int32(N), block=(128, 1, 1), grid=(8, 1), stream=stream)
    end.record(stream)
    drv.memcpy_dtoh_async(host, int(memory), stream)
    stream.synchronize()
    assert np.array_equal(host, before * np.tile(np.array([1, 2, 3, 4], np.float32), N // 4))
    assert end.time_since(start) >= 0
    count = np.zeros(1, np.int32)
    drv.memcpy_dtoh(count, module.get_global("count")[0])
    assert count[0] == N
    memory.free()
finally:
    context.pop()
