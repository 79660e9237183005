/* own_context.c - How do I use my own CUDA context, stream and device pointers?
 *
 * Usage: own_context specs/examples/first.yaml
 *
 * The program links with libcuda and owns everything on the device. Kiln loads modules into the program's context, and
 * frees only what Kiln made. To run this program without a GPU: kiln sim run own_context specs/examples/first.yaml */
#include <cuda.h>
#include <kiln.h>
#include <stdio.h>

enum { N = 1000 };

/* Ends the program if a call fails. The driver and Kiln both return 0 for success. */
#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        if (call)                                                                                                      \
            return fprintf(stderr, "failed: %s %s\n", #call, error ? kiln_error_message(error) : ""), 1;               \
    } while (0)

int main(int count, char **arguments)
{
    static float x[N], y[N];
    for (int i = 0; i < N; i++)
        x[i] = y[i] = (float)i;
    kiln_error *error = NULL;
    CUdevice device;
    CUcontext context;
    CUstream stream;
    CUdeviceptr at_x, at_y;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&at_x, sizeof x) || cuMemAlloc(&at_y, sizeof y));
    CHECK(cuMemcpyHtoD(at_x, x, sizeof x) || cuMemcpyHtoD(at_y, y, sizeof y));

    /* "cuda:0" says that libcuda made the context. The engine works on the device of the context. */
    kiln_options options = {.size = sizeof options, .device = "cuda:0", .context = context};
    kiln_setting sizes[] = {{"N", {KILN_INT, {N}}}};
    kiln_choice choice = {.sizes = sizes, .size_count = 1};
    kiln_engine *engine = NULL;
    kiln_spec *spec = NULL;
    kiln_plan *plan = NULL;
    CHECK(kiln_engine_open(&options, &engine, &error));
    CHECK(kiln_spec_load(engine, count > 1 ? arguments[1] : "first", &spec, &error));
    CHECK(kiln_plan_open(engine, spec, &choice, &plan, &error));
    CHECK(kiln_plan_bind(plan, "x", at_x, sizeof x, &error)); /* Kiln compares the size with the size in the spec */
    CHECK(kiln_plan_bind(plan, "y", at_y, sizeof y, &error));
    CHECK(kiln_plan_launch(plan, stream, &error)); /* enqueues the launch and does not wait for it */
    CHECK(cuMemcpyDtoHAsync(y, at_y, sizeof y, stream));
    CHECK(cuStreamSynchronize(stream));
    printf("y[%d] is %d\n", N - 1, (int)y[N - 1]);
    kiln_plan_close(plan); /* the memory, the stream and the context are still the program's */
    kiln_spec_free(spec);
    kiln_engine_close(engine);
    CHECK(cuMemFree(at_x) || cuMemFree(at_y) || cuStreamDestroy(stream) || cuDevicePrimaryCtxRelease(device));
    return 0;
}
