/* graph_node.c - the functions that create, query and change nodes of graphs. Each kind of node has functions of its
 * own. cuGraphAddNode and similar functions serve all kinds. All these functions pass CUgraphNodeParams to
 * graph_op.c. */
#include <string.h>

#include "cu_graph.h"

/* Returns the context in which a node will run. A kernel runs in the context of its function, as the driver says. A
 * copy or a fill runs in the context that its parameters name. */
static sim_context *get_context(sim_context *usual, const CUgraphNodeParams *what)
{
    const void *function = what->kernel.func ? (const void *)what->kernel.func : (const void *)what->kernel.kern;
    sim_context *named = NULL;
    if (what->type == CU_GRAPH_NODE_TYPE_KERNEL)
        named = sim_owner(usual, function, SIM_FUNCTION);
    else if (what->type == CU_GRAPH_NODE_TYPE_MEMCPY)
        named = sim_context_find(what->memcpy.copyCtx);
    else if (what->type == CU_GRAPH_NODE_TYPE_MEMSET)
        named = sim_context_find(what->memset.ctx);
    return named ? named : usual;
}

/* Makes an operation for a graph of `context`. The operation will run in the context `in`. */
static CUresult make_op(sim_context *context, sim_context *in, const CUgraphNodeParams *what, sim_op *op)
{
    CUresult result = sim_op_make(in, what, op);
    op->in = in == context ? NULL : SIM_HANDLE(CUcontext, in);
    return result;
}

/* ---- creating ---- */

static CUresult add_node(CUgraphNode *out, CUgraph handle, const CUgraphNode *before, const CUgraphEdgeData *data,
                         size_t count, CUgraphNodeParams *what)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    sim_graph *graph = sim_graph_of(context, handle);
    if (!graph || !out)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    if (graph->owner && (what->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || what->type == CU_GRAPH_NODE_TYPE_MEM_FREE))
        return sim_end(CUDA_ERROR_NOT_SUPPORTED); /* the graph of a child node cannot have memory nodes */
    sim_edge *edges = NULL;
    sim_node *node = NULL;
    sim_op op = {0};
    CUresult result = sim_edges_read(context, graph, before, data, count, &edges);
    if (result == CUDA_SUCCESS)
        result = make_op(context, get_context(context, what), what, &op);
    CUdeviceptr address = what->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ? op.what.alloc.dptr : 0;
    if (result == CUDA_SUCCESS)
        result = sim_edges_fit(edges, count, &op) ? sim_node_add(context, graph, edges, count, &op, &node)
                                                  : CUDA_ERROR_INVALID_VALUE;
    kiln__free(sim_memory(), edges);
    sim_op_free(context, &op);
    if (result != CUDA_SUCCESS)
        return sim_end(result);
    *out = SIM_HANDLE(CUgraphNode, node);
    if (address)
        what->alloc.dptr = address;
    if (what->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        what->conditional.phGraph_out = node->op.what.conditional.phGraph_out;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, const CUgraphEdgeData *data,
                            size_t count, CUgraphNodeParams *what)
{
    return what ? add_node(node, graph, before, data, count, what) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuGraphAddNode_v1(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                               CUgraphNodeParams *what)
{
    return what ? add_node(node, graph, before, NULL, count, what) : CUDA_ERROR_INVALID_VALUE;
}

static void set_kernel(CUgraphNodeParams *what, const CUDA_KERNEL_NODE_PARAMS *kernel)
{
    *what = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_KERNEL};
    memcpy(&what->kernel, kernel, sizeof *kernel);
}

/* Converts the first version of the structure, which lacks `kern` and all members after it. */
static CUDA_KERNEL_NODE_PARAMS convert_kernel(const CUDA_KERNEL_NODE_PARAMS_v1 *old)
{
    return (CUDA_KERNEL_NODE_PARAMS){.func = old->func,
                                     .gridDimX = old->gridDimX,
                                     .gridDimY = old->gridDimY,
                                     .gridDimZ = old->gridDimZ,
                                     .blockDimX = old->blockDimX,
                                     .blockDimY = old->blockDimY,
                                     .blockDimZ = old->blockDimZ,
                                     .sharedMemBytes = old->sharedMemBytes,
                                     .kernelParams = old->kernelParams,
                                     .extra = old->extra};
}

