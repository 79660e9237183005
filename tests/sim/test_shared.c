/* Tests host memory that kernels access, managed memory, virtual memory, pools, and variables of the environment. */
#include <sys/mman.h>
#include <unistd.h>

#include "cu_check.h"
#include "cu_objects.h"

static const char text[] = HEAD
    ".visible .global .attribute(.managed) .align 8 .u64 place = 7;\n"
    ".visible .global .align 8 .u64 plain;\n"
    ".visible .entry add(.param .u64 p, .param .u32 v)\n"
    "{ .reg .b64 %a; .reg .b32 %x, %y; ld.param.u64 %a, [p]; ld.param.u32 %y, [v]; cvta.to.global.u64 %a, %a;\n"
    " ld.global.u32 %x, [%a]; add.u32 %x, %x, %y; st.global.u32 [%a], %x; ret; }\n"
    ".visible .entry generic(.param .u64 p, .param .u32 v)\n" /* adds 100 if isspacep.global is false */
    "{ .reg .b64 %a; .reg .b32 %x, %y; .reg .pred %p; ld.param.u64 %a, [p]; ld.param.u32 %y, [v];\n"
    " isspacep.global %p, %a; @!%p add.u32 %y, %y, 100;\n"
    " atom.add.u32 %x, [%a], %y; ret; }\n"
    ".visible .entry look(.param .u64 p, .param .u64 to)\n"
    "{ .reg .b64 %a, %b; .reg .b32 %x; ld.param.u64 %a, [p]; ld.param.u64 %b, [to]; ld.u32 %x, [%a]; st.u32 [%b], %x;\n"
    " ret; }\n"
    ".visible .entry rows(.param .u64 p)\n" /* p[i] = i, for the threads of one warp */
    "{ .reg .b64 %a, %o; .reg .b32 %i; ld.param.u64 %a, [p]; mov.u32 %i, %tid.x; mul.wide.u32 %o, %i, 4;\n"
    " add.u64 %a, %a, %o; st.global.u32 [%a], %i; ret; }\n";

static CUmodule module;

static void begin(void)
{
    open_device();
    module = load(text);
}

static CUresult run(const char *name, uint64_t pointer, unsigned operand)
{
    void *arguments[] = {&pointer, &operand};
    return launch(kernel(module, name), 1, 1, 0, arguments);
}

