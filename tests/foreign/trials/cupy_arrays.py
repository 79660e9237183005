"""Tests CuPy: arrays, elementwise kernels and raw kernels."""
import cupy

a = cupy.arange(1000, dtype=cupy.float32)
assert float((a * 2 + 1).sum()) == 1000 * 1000
