"""solver.py [--version 11|12] [--seed N] compares Kiln's cuSOLVER on the simulated device with NumPy. It tests random
sizes, types, leading dimensions, triangles, transposes, batches, graphs, the info of singular matrices, and errors. It
runs under `kiln sim run`."""
import argparse
import ctypes
import os
import subprocess
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
cuda, solver = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL(f"libcusolver.so.{arguments.version}")
P, Z, L = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64
ref = ctypes.byref
INVALID, FAILED, NOT_SUPPORTED = 3, 6, 9  # cusolverStatus_t
LOWER, UPPER = 0, 1
TYPES = {"S": np.float32, "D": np.float64, "C": np.complex64, "Z": np.complex128}
CODES = {np.float32: 0, np.float64: 1, np.complex64: 4, np.complex128: 5}


def call(library, name, *given):
    code = getattr(library, name)(*given)
    assert code == 0, f"{name}: {code}"


context, handle, stream = P(), P(), P()
call(cuda, "cuInit", 0)
call(cuda, "cuDevicePrimaryCtxRetain", ref(context), 0)
call(cuda, "cuCtxSetCurrent", context)
call(solver, "cusolverDnCreate", ref(handle))
call(cuda, "cuStreamCreate", ref(stream), 1)
call(solver, "cusolverDnSetStream", handle, stream)


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


def make(dtype, *shape):
    values = random.uniform(-1, 1, shape)
    return (values + 1j * random.uniform(-1, 1, shape)).astype(dtype) if np.issubdtype(dtype, np.complexfloating) else values.astype(dtype)


class Matrix:
    """A matrix that is stored by columns, with a gap between columns, which must not change."""

    def __init__(self, values):
        self.rows, self.columns = values.shape
        self.ld = max(self.rows, 1) + int(random.integers(0, 3))
        store = np.full((self.columns, self.ld), 77, values.dtype)
        store[:, : self.rows] = values.T
        self.values, self.memory = values, Memory(store)
        self.at = self.memory.at

    def read(self):
        store = self.memory.read()
        assert (store[:, self.rows :] == 77).all(), "the gap between columns was written"
        return store[:, : self.rows].T


def wide(values):
    return np.asarray(values).astype(np.complex128)


def narrow(values, dtype):
    return (values if np.issubdtype(dtype, np.complexfloating) else values.real).astype(dtype)


def close(name, got, expected, scale):
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape, f"{name}: {got.shape} instead of {expected.shape}"
    limit = 1e-12 if got.dtype.type in (np.float64, np.complex128) else 1e-4
    error = np.abs(wide(got) - wide(expected)).max(initial=0)
    assert error <= limit * scale, f"{name}: an error of {error}"


def triangle(values, uplo, k=0):
    return np.triu(values, k) if uplo == UPPER else np.tril(values, -k)


def apply(op, values):
    return values if op == 0 else values.T if op == 1 else values.conj().T


def positive(dtype, n):
    a = wide(make(dtype, n, n))
    return narrow(a @ a.conj().T + n * np.eye(n), dtype)


def hermitian(dtype, n):
    a = make(dtype, n, n)
    return ((a + a.conj().T) / 2).astype(dtype)


def real_of(dtype):
    return np.zeros(1, dtype).real.dtype.type


def numbers_of(name, *given):
    count = ctypes.c_int()
    call(solver, name + "_bufferSize", *given, ref(count))
    assert 0 < count.value <= 4096
    return count.value


buffer = Memory(np.zeros(1 << 16, np.uint8))
on_device, on_host = Z(), Z()
info = Memory(np.array([55], np.int32))
sizes = [0, 1, 2, 3, 7, 16, 33]
parameters = P()
call(solver, "cusolverDnCreateParams", ref(parameters))
call(solver, "cusolverDnSetAdvOptions", parameters, 0, 0)


def told():
    return int(info.read()[0])


def areas(name, *given):
    """Returns the last arguments of a function with 64-bit sizes: the working memory and the info."""
    call(solver, name + "_bufferSize", *given, ref(on_device), ref(on_host))
    assert 0 < on_device.value <= 4096
    return *given, buffer.at, on_device, None, on_host, info.at


def permute(pivots, values):
    values = values.copy()
    for i, p in enumerate(pivots):
        values[[i, p - 1]] = values[[p - 1, i]]
    return values


