// child.cu - kernels that launch kernels, checked by test_child.c. ../ptx.py compiles it twice with
// NVRTC: child.ptx uses the second generation of the device runtime, in which a kernel cannot wait for its children.
// child_1.ptx uses the first generation.
extern "C" {

__global__ void add(int *to, int n) { atomicAdd(to + threadIdx.x, n); }

// Each kernel writes its number at the next free place. to[0] counts the kernels.
__global__ void stamp(int *to, int who) { to[1 + atomicAdd(to, 1)] = who; }

__global__ void one_each(int *to, int n)
{
    if (threadIdx.x < 4)
        add<<<threadIdx.x + 1, 32>>>(to + 32 * threadIdx.x, n);
}

// Children must see earlier writes of the block, and have the values of parameters at their launch.
__global__ void reads(const int *from, int *to, int n) { to[n] = from[n] + 1; }
__global__ void writes(int *from, int *to)
{
    from[threadIdx.x] = 100 + (int)threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int n = 0; n < 8; n++)
            reads<<<1, 1>>>(from, to, n);
}

// Launches a tree of kernels. Its 2^depth leaves count themselves, and each level writes its depth.
__global__ void tree(int *to, int depth)
{
    if (depth == 0) {
        atomicAdd(to, 1);
        return;
    }
    atomicAdd(to + 1, 1);
    tree<<<1, 1>>>(to, depth - 1);
    tree<<<1, 1>>>(to, depth - 1);
}

__global__ void down(int *to, int level)
{
    to[0] = level;
    down<<<1, 1>>>(to, level + 1);
    int error = (int)cudaGetLastError();
    if (error != 0) {
        to[1] = error;
        to[2] = (int)cudaGetLastError();
    }
}

#if !defined(CUDA_FORCE_CDP1_IF_SUPPORTED)
__global__ void order(int *to)
{
    stamp<<<1, 1, 0, cudaStreamTailLaunch>>>(to, 10);
    stamp<<<1, 1>>>(to, 1);
    stamp<<<1, 1, 0, cudaStreamFireAndForget>>>(to, 2);
    stamp<<<1, 1, 0, cudaStreamTailLaunch>>>(to, 11);
    stamp<<<1, 1>>>(to, 3);
}
__global__ void tail_of_tail(int *to, int who)
{
    stamp<<<1, 1>>>(to, who);
    stamp<<<1, 1, 0, cudaStreamTailLaunch>>>(to, who + 1);
}
__global__ void tails(int *to)
{
    tail_of_tail<<<1, 1, 0, cudaStreamTailLaunch>>>(to, 20);
    stamp<<<1, 1, 0, cudaStreamTailLaunch>>>(to, 30);
}
// Enqueues a fill and a launch that run when all other work is done.
__global__ void tail_moves(int *to)
{
    cudaMemsetAsync(to + 2, 0x11, 4, cudaStreamTailLaunch);
    stamp<<<1, 1, 0, cudaStreamTailLaunch>>>(to, 5);
    to[2] = 7;
}
// Launches itself into its tail stream many times, more often than grids may be nested.
__global__ void again(int *to, int times)
{
    to[0]++;
    if (times > 1)
        again<<<1, 1, 0, cudaStreamTailLaunch>>>(to, times - 1);
}
#endif

__global__ void pending(int *to, int times)
{
    int made = 0, error = 0;
    for (int n = 0; n < times; n++) {
        add<<<1, 1>>>(to + 2, 1);
        error = (int)cudaGetLastError();
        if (error != 0)
            break;
        made++;
    }
    to[0] = made;
    to[1] = error;
}

__global__ __launch_bounds__(64) void narrow(int *to) { *to = 1; }
__global__ void shapes(int *to)
{
    add<<<1, 2048>>>(to, 1), to[0] = (int)cudaPeekAtLastError(), to[1] = (int)cudaGetLastError();
    add<<<0, 32>>>(to, 1), to[2] = (int)cudaGetLastError();
    add<<<dim3(1, 70000, 1), 32>>>(to, 1), to[3] = (int)cudaGetLastError();
    add<<<1, 32, 1 << 20>>>(to, 1), to[4] = (int)cudaGetLastError();
    narrow<<<1, 65>>>(to), to[5] = (int)cudaGetLastError();
    const char *text = cudaGetErrorString(cudaErrorInvalidConfiguration), *name = cudaGetErrorName(cudaErrorInvalidValue);
    for (int n = 0; n < 20; n++)
        to[10 + n] = text[n], to[40 + n] = name[n];
}

