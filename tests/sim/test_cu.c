/* The simulated driver through its own table, as a program that uses the driver API would: every function, its argument
 * checks, and what happens after a fault. */
#include <cuda.h>
#include <pthread.h>
#include <unistd.h>

#include "check.h"
#include "sim/cu_internal.h"

/* cu(Name)(...) calls the function that the table has under the API's own name. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#define SIM_X(name, since) static __typeof__(name) *call_##name;
SIM_API_MAP(SIM_X)
#undef SIM_X
#define OK(call) CHECK((call) == CUDA_SUCCESS)
#define FAILS(error, call)                                                                                             \
    do {                                                                                                               \
        CUresult got_ = (call);                                                                                        \
        if (got_ != CUDA_ERROR_##error)                                                                                \
            fprintf(stderr, "%s:%d: %d, want " #error "\n", __FILE__, __LINE__, (int)got_);                            \
        CU_ASSERT_EQUAL(got_, CUDA_ERROR_##error);                                                                     \
    } while (0)

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

/* y[i] = a * x[i] + y[i] for i < n */
static const char saxpy[] = HEAD
    ".visible .global .align 4 .u32 answer = 42;\n"
    ".visible .const .align 4 .b8 table[16];\n"
    ".visible .entry saxpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n)\n"
    "{\n"
    " .reg .pred %p<2>; .reg .f32 %f<5>; .reg .b32 %r<6>; .reg .b64 %rd<8>;\n"
    " ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.f32 %f1, [a]; ld.param.u32 %r2, [n];\n"
    " mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;\n"
    " mad.lo.s32 %r1, %r3, %r4, %r5;\n"
    " setp.ge.u32 %p1, %r1, %r2;\n"
    " @%p1 bra DONE;\n"
    " cvta.to.global.u64 %rd3, %rd1; cvta.to.global.u64 %rd4, %rd2;\n"
    " mul.wide.s32 %rd5, %r1, 4;\n"
    " add.s64 %rd6, %rd3, %rd5; add.s64 %rd7, %rd4, %rd5;\n"
    " ld.global.f32 %f2, [%rd6]; ld.global.f32 %f3, [%rd7];\n"
    " fma.rn.f32 %f4, %f1, %f2, %f3;\n"
    " st.global.f32 [%rd7], %f4;\n"
    "DONE: ret;\n"
    "}\n"
    ".visible .entry bounded()\n.maxntid 64, 1, 1\n{ ret; }\n"
    ".visible .entry required()\n.reqntid 32, 2, 1\n{ ret; }\n";

/* write 1 to *p */
static const char faults[] = HEAD
    ".extern .shared .align 16 .b8 dynamic[];\n"
    ".visible .entry poke(.param .u64 p)\n"
    "{ .reg .b64 %rd<3>; .reg .b32 %r<2>;\n"
    " ld.param.u64 %rd1, [p]; cvta.to.global.u64 %rd2, %rd1; mov.u32 %r1, 1; st.global.u32 [%rd2], %r1; ret; }\n"
    ".visible .entry stop()\n{ trap; ret; }\n"
    ".visible .entry spin()\n{ L: bra L; ret; }\n"
    ".visible .entry shared()\n"
    "{ .shared .align 4 .b8 fixed[1024]; .reg .b32 %r<3>;\n"
    " mov.u32 %r1, dynamic; mov.u32 %r2, 7; st.shared.u32 [%r1], %r2; st.shared.u32 [fixed], %r2; ret; }\n";

static CUdevice device;
static CUcontext primary;

static void open_device(void)
{
    OK(call_cuInit(0));
    OK(call_cuDeviceGet(&device, 0));
    OK(call_cuDevicePrimaryCtxRetain(&primary, device));
    OK(call_cuCtxSetCurrent(primary));
}

static void close_device(void)
{
    OK(call_cuCtxSetCurrent(NULL));
    OK(call_cuDevicePrimaryCtxRelease(device));
}

static CUmodule load(const char *text)
{
    char log[2048] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    CUmodule module = NULL;
    CUresult result = call_cuModuleLoadDataEx(&module, text, 2, options, values);
    if (result != CUDA_SUCCESS)
        fprintf(stderr, "load: %d: %s\n", (int)result, log);
    CHECK(result == CUDA_SUCCESS);
    return module;
}

static CUfunction kernel(CUmodule module, const char *name)
{
    CUfunction function = NULL;
    OK(call_cuModuleGetFunction(&function, module, name));
    return function;
}

static CUresult launch(CUfunction function, unsigned grid, unsigned block, unsigned shared, void **arguments)
{
    return call_cuLaunchKernel(function, grid, 1, 1, block, 1, 1, shared, NULL, arguments, NULL);
}

/* ---- before and around cuInit: the first test of the process ---- */

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
    FAILS(INVALID_DEVICE, call_cuDevicePrimaryCtxRetain(&primary, device)); /* still the other profile's */
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
    OK(call_cuCtxSynchronize()); /* retained once more */
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
    FAILS(INVALID_VALUE, call_cuCtxAttach(&got, 1)); /* as on an H200, all of it */
    OK(call_cuCtxAttach(&got, 0));
    CHECK(got == made);
    FAILS(INVALID_CONTEXT, call_cuCtxDetach(primary)); /* is not current */
    OK(call_cuCtxDetach(made));                        /* of two users */
    OK(call_cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
    OK(call_cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE));
    CHECK(limit == 4096);
    FAILS(INVALID_VALUE, call_cuCtxGetLimit(&limit, (CUlimit)99));
    FAILS(UNSUPPORTED_LIMIT, call_cuCtxGetLimit(&limit, CU_LIMIT_SHMEM_SIZE));
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
    OK(call_cuCtxDetach(second)); /* its only user: it goes, and pops itself */
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
    OK(call_cuCtxDetach(primary)); /* nothing to it */
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

/* ---- memory ---- */

