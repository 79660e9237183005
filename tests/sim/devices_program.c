/* A program for the CUDA driver API on several simulated devices ($KILN_SIM_DEVICES=3). It tests which memory and
 * objects two devices may share. It prints each error. Without an error it ends with 0. With an argument it prints
 * the devices. */
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "program.h"

static const char text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    /* *to = *from + 1 */
    ".visible .entry next(.param .u64 to, .param .u64 from)\n{\n"
    " .reg .b32 %r<2>; .reg .b64 %d<3>;\n"
    " ld.param.u64 %d1, [to]; ld.param.u64 %d2, [from]; ld.u32 %r1, [%d2]; add.u32 %r1, %r1, 1; st.u32 [%d1], %r1; ret;\n}\n"
    ".visible .entry add(.param .u64 to)\n{\n"
    " .reg .b32 %r<2>; .reg .b64 %d<2>;\n"
    " ld.param.u64 %d1, [to]; atom.global.add.u32 %r1, [%d1], 1; ret;\n}\n";

enum { DEVICES = 3 };
static CUdevice device[DEVICES];
static CUcontext context[DEVICES];
static CUfunction next[DEVICES], add[DEVICES];

static void set_up(void)
{
    for (int i = 0; i < DEVICES; i++) {
        CUmodule module;
        OK(cuDeviceGet(&device[i], i));
        OK(cuDevicePrimaryCtxRetain(&context[i], device[i]));
        OK(cuCtxSetCurrent(context[i]));
        OK(cuModuleLoadData(&module, text));
        OK(cuModuleGetFunction(&next[i], module, "next"));
        OK(cuModuleGetFunction(&add[i], module, "add"));
    }
    OK(cuCtxSetCurrent(context[0]));
}

static CUresult start(int on, CUfunction function, CUdeviceptr to, CUdeviceptr from, CUstream stream)
{
    void *arguments[] = {&to, &from};
    cuCtxSetCurrent(context[on]);
    return cuLaunchKernel(function, 1, 1, 1, function == add[on] ? 32 : 1, 1, 1, 0, stream, arguments, NULL);
}

static CUresult run(int on, CUfunction function, CUdeviceptr to, CUdeviceptr from, CUstream stream)
{
    CUresult result = start(on, function, to, from, stream);
    return result == CUDA_SUCCESS ? cuCtxSynchronize() : result;
}

static unsigned read_back(CUdeviceptr from)
{
    unsigned value = 0;
    OK(cuMemcpyDtoH(&value, from, sizeof value));
    return value;
}

/* Queries the name, uuid, memory and context of each device, and which pairs of devices may access each other. */
static void queries(void)
{
    int count = 0, can = -1, value = -1;
    char id[DEVICES][32];
    CUuuid uuid[DEVICES];
    size_t total[DEVICES], whole = 0, left;
    OK(cuDeviceGetCount(&count));
    CHECK(count == DEVICES);
    IS(cuDeviceGet(&device[0], DEVICES), CUDA_ERROR_INVALID_DEVICE);
    set_up();
    for (int i = 0; i < DEVICES; i++) {
        CUdevice again = -1, current = -1;
        OK(cuDeviceGetPCIBusId(id[i], (int)sizeof id[i], device[i]));
        OK(cuDeviceGetByPCIBusId(&again, id[i]));
        OK(cuDeviceGetUuid(&uuid[i], device[i]));
        OK(cuDeviceTotalMem(&total[i], device[i]));
        OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device[i]));
        OK(cuCtxSetCurrent(context[i]));
        OK(cuCtxGetDevice(&current));
        OK(cuMemGetInfo(&left, &whole));
        CHECK(again == device[i] && current == device[i] && value == i && whole == total[i]);
        for (int k = 0; k < i; k++)
            CHECK(strcmp(id[k], id[i]) != 0 && memcmp(&uuid[k], &uuid[i], sizeof uuid[i]) != 0 &&
                  device[k] != device[i]);
    }
    OK(cuDeviceCanAccessPeer(&can, device[0], device[1]));
    CHECK(can == 1);
    OK(cuDeviceCanAccessPeer(&can, device[1], device[1]));
    CHECK(can == 0);
    OK(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, device[2], device[0]));
    CHECK(value == 1);
    OK(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, device[0], device[1]));
    CHECK(value == 1);
    IS(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, device[0], device[0]),
       CUDA_ERROR_INVALID_DEVICE);
}

