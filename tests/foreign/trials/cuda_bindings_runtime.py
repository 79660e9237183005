"""Uses the CUDA runtime that cuda-bindings contains."""
from cuda.bindings import runtime

error, count = runtime.cudaGetDeviceCount()
assert error == runtime.cudaError_t.cudaSuccess, error
assert count == 1
