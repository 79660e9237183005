/* Tests the driver without engine/sim/programs, as in a build with KILN_SIM_PROGRAMS=OFF. This program links only the
 * driver. It runs a kernel through the functions that Kiln's engine calls. The functions of programs/ must be missing,
 * and a request for a profile must fail. */
#include <unistd.h>

#include "check.h"
#include "cu_work.h"

#define SIM_X(name, since) static __typeof__(name) *call_##name __attribute__((unused));
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
SIM_API_MAP(SIM_X)
#undef SIM_X
#define OK(call) CHECK((call) == CUDA_SUCCESS)

static const char twice[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                            ".visible .entry twice(.param .u64 x)\n"
                            "{\n"
                            " .reg .b32 %r<3>; .reg .b64 %rd<4>;\n"
                            " ld.param.u64 %rd1, [x]; cvta.to.global.u64 %rd2, %rd1; mov.u32 %r1, %tid.x;\n"
                            " mul.wide.u32 %rd3, %r1, 4; add.s64 %rd2, %rd2, %rd3;\n"
                            " ld.global.u32 %r2, [%rd2]; add.u32 %r2, %r2, %r2; st.global.u32 [%rd2], %r2; ret;\n"
                            "}\n";

/* A launch, copies, a stream and an event work without programs/, and no stream is being captured. */
static void test_launch(void)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    CUstream stream;
    CUevent event;
    CUdeviceptr x;
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    uint32_t values[32];
    OK(call_cuInit(0));
    OK(call_cuDeviceGet(&device, 0));
    OK(call_cuDevicePrimaryCtxRetain(&context, device));
    OK(call_cuCtxSetCurrent(context));
    OK(call_cuModuleLoadDataEx(&module, twice, 0, NULL, NULL));
    OK(call_cuModuleGetFunction(&kernel, module, "twice"));
    OK(call_cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    OK(call_cuEventCreate(&event, CU_EVENT_DEFAULT));
    OK(call_cuMemAlloc(&x, sizeof values));
    OK(call_cuMemsetD32Async(x, 21, KILN__COUNT(values), stream));
    void *arguments[] = {&x};
    OK(call_cuLaunchKernel(kernel, 1, 1, 1, KILN__COUNT(values), 1, 1, 0, stream, arguments, NULL));
    OK(call_cuEventRecord(event, stream));
    OK(call_cuStreamWaitEvent(NULL, event, 0));
    OK(call_cuEventSynchronize(event));
    OK(call_cuMemcpyDtoHAsync(values, x, sizeof values, stream));
    OK(call_cuStreamSynchronize(stream));
    for (size_t i = 0; i < KILN__COUNT(values); i++)
        CU_ASSERT_EQUAL(values[i], 42);
    OK(call_cuStreamIsCapturing(stream, &capture));
    CU_ASSERT_EQUAL(capture, CU_STREAM_CAPTURE_STATUS_NONE);
    OK(call_cuMemFree(x));
    OK(call_cuEventDestroy(event));
    OK(call_cuStreamDestroy(stream));
    OK(call_cuModuleUnload(module));
    OK(call_cuCtxSynchronize());
    OK(call_cuCtxSetCurrent(NULL));
    OK(call_cuDevicePrimaryCtxRelease(device));
}

static void test_absent(void)
{
    static const char *const names[] = {"cuGraphCreate", "cuStreamBeginCapture", "cuMemAllocAsync",
                                        "cuIpcGetMemHandle"};
    void *function;
    CUdriverProcAddressQueryResult status;
    for (size_t i = 0; i < KILN__COUNT(names); i++) {
        CHECK(!kiln__sim_symbol(names[i]));
        OK(call_cuGetProcAddress(names[i], &function, 13000, 0, &status));
        CHECK(!function && status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    }
}

/* If the environment requests a profile, the driver refuses to make the context and says so. */
static void test_profile(void)
{
    CUdevice device;
    CUcontext context;
    OK(call_cuInit(0));
    OK(call_cuDeviceGet(&device, 0));
    setenv("KILN_SIM_PROFILE", "profile.json", 1);
    CHECK(call_cuDevicePrimaryCtxRetain(&context, device) == CUDA_ERROR_INVALID_VALUE);
    unsetenv("KILN_SIM_PROFILE");
    OK(call_cuDevicePrimaryCtxRetain(&context, device));
    OK(call_cuDevicePrimaryCtxRelease(device));
}

int main(int count, char **arguments)
{
    static const check_case cases[] = {
        {"launch", test_launch}, {"absent functions", test_absent}, {"a profile that is not there", test_profile}};
#define SIM_X(function, since)                                                                                         \
    {                                                                                                                  \
        void *symbol = kiln__sim_symbol(#function);                                                                    \
        memcpy(&call_##function, &symbol, sizeof symbol);                                                              \
        if (!symbol)                                                                                                   \
            return 2;                                                                                                  \
    }
    SIM_API_MAP(SIM_X)
#undef SIM_X
    return check_main(count, arguments, "the driver alone", cases, KILN__COUNT(cases));
}