/* Memory of device 1 is used while device 0 is current. Copies and queries find it by its address. */
static void addresses(void)
{
    CUdeviceptr own, other, base = 0;
    size_t bytes = 0;
    unsigned data[64], back[64] = {0};
    int ordinal = -1;
    CUcontext owner = NULL;
    for (unsigned i = 0; i < 64; i++)
        data[i] = i * 7;
    OK(cuCtxSetCurrent(context[1]));
    OK(cuMemAlloc(&other, sizeof data));
    OK(cuCtxSetCurrent(context[0]));
    OK(cuMemAlloc(&own, sizeof data));
    CHECK(own != other);
    OK(cuMemcpyHtoD(other, data, sizeof data));
    OK(cuMemcpy(own, other, sizeof data)); /* no peer access is needed */
    OK(cuMemcpyDtoH(back, own, sizeof back));
    CHECK(memcmp(back, data, sizeof data) == 0);
    OK(cuMemsetD32(own, 5, 64));
    OK(cuMemcpyPeer(other, context[1], own, context[0], sizeof data));
    OK(cuMemsetD32(own, 6, 64));
    CHECK(read_back(other + 4) == 5);
    OK(cuMemcpyPeerAsync(other, context[1], own, context[0], sizeof data, NULL));
    CHECK(read_back(other + 252) == 6);
    CUDA_MEMCPY3D_PEER box = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                              .srcDevice = other,
                              .srcContext = context[1],
                              .srcPitch = 32,
                              .srcHeight = 4,
                              .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                              .dstDevice = own,
                              .dstContext = context[0],
                              .dstPitch = 32,
                              .dstHeight = 4,
                              .WidthInBytes = 16,
                              .Height = 2,
                              .Depth = 2};
    OK(cuMemsetD32(own, 0, 64));
    OK(cuMemcpy3DPeer(&box));
    CHECK(read_back(own) == 6 && read_back(own + 16) == 0 && read_back(own + 128) == 6 && read_back(own + 64) == 0);
    OK(cuMemsetD32(other, 9, 64));
    CHECK(read_back(other) == 9);
    OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, other));
    OK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, other));
    OK(cuMemGetAddressRange(&base, &bytes, other + 8));
    CHECK(ordinal == 1 && owner == context[1] && base == other && bytes == sizeof data);
    OK(cuMemFree(other));
    IS(cuMemFree(other), CUDA_ERROR_INVALID_VALUE);
    IS(cuMemcpyDtoH(back, other, sizeof back), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(own));
}