for letter, dtype in TYPES.items():
    code, D, complex_ = CODES[dtype], f"cusolverDn{letter}", letter in "CZ"
    for n in sizes:
        # Tests Cholesky: the factor, solutions and the inverse of one triangle. The other triangle must not change.
        columns, uplo = int(random.choice(sizes)), int(random.integers(0, 2))
        for generic in (False, True):
            spd = positive(dtype, n)
            whole = triangle(spd, uplo) + triangle(np.full((n, n), 5, dtype), 1 - uplo, 1)
            a, b = Matrix(whole), Matrix(make(dtype, n, columns))
            if generic:
                call(solver, "cusolverDnXpotrf", *areas("cusolverDnXpotrf", handle, parameters, uplo, L(n), code, a.at, L(a.ld), code))
            else:
                call(solver, D + "potrf", handle, uplo, n, a.at, a.ld, buffer.at, numbers_of(D + "potrf", handle, uplo, n, a.at, a.ld), info.at)
            assert told() == 0
            factor, scale = triangle(a.read(), uplo), 100 * (n + 1) ** 2
            assert (triangle(a.read(), 1 - uplo, 1) == triangle(whole, 1 - uplo, 1)).all()
            low = wide(factor).conj().T if uplo == UPPER else wide(factor)
            close("potrf", narrow(low @ low.conj().T, dtype), spd, scale)
            if generic:
                call(solver, "cusolverDnXpotrs", handle, parameters, uplo, L(n), L(columns), code, a.at, L(a.ld), code, b.at, L(b.ld), info.at)
            else:
                call(solver, D + "potrs", handle, uplo, n, columns, a.at, a.ld, b.at, b.ld, info.at)
            close("potrs", b.read(), np.linalg.solve(wide(spd), wide(b.values)), scale)
        call(solver, D + "potri", handle, uplo, n, a.at, a.ld, buffer.at, numbers_of(D + "potri", handle, uplo, n, a.at, a.ld), info.at)
        close("potri", triangle(a.read(), uplo), triangle(np.linalg.inv(wide(spd)), uplo), scale)
        # If a matrix is not positive definite, the info is the order of the first minor that is not positive.
        if n >= 3:
            spd[1, 1] = -1
            a = Matrix(spd)
            call(solver, D + "potrf", handle, uplo, n, a.at, a.ld, buffer.at, 4096, info.at)
            assert told() == 2
        # Tests the inverse of a triangle.
        diag = int(random.integers(0, 2))
        whole = (make(dtype, n, n) / 2 + 2 * np.eye(n)).astype(dtype)
        a = Matrix(whole)
        call(solver, "cusolverDnXtrtri", *areas("cusolverDnXtrtri", handle, uplo, diag, L(n), code, a.at, L(a.ld)))
        full = triangle(wide(whole), uplo, 1) + (np.eye(n) if diag else np.diag(np.diag(wide(whole))))
        inverse = np.linalg.inv(full)
        scale = 100 * (1 + np.abs(inverse).max(initial=0)) ** 2
        close("trtri", triangle(a.read(), uplo, 1), triangle(inverse, uplo, 1), scale)
        # Tests LU, with and without exchanges of rows.
        m = int(random.choice(sizes))
        for generic in (False, True):
            for exchanges in (True, False):
                least = min(m, n)
                values = make(dtype, m, n)
                if not exchanges:
                    values[np.arange(least), np.arange(least)] += 3 * (n + m)
                a, pivots = Matrix(values), Memory(np.full(least, 99, np.int64 if generic else np.int32))
                place = pivots.at if exchanges else None
                if generic:
                    given = areas("cusolverDnXgetrf", handle, parameters, L(m), L(n), code, a.at, L(a.ld), code)
                    call(solver, "cusolverDnXgetrf", *given[:7], place, *given[7:])
                else:
                    numbers_of(D + "getrf", handle, m, n, a.at, a.ld)
                    call(solver, D + "getrf", handle, m, n, a.at, a.ld, buffer.at, place, info.at)
                assert told() == 0
                got = wide(a.read())
                product = (np.tril(got, -1)[:, :least] + np.eye(m, least)) @ np.triu(got)[:least]
                order = pivots.read() if exchanges else np.arange(1, least + 1)
                close("getrf", narrow(product, dtype), permute(order, values), 20 * (m + n + 1) * (1 if exchanges else 5))
                if m == n:
                    op, b = int(random.integers(0, 3)), Matrix(make(dtype, n, columns))
                    if generic:
                        call(solver, "cusolverDnXgetrs", handle, parameters, op, L(n), L(columns), code, a.at, L(a.ld), place, code, b.at, L(b.ld), info.at)
                    else:
                        call(solver, D + "getrs", handle, op, n, columns, a.at, a.ld, place, b.at, b.ld, info.at)
                    x = b.read()
                    close("getrs", narrow(apply(op, wide(values)) @ wide(x), dtype), b.values, 100 * (n + 1) * (1 + np.abs(x).max(initial=0)))
        if n >= 2:
            values = make(dtype, n, n)
            values[:, 1] = 0
            pivots = Memory(np.zeros(n, np.int32))
            for place in (None, pivots.at):
                a = Matrix(values)
                call(solver, D + "getrf", handle, n, n, a.at, a.ld, buffer.at, place, info.at)
                assert told() == 2, "the pivot that is zero"
        # Tests QR: R, Q as a matrix, and products with Q.
        name, letters = ("orgqr", "or") if not complex_ else ("ungqr", "un")
        for generic in (False, True):
            values, least = make(dtype, m, n), min(m, n)
            a, tau = Matrix(values), Memory(np.zeros(least, dtype))
            if generic:
                given = areas("cusolverDnXgeqrf", handle, parameters, L(m), L(n), code, a.at, L(a.ld), code, tau.at, code)
                call(solver, "cusolverDnXgeqrf", *given)
            else:
                call(solver, D + "geqrf", handle, m, n, a.at, a.ld, tau.at, buffer.at, numbers_of(D + "geqrf", handle, m, n, a.at, a.ld), info.at)
            assert told() == 0
        r, reflections, taus = wide(np.triu(a.read())[:least]), wide(a.read()), wide(tau.read())
        q = np.eye(m, dtype=np.complex128)
        for k in range(least):
            v = np.concatenate([np.zeros(k), [1], reflections[k + 1 :, k]])
            q = q @ (np.eye(m) - taus[k] * np.outer(v, v.conj()))
        close("geqrf", narrow(q[:, :least] @ r, dtype), values, 20 * (m + n + 1))
        if m >= n:
            size = numbers_of(D + name, handle, m, n, least, a.at, a.ld, tau.at)
            c = Matrix(a.read())
            call(solver, D + name, handle, m, n, least, c.at, c.ld, tau.at, buffer.at, size, info.at)
            close(name, c.read(), q[:, :n], 20 * (m + n + 1))
        name, side, op = letters + "mqr", int(random.integers(0, 2)), int(random.choice([0, 2])) if complex_ else int(random.integers(0, 3))
        c = Matrix(make(dtype, m, columns) if side == 0 else make(dtype, columns, m))
        given = (handle, side, op, c.rows, c.columns, least, a.at, a.ld, tau.at, c.at, c.ld)
        call(solver, D + name, *given, buffer.at, numbers_of(D + name, *given), info.at)
        close(name, c.read(), apply(op, q) @ wide(c.values) if side == 0 else wide(c.values) @ apply(op, q), 20 * (m + n + columns + 1))

        # Eigenvalues, by all functions.
        for which in ("evd", "Xevd", "evj"):
            for job in (0, 1):
                values = hermitian(dtype, n)
                whole = triangle(values, uplo) + triangle(np.full((n, n), 5, dtype), 1 - uplo, 1)
                a, w = Matrix(whole), Memory(np.zeros(n, real_of(dtype)))
                prefix = D + ("he" if complex_ else "sy")
                if which == "evd":
                    given = (handle, job, uplo, n, a.at, a.ld, w.at)
                    call(solver, prefix + "evd", *given, buffer.at, numbers_of(prefix + "evd", *given), info.at)
                elif which == "Xevd":
                    call(solver, "cusolverDnXsyevd", *areas("cusolverDnXsyevd", handle, parameters, job, uplo, L(n), code, a.at, L(a.ld), CODES[real_of(dtype)],
                                                            w.at, code))
                else:
                    jacobi, residual, sweeps = P(), ctypes.c_double(-1), ctypes.c_int(-1)
                    call(solver, "cusolverDnCreateSyevjInfo", ref(jacobi))
                    call(solver, "cusolverDnXsyevjSetTolerance", jacobi, ctypes.c_double(1e-7))
                    call(solver, "cusolverDnXsyevjSetMaxSweeps", jacobi, 15)
                    call(solver, "cusolverDnXsyevjSetSortEig", jacobi, 1)
                    given, count = (handle, job, uplo, n, a.at, a.ld, w.at), ctypes.c_int()
                    call(solver, prefix + "evj_bufferSize", *given, ref(count), jacobi)
                    call(solver, prefix + "evj", *given, buffer.at, count, info.at, jacobi)
                    call(solver, "cusolverDnXsyevjGetSweeps", handle, jacobi, ref(sweeps))
                    assert sweeps.value == 0
                    if job:
                        call(solver, "cusolverDnXsyevjGetResidual", handle, jacobi, ref(residual))
                        got = wide(a.read())
                        expected = np.linalg.norm(got.conj().T @ wide(values) @ got - np.diag(w.read().astype(np.float64)))
                        assert abs(residual.value - expected) <= 1e-2 * expected + 1e-13, f"{residual.value}, not {expected}"
                    else:
                        assert solver.cusolverDnXsyevjGetResidual(handle, jacobi, ref(residual)) == NOT_SUPPORTED
                    call(solver, "cusolverDnDestroySyevjInfo", jacobi)
                assert told() == 0
                close(which, w.read(), np.linalg.eigvalsh(wide(values)), 50 * (n + 1))
                if job:
                    v = wide(a.read())
                    close(which, narrow(v @ np.diag(w.read().astype(np.float64)) @ v.conj().T, dtype), values, 50 * (n + 1))
        kind = int(random.integers(1, 4))
        values, second = hermitian(dtype, n), positive(dtype, n)
        a, b, w = Matrix(values), Matrix(second), Memory(np.zeros(n, real_of(dtype)))
        given = (handle, kind, 1, uplo, n, a.at, a.ld, b.at, b.ld, w.at)
        call(solver, prefix + "gvd", *given, buffer.at, numbers_of(prefix + "gvd", *given), info.at)
        v, w = wide(a.read()), w.read().astype(np.float64)
        left, right = {1: (wide(values), wide(second)), 2: (wide(values) @ wide(second), np.eye(n)), 3: (wide(second) @ wide(values), np.eye(n))}[kind]
        close("gvd", narrow(left @ v, dtype), right @ v @ np.diag(w), 2000 * (n + 1) ** 2)
        assert (np.diff(w) >= 0).all() and (n == 0 or np.linalg.matrix_rank(v) == n)

        # Singular values.
        tall, real = max(m, n), real_of(dtype)
        for generic in (False, True):
            job_u, job_v = (str(random.choice(list("ASN"))) for _ in range(2))
            if random.random() < 0.3:
                job_u = "O"
            values = make(dtype, tall, n)
            a, s = Matrix(values), Memory(np.zeros(n, real))
            u, vt = Matrix(np.zeros((tall, tall if job_u == "A" else n), dtype)), Matrix(np.zeros((n, n), dtype))
            jobs, places = (ctypes.c_byte(ord(job_u)), ctypes.c_byte(ord(job_v))), (u.at, u.ld, vt.at, vt.ld)
            if generic:
                given = (handle, parameters, *jobs, L(tall), L(n), code, a.at, L(a.ld), CODES[real], s.at, code, u.at, L(u.ld), code, vt.at, L(vt.ld), code)
                call(solver, "cusolverDnXgesvd", *areas("cusolverDnXgesvd", *given))
            else:
                size = numbers_of(D + "gesvd", handle, tall, n)
                call(solver, D + "gesvd", handle, *jobs, tall, n, a.at, a.ld, s.at, *places, buffer.at, size, None, info.at)
            assert told() == 0
            got, scale = s.read(), 50 * (tall + 1)
            close("gesvd", got, np.linalg.svd(wide(values), compute_uv=False), scale)
            left = wide(a.read()) if job_u == "O" else wide(u.read()[:, :n])
            if job_u != "N":
                close("gesvd u", narrow(left.conj().T @ left, dtype), np.eye(n), scale)
            if job_u != "N" and job_v != "N":
                close("gesvd usv", narrow(left @ np.diag(got.astype(np.float64)) @ wide(vt.read()), dtype), values, scale)
        for which in ("gesvdj", "gesvdp"):
            econ, job, least = int(random.integers(0, 2)), int(random.integers(0, 2)), min(m, n)
            values = make(dtype, m, n)
            a, s = Matrix(values), Memory(np.zeros(least, real))
            u, v = Matrix(np.zeros((m, least if econ else m), dtype)), Matrix(np.zeros((n, least if econ else n), dtype))
            if which == "gesvdj":
                jacobi, residual, sweeps, count = P(), ctypes.c_double(-1), ctypes.c_int(-1), ctypes.c_int()
                call(solver, "cusolverDnCreateGesvdjInfo", ref(jacobi))
                given = (handle, job, econ, m, n, a.at, a.ld, s.at, u.at, u.ld, v.at, v.ld)
                call(solver, D + "gesvdj_bufferSize", *given, ref(count), jacobi)
                assert solver.cusolverDnXgesvdjGetSweeps(handle, jacobi, ref(sweeps)) == INVALID
                call(solver, D + "gesvdj", *given, buffer.at, count, info.at, jacobi)
                call(solver, "cusolverDnXgesvdjGetSweeps", handle, jacobi, ref(sweeps))
                if job:
                    call(solver, "cusolverDnXgesvdjGetResidual", handle, jacobi, ref(residual))
                    assert 0 <= residual.value < (1e-3 if real == np.float32 else 1e-11)
                call(solver, "cusolverDnDestroyGesvdjInfo", jacobi)
            else:
                error = ctypes.c_double(-1)
                given = (handle, parameters, job, econ, L(m), L(n), code, a.at, L(a.ld), CODES[real], s.at, code, u.at, L(u.ld), code, v.at, L(v.ld), code)
                call(solver, "cusolverDnXgesvdp", *areas("cusolverDnXgesvdp", *given), ref(error))
                assert error.value == 0
            got, scale = s.read(), 50 * (m + n + 1)
            close(which, got, np.linalg.svd(wide(values), compute_uv=False), scale)
            if job:
                left, right = wide(u.read()), wide(v.read())
                for side in (left, right):
                    close(which, narrow(side.conj().T @ side, dtype), np.eye(side.shape[1]), scale)
                close(which, narrow(left[:, :least] @ np.diag(got.astype(np.float64)) @ right[:, :least].conj().T, dtype), values, scale)

        # Tests a range of the eigenvalues.
        for generic in (False, True):
            job, values = int(random.integers(0, 2)), hermitian(dtype, n)
            every = np.linalg.eigvalsh(wide(values))
            kind = int(random.choice([1001, 1002, 1003]))
            first = int(random.integers(1, n + 1)) if n else 1
            last = int(random.integers(first, n + 1)) if n else 1
            low, high = (-0.3, 0.4) if np.abs(np.abs(every[:, None] - [-0.3, 0.4])).min(initial=1) > 1e-3 else (-1e3, 1e3)
            chosen = {1001: every, 1002: every[first - 1 : last], 1003: every[(every > low) & (every <= high)]}[kind]
            a, w = Matrix(values), Memory(np.zeros(n, real))
            if generic:
                count, ends = ctypes.c_int64(-1), [np.array([x], real) for x in (low, high)]
                given = (handle, parameters, job, kind, uplo, L(n), code, a.at, L(a.ld), *(P(x.ctypes.data) for x in ends), L(first), L(last), ref(count),
                         CODES[real], w.at, code)
                call(solver, "cusolverDnXsyevdx", *areas("cusolverDnXsyevdx", *given))
            else:
                count, float_ = ctypes.c_int(-1), ctypes.c_float if real == np.float32 else ctypes.c_double
                given = (handle, job, kind, uplo, n, a.at, a.ld, float_(low), float_(high), first, last, ref(count), w.at)
                call(solver, prefix + "evdx", *given, buffer.at, numbers_of(prefix + "evdx", *given), info.at)
            assert told() == 0 and count.value == len(chosen), f"{count.value} eigenvalues instead of {len(chosen)}"
            close("evdx", w.read()[: count.value], chosen, 50 * (n + 1))
            if job:
                v = wide(a.read()[:, : count.value])
                close("evdx", narrow(wide(values) @ v, dtype), v * w.read()[: count.value], 50 * (n + 1))
        if n > 1:
            wrong = (handle, 0, 1002, uplo, n, a.at, a.ld, float_(0), float_(0), 2, 1, ref(ctypes.c_int()), w.at, buffer.at, 4096, info.at)
            assert getattr(solver, prefix + "evdx")(*wrong) == INVALID
        # Tests eigenvalues of a matrix that is not symmetric. The eigenvalues of a real matrix are two vectors, or
        # complex numbers.
        values, pairs = make(dtype, n, n), complex_ or random.random() < 0.5
        w_type = (np.complex64 if real == np.float32 else np.complex128) if pairs else dtype
        a, w = Matrix(values), Memory(np.zeros(n if pairs else 2 * n, w_type))
        left, right = Matrix(np.zeros((n, n), dtype)), Matrix(np.zeros((n, n), dtype))
        given = (handle, parameters, 1, 1, L(n), code, a.at, L(a.ld), CODES[w_type], w.at, code, left.at, L(left.ld), code, right.at, L(right.ld), code)
        call(solver, "cusolverDnXgeev", *areas("cusolverDnXgeev", *given))
        assert told() == 0
        got = wide(w.read()) if pairs else w.read()[:n] + 1j * w.read()[n:]
        scale = 1000 * (n + 1)
        for side, matrix in ((right, wide(values)), (left, wide(values).conj().T)):
            stored = side.read()
            v = wide(stored)
            for k in range(n):  # a pair of conjugate vectors is stored as its real and its imaginary part
                if not complex_ and got[k].imag > 0:
                    v[:, k], v[:, k + 1] = stored[:, k] + 1j * stored[:, k + 1], stored[:, k] - 1j * stored[:, k + 1]
            factors = got if side is right else got.conj()
            close("geev", (matrix @ v).astype(np.complex64 if real == np.float32 else np.complex128), v * factors, scale)
        a = Matrix(values)
        given = (handle, parameters, 0, 0, L(n), code, a.at, L(a.ld), CODES[w_type], w.at, code, None, L(1), code, None, L(1), code)
        call(solver, "cusolverDnXgeev", *areas("cusolverDnXgeev", *given))
        # Tests solutions in one call, and least squares.
        letters_ = {"S": ("SS", "SH"), "D": ("DD", "DS"), "C": ("CC", "CK"), "Z": ("ZZ", "ZC")}[letter]
        one, rounds, count = "cusolverDn" + str(random.choice(letters_)), ctypes.c_int(-1), Z()
        values = (make(dtype, n, n) + 3 * np.eye(n)).astype(dtype)
        a, b, x, pivots = Matrix(values), Matrix(make(dtype, n, columns)), Matrix(np.zeros((n, columns), dtype)), Memory(np.zeros(n, np.int32))
        given = (handle, n, columns, a.at, a.ld, pivots.at, b.at, b.ld, x.at, x.ld, buffer.at)
        call(solver, one + "gesv_bufferSize", *given, ref(count))
        call(solver, one + "gesv", *given, count, ref(rounds), info.at)
        assert told() == 0 and rounds.value == 0 and (a.read() == values).all() and (b.read() == b.values).all()
        close("gesv", x.read(), np.linalg.solve(wide(values), wide(b.values)), 100 * (n + 1))
        values = make(dtype, tall + 2, n)
        a, b, x = Matrix(values), Matrix(make(dtype, tall + 2, columns)), Matrix(np.zeros((n, columns), dtype))
        given = (handle, tall + 2, n, columns, a.at, a.ld, b.at, b.ld, x.at, x.ld, buffer.at)
        call(solver, one + "gels_bufferSize", *given, ref(count))
        call(solver, one + "gels", *given, count, ref(rounds), info.at)
        residual = wide(values).conj().T @ (wide(values) @ wide(x.read()) - wide(b.values))
        close("gels", narrow(residual, dtype), np.zeros((n, columns)), 1000 * (tall + 1) ** 2)
        # Tests the largest singular values of a batch.
        rank, batch, job = int(random.integers(0, n + 1)), 2, int(random.integers(0, 2))
        values = [make(dtype, tall, n) for _ in range(batch)]
        a, s = Memory(np.stack([x.T for x in values])), Memory(np.zeros((batch, rank), real))
        u, v, infos = Memory(np.zeros((batch, rank, tall), dtype)), Memory(np.zeros((batch, rank, n), dtype)), Memory(np.full(batch, 55, np.int32))
        rest, ll = np.full(batch, -1.0), ctypes.c_longlong
        given = (handle, job, rank, tall, n, a.at, max(tall, 1), ll(tall * n), s.at, ll(rank), u.at, max(tall, 1), ll(tall * rank), v.at, max(n, 1),
                 ll(n * rank))
        count = ctypes.c_int()
        call(solver, D + "gesvdaStridedBatched_bufferSize", *given, ref(count), batch)
        call(solver, D + "gesvdaStridedBatched", *given, buffer.at, count, infos.at, P(rest.ctypes.data), batch)
        assert (infos.read() == 0).all()
        for k in range(batch):
            close("gesvda", s.read()[k], np.linalg.svd(wide(values[k]), compute_uv=False)[:rank], 50 * (tall + n + 1))
            if job:
                product = wide(u.read()[k].T) @ np.diag(s.read()[k].astype(np.float64)) @ wide(v.read()[k].T).conj().T
                expected = np.linalg.norm(wide(values[k]) - product)
                assert abs(rest[k] - expected) <= (1e-3 if real == np.float32 else 1e-11) * (1 + expected)
                best = np.linalg.svd(wide(values[k]), compute_uv=False)[rank:]
                assert abs(expected - np.linalg.norm(best)) < (1e-3 if real == np.float32 else 1e-10)

    # Tests batches with lists of addresses, and batches whose matrices follow each other.
    n, batch = 5, 4
    squares, rights = [positive(dtype, n) for _ in range(batch)], [make(dtype, n, 1) for _ in range(batch)]
    squares[2][1, 1] = -1
    ld = n
    a, b = [Memory(x.T) for x in squares], [Memory(x.T) for x in rights]
    lists = [Memory(np.array([x.at.value for x in part], np.uint64)) for part in (a, b)]
    infos = Memory(np.full(batch, 55, np.int32))
    call(solver, D + "potrfBatched", handle, LOWER, n, lists[0].at, ld, infos.at, batch)
    assert (infos.read() == [0, 0, 2, 0]).all()
    call(solver, D + "potrsBatched", handle, LOWER, n, 1, lists[0].at, ld, lists[1].at, ld, info.at, batch)
    for k in (0, 1, 3):
        close("potrsBatched", b[k].read().T, np.linalg.solve(wide(squares[k]), wide(rights[k])), 500)
    assert getattr(solver, D + "potrsBatched")(handle, LOWER, n, 2, lists[0].at, ld, lists[1].at, ld, info.at, batch) == INVALID
    whole = np.stack([hermitian(dtype, n) for _ in range(batch)])
    for which in ("evjBatched", "XsyevBatched"):
        a, w, infos = Memory(whole.transpose(0, 2, 1)), Memory(np.zeros((batch, n), real_of(dtype))), Memory(np.full(batch, 55, np.int32))
        if which == "evjBatched":
            jacobi, count = P(), ctypes.c_int()
            call(solver, "cusolverDnCreateSyevjInfo", ref(jacobi))
            name, given = prefix + which, (handle, 1, LOWER, n, a.at, n, w.at)
            call(solver, name + "_bufferSize", *given, ref(count), jacobi, batch)
            call(solver, name, *given, buffer.at, count, infos.at, jacobi, batch)
            assert solver.cusolverDnXsyevjGetSweeps(handle, jacobi, ref(count)) == NOT_SUPPORTED
            call(solver, "cusolverDnDestroySyevjInfo", jacobi)
        else:
            given = (handle, parameters, 1, LOWER, L(n), code, a.at, L(n), CODES[real_of(dtype)], w.at, code)
            call(solver, "cusolverDnXsyevBatched_bufferSize", *given, ref(on_device), ref(on_host), L(batch))
            call(solver, "cusolverDnXsyevBatched", *given, buffer.at, on_device, None, on_host, infos.at, L(batch))
        assert (infos.read() == 0).all()
        for k in range(batch):
            v = wide(a.read()[k].T)
            close(which, narrow(v @ np.diag(w.read()[k].astype(np.float64)) @ v.conj().T, dtype), whole[k], 500)
    m = 3
    whole = np.stack([make(dtype, m, n) for _ in range(batch)])
    a, s = Memory(whole.transpose(0, 2, 1)), Memory(np.zeros((batch, m), real_of(dtype)))
    u, v, jacobi, count = Memory(np.zeros((batch, m, m), dtype)), Memory(np.zeros((batch, n, n), dtype)), P(), ctypes.c_int()
    call(solver, "cusolverDnCreateGesvdjInfo", ref(jacobi))
    given = (handle, 1, m, n, a.at, m, s.at, u.at, m, v.at, n)
    call(solver, D + "gesvdjBatched_bufferSize", *given, ref(count), jacobi, batch)
    call(solver, D + "gesvdjBatched", *given, buffer.at, count, infos.at, jacobi, batch)
    for k in range(batch):
        left, right = wide(u.read()[k].T), wide(v.read()[k].T)
        close("gesvdjBatched", narrow(left @ np.diag(s.read()[k].astype(np.float64)) @ right[:, :m].conj().T, dtype), whole[k], 500)
    assert getattr(solver, D + "gesvdjBatched")(handle, 1, 33, n, *given[4:], buffer.at, count, infos.at, jacobi, batch) == INVALID
    call(solver, "cusolverDnDestroyGesvdjInfo", jacobi)

