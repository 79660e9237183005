/* The simulated driver through its own table, as a program that uses the driver API would: every function, its argument
 * checks, and what happens after a fault. */
#include <cuda.h>
#include <pthread.h>

#include "check.h"
#include "sim/cu_internal.h"

/* cu(Name)(...) calls the function that the table has under the API's own name. */
#define SIM_X(name) static __typeof__(name) *call_##name;
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
    FAILS(NO_BINARY_FOR_GPU, try_load("\x50\xed\x55\xba", log, sizeof log));
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
    {"memory limit", test_memory_limit}, {"threads", test_threads}, {"out of memory", test_oom}};

int main(void)
{
#define SIM_X(name)                                                                                                    \
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