static void test_memory(void)
{
    open_device();
    CUdeviceptr a = 0, b = 0, base = 0;
    size_t before = 0, after = 0, total = 0, bytes = 0;
    OK(call_cuMemGetInfo(&before, &total));
    CHECK(before <= total);
    FAILS(INVALID_VALUE, call_cuMemAlloc(&a, 0));
    FAILS(INVALID_VALUE, call_cuMemAlloc(NULL, 8));
    FAILS(OUT_OF_MEMORY, call_cuMemAlloc(&a, total + 1));
    FAILS(OUT_OF_MEMORY, call_cuMemAlloc(&a, SIZE_MAX));
    OK(call_cuMemAlloc(&a, 1000));
    OK(call_cuMemAlloc(&b, 1000));
    CHECK(a % 256 == 0 && b % 256 == 0 && a != b);
    OK(call_cuMemGetInfo(&after, &total));
    CHECK(after <= before - 2000);
    OK(call_cuMemGetAddressRange(&base, &bytes, a + 999));
    CHECK(base == a && bytes == 1000);
    OK(call_cuMemGetAddressRange(NULL, NULL, a));
    FAILS(NOT_FOUND, call_cuMemGetAddressRange(&base, &bytes, 0x10));

    unsigned char in[1000], out[1000];
    for (int i = 0; i < 1000; i++)
        in[i] = (unsigned char)(i * 7);
    OK(call_cuMemcpyHtoD(a, in, 1000));
    OK(call_cuMemcpyDtoD(b, a, 1000));
    OK(call_cuMemcpyDtoH(out, b, 1000));
    CHECK(memcmp(in, out, 1000) == 0);
    OK(call_cuMemcpyDtoH(out, b + 10, 5));
    CHECK(memcmp(in + 10, out, 5) == 0);
    OK(call_cuMemcpyHtoDAsync(a + 1, in, 999, CU_STREAM_PER_THREAD));
    OK(call_cuMemcpyDtoDAsync(b, a, 1000, NULL));
    OK(call_cuMemcpyDtoHAsync(out, b, 1000, CU_STREAM_LEGACY));
    CHECK(out[0] == in[0] && memcmp(in, out + 1, 999) == 0);
    FAILS(INVALID_VALUE, call_cuMemcpyHtoD(a, in, 1001));
    FAILS(INVALID_VALUE, call_cuMemcpyHtoD(a + 500, in, 501));
    FAILS(INVALID_VALUE, call_cuMemcpyDtoH(out, a - 1, 1));
    FAILS(INVALID_VALUE, call_cuMemcpyDtoH(NULL, a, 1));
    FAILS(INVALID_VALUE, call_cuMemcpyDtoD(a, 0x10, 1));
    FAILS(INVALID_VALUE, call_cuMemcpyDtoD(a, b, SIZE_MAX));
    FAILS(INVALID_HANDLE, call_cuMemcpyHtoDAsync(a, in, 10, (CUstream)(uintptr_t)0x12340));
    OK(call_cuMemcpyHtoD(0, NULL, 0));

    OK(call_cuMemsetD8(a, 0x5a, 1000));
    OK(call_cuMemsetD16Async(a + 2, 0x1234, 2, NULL));
    OK(call_cuMemsetD32Async(a + 8, 0xdeadbeefu, 2, NULL));
    OK(call_cuMemsetD8Async(a + 16, 1, 1, NULL));
    OK(call_cuMemcpyDtoH(out, a, 1000));
    static const unsigned char want[18] = {0x5a, 0x5a, 0x34, 0x12, 0x34, 0x12, 0x5a, 0x5a, 0xef,
                                           0xbe, 0xad, 0xde, 0xef, 0xbe, 0xad, 0xde, 1,    0x5a};
    CHECK(memcmp(out, want, sizeof want) == 0);
    FAILS(INVALID_VALUE, call_cuMemsetD16Async(a + 1, 0, 1, NULL));
    FAILS(INVALID_VALUE, call_cuMemsetD32Async(a + 2, 0, 1, NULL));
    FAILS(INVALID_VALUE, call_cuMemsetD32Async(a, 0, 251, NULL));
    FAILS(INVALID_VALUE, call_cuMemsetD32Async(a, 0, SIZE_MAX / 2, NULL));

    FAILS(INVALID_VALUE, call_cuMemFree(a + 1));
    OK(call_cuMemFree(0));
    OK(call_cuMemFree(a));
    FAILS(INVALID_VALUE, call_cuMemFree(a));
    FAILS(INVALID_VALUE, call_cuMemcpyHtoD(a, in, 1));
    OK(call_cuMemFree(b));
    OK(call_cuMemGetInfo(&after, &total));
    CHECK(after == before);
    close_device();
}

/* ---- other kinds of memory ---- */

