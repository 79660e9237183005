"""sparse.py [--seed N] compares Kiln's cuSPARSE on the simulated device with NumPy's dense matrices in double
precision. It tests random shapes, formats, types of indices and values, bases, orders, transposes, pointer modes,
batches, graphs, and hostile matrices. It runs under `kiln sim run`."""
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
arguments = parser.parse_args()
random = np.random.default_rng(arguments.seed)
cuda, sparse = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL("libcusparse.so.12")
P, Z, L = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64
ref = ctypes.byref
INVALID, FAILED, ZERO_PIVOT, NOT_SUPPORTED = 3, 6, 9, 10  # cusparseStatus_t
CODES = {np.float32: 0, np.float64: 1, np.float16: 2, np.int8: 3, np.complex64: 4, np.complex128: 5, np.int32: 10}
BF16, C_16F, C_16BF = 14, 6, 15
COLUMNS, ROWS = 1, 2
LETTERS = {"S": np.float32, "D": np.float64, "C": np.complex64, "Z": np.complex128}


def call(library, name, *given):
    code = getattr(library, name)(*given)
    assert code == 0, f"{name}: {code}"


context, handle, stream = P(), P(), P()
call(cuda, "cuInit", 0)
call(cuda, "cuDevicePrimaryCtxRetain", ref(context), 0)
call(cuda, "cuCtxSetCurrent", context)
call(sparse, "cusparseCreate", ref(handle))
call(cuda, "cuStreamCreate", ref(stream), 1)
call(sparse, "cusparseSetStream", handle, stream)


class Memory:
    """Allocates device memory with the bytes of an array."""

    def __init__(self, array):
        self.array, self.at = np.ascontiguousarray(array), ctypes.c_uint64()
        call(cuda, "cuMemAlloc_v2", ref(self.at), Z(max(self.array.nbytes, 1)))
        call(cuda, "cuMemcpyHtoD_v2", self.at, P(self.array.ctypes.data), Z(self.array.nbytes))

    def read(self):
        copy = np.empty_like(self.array)
        call(cuda, "cuStreamSynchronize", stream)
        call(cuda, "cuMemcpyDtoH_v2", P(copy.ctypes.data), self.at, Z(copy.nbytes))
        return copy

    def __del__(self):
        cuda.cuMemFree_v2(self.at)


class Type:
    """A type of numbers: its code, its array type, and the conversions. The 16-bit types without a NumPy type are arrays of bits."""

    def __init__(self, code):
        self.code = code
        self.complex = code in (4, 5, C_16F, C_16BF)
        self.limit = {1: 1e-13, 5: 1e-13, 2: 2e-3, C_16F: 2e-3, BF16: 1e-2, C_16BF: 1e-2}.get(code, 2e-6)

    def store(self, values):
        values = np.asarray(values)
        if self.code in (C_16F, C_16BF):
            pairs = np.stack([values.real, values.imag], -1).astype(np.float32)
            return pairs.astype(np.float16) if self.code == C_16F else to_bfloat(pairs)
        if self.code == BF16:
            return to_bfloat(values.real.astype(np.float32))
        return (values if self.complex else values.real).astype({v: k for k, v in CODES.items()}[self.code])

    def load(self, stored):
        if self.code == BF16:
            return from_bfloat(stored).astype(np.float64)
        if self.code in (C_16F, C_16BF):
            pairs = (stored if self.code == C_16F else from_bfloat(stored)).astype(np.float64)
            return pairs[..., 0] + 1j * pairs[..., 1]
        return stored.astype(np.complex128 if self.complex else np.float64)

    def make(self, shape):
        if self.code in (3, 10):
            return random.integers(-20, 20, shape).astype(np.float64)
        values = random.uniform(-1, 1, shape) + (1j * random.uniform(-1, 1, shape) if self.complex else 0)
        return self.load(self.store(values))