CUresult sim_cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                                  const CUDA_KERNEL_NODE_PARAMS *kernel)
{
    CUgraphNodeParams what;
    if (!kernel)
        return CUDA_ERROR_INVALID_VALUE;
    set_kernel(&what, kernel);
    return add_node(node, graph, before, NULL, count, &what);
}

CUresult sim_cuGraphAddKernelNode_v1(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                                     const CUDA_KERNEL_NODE_PARAMS_v1 *kernel)
{
    if (!kernel)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS same = convert_kernel(kernel);
    return sim_cuGraphAddKernelNode(node, graph, before, count, &same);
}

static CUgraphNodeParams convert_copy(const CUDA_MEMCPY3D *copy, CUcontext context)
{
    CUgraphNodeParams what = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};
    what.memcpy.copyCtx = context;
    what.memcpy.copyParams = *copy;
    return what;
}

CUresult sim_cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                                  const CUDA_MEMCPY3D *copy, CUcontext context)
{
    if (!copy)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams what = convert_copy(copy, context);
    return add_node(node, graph, before, NULL, count, &what);
}

static CUgraphNodeParams convert_fill(const CUDA_MEMSET_NODE_PARAMS *fill, CUcontext context)
{
    CUgraphNodeParams what = {.type = CU_GRAPH_NODE_TYPE_MEMSET};
    what.memset = (CUDA_MEMSET_NODE_PARAMS_v2){fill->dst,   fill->pitch,  fill->value, fill->elementSize,
                                               fill->width, fill->height, context};
    return what;
}

CUresult sim_cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                                  const CUDA_MEMSET_NODE_PARAMS *fill, CUcontext context)
{
    if (!fill)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams what = convert_fill(fill, context);
    return add_node(node, graph, before, NULL, count, &what);
}

static CUgraphNodeParams convert_host(const CUDA_HOST_NODE_PARAMS *host)
{
    CUgraphNodeParams what = {.type = CU_GRAPH_NODE_TYPE_HOST};
    what.host = (CUDA_HOST_NODE_PARAMS_v2){.fn = host->fn, .userData = host->userData};
    return what;
}

CUresult sim_cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                                const CUDA_HOST_NODE_PARAMS *host)
{
    if (!host)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams what = convert_host(host);
    return add_node(node, graph, before, NULL, count, &what);
}

static CUgraphNodeParams convert_child(CUgraph child)
{
    CUgraphNodeParams what = {.type = CU_GRAPH_NODE_TYPE_GRAPH};
    what.graph.graph = child;
    return what;
}

CUresult sim_cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                                      CUgraph child)
{
    CUgraphNodeParams what = convert_child(child);
    return add_node(node, graph, before, NULL, count, &what);
}

CUresult sim_cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count)
{
    CUgraphNodeParams what = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    return add_node(node, graph, before, NULL, count, &what);
}

static CUgraphNodeParams convert_event(CUgraphNodeType type, CUevent event)
{
    CUgraphNodeParams what = {.type = type};
    if (type == CU_GRAPH_NODE_TYPE_EVENT_RECORD)
        what.eventRecord.event = event;
    else
        what.eventWait.event = event;
    return what;
}

CUresult sim_cuGraphAddEventRecordNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                                       CUevent event)
{
    CUgraphNodeParams what = convert_event(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
    return add_node(node, graph, before, NULL, count, &what);
}

CUresult sim_cuGraphAddEventWaitNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                                     CUevent event)
{
    CUgraphNodeParams what = convert_event(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
    return add_node(node, graph, before, NULL, count, &what);
}

CUresult sim_cuGraphAddMemAllocNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                                    CUDA_MEM_ALLOC_NODE_PARAMS *alloc)
{
    CUgraphNodeParams what = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
    if (!alloc)
        return CUDA_ERROR_INVALID_VALUE;
    _Static_assert(sizeof what.alloc == sizeof *alloc, "both forms have the same members");
    memcpy(&what.alloc, alloc, sizeof *alloc);
    CUresult result = add_node(node, graph, before, NULL, count, &what);
    if (result == CUDA_SUCCESS)
        alloc->dptr = what.alloc.dptr;
    return result;
}

CUresult sim_cuGraphAddMemFreeNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                                   CUdeviceptr pointer)
{
    CUgraphNodeParams what = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE};
    what.free.dptr = pointer;
    return add_node(node, graph, before, NULL, count, &what);
}