static void test_host_memory(void)
{
    open_device();
    void *pinned = NULL;
    CUdeviceptr address = 0, back = 0;
    unsigned flags = 0, type = 0;
    FAILS(INVALID_VALUE, call_cuMemHostAlloc(&pinned, 0, 0));
    FAILS(INVALID_VALUE, call_cuMemHostAlloc(&pinned, 8, 1024));
    OK(call_cuMemHostAlloc(&pinned, 4000, CU_MEMHOSTALLOC_DEVICEMAP));
    memset(pinned, 0, 4000);
    OK(call_cuMemHostGetFlags(&flags, pinned));
    CHECK(flags == CU_MEMHOSTALLOC_DEVICEMAP);
    OK(call_cuMemHostGetDevicePointer(&address, (char *)pinned + 8, 0));
    FAILS(INVALID_VALUE, call_cuMemHostGetDevicePointer(&address, pinned, 1));
    CUmodule module = load(faults);
    void *arguments[] = {&address};
    OK(launch(kernel(module, "poke"), 1, 1, 0, arguments)); /* the host sees what a kernel wrote */
    CHECK(((unsigned *)pinned)[2] == 1 && ((unsigned *)pinned)[1] == 0 && ((unsigned *)pinned)[3] == 0);
    OK(call_cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)pinned));
    CHECK(type == CU_MEMORYTYPE_HOST);
    OK(call_cuPointerGetAttribute(&back, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, (CUdeviceptr)(uintptr_t)pinned + 8));
    CHECK(back == address);
    FAILS(INVALID_VALUE, call_cuMemFree(address - 8));
    FAILS(INVALID_VALUE, call_cuMemFreeHost((char *)pinned + 8));
    OK(call_cuMemFreeHost(pinned));
    FAILS(INVALID_VALUE, call_cuMemFreeHost(pinned));
    FAILS(INVALID_VALUE, call_cuMemcpyDtoH(&type, address, 4));

    static char own[4096];
    OK(call_cuMemHostRegister(own, sizeof own, 0));
    FAILS(HOST_MEMORY_ALREADY_REGISTERED, call_cuMemHostRegister(own + 100, 4, 0));
    FAILS(NOT_SUPPORTED, call_cuMemHostRegister(&own, 4, CU_MEMHOSTREGISTER_DEVICEMAP));
    FAILS(INVALID_VALUE, call_cuMemHostGetDevicePointer(&address, own, 0));
    FAILS(INVALID_VALUE, call_cuMemFreeHost(own));
    FAILS(HOST_MEMORY_NOT_REGISTERED, call_cuMemHostUnregister(own + 1));
    OK(call_cuMemHostUnregister(own));
    FAILS(HOST_MEMORY_NOT_REGISTERED, call_cuMemHostUnregister(own));
    FAILS(NOT_SUPPORTED, call_cuMemAllocManaged(&address, 4, CU_MEM_ATTACH_GLOBAL));
    FAILS(INVALID_VALUE, call_cuMemAllocManaged(&address, 4, 0));
    OK(call_cuMemAllocHost(&pinned, 16)); /* goes with the context */
    close_device();
}

static void test_pointers(void)
{
    open_device();
    CUdeviceptr memory = 0, start = 0;
    size_t size = 0;
    unsigned type = 99;
    CUcontext owner = NULL;
    bool mapped = false;
    OK(call_cuMemAlloc(&memory, 1000));
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_CONTEXT,
                                    CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                    CU_POINTER_ATTRIBUTE_MAPPED};
    void *out[] = {&type, &owner, &start, &size, &mapped};
    OK(call_cuPointerGetAttributes(5, wanted, out, memory + 10));
    CHECK(type == CU_MEMORYTYPE_DEVICE && owner == primary && start == memory && size == 1000 && mapped);
    OK(call_cuPointerGetAttributes(5, wanted, out, (CUdeviceptr)(uintptr_t)&size)); /* unknown: zeros */
    CHECK(type == 0 && owner == NULL && start == 0 && size == 0 && !mapped);
    FAILS(INVALID_VALUE, call_cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 0x10));
    FAILS(INVALID_VALUE, call_cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_HOST_POINTER, memory));
    FAILS(INVALID_VALUE, call_cuPointerGetAttribute(&type, (CUpointer_attribute)999, memory));

    /* either side may be either */
    unsigned char in[16] = "fifteen letters", got[16] = "";
    OK(call_cuMemcpy(memory, (CUdeviceptr)(uintptr_t)in, 16));
    OK(call_cuMemcpyAsync((CUdeviceptr)(uintptr_t)got, memory, 16, NULL));
    CHECK(memcmp(in, got, 16) == 0);
    FAILS(INVALID_VALUE, call_cuMemcpy(memory + 990, (CUdeviceptr)(uintptr_t)in, 16));
    FAILS(INVALID_VALUE, call_cuMemcpy(memory + (1u << 20), (CUdeviceptr)(uintptr_t)in, 16));
    FAILS(INVALID_VALUE, call_cuMemcpy(0, memory, 16));

    CUmemoryPool pool = NULL;
    cuuint64_t used = 0;
    CUdeviceptr more = 0;
    OK(call_cuDeviceGetDefaultMemPool(&pool, device));
    OK(call_cuMemAllocFromPoolAsync(&more, 100, pool, NULL));
    OK(call_cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    CHECK(used == 1100);
    OK(call_cuMemFreeAsync(more, NULL));
    FAILS(INVALID_VALUE, call_cuMemFreeAsync(more, NULL));
    FAILS(INVALID_HANDLE, call_cuMemAllocAsync(&more, 100, (CUstream)(uintptr_t)0x12340));
    OK(call_cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &used));
    CHECK(used == 1100);
    used = 1 << 20;
    OK(call_cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &used));
    FAILS(INVALID_VALUE, call_cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &used));
    FAILS(INVALID_VALUE, call_cuMemPoolTrimTo(NULL, 0));
    close_device();
}

