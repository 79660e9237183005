/* Tests conditional nodes of graphs on the simulated device's libcuda.so.1. Prints each error. Ends with 0 if no error
 * occurred. */
#include <string.h>

#include "program.h"

static const char text[] =
    ".version 7.8\n.target sm_80\n.address_size 64\n"
    ".extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);\n"
    /* sets the condition to *p */
    ".visible .entry set(.param .u64 handle, .param .u64 p)\n{\n"
    " .reg .b32 %r<2>; .reg .b64 %d<3>;\n"
    " ld.param.u64 %d1, [handle]; ld.param.u64 %d2, [p]; ld.u32 %r1, [%d2];\n"
    " { .param .b64 a; .param .b32 b; st.param.b64 [a], %d1; st.param.b32 [b], %r1;\n"
    "   call.uni cudaGraphSetConditional, (a, b); }\n ret;\n}\n"
    /* subtracts 1 from *p, and sets the condition to the result */
    ".visible .entry count(.param .u64 handle, .param .u64 p)\n{\n"
    " .reg .b32 %r<2>; .reg .b64 %d<3>;\n"
    " ld.param.u64 %d1, [handle]; ld.param.u64 %d2, [p]; ld.u32 %r1, [%d2]; add.u32 %r1, %r1, -1; st.u32 [%d2], %r1;\n"
    " { .param .b64 a; .param .b32 b; st.param.b64 [a], %d1; st.param.b32 [b], %r1;\n"
    "   call.uni cudaGraphSetConditional, (a, b); }\n ret;\n}\n"
    /* *p += n */
    ".visible .entry add(.param .u64 p, .param .u32 n)\n{\n"
    " .reg .b32 %r<3>; .reg .b64 %d<2>;\n"
    " ld.param.u64 %d1, [p]; ld.param.u32 %r1, [n]; ld.u32 %r2, [%d1]; add.u32 %r2, %r2, %r1; st.u32 [%d1], %r2; ret;\n}\n";

static CUfunction set, count, add;
static CUdeviceptr input, output; /* device addresses, each of one number */

static void put(CUdeviceptr to, unsigned value) { OK(cuMemcpyHtoD(to, &value, sizeof value)); }

static unsigned get(CUdeviceptr from)
{
    unsigned value = 0;
    OK(cuMemcpyDtoH(&value, from, sizeof value));
    return value;
}

static CUgraphNode kernel(CUgraph graph, CUfunction function, void **arguments, const CUgraphNode *after)
{
    CUgraphNode node = NULL;
    CUDA_KERNEL_NODE_PARAMS what = {.func = function,
                                    .gridDimX = 1,
                                    .gridDimY = 1,
                                    .gridDimZ = 1,
                                    .blockDimX = 1,
                                    .blockDimY = 1,
                                    .blockDimZ = 1,
                                    .kernelParams = arguments};
    OK(cuGraphAddKernelNode(&node, graph, after, after != NULL, &what));
    return node;
}

static void add_number(CUgraph graph, unsigned number)
{
    void *arguments[] = {&output, &number};
    kernel(graph, add, arguments, NULL);
}

static CUgraphConditionalHandle handle_for(CUgraph graph, unsigned value, unsigned flags)
{
    CUgraphConditionalHandle handle = 0;
    OK(cuGraphConditionalHandleCreate(&handle, graph, NULL, value, flags));
    return handle;
}

static CUgraph *condition(CUgraph graph, CUgraphConditionalHandle handle, CUgraphConditionalNodeType type,
                          unsigned size, const CUgraphNode *after)
{
    static CUgraph none[8];
    CUgraphNode node;
    CUgraphNodeType kind = CU_GRAPH_NODE_TYPE_EMPTY;
    CUgraphNodeParams what = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    what.conditional.handle = handle;
    what.conditional.type = type;
    what.conditional.size = size;
    CUresult result = cuGraphAddNode(&node, graph, after, NULL, after != NULL, &what);
    OK(result);
    if (result != CUDA_SUCCESS)
        return none;
    OK(cuGraphNodeGetType(node, &kind));
    CHECK(kind == CU_GRAPH_NODE_TYPE_CONDITIONAL);
    return what.conditional.phGraph_out;
}

static CUgraphExec ready(CUgraph graph)
{
    CUgraphExec exec = NULL;
    OK(cuGraphInstantiate(&exec, graph, 0));
    return exec;
}

/* Returns the number that the graph adds to `output` for this `input`. */
static unsigned result_for(CUgraphExec exec, unsigned value)
{
    put(input, value);
    put(output, 0);
    OK(cuGraphLaunch(exec, NULL));
    OK(cuCtxSynchronize());
    return get(output);
}