__global__ void unknown_stream(int *to)
{
    add<<<1, 32, 0, (cudaStream_t)1234567>>>(to + 1, 1), to[0] = (int)cudaGetLastError();
}

__global__ void streams(int *to)
{
    cudaStream_t s;
    cudaEvent_t e;
    to[20] = (int)cudaStreamCreateWithFlags(&s, cudaStreamDefault);
    to[21] = (int)cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    to[22] = (int)cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    stamp<<<1, 1, 0, s>>>(to, 5);
    to[23] = (int)cudaEventRecord(e, s);
    to[24] = (int)cudaStreamWaitEvent(0, e, 0);
    stamp<<<1, 1>>>(to, 6);
    to[25] = (int)cudaEventDestroy(e);
    to[26] = (int)cudaStreamDestroy(s);
    to[27] = (int)cudaStreamDestroy(s);
    to[28] = (int)cudaEventRecord(e, 0);
}

__global__ void moves(int *to)
{
    to[40] = (int)cudaMemsetAsync(to, 0x11, 16, 0);
    to[41] = (int)cudaMemcpyAsync(to + 4, to, 8, cudaMemcpyDeviceToDevice, 0); // after the fill
    to[42] = (int)cudaMemset2DAsync(to + 8, 16, 0x22, 8, 3, 0);                // words 8 9, 12 13, 16 17
    to[43] = (int)cudaMemcpy2DAsync(to + 20, 8, to + 8, 16, 8, 3, cudaMemcpyDeviceToDevice, 0);
    to[44] = (int)cudaGetLastError();
    int local;
    to[30] = (int)cudaMemsetAsync(&local, 0, 4, 0);
    to[31] = (int)cudaMemset2DAsync(to, 4, 0, 8, 2, 0);
    to[32] = to[0]; // none of this work has run yet
    int *made = nullptr;
    to[33] = (int)cudaMalloc((void **)&made, 64);
    made[3] = 7;
    to[34] = made[3];
    to[35] = (int)cudaFree(made);
    to[36] = (int)cudaMalloc((void **)&made, (size_t)1 << 60);
}
__global__ void bad_fill(int *to) { cudaMemsetAsync(to, 0, 1 << 20, 0); }

__global__ void asks(int *to, size_t *limit)
{
    to[0] = (int)cudaDeviceGetAttribute(to + 1, cudaDevAttrMultiProcessorCount, 0);
    to[2] = (int)cudaDeviceGetAttribute(to + 3, cudaDevAttrMultiProcessorCount, 1);
    to[4] = (int)cudaGetDevice(to + 5);
    to[6] = (int)cudaGetDeviceCount(to + 7);
    to[8] = (int)cudaDeviceGetLimit(limit, cudaLimitDevRuntimePendingLaunchCount);
    to[9] = (int)cudaDeviceGetLimit(limit + 1, (cudaLimit)77);
    to[10] = (int)cudaOccupancyMaxActiveBlocksPerMultiprocessor(to + 11, (const void *)add, 256, 0);
}

__global__ void fault_in_child(int *to) { add<<<1, 32>>>((int *)((char *)to + (1 << 30)), 1); }
__global__ void spin(volatile int *to) { while (to[0] == 0) ; }
__global__ void endless_child(int *to) { spin<<<1, 32>>>(to); }
__global__ void in_a_loop(int *to) { in_a_loop<<<1, 1>>>(to), in_a_loop<<<1, 1>>>(to), in_a_loop<<<1, 1>>>(to); }

// Uses much local and shared memory. The memory of the parent kernel must not grow by it.
__global__ void heavy(int *to)
{
    __shared__ int box[4096];
    box[threadIdx.x] = (int)threadIdx.x;
    __syncthreads();
    to[threadIdx.x] = box[31 - threadIdx.x];
}
__global__ void light(int *to)
{
    __shared__ volatile int box[4];
    box[threadIdx.x & 3] = 1;
    heavy<<<1, 32>>>(to);
}

#if defined(CUDA_FORCE_CDP1_IF_SUPPORTED)
__global__ void waits(int *to)
{
    if (threadIdx.x == 0) {
        add<<<1, 32>>>(to, 5);
        to[40] = (int)cudaDeviceSynchronize();
        to[41] = to[31];
    }
}
__global__ void waits_below(int *to, int level)
{
    if (level < 2)
        waits_below<<<1, 1>>>(to, level + 1);
    to[level] = 1 + (int)cudaDeviceSynchronize();
}
#endif
}