static void test_pitch(void)
{
    open_device();
    CUdeviceptr memory = 0;
    size_t pitch = 0;
    unsigned char in[6][10], out[6][10];
    FAILS(INVALID_VALUE, call_cuMemAllocPitch(&memory, &pitch, 10, 6, 5));
    FAILS(INVALID_VALUE, call_cuMemAllocPitch(&memory, &pitch, 0, 6, 4));
    FAILS(OUT_OF_MEMORY, call_cuMemAllocPitch(&memory, &pitch, SIZE_MAX / 2, 6, 4));
    OK(call_cuMemAllocPitch(&memory, &pitch, 10, 6, 4));
    CHECK(pitch == 512);
    for (int i = 0; i < 60; i++)
        in[i / 10][i % 10] = (unsigned char)i;
    OK(call_cuMemsetD2D8(memory, pitch, 0xee, 10, 6));
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = in, .srcPitch = 10, .srcXInBytes = 2,
                          .srcY = 1, .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = memory, .dstPitch = pitch,
                          .dstXInBytes = 3, .dstY = 2, .WidthInBytes = 5, .Height = 4};
    OK(call_cuMemcpy2D(&copy));
    CUDA_MEMCPY2D back = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = memory, .srcPitch = pitch,
                          .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = out, .dstPitch = 10, .WidthInBytes = 10,
                          .Height = 6};
    OK(call_cuMemcpy2DAsync(&back, NULL));
    bool same = true;
    for (int y = 0; y < 6; y++)
        for (int x = 0; x < 10; x++) {
            bool inside = y >= 2 && x >= 3 && x < 8;
            same = same && out[y][x] == (inside ? in[y - 1][x - 1] : 0xee);
        }
    CHECK(same);
    copy.Height = 5; /* the last row has no 512 bytes, but 8 */
    copy.srcY = 0;
    copy.dstY = 1;
    OK(call_cuMemcpy2D(&copy));
    copy.dstY = 2;
    FAILS(INVALID_VALUE, call_cuMemcpy2D(&copy));
    copy.Height = SIZE_MAX;
    FAILS(INVALID_VALUE, call_cuMemcpy2D(&copy));
    copy.Height = 4;
    copy.srcPitch = 6;
    FAILS(INVALID_VALUE, call_cuMemcpy2D(&copy));
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    FAILS(INVALID_HANDLE, call_cuMemcpy2D(&copy));
    FAILS(INVALID_VALUE, call_cuMemcpy2D(NULL));

    OK(call_cuMemsetD2D32(memory + 4, pitch, 0x01020304, 1, 6));
    OK(call_cuMemsetD2D16Async(memory, pitch, 0x0506, 2, 1, NULL));
    OK(call_cuMemcpy2D(&back));
    static const unsigned char first[] = {6, 5, 6, 5, 4, 3, 2, 1}, last[] = {0xee, 0xee, 0xee, 0xee, 4, 3, 2, 1};
    CHECK(memcmp(out[0], first, 8) == 0 && memcmp(out[5], last, 3) == 0 && memcmp(out[5] + 4, last + 4, 4) == 0);
    FAILS(INVALID_VALUE, call_cuMemsetD2D32(memory, pitch + 2, 0, 1, 2));
    FAILS(INVALID_VALUE, call_cuMemsetD2D8(memory, pitch, 0, 10, 7));
    FAILS(INVALID_VALUE, call_cuMemsetD2D8(memory, SIZE_MAX / 2, 0, 10, 7));

    /* two slices of three rows of four bytes out of the 6 x 10 */
    CUDA_MEMCPY3D solid = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = in, .srcPitch = 10, .srcHeight = 3,
                           .srcXInBytes = 1, .dstMemoryType = CU_MEMORYTYPE_UNIFIED, .dstDevice = memory,
                           .dstPitch = 4, .dstHeight = 3, .WidthInBytes = 4, .Height = 3, .Depth = 2};
    unsigned char packed[24];
    OK(call_cuMemcpy3D(&solid));
    OK(call_cuMemcpyDtoH(packed, memory, 24));
    same = true;
    for (int i = 0; i < 24; i++)
        same = same && packed[i] == in[i / 4][1 + i % 4];
    CHECK(same);
    solid.dstHeight = 2;
    FAILS(INVALID_VALUE, call_cuMemcpy3D(&solid));
    solid.Depth = 0;
    OK(call_cuMemcpy3DAsync(&solid, NULL));
    close_device();
}

/* ---- streams and events ---- */

static void test_streams(void)
{
    open_device();
    CUstream stream = NULL, gone;
    CUevent start = NULL, end = NULL, untimed = NULL;
    float milliseconds = -1;
    FAILS(INVALID_VALUE, call_cuStreamCreate(NULL, 0));
    FAILS(INVALID_VALUE, call_cuStreamCreate(&stream, 64));
    OK(call_cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(call_cuStreamQuery(stream));
    OK(call_cuStreamSynchronize(stream));
    OK(call_cuStreamSynchronize(NULL));
    FAILS(INVALID_VALUE, call_cuEventCreate(&start, 1024));
    OK(call_cuEventCreate(&start, 0));
    OK(call_cuEventCreate(&end, CU_EVENT_BLOCKING_SYNC));
    OK(call_cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    OK(call_cuEventQuery(start));
    OK(call_cuEventSynchronize(start));
    FAILS(INVALID_HANDLE, call_cuEventElapsedTime(&milliseconds, start, end)); /* not recorded */
    OK(call_cuEventRecord(start, stream));
    CUdeviceptr memory = 0;
    OK(call_cuMemAlloc(&memory, 1 << 20));
    OK(call_cuMemsetD8Async(memory, 0, 1 << 20, stream));
    OK(call_cuEventRecord(end, stream));
    OK(call_cuEventRecord(untimed, stream));
    OK(call_cuEventElapsedTime(&milliseconds, start, end));
    CHECK(milliseconds > 0 && milliseconds < 10000);
    FAILS(INVALID_HANDLE, call_cuEventElapsedTime(&milliseconds, start, untimed));
    FAILS(INVALID_VALUE, call_cuEventElapsedTime(NULL, start, end));
    FAILS(INVALID_HANDLE, call_cuEventRecord((CUevent)(uintptr_t)(void *)stream, NULL)); /* a handle of another kind */
    FAILS(INVALID_HANDLE, call_cuEventRecord(NULL, NULL));
    gone = stream;
    OK(call_cuStreamDestroy(stream));
    FAILS(INVALID_HANDLE, call_cuStreamDestroy(gone));
    FAILS(INVALID_HANDLE, call_cuStreamQuery(gone));
    FAILS(INVALID_HANDLE, call_cuEventRecord(start, gone));
    OK(call_cuStreamCreate(&stream, 0)); /* takes the slot of the one that is gone, but not its handle */
    CHECK(stream != gone);
    FAILS(INVALID_HANDLE, call_cuStreamQuery(gone));
    OK(call_cuEventDestroy(start));
    FAILS(INVALID_HANDLE, call_cuEventQuery(start));
    close_device(); /* frees the rest */
    open_device();
    FAILS(INVALID_HANDLE, call_cuStreamQuery(stream));
    FAILS(INVALID_HANDLE, call_cuEventQuery(end));
    close_device();
}

static void CUDA_CB add_one(void *number)
{
    ++*(int *)number;
}

static void CUDA_CB add_ten(CUstream stream, CUresult status, void *number)
{
    *(int *)number += status == CUDA_SUCCESS && stream == NULL ? 10 : 0;
}

static void test_stream_queries(void)
{
    open_device();
    CUstream stream = NULL;
    CUevent event = NULL;
    CUcontext owner = NULL;
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    int least = 1, greatest = 1, priority = 1, number = 0;
    unsigned flags = 0;
    unsigned long long id = 0, other = 0;
    OK(call_cuCtxGetStreamPriorityRange(&least, &greatest));
    OK(call_cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -5));
    OK(call_cuStreamGetPriority(stream, &priority));
    CHECK(least == 0 && greatest == 0 && priority == 0);
    OK(call_cuStreamGetFlags(stream, &flags));
    CHECK(flags == CU_STREAM_NON_BLOCKING);
    OK(call_cuStreamGetCtx(stream, &owner));
    CHECK(owner == primary);
    OK(call_cuStreamGetId(stream, &id));
    OK(call_cuStreamGetId(NULL, &other));
    CHECK(id != other);
    OK(call_cuStreamIsCapturing(stream, &capture));
    CHECK(capture == CU_STREAM_CAPTURE_STATUS_NONE);
    OK(call_cuThreadExchangeStreamCaptureMode(&mode));
    OK(call_cuThreadExchangeStreamCaptureMode(&mode));
    CHECK(mode == CU_STREAM_CAPTURE_MODE_RELAXED);
    FAILS(INVALID_VALUE, call_cuEventCreate(&event, CU_EVENT_INTERPROCESS));
    FAILS(NOT_SUPPORTED, call_cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    OK(call_cuEventCreate(&event, 0));
    OK(call_cuEventRecordWithFlags(event, stream, 0));
    FAILS(INVALID_VALUE, call_cuEventRecordWithFlags(event, stream, 8));
    OK(call_cuStreamWaitEvent(stream, event, 0));
    FAILS(INVALID_VALUE, call_cuStreamWaitEvent(stream, event, 8));
    FAILS(INVALID_HANDLE, call_cuStreamWaitEvent(stream, NULL, 0));
    OK(call_cuLaunchHostFunc(stream, add_one, &number));
    OK(call_cuStreamAddCallback(NULL, add_ten, &number, 0));
    FAILS(INVALID_VALUE, call_cuStreamAddCallback(NULL, add_ten, &number, 1));
    FAILS(INVALID_VALUE, call_cuLaunchHostFunc(stream, NULL, &number));
    CHECK(number == 11);
    close_device();
}

/* ---- modules ---- */

static CUresult try_load(const char *image, char *log, size_t size)
{
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)size};
    CUmodule module = NULL;
    CUresult result = call_cuModuleLoadDataEx(&module, image, 2, options, values);
    CHECK((size_t)(uintptr_t)values[1] == strlen(log));
    CHECK(result == CUDA_SUCCESS || module == NULL);
    return result;
}

