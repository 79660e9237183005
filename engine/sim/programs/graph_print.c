/* graph_print.c - writes a graph as text for Graphviz. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cu_graph.h"

static const char *type_name(CUgraphNodeType type)
{
    static const char *const names[] = {[CU_GRAPH_NODE_TYPE_KERNEL] = "KERNEL",
                                        [CU_GRAPH_NODE_TYPE_MEMCPY] = "MEMCPY",
                                        [CU_GRAPH_NODE_TYPE_MEMSET] = "MEMSET",
                                        [CU_GRAPH_NODE_TYPE_HOST] = "HOST",
                                        [CU_GRAPH_NODE_TYPE_GRAPH] = "GRAPH",
                                        [CU_GRAPH_NODE_TYPE_EMPTY] = "EMPTY",
                                        [CU_GRAPH_NODE_TYPE_WAIT_EVENT] = "EVENT_WAIT",
                                        [CU_GRAPH_NODE_TYPE_EVENT_RECORD] = "EVENT_RECORD",
                                        [CU_GRAPH_NODE_TYPE_MEM_ALLOC] = "MEM_ALLOC",
                                        [CU_GRAPH_NODE_TYPE_MEM_FREE] = "MEM_FREE",
                                        [CU_GRAPH_NODE_TYPE_BATCH_MEM_OP] = "BATCH_MEM_OP"};
    return (unsigned)type < KILN__COUNT(names) && names[type] ? names[type] : "?";
}

static void put_params(FILE *out, const sim_context *context, const CUgraphNodeParams *what)
{
    const sim_function *function;
    switch (what->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        function = sim_object_find(context, what->kernel.func, SIM_FUNCTION);
        fprintf(out, "\\n%s\\n<<<(%u,%u,%u),(%u,%u,%u),%u>>>",
                function ? vm_module_ptx(function->module->vm)->functions[function->kernel].name : "(unloaded)",
                what->kernel.gridDimX, what->kernel.gridDimY, what->kernel.gridDimZ, what->kernel.blockDimX,
                what->kernel.blockDimY, what->kernel.blockDimZ, what->kernel.sharedMemBytes);
        return;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        fprintf(out, "\\n%zu x %zu x %zu", what->memcpy.copyParams.WidthInBytes, what->memcpy.copyParams.Height,
                what->memcpy.copyParams.Depth);
        return;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        fprintf(out, "\\n0x%" PRIx64 ", %u, %zu x %zu", (uint64_t)what->memset.dst, what->memset.value,
                what->memset.width, what->memset.height);
        return;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        fprintf(out, "\\n0x%" PRIx64 ", %zu bytes", (uint64_t)what->alloc.dptr, what->alloc.bytesize);
        return;
    case CU_GRAPH_NODE_TYPE_MEM_FREE: fprintf(out, "\\n0x%" PRIx64, (uint64_t)what->free.dptr); return;
    default: return;
    }
}

/* Writes a graph. Each node has a number in its graph. The name of a node in a child graph is the number of the child
 * graph's node, followed by the node's number. */
static void put_graph(FILE *out, const sim_context *context, const sim_graph *graph, const char *prefix, bool params)
{
    char name[512];
    size_t number = 0;
    for (sim_node *node = graph->first; node; node = node->next)
        node->number = number++;
    for (const sim_node *node = graph->first; node; node = node->next) {
        fprintf(out, "\"%s%zu\" [label=\"%zu %s", prefix, node->number, node->number, type_name(node->op.what.type));
        if (params)
            put_params(out, context, &node->op.what);
        fprintf(out, "\"];\n");
        for (size_t i = 0; i < node->after.count; i++)
            fprintf(out, "\"%s%zu\" -> \"%s%zu\";\n", prefix, node->number, prefix, node->after.list[i].node->number);
        for (unsigned k = 0; k < sim_condition_count(&node->op); k++) {
            snprintf(name, sizeof name, "%s%zu.%u.", prefix, node->number, k);
            fprintf(out, "subgraph \"cluster_%s%zu_%u\" {\n", prefix, node->number, k);
            put_graph(out, context, sim_condition_body(context, &node->op, k), name, params);
            fprintf(out, "}\n");
        }
        if (!node->op.child)
            continue;
        snprintf(name, sizeof name, "%s%zu.", prefix, node->number);
        fprintf(out, "subgraph \"cluster_%s%zu\" {\n", prefix, node->number);
        put_graph(out, context, node->op.child, name, params);
        fprintf(out, "}\n");
    }
}

CUresult sim_cuGraphDebugDotPrint(CUgraph handle, const char *path, unsigned flags)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    const sim_graph *graph = sim_graph_of(context, handle);
    if (!graph || !path)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return sim_end(CUDA_ERROR_OUT_OF_MEMORY);
    fprintf(out, "digraph graph_0 {\n");
    put_graph(out, context, graph, "", flags != 0);
    fprintf(out, "}\n");
    bool wrong = ferror(out) != 0;
    wrong = fclose(out) != 0 || wrong;
    kiln_status status = wrong ? KILN_ERROR_MEMORY : kiln__file_write(sim_memory(), path, text, length, NULL);
    free(text);
    return sim_end(status == KILN_OK             ? CUDA_SUCCESS
                   : status == KILN_ERROR_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY
                                                 : CUDA_ERROR_OPERATING_SYSTEM);
}
