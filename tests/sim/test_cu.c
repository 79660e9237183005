/* Tests the simulated driver through its table, like a program of the driver API: initialisation, devices, contexts,
 * threads, and failed allocations. Each other suite test_cu_*.c tests one subject. */
#include "cu_check.h"

/* ---- calls before and after cuInit: this must be the first test of the process ---- */

static void test_uninitialised(void)
{
    int count;
    CUcontext context;
    FAILS(NOT_INITIALIZED, call_cuDeviceGetCount(&count));
    FAILS(NOT_INITIALIZED, call_cuCtxGetCurrent(&context));
    FAILS(NOT_INITIALIZED, call_cuCtxSynchronize());
    FAILS(INVALID_VALUE, call_cuInit(1));
    int version = 0;
    OK(call_cuDriverGetVersion(&version));
    CHECK(version == CUDA_VERSION);
    FAILS(INVALID_VALUE, call_cuDriverGetVersion(NULL));
    OK(call_cuInit(0));
    OK(call_cuInit(0));
    FAILS(INVALID_CONTEXT, call_cuCtxSynchronize());
}

static void test_names(void)
{
    const char *text = NULL;
    OK(call_cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
    CHECK_TEXT(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
    OK(call_cuGetErrorString(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
    CHECK_TEXT(text, "an illegal memory access was encountered");
    FAILS(INVALID_VALUE, call_cuGetErrorName((CUresult)4711, &text));
    CHECK(text == NULL);
    CHECK(kiln__sim_symbol("cuMemAlloc_v3") == NULL);
}

static void test_devices(void)
{
    int count = 0, value = 0;
    char name[64];
    size_t bytes = 0;
    CUuuid uuid;
    OK(call_cuDeviceGetCount(&count));
    CHECK(count == 1);
    FAILS(INVALID_DEVICE, call_cuDeviceGet(&device, 1));
    OK(call_cuDeviceGet(&device, 0));
    OK(call_cuDeviceGetName(name, (int)sizeof name, device));
    CHECK_TEXT(name, "Kiln simulated device (generic)");
    OK(call_cuDeviceGetName(name, 5, device));
    CHECK_TEXT(name, "Kiln");
    FAILS(INVALID_VALUE, call_cuDeviceGetName(name, 0, device));
    OK(call_cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device));
    CHECK(value == 32);
    FAILS(INVALID_VALUE, call_cuDeviceGetAttribute(&value, (CUdevice_attribute)9999, device));
    FAILS(INVALID_VALUE, call_cuDeviceGetAttribute(NULL, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device));
    FAILS(INVALID_DEVICE, call_cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 77));
    OK(call_cuDeviceTotalMem(&bytes, device));
    CHECK(bytes > 0 && bytes <= kiln__host_memory() / 2);
    OK(call_cuDeviceGetUuid(&uuid, device));
}

static void test_profiles(void)
{
    CHECK(!kiln__sim_profile("tiny"));
    CHECK(kiln__sim_profile("ampere"));
    CHECK_TEXT(kiln__sim_profile_name(), "ampere");
    int major = 0;
    OK(call_cuDeviceGet(&device, 0));
    OK(call_cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    CHECK(major == 8);
    open_device();
    CHECK(!kiln__sim_profile("generic")); /* in use */
    CHECK(kiln__sim_profile("ampere"));
    CHECK_TEXT(kiln__sim_profile_name(), "ampere");
    close_device();
    CHECK(kiln__sim_profile(NULL));
    CHECK_TEXT(kiln__sim_profile_name(), "generic");
    /* the primary context still has the other profile */
    FAILS(INVALID_DEVICE, call_cuDevicePrimaryCtxRetain(&primary, device));
}

static void test_contexts(void)
{
    CUcontext got = NULL, other = NULL;
    CUdevice owner = -1;
    OK(call_cuDeviceGet(&device, 0));
    FAILS(INVALID_CONTEXT, call_cuDevicePrimaryCtxRelease(device));
    OK(call_cuDevicePrimaryCtxRetain(&primary, device));
    OK(call_cuDevicePrimaryCtxRetain(&other, device));
    CHECK(primary == other);
    OK(call_cuCtxGetCurrent(&got));
    CHECK(got == NULL);
    FAILS(INVALID_CONTEXT, call_cuCtxPopCurrent(&got));
    FAILS(INVALID_VALUE, call_cuCtxPushCurrent(NULL));
    FAILS(INVALID_CONTEXT, call_cuCtxPushCurrent((CUcontext)(uintptr_t)0x1234));
    FAILS(INVALID_CONTEXT, call_cuCtxSetCurrent((CUcontext)(uintptr_t)0x1234));
    FAILS(INVALID_CONTEXT, call_cuCtxGetDevice(&owner));
    OK(call_cuCtxPushCurrent(primary));
    OK(call_cuCtxPushCurrent(primary));
    OK(call_cuCtxGetDevice(&owner));
    CHECK(owner == device);
    OK(call_cuCtxPopCurrent(&got));
    CHECK(got == primary);
    OK(call_cuCtxSynchronize());
    OK(call_cuDevicePrimaryCtxRelease(device));
    OK(call_cuCtxSynchronize()); /* the primary context was retained once more */
    OK(call_cuDevicePrimaryCtxRelease(device));
    FAILS(CONTEXT_IS_DESTROYED, call_cuCtxSynchronize());
    OK(call_cuCtxSetCurrent(NULL));
    OK(call_cuCtxGetCurrent(&got));
    CHECK(got == NULL);
    for (int i = 0; i < 64; i++)
        OK(call_cuCtxPushCurrent(primary));
    FAILS(OUT_OF_MEMORY, call_cuCtxPushCurrent(primary));
    for (int i = 0; i < 64; i++)
        OK(call_cuCtxPopCurrent(NULL));
    CHECK(kiln__sim_has_context(primary) && !kiln__sim_has_context(&got));
}

static void test_made_contexts(void)
{
    open_device();
    CUcontext made = NULL, second = NULL, got = NULL;
    CUdeviceptr here = 0, there = 0;
    CUstream stream = NULL;
    unsigned flags = 0, version = 0;
    unsigned long long id = 0, other = 0;
    int active = 0;
    size_t limit = 0;
    FAILS(INVALID_VALUE, call_cuCtxCreate(&made, NULL, 0x3, device));
    FAILS(INVALID_DEVICE, call_cuCtxCreate(&made, NULL, 0, 77));
    OK(call_cuMemAlloc(&here, 64));
    OK(call_cuCtxCreate(&made, NULL, CU_CTX_SCHED_SPIN, device));
    OK(call_cuCtxGetCurrent(&got));
    CHECK(got == made && made != primary && kiln__sim_has_context(made));
    OK(call_cuCtxGetFlags(&flags));
    CHECK(flags == CU_CTX_SCHED_SPIN);
    OK(call_cuCtxGetApiVersion(NULL, &version));
    OK(call_cuCtxGetId(NULL, &id));
    OK(call_cuCtxGetId(primary, &other));
    CHECK(version >= 3020 && id != other);
    FAILS(INVALID_VALUE, call_cuCtxAttach(&got, 1)); /* every flag is refused, as on an H200 */
    OK(call_cuCtxAttach(&got, 0));
    CHECK(got == made);
    FAILS(INVALID_CONTEXT, call_cuCtxDetach(primary)); /* the primary context is not current */
    OK(call_cuCtxDetach(made));                        /* two users share the context */
    OK(call_cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
    OK(call_cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE));
    CHECK(limit == 4096);
    OK(call_cuCtxGetLimit(&limit, CU_LIMIT_MALLOC_HEAP_SIZE));
    CHECK(limit == 8 << 20);
    OK(call_cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 16 << 20));
    OK(call_cuCtxGetLimit(&limit, CU_LIMIT_MALLOC_HEAP_SIZE));
    CHECK(limit == 16 << 20);
    FAILS(OUT_OF_MEMORY, call_cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, SIZE_MAX));
    FAILS(INVALID_VALUE, call_cuCtxGetLimit(&limit, (CUlimit)99));
    FAILS(UNSUPPORTED_LIMIT, call_cuCtxGetLimit(&limit, CU_LIMIT_SHMEM_SIZE));
    int most = 0, window = 0;
    OK(call_cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, device));
    OK(call_cuDeviceGetAttribute(&window, CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, device));
    CHECK(most == 52428800 / 8 * 5);
    OK(call_cuCtxSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, (size_t)most));
    OK(call_cuCtxGetLimit(&limit, CU_LIMIT_PERSISTING_L2_CACHE_SIZE));
    CHECK(limit == (size_t)most);
    FAILS(INVALID_VALUE, call_cuCtxSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, (size_t)most + 1));
    CUstreamAttrValue policy = {
        .accessPolicyWindow = {.num_bytes = (size_t)window, .hitRatio = 1, .hitProp = CU_ACCESS_PROPERTY_PERSISTING}};
    CUstream own = NULL;
    OK(call_cuStreamCreate(&own, 0));
    OK(call_cuStreamSetAttribute(own, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &policy));
    policy.accessPolicyWindow.num_bytes++;
    FAILS(INVALID_VALUE, call_cuStreamSetAttribute(own, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &policy));
    OK(call_cuStreamDestroy(own));
    OK(call_cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
    FAILS(INVALID_VALUE, call_cuCtxSetCacheConfig((CUfunc_cache)9));

    unsigned value = 7, back = 0;
    OK(call_cuMemAlloc(&there, 64));
    OK(call_cuStreamCreate(&stream, 0));
    OK(call_cuMemcpyHtoD(there, &value, 4));
    OK(call_cuMemcpyPeer(here, primary, there, made, 4));
    FAILS(INVALID_VALUE, call_cuMemcpyPeer(here, primary, there, made, 65));
    FAILS(INVALID_CONTEXT, call_cuMemcpyPeer(here, primary, there, (CUcontext)(uintptr_t)0x10, 4));
    OK(call_cuCtxCreate(&second, NULL, 0, device));
    OK(call_cuCtxDetach(second)); /* `second` had one user: the call destroys it and pops it */
    FAILS(INVALID_CONTEXT, call_cuCtxDetach(second));
    OK(call_cuCtxCreate(&second, NULL, 0, device));
    FAILS(INVALID_HANDLE, call_cuStreamSynchronize(stream)); /* another context's */
    OK(call_cuCtxDestroy(second));                           /* pops itself */
    OK(call_cuStreamSynchronize(stream));
    FAILS(INVALID_CONTEXT, call_cuCtxDestroy(second));
    FAILS(INVALID_CONTEXT, call_cuCtxDestroy(primary));
    OK(call_cuCtxPopCurrent(&got));
    CHECK(got == made);
    OK(call_cuMemcpyDtoH(&back, here, 4));
    CHECK(back == 7);
    OK(call_cuCtxPushCurrent(made));
    OK(call_cuCtxPushCurrent(primary));
    OK(call_cuCtxDetach(primary)); /* detaching the primary context has no effect */
    OK(call_cuCtxDestroy(made));
    OK(call_cuCtxPopCurrent(NULL));
    FAILS(CONTEXT_IS_DESTROYED, call_cuCtxSynchronize());
    OK(call_cuCtxPopCurrent(NULL));

    OK(call_cuDevicePrimaryCtxGetState(device, &flags, &active));
    CHECK(flags == 0 && active == 1);
    OK(call_cuDevicePrimaryCtxReset(device));
    OK(call_cuDevicePrimaryCtxSetFlags(device, CU_CTX_SCHED_YIELD));
    OK(call_cuDevicePrimaryCtxGetState(device, &flags, &active));
    CHECK(flags == CU_CTX_SCHED_YIELD && active == 0);
    OK(call_cuDevicePrimaryCtxSetFlags(device, 0));
    FAILS(CONTEXT_IS_DESTROYED, call_cuMemFree(here));
    OK(call_cuDevicePrimaryCtxRetain(&primary, device));
    close_device();
}