static void test_pinned(void)
{
    begin();
    void *pinned = NULL;
    size_t before = 0, after = 0, total = 0;
    static unsigned own[4096];
    unsigned on_stack = 5;
    OK(call_cuMemGetInfo(&before, &total));
    OK(call_cuMemHostAlloc(&pinned, 1 << 20, 0));
    OK(call_cuMemGetInfo(&after, &total));
    CHECK(before == after); /* the host's memory */
    unsigned *numbers = pinned;
    CHECK(numbers[0] == 0 && numbers[(1 << 18) - 1] == 0);
    OK(run("add", (uintptr_t)&numbers[3], 7));
    OK(run("generic", (uintptr_t)&numbers[3], 30));
    CHECK(numbers[3] == 37);
    OK(call_cuMemHostRegister(own, sizeof own, 0));            /* the program's variables */
    OK(call_cuMemHostRegister(&on_stack, sizeof on_stack, 0)); /* its stack, */
    unsigned *heap = malloc(64);
    heap[2] = 1;
    OK(call_cuMemHostRegister(heap, 64, CU_MEMHOSTREGISTER_DEVICEMAP)); /* the program's heap */
    OK(run("generic", (uintptr_t)&own[4095], 2));
    OK(run("generic", (uintptr_t)&on_stack, 3));
    OK(run("generic", (uintptr_t)&heap[2], 4));
    OK(call_cuCtxSynchronize());
    CHECK(own[4095] == 2 && on_stack == 8 && heap[2] == 5);
    OK(call_cuMemcpyDtoD((uintptr_t)numbers, (uintptr_t)&own[4095], 4));
    CHECK(numbers[0] == 2);
    OK(call_cuMemHostUnregister(heap));
    OK(run("add", (uintptr_t)&heap[2], 4));
    FAILS(ILLEGAL_ADDRESS, call_cuCtxSynchronize()); /* the device cannot reach the memory any more */
    free(heap);
    close_device();

    begin(); /* memory that the program may not write stays unchanged */
    char *page = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED && munmap(page + 4096, 4096) == 0);
    FAILS(INVALID_VALUE, call_cuMemHostRegister(page, 4096, 0));
    FAILS(INVALID_VALUE, call_cuMemHostRegister(page, 8192, CU_MEMHOSTREGISTER_READ_ONLY));
    OK(call_cuMemHostRegister(page, 4096, CU_MEMHOSTREGISTER_READ_ONLY));
    CUdeviceptr cell = 0, from = (uintptr_t)page;
    unsigned got = 1;
    void *arguments[] = {&from, &cell};
    OK(call_cuMemAlloc(&cell, 4));
    OK(launch(kernel(module, "look"), 1, 1, 0, arguments));
    OK(call_cuMemcpyDtoH(&got, cell, 4));
    CHECK(got == 0);
    /* Calls of the host must not write the memory either. */
    FAILS(INVALID_VALUE, call_cuMemsetD8(from, 1, 4));
    FAILS(INVALID_VALUE, call_cuMemcpyDtoD(from, cell, 4));
    FAILS(INVALID_VALUE, call_cuMemcpyHtoD(from, &got, 4));
    FAILS(INVALID_VALUE, call_cuStreamWriteValue32(NULL, from, 1, 0));
    OK(call_cuStreamWaitValue32(NULL, from, 0, CU_STREAM_WAIT_VALUE_EQ));
    OK(run("add", (uintptr_t)page, 1));
    FAILS(ILLEGAL_ADDRESS, call_cuCtxSynchronize());
    close_device();
    munmap(page, 4096);
}