static void peers(void)
{
    CUdeviceptr own, other;
    IS(cuCtxEnablePeerAccess(context[0], 0), CUDA_ERROR_INVALID_CONTEXT);
    IS(cuCtxEnablePeerAccess(context[1], 1), CUDA_ERROR_INVALID_VALUE);
    IS(cuCtxDisablePeerAccess(context[1]), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    OK(cuCtxEnablePeerAccess(context[1], 0));
    IS(cuCtxEnablePeerAccess(context[1], 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    OK(cuMemAlloc(&own, 4));
    OK(cuCtxSetCurrent(context[1]));
    OK(cuMemAlloc(&other, 4)); /* this memory is allocated after the access was given; the access holds for it too */
    OK(cuMemsetD32(other, 40, 1));
    OK(run(0, next[0], own, other, NULL));
    CHECK(read_back(own) == 41);
    OK(run(0, next[0], other, own, NULL));
    CHECK(read_back(other) == 42);
    OK(run(0, add[0], other, 0, NULL));
    CHECK(read_back(other) == 42 + 32);
    OK(cuMemFree(other));
    OK(cuMemFree(own));
    OK(cuCtxDisablePeerAccess(context[1]));
}

/* All devices can use memory of the host that the host has shared. */
static void shared(void)
{
    CUdeviceptr managed, pinned_at = 0;
    unsigned *pinned, flags = 0, *registered;
    OK(cuCtxSetCurrent(context[1]));
    OK(cuMemAllocManaged(&managed, 8, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemHostAlloc((void **)&pinned, 8, 0));
    OK(cuCtxSetCurrent(context[0]));
    unsigned *values = (unsigned *)(uintptr_t)managed;
    values[0] = 1;
    for (int i = 0; i < DEVICES; i++)
        OK(run(i, next[i], managed, managed, NULL));
    CHECK(values[0] == 1 + DEVICES);
    OK(cuMemPrefetchAsync(managed, 8, (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 2}, 0, NULL));
    pinned[0] = 7;
    OK(cuMemHostGetDevicePointer(&pinned_at, pinned, 0));
    OK(cuMemHostGetFlags(&flags, pinned));
    OK(run(2, next[2], pinned_at + 4, pinned_at, NULL));
    CHECK(pinned[1] == 8);
    registered = aligned_alloc(4096, 4096);
    registered[0] = 11;
    OK(cuMemHostRegister(registered, 4096, 0));
    OK(run(1, next[1], (uintptr_t)registered, (uintptr_t)registered, NULL));
    CHECK(registered[0] == 12);
    IS(cuMemHostRegister(registered, 4096, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    OK(cuMemHostUnregister(registered));
    OK(cuMemFreeHost(pinned));
    OK(cuMemFree(managed));
    free(registered);
}

static void streams(void)
{
    CUstream own, other;
    CUevent mark, here, far;
    CUdevice of = -1;
    CUdeviceptr memory;
    float time = -1;
    OK(cuCtxSetCurrent(context[1]));
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&mark, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&far, CU_EVENT_DEFAULT));
    OK(cuMemAllocAsync(&memory, 4, other));
    OK(cuCtxSetCurrent(context[0]));
    OK(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&here, CU_EVENT_DEFAULT));
    OK(cuMemsetD32Async(memory, 3, 1, other));
    OK(cuEventRecord(mark, other)); /* both events belong to device 1 */
    OK(cuEventRecord(far, other));
    OK(cuEventElapsedTime(&time, mark, far));
    CHECK(time >= 0);
    OK(cuStreamWaitEvent(own, mark, 0));
    OK(cuEventQuery(mark));
    OK(cuEventSynchronize(mark));
    OK(cuStreamSynchronize(other));
    OK(cuStreamQuery(other));
    OK(cuStreamGetDevice(other, &of));
    CHECK(of == device[1]);
    IS(cuEventRecord(here, other), CUDA_ERROR_INVALID_HANDLE);
    IS(cuEventRecord(mark, own), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventRecord(here, own));
    IS(cuEventElapsedTime(&time, mark, here), CUDA_ERROR_INVALID_HANDLE);
    /* a kernel runs on the device of its stream */
    IS(run(0, next[0], memory, memory, other), CUDA_ERROR_INVALID_HANDLE);
    CHECK(read_back(memory) == 3);
    OK(cuMemFreeAsync(memory, own));
    OK(cuEventDestroy(mark));
    OK(cuEventDestroy(far));
    OK(cuStreamDestroy(other));
    OK(cuStreamDestroy(own));
    OK(cuEventDestroy(here));
}

/* A pool's owner gives access to all of its memory, present and future. */
static void pools(void)
{
    CUmemoryPool pool, usual[2], same;
    CUmemLocation zero = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    CUmemAccess_flags flags;
    CUdeviceptr before, after, own;
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1}};
    OK(cuDeviceGetDefaultMemPool(&usual[0], device[0]));
    OK(cuDeviceGetDefaultMemPool(&usual[1], device[1]));
    CHECK(usual[0] != usual[1]);
    OK(cuDeviceGetMemPool(&same, device[1]));
    CHECK(same == usual[1]);
    OK(cuMemPoolCreate(&pool, &props));
    IS(cuDeviceSetMemPool(device[0], pool), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAllocFromPoolAsync(&before, 4, pool, NULL));
    OK(cuMemPoolGetAccess(&flags, pool, &zero));
    CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    CUmemAccessDesc give = {zero, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    OK(cuMemPoolSetAccess(pool, &give, 1));
    OK(cuMemPoolGetAccess(&flags, pool, &zero));
    CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuMemAllocFromPoolAsync(&after, 4, pool, NULL));
    OK(cuMemAlloc(&own, 4));
    OK(cuMemsetD32(own, 1, 1));
    OK(run(0, next[0], before, own, NULL));
    OK(run(0, next[0], after, before, NULL));
    CHECK(read_back(after) == 3);
    OK(cuMemFreeAsync(before, NULL));
    OK(cuMemFreeAsync(after, NULL));
    OK(cuMemFree(own));
    OK(cuMemPoolDestroy(pool));
}

/* Memory of device 1 is mapped, and devices that have access use it. */
static void mapped(void)
{
    size_t unit = 0;
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1}};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr at;
    unsigned long long may = 99;
    CUmemAccessDesc give[] = {{{.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
                              {{.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 2}, CU_MEM_ACCESS_FLAGS_PROT_READ}};
    OK(cuMemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    OK(cuMemCreate(&handle, unit, &prop, 0));
    OK(cuMemAddressReserve(&at, unit, 0, 0, 0));
    OK(cuMemMap(at, unit, 0, handle, 0));
    OK(cuMemSetAccess(at, unit, give, 2));
    OK(cuMemGetAccess(&may, &give[1].location, at));
    CHECK(may == CU_MEM_ACCESS_FLAGS_PROT_READ);
    give[0].location.id = 1;
    OK(cuMemGetAccess(&may, &give[0].location, at));
    CHECK(may == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    OK(cuMemsetD32(at, 20, 1));
    OK(run(0, next[0], at + 4, at, NULL));
    CUdeviceptr own;
    OK(cuCtxSetCurrent(context[2]));
    OK(cuMemAlloc(&own, 4));
    OK(run(2, next[2], own, at + 4, NULL));
    CHECK(read_back(own) == 22);
    OK(cuMemFree(own));
    OK(cuMemUnmap(at, unit));
    OK(cuMemAddressFree(at, unit));
    OK(cuMemRelease(handle));
    OK(cuCtxSetCurrent(context[0]));
}

/* ---- multicast ---- */

static const char reductions[] =
    ".version 8.2\n.target sm_90\n.address_size 64\n"
    /* each of n elements becomes the sum of this element on all devices of the team, plus `more` */
    ".visible .entry all_reduce(.param .u64 team, .param .u32 n, .param .u32 more)\n{\n"
    " .reg .b32 %r<6>; .reg .b64 %d<4>; .reg .pred %p<2>;\n"
    " ld.param.u64 %d1, [team]; ld.param.u32 %r1, [n]; ld.param.u32 %r2, [more]; mov.u32 %r3, %tid.x;\n"
    " setp.ge.u32 %p1, %r3, %r1; @%p1 ret; mul.wide.u32 %d2, %r3, 4; add.u64 %d3, %d1, %d2;\n"
    " multimem.ld_reduce.relaxed.sys.global.add.u32 %r4, [%d3]; add.u32 %r4, %r4, %r2;\n"
    " multimem.st.relaxed.sys.global.u32 [%d3], %r4; ret;\n}\n";

/* A team is a group of devices that share a multicast object of two units. Each device has bound one unit of physical
 * memory to the second unit of the object, and has mapped this second unit. */
typedef struct team {
    size_t unit;
    int count;
    CUmemGenericAllocationHandle object, memory[DEVICES];
    CUdeviceptr own[DEVICES], at;
} team;

static void give(CUdeviceptr at, size_t bytes, int on)
{
    CUmemAccessDesc all = {{.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device[on]}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    OK(cuMemSetAccess(at, bytes, &all, 1));
}

static void open_team(team *t, int count)
{
    const CUmulticastObjectProp prop = {.numDevices = (unsigned)count, .size = 2 * ((size_t)2 << 20)};
    *t = (team){.count = count};
    OK(cuMulticastGetGranularity(&t->unit, &prop, CU_MULTICAST_GRANULARITY_MINIMUM));
    CHECK(prop.size == 2 * t->unit);
    OK(cuMulticastCreate(&t->object, &prop));
    for (int i = 0; i < count; i++)
        OK(cuMulticastAddDevice(t->object, device[i]));
    OK(cuMemAddressReserve(&t->at, t->unit, 0, 0, 0));
    for (int i = 0; i < count; i++) {
        const CUmemAllocationProp how = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                         .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device[i]}};
        OK(cuCtxSetCurrent(context[i]));
        OK(cuMemCreate(&t->memory[i], t->unit, &how, 0));
        OK(cuMemAddressReserve(&t->own[i], t->unit, 0, 0, 0));
        OK(cuMemMap(t->own[i], t->unit, 0, t->memory[i], 0));
        give(t->own[i], t->unit, i);
        if (i % 2) /* the other way */
            OK(cuMulticastBindAddr(t->object, t->unit, t->own[i], t->unit, 0));
        else
            OK(cuMulticastBindMem(t->object, t->unit, t->memory[i], 0, t->unit, 0));
    }
    OK(cuMemMap(t->at, t->unit, t->unit, t->object, 0));
    for (int i = 0; i < count; i++)
        give(t->at, t->unit, i);
}

/* The bound memory and the object live as long as the mappings, although their handles are released first. */
static void close_team(team *t)
{
    OK(cuMemRelease(t->object));
    IS(cuMemRelease(t->object), CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < t->count; i++) {
        OK(cuMemRelease(t->memory[i]));
        OK(cuMemUnmap(t->own[i], t->unit));
        OK(cuMemAddressFree(t->own[i], t->unit));
    }
    OK(cuMemUnmap(t->at, t->unit));
    OK(cuMemAddressFree(t->at, t->unit));
}

/* Each device of the team reduces in turn. When a device has reduced, all devices have the sum of the elements plus the
 * number of this device. */
static void reduce_in_turn(int count, const CUfunction *all_reduce)
{
    enum { ELEMENTS = 37 };
    team t;
    unsigned want[ELEMENTS], got[ELEMENTS], n = ELEMENTS;
    open_team(&t, count);
    for (unsigned k = 0; k < ELEMENTS; k++) {
        want[k] = 0;
        for (int i = 0; i < count; i++) {
            const unsigned value = 1000 * k + 77 * (unsigned)i + 1;
            OK(cuMemcpyHtoD(t.own[i] + 4 * k, &value, 4));
            want[k] += value;
        }
    }
    for (int i = 0; i < count; i++) {
        unsigned more = (unsigned)i + 5;
        void *arguments[] = {&t.at, &n, &more};
        OK(cuCtxSetCurrent(context[i]));
        OK(cuLaunchKernel(all_reduce[i], 1, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL));
        OK(cuCtxSynchronize());
        for (unsigned k = 0; k < ELEMENTS; k++)
            want[k] = (i ? (unsigned)count : 1) * want[k] + more;
        for (int other = 0; other < count; other++) {
            OK(cuMemcpyDtoH(got, t.own[other], sizeof got));
            CHECK(memcmp(got, want, sizeof want) == 0);
        }
        CHECK(read_back(t.own[i] + sizeof got) == 0);
    }
    close_team(&t);
}

static void *join_late(void *object)
{
    OK(cuMulticastAddDevice(*(CUmemGenericAllocationHandle *)object, device[0]));
    return NULL;
}

/* A call that maps a multicast object waits until another thread has added the last device. If no thread added it, a
 * GPU would wait for ever. */
static void wait_for_team(size_t unit)
{
    const CUmulticastObjectProp prop = {.numDevices = 2, .size = unit};
    CUmemGenericAllocationHandle object;
    CUdeviceptr at;
    pthread_t other;
    OK(cuMulticastCreate(&object, &prop));
    OK(cuMulticastAddDevice(object, device[1]));
    OK(cuMemAddressReserve(&at, unit, 0, 0, 0));
    IS(cuMemMap(at, unit, 0, object, 0), CUDA_ERROR_ILLEGAL_STATE);
    CHECK(pthread_create(&other, NULL, join_late, &object) == 0);
    OK(cuMemMap(at, unit, 0, object, 0));
    CHECK(pthread_join(other, NULL) == 0);
    OK(cuMemUnmap(at, unit));
    OK(cuMemAddressFree(at, unit));
    OK(cuMemRelease(object));
}

/* What the functions refuse. */
static void refuse_multicast(void)
{
    team t;
    CUmemGenericAllocationHandle object, kept;
    CUdeviceptr plain, pooled;
    unsigned value = 0;
    open_team(&t, 2);
    const size_t unit = t.unit;
    CUmulticastObjectProp prop = {.numDevices = DEVICES + 1, .size = unit};
    IS(cuMulticastCreate(&object, &prop), CUDA_ERROR_INVALID_VALUE);
    prop.numDevices = 2, prop.size = unit + 4096;
    IS(cuMulticastCreate(&object, &prop), CUDA_ERROR_INVALID_VALUE);
    prop.size = unit, prop.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    IS(cuMulticastCreate(&object, &prop), CUDA_ERROR_NOT_SUPPORTED);
    IS(cuMulticastAddDevice(t.object, device[0]), CUDA_ERROR_INVALID_VALUE);
    IS(cuMulticastAddDevice(t.object, device[2]), CUDA_ERROR_INVALID_VALUE);
    IS(cuMulticastAddDevice(t.memory[0], device[0]), CUDA_ERROR_INVALID_VALUE);
    IS(cuMulticastBindMem(t.object, unit, t.memory[0], 0, unit, 0), CUDA_ERROR_INVALID_VALUE); /* bound already */
    IS(cuMulticastBindMem(t.object, 0, t.memory[0], unit, unit, 0), CUDA_ERROR_INVALID_VALUE);
    IS(cuMulticastBindMem(t.object, 2 * unit, t.memory[0], 0, unit, 0), CUDA_ERROR_INVALID_VALUE);
    IS(cuMulticastBindMem(t.object, 4096, t.memory[0], 0, unit, 0), CUDA_ERROR_INVALID_VALUE);
    IS(cuMulticastUnbind(t.object, device[0], 0, unit), CUDA_ERROR_INVALID_VALUE);
    IS(cuMulticastUnbind(t.object, device[2], unit, unit), CUDA_ERROR_INVALID_VALUE);
    const CUmemAllocationProp how = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                     .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device[2]}};
    OK(cuMemCreate(&kept, unit, &how, 0));
    /* the memory belongs to a device that is not in the team */
    IS(cuMulticastBindMem(t.object, 0, kept, 0, unit, 0), CUDA_ERROR_INVALID_DEVICE);
    OK(cuMemRelease(kept));
    OK(cuCtxSetCurrent(context[0]));
    OK(cuMemAlloc(&plain, unit));
    IS(cuMulticastBindAddr(t.object, 0, plain, unit, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(plain));
    OK(cuMemAllocAsync(&pooled, unit, NULL));
    OK(cuMemsetD32(pooled, 41, 1));
    OK(cuMulticastBindAddr(t.object, 0, pooled, unit, 0));
    CHECK(read_back(pooled) == 41); /* its memory is now in a file */
    OK(cuMulticastUnbind(t.object, device[0], 0, unit));
    OK(cuMemFreeAsync(pooled, NULL));
    IS(cuMemcpyDtoH(&value, t.at, 4), CUDA_ERROR_INVALID_VALUE); /* no ordinary access */
    OK(cuMemRetainAllocationHandle(&kept, (void *)(uintptr_t)(t.at + 64)));
    CHECK(kept == t.object);
    OK(cuMemRelease(kept));
    close_team(&t);
    wait_for_team(unit);
}

/* Multicast objects, with teams of one, two and three devices. */
static void multicast(void)
{
    CUfunction all_reduce[DEVICES];
    for (int i = 0; i < DEVICES; i++) {
        CUmodule module;
        int can = 0;
        OK(cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, device[i]));
        CHECK(can == 1);
        OK(cuCtxSetCurrent(context[i]));
        OK(cuModuleLoadData(&module, reductions));
        OK(cuModuleGetFunction(&all_reduce[i], module, "all_reduce"));
    }
    for (int count = 1; count <= DEVICES; count++)
        reduce_in_turn(count, all_reduce);
    refuse_multicast();
    OK(cuCtxSetCurrent(context[0]));
}