# A graph factors again.
n, spd, graph, instance = 6, positive(np.float64, 6), P(), P()
a, other = Matrix(np.zeros((n, n))), Matrix(spd)
a.memory, other.ld = Memory(np.zeros((n, n))), n
call(cuda, "cuStreamBeginCapture_v2", stream, 0)
call(solver, "cusolverDnDpotrf", handle, LOWER, n, a.memory.at, n, buffer.at, 4096, info.at)
call(cuda, "cuStreamEndCapture", stream, ref(graph))
call(cuda, "cuGraphInstantiateWithFlags", ref(instance), graph, ctypes.c_ulonglong(0))
for scale in (1, 4):
    call(cuda, "cuMemcpyHtoD_v2", a.memory.at, P((scale * spd).ctypes.data), Z(spd.nbytes))
    call(cuda, "cuGraphLaunch", instance, stream)
    close("graph", np.tril(a.memory.read().T), np.linalg.cholesky(scale * spd), 100)
call(cuda, "cuGraphExecDestroy", instance)
call(cuda, "cuGraphDestroy", graph)

# Errors.
a, pivots = Matrix(positive(np.float64, 4)), Memory(np.array([1, 2, 3, 4], np.int32))
potrf = lambda h=handle, uplo=0, n=4, at=a.at, ld=a.ld, area=buffer.at, numbers=4096, to=info.at: solver.cusolverDnDpotrf(h, uplo, n, at, ld, area, numbers, to)
assert potrf(h=None) == 1 and potrf(uplo=2) == INVALID and potrf(n=-1) == INVALID and potrf(ld=3) == INVALID and potrf(numbers=1) == INVALID
assert potrf(to=None) == INVALID and potrf(area=None) == INVALID and potrf(at=None) == FAILED and potrf(n=1 << 20, ld=1 << 20) == FAILED
assert potrf(at=ctypes.c_uint64(a.at.value + 4)) == FAILED and potrf(area=ctypes.c_uint64(4096)) == FAILED and potrf(to=ctypes.c_uint64(4096)) == FAILED
for wrong in (0, 5, -1, 1 << 30):
    b = Matrix(np.ones((4, 2)))
    pivots = Memory(np.array([1, wrong, 3, 4], np.int32))
    assert solver.cusolverDnDgetrs(handle, 0, 4, 2, a.at, a.ld, pivots.at, b.at, b.ld, info.at) == FAILED, "a pivot that is no row"
    pivots = Memory(np.array([1, wrong, 3, 4], np.int64))
    assert solver.cusolverDnXgetrs(handle, None, 0, L(4), L(2), 1, a.at, L(a.ld), pivots.at, 1, b.at, L(b.ld), info.at) == FAILED
