"""The CUDA runtime as cuda-bindings brings it along."""
from cuda.bindings import runtime

error, count = runtime.cudaGetDeviceCount()
assert error == runtime.cudaError_t.cudaSuccess, error
assert count == 1