static void test_managed(void)
{
    begin();
    CUdeviceptr managed = 0, variable = 0, plain = 0;
    CUlibrary library = NULL;
    size_t bytes = 0, before = 0, after = 0, total = 0;
    OK(call_cuMemGetInfo(&before, &total));
    OK(call_cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
    OK(call_cuMemGetInfo(&after, &total));
    CHECK(after == before - 4096);
    FAILS(OUT_OF_MEMORY, call_cuMemAllocManaged(&plain, total + 1, CU_MEM_ATTACH_GLOBAL));
    /* the address is the same number on the host and on the device */
    unsigned *numbers = (unsigned *)(uintptr_t)managed;
    numbers[5] = 2;
    OK(run("add", managed + 20, 3));
    OK(call_cuMemsetD32(managed, 9, 2));
    CHECK(numbers[5] == 5 && numbers[1] == 9);
    CUmemLocation host = {.type = CU_MEM_LOCATION_TYPE_HOST}, nowhere = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 44};
    OK(call_cuMemPrefetchAsync(managed, 4096, host, 0, NULL));
    FAILS(INVALID_DEVICE, call_cuMemPrefetchAsync(managed, 4096, nowhere, 0, NULL));
    FAILS(INVALID_VALUE, call_cuMemPrefetchAsync(managed, 4097, host, 0, NULL));
    OK(sim_cuMemPrefetchAsync_v1(managed, 16, CU_DEVICE_CPU, NULL));
    OK(call_cuMemAdvise(managed, 64, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host));
    OK(sim_cuMemAdvise_v1(managed, 64, CU_MEM_ADVISE_SET_ACCESSED_BY, device));
    FAILS(INVALID_VALUE, call_cuStreamAttachMemAsync(NULL, managed, 0, CU_MEM_ATTACH_SINGLE));
    OK(call_cuStreamAttachMemAsync(NULL, managed, 4096, CU_MEM_ATTACH_HOST));
    FAILS(INVALID_VALUE, call_cuMemFree(managed + 4));
    OK(call_cuMemFree(managed));
    FAILS(INVALID_VALUE, call_cuMemFree(managed));
    OK(call_cuMemGetInfo(&after, &total));
    CHECK(after == before);

    OK(call_cuModuleGetGlobal(&variable, &bytes, module, "place"));
    CHECK(bytes == 8 && *(uint64_t *)(uintptr_t)variable == 7);
    *(uint64_t *)(uintptr_t)variable = 11;
    OK(run("add", variable, 1));
    CHECK(*(uint64_t *)(uintptr_t)variable == 12);
    OK(call_cuMemAdvise(variable, 8, CU_MEM_ADVISE_SET_READ_MOSTLY, host));
    FAILS(INVALID_VALUE, call_cuMemFree(variable));
    OK(call_cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    OK(call_cuLibraryGetManaged(&variable, &bytes, library, "place"));
    CHECK(bytes == 8 && *(uint64_t *)(uintptr_t)variable == 7);
    FAILS(NOT_FOUND, call_cuLibraryGetManaged(&plain, &bytes, library, "plain"));
    CUmodule none = NULL;
    FAILS(INVALID_PTX, call_cuModuleLoadData(&none, HEAD ".visible .const .attribute(.managed) .u32 x;\n"));
    close_device();
}

enum { UNIT = 2 << 20 };

static void test_virtual(void)
{
    begin();
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}},
                        got_prop;
    CUmemAccessDesc access = {.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle a = 0, b = 0, huge = 0;
    CUdeviceptr range = 0;
    size_t before = 0, after = 0, total = 0;
    unsigned char bytes[32];
    OK(call_cuMemGetInfo(&before, &total));
    OK(call_cuMemAddressReserve(&range, 8 * (size_t)UNIT, 0, 0, 0));
    FAILS(OUT_OF_MEMORY, call_cuMemAddressReserve(&range, (size_t)1 << 60, 0, 0, 0));
    OK(call_cuMemCreate(&a, UNIT, &prop, 0));
    int compressible = 0;
    OK(call_cuDeviceGetAttribute(&compressible, CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, device));
    prop.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_GENERIC;
    OK(call_cuMemCreate(&b, UNIT, &prop, 0));
    OK(call_cuMemGetAllocationPropertiesFromHandle(&got_prop, b));
    CHECK(compressible && got_prop.allocFlags.compressionType == CU_MEM_ALLOCATION_COMP_GENERIC);
    prop.allocFlags.compressionType = 2;
    FAILS(INVALID_VALUE, call_cuMemCreate(&huge, UNIT, &prop, 0));
    prop.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_NONE;
    FAILS(OUT_OF_MEMORY, call_cuMemCreate(&huge, (size_t)1 << 50, &prop, 0));
    OK(call_cuMemGetInfo(&after, &total));
    CHECK(after == before - 2 * UNIT);
    OK(call_cuMemGetAllocationPropertiesFromHandle(&got_prop, a));
    CHECK(got_prop.location.id == device && got_prop.allocFlags.compressionType == CU_MEM_ALLOCATION_COMP_NONE);
    OK(call_cuMemMap(range, UNIT, 0, a, 0));
    OK(call_cuMemMap(range + UNIT, UNIT, 0, b, 0));
    OK(call_cuMemMap(range + 4 * UNIT, UNIT, 0, a, 0)); /* maps the memory a second time */
    OK(call_cuMemSetAccess(range, 2 * UNIT, &access, 1));
    FAILS(INVALID_VALUE, call_cuMemSetAccess(range, 3 * UNIT, &access, 1));
    FAILS(INVALID_VALUE, call_cuMemsetD8(range + 4 * UNIT, 1, 16)); /* the range is mapped, but has no access */
    OK(call_cuMemSetAccess(range + 4 * UNIT, UNIT, &access, 1));
    CUdeviceptr seam = range + UNIT - 64; /* the words of a warp lie in both parts */
    void *arguments[] = {&seam};
    OK(launch(kernel(module, "rows"), 1, 32, 0, arguments));
    OK(call_cuMemcpyDtoH(bytes, seam + 48, 32));
    for (unsigned i = 0; i < 8; i++)
        CHECK(bytes[4 * i] == 12 + i);
    unsigned seen = 0;
    OK(call_cuMemcpyDtoH(&seen, range + 5 * UNIT - 4, 4)); /* the same memory at another address */
    CHECK(seen == 15);
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    OK(call_cuMemSetAccess(range + UNIT, UNIT, &access, 1));
    OK(call_cuMemRelease(a));
    OK(call_cuMemRelease(b));
    FAILS(INVALID_VALUE, call_cuMemGetAllocationPropertiesFromHandle(&got_prop, a));
    OK(call_cuMemGetInfo(&after, &total));
    CHECK(after == before - 2 * UNIT); /* the maps keep the memory allocated */
    OK(run("add", range + UNIT, 1));
    FAILS(ILLEGAL_ADDRESS, call_cuCtxSynchronize()); /* the memory may only be read */
    close_device();

    begin();
    OK(call_cuMemAddressReserve(&range, 8 * (size_t)UNIT, 0, 0, 0));
    OK(call_cuMemCreate(&a, UNIT, &prop, 0));
    OK(call_cuMemMap(range, UNIT, 0, a, 0));
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    OK(call_cuMemSetAccess(range, UNIT, &access, 1));
    FAILS(INVALID_VALUE, call_cuMemFree(range));
    OK(call_cuMemUnmap(range, UNIT));
    OK(call_cuMemRelease(a));
    OK(call_cuMemGetInfo(&after, &total));
    CHECK(after == before);
    OK(call_cuMemAddressFree(range, 8 * (size_t)UNIT));
    FAILS(INVALID_VALUE, call_cuMemAddressFree(range, 8 * (size_t)UNIT));
    OK(run("add", range, 1));
    FAILS(ILLEGAL_ADDRESS, call_cuCtxSynchronize());
    close_device();
}

