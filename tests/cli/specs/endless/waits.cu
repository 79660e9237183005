/* Lanes that wait in four ways for a value that never comes. */
extern "C" __global__ void flag(volatile int *ready, int *y)
{
    while (ready[3] == 3)
        ;
    y[0] = 1;
}
extern "C" __global__ void lock(int *ready, int *y)
{
    __shared__ int taken;
    taken = 1;
    __syncthreads();
    while (atomicCAS(&taken, 0, 1) != 0)
        __nanosleep(20);
    y[0] = 1;
}
extern "C" __global__ void barrier(int *ready, int *y)
{
    asm volatile("bar.sync %0, 64;" ::"r"(1 + threadIdx.x / 32));
    y[0] = 1;
}
extern "C" __global__ void mbarrier(int *ready, int *y)
{
    __shared__ unsigned long long bar[2];
    unsigned at = (unsigned)__cvta_generic_to_shared(bar + 1), done = 0;
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 2;" ::"r"(at));
    __syncthreads();
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(at));
    y[0] = 1;
}
