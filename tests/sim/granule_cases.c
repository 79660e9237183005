/* Tests accesses beyond the allocated memory. Each access runs in a separate process, because a fault ends the context.
 * It prints a line "case: result". The kernel has one thread, 100 bytes of global memory, and 100 bytes of shared
 * memory. granule_cases.txt is the output of the simulated device and of an H200 (driver 580). An access to global
 * memory faults by pages of 2 MiB, so only the case at 268435456 faults. The granule of shared memory is 128 bytes.
 * Exit codes: 0 if all cases ran; 77 if there is no device.
 *
 *     gcc -o granule_cases tests/sim/granule_cases.c -I<cuda>/include -L<build>/lib/kiln -lcuda
 *     LD_LIBRARY_PATH=<build>/lib/kiln ./granule_cases   (simulated)         ./granule_cases   (GPU) */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define KERNEL(name, body)                                                                                             \
    ".visible .entry " name "(.param .u64 p, .param .u32 at)\n{ .reg .b64 %a, %o; .reg .b32 %x<5>, %s;\n"              \
    " .shared .align 16 .b8 m[100];\n"                                                                                 \
    " ld.param.u64 %a, [p]; ld.param.u32 %s, [at]; cvta.to.global.u64 %a, %a; cvt.s64.s32 %o, %s;\n"                   \
    " mov.u32 %x0, m; add.u32 %s, %s, %x0; mov.u32 %x0, 7; add.s64 %o, %o, %a;\n" body " ret; }\n"

static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n" KERNEL(
    "load", "ld.volatile.global.u32 %x1, [%o]; st.global.u32 [%a], %x0;")
    KERNEL("load4", "ld.volatile.global.v4.u32 {%x1, %x2, %x3, %x4}, [%o]; st.global.u32 [%a], %x1;")
        KERNEL("store", "st.volatile.global.u32 [%o], %x0; st.global.u32 [%a], %x0;")
            KERNEL("atomic", "atom.global.add.u32 %x1, [%o], %x0; st.global.u32 [%a], %x0;")
                KERNEL("load_shared", "ld.volatile.shared.u32 %x1, [%s]; st.global.u32 [%a], %x0;")
                    KERNEL("store_shared", "st.volatile.shared.u32 [%s], %x0; st.global.u32 [%a], %x0;");

static const struct {
    const char *kernel;
    int at;
} cases[] = {{"load", 0},
             {"load", 100},
             {"load", 508},
             {"load", 512},
             {"load", 1 << 20},
             {"load", 1 << 28},
             {"load", -4},
             {"load", 2},
             {"load4", 96},
             {"store", 100},
             {"store", 508},
             {"store", 512},
             {"atomic", 508},
             {"atomic", 512},
             {"load_shared", 96},
             {"load_shared", 124},
             {"load_shared", 128},
             {"load_shared", 1020},
             {"load_shared", 1024},
             {"load_shared", 1 << 16},
             {"load_shared", 1 << 18},
             {"store_shared", 124},
             {"store_shared", 128},
             {"store_shared", 1024}};

static int run(const char *kernel, int at)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CUdeviceptr memory;
    unsigned word = 0;
    const char *name = NULL;
    if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS)
        return 77;
    if (cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS || cuCtxSetCurrent(context) != CUDA_SUCCESS ||
        cuModuleLoadData(&module, text) != CUDA_SUCCESS ||
        cuModuleGetFunction(&function, module, kernel) != CUDA_SUCCESS || cuMemAlloc(&memory, 100) != CUDA_SUCCESS)
        return 1;
    void *arguments[] = {&memory, &at};
    cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL);
    CUresult result = cuCtxSynchronize();
    cuGetErrorName(result, &name);
    printf("%s at %d: %s", kernel, at, name ? name : "?");
    result = cuMemcpyDtoH(&word, memory, sizeof word);
    printf(result == CUDA_SUCCESS ? ", the kernel went on\n" : ", the context is lost\n");
    return fflush(stdout) != 0;
}

int main(void)
{
    for (unsigned k = 0; k < sizeof cases / sizeof *cases; k++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0)
            _Exit(run(cases[k].kernel, cases[k].at));
        if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
            return WIFEXITED(status) && WEXITSTATUS(status) == 77 ? 77 : 1;
    }
    return 0;
}