static CUgraphNodeParams convert_memops(const CUDA_BATCH_MEM_OP_NODE_PARAMS *memops)
{
    CUgraphNodeParams what = {.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP};
    what.memOp = (CUDA_BATCH_MEM_OP_NODE_PARAMS_v2){memops->ctx, memops->count, memops->paramArray, memops->flags};
    return what;
}

CUresult sim_cuGraphAddBatchMemOpNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                                      const CUDA_BATCH_MEM_OP_NODE_PARAMS *memops)
{
    if (!memops)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams what = convert_memops(memops);
    return add_node(node, graph, before, NULL, count, &what);
}

/* ---- queries ---- */

/* Begins a call about a node of this type, and sets *op to its operation. On success holds the state lock and returns
 * CUDA_SUCCESS. */
static CUresult begin_op(CUgraphNode handle, CUgraphNodeType type, const void *out, sim_context **context, sim_op **op)
{
    SIM_TRY(sim_begin(context));
    sim_node *node = sim_node_of(*context, handle);
    if (!node || node->op.what.type != type || !out)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    *op = &node->op;
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *kernel)
{
    sim_context *context = NULL;
    sim_op *op = NULL;
    SIM_TRY(begin_op(node, CU_GRAPH_NODE_TYPE_KERNEL, kernel, &context, &op));
    memcpy(kernel, &op->what.kernel, sizeof *kernel);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuGraphKernelNodeGetParams_v1(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *kernel)
{
    CUDA_KERNEL_NODE_PARAMS whole;
    CUresult result = sim_cuGraphKernelNodeGetParams(node, kernel ? &whole : NULL);
    if (result == CUDA_SUCCESS)
        *kernel = (CUDA_KERNEL_NODE_PARAMS_v1){
            whole.func,      whole.gridDimX,  whole.gridDimY,       whole.gridDimZ,     whole.blockDimX,
            whole.blockDimY, whole.blockDimZ, whole.sharedMemBytes, whole.kernelParams, whole.extra};
    return result;
}

CUresult sim_cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *copy)
{
    sim_context *context = NULL;
    sim_op *op = NULL;
    SIM_TRY(begin_op(node, CU_GRAPH_NODE_TYPE_MEMCPY, copy, &context, &op));
    *copy = op->what.memcpy.copyParams;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *fill)
{
    sim_context *context = NULL;
    sim_op *op = NULL;
    SIM_TRY(begin_op(node, CU_GRAPH_NODE_TYPE_MEMSET, fill, &context, &op));
    const CUDA_MEMSET_NODE_PARAMS_v2 *from = &op->what.memset;
    *fill = (CUDA_MEMSET_NODE_PARAMS){from->dst,         from->pitch, from->value,
                                      from->elementSize, from->width, from->height};
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *host)
{
    sim_context *context = NULL;
    sim_op *op = NULL;
    SIM_TRY(begin_op(node, CU_GRAPH_NODE_TYPE_HOST, host, &context, &op));
    *host = (CUDA_HOST_NODE_PARAMS){.fn = op->what.host.fn, .userData = op->what.host.userData};
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *graph)
{
    sim_context *context = NULL;
    sim_op *op = NULL;
    SIM_TRY(begin_op(node, CU_GRAPH_NODE_TYPE_GRAPH, graph, &context, &op));
    *graph = SIM_HANDLE(CUgraph, op->child);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *event)
{
    sim_context *context = NULL;
    sim_op *op = NULL;
    SIM_TRY(begin_op(node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event, &context, &op));
    *event = op->what.eventRecord.event;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *event)
{
    sim_context *context = NULL;
    sim_op *op = NULL;
    SIM_TRY(begin_op(node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event, &context, &op));
    *event = op->what.eventWait.event;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *alloc)
{
    sim_context *context = NULL;
    sim_op *op = NULL;
    SIM_TRY(begin_op(node, CU_GRAPH_NODE_TYPE_MEM_ALLOC, alloc, &context, &op));
    memcpy(alloc, &op->what.alloc, sizeof *alloc);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *pointer)
{
    sim_context *context = NULL;
    sim_op *op = NULL;
    SIM_TRY(begin_op(node, CU_GRAPH_NODE_TYPE_MEM_FREE, pointer, &context, &op));
    *pointer = op->what.free.dptr;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuGraphBatchMemOpNodeGetParams(CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS *memops)
{
    sim_context *context = NULL;
    sim_op *op = NULL;
    SIM_TRY(begin_op(node, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, memops, &context, &op));
    *memops = (CUDA_BATCH_MEM_OP_NODE_PARAMS){op->what.memOp.ctx, op->what.memOp.count, op->what.memOp.paramArray,
                                              op->what.memOp.flags};
    return sim_end(CUDA_SUCCESS);
}

/* ---- changing a node of a graph, or its copy in an executable graph if `exec` is set ---- */

CUresult sim_op_replace(sim_context *context, sim_op *at, const CUgraphNodeParams *what, bool exec)
{
    sim_op op;
    if (what->type != at->what.type || what->type == CU_GRAPH_NODE_TYPE_GRAPH ||
        what->type == CU_GRAPH_NODE_TYPE_CONDITIONAL || what->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
        what->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
        return CUDA_ERROR_INVALID_VALUE;
    sim_context *in = sim_op_context(context, at), *wanted = in ? get_context(in, what) : NULL;
    if (!in)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (exec && wanted != in) /* the context of a node in an executable graph cannot change */
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = make_op(context, wanted, what, &op);
    if (result != CUDA_SUCCESS) {
        sim_op_free(context, &op);
        return result;
    }
    op.cooperative = at->cooperative;
    memcpy(op.cluster, at->cluster, sizeof op.cluster);
    op.priority = at->priority;
    op.window = at->window;
    sim_op_free(context, at);
    *at = op;
    return CUDA_SUCCESS;
}

static CUresult set_params(CUgraphNode handle, const CUgraphNodeParams *what)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    sim_node *node = sim_node_of(context, handle);
    return sim_end(node ? sim_op_replace(context, &node->op, what, false) : CUDA_ERROR_INVALID_VALUE);
}

static CUresult set_exec_params(CUgraphExec exec_handle, CUgraphNode handle, const CUgraphNodeParams *what)
{
    sim_context *context = NULL;
    sim_exec *exec = NULL;
    SIM_TRY(sim_exec_begin(exec_handle, &context, &exec));
    sim_node *node = sim_exec_node(exec, handle);
    return sim_end_work(context, node ? sim_op_replace(context, &node->op, what, true) : CUDA_ERROR_INVALID_VALUE);
}

CUresult sim_cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *what)
{
    return what ? set_params(node, what) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *what)
{
    if (!what)
        return CUDA_ERROR_INVALID_VALUE;
    if (what->type == CU_GRAPH_NODE_TYPE_GRAPH)
        return sim_cuGraphExecChildGraphNodeSetParams(exec, node, what->graph.graph);
    return set_exec_params(exec, node, what);
}