static void test_images(void)
{
    open_device();
    char log[1024] = "", small[8] = "";
    CUmodule module;
    FAILS(INVALID_PTX, try_load(HEAD ".visible .entry k() { frobnicate.b32 %r1; ret; }\n", log, sizeof log));
    CHECK(strstr(log, "frobnicate") && strstr(log, "line 4"));
    FAILS(INVALID_PTX, try_load(HEAD ".visible .entry k() { frobnicate.b32 %r1; ret; }\n", small, sizeof small));
    CHECK(strlen(small) == 7);
    FAILS(NO_BINARY_FOR_GPU, try_load("\x7f" "ELF\x02\x01", log, sizeof log));
    CHECK(strstr(log, "PTX only") != NULL);
    FAILS(NO_BINARY_FOR_GPU, try_load("\x50\xed\x55\xba\1\0\x10\0\0\0\0\0\0\0\0\0", log, sizeof log));
    FAILS(INVALID_IMAGE, try_load("", log, sizeof log));
    FAILS(INVALID_IMAGE, try_load("hello", log, sizeof log));
    FAILS(INVALID_PTX, try_load(".version 8.0\n.target sm_100\n.address_size 64\n", log, sizeof log));
    CHECK(strstr(log, "sm_100") && strstr(log, "sm_90"));
    FAILS(UNSUPPORTED_PTX_VERSION, try_load(".version 10.0\n.target sm_80\n.address_size 64\n", log, sizeof log));
    FAILS(INVALID_VALUE, call_cuModuleLoadDataEx(&module, NULL, 0, NULL, NULL));
    FAILS(INVALID_VALUE, call_cuModuleLoadDataEx(NULL, saxpy, 0, NULL, NULL));
    FAILS(INVALID_VALUE, call_cuModuleLoadDataEx(&module, saxpy, 1, NULL, NULL));
    CUjit_option unknown[] = {(CUjit_option)1000};
    void *values[] = {NULL};
    FAILS(INVALID_VALUE, call_cuModuleLoadDataEx(&module, saxpy, 1, unknown, values));
    CUjit_option advice[] = {CU_JIT_OPTIMIZATION_LEVEL, CU_JIT_WALL_TIME};
    void *more[] = {(void *)(uintptr_t)4, NULL};
    OK(call_cuModuleLoadDataEx(&module, saxpy, 2, advice, more));
    float milliseconds;
    memcpy(&milliseconds, &more[1], sizeof milliseconds);
    CHECK(milliseconds > 0);
    OK(call_cuModuleUnload(module));
    FAILS(INVALID_HANDLE, call_cuModuleUnload(module));
    close_device();
}