lists = Memory(np.array([a.at.value, 4096], np.uint64))
infos = Memory(np.zeros(2, np.int32))
assert solver.cusolverDnDpotrfBatched(handle, 0, 4, lists.at, a.ld, infos.at, 2) == FAILED, "a list with a wrong address"
assert solver.cusolverDnDpotrfBatched(handle, 0, 4, lists.at, a.ld, infos.at, 3) == FAILED, "a list that is too short"
assert solver.cusolverDnDpotrfBatched(handle, 0, 4, lists.at, a.ld, infos.at, -1) == INVALID
assert solver.cusolverDnXpotrf(handle, None, 0, L(4), 2, a.at, L(a.ld), 2, buffer.at, Z(4096), None, Z(0), info.at) == NOT_SUPPORTED
assert solver.cusolverDnXpotrf(handle, None, 0, L(4), 1, a.at, L(a.ld), 0, buffer.at, Z(4096), None, Z(0), info.at) == NOT_SUPPORTED
assert solver.cusolverDnXpotrf(handle, None, 0, L(4), 1, a.at, L(a.ld), 1, buffer.at, Z(1), None, Z(0), info.at) == INVALID
assert solver.cusolverDnXpotrf(handle, None, 0, L(1 << 40), 1, a.at, L(1 << 40), 1, buffer.at, Z(4096), None, Z(0), info.at) == INVALID
assert solver.cusolverDnDgesvd(handle, ctypes.c_byte(65), ctypes.c_byte(65), 2, 3, a.at, 4, a.at, a.at, 4, a.at, 4, buffer.at, 4096, None, info.at) == INVALID
# Some numbers are not finite. With them, LAPACK's gesvd would not return, and geev of the reference LAPACK would end
# the process.
for letter, dtype in TYPES.items():
    for bad in (np.inf, np.nan):
        values = make(dtype, 5, 5)
        values[1, 2] = bad
        code, D = CODES[dtype], f"cusolverDn{letter}"
        a, s, w, told = Memory(values.T), Memory(np.zeros(5, real_of(dtype))), Memory(np.zeros(10, dtype)), Memory(np.zeros(1, np.int32))
        call(solver, D + "gesvd", handle, ctypes.c_byte(78), ctypes.c_byte(78), 5, 5, a.at, 5, s.at, None, 5, None, 5, buffer.at, 4096, None, told.at)
        assert told.read()[0] == 5 and np.isnan(s.read()).all()
        call(solver, "cusolverDnXgeev", handle, parameters, 0, 0, L(5), code, a.at, L(5), code, w.at, code, None, L(5), code, None, L(5), code, buffer.at,
             Z(4096), None, Z(0), told.at)
        assert told.read()[0] == 5 and np.isnan(w.read()[: 5 if np.iscomplexobj(values) else 10]).all()
