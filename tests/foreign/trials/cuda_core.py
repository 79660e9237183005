"""Uses cuda.core: compiles a program by NVRTC, launches it, and asks for its attributes and occupancy."""
import numpy as np
from cuda.bindings import driver
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

SOURCE = """
template <class T> __global__ void add(const T *a, const T *b, T *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}
"""
N = 1000

device = Device()
device.set_current()
stream = device.create_stream()
program = Program(SOURCE, "c++", ProgramOptions(arch=f"sm_{device.arch}"))
kernel = program.compile("ptx", name_expressions=("add<float>",)).get_kernel("add<float>")
assert kernel.attributes.max_threads_per_block > 0
a, b = (np.random.rand(N).astype(np.float32) for _ in range(2))
c = np.empty_like(a)
memory = [device.allocate(a.nbytes, stream=stream) for _ in range(3)]
for array, buffer in zip((a, b), memory):
    assert driver.cuMemcpyHtoD(int(buffer.handle), array.ctypes.data, array.nbytes)[0] == 0
launch(stream, LaunchConfig(grid=4, block=256), kernel, *memory, np.int32(N))
stream.sync()
assert driver.cuMemcpyDtoH(c.ctypes.data, int(memory[2].handle), c.nbytes)[0] == 0
assert np.array_equal(c, a + b)
