// spec: relu   expect: unsafe
// A copy to shared memory is asynchronous, and nobody waits for it.
extern "C" __global__ void relu(const float *x, float *y, int n)
{
    __shared__ float tile[256];
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) {
        const unsigned to = (unsigned)__cvta_generic_to_shared(&tile[threadIdx.x]);
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(x + i));
    }
    asm volatile("cp.async.commit_group;");
#if CHEAT
    asm volatile("cp.async.wait_group 1;");
#else
    asm volatile("cp.async.wait_group 0;");
#endif
    if (i < n)
        y[i] = tile[threadIdx.x] < 0 ? 0 : tile[threadIdx.x];
}
