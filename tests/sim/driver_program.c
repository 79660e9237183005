/* A program for the CUDA driver API that knows nothing of Kiln. It uses only cuda.h, -lcuda and PTX text. It runs on
 * the simulated device's libcuda.so.1, and ends with 0 if all results are right. */
#include <string.h>

#include "program.h"

static const char text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n"
    "{\n"
    " .reg .pred %p; .reg .f32 %x, %y, %z; .reg .b32 %i, %n, %t; .reg .b64 %a, %b, %c, %o;\n"
    " ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; ld.param.u64 %c, [c]; ld.param.u32 %n, [n];\n"
    " mov.u32 %i, %ctaid.x; mov.u32 %t, %ntid.x; mul.lo.u32 %i, %i, %t; mov.u32 %t, %tid.x; add.u32 %i, %i, %t;\n"
    " setp.ge.u32 %p, %i, %n;\n"
    " @%p bra END;\n"
    " cvta.to.global.u64 %a, %a; cvta.to.global.u64 %b, %b; cvta.to.global.u64 %c, %c;\n"
    " mul.wide.u32 %o, %i, 4; add.u64 %a, %a, %o; add.u64 %b, %b, %o; add.u64 %c, %c, %o;\n"
    " ld.global.f32 %x, [%a]; ld.global.f32 %y, [%b]; add.rn.f32 %z, %x, %y; st.global.f32 [%c], %z;\n"
    "END: ret;\n"
    "}\n";

enum { N = 10000 };
static float a[N], b[N], c[N];

static void CUDA_CB count(void *calls) { ++*(int *)calls; }

/* Loads a module on a device, copies, launches a kernel between two events, and compares the result. Returns the exit
 * code. */
static int run(CUdevice device)
{
    CUcontext context;
    CUmodule module;
    CUfunction add;
    CUstream stream;
    CUevent start, end;
    CUdeviceptr da, db, dc;
    float milliseconds = -1;
    int calls = 0, grid = 0, block = 0;
    unsigned n = N;
    TRY(cuDevicePrimaryCtxRetain(&context, device));
    TRY(cuCtxPushCurrent(context));
    TRY(cuModuleLoadData(&module, text));
    TRY(cuModuleGetFunction(&add, module, "add"));
    TRY(cuOccupancyMaxPotentialBlockSize(&grid, &block, add, NULL, 0, 256));
    TRY(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    TRY(cuEventCreate(&start, CU_EVENT_DEFAULT));
    TRY(cuEventCreate(&end, CU_EVENT_DEFAULT));
    TRY(cuMemAlloc(&da, sizeof a));
    TRY(cuMemAlloc(&db, sizeof b));
    TRY(cuMemAllocAsync(&dc, sizeof c, stream));
    TRY(cuMemcpyHtoDAsync(da, a, sizeof a, stream));
    TRY(cuMemcpyHtoD(db, b, sizeof b));
    void *arguments[] = {&da, &db, &dc, &n};
    TRY(cuEventRecord(start, stream));
    TRY(cuLaunchKernel(add, (N + (unsigned)block - 1) / (unsigned)block, 1, 1, (unsigned)block, 1, 1, 0, stream,
                       arguments, NULL));
    TRY(cuEventRecord(end, stream));
    TRY(cuLaunchHostFunc(stream, count, &calls));
    TRY(cuMemcpyDtoHAsync(c, dc, sizeof c, stream));
    TRY(cuStreamSynchronize(stream));
    TRY(cuEventElapsedTime(&milliseconds, start, end));
    for (int i = 0; i < N; i++)
        if (c[i] != a[i] + b[i]) {
            fprintf(stderr, "c[%d] is %g, not %g\n", i, (double)c[i], (double)(a[i] + b[i]));
            return 1;
        }
    TRY(cuMemFreeAsync(dc, stream));
    TRY(cuMemFree(da));
    TRY(cuMemFree(db));
    TRY(cuEventDestroy(start));
    TRY(cuEventDestroy(end));
    TRY(cuStreamDestroy(stream));
    TRY(cuModuleUnload(module));
    TRY(cuCtxPopCurrent(&context));
    TRY(cuDevicePrimaryCtxRelease(device));
    return calls == 1 && milliseconds >= 0 ? 0 : 1;
}

/* Runs a kernel whose assertion fails, with a text that would clear a terminal. */
static int fail_assertion(void)
{
    static const char clears[] =
        ".version 7.0\n.target sm_70\n.address_size 64\n.global .align 8 .b8 what[5] = {27, 91, 50, 74, 0};\n"
        ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n"
        ".visible .entry k()\n{ .reg .b64 %a; .reg .b32 %x; .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d;\n"
        ".param .b64 e; mov.u64 %a, what; cvta.global.u64 %a, %a; mov.u32 %x, 1; st.param.b64 [a], %a;\n"
        "st.param.b64 [b], %a; st.param.b32 [c], %x; st.param.b64 [d], %a; st.param.b64 [e], 1;\n"
        "call.uni __assertfail, (a, b, c, d, e); ret; }\n";
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction k;
    TRY(cuInit(0));
    TRY(cuDeviceGet(&device, 0));
    TRY(cuDevicePrimaryCtxRetain(&context, device));
    TRY(cuCtxSetCurrent(context));
    TRY(cuModuleLoadData(&module, clears));
    TRY(cuModuleGetFunction(&k, module, "k"));
    cuLaunchKernel(k, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    return cuCtxSynchronize() == CUDA_ERROR_ASSERT ? 0 : 1;
}

/* With an argument, only an assertion fails. */
int main(int count, char **arguments)
{
    (void)arguments;
    if (count > 1)
        return fail_assertion();
    CUdevice device;
    char name[128];
    int version = 0;
    void *function = NULL;
    CUdriverProcAddressQueryResult found;
    for (int i = 0; i < N; i++) {
        a[i] = (float)i;
        b[i] = 0.25f * (float)(N - i);
    }
    TRY(cuInit(0));
    TRY(cuDriverGetVersion(&version));
    TRY(cuDeviceGet(&device, 0));
    TRY(cuDeviceGetName(name, (int)sizeof name, device));
    TRY(cuGetProcAddress("cuMemAlloc", &function, CUDA_VERSION, CU_GET_PROC_ADDRESS_DEFAULT, &found));
    printf("%s, driver %d\n", name, version);
    return function && found == CU_GET_PROC_ADDRESS_SUCCESS ? run(device) : 1;
}