static void test_modules(void)
{
    open_device();
    CUmodule module = load(saxpy);
    CUfunction function = kernel(module, "saxpy"), again = kernel(module, "saxpy"), none = NULL;
    CHECK(function == again);
    FAILS(NOT_FOUND, call_cuModuleGetFunction(&none, module, "nothing"));
    FAILS(INVALID_VALUE, call_cuModuleGetFunction(&none, module, ""));
    FAILS(INVALID_HANDLE, call_cuModuleGetFunction(&none, (CUmodule)(uintptr_t)0x77, "saxpy"));
    CUdeviceptr pointer = 0;
    size_t bytes = 0;
    OK(call_cuModuleGetGlobal(&pointer, &bytes, module, "answer"));
    unsigned answer = 0;
    CHECK(bytes == 4);
    OK(call_cuMemcpyDtoH(&answer, pointer, 4));
    CHECK(answer == 42);
    OK(call_cuModuleGetGlobal(&pointer, &bytes, module, "table"));
    CHECK(bytes == 16);
    unsigned table[4] = {1, 2, 3, 4}, back[4] = {0};
    OK(call_cuMemcpyHtoD(pointer, table, sizeof table));
    OK(call_cuMemcpyDtoH(back, pointer, sizeof back));
    CHECK(memcmp(table, back, sizeof back) == 0);
    FAILS(INVALID_VALUE, call_cuMemcpyHtoD(pointer + 8, table, sizeof table));
    FAILS(INVALID_VALUE, call_cuMemFree(pointer)); /* the module's */
    FAILS(NOT_FOUND, call_cuModuleGetGlobal(&pointer, &bytes, module, "question"));

    int value = 0;
    OK(call_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
    CHECK(value == 1024);
    OK(call_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel(module, "bounded")));
    CHECK(value == 64);
    OK(call_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, function));
    CHECK(value > 0 && value < 256);
    OK(call_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_PTX_VERSION, function));
    CHECK(value == 80);
    OK(call_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function));
    CHECK(value == 0);
    OK(call_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
    CHECK(value == 49152);
    FAILS(INVALID_VALUE, call_cuFuncGetAttribute(&value, (CUfunction_attribute)999, function));
    FAILS(INVALID_HANDLE, call_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, NULL));
    size_t offset = 0, size = 0;
    static const size_t offsets[] = {0, 8, 16, 20}, sizes[] = {8, 8, 4, 4};
    for (size_t i = 0; i < 4; i++) {
        OK(call_cuFuncGetParamInfo(function, i, &offset, &size));
        CHECK(offset == offsets[i] && size == sizes[i]);
    }
    FAILS(INVALID_VALUE, call_cuFuncGetParamInfo(function, 4, &offset, &size));
    OK(call_cuModuleUnload(module));
    FAILS(INVALID_HANDLE, call_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, function));
    FAILS(INVALID_HANDLE, launch(function, 1, 1, 0, NULL));
    close_device();
}

static void test_libraries(void)
{
    open_device();
    CUlibrary library = NULL, owner = NULL;
    CUmodule module = NULL, of = NULL;
    CUkernel found = NULL, all[8] = {NULL};
    CUfunction function = NULL, every[8] = {NULL};
    CUdeviceptr pointer = 0;
    size_t bytes = 0;
    unsigned count = 0;
    int value = 0;
    const char *name = "";
    char path[] = "/tmp/kiln-test-cu-XXXXXX";
    OK(call_cuLibraryLoadData(&library, saxpy, NULL, NULL, 0, NULL, NULL, 0));
    FAILS(INVALID_VALUE, call_cuLibraryLoadData(&library, NULL, NULL, NULL, 0, NULL, NULL, 0));
    OK(call_cuLibraryGetKernelCount(&count, library));
    CHECK(count == 3);
    OK(call_cuLibraryEnumerateKernels(all, 8, library));
    CHECK(all[0] && all[2] && !all[3]);
    OK(call_cuLibraryGetKernel(&found, library, "bounded"));
    FAILS(NOT_FOUND, call_cuLibraryGetKernel(&found, library, "unbounded"));
    OK(call_cuKernelGetName(&name, found));
    CHECK_TEXT(name, "bounded");
    OK(call_cuKernelGetLibrary(&owner, found));
    CHECK(owner == library);
    OK(call_cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, found, device));
    CHECK(value == 64);
    OK(call_cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1000, found, device));
    OK(call_cuKernelGetFunction(&function, found));
    OK(call_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
    CHECK(value == 1000);
    OK(launch(function, 1, 64, 0, NULL));
    OK(launch((CUfunction)(uintptr_t)found, 1, 64, 0, NULL)); /* a kernel launches too */
    OK(call_cuLibraryGetGlobal(&pointer, &bytes, library, "answer"));
    CHECK(bytes == 4);
    FAILS(NOT_FOUND, call_cuLibraryGetManaged(&pointer, &bytes, library, "answer"));
    OK(call_cuLibraryGetModule(&module, library));
    OK(call_cuFuncGetModule(&of, function));
    CHECK(of == module);
    FAILS(NOT_PERMITTED, call_cuModuleUnload(module));
    OK(call_cuLibraryUnload(library));
    FAILS(INVALID_HANDLE, call_cuLibraryUnload(library));
    FAILS(INVALID_HANDLE, call_cuKernelGetName(&name, found));

    int file = mkstemp(path);
    CHECK(file >= 0 && write(file, saxpy, sizeof saxpy - 1) == (ssize_t)(sizeof saxpy - 1));
    close(file);
    OK(call_cuModuleLoad(&module, path));
    OK(call_cuLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0));
    unlink(path);
    FAILS(FILE_NOT_FOUND, call_cuModuleLoad(&of, path));
    OK(call_cuModuleGetFunctionCount(&count, module));
    CHECK(count == 3);
    OK(call_cuModuleEnumerateFunctions(every, 2, module));
    CHECK(every[0] && every[1] && !every[2]);
    OK(call_cuFuncGetName(&name, every[0]));
    CHECK_TEXT(name, "saxpy");
    FAILS(INVALID_HANDLE, call_cuKernelGetLibrary(&owner, (CUkernel)(uintptr_t)every[0]));
    CUfunctionLoadingState state;
    OK(call_cuFuncIsLoaded(&state, every[0]));
    CHECK(state == CU_FUNCTION_LOADING_STATE_LOADED);
    OK(call_cuFuncSetCacheConfig(every[0], CU_FUNC_CACHE_PREFER_SHARED));
    close_device();
}

