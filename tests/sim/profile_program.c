/* A program for the driver API with a known profile, for `kiln sim run --profile` (program_profile.py):
 *
 *     profile_program WAY [COUNT]
 *
 * It copies a block of floats to the device, runs a kernel COUNT times on it, and copies it back. WAY tells how the program
 * ends, or which other work it does; see main(). */
#include <cuda.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* nvcc gives this name to `template <int> void twice(float *)` with the argument 4. The kernel computes x[i] *= 2. */
#define NAME "_Z5twiceILi4EEvPf"
static const char text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry " NAME "(.param .u64 x)\n"
    "{ .reg .f32 %v; .reg .b32 %i, %n, %t; .reg .b64 %x, %o;\n"
    " ld.param.u64 %x, [x]; cvta.to.global.u64 %x, %x;\n"
    " mov.u32 %i, %ctaid.x; mov.u32 %n, %ntid.x; mov.u32 %t, %tid.x; mad.lo.u32 %i, %i, %n, %t;\n"
    " mul.wide.u32 %o, %i, 4; add.u64 %x, %x, %o;\n"
    " ld.global.f32 %v, [%x]; add.rn.f32 %v, %v, %v; st.global.f32 [%x], %v; ret; }\n";

enum { BLOCK = 256, BLOCKS = 64, N = BLOCK * BLOCKS };
static float x[N], y[N];

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        CUresult result_ = (call);                                                                                     \
        if (result_ != CUDA_SUCCESS) {                                                                                 \
            fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, (int)result_);                               \
            exit(99);                                                                                                  \
        }                                                                                                              \
    } while (0)

static CUfunction open_device(void)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction twice;
    TRY(cuInit(0));
    TRY(cuDeviceGet(&device, 0));
    TRY(cuDevicePrimaryCtxRetain(&context, device));
    TRY(cuCtxPushCurrent(context));
    TRY(cuModuleLoadData(&module, text));
    TRY(cuModuleGetFunction(&twice, module, NAME));
    return twice;
}

static void launch(CUfunction twice, CUdeviceptr at, unsigned blocks, CUstream stream)
{
    void *arguments[] = {&at};
    TRY(cuLaunchKernel(twice, blocks, 1, 1, BLOCK, 1, 1, 0, stream, arguments, NULL));
}

static void work(int count)
{
    CUdeviceptr at;
    CUfunction twice = open_device();
    for (int i = 0; i < N; i++)
        x[i] = (float)i;
    TRY(cuMemAlloc(&at, sizeof x));
    TRY(cuMemcpyHtoD(at, x, sizeof x));
    for (int k = 0; k < count; k++)
        launch(twice, at, BLOCKS, NULL);
    TRY(cuMemcpyDtoH(y, at, sizeof y));
    float scale = 1;
    for (int k = 0; k < count; k++)
        scale *= 2;
    for (int i = 0; i < N; i++)
        if (y[i] < x[i] * scale || y[i] > x[i] * scale)
            exit(98);
    puts("the answer is right");
}