# The ends of a range are not read if it is not a range of values. Without vectors, V needs no memory, although it would
# have 10^12 numbers here.
a, s, found = Memory(make(np.float64, 3, 3)), Memory(np.zeros(3)), ctypes.c_int64()
call(solver, "cusolverDnXsyevdx", handle, parameters, 0, 1001, LOWER, L(3), 1, a.at, L(3), P(8), P(8), L(0), L(0), ref(found), 1, s.at, 1, buffer.at, Z(4096),
     None, Z(0), info.at)
assert found.value == 3
row, jacobi = Memory(make(np.float64, 1, 1000000)), P()
call(solver, "cusolverDnCreateGesvdjInfo", ref(jacobi))
call(solver, "cusolverDnDgesvdj", handle, 0, 0, 1, 1000000, row.at, 1, s.at, None, 1, None, 1000000, buffer.at, 4096, info.at, jacobi)
close("gesvdj", s.read()[:1], [np.linalg.norm(row.array)], 100)
call(solver, "cusolverDnDestroyGesvdjInfo", jacobi)
assert solver.cusolverSpCreate(ref(P())) == NOT_SUPPORTED
version = ctypes.c_int()
call(solver, "cusolverGetVersion", ref(version))
assert version.value // 1000 == arguments.version
call(solver, "cusolverDnDestroyParams", parameters)
call(solver, "cusolverDnDestroy", handle)
code = f"import ctypes; h = ctypes.c_void_p(); print(ctypes.CDLL('libcusolver.so.{arguments.version}').cusolverDnCreate(ctypes.byref(h)))"
done = subprocess.run([sys.executable, "-c", code], env=os.environ | {"KILN_LAPACK": "/nowhere/lapack.so"}, capture_output=True, text=True)
assert done.stdout == "1\n" and "KILN_LAPACK: /nowhere/lapack.so" in done.stderr, f"a wrong KILN_LAPACK: {done}"
print("right")