/* A capture with streams of two devices: each kernel runs on the device of its stream. */
static void captured(void)
{
    CUstream stream[2];
    CUevent mark[2];
    CUdeviceptr cell[2];
    CUgraph graph;
    CUgraphExec exec;
    for (int i = 0; i < 2; i++) {
        OK(cuCtxSetCurrent(context[i]));
        OK(cuStreamCreate(&stream[i], CU_STREAM_NON_BLOCKING));
        OK(cuEventCreate(&mark[i], CU_EVENT_DISABLE_TIMING));
        OK(cuMemAlloc(&cell[i], 8));
        OK(cuMemsetD32(cell[i], 10 * (unsigned)(i + 1), 2));
    }
    OK(cuStreamBeginCapture(stream[1], CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(start(1, next[1], cell[1], cell[1], stream[1]));
    OK(cuEventRecord(mark[1], stream[1]));
    OK(cuStreamWaitEvent(stream[0], mark[1], 0));
    OK(cuMemcpyPeerAsync(cell[0], context[0], cell[1], context[1], 4, stream[0]));
    OK(start(0, next[0], cell[0] + 4, cell[0], stream[0]));
    OK(cuEventRecord(mark[0], stream[0]));
    OK(cuCtxSetCurrent(context[1]));
    OK(cuStreamWaitEvent(stream[1], mark[0], 0));
    OK(cuStreamEndCapture(stream[1], &graph));
    CHECK(read_back(cell[0]) == 10);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, stream[1]));
    OK(cuStreamSynchronize(stream[1]));
    CHECK(read_back(cell[1]) == 21);
    CHECK(read_back(cell[0]) == 21);
    CHECK(read_back(cell[0] + 4) == 22);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    for (int i = 0; i < 2; i++) {
        OK(cuStreamDestroy(stream[i]));
        OK(cuEventDestroy(mark[i]));
        OK(cuMemFree(cell[i]));
    }
    OK(cuCtxSetCurrent(context[0]));
}

