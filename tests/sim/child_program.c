/* A program for the driver API whose kernels launch kernels. It runs on the simulated driver and on a GPU:
 *
 *     child_program child.ptx [libcudadevrt.a]
 *
 * If libcudadevrt.a is given, the program links the code with it. A GPU needs this library. Otherwise the program loads
 * the code directly. It compares the results with results that were computed by hand, and prints those that differ. The
 * exit code is 1 if there is a difference. */
#include <cuda.h>
#include <stdio.h>
#include <string.h>

enum { WORDS = 4096, CHECKED = 12 };
static char said[4096];
static int failures;

static int ok(CUresult result, const char *what)
{
    const char *name = "?";
    if (result == CUDA_SUCCESS)
        return 1;
    cuGetErrorName(result, &name);
    printf("%s: %s %s\n", what, name, said);
    failures++;
    return 0;
}
#define OK(call) ok(call, #call)

static CUmodule load(const char *ptx, const char *runtime)
{
    CUmodule module = NULL;
    CUlinkState state = NULL;
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {said, (void *)sizeof said}, *image = NULL;
    size_t size = 0;
    if (!runtime)
        return OK(cuModuleLoad(&module, ptx)) ? module : NULL;
    if (OK(cuLinkCreate(2, options, values, &state)) &&
        OK(cuLinkAddFile(state, CU_JIT_INPUT_PTX, ptx, 0, NULL, NULL)) &&
        OK(cuLinkAddFile(state, CU_JIT_INPUT_LIBRARY, runtime, 0, NULL, NULL)) &&
        OK(cuLinkComplete(state, &image, &size)))
        OK(cuModuleLoadData(&module, image));
    if (state)
        OK(cuLinkDestroy(state));
    return module;
}

/* A test compares the words from word `from` on with want[]. If want[] has ANY, the word is not compared. */
#define ANY (-12345)
typedef struct test {
    const char *kernel;
    int argument, threads, from, count, want[CHECKED];
} test;
static const test tests[] = {
    {"order", 0, 1, 0, 6, {5, ANY, ANY, ANY, 10, 11}}, /* the first three values may come in any order */
    {"tails", 0, 1, 0, 4, {3, 20, 21, 30}},
    {"again", 1000, 1, 0, 1, {1000}},
    {"one_each", 3, 32, 31, 2, {3, 6}},
    {"one_each", 3, 32, 127, 2, {12, 0}},
    {"tree", 7, 1, 0, 2, {128, 127}},
    {"light", 0, 32, 0, 3, {31, 30, 29}},
    {"pending", 100, 1, 0, 3, {100, 0, 100}},
    {"streams", 0, 1, 20, 7, {0, 0, 0, 0, 0, 0, 0}},
    {"moves", 0, 1, 40, 5, {0, 0, 0, 0, 0}}, /* the results of the copies and fills */
    {"moves", 0, 1, 0, 4, {0x11111111, 0x11111111, 0x11111111, 0x11111111}},
    {"moves", 0, 1, 4, 6, {0x11111111, 0x11111111, 0, 0, 0x22222222, 0x22222222}},
    {"moves", 0, 1, 20, 6, {0x22222222, 0x22222222, 0x22222222, 0x22222222, 0x22222222, 0x22222222}},
    {"moves", 0, 1, 30, 7, {1, 1, ANY, 0, 7, 0, 2}},
    {"shapes", 0, 1, 0, 6, {9, 9, 9, 9, 9, 9}},
    {"shapes", 0, 1, 10, 7, {'i', 'n', 'v', 'a', 'l', 'i', 'd'}},
    /* the depth of the launches and the error that ended them are not compared, because a GPU has other limits */
    {"down", 0, 1, 0, 3, {ANY, ANY, 0}},
    {"unknown_stream", 0, 1, 0, 2, {1, 0}},
};

static void run(CUmodule module, CUdeviceptr to, const test *t)
{
    static int got[WORDS];
    int argument = t->argument;
    void *arguments[] = {&to, &argument};
    CUfunction kernel = NULL;
    printf("%s\n", t->kernel);
    if (!OK(cuModuleGetFunction(&kernel, module, t->kernel)) || !OK(cuMemsetD8(to, 0, sizeof got)) ||
        !OK(cuLaunchKernel(kernel, 1, 1, 1, (unsigned)t->threads, 1, 1, 0, NULL, arguments, NULL)) ||
        !OK(cuMemcpyDtoH(got, to, sizeof got)))
        return;
    for (int k = 0; k < t->count; k++)
        if (t->want[k] != ANY && got[t->from + k] != t->want[k]) {
            printf("  word %d: got %d, want %d\n", t->from + k, got[t->from + k], t->want[k]);
            failures++;
        }
}

int main(int count, char **arguments)
{
    CUdevice device = 0;
    CUcontext context = NULL;
    CUdeviceptr to = 0;
    if (count < 2 || !OK(cuInit(0)) || !OK(cuDeviceGet(&device, 0)) ||
        !OK(cuDevicePrimaryCtxRetain(&context, device)) || !OK(cuCtxSetCurrent(context)) ||
        !OK(cuMemAlloc(&to, WORDS * sizeof(int))))
        return 2;
    CUmodule module = load(arguments[1], count > 2 ? arguments[2] : NULL);
    for (size_t k = 0; module && k < sizeof tests / sizeof *tests; k++)
        run(module, to, &tests[k]);
    OK(cuDevicePrimaryCtxRelease(device));
    return failures != 0;
}