static void test_pools(void)
{
    begin();
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .maxSize = 1000,
                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
    CUmemoryPool pool = NULL, got = NULL;
    CUdeviceptr a = 0, b = 0;
    cuuint64_t used = 1;
    CUmemAccess_flags access;
    OK(call_cuMemPoolCreate(&pool, &props));
    OK(call_cuMemAllocFromPoolAsync(&a, 600, pool, NULL));
    FAILS(OUT_OF_MEMORY, call_cuMemAllocFromPoolAsync(&b, 401, pool, NULL));
    OK(call_cuDeviceSetMemPool(device, pool));
    OK(call_cuMemAllocAsync(&b, 400, NULL));
    OK(call_cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    CHECK(used == 1000);
    CUcontext current = NULL; /* pools belong to the device, so they need no current context */
    OK(call_cuCtxGetCurrent(&current));
    OK(call_cuCtxSetCurrent(NULL));
    OK(call_cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    CHECK(used == 1000);
    OK(call_cuDeviceGetMemPool(&got, device));
    OK(call_cuMemPoolTrimTo(got, 0));
    OK(call_cuCtxSetCurrent(current));
    OK(call_cuPointerGetAttribute(&got, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, b + 3));
    CHECK(got == pool);
    OK(call_cuMemPoolGetAccess(&access, pool, &props.location));
    CHECK(access == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(call_cuMemFree(a)); /* either call frees the memory */
    OK(call_cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    CHECK(used == 400);
    OK(call_cuMemPoolDestroy(pool));
    FAILS(INVALID_VALUE, call_cuMemPoolDestroy(pool));
    FAILS(INVALID_VALUE, call_cuMemAllocFromPoolAsync(&a, 4, pool, NULL));
    OK(call_cuMemFreeAsync(b, NULL));
    OK(call_cuDeviceGetMemPool(&got, device));
    OK(call_cuDeviceGetDefaultMemPool(&pool, device));
    CHECK(got == pool);
    props.handleTypes = CU_MEM_HANDLE_TYPE_WIN32;
    FAILS(NOT_SUPPORTED, call_cuMemPoolCreate(&pool, &props));
    props.handleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
    FAILS(NOT_SUPPORTED, call_cuMemPoolCreate(&pool, &props));
    props.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
    props.reserved[53] = 1;
    FAILS(INVALID_VALUE, call_cuMemPoolCreate(&pool, &props));
    props.reserved[53] = 0;
    props.win32SecurityAttributes = &props;
    FAILS(INVALID_VALUE, call_cuMemPoolCreate(&pool, &props));
    props.win32SecurityAttributes = NULL;
    props.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
    FAILS(INVALID_VALUE, call_cuMemPoolCreate(&pool, &props));
    props.location.type = CU_MEM_LOCATION_TYPE_HOST;
    FAILS(NOT_SUPPORTED, call_cuMemPoolCreate(&pool, &props));
    props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    FAILS(INVALID_VALUE, call_cuMemPoolCreate(&pool, &props));
    close_device();
}

/* Exports a pool and imports it in the same process, so the same memory has two addresses. ipc_program.c tests pools of
 * other processes. */
static void test_shared_pools(void)
{
    begin();
    const CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .handleTypes = type,
                                  .maxSize = 1 << 20,
                                  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
    CUmemoryPool pool = NULL, other = NULL;
    CUmemPoolPtrExportData data;
    CUdeviceptr a = 0, b = 0, c = 0;
    CUstream stream = NULL;
    CUgraph graph = NULL;
    size_t before = 0, after = 0, total = 0;
    unsigned value = 0;
    int file = -1, types = 0;
    OK(call_cuDeviceGetAttribute(&types, CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, device));
    CHECK(types == (int)type);
    OK(call_cuMemGetInfo(&before, &total));
    OK(call_cuMemPoolCreate(&pool, &props));
    FAILS(OUT_OF_MEMORY, call_cuMemAllocFromPoolAsync(&a, (1 << 20) + 1, pool, NULL));
    OK(call_cuMemAllocFromPoolAsync(&a, 4096, pool, NULL));
    OK(call_cuMemGetInfo(&after, &total));
    CHECK(before - after == 4096); /* imported memory does not count a second time as used memory */
    OK(call_cuMemPoolExportToShareableHandle(&file, pool, type, 0));
    OK(call_cuMemPoolImportFromShareableHandle(&other, (void *)(intptr_t)file, type, 0));
    CHECK(close(file) == 0);
    OK(call_cuMemPoolExportPointer(&data, a));
    OK(call_cuMemPoolImportPointer(&b, other, &data));
    OK(call_cuMemPoolImportPointer(&c, other, &data));
    CHECK(a != b && b != c);
    OK(call_cuMemGetInfo(&after, &total));
    CHECK(before - after == 4096);
    OK(call_cuMemsetD32(a, 41, 1024));
    OK(run("add", b, 1));
    OK(call_cuMemcpyDtoH(&value, a, 4));
    CHECK(value == 42);
    OK(call_cuMemFree(b));
    OK(call_cuMemcpyDtoH(&value, c, 4)); /* the other allocation still exists */
    CHECK(value == 42);
    OK(call_cuMemFreeAsync(c, NULL));
    OK(call_cuMemFreeAsync(a, NULL));
    OK(call_cuMemGetInfo(&after, &total));
    CHECK(before == after);
    FAILS(INVALID_VALUE, call_cuMemPoolImportPointer(&b, other, &data));
    /* new memory must not get the address of the freed memory */
    OK(call_cuMemAllocFromPoolAsync(&a, 4096, pool, NULL));
    FAILS(INVALID_VALUE, call_cuMemPoolImportPointer(&b, other, &data));
    OK(call_cuMemcpyDtoH(&value, a, 4));
    CHECK(value == 0);
    OK(call_cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(call_cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    FAILS(NOT_SUPPORTED, call_cuMemAllocFromPoolAsync(&b, 4, pool, stream)); /* memory of nodes has no handles */
    OK(call_cuStreamEndCapture(stream, &graph));
    OK(call_cuGraphDestroy(graph));
    close_device(); /* closes the device with a pool, an imported pool and memory */
}

static void test_environment(void)
{
    static const char *const names[] = {"KILN_SIM_MEMORY", "KILN_SIM_THREADS", "KILN_SIM_STEPS", "KILN_SIM_JIT",
                                        "KILN_SIM_ISA"};
    static const char *const wrong[] = {"abc", "12k", "-1", "99999999999999999999999"};
    OK(call_cuInit(0));
    OK(call_cuDeviceGet(&device, 0));
    for (size_t i = 0; i < KILN__COUNT(names); i++)
        for (size_t k = 0; k < 4; k++) {
            setenv(names[i], wrong[k], 1);
            FAILS(INVALID_VALUE, call_cuDevicePrimaryCtxRetain(&primary, device));
            unsetenv(names[i]);
        }
    open_device();
    close_device();
}

/* The simulator compiles hot code, unless the environment switches this off. */
static void test_compiles(void)
{
    static const struct {
        const char *text;
        uint32_t threshold;
    } wanted[] = {{NULL, 65536}, {"", 65536}, {"0", 0}, {"1", 1}, {"4096", 4096}, {"99999999999", UINT32_MAX}};
    const char *set = getenv("KILN_SIM_JIT");
    char *before = set ? strdup(set) : NULL;
    for (size_t k = 0; k < KILN__COUNT(wanted); k++) {
        uint32_t threshold = 7;
        unsetenv("KILN_SIM_JIT");
        if (wanted[k].text)
            setenv("KILN_SIM_JIT", wanted[k].text, 1);
        CU_ASSERT(sim_jit_asked(&threshold));
        CU_ASSERT_EQUAL(threshold, wanted[k].threshold);
    }
    unsetenv("KILN_SIM_JIT");
    if (before)
        setenv("KILN_SIM_JIT", before, 1);
    free(before);
}

/* Physical memory and ranges outlive the context in which they were made. Only an access needs a context. */
static void test_no_context(void)
{
    begin();
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
    const CUmemAccessDesc access = {.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle made, before;
    CUdeviceptr range = 0, other = 0;
    unsigned value = 7;
    OK(call_cuMemAddressReserve(&range, UNIT, 0, 0, 0));
    OK(call_cuMemCreate(&before, UNIT, &prop, 0));
    OK(call_cuMemMap(range, UNIT, 0, before, 0));
    OK(call_cuMemSetAccess(range, UNIT, &access, 1));
    OK(call_cuMemcpyHtoD(range + 4, &value, 4));
    close_device();
    /* reserved addresses belong to a device, so no context is needed */
    FAILS(INVALID_CONTEXT, call_cuMemAddressReserve(&other, UNIT, 0, 0, 0));
    OK(call_cuMemCreate(&made, UNIT, &prop, 0));
    OK(call_cuMemGetAllocationPropertiesFromHandle(&prop, made));
    OK(call_cuMemRelease(made));
    FAILS(INVALID_VALUE, call_cuMemRelease(made));

    begin();
    for (int k = 0; k < 2; k++) {
        /* without the range, the first allocation of a context would begin at its address */
        OK(call_cuMemAlloc(&other, UNIT));
        CHECK(other + UNIT <= range || other >= range + UNIT);
        OK(call_cuMemFree(other));
    }
    OK(call_cuMemAddressReserve(&other, UNIT, 0, 0, 0));
    CHECK(other != range);                                         /* the range is still reserved */
    FAILS(INVALID_VALUE, call_cuMemcpyDtoH(&value, range + 4, 4)); /* the new context has no access */
    OK(call_cuMemSetAccess(range, UNIT, &access, 1));
    value = 0;
    OK(call_cuMemcpyDtoH(&value, range + 4, 4));
    CHECK(value == 7);
    close_device();

    OK(call_cuMemUnmap(range, UNIT));
    OK(call_cuMemRelease(before));
    OK(call_cuMemAddressFree(range, UNIT));
    FAILS(INVALID_VALUE, call_cuMemAddressFree(range, UNIT));
    OK(call_cuMemAddressFree(other, UNIT));
}

static const check_case cases[] = {{"no context", test_no_context},
                                   {"pinned and registered", test_pinned},
                                   {"managed", test_managed},
                                   {"virtual memory", test_virtual},
                                   {"pools", test_pools},
                                   {"shared pools", test_shared_pools},
                                   {"environment", test_environment},
                                   {"hot code is compiled", test_compiles}};
CU_SUITE("sim shared", cases)
