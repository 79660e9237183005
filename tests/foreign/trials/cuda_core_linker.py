"""Tests cuda.core's linker. nvJitLink or the driver links two programs to a cubin."""
from cuda.core import Device, Linker, LinkerOptions, Program, ProgramOptions

device = Device()
device.set_current()
options = ProgramOptions(arch=f"sm_{device.arch}", relocatable_device_code=True)
one = Program("__device__ int f(int x) { return x + 1; }", "c++", options).compile("ptx")
two = Program('extern __device__ int f(int); extern "C" __global__ void k(int *p) { *p = f(*p); }', "c++", options)
Linker(one, two.compile("ptx"), options=LinkerOptions(arch=f"sm_{device.arch}")).link("cubin").get_kernel("k")