/* cuGetProcAddress by name and version, cuGetExportTable, and the older queries of a device. */
static void test_addresses(void)
{
    void *function = NULL;
    CUdriverProcAddressQueryResult status;
    static const CUuuid id = {{1}};
    const void *table = &id;
    OK(call_cuGetProcAddress("cuMemAlloc", &function, 12000, 0, &status));
    CHECK(function && status == CU_GET_PROC_ADDRESS_SUCCESS);
    OK(call_cuGetProcAddress("cuMemAlloc", &function, 2000, 0, &status));
    CHECK(!function && status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    OK(call_cuGetProcAddress("cuMemAlloc_v2", &function, 12000, 0, &status));
    CHECK(!function && status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    FAILS(NOT_FOUND, sim_cuGetProcAddress_v1("cuNothing", &function, 12000, 0));
    FAILS(INVALID_VALUE, call_cuGetProcAddress("cuInit", &function, 12000, 3, &status));
    FAILS(INVALID_VALUE, call_cuGetProcAddress(NULL, &function, 12000, 0, &status));
    void *forms[3];
    OK(call_cuGetProcAddress("cuCtxCreate", &forms[0], 11000, 0, &status));
    OK(call_cuGetProcAddress("cuCtxCreate", &forms[1], 12000, 2, &status));
    OK(call_cuGetProcAddress("cuCtxCreate", &forms[2], 13000, 1, &status));
    CHECK(forms[0] != forms[1] && forms[1] != forms[2] && forms[2] == kiln__sim_symbol("cuCtxCreate"));
    FAILS(NOT_FOUND, call_cuGetExportTable(&table, &id));
    CHECK(table == NULL);
    CUdevprop properties;
    char bus[16];
    int major = 0, minor = 0, can = 1;
    CUdevice found = -1;
    OK(call_cuDeviceGet(&device, 0));
    OK(call_cuDeviceGetProperties(&properties, device));
    CHECK(properties.SIMDWidth == 32 && properties.maxThreadsPerBlock == 1024);
    OK(call_cuDeviceComputeCapability(&major, &minor, device));
    CHECK(major == 9 && minor == 0);
    OK(call_cuDeviceGetPCIBusId(bus, (int)sizeof bus, device));
    OK(call_cuDeviceGetByPCIBusId(&found, bus));
    CHECK(found == device);
    FAILS(INVALID_DEVICE, call_cuDeviceGetByPCIBusId(&found, "0000:17:00.0"));
    FAILS(INVALID_VALUE, call_cuDeviceGetByPCIBusId(&found, "nowhere"));
    OK(call_cuDeviceCanAccessPeer(&can, device, device));
    CHECK(can == 0);
}

/* ---- threads and failed allocations ---- */

enum { ROUNDS = 20 };

static void *work(void *result)
{
    int *failures = result;
    CUdeviceptr pointer = 0;
    CUstream stream = NULL;
    CUmodule module = NULL;
    CUfunction function = NULL;
    *failures += call_cuCtxSetCurrent(primary) != CUDA_SUCCESS;
    for (int i = 0; i < ROUNDS; i++) {
        unsigned got = 0;
        *failures += call_cuModuleLoadDataEx(&module, faults, 0, NULL, NULL) != CUDA_SUCCESS;
        *failures += call_cuModuleGetFunction(&function, module, "poke") != CUDA_SUCCESS;
        *failures += call_cuStreamCreate(&stream, 0) != CUDA_SUCCESS;
        *failures += call_cuMemAlloc(&pointer, 4) != CUDA_SUCCESS;
        void *arguments[] = {&pointer};
        *failures += call_cuLaunchKernel(function, 4, 1, 1, 32, 1, 1, 0, stream, arguments, NULL) != CUDA_SUCCESS;
        *failures += call_cuMemcpyDtoHAsync(&got, pointer, 4, stream) != CUDA_SUCCESS;
        *failures += call_cuStreamSynchronize(stream) != CUDA_SUCCESS;
        *failures += got != 1;
        *failures += call_cuMemFree(pointer) != CUDA_SUCCESS;
        *failures += call_cuStreamDestroy(stream) != CUDA_SUCCESS;
        *failures += call_cuModuleUnload(module) != CUDA_SUCCESS;
    }
    *failures += call_cuCtxSetCurrent(NULL) != CUDA_SUCCESS;
    return NULL;
}

static void test_threads(void)
{
    open_device();
    pthread_t threads[4];
    int failures[4] = {0};
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, work, &failures[i]) == 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        CHECK(failures[i] == 0);
    }
    close_device();
}