static void test_old_launch(void)
{
    open_device();
    CUfunction function = kernel(load(faults), "poke");
    CUdeviceptr memory = 0;
    unsigned got = 0;
    OK(call_cuMemAlloc(&memory, 4));
    FAILS(INVALID_VALUE, call_cuLaunch(function)); /* no shape yet */
    FAILS(INVALID_VALUE, call_cuFuncSetBlockShape(function, 0, 1, 1));
    OK(call_cuFuncSetBlockShape(function, 1, 1, 1));
    FAILS(INVALID_VALUE, call_cuLaunch(function)); /* nor parameters */
    FAILS(INVALID_VALUE, call_cuParamSetv(function, 4090, &memory, sizeof memory));
    FAILS(INVALID_VALUE, call_cuParamSetSize(function, 4097));
    OK(call_cuParamSetv(function, 0, &memory, sizeof memory));
    OK(call_cuParamSetSize(function, sizeof memory));
    OK(call_cuLaunch(function));
    OK(call_cuMemcpyDtoH(&got, memory, 4));
    CHECK(got == 1);
    OK(call_cuLaunchGrid(function, 2, 2));
    FAILS(INVALID_VALUE, call_cuLaunchGrid(function, 0, 2));
    OK(call_cuCtxSynchronize());
    close_device();
}

static size_t CUDA_CB shared_of(int threads)
{
    return (size_t)threads * 1024;
}

static void test_potential(void)
{
    open_device();
    CUmodule module = load(saxpy);
    int grid = 0, block = 0;
    size_t bytes = 0;
    OK(call_cuOccupancyMaxPotentialBlockSize(&grid, &block, kernel(module, "saxpy"), NULL, 0, 0));
    CHECK(grid >= 132 && block % 32 == 0 && grid / 132 * block == 2048);
    OK(call_cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, kernel(module, "saxpy"), NULL, 0, 100, 0));
    CHECK(block <= 100);
    OK(call_cuOccupancyMaxPotentialBlockSize(&grid, &block, kernel(module, "saxpy"), shared_of, 0, 0));
    CHECK(block == 32); /* 48 KiB at most: one warp a block */
    OK(call_cuOccupancyAvailableDynamicSMemPerBlock(&bytes, kernel(module, "saxpy"), 1, 128));
    CHECK(bytes == 49152);
    FAILS(INVALID_VALUE, call_cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, kernel(module, "saxpy"), NULL,
                                                                        0, 0, 8));
    FAILS(INVALID_HANDLE, call_cuOccupancyMaxPotentialBlockSize(&grid, &block, NULL, NULL, 0, 0));
    close_device();
}

/* ---- launches ---- */

static void test_launch(void)
{
    open_device();
    CUmodule module = load(saxpy);
    CUfunction function = kernel(module, "saxpy");
    enum { N = 1000 };
    static float x[N], y[N], got[N];
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = 0.5f * (float)i;
    }
    CUdeviceptr dx = 0, dy = 0;
    OK(call_cuMemAlloc(&dx, sizeof x));
    OK(call_cuMemAlloc(&dy, sizeof y));
    OK(call_cuMemcpyHtoD(dx, x, sizeof x));
    OK(call_cuMemcpyHtoD(dy, y, sizeof y));
    float a = 2;
    unsigned n = N;
    void *arguments[] = {&dx, &dy, &a, &n};
    double seconds = 0, seconds_after = 0;
    uint64_t instructions = 0, after = 0;
    kiln__sim_totals(&seconds, &instructions);
    OK(launch(function, 8, 128, 0, arguments));
    OK(call_cuCtxSynchronize());
    kiln__sim_totals(&seconds_after, &after);
    CHECK(after > instructions && seconds_after > seconds);
    OK(call_cuMemcpyDtoH(got, dy, sizeof got));
    bool same = true;
    for (int i = 0; i < N; i++)
        same = same && got[i] == 2 * x[i] + y[i];
    CHECK(same);

    struct { CUdeviceptr x, y; float a; unsigned n; } block = {dx, dy, -2, N};
    size_t size = sizeof block, wrong = sizeof block - 4;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    void *short_extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &wrong,
                           CU_LAUNCH_PARAM_END};
    CUlaunchConfig config = {.gridDimX = 8, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 128, .blockDimY = 1,
                             .blockDimZ = 1};
    OK(call_cuLaunchKernelEx(&config, function, NULL, extra));
    OK(call_cuMemcpyDtoH(got, dy, sizeof got));
    CHECK(memcmp(got, y, sizeof y) == 0);
    OK(call_cuLaunchCooperativeKernel(function, 8, 1, 1, 128, 1, 1, 0, NULL, arguments));
    FAILS(COOPERATIVE_LAUNCH_TOO_LARGE,
          call_cuLaunchCooperativeKernel(function, 1 << 20, 1, 1, 128, 1, 1, 0, NULL, arguments));

    FAILS(INVALID_VALUE, call_cuLaunchKernelEx(&config, function, arguments, extra));
    FAILS(INVALID_VALUE, call_cuLaunchKernelEx(&config, function, NULL, short_extra));
    FAILS(INVALID_VALUE, call_cuLaunchKernelEx(NULL, function, arguments, NULL));
    FAILS(INVALID_VALUE, launch(function, 1, 1, 0, NULL));
    void *hole[] = {&dx, NULL, &a, &n};
    FAILS(INVALID_VALUE, launch(function, 1, 1, 0, hole));
    FAILS(INVALID_VALUE, launch(function, 0, 1, 0, arguments));
    FAILS(INVALID_VALUE, launch(function, 1, 0, 0, arguments));
    FAILS(INVALID_VALUE, launch(function, 1, 1025, 0, arguments));
    FAILS(INVALID_VALUE, call_cuLaunchKernel(function, 1, 65536, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    FAILS(INVALID_VALUE, call_cuLaunchKernel(function, 1, 1, 1, 1, 1, 65, 0, NULL, arguments, NULL));
    FAILS(INVALID_VALUE, call_cuLaunchKernel(function, 1, 1, 1, 32, 32, 2, 0, NULL, arguments, NULL));
    FAILS(INVALID_HANDLE, call_cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, (CUstream)(uintptr_t)0x99, arguments,
                                             NULL));
    FAILS(INVALID_HANDLE, call_cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    OK(launch(kernel(module, "bounded"), 1, 64, 0, NULL));
    FAILS(INVALID_VALUE, launch(kernel(module, "bounded"), 1, 65, 0, NULL));
    FAILS(INVALID_VALUE, launch(kernel(module, "required"), 1, 64, 0, NULL));
    OK(call_cuLaunchKernel(kernel(module, "required"), 1, 1, 1, 32, 2, 1, 0, NULL, NULL, NULL));
    CUlaunchAttribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {2, 1, 1}};
    config.attrs = &cluster;
    config.numAttrs = 1;
    FAILS(NOT_SUPPORTED, call_cuLaunchKernelEx(&config, function, arguments, NULL));
    CHECK_TEXT(kiln__sim_last_fault(), "");
    close_device();
}

