#: project: llama.cpp
#: number: 18310
#: title: the host reads the target of an asynchronous copy before it has waited
#: kind: race of launches
#: finds: race
import ctypes
import driver

KERNELS = """
extern "C" __global__ void decode(int *logits)
{
    logits[threadIdx.x] = threadIdx.x;
}
"""


def main(cuda, fixed):
    """Pinned memory is guarded by whole pages."""
    stream, logits, host = cuda.stream(), cuda.memory(4096), cuda.pinned(4096)
    cuda.launch("decode", 1, 1024, [logits], stream)
    cuda.download(host, logits, 4096, stream)
    if fixed:
        cuda.synchronize(stream)
    print(ctypes.cast(host, ctypes.POINTER(ctypes.c_int))[5])


driver.run(main, KERNELS)
