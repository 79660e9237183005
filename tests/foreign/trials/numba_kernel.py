"""Tests Numba: kernels in Python, with shared memory, atomics, mathematics, random numbers, reductions and ufuncs."""
import math

import numpy as np
from numba import cuda, float32, vectorize
from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


@cuda.jit
def block_sums(a, sums, count):
    room = cuda.shared.array(128, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    room[t] = a[i] if i < a.size else 0
    cuda.syncthreads()
    step = 64
    while step:
        if t < step:
            room[t] += room[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = room[0]
        cuda.atomic.add(count, 0, 1)


@cuda.jit(device=True)
def curve(x):
    return math.sin(x) * math.exp(-x) + math.sqrt(x) ** 3


@cuda.jit(lto=False)
def curves(x, y):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] = curve(x[i])


@cuda.jit
def draw(states, out):
    out[cuda.grid(1)] = xoroshiro128p_uniform_float32(states, cuda.grid(1))


@cuda.reduce
def total(a, b):
    return a + b


@vectorize(["float64(float64, float64)"], target="cuda")
def larger(a, b):
    return a if a > b else b


a, b = (np.random.rand(1000).astype(np.float32) for _ in range(2))
c = np.zeros_like(a)
add[4, 256](a, b, c)
assert np.array_equal(c, a + b)

sums, count = np.zeros(8, np.float32), np.zeros(1, np.int32)
block_sums[8, 128](a, sums, count)
assert np.allclose(sums, np.add.reduceat(a, range(0, 1000, 128)), rtol=1e-5) and count[0] == 8

x = np.linspace(0.1, 5, 500)
y = cuda.to_device(np.zeros_like(x))
curves[2, 32](cuda.to_device(x), y)
assert np.allclose(y.copy_to_host(), np.sin(x) * np.exp(-x) + np.sqrt(x) ** 3, rtol=1e-13)

numbers = cuda.device_array(256, np.float32)
draw[2, 128](create_xoroshiro128p_states(256, seed=3), numbers)
numbers = numbers.copy_to_host()
assert numbers.min() >= 0 and numbers.max() < 1 and 0.4 < numbers.mean() < 0.6

assert total(np.arange(1000, dtype=np.int64)) == 999 * 500
assert np.array_equal(larger(x, x[::-1].copy()), np.maximum(x, x[::-1]))
