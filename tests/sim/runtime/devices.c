/* A program of the CUDA runtime on several simulated devices ($KILN_SIM_DEVICES=2). It registers its kernels as nvcc's
 * code does. It prints each error. It ends with 0 if no error occurred. */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const char ptx[] =
    ".version 7.8\n.target sm_80\n.address_size 64\n"
    ".global .align 4 .u32 counter = 0;\n"
    ".visible .global .attribute(.managed) .align 4 .u32 total = 100;\n"
    /* sets *to = *from + 1, and counts its calls on this device and on all devices */
    ".visible .entry next(.param .u64 to, .param .u64 from)\n{\n"
    " .reg .b32 %r<3>; .reg .b64 %d<3>;\n"
    " ld.param.u64 %d1, [to]; ld.param.u64 %d2, [from]; ld.u32 %r1, [%d2]; add.u32 %r1, %r1, 1; st.u32 [%d1], %r1;\n"
    " atom.global.add.u32 %r2, [counter], 1; atom.global.add.u32 %r2, [total], 1; ret;\n}\n";

typedef struct wrapper {
    int magic, version;
    const void *data;
    void *parts;
} wrapper;
static const wrapper image = {0x466243b1, 1, ptx, NULL};
static const char next;
static unsigned counter, *total;

void **__cudaRegisterFatBinary(const void *image);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **, const void *, const char *, const char *, int, void *, void *, void *, void *,
                            int *);
void __cudaRegisterVar(void **, void *, const char *, const char *, int, size_t, int, int);
void __cudaRegisterManagedVar(void **, void **, const char *, const char *, int, size_t, int, int);
char __cudaInitModule(void **);

static int wrong;
static void check(int line, int right, const char *what)
{
    if (!right) {
        printf("line %d: %s (last error: %s)\n", line, what, cudaGetErrorName(cudaPeekAtLastError()));
        wrong++;
    }
}
#define CHECK(condition) check(__LINE__, (condition), #condition)
#define OK(call) CHECK((call) == cudaSuccess)
#define IS(call, error) CHECK((call) == (error))

static cudaError_t run(int on, unsigned *to, const unsigned *from, cudaStream_t stream)
{
    void *arguments[] = {&to, &from};
    OK(cudaSetDevice(on));
    cudaError_t error = cudaLaunchKernel(&next, (dim3){1, 1, 1}, (dim3){1, 1, 1}, arguments, 0, stream);
    return error == cudaSuccess ? cudaDeviceSynchronize() : error;
}

static unsigned value_of(const unsigned *at)
{
    unsigned value = 0;
    OK(cudaMemcpy(&value, at, sizeof value, cudaMemcpyDefault));
    return value;
}

static void variables(void)
{
    unsigned *memory[2], calls[2];
    for (int i = 0; i < 2; i++) {
        OK(cudaSetDevice(i));
        OK(cudaMalloc((void **)&memory[i], 4));
        OK(cudaMemset(memory[i], 0, 4));
    }
    CHECK(*total == 100);
    OK(run(0, memory[0], memory[0], NULL));
    OK(run(1, memory[1], memory[1], NULL));
    OK(run(1, memory[1], memory[1], NULL));
    CHECK(*total == 103); /* one counter for all devices */
    for (int i = 0; i < 2; i++) {
        OK(cudaSetDevice(i));
        OK(cudaMemcpyFromSymbol(&calls[i], &counter, 4, 0, cudaMemcpyDeviceToHost));
    }
    CHECK(calls[0] == 1 && calls[1] == 2); /* one each */
    CHECK(value_of(memory[0]) == 1 && value_of(memory[1]) == 2);
    OK(cudaFree(memory[0])); /* frees memory of the device that is not current */
    OK(cudaFree(memory[1]));
}

/* Tests peer access between two devices: queries, enabling and disabling, copies, and kernels that use the other
 * device's memory. */
