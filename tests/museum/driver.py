"""driver.py: the CUDA driver for the pairs that are programs. Runs under `kiln sim run`.

A pair calls run(main, KERNELS). main(cuda, fixed) gets a Cuda with the kernels, and makes the calls before or after the fix.
Sizes are in bytes. Every call that fails ends the program."""
import ctypes
import pathlib
import sys

ATTRIBUTE_DEPENDENT = 6  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION


class Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("padding", ctypes.c_int), ("value", ctypes.c_int), ("rest", ctypes.c_char * 60)]


class Config(ctypes.Structure):
    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint),
                ("stream", ctypes.c_void_p), ("attributes", ctypes.POINTER(Attribute)), ("count", ctypes.c_uint)]


def compile_kernels(source, options):
    """Returns the PTX of a source. Exits with 77 if there is no NVRTC."""
    try:
        nvrtc = ctypes.CDLL("libnvrtc.so.13")
        program = ctypes.c_void_p()
        made = nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None)
    except OSError as error:
        made = error
    if made != 0:
        print(f"SKIP nvrtc: {made}")
        sys.exit(77)
    words = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    size = ctypes.c_size_t()
    if nvrtc.nvrtcCompileProgram(program, len(options), words) != 0:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        sys.exit(log.value.decode())
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, text)
    return text.raw


class Cuda:
    """Holds a context with the kernels of a source. Its streams do not wait for the legacy stream, which is None."""

    def __init__(self, text):
        self.library = ctypes.CDLL("libcuda.so.1")
        context, self.module = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)
        self.call("cuModuleLoadData", ctypes.byref(self.module), text)

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code:
            sys.exit(f"{name}: error {code}")

    def make(self, name, *arguments):
        handle = ctypes.c_void_p()
        self.call(name, ctypes.byref(handle), *arguments)
        return handle

    def stream(self):
        return self.make("cuStreamCreate", 1)

    def event(self):
        return self.make("cuEventCreate", 2)

    def memory(self, size):
        return self.make("cuMemAlloc_v2", ctypes.c_size_t(size))

    def zeros(self, size):
        memory = self.memory(size)
        self.call("cuMemsetD8_v2", memory, ctypes.c_ubyte(0), ctypes.c_size_t(size))
        self.call("cuCtxSynchronize")
        return memory

    def pinned(self, size):
        return self.make("cuMemHostAlloc", ctypes.c_size_t(size), 0)

    def record(self, event, stream):
        self.call("cuEventRecord", event, stream)

    def wait(self, stream, event):
        self.call("cuStreamWaitEvent", stream, event, 0)

    def synchronize(self, stream):
        self.call("cuStreamSynchronize", stream)

    def upload(self, to, source, size, stream):
        self.call("cuMemcpyHtoDAsync_v2", to, source, ctypes.c_size_t(size), stream)

    def download(self, to, source, size, stream):
        self.call("cuMemcpyDtoHAsync_v2", to, source, ctypes.c_size_t(size), stream)

    def clear(self, memory, size, stream):
        self.call("cuMemsetD8Async", memory, ctypes.c_ubyte(0), ctypes.c_size_t(size), stream)

    def launch(self, name, blocks, threads, arguments, stream, dependent=False):
        """Launches a kernel with pointers and numbers of 32 bits. If `dependent`, it may begin before the previous
        kernel ends."""
        function = self.make("cuModuleGetFunction", self.module, name.encode())
        values = [value if isinstance(value, ctypes.c_void_p) else ctypes.c_int(value) for value in arguments]
        params = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
        attribute = Attribute(id=ATTRIBUTE_DEPENDENT, value=1)
        config = Config(grid=(blocks, 1, 1), block=(threads, 1, 1), stream=stream, attributes=ctypes.pointer(attribute),
                        count=1 if dependent else 0)
        self.call("cuLaunchKernelEx", ctypes.byref(config), function, params, None)


def run(main, kernels):
    """Compiles the kernels and calls main. The first argument of the program is 1 after the fix, and 0 before it."""
    path, fixed = pathlib.Path(sys.argv[0]), sys.argv[1] == "1"
    line = path.read_text().split(kernels)[0].count("\n") + 1
    text = compile_kernels(f'#line {line} "{path.name}"\n{kernels}',
                           ["--gpu-architecture=compute_90", "-lineinfo", f"-DFIXED={int(fixed)}"])
    cuda = Cuda(text)
    main(cuda, fixed)
    cuda.call("cuCtxSynchronize")