CUresult sim_cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *kernel)
{
    CUgraphNodeParams what;
    if (!kernel)
        return CUDA_ERROR_INVALID_VALUE;
    set_kernel(&what, kernel);
    return set_params(node, &what);
}

CUresult sim_cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *kernel)
{
    CUgraphNodeParams what;
    if (!kernel)
        return CUDA_ERROR_INVALID_VALUE;
    set_kernel(&what, kernel);
    return set_exec_params(exec, node, &what);
}

CUresult sim_cuGraphKernelNodeSetParams_v1(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *kernel)
{
    if (!kernel)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS same = convert_kernel(kernel);
    return sim_cuGraphKernelNodeSetParams(node, &same);
}

CUresult sim_cuGraphExecKernelNodeSetParams_v1(CUgraphExec exec, CUgraphNode node,
                                               const CUDA_KERNEL_NODE_PARAMS_v1 *kernel)
{
    if (!kernel)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS same = convert_kernel(kernel);
    return sim_cuGraphExecKernelNodeSetParams(exec, node, &same);
}

CUresult sim_cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *copy)
{
    if (!copy)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams what = convert_copy(copy, NULL);
    return set_params(node, &what);
}

CUresult sim_cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *copy,
                                            CUcontext context)
{
    if (!copy)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams what = convert_copy(copy, context);
    return set_exec_params(exec, node, &what);
}

CUresult sim_cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *fill)
{
    if (!fill)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams what = convert_fill(fill, NULL);
    return set_params(node, &what);
}