static void peers(void)
{
    unsigned *own, *other, *pinned;
    struct cudaPointerAttributes about;
    struct cudaDeviceProp first, second;
    int can = 0, device = -1, count = 0;
    OK(cudaGetDeviceCount(&count));
    CHECK(count == 2);
    IS(cudaSetDevice(2), cudaErrorInvalidDevice);
    cudaGetLastError();
    OK(cudaSetDevice(1));
    OK(cudaMalloc((void **)&other, 8));
    OK(cudaMemset(other, 0, 8));
    OK(cudaSetDevice(0));
    OK(cudaGetDevice(&device));
    CHECK(device == 0);
    OK(cudaMalloc((void **)&own, 8));
    OK(cudaMemset(own, 0, 8));
    OK(cudaPointerGetAttributes(&about, other));
    CHECK(about.device == 1 && about.type == cudaMemoryTypeDevice && about.devicePointer == other);
    OK(cudaDeviceCanAccessPeer(&can, 0, 1));
    CHECK(can == 1);
    OK(cudaDeviceGetP2PAttribute(&can, cudaDevP2PAttrNativeAtomicSupported, 0, 1));
    CHECK(can == 1);
    IS(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
    IS(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
    OK(cudaDeviceEnablePeerAccess(1, 0));
    IS(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
    cudaGetLastError();
    OK(run(0, other, own, NULL));
    CHECK(value_of(other) == 1);
    OK(cudaMemcpyPeer(own + 1, 0, other, 1, 4));
    CHECK(value_of(own + 1) == 1);
    OK(cudaMemcpyPeerAsync(other + 1, 1, own + 1, 0, 4, NULL));
    CHECK(value_of(other + 1) == 1);
    OK(cudaHostAlloc((void **)&pinned, 8, cudaHostAllocPortable));
    pinned[0] = 5;
    OK(run(1, pinned + 1, pinned, NULL));
    CHECK(pinned[1] == 6);
    OK(cudaGetDeviceProperties(&first, 0));
    OK(cudaGetDeviceProperties(&second, 1));
    CHECK(first.pciBusID != second.pciBusID && memcmp(&first.uuid, &second.uuid, sizeof first.uuid) != 0);
    OK(cudaFreeHost(pinned));
    OK(cudaSetDevice(0));
    OK(cudaDeviceDisablePeerAccess(1));
    OK(cudaFree(own));
    OK(cudaFree(other));
}

/* Tests streams, events and pools of two devices. One device uses memory of the other device's pool. */
static void streams_and_pools(void)
{
    cudaStream_t stream[2];
    cudaEvent_t mark;
    cudaMemPool_t pool;
    unsigned *memory;
    OK(cudaDeviceGetDefaultMemPool(&pool, 1));
    struct cudaMemAccessDesc give = {{.type = cudaMemLocationTypeDevice, .id = 0}, cudaMemAccessFlagsProtReadWrite};
    OK(cudaMemPoolSetAccess(pool, &give, 1));
    for (int i = 0; i < 2; i++) {
        OK(cudaSetDevice(i));
        OK(cudaStreamCreate(&stream[i]));
    }
    OK(cudaMallocAsync((void **)&memory, 4, stream[1]));
    OK(cudaMemsetAsync(memory, 0, 4, stream[1]));
    OK(cudaEventCreate(&mark));
    OK(cudaEventRecord(mark, stream[1]));
    OK(cudaSetDevice(0));
    OK(cudaStreamWaitEvent(stream[0], mark, 0));
    OK(run(0, memory, memory, stream[0]));
    CHECK(value_of(memory) == 1);
    IS(run(0, memory, memory, stream[1]), cudaErrorInvalidResourceHandle);
    cudaGetLastError();
    OK(cudaFreeAsync(memory, stream[0]));
    OK(cudaStreamSynchronize(stream[1]));
    OK(cudaEventDestroy(mark));
    OK(cudaStreamDestroy(stream[0]));
    OK(cudaStreamDestroy(stream[1]));
}

/* Each thread begins with device 0, whatever the device of other threads is. */
static void *other_thread(void *result)
{
    int device = -1;
    unsigned *memory = NULL;
    OK(cudaGetDevice(&device));
    CHECK(device == 0);
    OK(cudaSetDevice(1));
    OK(cudaMalloc((void **)&memory, 4));
    OK(cudaMemset(memory, 0, 4));
    OK(run(1, memory, memory, NULL));
    *(unsigned **)result = memory;
    return NULL;
}

static void threads_and_reset(void)
{
    pthread_t thread;
    unsigned *memory = NULL, *own;
    int device = -1;
    OK(cudaSetDevice(0));
    CHECK(pthread_create(&thread, NULL, other_thread, &memory) == 0 && pthread_join(thread, NULL) == 0);
    OK(cudaGetDevice(&device));
    CHECK(device == 0 && value_of(memory) == 1);
    OK(cudaMalloc((void **)&own, 4));
    IS(run(0, own, memory, NULL), cudaErrorIllegalAddress); /* no access */
    OK(cudaSetDevice(1));
    CHECK(value_of(memory) == 1); /* device 1 lives */
    OK(cudaSetDevice(0));
    OK(cudaDeviceReset());
    OK(cudaMalloc((void **)&own, 4));
    OK(cudaMemset(own, 0, 4));
    OK(run(0, own, own, NULL));
    CHECK(value_of(own) == 1 && value_of(memory) == 1);
}

int main(void)
{
    void **handle = __cudaRegisterFatBinary(&image);
    __cudaRegisterFunction(handle, &next, "next", "next", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterVar(handle, &counter, "counter", "counter", 0, 4, 0, 0);
    __cudaRegisterManagedVar(handle, (void **)&total, "total", "total", 0, 4, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    CHECK(__cudaInitModule(handle));
    variables();
    peers();
    streams_and_pools();
    threads_and_reset();
    __cudaUnregisterFatBinary(handle);
    return wrong > 0;
}
