"""Uses PyCUDA as most people use it: SourceModule and gpuarray. Both ask nvcc for machine code, and bin/nvcc gives them
PTX instead."""
import numpy as np
import pycuda.autoinit  # noqa: F401
import pycuda.curandom
import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule
from pycuda.elementwise import ElementwiseKernel
from pycuda.reduction import ReductionKernel
from pycuda.scan import InclusiveScanKernel

module = SourceModule("__global__ void twice(double *p) { p[threadIdx.x] *= 2; }")
numbers = np.random.rand(400)
copy = numbers.copy()
module.get_function("twice")(drv.InOut(copy), block=(400, 1, 1))
assert np.array_equal(copy, 2 * numbers)

a = gpuarray.to_gpu(numbers)
b = gpuarray.to_gpu(numbers[::-1].copy())
assert np.allclose((a * b + 1).get(), numbers * numbers[::-1] + 1, rtol=1e-15)
assert abs(gpuarray.sum(a).get() - numbers.sum()) < 1e-10
assert abs(gpuarray.dot(a, b).get() - numbers @ numbers[::-1]) < 1e-10
axpy = ElementwiseKernel("double a, double *x, double *y", "y[i] += a * x[i]", "axpy")
axpy(3, a, b)
assert np.allclose(b.get(), numbers[::-1] + 3 * numbers, rtol=1e-15)
most = ReductionKernel(np.float64, neutral="-1e300", reduce_expr="a > b ? a : b", map_expr="x[i]", arguments="double *x")
assert most(a).get() == numbers.max()
whole = gpuarray.to_gpu(np.arange(1000, dtype=np.int32))
InclusiveScanKernel(np.int32, "a+b")(whole)
assert np.array_equal(whole.get(), np.cumsum(np.arange(1000)))
