"""lt.py [--seed N] [--major 13] compares Kiln's cuBLASLt on the simulated device with NumPy in double precision. It
tests random shapes, orders, types, batches, pointer modes, scales and epilogues, a graph, and errors. It runs under
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
parser.add_argument("--major", type=int, default=13)
arguments = parser.parse_args()
random = np.random.default_rng(arguments.seed)
cuda, lt = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL(f"libcublasLt.so.{arguments.major}")
P, Z, I, L = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_longlong
F32, F64, F16, I8, I32, BF16, E4M3, E5M2 = 0, 1, 2, 3, 10, 14, 28, 29
COMPUTE_32F, COMPUTE_64F, COMPUTE_32I = 68, 70, 72
GELU_ROOT = (2 / np.pi) ** 0.5


def call(library, name, *given):
    code = getattr(library, name)(*given)
    assert code == 0, f"{name}: {code}"


def refuse(name, wanted, *given):
    code = getattr(lt, name)(*given)
    assert code == wanted, f"{name}: {code} instead of {wanted}"


context, handle, stream = P(), P(), P()
call(cuda, "cuInit", 0)
call(cuda, "cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call(cuda, "cuCtxSetCurrent", context)
call(cuda, "cuStreamCreate", ctypes.byref(stream), 1)
if lt.cublasLtCreate(ctypes.byref(handle)) == 1:
    print("SKIP tool: the host has no BLAS")
    sys.exit(77)


class Memory:
    def __init__(self, array):
        self.array, self.at = np.ascontiguousarray(array), ctypes.c_uint64()
        call(cuda, "cuMemAlloc_v2", ctypes.byref(self.at), Z(max(self.array.nbytes, 1)))
        call(cuda, "cuMemcpyHtoD_v2", self.at, P(self.array.ctypes.data), Z(self.array.nbytes))

    def read(self):
        copy = np.empty_like(self.array)
        call(cuda, "cuStreamSynchronize", stream)
        call(cuda, "cuMemcpyDtoH_v2", P(copy.ctypes.data), self.at, Z(copy.nbytes))
        return copy

    def __del__(self):
        cuda.cuMemFree_v2(self.at)


# ---- numbers of types that NumPy lacks, as bits
def decode(bits, kind):
    if kind == BF16:
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if kind == E5M2:
        return (bits.astype(np.uint16) << 8).view(np.float16).astype(np.float64)
    if kind == E4M3:
        exponent, fraction = (bits >> 3 & 15).astype(np.int64), (bits & 7).astype(np.float64)
        size = np.where(exponent == 0, fraction * 2.0**-9, (8 + fraction) * 2.0 ** (exponent - 10.0))
        return np.where(bits & 128, -size, size)
    return bits.astype(np.float64)


STORE = {F32: np.float32, F64: np.float64, F16: np.float16, I8: np.int8, I32: np.int32, BF16: np.uint16, E4M3: np.uint8, E5M2: np.uint8}


def draw(shape, kind):
    if kind == I8:
        return random.integers(-9, 10, shape).astype(np.int8)
    if kind == I32:
        return random.integers(-99, 100, shape).astype(np.int32)
    if kind == BF16:
        return (random.uniform(-1, 1, shape).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if kind in (E4M3, E5M2):  # without the bits of infinities and NaNs
        return (random.integers(0, 0x78 if kind == E4M3 else 0x48, shape) | random.integers(0, 2, shape) * 128).astype(np.uint8)
    return random.uniform(-1, 1, shape).astype(STORE[kind])


class Matrix:
    """A batch of matrices in an order, with gaps that must stay as they are."""

    def __init__(self, rows, columns, kind, batch, order):
        self.kind, self.order, self.batch = kind, order, batch
        self.shape = (batch, rows, columns)
        inner, outer = (rows, columns) if order == 0 else (columns, rows)
        self.ld, self.inner, self.outer = max(inner + int(random.integers(0, 3)), 1), inner, outer
        self.stride = max(self.ld * outer + int(random.integers(0, 4)), 1)
        store = np.full(self.stride * batch, 77, STORE[kind])
        self.view(store)[..., :inner] = draw((batch, outer, inner), kind)
        self.memory = Memory(store)
        self.values = self.take(store)
        self.layout = P()
        call(lt, "cublasLtMatrixLayoutCreate", ctypes.byref(self.layout), kind, L(rows), L(columns), L(self.ld))
        for number, value in ((1, I(order)), (5, I(batch)), (6, L(self.stride))):
            call(lt, "cublasLtMatrixLayoutSetAttribute", self.layout, number, ctypes.byref(value), Z(ctypes.sizeof(value)))

    def view(self, store):
        """Returns the rows or columns as they are in memory, with their gaps."""
        steps = (self.stride * store.itemsize, self.ld * store.itemsize, store.itemsize)
        return np.lib.stride_tricks.as_strided(store, (self.batch, self.outer, self.ld), steps)

    def take(self, store):
        cells = self.view(store)
        assert (cells[..., self.inner:] == 77).all(), "a gap was written"
        values = decode(np.ascontiguousarray(cells[..., : self.inner]), self.kind)
        return values if self.order == 1 else values.swapaxes(1, 2)

    def read(self):
        return self.take(self.memory.read())

    def __del__(self):
        lt.cublasLtMatrixLayoutDestroy(self.layout)


def describe(compute, scale, **given):
    numbers = {"pointers": 2, "a": 3, "b": 4, "epilogue": 7, "bias": 8, "bias_stride": 10, "aux": 11, "aux_ld": 12, "aux_stride": 13, "a_scale": 17,
               "b_scale": 18, "d_scale": 20, "amax": 21, "aux_type": 22, "bias_type": 26}
    made = P()
    call(lt, "cublasLtMatmulDescCreate", ctypes.byref(made), compute, scale)
    for name, value in given.items():
        call(lt, "cublasLtMatmulDescSetAttribute", made, numbers[name], ctypes.byref(value), Z(ctypes.sizeof(value)))
    return made


def gelu(x):
    return 0.5 * x * (1 + np.tanh(GELU_ROOT * (x + 0.044715 * x**3)))


def gelu_slope(x):
    return (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5


def turn(op, values):
    return values if op == 0 else values.swapaxes(1, 2)


def close(name, got, expected, kind, scale):
    limit = {F64: 1e-12, F32: 3e-6, F16: 2e-3, BF16: 1e-2, I8: 0.51, I32: 0.01}[kind] * (1 if kind in (I8, I32) else scale)
    error = np.abs(got - expected).max(initial=0)
    assert error <= limit, f"{name}: an error of {error}, limit {limit}"


# each row has the types of A, of B, of C and D, of the computation, and of the scales
KINDS = [(F32, F32, F32, COMPUTE_32F, F32), (F64, F64, F64, COMPUTE_64F, F64), (F16, F16, F16, COMPUTE_32F, F32), (BF16, BF16, BF16, COMPUTE_32F, F32),
         (BF16, BF16, F32, COMPUTE_32F, F32), (I8, I8, I32, COMPUTE_32I, I32), (E4M3, E5M2, BF16, COMPUTE_32F, F32), (E4M3, E4M3, F32, COMPUTE_32F, F32)]
NONE, RELU, BIAS, GELU, AUX, SLOPE, GRADIENT, SUM_A, SUM_B = 1, 2, 4, 32, 128, 64, 16, 256, 512
EPILOGUES = [NONE, NONE, RELU, BIAS, RELU | BIAS, GELU, GELU | BIAS, GELU | AUX, GELU | AUX | BIAS, SLOPE | AUX, SLOPE | AUX | GRADIENT, SUM_A, SUM_B]
sizes = [1, 2, 3, 5, 16, 33]
for turn_number in range(200):
    of_a, of_b, of_d, compute, scale = KINDS[int(random.integers(0, len(KINDS)))]
    m, n, k = (int(random.choice(sizes)) for _ in range(3))
    k = 0 if random.random() < 0.03 else k
    batch, orders = int(random.choice([1, 1, 2, 3])), random.integers(0, 2, 4)
    op_a, op_b = int(random.integers(0, 2)), int(random.integers(0, 2))
    what = NONE if of_d == I32 else int(random.choice(EPILOGUES))
    a = Matrix(*((m, k) if op_a == 0 else (k, m)), of_a, batch, int(orders[0]))
    b = Matrix(*((k, n) if op_b == 0 else (n, k)), of_b, batch, int(orders[1]))
    c, d = Matrix(m, n, of_d, batch, int(orders[2])), Matrix(m, n, of_d, batch, int(orders[3]))
    kept, given = [], {"a": I(op_a), "b": I(op_b), "epilogue": I(what)}
    x, y = turn(op_a, a.values), turn(op_b, b.values)
    mode = int(random.integers(0, 5)) if scale != I32 else int(random.integers(0, 2))
    given["pointers"] = I(mode)
    alphas = draw(m if mode >= 2 else 1, scale)
    betas = draw(m if mode == 2 else 1, scale) * (random.random() < 0.7)
    alphas, betas = alphas.astype(STORE[scale]), betas.astype(STORE[scale])
    scales = [1.0, 1.0, 1.0]
    if of_a in (E4M3,):
        scales = [0.5, 2.0, 1.0]
        for name, value in zip(("a_scale", "b_scale"), scales):
            kept.append(Memory(np.array([value], np.float32)))
            given[name] = kept[-1].at
    bias_kind = BF16 if of_a == E4M3 and of_d == F32 else of_d  # the combinations of types in NVIDIA's guide
    bias_count = n if what == SUM_B else m
    bias_values = draw((batch, bias_count), bias_kind)
    bias = Memory(bias_values)
    if what & (BIAS | GRADIENT | SUM_A | SUM_B):
        given.update(bias=bias.at, bias_stride=L(bias_count))
    aux_ld = m + int(random.integers(0, 3))
    aux_store = draw((batch, n, aux_ld), of_d)
    aux = Memory(aux_store)
    if what & AUX:
        given.update(aux=aux.at, aux_ld=L(aux_ld), aux_stride=L(n * aux_ld))
    amax = Memory(np.zeros(1, np.float32))
    if turn_number % 3 == 0:
        given["amax"] = amax.at
    product = describe(compute, scale, **given)
    device_alpha, device_beta = Memory(alphas), Memory(betas)
    alpha_at = device_alpha.at if mode else P(alphas.ctypes.data)
    beta_at = None if mode == 3 else device_beta.at if mode in (1, 2) else P(betas.ctypes.data)
    found, count = ctypes.create_string_buffer(96), I()
    call(lt, "cublasLtMatmulAlgoGetHeuristic", handle, product, a.layout, b.layout, c.layout, d.layout, None, 1, found, ctypes.byref(count))
    assert count.value == 1
    call(lt, "cublasLtMatmul", handle, product, alpha_at, a.memory.at, a.layout, b.memory.at, b.layout, beta_at, c.memory.at, c.layout, d.memory.at,
         d.layout, found, None, Z(0), stream)
    alpha = decode(alphas, scale).reshape(-1, 1)
    beta = 0 if mode == 3 else decode(betas, scale).reshape(-1, 1)
    raw = alpha * scales[0] * scales[1] * (x @ y) + beta * c.values
    if what & BIAS:
        raw = raw + decode(bias_values, bias_kind)[:, :, None]
    expected, size = raw, (k + 4) * (200 if of_a in (E4M3, E5M2) else 1) ** 2
    name = f"epilogue {what}, mode {mode}, types {of_a} {of_b} {of_d}"
    if what & RELU:
        expected = np.maximum(raw, 0)
    elif what & GELU:
        expected = gelu(raw)
        if what & AUX:
            close(name + ", aux", decode(aux.read(), of_d)[:, :, :m].swapaxes(1, 2), raw, of_d, size)
    elif what & SLOPE:
        expected = raw * gelu_slope(decode(aux_store, of_d)[:, :, :m].swapaxes(1, 2))
        size += 1
    close(name, d.read(), expected, of_d, size if not what & SLOPE or of_d != F64 else size * 1e4)
    if what & GRADIENT:
        close(name + ", bias gradient", decode(bias.read(), bias_kind), expected.sum(2), bias_kind, size * n * (1e4 if of_d == F64 else 1))
    if what & SUM_A:
        close(name + ", sums of A", decode(bias.read(), bias_kind), x.sum(2), bias_kind, size)
    if what & SUM_B:
        close(name + ", sums of B", decode(bias.read(), bias_kind), y.sum(1), bias_kind, size)
    if "amax" in given:
        close(name + ", amax", amax.read(), np.abs(expected).max(initial=0), F32, size * 10)
    call(lt, "cublasLtMatmulDescDestroy", product)

# in a graph, the product is computed when the graph runs
a, b, d = Matrix(4, 4, F32, 1, 0), Matrix(4, 4, F32, 1, 0), Matrix(4, 4, F32, 1, 0)
one, zero, before = np.ones(1, np.float32), np.zeros(1, np.float32), None
product, graph, runs = describe(COMPUTE_32F, F32), P(), P()
given = (handle, product, P(one.ctypes.data), a.memory.at, a.layout, b.memory.at, b.layout, P(zero.ctypes.data), d.memory.at, d.layout, d.memory.at, d.layout,
         None, None, Z(0), stream)
before = d.read()
call(cuda, "cuStreamBeginCapture_v2", stream, 0)
call(lt, "cublasLtMatmul", *given)
call(cuda, "cuStreamEndCapture", stream, ctypes.byref(graph))
assert (d.read() == before).all()
call(cuda, "cuGraphInstantiateWithFlags", ctypes.byref(runs), graph, ctypes.c_ulonglong(0))
call(cuda, "cuGraphLaunch", runs, stream)
close("a graph", d.read(), a.values @ b.values, F32, 4)

# errors
size, written, value = Z(0), Z(0), I(7)
call(lt, "cublasLtMatmulDescGetAttribute", product, 7, None, Z(0), ctypes.byref(written))
assert written.value == 4
call(lt, "cublasLtMatmulDescGetAttribute", product, 7, ctypes.byref(value), Z(4), None)
assert value.value == 1
refuse("cublasLtMatmulDescSetAttribute", 7, product, 99, ctypes.byref(value), Z(4))
# the attribute is a pointer, which has eight bytes
refuse("cublasLtMatmulDescSetAttribute", 7, product, 8, ctypes.byref(value), Z(4))
refuse("cublasLtMatmul", 1, None, *given[1:])
wrong = Matrix(5, 4, F32, 1, 0)
refuse("cublasLtMatmul", 7, *given[:4], wrong.layout, *given[5:])
refuse("cublasLtMatmul", 13, *given[:3], P(4096), *given[4:])
refuse("cublasLtMatmul", 13, *given[:3], ctypes.c_uint64(a.memory.at.value + 2), *given[4:])
behind = Matrix(4, 4, F32, 1, 0)
call(lt, "cublasLtMatrixLayoutSetAttribute", behind.layout, 4, ctypes.byref(L(1 << 30)), Z(8))
refuse("cublasLtMatmul", 13, *given[:4], behind.layout, *given[5:])
call(lt, "cublasLtMatrixLayoutSetAttribute", behind.layout, 4, ctypes.byref(L(-4)), Z(8))
refuse("cublasLtMatmul", 7, *given[:4], behind.layout, *given[5:])
for number, attribute in ((7, I(2 | 128)), (31, I(1))):  # features that Kiln refuses: a bit mask, and block scales
    other = describe(COMPUTE_32F, F32)
    call(lt, "cublasLtMatmulDescSetAttribute", other, number, ctypes.byref(attribute), Z(4))
    refuse("cublasLtMatmul", 15, handle, other, *given[2:])
other = describe(COMPUTE_32F, F32, epilogue=I(4), bias=ctypes.c_uint64(4096))
refuse("cublasLtMatmul", 13, handle, other, *given[2:])
other = describe(COMPUTE_32F, F32, epilogue=I(32 | 128), aux=d.memory.at, aux_ld=L(-1))
refuse("cublasLtMatmul", 13, handle, other, *given[2:])
refuse("cublasLtMatrixTransform", 15)
print("ok")
