/* graph_exec.c - executable graphs. An executable graph is a copy of a graph. A list of steps in topological order
 * contains all its nodes. A launch runs these steps one after the other. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cu_graph.h"

/* ---- finding ---- */

CUresult sim_exec_begin(CUgraphExec handle, sim_context **context, sim_exec **exec)
{
    for (;;) {
        SIM_TRY(sim_begin_work(context));
        *exec = sim_object_find(*context, handle, SIM_EXEC);
        if (!*exec || (*exec)->doomed)
            return sim_end_work(*context, CUDA_ERROR_INVALID_VALUE);
        if (!(*exec)->busy)
            return CUDA_SUCCESS;
        sim_end_work(*context, CUDA_SUCCESS); /* waits for a launch of another thread that is in a host function */
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    }
}

sim_node *sim_exec_node(const sim_exec *exec, CUgraphNode handle)
{
    for (size_t i = 0; i < exec->step_count; i++)
        if (exec->steps[i]->original == (uintptr_t)handle)
            return exec->steps[i];
    return NULL;
}

static void exec_drop(sim_object *object)
{
    sim_parts_close((sim_exec *)object); /* the context ended during a launch of the graph */
    kiln__free(sim_memory(), ((sim_exec *)object)->steps);
}

static void exec_close(sim_context *context, sim_exec *exec)
{
    if (exec->graph)
        sim_graph_close(context, exec->graph);
    sim_object_free(context, exec);
}

/* ---- instantiation ---- */

/* Appends the nodes of a graph to the list of steps in topological order. The nodes of a child graph follow the node
 * that owns the child graph. This node is an empty step, so that the program can find it. The nodes of a condition's
 * bodies follow the node of the condition. */
static CUresult append_steps(sim_context *context, sim_exec *exec, sim_graph *graph, uint64_t *error)
{
    sim_node **order = kiln__calloc(sim_memory(), graph->count + 1, sizeof *order), *stuck = NULL;
    CUresult result = order ? sim_graph_order(context, graph, order, &stuck) : CUDA_ERROR_OUT_OF_MEMORY;
    if (stuck)
        *error = stuck->original;
    graph->internal = true;
    for (size_t i = 0; result == CUDA_SUCCESS && i < graph->count; i++) {
        if (!kiln__grow(sim_memory(), &exec->steps, &exec->step_capacity, exec->step_count + 1, sizeof *exec->steps)) {
            result = CUDA_ERROR_OUT_OF_MEMORY;
            break;
        }
        exec->steps[exec->step_count++] = order[i];
        if (order[i]->op.child)
            result = append_steps(context, exec, order[i]->op.child, error);
        for (unsigned k = 0; result == CUDA_SUCCESS && k < sim_condition_count(&order[i]->op); k++) {
            sim_graph *body = sim_condition_body(context, &order[i]->op, k);
            body->first_step = exec->step_count;
            result = append_steps(context, exec, body, error);
            body->end_step = exec->step_count;
        }
    }
    kiln__free(sim_memory(), order);
    return result;
}

/* Copies a graph, makes the list of steps, and returns the executable graph. If there is a cycle, *error becomes a node
 * that is in the cycle or depends on it. */
static CUresult instantiate(CUgraphExec *out, CUgraph handle, cuuint64_t flags, uint64_t *error)
{
    const cuuint64_t known = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                             CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    sim_context *context;
    SIM_TRY(sim_begin_work(&context));
    sim_graph *graph = sim_graph_of(context, handle);
    if (!graph || !out || (flags & ~known) || graph->capturing)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
        return sim_end_work(context, CUDA_ERROR_NOT_SUPPORTED);
    if (graph->memory_nodes > 0 && sim_object_find(context, (const void *)(uintptr_t)graph->instance, SIM_EXEC))
        return sim_end_work(context, CUDA_ERROR_NOT_SUPPORTED);
    sim_exec *exec = sim_object_new(context, SIM_EXEC, sizeof *exec);
    if (!exec)
        return sim_end_work(context, CUDA_ERROR_OUT_OF_MEMORY);
    exec->object.drop = exec_drop;
    exec->flags = flags;
    CUresult result = sim_graph_clone(context, graph, &exec->graph);
    if (result == CUDA_SUCCESS)
        result = append_steps(context, exec, exec->graph, error);
    if (result != CUDA_SUCCESS) {
        exec_close(context, exec);
        return sim_end_work(context, result);
    }
    if (graph->memory_nodes > 0)
        exec->source = graph->object.handle;
    graph->instance = exec->object.handle;
    *out = SIM_HANDLE(CUgraphExec, exec);
    return sim_end_work(context, CUDA_SUCCESS);
}