def to_bfloat(values):
    bits = values.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bfloat(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def close(name, got, expected, limit, scale):
    assert np.shape(got) == np.shape(expected), f"{name}: {np.shape(got)} instead of {np.shape(expected)}"
    error = np.abs(np.asarray(got) - np.asarray(expected)).max(initial=0)
    assert error <= limit * scale, f"{name}: an error of {error}\n{got}\n{expected}"


def apply(op, values):
    return values if op == 0 else values.T if op == 1 else values.conj().T


def index_array(values, kind):
    return np.asarray(values, np.int64 if kind == 3 else np.int32)


FORMATS = {"csr": 1, "csc": 2, "coo": 3, "blocked": 5, "bsr": 6, "sliced": 7}


class Sparse:
    """A random sparse matrix. `values` is the same matrix in dense form, and `at` is the descriptor."""

    def __init__(self, rows, columns, kind, style, density=0.4, values=None, base=None, index=None, batch=1):
        self.type, self.style = kind, style
        self.base = int(random.integers(0, 2)) if base is None else base
        self.index, self.offset = (int(random.choice([2, 3])) if index is None else index for _ in range(2))
        self.block = (1, 1)
        if style == "bsr" and values is None:
            self.block = (int(random.integers(1, 4)), int(random.integers(1, 4)))
        if style == "blocked" and values is None:
            self.block = (int(random.integers(1, 4)),) * 2
        if values is None:
            shape = rows * self.block[0], columns * self.block[1]
            mask = np.kron(random.random((rows, columns)) < density, np.ones(self.block, bool))
            values = np.where(mask, kind.make(shape), 0)
            self.mask = mask
        else:
            self.mask = values != 0
        self.values, (self.rows, self.columns) = values, values.shape
        getattr(self, "make_" + style)()

    def keep(self, offsets, indices, stored):
        self.offsets, self.indices, self.stored = (Memory(x) for x in (offsets, indices, self.type.store(stored)))
        self.at, self.nnz = P(), len(stored)

    def lines(self, mask):
        counts = mask.sum(1)
        return index_array(np.concatenate([[0], np.cumsum(counts)]) + self.base, self.offset)

    def make_csr(self):
        self.keep(self.lines(self.mask), index_array(np.nonzero(self.mask)[1] + self.base, self.index), self.values[self.mask])
        call(sparse, "cusparseCreateCsr", ref(self.at), L(self.rows), L(self.columns), L(self.nnz), self.offsets.at, self.indices.at, self.stored.at,
             self.offset, self.index, self.base, self.type.code)

    def make_csc(self):
        turned = self.mask.T
        self.keep(self.lines(turned), index_array(np.nonzero(turned)[1] + self.base, self.index), self.values.T[turned])
        call(sparse, "cusparseCreateCsc", ref(self.at), L(self.rows), L(self.columns), L(self.nnz), self.offsets.at, self.indices.at, self.stored.at,
             self.offset, self.index, self.base, self.type.code)

    def make_coo(self):
        r, c = np.nonzero(self.mask)
        self.keep(index_array(r + self.base, self.index), index_array(c + self.base, self.index), self.values[r, c])
        call(sparse, "cusparseCreateCoo", ref(self.at), L(self.rows), L(self.columns), L(self.nnz), self.offsets.at, self.indices.at, self.stored.at,
             self.index, self.base, self.type.code)

    def make_bsr(self):
        (h, w), order = self.block, int(random.integers(1, 3))
        blocks = self.mask[::h, ::w]
        r, c = np.nonzero(blocks)
        pieces = [self.values[i * h : i * h + h, j * w : j * w + w] for i, j in zip(r, c)]
        stored = np.concatenate([p.reshape(-1, order="C" if order == ROWS else "F") for p in pieces]) if pieces else np.zeros(0)
        self.keep(self.lines(blocks), index_array(c + self.base, self.index), stored)
        call(sparse, "cusparseCreateBsr", ref(self.at), L(self.rows // h), L(self.columns // w), L(len(r)), L(h), L(w), self.offsets.at,
             self.indices.at, self.stored.at, self.offset, self.index, self.base, self.type.code, order)

    def make_blocked(self):
        size = self.block[0]
        blocks = self.mask[::size, ::size]
        most = int(blocks.sum(1).max(initial=0))
        ell = np.zeros((self.rows, most * size), self.values.dtype)
        places = np.full((len(blocks), most), -1)
        for i, line in enumerate(blocks):
            for k, j in enumerate(np.nonzero(line)[0]):
                places[i, k] = j + self.base
                ell[i * size : i * size + size, k * size : k * size + size] = self.values[i * size : i * size + size, j * size : j * size + size]
        self.keep(np.zeros(0), index_array(places.reshape(-1), self.index), ell.reshape(-1))
        call(sparse, "cusparseCreateBlockedEll", ref(self.at), L(self.rows), L(self.columns), L(size), L(most * size), self.indices.at,
             self.stored.at, self.index, self.base, self.type.code)

    def make_sliced(self):
        size = int(random.integers(1, 5))
        offsets, places, stored = [0], [], []
        for s in range(0, self.rows, size):
            lines = [np.nonzero(line)[0] for line in self.mask[s : s + size]]
            for k in range(max(map(len, lines))):
                for r in range(size):
                    there = r < len(lines) and k < len(lines[r])
                    places.append(lines[r][k] + self.base if there else -1)
                    stored.append(self.values[s + r, lines[r][k]] if there else 0)
            offsets.append(len(places))
        self.keep(index_array(np.array(offsets) + self.base, self.offset), index_array(places, self.index), np.array(stored))
        call(sparse, "cusparseCreateSlicedEll", ref(self.at), L(self.rows), L(self.columns), L(int(self.mask.sum())), L(len(stored)), L(size),
             self.offsets.at, self.indices.at, self.stored.at, self.offset, self.index, self.base, self.type.code)

    def __del__(self):
        sparse.cusparseDestroySpMat(self.at)


class Dense:
    """A dense matrix with gaps that must not change, and its descriptor."""

    def __init__(self, rows, columns, kind, order=None, values=None, batch=1):
        self.type, self.order = kind, int(random.integers(1, 3)) if order is None else order
        self.values = kind.make((batch, rows, columns)) if values is None else values.reshape(batch, rows, columns)
        lines, length = (columns, rows) if self.order == COLUMNS else (rows, columns)
        self.ld = length + int(random.integers(0, 3))
        whole = np.full((batch, lines, self.ld), 7.0, self.values.dtype)
        whole[:, :, :length] = self.values.transpose(0, 2, 1) if self.order == COLUMNS else self.values
        self.length, self.memory, self.at = length, Memory(kind.store(whole)), P()
        call(sparse, "cusparseCreateDnMat", ref(self.at), L(rows), L(columns), L(self.ld), self.memory.at, kind.code, self.order)
        call(sparse, "cusparseDnMatSetStridedBatch", self.at, batch, L(lines * self.ld))
        if batch == 1:
            self.values = self.values[0]

    def read(self):
        whole = self.type.load(self.memory.read())
        assert (whole[:, :, self.length :] == 7).all(), "a gap was written"
        values = whole[:, :, : self.length]
        values = values.transpose(0, 2, 1) if self.order == COLUMNS else values
        return values if len(values) > 1 else values[0]

    def __del__(self):
        sparse.cusparseDestroyDnMat(self.at)


class Vector:
    def __init__(self, size, kind, values=None):
        self.type, self.values = kind, kind.make(size) if values is None else values
        self.memory, self.at = Memory(kind.store(self.values)), P()
        call(sparse, "cusparseCreateDnVec", ref(self.at), L(size), self.memory.at, kind.code)

    def read(self):
        return self.type.load(self.memory.read())

    def __del__(self):
        sparse.cusparseDestroyDnVec(self.at)


class Scalars:
    """Two scalars on the host or on the device, as the handle's pointer mode requires."""

    def __init__(self, kind, plain=False):
        mode = int(random.integers(0, 2))
        call(sparse, "cusparseSetPointerMode", handle, mode)
        self.values = [0.0 if random.random() < 0.25 and k else kind.make(()) for k in range(2)]
        if plain:
            self.values = [1.0, 0.0]
        self.kept = [(Memory if mode else np.ascontiguousarray)(kind.store(v)) for v in self.values]
        self.at = [k.at if mode else P(k.ctypes.data) for k in self.kept]


def expect_product(alpha, product, beta, before):
    return alpha * product + (beta * before if beta != 0 else 0)


PRODUCTS = [(0, 0, 0, 0), (1, 1, 1, 1), (4, 4, 4, 4), (5, 5, 5, 5), (3, 3, 10, 10), (3, 3, 0, 0), (2, 2, 2, 0), (2, 2, 0, 0), (14, 14, 14, 0), (14, 14, 0, 0),
            (6, 6, 6, 4), (15, 15, 15, 4), (0, 1, 1, 1), (4, 5, 5, 5), (0, 4, 4, 4), (1, 5, 5, 5), (2, 2, 2, 2)]
sizes = [0, 1, 2, 3, 5, 8, 17]
buffer = Memory(np.zeros(4096, np.uint8))
bytes_ = ctypes.c_size_t()

# Tests products with a vector and with a matrix, of all types, in all formats.
for round_ in range(4):
    for a_code, x_code, y_code, compute in PRODUCTS:
        for style in FORMATS:
            a_type, x_type, y_type, scalar = Type(a_code), Type(x_code), Type(y_code), Type(compute)
            m, k, n = (int(random.choice(sizes)) for _ in range(3))
            a, op = Sparse(m, k, a_type, style), int(random.integers(0, 3))
            m, k = apply(op, a.values).shape
            s, name = Scalars(scalar), f"{style} {a_code} {op}"
            (alpha, beta), scale = s.values, (k + 2) * (400 if a_code == 3 else 1) * 20
            x, y = Vector(k, x_type), Vector(m, y_type)
            given = (handle, op, s.at[0], a.at, x.at, s.at[1], y.at, compute, 0)
            call(sparse, "cusparseSpMV_bufferSize", *given, ref(bytes_))
            assert 0 < bytes_.value <= 4096
            call(sparse, "cusparseSpMV_preprocess", *given, buffer.at)
            call(sparse, "cusparseSpMV", *given, buffer.at)
            close("SpMV " + name, y.read(), expect_product(alpha, apply(op, a.values) @ x.values, beta, y.values), y_type.limit, scale)
            op_b = int(random.integers(0, 3))
            b = Dense(*((k, n) if op_b == 0 else (n, k)), x_type)
            c = Dense(m, n, y_type)
            given = (handle, op, op_b, s.at[0], a.at, b.at, s.at[1], c.at, compute, 0)
            call(sparse, "cusparseSpMM_bufferSize", *given, ref(bytes_))
            call(sparse, "cusparseSpMM_preprocess", *given, buffer.at)
            call(sparse, "cusparseSpMM", *given, buffer.at)
            close("SpMM " + name, c.read(), expect_product(alpha, apply(op, a.values) @ apply(op_b, b.values), beta, c.values), y_type.limit, scale)

# Tests products that are computed only at the entries of a sparse matrix.
for a_code, _, y_code, compute in [p for p in PRODUCTS if p[0] == p[1] and p[0] != 3]:
    for style in ("csr", "bsr", "coo", "csc"):
        kind, c_type = Type(a_code), Type(y_code)
        c, s, k = Sparse(*(int(random.choice(sizes)) for _ in range(2)), c_type, style), Scalars(Type(compute)), int(random.choice(sizes))
        op_a, op_b = (int(random.integers(0, 3)) for _ in range(2))
        a = Dense(*((c.rows, k) if op_a == 0 else (k, c.rows)), kind)
        b = Dense(*((k, c.columns) if op_b == 0 else (c.columns, k)), kind)
        given = (handle, op_a, op_b, s.at[0], a.at, b.at, s.at[1], c.at, compute, 0)
        for step, last in (("_bufferSize", ref(bytes_)), ("_preprocess", buffer.at), ("", buffer.at)):
            call(sparse, "cusparseSDDMM" + step, *given, last)
        dense = Dense(c.rows, c.columns, c_type)
        call(sparse, "cusparseSparseToDense_bufferSize", handle, c.at, dense.at, 0, ref(bytes_))
        call(sparse, "cusparseSparseToDense", handle, c.at, dense.at, 0, buffer.at)
        expected = np.where(c.mask, expect_product(s.values[0], apply(op_a, a.values) @ apply(op_b, b.values), s.values[1], c.values), 0)
        close(f"SDDMM {style} {a_code}", dense.read(), expected, c_type.limit, 20 * (k + 2))

# Tests conversions from sparse to dense and back.
for code in (0, 1, 4, 5, 2, 14, 6, 15, 3):
    for style in FORMATS:
        a = Sparse(*(int(random.choice(sizes)) for _ in range(2)), Type(code), style)
        dense = Dense(a.rows, a.columns, a.type)
        call(sparse, "cusparseSparseToDense", handle, a.at, dense.at, 0, buffer.at)
        assert (dense.read() == a.values).all(), f"SparseToDense {style}"
        rows, columns, nnz = L(), L(), L()
        # the result has the same entries, in memory of the size that the analysis returns
        if style in ("csr", "csc", "coo"):
            zero = Memory(np.zeros(a.rows + a.columns + 1, np.int64))
            made, given = P(), (L(a.rows), L(a.columns), L(0), zero.at, None, None)
            if style == "coo":
                call(sparse, "cusparseCreateCoo", ref(made), *given, a.index, a.base, code)
            else:
                call(sparse, "cusparseCreate" + style.title(), ref(made), *given, a.offset, a.index, a.base, code)
            call(sparse, "cusparseDenseToSparse_bufferSize", handle, dense.at, made, 0, ref(bytes_))
            call(sparse, "cusparseDenseToSparse_analysis", handle, dense.at, made, 0, buffer.at)
            call(sparse, "cusparseSpMatGetSize", made, ref(rows), ref(columns), ref(nnz))
            assert nnz.value == np.count_nonzero(a.values)
            parts = [Memory(np.zeros(nnz.value, np.int64)) for _ in range(2)] + [Memory(np.zeros(nnz.value, np.complex128))]
            call(sparse, f"cusparse{style.title()}SetPointers", made, parts[0].at if style == "coo" else zero.at, parts[1].at, parts[2].at)
            call(sparse, "cusparseDenseToSparse_convert", handle, dense.at, made, 0, buffer.at)
            again = Dense(a.rows, a.columns, a.type)
            call(sparse, "cusparseSparseToDense", handle, made, again.at, 0, buffer.at)
            assert (again.read() == a.values).all(), f"DenseToSparse {style}"
            call(sparse, "cusparseDestroySpMat", made)
        if style == "blocked":
            a.stored = Memory(np.full_like(a.stored.array, 1))
            call(sparse, "cusparseSpMatSetValues", a.at, a.stored.at)
            call(sparse, "cusparseDenseToSparse_analysis", handle, dense.at, a.at, 0, buffer.at)
            call(sparse, "cusparseDenseToSparse_convert", handle, dense.at, a.at, 0, buffer.at)
            call(sparse, "cusparseSparseToDense", handle, a.at, dense.at, 0, buffer.at)
            assert (dense.read() == a.values).all(), "DenseToSparse blocked"

# Tests triangular systems. The numbers in the other triangle must have no effect.
for letter, dtype in LETTERS.items():
    kind = Type(CODES[dtype])
    for style in ("csr", "coo", "sliced"):
        for _ in range(12):
            n, columns, op, op_b = int(random.choice(sizes)), int(random.choice(sizes)), int(random.integers(0, 3)), int(random.integers(0, 3))
            fill, unit = ctypes.c_int(int(random.integers(0, 2))), ctypes.c_int(int(random.integers(0, 2)))
            whole = np.where(random.random((n, n)) < 0.5, kind.make((n, n)), 0) / 4
            whole[np.arange(n), np.arange(n)] = kind.make(n) * 0.5 + 2
            whole = kind.load(kind.store(whole))
            a = Sparse(n, n, kind, style, values=whole)
            call(sparse, "cusparseSpMatSetAttribute", a.at, 0, ref(fill), Z(4))
            call(sparse, "cusparseSpMatSetAttribute", a.at, 1, ref(unit), Z(4))
            triangle = (np.triu if fill.value else np.tril)(whole, 1 if fill.value else -1)
            full = triangle + (np.eye(n) if unit.value else np.diag(np.diag(whole)))
            s, plan = Scalars(kind), P()
            alpha = s.values[0]
            x, y = Vector(n, kind), Vector(n, kind)
            call(sparse, "cusparseSpSV_createDescr", ref(plan))
            given = (handle, op, s.at[0], a.at, x.at, y.at, kind.code, 0, plan)
            assert sparse.cusparseSpSV_solve(*given) == INVALID, "a solution without an analysis"
            call(sparse, "cusparseSpSV_bufferSize", *given, ref(bytes_))
            call(sparse, "cusparseSpSV_analysis", *given, buffer.at)
            call(sparse, "cusparseSpSV_solve", *given)
            scale = 50 * (n + 1)
            close(f"SpSV {letter} {style}", y.read(), np.linalg.solve(apply(op, full), alpha * x.values), kind.limit, scale)
            new = kind.load(kind.store(np.where(a.mask, whole / 2, 0)))
            update = Sparse(n, n, kind, style, values=new) if style != "sliced" else None  # the same structure
            if update:
                call(sparse, "cusparseSpSV_updateMatrix", handle, plan, update.stored.at, 0)
                call(sparse, "cusparseSpSV_solve", *given)
                second = (np.triu if fill.value else np.tril)(new, 1 if fill.value else -1)
                close("SpSV update", y.read(), np.linalg.solve(apply(op, second + (np.eye(n) if unit.value else np.diag(np.diag(new)))),
                                                               alpha * x.values), kind.limit, 4 * scale)
            diagonal = Vector(n, kind, kind.load(kind.store(kind.make(n) * 0.2 + 3)))
            call(sparse, "cusparseSpSV_analysis", *given, buffer.at)
            call(sparse, "cusparseSpSV_updateMatrix", handle, plan, diagonal.memory.at, 1)
            call(sparse, "cusparseSpSV_solve", *given)
            close("SpSV diagonal", y.read(), np.linalg.solve(apply(op, triangle + (np.eye(n) if unit.value else np.diag(diagonal.values))),
                                                             alpha * x.values), kind.limit, scale)
            call(sparse, "cusparseSpSV_destroyDescr", plan)
            b, c = Dense(*((n, columns) if op_b == 0 else (columns, n)), kind), Dense(n, columns, kind)
            call(sparse, "cusparseSpSM_createDescr", ref(plan))
            given = (handle, op, op_b, s.at[0], a.at, b.at, c.at, kind.code, 0, plan)
            call(sparse, "cusparseSpSM_bufferSize", *given, ref(bytes_))
            call(sparse, "cusparseSpSM_analysis", *given, buffer.at)
            call(sparse, "cusparseSpSM_solve", *given)
            close(f"SpSM {letter} {style}", c.read(), np.linalg.solve(apply(op, full), alpha * apply(op_b, b.values)), kind.limit, scale)
            call(sparse, "cusparseSpSM_destroyDescr", plan)

# Tests products of sparse matrices, in three calls, and with a structure that is used again.
for code in (0, 1, 4, 5):
    kind = Type(code)
    for _ in range(12):
        m, k, n = (int(random.choice(sizes)) for _ in range(3))
        a, b = Sparse(m, k, kind, "csr"), Sparse(k, n, kind, "csr")
        s, plan, made, base = Scalars(kind), P(), P(), int(random.integers(0, 2))
        alpha, offsets = s.values[0], Memory(np.zeros(m + 1, np.int32))
        zero = Scalars(kind, plain=True)
        rows, columns, nnz, products = L(), L(), L(), L()
        call(sparse, "cusparseCreateCsr", ref(made), L(m), L(n), L(0), None, None, None, 2, 2, base, code)
        call(sparse, "cusparseSpGEMM_createDescr", ref(plan))
        given = (handle, 0, 0, zero.at[0], a.at, b.at, zero.at[1], made, code, 0, plan)
        assert sparse.cusparseSpGEMM_copy(*given) == INVALID, "a copy before the product"
        call(sparse, "cusparseSpGEMM_workEstimation", *given, ref(bytes_), None)
        assert bytes_.value > 0
        call(sparse, "cusparseSpGEMM_workEstimation", *given, ref(bytes_), buffer.at)
        call(sparse, "cusparseSpGEMM_getNumProducts", plan, ref(products))
        assert products.value == int((a.mask.sum(0) * b.mask.sum(1)).sum())
        call(sparse, "cusparseSpGEMM_compute", *given, ref(bytes_), None)
        call(sparse, "cusparseSpGEMM_compute", *given, ref(bytes_), buffer.at)
        call(sparse, "cusparseSpMatGetSize", made, ref(rows), ref(columns), ref(nnz))
        pattern = (a.mask.astype(int) @ b.mask.astype(int)) > 0
        assert nnz.value == pattern.sum()
        places, values = Memory(np.zeros(nnz.value, np.int32)), Memory(kind.store(np.ones(nnz.value)))
        call(sparse, "cusparseCsrSetPointers", made, offsets.at, places.at, values.at)
        call(sparse, "cusparseSpGEMM_copy", *given)
        dense = Dense(m, n, kind)
        call(sparse, "cusparseSparseToDense", handle, made, dense.at, 0, buffer.at)
        product = a.values @ b.values if k else np.zeros((m, n))
        close("SpGEMM", dense.read(), product, kind.limit, 10 * (k + 1))
        call(sparse, "cusparseSpGEMM_destroyDescr", plan)
        # Computes the structure once, and then products of other values, which are added to C.
        call(sparse, "cusparseSpGEMM_createDescr", ref(plan))
        shape = (handle, 0, 0, a.at, b.at, made, 0, plan)
        call(sparse, "cusparseSpGEMMreuse_workEstimation", *shape, ref(bytes_), None)
        call(sparse, "cusparseSpGEMMreuse_workEstimation", *shape, ref(bytes_), buffer.at)
        call(sparse, "cusparseSpGEMMreuse_nnz", *shape, ref(bytes_), None, ref(bytes_), None, ref(bytes_), None)
        call(sparse, "cusparseSpGEMMreuse_nnz", *shape, ref(bytes_), buffer.at, ref(bytes_), buffer.at, ref(bytes_), buffer.at)
        call(sparse, "cusparseSpGEMMreuse_copy", *shape, ref(bytes_), None)
        call(sparse, "cusparseSpGEMMreuse_copy", *shape, ref(bytes_), buffer.at)
        s = Scalars(kind)
        alpha, beta = s.values
        call(sparse, "cusparseSpGEMMreuse_compute", handle, 0, 0, s.at[0], a.at, b.at, s.at[1], made, code, 0, plan)
        call(sparse, "cusparseSparseToDense", handle, made, dense.at, 0, buffer.at)
        close("SpGEMMreuse", dense.read(), np.where(pattern, alpha * product + beta * product, 0), kind.limit, 20 * (k + 1))
        call(sparse, "cusparseSpGEMM_destroyDescr", plan)
        call(sparse, "cusparseDestroySpMat", made)

# Tests a sparse and a dense vector.
for code, compute in ((0, 0), (1, 1), (4, 4), (5, 5), (2, 0), (14, 0), (6, 4), (15, 4)):
    kind, scalar = Type(code), Type(compute)
    for _ in range(8):
        size = int(random.choice(sizes))
        places = random.permutation(size)[: int(random.integers(0, size + 1))]
        index, base = int(random.choice([2, 3])), int(random.integers(0, 2))
        values = kind.make(len(places))
        where, stored, x = Memory(index_array(places + base, index)), Memory(kind.store(values)), P()
        call(sparse, "cusparseCreateSpVec", ref(x), L(size), L(len(places)), where.at, stored.at, index, base, code)
        y, s, full = Vector(size, kind), Scalars(scalar), np.zeros(size, values.dtype)
        (alpha, beta), full[places] = s.values, values
        call(sparse, "cusparseAxpby", handle, s.at[0], x, s.at[1], y.at)
        close("Axpby", y.read(), expect_product(alpha, full, beta, y.values), kind.limit, 10)
        y = Vector(size, kind)
        call(sparse, "cusparseRot", handle, s.at[0], s.at[1], x, y.at)
        turned = y.values.copy()
        turned[places] = alpha * y.values[places] - beta * values
        close("Rot y", y.read(), turned, kind.limit, 10)
        close("Rot x", kind.load(stored.read()), alpha * values + beta * y.values[places], kind.limit, 10)
        call(sparse, "cusparseGather", handle, y.at, x)
        assert (kind.load(stored.read()) == y.read()[places]).all(), "Gather"
        z = Vector(size, kind)
        call(sparse, "cusparseScatter", handle, x, z.at)
        turned, gathered = z.values.copy(), y.read()
        turned[places] = gathered[places]
        assert (z.read() == turned).all(), "Scatter"
        op = 2 if kind.complex and random.random() < 0.5 else 0
        mode, result = int(random.integers(0, 2)), scalar.store(np.zeros(()))
        call(sparse, "cusparseSetPointerMode", handle, mode)
        on_device = Memory(result)
        if code in (0, 1, 4, 5, 2, 14):
            expected = (gathered[places].conj() if op == 2 else gathered[places]) @ z.read()[places]
            to = on_device.at if mode else P(result.ctypes.data)
            call(sparse, "cusparseSpVV_bufferSize", handle, op, x, z.at, to, compute, ref(bytes_))
            call(sparse, "cusparseSpVV", handle, op, x, z.at, to, compute, buffer.at)
            close("SpVV", scalar.load(on_device.read()[0] if mode else result), expected, scalar.limit, 20 * (size + 1))
        call(sparse, "cusparseDestroySpVec", x)

# Tests rows as offsets and as indices, transpositions, and sorts.
for _ in range(20):
    m, n, base = int(random.choice(sizes)), int(random.choice(sizes)), int(random.integers(0, 2))
    kind = Type(int(random.choice([0, 1, 4, 5, 2, 14, 3])))
    a = Sparse(m, n, kind, "csr", base=base, index=2)
    r, c = np.nonzero(a.mask)
    rows, offsets = Memory(np.zeros(len(r), np.int32)), Memory(np.zeros(m + 1, np.int32))
    call(sparse, "cusparseXcsr2coo", handle, a.offsets.at, len(r), m, rows.at, base)
    assert (rows.read() == r + base).all(), "csr2coo"
    call(sparse, "cusparseXcoo2csr", handle, rows.at, len(r), m, offsets.at, base)
    assert (offsets.read() == a.offsets.array).all(), "coo2csr"
    columns, places, values = Memory(np.zeros(n + 1, np.int32)), Memory(np.zeros(len(r), np.int32)), Memory(np.zeros_like(a.stored.array))
    given = (handle, m, n, len(r), a.stored.at, a.offsets.at, a.indices.at, values.at, columns.at, places.at, kind.code, 1, base, 1)
    call(sparse, "cusparseCsr2cscEx2_bufferSize", *given, ref(bytes_))
    call(sparse, "cusparseCsr2cscEx2", *given, buffer.at)
    expected = Sparse(m, n, kind, "csc", values=a.values, base=base, index=2) if (a.values[a.mask] != 0).all() else None
    if expected:
        assert (columns.read() == expected.offsets.array).all() and (places.read() == expected.indices.array).all(), "csr2csc"
        assert (values.read() == expected.stored.array).all(), "csr2csc"
    order = random.permutation(len(r))
    for name, keys in (("Row", (c, r)), ("Column", (r, c))):
        x, y, p = Memory((r[order] + base).astype(np.int32)), Memory((c[order] + base).astype(np.int32)), Memory(np.zeros(len(r), np.int32))
        call(sparse, "cusparseCreateIdentityPermutation", handle, len(r), p.at)
        call(sparse, "cusparseXcoosort_bufferSizeExt", handle, m, n, len(r), x.at, y.at, ref(bytes_))
        call(sparse, "cusparseXcoosortBy" + name, handle, m, n, len(r), x.at, y.at, p.at, buffer.at)
        sorted_ = np.lexsort(keys)
        assert (x.read() == r[sorted_] + base).all() and (y.read() == c[sorted_] + base).all(), "coosort"
        assert (order[p.read()] == sorted_).all(), "coosort"
    descriptor, mixed = P(), a.indices.array.copy()
    for i in range(m):
        low, high = a.offsets.array[i] - base, a.offsets.array[i + 1] - base
        mixed[low:high] = random.permutation(mixed[low:high])
    indices, p = Memory(mixed), Memory(np.arange(len(r), dtype=np.int32))
    call(sparse, "cusparseCreateMatDescr", ref(descriptor))
    call(sparse, "cusparseSetMatIndexBase", descriptor, base)
    assert sparse.cusparseGetMatIndexBase(descriptor) == base
    call(sparse, "cusparseXcsrsort_bufferSizeExt", handle, m, n, len(r), a.offsets.at, indices.at, ref(bytes_))
    call(sparse, "cusparseXcsrsort", handle, m, n, len(r), descriptor, a.offsets.at, indices.at, p.at, buffer.at)
    assert (indices.read() == a.indices.array).all() and (mixed[p.read()] == a.indices.array).all(), "csrsort"
    indices, p = Memory(mixed), Memory(np.arange(len(r), dtype=np.int32))
    call(sparse, "cusparseXcscsort", handle, n, m, len(r), descriptor, a.offsets.at, indices.at, p.at, buffer.at)
    assert (indices.read() == a.indices.array).all(), "cscsort"
    call(sparse, "cusparseDestroyMatDescr", descriptor)

# Tests tridiagonal systems, also with zeros in the diagonal.
for letter, dtype in LETTERS.items():
    kind = Type(CODES[dtype])
    for m in (3, 4, 9, 33):
        for _ in range(3):
            lower, diagonal, upper = (kind.make(m) for _ in range(3))
            diagonal = np.where(random.random(m) < 0.3, 0, diagonal) if m == 4 else diagonal + 3
            lower[0] = upper[-1] = 0
            matrix = np.diag(diagonal) + np.diag(lower[1:], -1) + np.diag(upper[:-1], 1)
            if np.linalg.cond(matrix) > 1e3:
                continue
            d = [Memory(kind.store(v)) for v in (lower, diagonal, upper)]
            b = Dense(m, int(random.integers(0, 5)), kind, COLUMNS)
            for name in ("gtsv2", "gtsv2_nopivot"):
                given = (handle, m, b.values.shape[1], *(v.at for v in d), b.memory.at, b.ld)
                call(sparse, f"cusparse{letter}{name}_bufferSizeExt", *given, ref(bytes_))
                before = b.read()
                call(sparse, f"cusparse{letter}{name}", *given, buffer.at)
                close(name, b.read(), np.linalg.solve(matrix, before), kind.limit, 1e4)
            batch = 3
            triples = [kind.make((batch, m)) + (3 if k == 1 else 0) for k in range(3)]
            x = kind.make((batch, m))
            expected = [np.linalg.solve(np.diag(triples[1][i]) + np.diag(triples[0][i, 1:], -1) + np.diag(triples[2][i, :-1], 1), x[i])
                        for i in range(batch)]
            wide = [np.concatenate([v, np.full((batch, 2), 9)], 1) for v in (*triples, x)]
            d = [Memory(kind.store(v)) for v in wide]
            given = (handle, m, *(v.at for v in d), batch, m + 2)
            call(sparse, f"cusparse{letter}gtsv2StridedBatch_bufferSizeExt", *given, ref(bytes_))
            call(sparse, f"cusparse{letter}gtsv2StridedBatch", *given, buffer.at)
            got = kind.load(d[3].read())
            assert (got[:, m:] == 9).all()
            close("strided", got[:, :m], expected, kind.limit, 1e3)
            d = [Memory(kind.store(v.T)) for v in (*triples, x)]
            given = (handle, 0, m, *(v.at for v in d), batch)
            call(sparse, f"cusparse{letter}gtsvInterleavedBatch_bufferSizeExt", *given, ref(bytes_))
            call(sparse, f"cusparse{letter}gtsvInterleavedBatch", *given, buffer.at)
            close("interleaved", kind.load(d[3].read()).T, expected, kind.limit, 1e3)


# Returns incomplete factors by the textbook's sums, only at the entries of the matrix.
def incomplete(values, mask, cholesky):
    a = values.astype(np.complex128)
    for i in range(len(a)):
        for j in range(i):
            if mask[i, j]:
                inner = [k for k in range(j) if mask[i, k] and (mask[j, k] if cholesky else mask[k, j])]
                a[i, j] -= sum(a[i, k] * (a[j, k].conj() if cholesky else a[k, j]) for k in inner)
                a[i, j] /= a[j, j]
        for j in range(i, i + 1 if cholesky else len(a)):
            if mask[i, j]:
                inner = [k for k in range(i) if mask[i, k] and (cholesky or mask[k, j])]
                a[i, j] -= sum(a[i, k] * (a[i, k].conj() if cholesky else a[k, j]) for k in inner)
        if cholesky:
            a[i, i] = np.sqrt(a[i, i])
    return a


for letter, dtype in LETTERS.items():
    kind = Type(CODES[dtype])
    for name, title in (("csrilu02", "Csrilu02"), ("csric02", "Csric02")):
        for n in (1, 2, 5, 9):
            whole = np.where(random.random((n, n)) < 0.4, kind.make((n, n)), 0)
            whole = whole + whole.conj().T
            whole[np.arange(n), np.arange(n)] = n + 2
            a = Sparse(n, n, kind, "csr", values=kind.load(kind.store(whole)), index=2)
            info, descriptor, size, position = P(), P(), ctypes.c_int(), ctypes.c_int(7)
            call(sparse, "cusparseSetPointerMode", handle, 0)
            call(sparse, "cusparseCreateMatDescr", ref(descriptor))
            call(sparse, "cusparseSetMatIndexBase", descriptor, a.base)
            call(sparse, f"cusparseCreate{title}Info", ref(info))
            given = (handle, n, a.nnz, descriptor, a.stored.at, a.offsets.at, a.indices.at, info)
            call(sparse, f"cusparse{letter}{name}_bufferSize", *given, ref(size))
            call(sparse, f"cusparse{letter}{name}_analysis", *given, 0, buffer.at)
            call(sparse, f"cusparse{letter}{name}", *given, 0, buffer.at)
            call(sparse, f"cusparseX{name}_zeroPivot", handle, info, ref(position))
            assert position.value == -1
            got = np.zeros((n, n), np.complex128)
            got[a.mask] = kind.load(a.stored.read())
            close(name, got, np.where(a.mask, incomplete(a.values, a.mask, name == "csric02"), 0), kind.limit, 100)
            # The first call has a pivot of 0, and the second call has other values. The second call must forget the
            # pivot of the first.
            zeros = Memory(kind.store(np.zeros(a.nnz)))
            again = (handle, n, a.nnz, descriptor, zeros.at, a.offsets.at, a.indices.at, info)
            call(sparse, f"cusparse{letter}{name}", *again, 0, buffer.at)
            assert getattr(sparse, f"cusparseX{name}_zeroPivot")(handle, info, ref(position)) == ZERO_PIVOT and position.value == a.base
            fresh = Memory(a.stored.array)
            again = (handle, n, a.nnz, descriptor, fresh.at, a.offsets.at, a.indices.at, info)
            call(sparse, f"cusparse{letter}{name}", *again, 0, buffer.at)
            call(sparse, f"cusparseX{name}_zeroPivot", handle, info, ref(position))
            assert position.value == -1
            # A row has no entry on the diagonal.
            broken = a.values.copy()
            broken[n - 1, n - 1] = 0
            b = Sparse(n, n, kind, "csr", values=broken, index=2, base=a.base)
            given = (handle, n, b.nnz, descriptor, b.stored.at, b.offsets.at, b.indices.at, info)
            call(sparse, f"cusparse{letter}{name}_analysis", *given, 0, buffer.at)
            assert getattr(sparse, f"cusparseX{name}_zeroPivot")(handle, info, ref(position)) == ZERO_PIVOT and position.value == n - 1 + a.base
            call(sparse, f"cusparseDestroy{title}Info", info)
            call(sparse, "cusparseDestroyMatDescr", descriptor)

# Tests batches of products, with one matrix for all products, or one for each product.
kind = Type(1)
one, two = np.array(1.0), np.array(2.0)
call(sparse, "cusparseSetPointerMode", handle, 0)
m, k, n, batch = 4, 5, 3, 3
masks = random.random((m, k)) < 0.5
each = [np.where(masks, kind.make((m, k)), 0) for _ in range(batch)]
lists = [Sparse(m, k, kind, "csr", values=v, base=0, index=2) for v in each]
offsets = Memory(np.concatenate([s.offsets.array for s in lists]))
indices = Memory(np.concatenate([s.indices.array for s in lists]))
values = Memory(np.concatenate([s.stored.array for s in lists]))
nnz = lists[0].nnz
for same in (False, True):
    a, b, c = P(), Dense(k, n, kind, batch=batch), Dense(m, n, kind, batch=batch)
    call(sparse, "cusparseCreateCsr", ref(a), L(m), L(k), L(nnz), offsets.at, indices.at, values.at, 2, 2, 0, 1)
    call(sparse, "cusparseCsrSetStridedBatch", a, 1 if same else batch, L(0 if same else m + 1), L(0 if same else nnz))
    call(sparse, "cusparseSpMM", handle, 0, 0, P(one.ctypes.data), a, b.at, P(two.ctypes.data), c.at, 1, 0, buffer.at)
    close("a batch", c.read(), [each[0 if same else i] @ b.values[i] + 2 * c.values[i] for i in range(batch)], 1e-13, 10)
    call(sparse, "cusparseDestroySpMat", a)

# A graph keeps the arguments of its calls, even after the descriptors were destroyed.
a, x, y, graph, instance, count = Sparse(5, 5, kind, "csr", values=kind.make((5, 5))), Vector(5, kind), Vector(5, kind), P(), P(), ctypes.c_int()
call(cuda, "cuStreamBeginCapture_v2", stream, 0)
call(sparse, "cusparseSpMV", handle, 0, P(one.ctypes.data), a.at, x.at, P(two.ctypes.data), y.at, 1, 0, buffer.at)
plan = P()
call(sparse, "cusparseSpGEMM_createDescr", ref(plan))
assert sparse.cusparseSpGEMM_compute(handle, 0, 0, P(one.ctypes.data), a.at, a.at, P(two.ctypes.data), a.at, 1, 0, plan, ref(bytes_), buffer.at) == NOT_SUPPORTED
call(sparse, "cusparseSpGEMM_destroyDescr", plan)
call(cuda, "cuStreamEndCapture", stream, ref(graph))
call(sparse, "cusparseDestroyDnVec", y.at)
y.at = None
call(cuda, "cuGraphInstantiateWithFlags", ref(instance), graph, ctypes.c_ulonglong(0))
for _ in range(2):
    call(cuda, "cuGraphLaunch", instance, stream)
first = a.values @ x.values + 2 * y.values
close("graph", y.read(), a.values @ x.values + 2 * first, 1e-13, 100)
call(cuda, "cuGraphExecDestroy", instance)
call(cuda, "cuGraphDestroy", graph)

# A graph can also write a result to the host's memory.
where, stored, v, result = Memory(np.array([1, 3], np.int32)), Memory(np.array([2.0, 3.0])), P(), np.zeros(1)
call(sparse, "cusparseCreateSpVec", ref(v), L(5), L(2), where.at, stored.at, 2, 0, 1)
call(cuda, "cuStreamBeginCapture_v2", stream, 0)
call(sparse, "cusparseSpVV", handle, 0, v, x.at, P(result.ctypes.data), 1, buffer.at)
call(cuda, "cuStreamEndCapture", stream, ref(graph))
call(cuda, "cuGraphInstantiateWithFlags", ref(instance), graph, ctypes.c_ulonglong(0))
assert result[0] == 0, "a captured product ran"
call(cuda, "cuGraphLaunch", instance, stream)
call(cuda, "cuStreamSynchronize", stream)
close("a result of a graph", result[0], 2 * x.values[1] + 3 * x.values[3], 1e-13, 10)
call(cuda, "cuGraphExecDestroy", instance)
call(cuda, "cuGraphDestroy", graph)
call(sparse, "cusparseDestroySpVec", v)

# Tests errors: wrong arguments and types, memory that does not exist, and wrong indices and offsets.
y = Vector(5, kind)
spmv = lambda a, x=x, y=y, op=0, compute=1, alpha=P(one.ctypes.data): sparse.cusparseSpMV(
    handle, op, alpha, a, x.at, P(two.ctypes.data), y.at, compute, 0, buffer.at)
assert spmv(a.at) == 0 and spmv(None) == INVALID and spmv(a.at, op=3) == INVALID and spmv(a.at, alpha=None) == INVALID
assert spmv(a.at, x=Vector(4, kind)) == INVALID and spmv(a.at, y=Vector(6, kind)) == INVALID and spmv(a.at, compute=0) == NOT_SUPPORTED
assert spmv(a.at, x=Vector(5, Type(0))) == NOT_SUPPORTED
assert sparse.cusparseSpMV(None, 0, None, None, None, None, None, 1, 0, None) == 1
made = P()
create = lambda rows=2, columns=2, nnz=2, offset=2, index=2, base=0, code=1, offsets=a.offsets.at, at=ref(made): sparse.cusparseCreateCsr(
    at, L(rows), L(columns), L(nnz), offsets, a.indices.at, a.stored.at, offset, index, base, code)
assert create(rows=-1) == INVALID and create(nnz=-1) == INVALID and create(offset=1) == INVALID and create(index=4) == INVALID
assert create(base=2) == INVALID and create(code=99) == NOT_SUPPORTED and create(code=28) == NOT_SUPPORTED and create(at=None) == INVALID
assert sparse.cusparseCreateDnMat(ref(made), L(4), L(4), L(3), a.stored.at, 1, 1) == INVALID
assert sparse.cusparseCreateDnMat(ref(made), L(4), L(4), L(4), a.stored.at, 1, 3) == INVALID
assert sparse.cusparseCreateBsr(ref(made), L(2), L(2), L(1), L(0), L(1), None, None, None, 2, 2, 0, 1, 1) == INVALID
assert sparse.cusparseCreateBsr(ref(made), L(1 << 62), L(2), L(1), L(4), L(1), None, None, None, 2, 2, 0, 1, 1) == INVALID
assert sparse.cusparseCreateBlockedEll(ref(made), L(4), L(4), L(3), L(3), None, None, 2, 0, 1) == INVALID
assert sparse.cusparseCreateSlicedEll(ref(made), L(4), L(4), L(3), L(3), L(0), None, None, None, 2, 2, 0, 1) == INVALID
assert sparse.cusparseSpMatSetAttribute(a.at, 2, ref(count), Z(4)) == INVALID and sparse.cusparseSpMatSetAttribute(a.at, 0, ref(count), Z(8)) == INVALID
assert sparse.cusparseDnMatSetStridedBatch(None, 1, L(1)) == INVALID

hostile = 0
for style in FORMATS:
    for part in ("offsets", "indices"):
        for wrong in (-1, 1 << 30, -(1 << 31), 77, (1 << 31) - 1):
            for kind_of_index in (2, 3):
                values = np.zeros((4, 4))
                values[0, 0] = values[1, 2] = values[3, 3] = values[2, 1] = 1.0
                a = Sparse(4, 4, kind, style, values=values, index=kind_of_index)
                memory = getattr(a, part)
                if memory.array.size == 0 or (style in ("blocked", "sliced") and part == "indices" and wrong == -1):
                    continue  # -1 is padding
                broken = memory.array.copy()
                place = int(random.choice(np.nonzero(broken != -1)[0]))  # not in padding
                broken[place] = wrong
                call(cuda, "cuMemcpyHtoD_v2", memory.at, P(broken.ctypes.data), Z(broken.nbytes))
                x, y, square, c = Vector(4, kind), Vector(4, kind), Dense(4, 4, kind), Dense(4, 4, kind)
                code = spmv(a.at, x=x, y=y)
                assert code == FAILED, f"{style}: {part}[{place}] is {wrong}: {code}"
                assert sparse.cusparseSparseToDense(handle, a.at, c.at, 0, None) == FAILED
                assert sparse.cusparseSDDMM(handle, 0, 0, P(one.ctypes.data), square.at, square.at, P(two.ctypes.data), a.at, 1, 0, None) == FAILED
                if style == "csr":
                    plan = P()
                    call(sparse, "cusparseSpGEMM_createDescr", ref(plan))
                    given = (P(one.ctypes.data), a.at, a.at, P(two.ctypes.data), a.at, 1, 0, plan)
                    assert sparse.cusparseSpGEMM_compute(handle, 0, 0, *given, ref(bytes_), buffer.at) == FAILED
                    assert sparse.cusparseSpGEMM_copy(handle, 0, 0, *given) == INVALID
                    call(sparse, "cusparseSpGEMM_destroyDescr", plan)
                if style in ("csr", "coo", "sliced"):
                    plan = P()
                    call(sparse, "cusparseSpSV_createDescr", ref(plan))
                    given = (handle, 0, P(one.ctypes.data), a.at, x.at, y.at, 1, 0, plan)
                    call(sparse, "cusparseSpSV_analysis", *given, buffer.at)
                    assert sparse.cusparseSpSV_solve(*given) == FAILED
                    call(sparse, "cusparseSpSV_destroyDescr", plan)
                hostile += 1
assert hostile > 60
# Tests sizes that are larger than the memory.
for rows, nnz in ((1 << 62, 0), (4, 1 << 61), (4, 1000000)):
    call(sparse, "cusparseCreateCsr", ref(made), L(rows), L(4), L(nnz), a.offsets.at, a.indices.at, a.stored.at, 3, 3, 0, 1)
    large = P()
    call(sparse, "cusparseCreateDnVec", ref(large), L(rows), y.memory.at, 1)
    assert sparse.cusparseSpMV(handle, 0, P(one.ctypes.data), made, x.at, P(two.ctypes.data), large, 1, 0, None) == FAILED
    call(sparse, "cusparseDestroySpMat", made)
    call(sparse, "cusparseDestroyDnVec", large)
# This sum is just above the middle of two bf16 numbers, and a float could not represent the difference. The sum must be
# rounded up.
parts, ones = Memory(to_bfloat(np.array([1, 2.0**-8, 2.0**-40], np.float32))), Memory(to_bfloat(np.ones(3, np.float32)))
total, row, x = Memory(np.zeros(1, np.uint16)), P(), P()
places = Memory(np.array([0, 3], np.int32)), Memory(np.arange(3, dtype=np.int32))
call(sparse, "cusparseCreateCsr", ref(row), L(1), L(3), L(3), places[0].at, places[1].at, parts.at, 2, 2, 0, BF16)
call(sparse, "cusparseCreateDnVec", ref(x), L(3), ones.at, BF16)
call(sparse, "cusparseCreateDnVec", ref(made), L(1), total.at, BF16)
f32 = np.array([1, 0], np.float32)
call(sparse, "cusparseSpMV", handle, 0, P(f32.ctypes.data), row, x, P(f32.ctypes.data + 4), made, 0, 0, None)
assert from_bfloat(total.read())[0] == 1 + 2.0**-7
# A dense matrix must be refused as a vector, because a matrix without columns has no memory.
thin, entries, places = P(), P(), Memory(np.array([7, 99999]))
call(sparse, "cusparseCreateSpVec", ref(entries), L(100000), L(2), places.at, y.memory.at, 3, 0, 1)
call(sparse, "cusparseCreateDnMat", ref(thin), L(100000), L(0), L(100000), None, 1, COLUMNS)
assert sparse.cusparseGather(handle, thin, entries) == INVALID and sparse.cusparseScatter(handle, entries, thin) == INVALID
assert sparse.cusparseAxpby(handle, P(one.ctypes.data), entries, P(two.ctypes.data), thin) == INVALID
assert sparse.cusparseSpVV(handle, 0, entries, thin, P(two.ctypes.data), 1, None) == INVALID
# A matrix without columns may have any number of rows. A call with such a matrix must return at once.
many, plan = 1 << 40, P()
dense = lambda rows, columns: sparse.cusparseCreateDnMat(ref(made := P()), L(rows), L(columns), L(rows), None, 1, COLUMNS) or made
pairs = lambda rows, columns: sparse.cusparseCreateCoo(ref(made := P()), L(rows), L(columns), L(0), None, None, None, 3, 0, 1) or made
ell, alpha, beta = P(), P(one.ctypes.data), P(two.ctypes.data)
call(sparse, "cusparseCreateBlockedEll", ref(ell), L(many), L(4), L(2), L(0), None, None, 3, 0, 1)
call(sparse, "cusparseSpMM", handle, 0, 0, alpha, pairs(many, 3), dense(3, 0), beta, dense(many, 0), 1, 0, None)
call(sparse, "cusparseSpMM", handle, 0, 0, alpha, pairs(3, many), dense(many, 0), beta, dense(3, 0), 1, 0, None)
call(sparse, "cusparseSpMM", handle, 0, 0, alpha, ell, dense(4, 0), beta, dense(many, 0), 1, 0, None)
call(sparse, "cusparseSDDMM", handle, 0, 0, alpha, dense(many, 0), dense(0, 3), beta, pairs(many, 3), 1, 0, None)
call(sparse, "cusparseSparseToDense", handle, pairs(many, 0), dense(many, 0), 0, None)
call(sparse, "cusparseDenseToSparse_analysis", handle, dense(many, 0), pairs(many, 0), 0, None)
call(sparse, "cusparseDenseToSparse_convert", handle, dense(many, 0), pairs(many, 0), 0, None)
call(sparse, "cusparseSpSM_createDescr", ref(plan))
given = (handle, 0, 0, alpha, pairs(many, many), dense(many, 0), dense(many, 0), 1, 0, plan)
call(sparse, "cusparseSpSM_analysis", *given, None)
call(sparse, "cusparseSpSM_solve", *given)
call(sparse, "cusparseSpSM_destroyDescr", plan)
assert sparse.cusparseSbsrmv(handle) == NOT_SUPPORTED
sparse.cusparseGetErrorName.restype = sparse.cusparseGetErrorString.restype = ctypes.c_char_p
assert sparse.cusparseGetErrorName(9) == b"CUSPARSE_STATUS_ZERO_PIVOT" and sparse.cusparseGetErrorString(3) == b"invalid value"
call(sparse, "cusparseDestroy", handle)
print("right")
