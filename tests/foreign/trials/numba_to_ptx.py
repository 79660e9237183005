"""Numba compiles a kernel to PTX, and cuda.core loads it."""
import numpy as np
from cuda.bindings import driver
from cuda.core import Device, LaunchConfig, ObjectCode, launch
from numba import cuda, float32


def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


ptx, _ = cuda.compile_ptx(add, (float32[::1], float32[::1], float32[::1]), cc=(9, 0))
name = ptx.split(".visible .entry ")[1].split("(")[0]
device = Device()
device.set_current()
stream = device.create_stream()
kernel = ObjectCode.from_ptx(ptx.encode()).get_kernel(name)
N = 1000
a, b = (np.random.rand(N).astype(np.float32) for _ in range(2))
c = np.empty_like(a)
memory = [device.allocate(a.nbytes, stream=stream) for _ in range(3)]
for array, buffer in zip((a, b), memory):
    assert driver.cuMemcpyHtoD(int(buffer.handle), array.ctypes.data, array.nbytes)[0] == 0
arguments = []
# the fields of a Numba array: owner, parent, number of elements, bytes of an element, data, shape, strides
for buffer in memory:
    arguments += [np.uint64(0), np.uint64(0), np.int64(N), np.int64(4), np.uint64(int(buffer.handle)), np.int64(N),
                  np.int64(4)]
launch(stream, LaunchConfig(grid=4, block=256), kernel, *arguments)
stream.sync()
assert driver.cuMemcpyDtoH(c.ctypes.data, int(memory[2].handle), c.nbytes)[0] == 0
assert np.array_equal(c, a + b)