/* Runs copies and kernels in two streams of each kind. program_profile.py has the expected order. */
static void streams(void)
{
    CUfunction twice = open_device();
    CUstream a, b, other;
    CUevent event;
    CUdeviceptr at;
    void *host;
    const size_t bytes = 1 << 20;
    TRY(cuMemAlloc(&at, 2 * bytes));
    TRY(cuMemAllocHost(&host, 2 * bytes));
    memset(host, 0, 2 * bytes);
    TRY(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    TRY(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    TRY(cuStreamCreate(&other, CU_STREAM_DEFAULT));
    TRY(cuEventCreate(&event, CU_EVENT_DEFAULT));
    TRY(cuMemcpyHtoDAsync(at, host, bytes, a)); /* 1: stream a */
    launch(twice, at + bytes, 16, b);           /* 2: beside it */
    TRY(cuEventRecord(event, a));
    TRY(cuStreamWaitEvent(b, event, 0));
    launch(twice, at, 16, b);     /* 3: after 1 and 2 */
    launch(twice, at, 16, other); /* 4: overlaps all launches before it */
    launch(twice, at, 16, NULL);  /* 5: after 4, overlaps the others */
    TRY(cuCtxSynchronize());
    launch(twice, at, 16, a); /* 6: after all launches, because the host waited */
}

/* Copies pinned memory to and from the device by calls that declare it as device memory. */
static void pinned(void)
{
    CUdeviceptr at, mapped;
    void *host;
    open_device();
    TRY(cuMemAlloc(&at, sizeof x));
    TRY(cuMemHostAlloc(&host, sizeof x, CU_MEMHOSTALLOC_DEVICEMAP));
    memset(host, 0, sizeof x);
    TRY(cuMemHostGetDevicePointer(&mapped, host, 0));
    TRY(cuMemcpyDtoD(at, mapped, sizeof x));
    TRY(cuMemcpyDtoD(mapped, at, sizeof x));
}

/* Runs the same kernel on two devices, which do not wait for each other. program_profile.py has the expected result. */
static void devices(void)
{
    CUfunction twice[2];
    CUcontext contexts[2];
    CUdeviceptr at[2];
    CUstream stream;
    twice[0] = open_device();
    TRY(cuCtxGetCurrent(&contexts[0]));
    TRY(cuMemAlloc(&at[0], sizeof x));
    CUmodule module;
    TRY(cuDevicePrimaryCtxRetain(&contexts[1], 1));
    TRY(cuCtxSetCurrent(contexts[1]));
    TRY(cuModuleLoadData(&module, text));
    TRY(cuModuleGetFunction(&twice[1], module, NAME));
    TRY(cuMemAlloc(&at[1], sizeof x));
    TRY(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    TRY(cuCtxSetCurrent(contexts[0]));
    launch(twice[0], at[0], BLOCKS, NULL); /* 1, 2: one after the other */
    launch(twice[0], at[0], BLOCKS, NULL);
    TRY(cuCtxSetCurrent(contexts[1]));
    launch(twice[1], at[1], BLOCKS, NULL);   /* 3: overlaps 1 */
    TRY(cuCtxSynchronize());                 /* waits for the second device */
    launch(twice[1], at[1], BLOCKS, stream); /* 4: after 3, not after 2 */
}

static void forked(void)
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        work(2);
        fflush(stdout);
        _exit(0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0)
        exit(97);
    work(3);
}

/* Closes all files, as daemons do. The program's next files get their numbers, and the driver must not write to
 * these. */
static void close_files(void)
{
    char read_back[16] = "";
    CUdeviceptr at;
    CUfunction twice = open_device();
    TRY(cuMemAlloc(&at, sizeof x));
    launch(twice, at, BLOCKS, NULL);
    for (int fd = 3; fd < 64; fd++)
        close(fd);
    const int own = open(".", O_TMPFILE | O_RDWR, 0600);
    if (own < 0 || write(own, "mine", 4) != 4)
        exit(96);
    launch(twice, at, BLOCKS, NULL);
    if (pread(own, read_back, sizeof read_back, 0) != 4)
        exit(95);
}

/* Other tests examine the profile of this program. Its first argument chooses its work, and the way in which it
 * ends. */
int main(int count, char **words)
{
    const char *way = count > 1 ? words[1] : "";
    const int times = count > 2 ? atoi(words[2]) : 1;
    if (strcmp(way, "streams") == 0)
        streams();
    else if (strcmp(way, "pinned") == 0)
        pinned();
    else if (strcmp(way, "devices") == 0)
        devices();
    else if (strcmp(way, "fork") == 0)
        forked();
    else if (strcmp(way, "close") == 0)
        close_files();
    else if (strcmp(way, "nothing") != 0)
        work(times);
    fflush(stdout);
    if (strcmp(way, "_exit") == 0)
        _exit(3);
    if (strcmp(way, "abort") == 0)
        abort();
    if (strcmp(way, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(way, "exec") == 0)
        execl(words[0], words[0], "exit", "2", (char *)NULL);
    if (strcmp(way, "wait") == 0)
        for (;;)
            pause();
    return strcmp(way, "seven") == 0 ? 7 : 0;
}
