/* graph.c - How do I put the launches of a plan into a CUDA graph?
 *
 * Usage: graph specs/examples/first.yaml
 *
 * kiln_plan_launch() enqueues work on a stream, so a capture of the stream takes the launch into a graph. The variant
 * must not have steps on the host or a `while`: such steps wait for the stream, and a capture forbids waiting. To run
 * this program without a GPU: kiln sim run graph specs/examples/first.yaml */
#include <cuda.h>
#include <kiln.h>
#include <stdio.h>

enum { LAUNCHES = 3, REPLAYS = 4, N = 5000 };

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
        x[i] = 1;
    kiln_choice choice = {.size_set = "tiny"}; /* the size set `tiny` sets N */
    kiln_options options = {.size = sizeof options, .device = "cuda:0"};
    kiln_engine *engine = NULL;
    kiln_spec *spec = NULL;
    kiln_plan *plan = NULL;
    kiln_error *error = NULL;
    CUstream stream;
    CUgraph graph;
    CUgraphExec executable; /* owns a copy of the arguments of each launch */
    CHECK(cuInit(0) || cuDevicePrimaryCtxRetain(&options.context, 0));
    CHECK(cuCtxSetCurrent(options.context) || cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(kiln_engine_open(&options, &engine, &error));
    CHECK(kiln_spec_load(engine, count > 1 ? arguments[1] : "first", &spec, &error));
    CHECK(kiln_plan_open(engine, spec, &choice, &plan, &error));
    CHECK(kiln_plan_write(plan, "x", x, sizeof x, &error)); /* allocates memory, which a capture forbids */
    CHECK(kiln_plan_write(plan, "y", y, sizeof y, &error));

    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    for (int i = 0; i < LAUNCHES; i++)
        CHECK(kiln_plan_launch(plan, stream, &error)); /* the capture records the launch, and nothing runs yet */
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < REPLAYS; i++)
        CHECK(cuGraphLaunch(executable, stream));
    CHECK(cuStreamSynchronize(stream));
    CHECK(kiln_plan_read(plan, "y", y, sizeof y, &error)); /* each launch has added 2 * x to y */
    printf("y[0] is %d after %d launches\n", (int)y[0], LAUNCHES * REPLAYS);
    CHECK(cuGraphExecDestroy(executable) || cuGraphDestroy(graph) || cuStreamDestroy(stream));
    kiln_plan_close(plan); /* close the plan after the graph, which has pointers to the plan's memory and code */
    kiln_spec_free(spec);
    kiln_engine_close(engine);
    CHECK(cuDevicePrimaryCtxRelease(0));
    return 0;
}