CUresult sim_cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *fill,
                                            CUcontext context)
{
    if (!fill)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams what = convert_fill(fill, context);
    return set_exec_params(exec, node, &what);
}

CUresult sim_cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *host)
{
    if (!host)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams what = convert_host(host);
    return set_params(node, &what);
}

CUresult sim_cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS *host)
{
    if (!host)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams what = convert_host(host);
    return set_exec_params(exec, node, &what);
}

CUresult sim_cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event)
{
    CUgraphNodeParams what = convert_event(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
    return set_params(node, &what);
}

CUresult sim_cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event)
{
    CUgraphNodeParams what = convert_event(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
    return set_params(node, &what);
}

CUresult sim_cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
    CUgraphNodeParams what = convert_event(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
    return set_exec_params(exec, node, &what);
}

CUresult sim_cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
    CUgraphNodeParams what = convert_event(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
    return set_exec_params(exec, node, &what);
}

CUresult sim_cuGraphBatchMemOpNodeSetParams(CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS *memops)
{
    if (!memops)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams what = convert_memops(memops);
    return set_params(node, &what);
}

CUresult sim_cuGraphExecBatchMemOpNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                const CUDA_BATCH_MEM_OP_NODE_PARAMS *memops)
{
    if (!memops)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams what = convert_memops(memops);
    return set_exec_params(exec, node, &what);
}

/* ---- attributes of kernel nodes: one attribute has an effect, and the others are only stored for queries ---- */

CUresult sim_cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute, CUkernelNodeAttrValue *value)
{
    sim_context *context = NULL;
    sim_op *op = NULL;
    SIM_TRY(begin_op(node, CU_GRAPH_NODE_TYPE_KERNEL, value, &context, &op));
    CUkernelNodeAttrValue found = {{0}};
    switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: found.cooperative = op->cooperative; break;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: found.priority = op->priority; break;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: found.accessPolicyWindow = op->window; break;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: memcpy(&found.clusterDim, op->cluster, sizeof op->cluster); break;
    default: return sim_end(CUDA_ERROR_INVALID_VALUE);
    }
    *value = found;
    return sim_end(CUDA_SUCCESS);
}

static CUresult set_cluster(sim_context *context, sim_op *op, const CUkernelNodeAttrValue *value)
{
    const sim_context *in = sim_op_context(context, op);
    const sim_function *function = in ? sim_object_find(in, op->what.kernel.func, SIM_FUNCTION) : NULL;
    const unsigned grid[3] = {op->what.kernel.gridDimX, op->what.kernel.gridDimY, op->what.kernel.gridDimZ};
    unsigned cluster[3];
    memcpy(cluster, &value->clusterDim, sizeof cluster);
    CUresult result = function ? sim_cluster_of(function, grid, cluster) : CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        memcpy(op->cluster, &value->clusterDim, sizeof op->cluster);
    return result;
}

CUresult sim_cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
                                           const CUkernelNodeAttrValue *value)
{
    sim_context *context = NULL;
    sim_op *op = NULL;
    CUresult result = begin_op(node, CU_GRAPH_NODE_TYPE_KERNEL, value, &context, &op);
    if (result != CUDA_SUCCESS)
        return result;
    switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: op->cooperative = value->cooperative != 0; break;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: op->priority = value->priority; break;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        if (!sim_right_window(&value->accessPolicyWindow))
            return sim_end(CUDA_ERROR_INVALID_VALUE);
        op->window = value->accessPolicyWindow;
        break;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: result = set_cluster(context, op, value); break;
    default: result = CUDA_ERROR_INVALID_VALUE; break;
    }
    return sim_end(result);
}

CUresult sim_cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from)
{
    sim_context *context = NULL;
    sim_op *target = NULL;
    SIM_TRY(begin_op(to, CU_GRAPH_NODE_TYPE_KERNEL, to, &context, &target));
    const sim_node *source = sim_node_of(context, from);
    if (!source || source->op.what.type != CU_GRAPH_NODE_TYPE_KERNEL)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    target->cooperative = source->op.cooperative;
    memcpy(target->cluster, source->op.cluster, sizeof target->cluster);
    target->priority = source->op.priority;
    target->window = source->op.window;
    return sim_end(CUDA_SUCCESS);
}