static void test_shared(void)
{
    open_device();
    CUmodule module = load(faults);
    CUfunction function = kernel(module, "shared");
    int value = 0, blocks = 0;
    OK(call_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function));
    CHECK(value == 1024);
    OK(call_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
    CHECK(value == 49152 - 1024);
    OK(launch(function, 1, 32, 49152 - 1024, NULL));
    FAILS(INVALID_VALUE, launch(function, 1, 32, 49152 - 1023, NULL));
    FAILS(INVALID_VALUE, call_cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448));
    FAILS(INVALID_VALUE, call_cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, -1));
    FAILS(INVALID_VALUE, call_cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS, 32));
    OK(call_cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448 - 1024));
    OK(call_cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100));
    OK(launch(function, 1, 32, 232448 - 1024, NULL));
    OK(call_cuCtxSynchronize());
    OK(call_cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 32, 100000));
    CHECK(blocks == 2); /* 228 KiB an SM: twice 100000 + 1024 + 1024 */
    OK(call_cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 1024, 0));
    CHECK(blocks == 2);
    OK(call_cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 32, 0));
    CHECK(blocks == 32);
    OK(call_cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 2048, 0));
    CHECK(blocks == 0);
    FAILS(INVALID_VALUE, call_cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 0, 0));
    close_device();
}

/* ---- faults ---- */

/* Runs kernel `name`; the fault must be the answer of everything until the context is gone, and of nothing after. */
static void faults_with(const char *name, CUdeviceptr argument, CUresult want, const char *words)
{
    open_device();
    CUmodule module = load(faults);
    CUfunction function = kernel(module, name);
    CUdeviceptr memory = 0;
    OK(call_cuMemAlloc(&memory, 64));
    if (argument == 1) /* just past the end */
        argument = memory + 64;
    else if (argument == 2)
        argument = memory + 2;
    void *arguments[] = {&argument};
    OK(launch(function, 1, 1, 0, arguments)); /* asynchronous: seen by the next call */
    char byte;
    CHECK(call_cuCtxSynchronize() == want);
    CHECK(call_cuMemcpyDtoH(&byte, memory, 1) == want);
    CHECK(call_cuMemAlloc(&memory, 64) == want);
    CHECK(call_cuStreamQuery(NULL) == want);
    CHECK(launch(function, 1, 1, 0, arguments) == want);
    CHECK(call_cuModuleUnload(module) == want);
    const char *fault = kiln__sim_last_fault();
    if (!strstr(fault, words))
        CHECK_TEXT(fault, words);
    CHECK(strstr(fault, name) != NULL);
    CUcontext current = NULL;
    OK(call_cuCtxGetCurrent(&current));
    CHECK(current == primary);
    close_device();
    open_device();
    OK(call_cuCtxSynchronize());
    CHECK_TEXT(kiln__sim_last_fault(), "");
    close_device();
}

static void test_faults(void)
{
    setenv("KILN_SIM_STEPS", "100000", 1);
    faults_with("poke", 1, CUDA_ERROR_ILLEGAL_ADDRESS, "64");
    faults_with("poke", 0x10, CUDA_ERROR_ILLEGAL_ADDRESS, "0x10");
    faults_with("poke", 2, CUDA_ERROR_MISALIGNED_ADDRESS, "isaligned");
    faults_with("stop", 0, CUDA_ERROR_LAUNCH_FAILED, "trap");
    faults_with("spin", 0, CUDA_ERROR_LAUNCH_TIMEOUT, "");
    unsetenv("KILN_SIM_STEPS");
}

static void test_memory_limit(void)
{
    setenv("KILN_SIM_MEMORY", "1048576", 1);
    open_device();
    size_t free_bytes = 0, total = 0;
    CUdeviceptr pointer = 0;
    OK(call_cuMemGetInfo(&free_bytes, &total));
    CHECK(total == 1048576);
    FAILS(OUT_OF_MEMORY, call_cuMemAlloc(&pointer, 1048577));
    OK(call_cuMemAlloc(&pointer, 524288));
    close_device();
    unsetenv("KILN_SIM_MEMORY");
}

/* ---- threads and memory shortage ---- */

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

static const check_case cases[] = {
    {"before cuInit", test_uninitialised}, {"error names", test_names}, {"devices", test_devices},
    {"profiles", test_profiles}, {"contexts", test_contexts}, {"memory", test_memory},
    {"streams and events", test_streams}, {"images", test_images}, {"modules", test_modules},
    {"launch", test_launch}, {"shared memory and occupancy", test_shared}, {"faults", test_faults},
    {"contexts that are made", test_made_contexts}, {"addresses and devices", test_addresses},
    {"host memory", test_host_memory}, {"pointers and pools", test_pointers}, {"pitch", test_pitch},
    {"stream queries", test_stream_queries}, {"libraries", test_libraries}, {"old launches", test_old_launch},
    {"potential block size", test_potential},
    {"memory limit", test_memory_limit}, {"threads", test_threads}, {"out of memory", test_oom}};

int main(void)
{
#define SIM_X(name, since)                                                                                             \
    {                                                                                                                  \
        void *symbol = kiln__sim_symbol(#name);                                                                        \
        memcpy(&call_##name, &symbol, sizeof symbol);                                                                  \
        if (!symbol)                                                                                                   \
            return 2;                                                                                                  \
    }
    SIM_API_MAP(SIM_X)
#undef SIM_X
    return check_main("sim cu", cases, sizeof cases / sizeof *cases);
}