/* Lets the first, second, ... allocation of the driver fail. Each call must return an error without a leak, and make no
 * handle. */
static void test_oom(void)
{
    for (long n = 0;; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        sim_set_memory(&mem);
        setenv("KILN_SIM_THREADS", "1", 1);
        int failed = 0;
        CUdeviceptr pointer = 0;
        CUstream stream = NULL;
        CUevent event = NULL;
        CUmodule module = NULL;
        CUfunction function = NULL;
        CUresult result = call_cuDevicePrimaryCtxRetain(&primary, device);
        CHECK(result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY);
        if (result == CUDA_SUCCESS) {
            OK(call_cuCtxSetCurrent(primary));
            failed |= call_cuStreamCreate(&stream, 0) != CUDA_SUCCESS;
            failed |= call_cuEventCreate(&event, 0) != CUDA_SUCCESS;
            failed |= call_cuMemAlloc(&pointer, 4096) != CUDA_SUCCESS;
            void *pinned = NULL;
            CUlibrary library = NULL;
            CUcontext made = NULL;
            CUkernel kernels[4];
            failed |= call_cuMemHostAlloc(&pinned, 64, 0) != CUDA_SUCCESS;
            failed |= call_cuMemHostRegister(&oom, sizeof oom, 0) != CUDA_SUCCESS;
            if (call_cuLibraryLoadData(&library, faults, NULL, NULL, 0, NULL, NULL, 0) == CUDA_SUCCESS)
                failed |= call_cuLibraryEnumerateKernels(kernels, 4, library) != CUDA_SUCCESS;
            failed |= !library;
            if (call_cuCtxCreate(&made, NULL, 0, device) == CUDA_SUCCESS)
                OK(call_cuCtxDestroy(made));
            failed |= !made;
            result = call_cuModuleLoadDataEx(&module, faults, 0, NULL, NULL);
            CHECK(result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY);
            failed |= result != CUDA_SUCCESS;
            if (module && pointer && call_cuModuleGetFunction(&function, module, "poke") == CUDA_SUCCESS) {
                void *arguments[] = {&pointer};
                result = launch(function, 1, 1, 0, arguments);
                CHECK(result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY);
                OK(call_cuCtxSynchronize());
            }
            close_device();
        }
        if (!oom.failed)
            CHECK(!failed);
        CHECK(oom.live == 0);
        if (!oom.failed)
            break;
    }
    sim_set_memory(NULL);
    unsetenv("KILN_SIM_THREADS");
}

static const check_case cases[] = {{"before cuInit", test_uninitialised},
                                   {"error names", test_names},
                                   {"devices", test_devices},
                                   {"profiles", test_profiles},
                                   {"contexts", test_contexts},
                                   {"contexts that are made", test_made_contexts},
                                   {"addresses and devices", test_addresses},
                                   {"threads", test_threads},
                                   {"out of memory", test_oom}};
CU_SUITE("sim cu", cases)
