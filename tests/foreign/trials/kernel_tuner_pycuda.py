"""Kernel Tuner tunes the block size of a vector addition, through PyCUDA. Its times are the simulator's own."""
import kernel_tuner
import numpy as np

SOURCE = """
__global__ void vector_add(float *c, const float *a, const float *b, int n)
{
    int i = blockIdx.x * block_size_x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}
"""
N = np.int32(10000)
a, b = (np.random.rand(N).astype(np.float32) for _ in range(2))
results, _ = kernel_tuner.tune_kernel(
    "vector_add", SOURCE, N, [np.zeros_like(a), a, b, N], {"block_size_x": [32, 64, 128, 256, 512]}, lang="pycuda",
    answer=[a + b, None, None, None])
assert sorted(r["block_size_x"] for r in results) == [32, 64, 128, 256, 512]
assert all(r["time"] > 0 for r in results)
