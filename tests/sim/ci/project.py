"""project.py - tests of a project, which tests/package/wheel_sim.sh runs by `pytest --kiln-sim`. NVRTC compiles the
kernel, which has an error that only one of the sizes shows."""
import ctypes

import pytest

SOURCE = rb"""extern "C" __global__ void scale(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] *= 2; // wrong: no test of i < n
}
"""


@pytest.fixture(scope="module")
def device():
    cuda, nvrtc = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL("libnvrtc.so.13")

    def call(library, name, *arguments):
        code = getattr(library, name)(*arguments)
        assert code == 0, f"{name}: {code}"

    program, size, number = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_int()
    context, module, kernel = (ctypes.c_void_p() for _ in range(3))
    options = (ctypes.c_char_p * 2)(b"--gpu-architecture=compute_90", b"-lineinfo")
    call(nvrtc, "nvrtcCreateProgram", ctypes.byref(program), SOURCE, b"scale.cu", 0, None, None)
    call(nvrtc, "nvrtcCompileProgram", program, 2, options)
    call(nvrtc, "nvrtcGetPTXSize", program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    call(nvrtc, "nvrtcGetPTX", program, text)
    call(cuda, "cuInit", 0)
    call(cuda, "cuDeviceGet", ctypes.byref(number), 0)
    call(cuda, "cuCtxCreate_v2", ctypes.byref(context), 0, number)
    call(cuda, "cuModuleLoadData", ctypes.byref(module), text)
    call(cuda, "cuModuleGetFunction", ctypes.byref(kernel), module, b"scale")
    return call, cuda, kernel


@pytest.mark.parametrize("n", [256, 300, 512])
def test_scale(device, n):
    call, cuda, kernel = device
    memory, count = ctypes.c_uint64(), ctypes.c_int(n)
    values = (ctypes.c_float * n)(*range(n))
    call(cuda, "cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(4 * n))
    call(cuda, "cuMemcpyHtoD_v2", memory, values, ctypes.c_size_t(4 * n))
    arguments = (ctypes.c_void_p * 2)(ctypes.addressof(memory), ctypes.addressof(count))
    call(cuda, "cuLaunchKernel", kernel, (n + 255) // 256, 1, 1, 256, 1, 1, 0, None, arguments, None)
    call(cuda, "cuMemcpyDtoH_v2", values, memory, ctypes.c_size_t(4 * n))
    call(cuda, "cuMemFree_v2", memory)
    assert list(values) == [2 * i for i in range(n)]
