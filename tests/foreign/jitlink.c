/* Tests libnvJitLink.so.13 of the simulated device. Two PTX texts that need each other are linked, loaded by
 * libcuda.so.1, and run. The exit code is 0 if everything succeeded. */
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvjitlink.h"

enum { MISSING_ARCH = 2, INVALID_INPUT = 3, PTX_COMPILE = 4, FINALIZE = 9, NULL_INPUT = 10, PTX = 2, LIBRARY = 6 };

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"
static const char kernel[] = HEAD ".extern .func (.param .b32 r) twice(.param .b32 x);\n"
                                  ".visible .entry k(.param .u64 p)\n"
                                  "{\n"
                                  " .reg .b64 %a; .reg .b32 %x; .param .b32 in, out;\n"
                                  " ld.param.u64 %a, [p]; ld.global.b32 %x, [%a];\n"
                                  " st.param.b32 [in], %x; call (out), twice, (in); ld.param.b32 %x, [out];\n"
                                  " st.global.b32 [%a], %x; ret;\n"
                                  "}\n";
static const char function[] = HEAD
    ".visible .func (.param .b32 r) twice(.param .b32 x)\n"
    "{ .reg .b32 %x; ld.param.b32 %x, [x]; add.s32 %x, %x, %x; st.param.b32 [r], %x; ret; }\n";

static int failures;
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);                             \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)

static int run(const void *image)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction k;
    CUdeviceptr p;
    int value = 21;
    void *arguments[] = {&p};
    if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) ||
        cuCtxPushCurrent(context) || cuModuleLoadData(&module, image) || cuModuleGetFunction(&k, module, "k") ||
        cuMemAlloc(&p, sizeof value) || cuMemcpyHtoD(p, &value, sizeof value) ||
        cuLaunchKernel(k, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL) || cuMemcpyDtoH(&value, p, sizeof value))
        return -1;
    cuModuleUnload(module);
    cuMemFree(p);
    cuDevicePrimaryCtxRelease(device);
    return value;
}

static void test_failures(const char **options)
{
    nvJitLinkHandle link = NULL;
    size_t size = 0;
    char log[1000] = "";
    CHECK(nvJitLinkCreate(&link, 0, NULL) == MISSING_ARCH && !link);
    CHECK(nvJitLinkCreate(NULL, 1, options) == NULL_INPUT);
    CHECK(nvJitLinkDestroy(&link) == NULL_INPUT);
    CHECK(nvJitLinkCreate(&link, 1, options) == 0);
    CHECK(nvJitLinkComplete(link) == INVALID_INPUT); /* the link has no input */
    CHECK(nvJitLinkGetLinkedCubinSize(link, &size) == FINALIZE);
    CHECK(nvJitLinkAddData(link, 99, kernel, sizeof kernel - 1, "a") == INVALID_INPUT);
    CHECK(nvJitLinkAddFile(link, LIBRARY, "/nowhere/at/all.a") == INVALID_INPUT);
    CHECK(nvJitLinkAddData(link, PTX, kernel, sizeof kernel - 1, "a") == 0);
    CHECK(nvJitLinkComplete(link) == PTX_COMPILE);
    CHECK(nvJitLinkGetErrorLogSize(link, &size) == 0 && size < sizeof log);
    CHECK(nvJitLinkGetErrorLog(link, log) == 0 && strstr(log, "twice"));
    CHECK(nvJitLinkDestroy(&link) == 0 && !link);
}

int main(void)
{
    const char *options[] = {"-arch=sm_90"};
    nvJitLinkHandle link = NULL;
    unsigned major = 0, minor = 9;
    size_t size = 0;
    CHECK(nvJitLinkVersion(&major, &minor) == 0 && major == 13 && minor == 0);
    test_failures(options);
    CHECK(nvJitLinkCreate(&link, 1, options) == 0);
    CHECK(nvJitLinkAddData(link, PTX, kernel, sizeof kernel - 1, "kernel") == 0);
    CHECK(nvJitLinkAddData(link, PTX, function, sizeof function - 1, NULL) == 0);
    CHECK(nvJitLinkComplete(link) == 0);
    CHECK(nvJitLinkGetLinkedCubinSize(link, &size) == 0 && size > 0);
    unsigned char *image = malloc(size);
    CHECK(image && nvJitLinkGetLinkedCubin(link, image) == 0);
    CHECK(nvJitLinkAddData(link, PTX, kernel, sizeof kernel - 1, "late") == INVALID_INPUT);
    CHECK(nvJitLinkDestroy(&link) == 0);
    CHECK(image && run(image) == 42);
    free(image);
    return failures ? 1 : 0;
}