static void if_and_switch(void)
{
    CUgraph graph, other;
    OK(cuGraphCreate(&graph, 0));
    CUgraphConditionalHandle handle = handle_for(graph, 0, 0);
    void *arguments[] = {&handle, &input};
    CUgraphNode first = kernel(graph, set, arguments, NULL);
    CUgraph *branches = condition(graph, handle, CU_GRAPH_COND_TYPE_IF, 2, &first);
    add_number(branches[0], 1);
    add_number(branches[1], 2);
    add_number(condition(graph, handle, CU_GRAPH_COND_TYPE_IF, 1, &first)[0], 10);
    CUgraph *cases = condition(graph, handle, CU_GRAPH_COND_TYPE_SWITCH, 3, &first);
    for (unsigned i = 0; i < 3; i++)
        add_number(cases[i], 100 * (i + 1));
    OK(cuGraphClone(&other, graph));
    CUgraphExec exec = ready(graph), again = ready(other);
    OK(cuGraphDestroy(graph)); /* the executable graph is a copy, so the graph may be destroyed */
    const unsigned expected[] = {102, 211, 311, 11};
    for (unsigned i = 0; i < 4; i++) {
        CHECK(result_for(exec, i) == expected[i]);
        CHECK(result_for(again, i) == expected[i]);
    }
    CUgraphExecUpdateResultInfo info;
    OK(cuGraphExecUpdate(exec, other, &info));
    CHECK(result_for(exec, 2) == 311);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphExecDestroy(again));
    OK(cuGraphDestroy(other));
}

/* A loop: while (--input) { output += 1; if (input) output += 10; } */
static void loops(void)
{
    CUgraph graph;
    CUstream stream;
    OK(cuGraphCreate(&graph, 0));
    CUgraphConditionalHandle handle = handle_for(graph, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
    CUgraph body = condition(graph, handle, CU_GRAPH_COND_TYPE_WHILE, 1, NULL)[0];
    void *arguments[] = {&handle, &input};
    unsigned one = 1;
    void *plus[] = {&output, &one};
    CUgraphNode last = kernel(body, count, arguments, NULL), sum = kernel(body, add, plus, &last);
    add_number(condition(body, handle, CU_GRAPH_COND_TYPE_IF, 1, &sum)[0], 10);
    CUgraphExec exec = ready(graph);
    CHECK(result_for(exec, 5) == 5 + 4 * 10);
    CHECK(result_for(exec, 1) == 1); /* the condition begins with 1 again */
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    /* makes the body by capture */
    OK(cuGraphCreate(&graph, 0));
    handle = handle_for(graph, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
    body = condition(graph, handle, CU_GRAPH_COND_TYPE_WHILE, 1, NULL)[0];
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCaptureToGraph(stream, body, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    OK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, plus, NULL));
    OK(cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
    CUgraph same = NULL;
    OK(cuStreamEndCapture(stream, &same));
    CHECK(same == body);
    /* the output for the graph may be NULL, because the capture began with a given graph */
    OK(cuStreamBeginCaptureToGraph(stream, body, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    OK(cuStreamEndCapture(stream, NULL));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    IS(cuStreamEndCapture(stream, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamEndCapture(stream, &same));
    OK(cuGraphDestroy(same));
    exec = ready(graph);
    CHECK(result_for(exec, 7) == 7);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuStreamDestroy(stream));
}

static void CUDA_CB nothing(void *none) { (void)none; }

static void errors(void)
{
    CUgraph graph;
    CUgraphNode node;
    CUgraphConditionalHandle handle = 0;
    CUgraphNodeParams what = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    OK(cuGraphCreate(&graph, 0));
    IS(cuGraphConditionalHandleCreate(&handle, graph, NULL, 0, 2), CUDA_ERROR_INVALID_VALUE);
    IS(cuGraphConditionalHandleCreate(&handle, NULL, NULL, 0, 0), CUDA_ERROR_INVALID_VALUE);
    what.conditional.handle = input; /* no condition */
    what.conditional.size = 1;
    IS(cuGraphAddNode(&node, graph, NULL, NULL, 0, &what), CUDA_ERROR_INVALID_VALUE);
    what.conditional.handle = handle = handle_for(graph, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
    what.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
    what.conditional.size = 2;
    IS(cuGraphAddNode(&node, graph, NULL, NULL, 0, &what), CUDA_ERROR_INVALID_VALUE);
    what.conditional.type = CU_GRAPH_COND_TYPE_SWITCH;
    what.conditional.size = 0;
    IS(cuGraphAddNode(&node, graph, NULL, NULL, 0, &what), CUDA_ERROR_INVALID_VALUE);
    IS(cuMemFree(handle), CUDA_ERROR_INVALID_VALUE);
    CUgraph body = condition(graph, handle, CU_GRAPH_COND_TYPE_WHILE, 1, NULL)[0];
    IS(cuGraphAddHostNode(&node, body, NULL, 0, &(CUDA_HOST_NODE_PARAMS){nothing, NULL}), CUDA_ERROR_NOT_SUPPORTED);
    IS(cuGraphDestroy(body), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphAddEmptyNode(&node, body, NULL, 0));
    CUgraphExec exec = ready(graph); /* the body never sets the condition to 0 */
    OK(cuGraphLaunch(exec, NULL));
    IS(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_TIMEOUT);
}

int main(void)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&set, module, "set"));
    OK(cuModuleGetFunction(&count, module, "count"));
    OK(cuModuleGetFunction(&add, module, "add"));
    OK(cuMemAlloc(&input, 4));
    OK(cuMemAlloc(&output, 4));
    if_and_switch();
    loops();
    errors();
    OK(cuDevicePrimaryCtxRelease(device));
    return wrong > 0;
}
