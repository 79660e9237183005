"""Numba: a kernel in Python."""
import numpy as np
from numba import cuda


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


a, b = (np.random.rand(1000).astype(np.float32) for _ in range(2))
c = np.zeros_like(a)
add[4, 256](a, b, c)
assert np.array_equal(c, a + b)
