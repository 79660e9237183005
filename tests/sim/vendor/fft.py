"""fft.py [--seed N] [--version 12] compares Kiln's cuFFT on the simulated device with numpy.fft in double precision. It
tests random ranks, sizes, batches, layouts and types, transforms in place and in graphs, and errors. It runs under
`kiln sim run`."""
import argparse
import ctypes
import sys

try:
    import numpy as np
except ImportError as missing:
    print(f"SKIP tool: {missing}")
    sys.exit(77)

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--version", type=int, default=12)
arguments = parser.parse_args()
random = np.random.default_rng(arguments.seed)
cuda, fft = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL(f"libcufft.so.{arguments.version}")
P, Z, I = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
C2C, R2C, C2R, Z2Z, D2Z, Z2D = 0x29, 0x2A, 0x2C, 0x69, 0x6A, 0x6C
FORWARD, INVERSE = -1, 1
MARK = 77  # the value between the elements, which must not change


def call(library, name, *given):
    code = getattr(library, name)(*given)
    assert code == 0, f"{name}: {code}"


def refuse(name, wanted, *given):
    code = getattr(fft, name)(*given)
    assert code == wanted, f"{name}: {code} instead of {wanted}"


context, stream = P(), P()
call(cuda, "cuInit", 0)
call(cuda, "cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call(cuda, "cuCtxSetCurrent", context)
call(cuda, "cuStreamCreate", ctypes.byref(stream), 1)
first = I()
if fft.cufftCreate(ctypes.byref(first)) == 7:
    print("SKIP tool: libfftw3.so.3 and libfftw3f.so.3 are not installed")
    sys.exit(77)
call(fft, "cufftDestroy", first)


class Memory:
    """Allocates device memory with the bytes of an array."""

    def __init__(self, array):
        self.array, self.at = np.ascontiguousarray(array), ctypes.c_uint64()
        call(cuda, "cuMemAlloc_v2", ctypes.byref(self.at), Z(max(self.array.nbytes, 1)))
        self.write(self.array)

    def write(self, array):
        call(cuda, "cuMemcpyHtoD_v2", self.at, P(array.ctypes.data), Z(array.nbytes))

    def read(self, dtype=None, count=None):
        copy = np.empty_like(self.array) if dtype is None else np.empty(count, dtype)
        call(cuda, "cuStreamSynchronize", stream)
        call(cuda, "cuMemcpyDtoH_v2", P(copy.ctypes.data), self.at, Z(copy.nbytes))
        return copy

    def __del__(self):
        cuda.cuMemFree_v2(self.at)


def ints(values):
    return (I * len(values))(*values)


def make(shape, dtype):
    values = random.uniform(-1, 1, shape)
    return (values + 1j * random.uniform(-1, 1, shape) if np.issubdtype(dtype, np.complexfloating) else values).astype(dtype)


def expect(kind, direction, values, size):
    axes = tuple(range(1, len(size) + 1))
    wide = values.astype(np.complex128 if np.iscomplexobj(values) else np.float64)
    if kind == C2C:
        return np.fft.fftn(wide, axes=axes) if direction == FORWARD else np.fft.ifftn(wide, axes=axes) * np.prod(size)
    if kind == R2C:
        return np.fft.rfftn(wide, axes=axes)
    return np.fft.irfftn(wide, size, axes=axes) * np.prod(size)


def close(name, got, expected, size, single):
    limit = (2e-6 if single else 4e-15) * np.sqrt(np.prod(size)) * (4 + np.log2(np.prod(size) + 1))
    error = np.abs(got.astype(expected.dtype) - expected).max(initial=0)
    assert error <= limit, f"{name} {size}: an error of {error}, limit {limit}"


class Side:
    """One side of a transform. Its elements have gaps, or are contiguous."""

    def __init__(self, shape, dtype, extra):
        self.shape, batch, inner = shape, shape[0], shape[1:]
        self.extent = [n + (int(random.integers(0, 3)) if extra else 0) for n in inner]
        self.step = int(random.integers(1, 4)) if extra else 1
        self.distance = int(np.prod(self.extent)) * self.step + (int(random.integers(0, 5)) if extra else 0)
        places = sum(np.arange(n).reshape([-1 if k == j else 1 for j in range(len(inner))]) * int(np.prod(self.extent[k + 1:])) * self.step
                     for k, n in enumerate(inner))
        self.places = (np.arange(batch) * self.distance).reshape([-1] + [1] * len(inner)) + places
        self.store = np.full(int(self.places.max()) + 1, MARK, dtype)

    def put(self, values):
        self.store[self.places] = values
        return self.store

    def take(self, store):
        gap = np.ones(store.shape, bool)
        gap[self.places] = False
        assert (store[gap] == MARK).all(), "a gap was written"
        return store[self.places]


sizes = [1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 30, 31, 64]
for turn in range(160):
    rank, batch, single = int(random.integers(1, 4)), int(random.integers(1, 4)), bool(random.integers(0, 2))
    kind, direction = [C2C, R2C, C2R][int(random.integers(0, 3))], [FORWARD, INVERSE][int(random.integers(0, 2))]
    size = [int(random.choice(sizes if rank < 3 else sizes[:9])) for _ in range(rank)]
    halved = size[:-1] + [size[-1] // 2 + 1]
    real, wide = (np.float32, np.complex64) if single else (np.float64, np.complex128)
    in_shape, out_shape = [batch] + (halved if kind == C2R else size), [batch] + (halved if kind == R2C else size)
    in_type, out_type = real if kind == R2C else wide, real if kind == C2R else wide
    values = make(in_shape, in_type)
    if kind == C2R:  # a spectrum of real numbers: the transform of any other input is undefined
        values = np.fft.rfftn(make([batch] + size, real).astype(np.float64), axes=tuple(range(1, rank + 1)))
        values = (values / np.prod(size) ** 0.5).astype(wide)  # NumPy 2 would widen the quotient of these two types
    extra = bool(random.integers(0, 2))
    source, target = Side(in_shape, in_type, extra), Side(out_shape, out_type, extra)
    plan, code = I(), kind | (0 if single else 0x40)
    if extra:
        call(fft, "cufftPlanMany", ctypes.byref(plan), rank, ints(size), ints(source.extent), source.step, source.distance, ints(target.extent),
             target.step, target.distance, code, batch)
    elif rank == 1:
        call(fft, "cufftPlan1d", ctypes.byref(plan), size[0], code, batch)
    elif batch == 1:
        call(fft, f"cufftPlan{rank}d", ctypes.byref(plan), *size, code)
    else:
        call(fft, "cufftPlanMany", ctypes.byref(plan), rank, ints(size), None, 1, 0, None, 1, 0, code, batch)
    call(fft, "cufftSetStream", plan, stream)
    name = {C2C: "C2C", R2C: "R2C", C2R: "C2R"}[kind] if single else {C2C: "Z2Z", R2C: "D2Z", C2R: "Z2D"}[kind]
    data, result = Memory(source.put(values)), Memory(target.store)
    call(fft, f"cufftExec{name}", plan, data.at, result.at, *([direction] if kind == C2C else []))
    expected = expect(kind, direction, values, size)
    close(name, target.take(result.read()), expected, size, single)
    assert (source.take(data.read()) == values).all(), "the input was written"
    call(fft, "cufftXtExec", plan, data.at, result.at, direction)
    close("cufftXtExec", target.take(result.read()), expected, size, single)
    if not extra:  # in place, rows of real numbers are padded
        padded = [batch] + size[:-1] + [2 * (size[-1] // 2 + 1)]
        room = np.full(int(np.prod([batch] + halved)) if kind != C2C else int(np.prod(in_shape)), MARK, wide)
        if kind == R2C:
            room.view(real).reshape(padded)[..., : size[-1]] = values
        else:
            room[:] = values.reshape(-1)
        both = Memory(room)
        call(fft, f"cufftExec{name}", plan, both.at, both.at, *([direction] if kind == C2C else []))
        got = both.read()
        got = got.view(real).reshape(padded)[..., : size[-1]] if kind == C2R else got.reshape(out_shape)
        close(f"{name} in place", got, expected, size, single)
    call(fft, "cufftDestroy", plan)

# tests a plan that is made in steps, 64-bit sizes, types of cudaDataType, and a graph that runs twice with different
# contents
plan, area, L = I(), Z(5), ctypes.c_longlong
call(fft, "cufftCreate", ctypes.byref(plan))
refuse("cufftExecC2C", 1, plan, P(8), P(8), FORWARD)  # no sizes yet
call(fft, "cufftXtMakePlanMany", plan, 1, (L * 1)(48), None, L(1), L(0), 4, None, L(1), L(0), 4, L(2), ctypes.byref(area), 4)
assert area.value == 0
refuse("cufftMakePlan1d", 1, plan, 8, C2C, 1, ctypes.byref(area))  # it has its sizes
call(fft, "cufftSetStream", plan, stream)
data, result = Memory(make((2, 48), np.complex64)), Memory(np.zeros((2, 48), np.complex64))
graph, runs = P(), P()
call(cuda, "cuStreamBeginCapture_v2", stream, 0)
call(fft, "cufftExecC2C", plan, data.at, result.at, FORWARD)
call(cuda, "cuStreamEndCapture", stream, ctypes.byref(graph))
assert (result.read() == 0).all(), "a captured call has run"
call(fft, "cufftDestroy", plan)  # the graph keeps the plan, although it was destroyed
call(cuda, "cuGraphInstantiateWithFlags", ctypes.byref(runs), graph, ctypes.c_ulonglong(0))
for _ in range(2):
    values = make((2, 48), np.complex64)
    data.write(values)
    call(cuda, "cuGraphLaunch", runs, stream)
    close("a graph", result.read(), np.fft.fft(values.astype(np.complex128)), [48], True)
call(cuda, "cuGraphExecDestroy", runs)
call(cuda, "cuGraphDestroy", graph)

# errors
refuse("cufftDestroy", 1, plan)
refuse("cufftDestroy", 1, -5)
refuse("cufftPlan1d", 8, ctypes.byref(plan), 0, C2C, 1)
refuse("cufftPlan1d", 8, ctypes.byref(plan), 8, C2C, 0)
refuse("cufftPlan1d", 3, ctypes.byref(plan), 8, 0x2B, 1)
refuse("cufftPlan1d", 4, None, 8, C2C, 1)
refuse("cufftPlanMany", 4, ctypes.byref(plan), 4, ints([2] * 4), None, 1, 0, None, 1, 0, C2C, 1)
refuse("cufftPlanMany", 8, ctypes.byref(plan), 1, ints([8]), ints([8]), -1, 8, ints([8]), 1, 8, C2C, 2)
call(fft, "cufftCreate", ctypes.byref(plan))
huge = (L * 3)(2**39, 2**39, 2**39)
refuse("cufftMakePlanMany64", 8, plan, 3, huge, None, L(1), L(0), None, L(1), L(0), C2C, L(2**40), ctypes.byref(area))
call(fft, "cufftDestroy", plan)
call(fft, "cufftPlan1d", ctypes.byref(plan), 64, C2C, 1)
refuse("cufftExecR2C", 3, plan, data.at, result.at)
refuse("cufftExecC2C", 4, plan, data.at, result.at, 0)
refuse("cufftExecC2C", 4, plan, None, result.at, FORWARD)
short = Memory(np.zeros(63, np.complex64))
refuse("cufftExecC2C", 6, plan, short.at, result.at, FORWARD)  # one byte beyond the memory
refuse("cufftExecC2C", 6, plan, data.at, short.at, FORWARD)
refuse("cufftExecC2C", 6, plan, ctypes.c_uint64(data.at.value + 2), result.at, FORWARD)
refuse("cufftExecC2C", 6, plan, P(4096), result.at, FORWARD)
refuse("cufftXtSetGPUs", 16, plan, 2, ints([0, 1]))
version = I()
call(fft, "cufftGetVersion", ctypes.byref(version))
assert version.value == arguments.version * 1000
print("ok")
