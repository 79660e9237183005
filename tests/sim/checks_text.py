"""checks_text.py LIBCUDA [SYMBOL [WRITES]] tests that no name of a module moves the cursor of a terminal. Under
KILN_SIM_CHECK these names go to standard error. SYMBOL is the name of the kernel. WRITES is the number of further
writes out of bounds, which come first. Their lines are in the file other.cu."""
import ctypes, sys

SYMBOL = (sys.argv[2] if len(sys.argv) > 2 else "k").encode()
WRITES = b"    st.global.u32 [%rd2+4096], %r1;\n" * int(sys.argv[3] if len(sys.argv) > 3 else 0)
PTX = b""".version 8.0
.target sm_80
.address_size 64
.visible .entry """ + SYMBOL + b"""(.param .u64 p)
{
    .reg .b64 %rd<3>;
    .reg .b32 %r<2>;
    .loc 1 3 0
    ld.param.u64 %rd1, [p];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, 1;
    .loc 2 7 0
""" + WRITES + b"""
    .loc 1 3 0
    st.global.u32 [%rd2+4096], %r1;
    ret;
}
.file 1 "e\033[31mvil\302\233.cu"
.file 2 "other.cu"
"""
cu = ctypes.CDLL(sys.argv[1])
device, context, module, kernel, memory = ctypes.c_int(), *(ctypes.c_void_p() for _ in range(3)), ctypes.c_uint64()


def call(name, *arguments):
    code = getattr(cu, name)(*arguments)
    if code:
        sys.exit(f"{name}: {code}")


call("cuInit", 0)
call("cuDeviceGet", ctypes.byref(device), 0)
call("cuCtxCreate_v2", ctypes.byref(context), 0, device)
call("cuModuleLoadData", ctypes.byref(module), PTX)
call("cuModuleGetFunction", ctypes.byref(kernel), module, SYMBOL)
call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(64))
arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(memory), ctypes.c_void_p))
call("cuLaunchKernel", kernel, 1, 1, 1, 1, 1, 1, 0, None, arguments, None)
call("cuCtxDestroy_v2", context)
