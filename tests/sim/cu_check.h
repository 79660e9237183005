/* cu_check.h - shared by the suites of the simulated driver: calls of the driver's functions through its table, a
 * context, and PTX. */
#ifndef KILN_TESTS_CU_CHECK_H
#define KILN_TESTS_CU_CHECK_H

#include <pthread.h>
#include <unistd.h>

#include "check.h"
#include "cu_graph.h"

/* call_NAME is the function in the driver table for the API's function NAME. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#define SIM_X(name, since) static __typeof__(name) *call_##name __attribute__((unused));
SIM_API_MAP(SIM_X)
SIM_PROGRAMS_API_MAP(SIM_X)
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
__attribute__((unused)) static const char saxpy[] = HEAD
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

/* writes 1 to *p */
__attribute__((unused)) static const char faults[] = HEAD
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

static inline void open_device(void)
{
    OK(call_cuInit(0));
    OK(call_cuDeviceGet(&device, 0));
    OK(call_cuDevicePrimaryCtxRetain(&primary, device));
    OK(call_cuCtxSetCurrent(primary));
}

static inline void close_device(void)
{
    OK(call_cuCtxSetCurrent(NULL));
    OK(call_cuDevicePrimaryCtxRelease(device));
}

static inline CUmodule load(const char *text)
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

static inline CUfunction kernel(CUmodule module, const char *name)
{
    CUfunction function = NULL;
    OK(call_cuModuleGetFunction(&function, module, name));
    return function;
}

static inline CUresult launch(CUfunction function, unsigned grid, unsigned block, unsigned shared, void **arguments)
{
    return call_cuLaunchKernel(function, grid, 1, 1, block, 1, 1, shared, NULL, arguments, NULL);
}

/* Looks up all of the driver's functions, and runs the suite. */
static inline int cu_main(int argc, char **argv, const char *name, const check_case *cases, size_t count)
{
    kiln__sim_add_programs();
#define SIM_X(function, since)                                                                                         \
    {                                                                                                                  \
        void *symbol = kiln__sim_symbol(#function);                                                                    \
        memcpy(&call_##function, &symbol, sizeof symbol);                                                              \
        if (!symbol)                                                                                                   \
            return 2;                                                                                                  \
    }
    SIM_API_MAP(SIM_X)
    SIM_PROGRAMS_API_MAP(SIM_X)
#undef SIM_X
    return check_main(argc, argv, name, cases, count);
}
#define CU_SUITE(name, cases)                                                                                          \
    int main(int count, char **arguments)                                                                              \
    {                                                                                                                  \
        return cu_main(count, arguments, name, cases, sizeof(cases) / sizeof *(cases));                                \
    }
#endif
