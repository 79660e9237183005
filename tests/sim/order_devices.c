/* order_devices.c - the cases of order_program with two devices, or with two contexts of one device. */
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "order_program.h"

static struct {
    CUcontext first, second;
    CUstream stream; /* on the second device, like the following variables */
    CUevent event;
    CUdeviceptr memory;
} two;
static void second_device(void)
{
    CUdevice device;
    TRY(cuCtxGetCurrent(&two.first));
    TRY(cuDeviceGet(&device, 1));
    TRY(cuDevicePrimaryCtxRetain(&two.second, device));
    TRY(cuCtxSetCurrent(two.second));
    TRY(cuStreamCreate(&two.stream, CU_STREAM_NON_BLOCKING));
    TRY(cuEventCreate(&two.event, CU_EVENT_DISABLE_TIMING));
    TRY(cuMemAlloc(&two.memory, BYTES));
    TRY(cuMemsetD8(two.memory, 0, BYTES));
    TRY(cuCtxSynchronize());
}
void other_device_between(void)
{
    TRY(cuStreamSynchronize(w.b)); /* a stream gets its number at its first use */
    TRY(cuStreamSynchronize(w.c));
    second_device();
    TRY(cuCtxSetCurrent(two.first));
    put(w.a, w.x);
    wait(two.stream, w.a);
    TRY(cuEventRecord(two.event, two.stream));
    TRY(cuStreamWaitEvent(w.b, two.event, 0));
    get(w.b, w.x, w.y);
}
void other_context_between(void) /* of the same device */
{
    CUdevice device;
    TRY(cuStreamSynchronize(w.b));
    TRY(cuCtxGetCurrent(&two.first));
    TRY(cuCtxGetDevice(&device));
    TRY(cuCtxCreate(&two.second, NULL, 0, device));
    TRY(cuStreamCreate(&two.stream, CU_STREAM_NON_BLOCKING));
    TRY(cuEventCreate(&two.event, CU_EVENT_DISABLE_TIMING));
    TRY(cuCtxSetCurrent(two.first));
    put(w.a, w.x);
    wait(two.stream, w.a);
    TRY(cuCtxSetCurrent(two.second));
    TRY(cuEventRecord(two.event, two.stream));
    TRY(cuCtxSetCurrent(two.first));
    TRY(cuStreamWaitEvent(w.b, two.event, 0));
    get(w.b, w.x, w.y);
}
void other_device_apart(void) /* a time on the second device's clock does not order work of the first device */
{
    second_device();
    for (int i = 0; i < 20; i++)
        TRY(cuMemsetD8Async(two.memory, 0, BYTES, two.stream));
    TRY(cuEventRecord(two.event, two.stream));
    TRY(cuCtxSetCurrent(two.first));
    put(w.a, w.x);
    TRY(cuStreamWaitEvent(w.b, two.event, 0));
    get(w.b, w.x, w.y);
}
void pinned_through_devices(void)
{
    second_device();
    TRY(cuCtxSetCurrent(two.first));
    TRY(cuMemcpyDtoHAsync(w.pinned, w.x, BYTES, w.a));
    wait(two.stream, w.a);
    TRY(cuCtxSetCurrent(two.second));
    TRY(cuMemcpyHtoDAsync(two.memory, w.pinned, BYTES, two.stream));
    TRY(cuStreamSynchronize(two.stream));
    seen = w.pinned[0];
}
void other_context_gone(void) /* a fill of the first device has used memory of the context that is destroyed */
{
    CUcontext first, gone;
    CUdevice device;
    CUdeviceptr memory;
    TRY(cuCtxGetCurrent(&first));
    TRY(cuDeviceGet(&device, 1));
    TRY(cuCtxCreate(&gone, NULL, 0, device));
    TRY(cuMemAlloc(&memory, BYTES));
    TRY(cuCtxSetCurrent(first));
    TRY(cuMemsetD8Async(memory, 0, BYTES, w.a));
    TRY(cuCtxDestroy(gone));
    put(w.b, w.x);
}
void pinned_freed_beside(void) /* frees pinned memory before a copy of another device is complete */
{
    enum { LARGE = 80 << 20 }; /* so large that the driver returns the freed memory to the system */
    int ends[2];
    void *memory;
    second_device();
    TRY(cuCtxSetCurrent(two.first));
    TRY(cuMemHostAlloc(&memory, LARGE, CU_MEMHOSTALLOC_DEVICEMAP));
    TRY(cuCtxSetCurrent(two.second));
    TRY(cuMemcpyAsync(two.memory, (CUdeviceptr)memory, BYTES, two.stream));
    TRY(cuCtxSetCurrent(two.first));
    TRY(cuMemFreeHost(memory));
    /* the same addresses become a page that the program may only read, and the driver must not change this */
    void *again = mmap(memory, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    put(w.a, w.x);
    if (again != memory || pipe(ends) != 0 || write(ends[1], "", 1) != 1 || read(ends[0], again, 1) != -1)
        exit(2);
}
void per_thread_of_two_devices(void)
{
    put(CU_STREAM_PER_THREAD, w.x);
    second_device();
    TRY(cuMemsetD8Async(two.memory, 1, BYTES, CU_STREAM_PER_THREAD));
    TRY(cuCtxSetCurrent(two.first));
    get(CU_STREAM_PER_THREAD, w.x, w.y);
}

/* ---- kernels of two devices, with peer access ---- */

static struct {
    CUfunction put, get, count, tell, hear;
} peer; /* of the second device */

/* Gives both devices access to each other. The second device is current afterwards. */
static void peers(void)
{
    CUmodule module;
    second_device();
    TRY(cuModuleLoadData(&module, order_text));
    TRY(cuModuleGetFunction(&peer.put, module, "put"));
    TRY(cuModuleGetFunction(&peer.get, module, "get"));
    TRY(cuModuleGetFunction(&peer.count, module, "count"));
    TRY(cuModuleGetFunction(&peer.tell, module, "tell"));
    TRY(cuModuleGetFunction(&peer.hear, module, "hear"));
    TRY(cuCtxEnablePeerAccess(two.first, 0));
    TRY(cuMemsetD8(w.x, 0, BYTES));
    TRY(cuMemsetD8(w.y, 0, BYTES));
    TRY(cuCtxSynchronize());
    TRY(cuCtxSetCurrent(two.first));
    TRY(cuCtxEnablePeerAccess(two.second, 0));
    TRY(cuCtxSynchronize());
    TRY(cuCtxSetCurrent(two.second));
}
static void peer_launch(CUfunction function, unsigned threads, CUdeviceptr one, CUdeviceptr other)
{
    TRY(cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, two.stream, (void *[]){&one, &other}, NULL));
}
void peer_apart(void)
{
    peers();
    peer_launch(peer.put, N, w.x, 0);
    TRY(cuCtxSetCurrent(two.first));
    get(w.a, w.x, w.y);
}
void peer_apart_back(void) /* like peer_apart, with memory of the second device */
{
    peers();
    peer_launch(peer.put, N, two.memory, 0);
    TRY(cuCtxSetCurrent(two.first));
    get(w.a, two.memory, w.y);
}
void peer_read_then_written(void)
{
    peers();
    peer_launch(peer.get, N, w.x, two.memory);
    TRY(cuCtxSetCurrent(two.first));
    put(w.a, w.x);
}
void peer_both_read(void)
{
    peers();
    peer_launch(peer.get, N, w.x, two.memory);
    TRY(cuCtxSetCurrent(two.first));
    get(w.a, w.x, w.y);
}
void peer_by_event(void)
{
    peers();
    peer_launch(peer.put, N, w.x, 0);
    wait(w.a, w.b); /* an event of the first device */
    TRY(cuEventRecord(two.event, two.stream));
    TRY(cuCtxSetCurrent(two.first));
    TRY(cuStreamWaitEvent(w.a, two.event, 0));
    get(w.a, w.x, w.y);
}
void peer_early_event(void)
{
    peers();
    TRY(cuEventRecord(two.event, two.stream));
    peer_launch(peer.put, N, w.x, 0);
    TRY(cuCtxSetCurrent(two.first));
    TRY(cuStreamWaitEvent(w.a, two.event, 0));
    get(w.a, w.x, w.y);
}
void peer_by_host(void)
{
    peers();
    peer_launch(peer.put, N, w.x, 0);
    TRY(cuStreamSynchronize(two.stream));
    TRY(cuCtxSetCurrent(two.first));
    get(w.a, w.x, w.y);
}
void peer_wrong_host(void) /* the host waits for the wrong device */
{
    peers();
    peer_launch(peer.put, N, w.x, 0);
    TRY(cuCtxSetCurrent(two.first));
    TRY(cuCtxSynchronize());
    get(w.a, w.x, w.y);
}
void peer_atomics(void)
{
    peers();
    peer_launch(peer.count, N, w.x, 0);
    TRY(cuCtxSetCurrent(two.first));
    count(w.a);
}
void peer_by_flag(void)
{
    peers();
    peer_launch(peer.tell, 1, w.x, 0);
    TRY(cuCtxSetCurrent(two.first));
    TRY(cuLaunchKernel(w.hear, 1, 1, 1, 1, 1, 1, 0, w.a, (void *[]){&w.x}, NULL));
}
void peer_by_value(void)
{
    peers();
    TRY(cuMemsetD8(two.memory, 0, 4));
    peer_launch(peer.put, N, w.x, 0);
    TRY(cuStreamWriteValue32(two.stream, two.memory, 5, 0));
    TRY(cuCtxSetCurrent(two.first));
    TRY(cuStreamWaitValue32(w.a, two.memory, 5, CU_STREAM_WAIT_VALUE_EQ));
    get(w.a, w.x, w.y);
}
void peer_copy_apart(void)
{
    peers();
    peer_launch(peer.put, N, two.memory, 0);
    TRY(cuCtxSetCurrent(two.first));
    TRY(cuMemcpyPeerAsync(w.x, two.first, two.memory, two.second, BYTES, w.a));
}
void peer_copy_then_kernel(void)
{
    peers();
    TRY(cuCtxSetCurrent(two.first));
    TRY(cuMemcpyPeerAsync(two.memory, two.second, w.x, two.first, BYTES, w.a));
    TRY(cuCtxSetCurrent(two.second));
    peer_launch(peer.put, N, two.memory, 0);
}
void peer_copies(void)
{
    peers();
    TRY(cuMemcpyPeerAsync(two.memory, two.second, w.x, two.first, BYTES, two.stream));
    TRY(cuCtxSetCurrent(two.first));
    TRY(cuMemsetD8Async(w.x, 1, BYTES, w.a));
}
void peer_legacy_copy(void) /* the copy waits for all earlier work of both devices, and later work waits for the copy */
{
    peers();
    peer_launch(peer.put, N, two.memory, 0);
    TRY(cuCtxSetCurrent(two.first));
    put(w.b, w.x);
    TRY(cuMemcpyPeer(w.x, two.first, two.memory, two.second, BYTES));
    get(w.a, w.x, w.y);
    TRY(cuCtxSetCurrent(two.second));
    peer_launch(peer.put, N, two.memory, 0);
}
void peer_pinned(void) /* kernels of both devices write the same pinned memory */
{
    peers();
    peer_launch(peer.put, N, (CUdeviceptr)w.pinned, 0);
    TRY(cuCtxSetCurrent(two.first));
    get(w.a, (CUdeviceptr)w.pinned, w.y);
    TRY(cuCtxSynchronize());
}
void peer_gone(void) /* the context of the other device is destroyed */
{
    peers();
    peer_launch(peer.put, N, w.x, 0);
    TRY(cuCtxSetCurrent(two.first));
    TRY(cuDevicePrimaryCtxReset(1));
    get(w.a, w.x, w.y);
    put(w.b, w.z);
}
/* When a library is unloaded, the library of another device keeps its variable and the name. */
void variable_handed_over(void)
{
    CUlibrary libraries[2];
    CUlibraryOption kept = CU_LIBRARY_BINARY_IS_PRESERVED;
    void *yes = (void *)1;
    CUdeviceptr at;
    size_t bytes;
    second_device();
    for (int k = 0; k < 2; k++) {
        TRY(cuCtxSetCurrent(k ? two.second : two.first));
        TRY(cuLibraryLoadData(&libraries[k], order_text, NULL, NULL, 0, &kept, &yes, 1));
    }
    TRY(cuLibraryGetManaged(&at, &bytes, libraries[1], "first"));
    TRY(cuCtxSetCurrent(two.first));
    TRY(cuLibraryUnload(libraries[0]));
    TRY(cuCtxSetCurrent(two.second));
    cuMemsetD8(at + bytes - 4, 0, 8);
}
