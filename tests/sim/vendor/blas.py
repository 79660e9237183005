"""blas.py [--seed N] compares Kiln's cuBLAS on the simulated device with NumPy in double precision. It tests random
shapes, leading dimensions, transposes, types, pointer modes, batches, graphs, and errors. It runs under `kiln sim
run`."""
import argparse
import ctypes
import itertools
import os
import subprocess
import sys
import tempfile
import threading

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
cuda, blas = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL(f"libcublas.so.{arguments.major}")
P, Z = ctypes.c_void_p, ctypes.c_size_t
TYPES = {"S": np.float32, "D": np.float64, "C": np.complex64, "Z": np.complex128}
CODES = {np.float32: 0, np.float64: 1, np.float16: 2, np.int8: 3, np.int32: 10, "bf16": 14}


def call(library, name, *given):
    code = getattr(library, name)(*given)
    assert code == 0, f"{name}: {code}"


context, handle, stream = P(), P(), P()
call(cuda, "cuInit", 0)
call(cuda, "cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call(cuda, "cuCtxSetCurrent", context)
call(blas, "cublasCreate_v2", ctypes.byref(handle))
call(cuda, "cuStreamCreate", ctypes.byref(stream), 1)
call(blas, "cublasSetStream_v2", handle, stream)


class Memory:
    """Allocates device memory with the bytes of an array."""

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


def make(shape, dtype):
    if np.issubdtype(dtype, np.integer):
        return random.integers(-100, 100, shape).astype(dtype)
    values = random.uniform(-1, 1, shape)
    return (values + 1j * random.uniform(-1, 1, shape)).astype(dtype) if np.issubdtype(dtype, np.complexfloating) else values.astype(dtype)


class Matrix:
    """A matrix that is stored by columns, with a gap between columns. The gap has a mark, which must not change."""

    def __init__(self, rows, columns, dtype):
        self.rows, self.ld = rows, rows + int(random.integers(0, 3)) or 1
        store = np.full((columns, self.ld), 77, dtype)
        store[:, :rows] = make((columns, rows), dtype)
        self.values, self.memory = store[:, :rows].T.copy(), Memory(store)

    def read(self):
        store = self.memory.read()
        assert (store[:, self.rows:] == 77).all(), "the gap between columns was written"
        return store[:, : self.rows].T


def apply(op, values):
    return values if op == 0 else values.T if op == 1 else values.conj().T


def close(name, got, expected, scale):
    exact = np.asarray(expected, np.complex128 if np.iscomplexobj(expected) else np.float64)
    limit = {np.float64: 1e-13, np.complex128: 1e-13, np.float16: 2e-3}.get(got.dtype.type, 1e-5)
    error = np.abs(got.astype(exact.dtype) - exact).max(initial=0)
    assert error <= limit * scale, f"{name}: an error of {error}"


def scalars(dtype):
    return [np.array(make((), dtype) if random.random() < 0.8 else random.integers(0, 2), dtype) for _ in range(2)]


def given(value, mode, kept):
    """Returns the address of a scalar in the memory of the host or of the device."""
    if mode == 0:
        return P(value.ctypes.data)
    kept.append(Memory(value))
    return kept[-1].at


sizes = [0, 1, 2, 3, 7, 16, 33, 64]
for letter, dtype in TYPES.items():
    for _ in range(25):
        m, n, k = (int(random.choice(sizes)) for _ in range(3))
        mode, kept = int(random.integers(0, 2)), []
        call(blas, "cublasSetPointerMode_v2", handle, mode)
        alpha, beta = scalars(dtype)
        A, B = given(alpha, mode, kept), given(beta, mode, kept)
        op_a, op_b = (int(random.integers(0, 3)) for _ in range(2))
        a, b = Matrix(*((m, k) if op_a == 0 else (k, m)), dtype), Matrix(*((k, n) if op_b == 0 else (n, k)), dtype)
        c = Matrix(m, n, dtype)
        call(blas, f"cublas{letter}gemm_v2", handle, op_a, op_b, m, n, k, A, a.memory.at, a.ld, b.memory.at, b.ld, B, c.memory.at, c.ld)
        wide = np.complex128 if letter in "CZ" else np.float64
        close(f"{letter}gemm", c.read(), alpha * (apply(op_a, a.values.astype(wide)) @ apply(op_b, b.values.astype(wide))) + beta * c.values, k + 2)
        # # in geam, B and C may be the same matrix
        x, y, z = Matrix(*((m, n) if op_a == 0 else (n, m)), dtype), Matrix(*((m, n) if op_b == 0 else (n, m)), dtype), Matrix(m, n, dtype)
        call(blas, f"cublas{letter}geam", handle, op_a, op_b, m, n, A, x.memory.at, x.ld, B, y.memory.at, y.ld, z.memory.at, z.ld)
        close(f"{letter}geam", z.read(), alpha * apply(op_a, x.values) + beta * apply(op_b, y.values), 4)
        # # a product with a triangle, and the solution that undoes the product
        order, side, uplo, diag = (m, 0)[0], int(random.integers(0, 2)), int(random.integers(0, 2)), int(random.integers(0, 2))
        order = m if side == 0 else n
        t = Matrix(order, order, dtype)
        store = t.memory.read()
        for j in range(order):
            store[j, j] += 4
        t.values = store[:, :order].T.copy()
        call(cuda, "cuMemcpyHtoD_v2", t.memory.at, P(np.ascontiguousarray(store).ctypes.data), Z(store.nbytes))
        triangle = (np.triu if uplo else np.tril)(t.values.astype(wide))
        if diag:
            np.fill_diagonal(triangle, 1)
        triangle = apply(op_a, triangle)
        right, out = Matrix(m, n, dtype), Matrix(m, n, dtype)
        call(blas, f"cublas{letter}trmm_v2", handle, side, uplo, op_a, diag, m, n, A, t.memory.at, t.ld, right.memory.at, right.ld, out.memory.at, out.ld)
        close(f"{letter}trmm", out.read(), alpha * (triangle @ right.values if side == 0 else right.values @ triangle), 6 * order + 6)
        if not diag:
            call(blas, f"cublas{letter}trsm_v2", handle, side, uplo, op_a, diag, m, n, A, t.memory.at, t.ld, right.memory.at, right.ld)
            got, before = right.read(), alpha * right.values
            close(f"{letter}trsm", (triangle @ got if side == 0 else got @ triangle).astype(dtype), before, 1000 * (order + 1) ** 2)
        # a rank-k update of one triangle
        s, g = Matrix(*((n, k) if op_a == 0 else (k, n)), dtype), Matrix(n, n, dtype)
        op = op_a if letter in "SD" else min(op_a, 1)
        s = Matrix(*((n, k) if op == 0 else (k, n)), dtype)
        call(blas, f"cublas{letter}syrk_v2", handle, uplo, op, n, k, A, s.memory.at, s.ld, B, g.memory.at, g.ld)
        left = s.values.astype(wide) if op == 0 else s.values.astype(wide).T
        mask = np.triu(np.ones((n, n), bool)) if uplo else np.tril(np.ones((n, n), bool))
        close(f"{letter}syrk", g.read(), np.where(mask, alpha * (left @ left.T) + beta * g.values, g.values), k + 2)
        # # vectors whose steps may be negative
        def vector(count, step):
            memory = Memory(make(max(1, count * abs(step)), dtype))
            places = np.arange(count) * step if step > 0 else (np.arange(count) - (count - 1)) * step
            return memory, places, memory.array[places].astype(wide)

        dx, dy = (int(random.choice([-2, -1, 1, 2, 3])) for _ in range(2))
        (x, px, xv), (y, py, yv) = vector(n, dx), vector(n, dy)
        for name, given_alpha, want in (("axpy", [A], alpha * xv + yv), ("copy", [], xv)):
            call(blas, f"cublas{letter}{name}_v2", handle, n, *given_alpha, x.at, dx, y.at, dy)
            expected = y.array.astype(wide)
            expected[py] = want
            close(letter + name, y.read(), expected, 4)
        other, po, ov = vector(n, dy)
        call(blas, f"cublas{letter}swap_v2", handle, n, x.at, dx, other.at, dy)
        assert (x.read()[px] == ov).all() and (other.read()[po] == xv).all(), "swap"
        call(blas, f"cublas{letter}swap_v2", handle, n, x.at, dx, other.at, dy)
        # matrix and vector
        g = Matrix(m, n, dtype)
        (v, pv, vv), (u, pu, uv) = vector(n if op_a == 0 else m, dx), vector(m if op_a == 0 else n, dy)
        call(blas, f"cublas{letter}gemv_v2", handle, op_a, m, n, A, g.memory.at, g.ld, v.at, dx, B, u.at, dy)
        expected = u.array.astype(wide)
        if m and n:
            expected[pu] = alpha * (apply(op_a, g.values.astype(wide)) @ vv) + beta * uv
        close(f"{letter}gemv", u.read(), expected, m + n + 2)
        (v, pv, vv), (u, pu, uv) = vector(m, dx), vector(n, dy)
        for name, turned in (("ger", uv),) if letter in "SD" else (("geru", uv), ("gerc", uv.conj())):
            before = g.read().astype(wide)
            call(blas, f"cublas{letter}{name}_v2", handle, m, n, A, v.at, dx, u.at, dy, g.memory.at, g.ld)
            close(letter + name, g.read(), before + alpha * np.outer(vv, turned), 4)
        v, pv, vv = vector(order, dx)
        call(blas, f"cublas{letter}trmv_v2", handle, uplo, op_a, diag, order, t.memory.at, t.ld, v.at, dx)
        close(f"{letter}trmv", v.read()[pv], triangle @ vv, 6 * order + 6)
        if not diag:
            now = v.read()[pv].astype(wide)
            call(blas, f"cublas{letter}trsv_v2", handle, uplo, op_a, diag, order, t.memory.at, t.ld, v.at, dx)
            close(f"{letter}trsv", (triangle @ v.read()[pv]).astype(dtype), now, 1000 * (order + 1) ** 2)
        # a diagonal, a symmetric and a Hermitian matrix
        (v, pv, vv), d = vector(m if side == 0 else n, dx), Matrix(m, n, dtype)
        call(blas, f"cublas{letter}dgmm", handle, side, m, n, g.memory.at, g.ld, v.at, dx, d.memory.at, d.ld)
        close(f"{letter}dgmm", d.read(), vv[:, None] * g.read() if side == 0 else g.read() * vv, 8)
        for name in ("symm",) if letter in "SD" else ("symm", "hemm"):
            e = Matrix(m, n, dtype)
            call(blas, f"cublas{letter}{name}_v2", handle, side, uplo, m, n, A, t.memory.at, t.ld, d.memory.at, d.ld, B, e.memory.at, e.ld)
            half = np.triu(t.values.astype(wide)) if uplo else np.tril(t.values.astype(wide))
            whole = half + np.triu(half, 1).T + np.tril(half, -1).T
            if name == "hemm":
                whole = half + np.triu(half, 1).conj().T + np.tril(half, -1).conj().T
                np.fill_diagonal(whole, whole.diagonal().real)
            product = whole @ d.read() if side == 0 else d.read() @ whole
            close(letter + name, e.read(), alpha * product + beta * e.values, 40 * (order + 2))
        dx = abs(dx)
        x, px, xv = vector(n, dx)
        scaled = Memory(x.array)
        call(blas, f"cublas{letter}scal_v2", handle, n, A, scaled.at, dx)
        expected = x.array.astype(wide)
        expected[px] *= alpha
        close(f"{letter}scal", scaled.read(), expected, 2)
        result, place, norm = np.zeros(1, dtype), np.zeros(1, np.int32), np.zeros(1, np.float64 if letter in "DZ" else np.float32)
        outs = [Memory(v) for v in (result, place, norm)]
        where = [P(v.ctypes.data) for v in (result, place, norm)] if mode == 0 else [o.at for o in outs]
        dot, length = ("dot", {"S": "Snrm2", "D": "Dnrm2"}.get(letter)) if letter in "SD" else ("dotc", {"C": "Scnrm2", "Z": "Dznrm2"}[letter])
        call(blas, f"cublas{letter}{dot}_v2", handle, n, x.at, dx, x.at, dx, where[0])
        call(blas, f"cublasI{letter.lower()}amax_v2", handle, n, x.at, dx, where[1])
        call(blas, f"cublas{length}_v2", handle, n, x.at, dx, where[2])
        if mode:
            result, place, norm = (o.read() for o in outs)
        used = x.array[: n * dx : dx].astype(wide)
        close(f"{letter}{dot}", result, np.array([np.vdot(used, used)]), n + 1)
        close(length, norm, np.array([np.linalg.norm(used)]), n + 1)
        size = np.abs(used.real) + np.abs(used.imag)
        assert place[0] == (int(size.argmax()) + 1 if n else 0), f"amax: {place[0]}"

# Products with types: C is rounded once.
call(blas, "cublasSetPointerMode_v2", handle, 0)


def to_bf16(values):
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


for type_in, type_out, compute, scale in [(np.float16, np.float16, 68, np.float32), (np.float16, np.float32, 68, np.float32),
                                          (np.float16, np.float16, 64, np.float16), ("bf16", "bf16", 68, np.float32),
                                          ("bf16", np.float32, 77, np.float32), (np.int8, np.int32, 72, np.int32),
                                          (np.float32, np.float32, 77, np.float32), (np.float64, np.float64, 70, np.float64)]:
    for op_a, op_b in itertools.product((0, 1), repeat=2):
        m, n, k = (int(random.choice(sizes[1:])) for _ in range(3))
        def typed(rows, columns, dtype):
            if dtype != "bf16":
                matrix = Matrix(rows, columns, dtype)
                return matrix, matrix.values.astype(np.float64)
            matrix = Matrix(rows, columns, np.uint16)
            store = np.full(matrix.memory.array.shape, 77, np.uint16)
            store[:, :rows] = to_bf16(random.uniform(-1, 1, (columns, rows)))
            matrix.memory = Memory(store)
            return matrix, from_bf16(store[:, :rows].T.copy()).astype(np.float64)
        (a, av), (b, bv), (c, cv) = (typed(*shape, dtype) for shape, dtype in
                                     (((m, k) if op_a == 0 else (k, m), type_in), ((k, n) if op_b == 0 else (n, k), type_in), ((m, n), type_out)))
        alpha, beta = np.array(2 if scale is np.int32 else 1.5, scale), np.array(1, scale)
        call(blas, "cublasGemmEx", handle, op_a, op_b, m, n, k, P(alpha.ctypes.data), a.memory.at, CODES[type_in], a.ld, b.memory.at,
             CODES[type_in], b.ld, P(beta.ctypes.data), c.memory.at, CODES[type_out], c.ld, compute, -1)
        exact = float(alpha) * (apply(op_a, av) @ apply(op_b, bv)) + cv
        got = c.read()
        if type_out == "bf16":
            assert (np.abs(from_bf16(np.ascontiguousarray(got)) - exact) <= np.abs(exact) * 2.0 ** -8 + 1e-6).all()
        elif type_out is np.float16:
            # NumPy rounds in the same way, but a few sums may differ
            assert (got == exact.astype(np.float16)).mean() > 0.99
            close("half", got, exact, np.abs(exact).max())
        elif type_out is np.int32:
            assert (got == exact).all()
        else:
            close("GemmEx", got, exact, 2 * k + 2)

# A sum of integers wraps, even if it is above 2^63. A product of floats that is NaN also becomes an integer.
k, alpha, beta = (1 << 21) + (1 << 11), np.array((1 << 31) - 1, np.int32), np.array(0, np.int32)
A, C = Memory(np.full(k, 64, np.int8)), Memory(np.ones(1, np.int32))
call(blas, "cublasGemmEx", handle, 1, 0, 1, 1, k, P(alpha.ctypes.data), A.at, 3, k, A.at, 3, k, P(beta.ctypes.data), C.at, 10, 1, 72, -1)
assert int(C.read()[0]) % (1 << 32) == 64 * 64 * k * int(alpha) % (1 << 32), C.read()
alpha, beta, one = np.array(1, np.float32), np.array(0, np.float32), Memory(np.array([np.inf], np.float32))
for out, code in ((np.int32, 10), (np.int8, 3)):
    C = Memory(np.ones(1, out))
    call(blas, "cublasGemmEx", handle, 0, 0, 1, 1, 1, P(alpha.ctypes.data), one.at, 0, 1, one.at, 0, 1, P(beta.ctypes.data), C.at, code, 1, 68, -1)
    assert C.read()[0] == (0 if out is np.int32 else 127)

# Zeros, subnormal numbers, and numbers that are too large for a half are tested separately, because sums of random
# numbers have none.
whole, zero = np.array(1, np.float32), np.array(0, np.float32)
for value in (0.0, -0.0, 2.0**-25, 3 * 2.0**-25, 2.0**-24, 6.1e-5, 2049, 2051, 65519, 65520, -1e9):
    (a, b), c = (Memory(np.full((1, 1), v, np.float32)) for v in (value, 1)), Memory(np.zeros((1, 1), np.float16))
    call(blas, "cublasGemmEx", handle, 0, 0, 1, 1, 1, P(whole.ctypes.data), a.at, 0, 1, b.at, 0, 1, P(zero.ctypes.data), c.at, 2, 1, 68, -1)
    with np.errstate(over="ignore"):
        assert c.read() == np.float32(value).astype(np.float16), f"{value} as a half: {c.read()}"

# Tests a sum of no products. A and B have no elements, and C is not read if beta is zero.
for beta, before, expected in ((3, 2, 6), (0, np.nan, 0)):
    factor, c = np.array(beta, np.float32), Memory(np.full((2, 2), before, np.float32))
    call(blas, "cublasGemmEx", handle, 0, 0, 2, 2, 0, P(whole.ctypes.data), None, 0, 2, None, 0, 1, P(factor.ctypes.data), c.at, 0, 2, 68, -1)
    assert (c.read() == expected).all(), f"no products: {c.read()}"

# Tests batches with strides, and batches with lists of addresses on the device.
m, n, k, batch = 5, 4, 3, 6
a, b, c = (make((batch, columns, rows), np.float32) for rows, columns in ((m, k), (k, n), (m, n)))
A, B, C = Memory(a), Memory(b), Memory(c)
one, two = np.array(1, np.float32), np.array(2, np.float32)
expected = np.einsum("zkm,znk->znm", a.astype(np.float64), b) + 2 * c
L = ctypes.c_longlong
call(blas, "cublasSgemmStridedBatched", handle, 0, 0, m, n, k, P(one.ctypes.data), A.at, m, L(m * k), B.at, k, L(k * n), P(two.ctypes.data),
     C.at, m, L(m * n), batch)
close("strides", C.read(), expected, 8)
C = Memory(c)
lists = [Memory(np.array([x.at.value + i * step * 4 for i in range(batch)], np.uint64)) for x, step in ((A, m * k), (B, k * n), (C, m * n))]
call(blas, "cublasSgemmBatched", handle, 0, 0, m, n, k, P(one.ctypes.data), lists[0].at, m, lists[1].at, k, P(two.ctypes.data), lists[2].at,
     m, batch)
close("lists", C.read(), expected, 8)

# A graph runs the product again, in the order of its nodes. It keeps the arguments of the call.
C, graph, instance = Memory(c), P(), P()
call(cuda, "cuStreamBeginCapture_v2", stream, 0)
call(blas, "cublasSgemm_v2", handle, 0, 0, m, n, k, P(one.ctypes.data), A.at, m, B.at, k, P(two.ctypes.data), C.at, m)
number = np.zeros(1, np.float32)
assert blas.cublasSdot_v2(handle, 3, A.at, 1, B.at, 1, P(number.ctypes.data)) == 15, "a result on the host cannot be captured"
call(cuda, "cuStreamEndCapture", stream, ctypes.byref(graph))
assert (C.read() == c).all(), "a captured product ran"
call(cuda, "cuGraphInstantiateWithFlags", ctypes.byref(instance), graph, ctypes.c_ulonglong(0))
call(cuda, "cuGraphDestroy", graph)
for _ in range(2):
    call(cuda, "cuGraphLaunch", instance, stream)
first = a[0].T.astype(np.float64) @ b[0].T
close("graph", C.read()[0].T, first + 2 * (first + 2 * c[0].T), 20)
call(cuda, "cuGraphExecDestroy", instance)

# The memory of a call in a graph was freed. No call of the program can return this error, so a line on standard error
# tells it once.
D, graph, instance = Memory(c), P(), P()
call(cuda, "cuStreamBeginCapture_v2", stream, 0)
call(blas, "cublasSgemm_v2", handle, 0, 0, m, n, k, P(one.ctypes.data), A.at, m, B.at, k, P(two.ctypes.data), D.at, m)
call(cuda, "cuStreamEndCapture", stream, ctypes.byref(graph))
call(cuda, "cuGraphInstantiateWithFlags", ctypes.byref(instance), graph, ctypes.c_ulonglong(0))
del D
with tempfile.TemporaryFile() as errors:
    kept = os.dup(2)
    os.dup2(errors.fileno(), 2)
    for _ in range(2):
        call(cuda, "cuGraphLaunch", instance, stream)
    call(cuda, "cuStreamSynchronize", stream)
    os.dup2(kept, 2)
    errors.seek(0)
    said = errors.read().decode()
assert said.count("cublasSgemm in a graph failed") == 1, said
call(cuda, "cuGraphExecDestroy", instance)
call(cuda, "cuGraphDestroy", graph)

# Copies of matrices.
host, back = np.asfortranarray(make((4, 3), np.float32)), np.zeros((4, 3), np.float32, order="F")
D = Memory(np.zeros((3, 6), np.float32))
call(blas, "cublasSetMatrix", 4, 3, 4, P(host.ctypes.data), 4, D.at, 6)
call(blas, "cublasGetMatrix", 4, 3, 4, D.at, 6, P(back.ctypes.data), 4)
assert (host == back).all() and (D.read()[:, 4:] == 0).all()

# Tests errors: wrong arguments, memory that does not exist, and missing names.
sgemm = lambda m, lda, at: blas.cublasSgemm_v2(handle, 0, 0, m, 2, 2, P(one.ctypes.data), at, lda, B.at, 2, P(one.ctypes.data), C.at, 16)
assert sgemm(4, 3, A.at) == 7 and sgemm(-1, 3, A.at) == 7 and sgemm(0, 1, A.at) == 0
assert sgemm(16, 2 ** 30, A.at) == 13, "past the end"
assert sgemm(2, 2, ctypes.c_uint64(4096)) == 13, "no memory"
assert blas.cublasStrmm_v2(handle, 0, 0, 0, 0, 1, 1, P(one.ctypes.data), A.at, 1, None, 1, C.at, 1) == 13, "a product without B"
assert blas.cublasSgemm_v2(None, 0, 0, 1, 1, 1, None, None, 1, None, 1, None, None, 1) == 1
assert blas.cublasStpsv_v2(handle) == 15 and blas.cublasStpsv_v2(handle) == 15
square = Memory(np.ones((2, 2), np.complex64))
for name in ("cublasCherk_v2", "cublasCsyrk_v2"):  # each function accepts only one kind of transpose
    wrong = 1 if name == "cublasCherk_v2" else 2
    assert getattr(blas, name)(handle, 0, wrong, 2, 2, P(one.ctypes.data), square.at, 2, P(one.ctypes.data), square.at, 2) == 7, name
assert blas.cublasStrmm_v2(handle, 0, 0, 0, 0, 2, 2, P(one.ctypes.data), A.at, 2, None, 2, C.at, 2) == 13, "a product with no matrix"
assert blas.cublasSetPointerMode_v2(handle, 2) == 7

# A thread without a context uses the context of the handle, also for copies.
codes = []


def in_thread():
    codes.append(blas.cublasSscal_v2(handle, 4, P(one.ctypes.data), square.at, 1))
    codes.append(blas.cublasGetVector(1, 4, square.at, 1, P(zero.ctypes.data), 1))


thread = threading.Thread(target=in_thread)
thread.start()
thread.join()
assert codes == [0, 0] and zero == 1, f"a thread without a context: {codes}"
version = ctypes.c_int()
call(blas, "cublasGetVersion_v2", handle, ctypes.byref(version))
assert version.value // 10000 == arguments.major
call(blas, "cublasDestroy_v2", handle)
code = f"import ctypes; h = ctypes.c_void_p(); print(ctypes.CDLL('libcublas.so.{arguments.major}').cublasCreate_v2(ctypes.byref(h)))"
done = subprocess.run([sys.executable, "-c", code], env=os.environ | {"KILN_BLAS": "/nowhere/blas.so"}, capture_output=True, text=True)
assert done.stdout == "1\n" and "KILN_BLAS: /nowhere/blas.so: " in done.stderr, f"a wrong KILN_BLAS: {done}"
print("right")
