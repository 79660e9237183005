/* A program that ends while another thread runs a checked kernel, which would run for hours. The process must end at
 * once, with a report. No thread may change the findings while they are shown, and the thread sanitizer checks this. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "program.h"

static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                           ".visible .entry k(.param .u64 to)\n"
                           "{\n"
                           " .reg .b32 %n, %x; .reg .b64 %a; .reg .pred %p;\n"
                           " ld.param.u64 %a, [to]; cvta.to.global.u64 %a, %a; mov.u32 %n, 0;\n"
                           "loop:\n"
                           " st.global.u32 [%a+4096], %n; atom.sys.global.add.u32 %x, [%a], 1; add.u32 %n, %n, 1;\n"
                           " setp.ne.u32 %p, %n, 0; @%p bra loop; ret;\n"
                           "}\n";

static CUcontext context;
static CUfunction kernel;
static unsigned *counter;

static void *run(void *unused)
{
    void *arguments[] = {&counter};
    (void)unused;
    cuCtxSetCurrent(context);
    /* only the end of the process stops this kernel */
    cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL);
    return NULL;
}

int main(void)
{
    CUdevice device;
    CUmodule module;
    pthread_t thread;
    TRY(cuInit(0));
    TRY(cuDeviceGet(&device, 0));
    TRY(cuCtxCreate(&context, NULL, 0, device));
    TRY(cuModuleLoadData(&module, text));
    TRY(cuModuleGetFunction(&kernel, module, "k"));
    TRY(cuMemHostAlloc((void **)&counter, 64, CU_MEMHOSTALLOC_PORTABLE));
    *counter = 0;
    if (pthread_create(&thread, NULL, run, NULL) != 0 || pthread_detach(thread) != 0)
        return 1;
    while (__atomic_load_n(counter, __ATOMIC_RELAXED) < 1000)
        sched_yield();
    exit(0);
}
