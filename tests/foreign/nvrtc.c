/* A program that asks NVRTC for machine code through the library that stands in front of it. It loads and runs the
 * result. It exits with 77 if there is no NVRTC behind the library. */
#include <cuda.h>
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        int got = (int)(call);                                                                                         \
        if (got != 0) {                                                                                                \
            printf("line %d: %s: %d\n", __LINE__, #call, got);                                                         \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

static const char source[] = "#ifndef sm_factor\n#define sm_factor 2\n#endif\n"
                             "extern \"C\" __global__ void twice(int *p) { p[threadIdx.x] *= sm_factor; }\n";

/* Runs the kernel, which multiplies by `factor`. Returns whether the result is wrong. */
static int run(const char *image, int factor)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction twice;
    CUdeviceptr memory;
    int values[4] = {1, 2, 3, 4};
    void *arguments[] = {&memory};
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
    OK(cuModuleLoadData(&module, image));
    OK(cuModuleGetFunction(&twice, module, "twice"));
    OK(cuMemAlloc(&memory, sizeof values));
    OK(cuMemcpyHtoD(memory, values, sizeof values));
    OK(cuLaunchKernel(twice, 1, 1, 1, 4, 1, 1, 0, NULL, arguments, NULL));
    OK(cuMemcpyDtoH(values, memory, sizeof values));
    printf("%d %d %d %d\n", values[0], values[1], values[2], values[3]);
    return values[0] != factor || values[3] != 4 * factor;
}

int main(void)
{
    int major = 0, minor = 0, wrong = 0;
    if (nvrtcVersion(&major, &minor) != NVRTC_SUCCESS) {
        printf("SKIP nvrtc: no NVRTC\n");
        return 77;
    }
    const char *const options[][2] = {{"-arch=sm_80", "-lineinfo"},
                                      {"--gpu-architecture=sm_90", "-lineinfo"},
                                      {"-arch", "sm_80"},
                                      {"-arch=compute_80", "-lineinfo"},
                                      {"-D", "sm_factor=5"}}; /* sm_factor looks like an architecture, but is not one */
    const size_t last = sizeof options / sizeof options[0] - 1;
    for (size_t i = 0; i <= last; i++) {
        nvrtcProgram program;
        size_t size = 0;
        OK(nvrtcCreateProgram(&program, source, "twice.cu", 0, NULL, NULL));
        OK(nvrtcCompileProgram(program, 2, options[i]));
        OK(nvrtcGetCUBINSize(program, &size));
        char *image = calloc(size + 1, 1);
        OK(nvrtcGetCUBIN(program, image));
        wrong += run(image, i == last ? 5 : 2);
        free(image);
        OK(nvrtcDestroyProgram(&program));
    }
    /* An error of the compiler is returned unchanged. */
    nvrtcProgram program;
    const char *bad[] = {"-arch=sm_1"};
    OK(nvrtcCreateProgram(&program, source, "twice.cu", 0, NULL, NULL));
    wrong += nvrtcCompileProgram(program, 1, bad) != NVRTC_ERROR_INVALID_OPTION;
    wrong += strcmp(nvrtcGetErrorString(NVRTC_ERROR_INVALID_OPTION), "NVRTC_ERROR_INVALID_OPTION") != 0;
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