/* Without access the address is illegal. The error ends only this context. */
static void fault(void)
{
    CUdeviceptr other, own;
    CUdevice of;
    OK(cuCtxSetCurrent(context[1]));
    OK(cuMemAlloc(&other, 4));
    OK(cuMemsetD32(other, 1, 1));
    OK(cuCtxSetCurrent(context[0]));
    OK(cuMemAlloc(&own, 4));
    IS(run(0, next[0], own, other, NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
    IS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(run(1, next[1], other, other, NULL));
    CHECK(read_back(other) == 2);
    OK(cuCtxSetCurrent(context[0]));
    OK(cuCtxGetDevice(&of));
    OK(cuDevicePrimaryCtxReset(device[0]));
    OK(cuDevicePrimaryCtxRetain(&context[0], device[0])); /* usable again */
    OK(cuCtxSetCurrent(context[0]));
    OK(cuCtxSynchronize());
    for (int i = 0; i < DEVICES; i++)
        OK(cuDevicePrimaryCtxRelease(device[i]));
}

static int list(void)
{
    int count = 0;
    const char *name = "?";
    CUresult result = cuInit(0);
    if (result != CUDA_SUCCESS) {
        cuGetErrorName(result, &name);
        printf("%s\n", name);
        return 0;
    }
    cuDeviceGetCount(&count);
    for (int i = 0; i < count; i++) {
        char id[32];
        cuDeviceGet(&device[0], i);
        cuDeviceGetPCIBusId(id, (int)sizeof id, device[0]);
        printf("%s%s", i ? " " : "", id);
    }
    printf("\n");
    return 0;
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return list();
    OK(cuInit(0));
    queries();
    addresses();
    peers();
    shared();
    streams();
    pools();
    mapped();
    multicast();
    captured();
    fault();
    return wrong > 0;
}