CUresult sim_cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    uint64_t error = 0;
    return instantiate(exec, graph, flags, &error);
}

CUresult sim_cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
    uint64_t error = 0;
    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = instantiate(exec, graph, params->flags, &error);
    params->hErrNode_out = (CUgraphNode)(uintptr_t)error;
    params->result_out = result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS
                         : error                ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
                                                : CUDA_GRAPH_INSTANTIATE_ERROR;
    return result;
}

/* Implements the form that the function had before CUDA 12. */
CUresult sim_cuGraphInstantiate_v1(CUgraphExec *exec, CUgraph graph, CUgraphNode *node, char *log, size_t size)
{
    uint64_t error = 0;
    CUresult result = instantiate(exec, graph, 0, &error);
    if (node)
        *node = (CUgraphNode)(uintptr_t)error;
    if (log && size > 0)
        snprintf(log, size, "%s", error ? "the dependencies have a cycle" : "");
    return result;
}

CUresult sim_cuGraphExecDestroy(CUgraphExec handle)
{
    sim_context *context;
    SIM_TRY(sim_begin_work(&context));
    sim_exec *exec = sim_object_find(context, handle, SIM_EXEC);
    if (!exec || exec->doomed)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    exec->doomed = true;
    if (!exec->busy) /* a busy executable graph is freed at the end of its launch */
        exec_close(context, exec);
    sim_end_work(context, CUDA_SUCCESS);
    sim_bury_users();
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t *flags)
{
    sim_context *context = NULL;
    sim_exec *exec = NULL;
    SIM_TRY(sim_exec_begin(handle, &context, &exec));
    if (flags)
        *flags = exec->flags;
    return sim_end_work(context, flags ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* ---- launching ---- */

/* Handles memory that an earlier launch allocated and nobody has freed. Frees it if the graph has the flag
 * AUTO_FREE_ON_LAUNCH, and returns an error if not. */
static CUresult clear_allocations(sim_context *context, const sim_exec *exec)
{
    for (size_t i = 0; i < exec->step_count; i++) {
        const sim_op *op = &exec->steps[i]->op;
        uint64_t base, bytes;
        if (op->what.type != CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
            !vm_range(context->device, op->what.alloc.dptr, &base, &bytes))
            continue;
        if (!(exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH))
            return CUDA_ERROR_INVALID_VALUE;
        sim_memory_free(context, op->what.alloc.dptr);
    }
    return CUDA_SUCCESS;
}

/* Raises the fault of a copy or fill whose memory is read-only, or was freed after the node was made. A GPU would raise
 * such a fault too. */
static void raise_memory_fault(sim_context *context, CUgraphNodeType type)
{
    snprintf(context->fault, sizeof context->fault,
             "a graph's %s node uses memory that was freed, or writes memory that is registered as read-only",
             type == CU_GRAPH_NODE_TYPE_MEMCPY ? "memcpy" : "memset");
    context->sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
}

static CUresult run_steps(sim_context **context, CUstream stream, const sim_exec *exec, size_t first, size_t end);

/* Returns true if a step of the body may change a condition: only kernels, copies and fills write memory. */
static bool can_change(const sim_exec *exec, const sim_graph *body)
{
    bool can = false;
    for (size_t i = body->first_step; i < body->end_step; i++) {
        const CUgraphNodeType type = exec->steps[i]->op.what.type;
        can = can ||
              (!exec->steps[i]->disabled && (type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_MEMCPY ||
                                             type == CU_GRAPH_NODE_TYPE_MEMSET));
    }
    return can;
}

/* Runs the body that the condition selects. For `while`, repeats the body as long as the condition selects the body.
 * Sets *next to the step after all bodies. */
static CUresult run_condition(sim_context **context, CUstream stream, const sim_exec *exec, const sim_op *op,
                              size_t *next)
{
    const CUgraphConditionalNodeType type = op->what.conditional.type;
    *next = sim_condition_body(*context, op, sim_condition_count(op) - 1)->end_step;
    for (;;) {
        const int chosen = sim_condition_choose(*context, op);
        if (chosen < 0)
            return CUDA_SUCCESS;
        const sim_graph *body = sim_condition_body(*context, op, (unsigned)chosen);
        if (type == CU_GRAPH_COND_TYPE_WHILE && !can_change(exec, body)) {
            snprintf((*context)->fault, sizeof(*context)->fault,
                     "the body of a graph's while node changes nothing, so the node never ends");
            (*context)->sticky = CUDA_ERROR_LAUNCH_TIMEOUT;
            return CUDA_SUCCESS;
        }
        CUresult result = run_steps(context, stream, exec, body->first_step, body->end_step);
        if (result != CUDA_SUCCESS || !*context || (*context)->sticky != CUDA_SUCCESS ||
            type != CU_GRAPH_COND_TYPE_WHILE)
            return result;
    }
}

/* Runs the steps [first, end). The function stops after an error, after a fault, or if the context has ended. */
static CUresult run_steps(sim_context **context, CUstream stream, const sim_exec *exec, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        const sim_node *node = exec->steps[i];
        CUgraphNodeType type = node->op.what.type;
        sim_parts_begin(*context, exec, i);
        if (node->disabled)
            continue;
        CUresult result;
        if (type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
            size_t next = i + 1;
            result = run_condition(context, stream, exec, &node->op, &next);
            i = next - 1;
        } else {
            result = sim_op_run(context, stream, &node->op);
            if (*context)
                sim_parts_end(sim_op_context(*context, &node->op), exec, i);
        }
        if (!*context) /* the context has ended, and the executable graph has ended with it */
            return result;
        if (result == CUDA_ERROR_INVALID_VALUE &&
            (type == CU_GRAPH_NODE_TYPE_MEMCPY || type == CU_GRAPH_NODE_TYPE_MEMSET)) {
            raise_memory_fault(sim_op_context(*context, &node->op), type);
            result = CUDA_SUCCESS;
        }
        const sim_context *in = sim_op_context(*context, &node->op);
        if (result != CUDA_SUCCESS || (*context)->sticky != CUDA_SUCCESS || (in && in->sticky != CUDA_SUCCESS))
            return result;
    }
    return CUDA_SUCCESS;
}

/* Captures the launch of a graph, which becomes a child graph. */
static CUresult capture_launch(sim_context *context, sim_stream *stream, const sim_exec *exec)
{
    if (exec->graph->memory_nodes > 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    sim_op op = {.what = {.type = CU_GRAPH_NODE_TYPE_GRAPH}};
    CUresult result = sim_graph_clone(context, exec->graph, &op.child);
    if (result == CUDA_SUCCESS)
        result = sim_capture_op(context, stream, &op);
    sim_op_free(context, &op);
    return result;
}

/* Adds the happens-before edges of a node before its graph is launched. All nodes of a launch count as one work. So the
 * whole launch waits for all work for which any of its nodes waits. */
static void add_edges_before(sim_context *context, CUstream stream, const sim_op *op)
{
    const CUevent handle = op->what.type == CU_GRAPH_NODE_TYPE_WAIT_EVENT ? op->what.eventWait.event : NULL;
    const sim_event *event = handle ? sim_object_find(sim_owner(context, handle, SIM_EVENT), handle, SIM_EVENT) : NULL;
    if (event && event->recorded)
        sim_order_stream_waits(context, stream, event);
    if (op->what.type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP)
        sim_order_stream_waits(context, stream, NULL);
}

/* Runs an executable graph, or captures its launch. The graph is busy during the launch. If a host function destroys
 * the graph, the simulator frees the graph when the launch ends. */
CUresult sim_cuGraphLaunch(CUgraphExec handle, CUstream stream)
{
    sim_context *context = NULL;
    sim_exec *exec = NULL;
    sim_stream *capturing = NULL;
    SIM_TRY(sim_exec_begin(handle, &context, &exec));
    if (!sim_stream_known(context, stream))
        return sim_end_work(context, CUDA_ERROR_INVALID_HANDLE);
    CUresult result = sim_capture_enter(context, stream, &capturing);
    if (result == CUDA_SUCCESS && capturing)
        return sim_end_work(context, capture_launch(context, capturing, exec));
    if (result == CUDA_SUCCESS)
        result = clear_allocations(context, exec);
    if (result != CUDA_SUCCESS)
        return sim_end_work(context, result);
    exec->busy = true;
    for (size_t i = 0; i < exec->step_count; i++)
        sim_condition_start(context, &exec->steps[i]->op);
    for (size_t i = 0; i < exec->step_count; i++)
        add_edges_before(context, stream, &exec->steps[i]->op);
    sim_order_begin(context, stream, NULL);
    sim_parts_open(exec);
    result = run_steps(&context, stream, exec, 0, exec->step_count);
    if (context) {
        sim_parts_close(exec);
        sim_order_end(context);
        for (size_t i = 0; i < exec->step_count; i++)
            sim_order_told(context, stream, &exec->steps[i]->op);
        sim_order_guard();
        exec->busy = false;
        if (exec->doomed)
            exec_close(context, exec);
    }
    sim_end_work(context, CUDA_SUCCESS);
    sim_bury_users();
    return result;
}

/* The function only checks its arguments, because the simulated device needs no upload. */
CUresult sim_cuGraphUpload(CUgraphExec handle, CUstream stream)
{
    sim_context *context = NULL;
    sim_exec *exec = NULL;
    sim_stream *capturing = NULL;
    SIM_TRY(sim_exec_begin(handle, &context, &exec));
    if (!sim_stream_known(context, stream))
        return sim_end_work(context, CUDA_ERROR_INVALID_HANDLE);
    CUresult result = sim_capture_enter(context, stream, &capturing);
    return sim_end_work(context, result != CUDA_SUCCESS ? result
                                 : capturing            ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
                                                        : CUDA_SUCCESS);
}

/* ---- update ---- */

/* A new operation for a node of an executable graph. The update creates all new operations before it replaces the first
 * operation, so that a failed update changes nothing. */
typedef struct op_change {
    sim_node *node;
    sim_op op;
} op_change;
/* The state of an update: the changes so far, or the reason of a failure and the node at which the update failed. */
typedef struct update {
    op_change *changes;
    size_t count, capacity;
    CUgraphExecUpdateResult why;
    const sim_node *node, *from;
} update;

/* Records why an update is impossible. Returns false. */
static bool fail_update(update *u, CUgraphExecUpdateResult why, const sim_node *node)
{
    u->why = why;
    u->node = node;
    return false;
}

/* Returns true if both nodes have the same incoming edges. Nodes of the two graphs correspond if they have the same
 * position in the order of creation. The caller must have set `number` of each node to this position. */
static bool has_same_edges(const sim_node *a, const sim_node *b)
{
    if (a->before.count != b->before.count)
        return false;
    for (size_t i = 0; i < a->before.count; i++) {
        size_t k = 0;
        while (k < b->before.count && b->before.list[k].node->number != a->before.list[i].node->number)
            k++;
        if (k == b->before.count ||
            memcmp(&a->before.list[i].data, &b->before.list[k].data, sizeof(CUgraphEdgeData)) != 0)
            return false;
    }
    return true;
}

/* Compares two graphs node by node: the topology first, then the parameters that must not change. The function makes a
 * new operation for each node, recursively for child graphs and bodies. If the graphs differ too much, it records the
 * reason and returns false. */
static bool collect_changes(sim_context *context, update *u, sim_graph *to, sim_graph *from, CUresult *result)
{
    if (to->count != from->count)
        return fail_update(u, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, NULL);
    size_t i = 0;
    for (sim_node *node = to->first; node; node = node->next)
        node->number = i++;
    i = 0;
    for (sim_node *node = from->first; node; node = node->next)
        node->number = i++;
    sim_node *old = to->first;
    for (sim_node *node = from->first; node && old; node = node->next, old = old->next) {
        if (!has_same_edges(old, node))
            return fail_update(u, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, node);
        if (old->op.what.type != node->op.what.type)
            return fail_update(u, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, node);
    }
    old = to->first;
    for (sim_node *node = from->first; node && old; node = node->next, old = old->next) {
        CUgraphNodeType type = node->op.what.type;
        if (node->op.child && !collect_changes(context, u, old->op.child, node->op.child, result))
            return false;
        const CUDA_CONDITIONAL_NODE_PARAMS *was = &old->op.what.conditional, *is = &node->op.what.conditional;
        if (type == CU_GRAPH_NODE_TYPE_CONDITIONAL &&
            (was->handle != is->handle || was->type != is->type || was->size != is->size))
            return fail_update(u, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, node);
        for (unsigned k = 0; k < sim_condition_count(&node->op); k++)
            if (!collect_changes(context, u, sim_condition_body(context, &old->op, k),
                                 sim_condition_body(context, &node->op, k), result))
                return false;
        if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC
                ? old->op.what.alloc.dptr != node->op.what.alloc.dptr
                : type == CU_GRAPH_NODE_TYPE_MEM_FREE && old->op.what.free.dptr != node->op.what.free.dptr)
            return fail_update(u, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, node);
        if (type == CU_GRAPH_NODE_TYPE_KERNEL &&
            (old->op.cooperative != node->op.cooperative ||
             memcmp(old->op.cluster, node->op.cluster, sizeof old->op.cluster) != 0))
            return fail_update(u, CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED, node);
        if (old->op.in != node->op.in)
            return fail_update(u,
                               type == CU_GRAPH_NODE_TYPE_KERNEL
                                   ? CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE
                                   : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED,
                               node);
        if (node->op.child || type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
            continue;
        if (!kiln__grow(sim_memory(), &u->changes, &u->capacity, u->count + 1, sizeof *u->changes)) {
            *result = CUDA_ERROR_OUT_OF_MEMORY;
            return fail_update(u, CU_GRAPH_EXEC_UPDATE_ERROR, NULL);
        }
        u->changes[u->count].node = old;
        *result = sim_op_copy(context, &node->op, &u->changes[u->count++].op);
        if (*result != CUDA_SUCCESS)
            return fail_update(u, CU_GRAPH_EXEC_UPDATE_ERROR, node);
    }
    return true;
}

/* Replaces all operations of a graph by the operations of another graph with the same topology. If one replacement is
 * impossible, replaces none. */
static CUresult update_graph(sim_context *context, sim_graph *to, sim_graph *from, update *u)
{
    CUresult result = CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    bool fits = collect_changes(context, u, to, from, &result);
    for (size_t i = 0; i < u->count; i++) {
        sim_op *op = fits ? &u->changes[i].node->op : &u->changes[i].op;
        sim_op_free(context, op);
        if (fits)
            *op = u->changes[i].op;
    }
    kiln__free(sim_memory(), u->changes);
    return fits ? CUDA_SUCCESS : result == CUDA_ERROR_OUT_OF_MEMORY ? result : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

CUresult sim_cuGraphExecUpdate(CUgraphExec handle, CUgraph graph_handle, CUgraphExecUpdateResultInfo *info)
{
    sim_context *context = NULL;
    sim_exec *exec = NULL;
    SIM_TRY(sim_exec_begin(handle, &context, &exec));
    sim_graph *graph = sim_graph_of(context, graph_handle);
    if (!graph || !info || graph->capturing)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    update u = {.why = CU_GRAPH_EXEC_UPDATE_SUCCESS};
    CUresult result = update_graph(context, exec->graph, graph, &u);
    *info = (CUgraphExecUpdateResultInfo){.result = u.why};
    if (u.node)
        info->errorNode = SIM_HANDLE(CUgraphNode, u.node);
    return sim_end_work(context, result);
}

CUresult sim_cuGraphExecUpdate_v1(CUgraphExec exec, CUgraph graph, CUgraphNode *node, CUgraphExecUpdateResult *why)
{
    CUgraphExecUpdateResultInfo info = {.result = CU_GRAPH_EXEC_UPDATE_ERROR};
    CUresult result = sim_cuGraphExecUpdate(exec, graph, &info);
    if (node)
        *node = info.errorNode;
    if (why)
        *why = info.result;
    return result;
}

CUresult sim_cuGraphExecChildGraphNodeSetParams(CUgraphExec handle, CUgraphNode node_handle, CUgraph child)
{
    sim_context *context = NULL;
    sim_exec *exec = NULL;
    SIM_TRY(sim_exec_begin(handle, &context, &exec));
    const sim_node *node = sim_exec_node(exec, node_handle);
    sim_graph *graph = sim_graph_of(context, child);
    if (!node || !node->op.child || !graph || graph->capturing)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    update u = {.why = CU_GRAPH_EXEC_UPDATE_SUCCESS};
    CUresult result = update_graph(context, node->op.child, graph, &u);
    return sim_end_work(context, result == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE ? CUDA_ERROR_INVALID_VALUE : result);
}

/* ---- disabled nodes ---- */

static bool can_be_disabled(const sim_node *node)
{
    CUgraphNodeType type = node->op.what.type;
    return type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_MEMCPY || type == CU_GRAPH_NODE_TYPE_MEMSET;
}

CUresult sim_cuGraphNodeSetEnabled(CUgraphExec handle, CUgraphNode node_handle, unsigned enabled)
{
    sim_context *context = NULL;
    sim_exec *exec = NULL;
    SIM_TRY(sim_exec_begin(handle, &context, &exec));
    sim_node *node = sim_exec_node(exec, node_handle);
    if (!node || !can_be_disabled(node))
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    node->disabled = !enabled;
    return sim_end_work(context, CUDA_SUCCESS);
}

CUresult sim_cuGraphNodeGetEnabled(CUgraphExec handle, CUgraphNode node_handle, unsigned *enabled)
{
    sim_context *context = NULL;
    sim_exec *exec = NULL;
    SIM_TRY(sim_exec_begin(handle, &context, &exec));
    const sim_node *node = sim_exec_node(exec, node_handle);
    if (!node || !can_be_disabled(node) || !enabled)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    *enabled = !node->disabled;
    return sim_end_work(context, CUDA_SUCCESS);
}
