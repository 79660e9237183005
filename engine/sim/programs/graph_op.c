/* graph_op.c - the operations of nodes. It makes an operation from the API's parameters, copies an operation with all
 * memory to which it points, and runs the kinds of operations that only graphs have. */
#include <string.h>

#include "cu_graph.h"
#include "vm_checks.h"

/* ---- running ---- */

static CUresult run_alloc(sim_context **in, const sim_op *op)
{
    sim_context *context = *in;
    const CUDA_MEM_ALLOC_NODE_PARAMS_v2 *what = &op->what.alloc;
    if (!vm_alloc_at(context->device, what->dptr, what->bytesize))
        return CUDA_ERROR_OUT_OF_MEMORY;
    vm_set_owner(context->device, what->dptr, SIM_OWNER_GRAPH);
    uint32_t open = 0;
    /* the program may have changed the descriptions through the pointer from cuGraphMemAllocNodeGetParams() */
    for (size_t i = 0; i < what->accessDescCount; i++) {
        const int ordinal = sim_device_ordinal(what->accessDescs[i].location.id);
        if (ordinal >= 0 && what->accessDescs[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE)
            open |= 1u << ordinal;
    }
    vm_open(context->device, what->dptr, open);
    context->graph_used += what->bytesize;
    context->graph_most = context->graph_used > context->graph_most ? context->graph_used : context->graph_most;
    return CUDA_SUCCESS;
}

/* Frees memory at its place in the order of a stream. For the checks, the free counts as a write of the whole memory:
 * the program must order the accesses of other streams before the free. */
CUresult sim_free_run(sim_context **context, const sim_op *op)
{
    const CUdeviceptr address = op->what.free.dptr;
    sim_context *home = sim_home(*context, address);
    vm_info info;
    if ((*context)->check && vm_about(home->device, address, &info) && info.base == address)
        sim_order_touch(*context, "the free (cuMemFreeAsync)", address, info.bytes, true);
    if (sim_memory_free(home, address))
        return CUDA_SUCCESS;
    check_host_free((*context)->device, address);
    return CUDA_ERROR_INVALID_VALUE;
}

/* ---- making, copying, freeing ---- */

CUresult sim_op_own(sim_op *op, const void *data, size_t bytes)
{
    if (bytes == 0)
        return CUDA_SUCCESS;
    op->owned = data ? kiln__alloc(sim_memory(), bytes) : NULL;
    if (!op->owned)
        return data ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
    memcpy(op->owned, data, bytes);
    op->owned_bytes = bytes;
    return CUDA_SUCCESS;
}

/* Makes the operation of an allocation node. The function reserves the address at once, so that other nodes can use the
 * address. A launch of the graph allocates the memory. */
static CUresult make_alloc(sim_context *context, sim_op *op)
{
    enum { ALIGN = 512, MOST_DESCRIPTIONS = 64 };
    CUDA_MEM_ALLOC_NODE_PARAMS_v2 *what = &op->what.alloc;
    const int device = sim_device_at(context->ordinal);
    if (what->bytesize == 0 || what->poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        what->accessDescCount > MOST_DESCRIPTIONS || (what->accessDescCount > 0 && !what->accessDescs))
        return CUDA_ERROR_INVALID_VALUE;
    if (what->poolProps.handleTypes != CU_MEM_HANDLE_TYPE_NONE ||
        what->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (what->poolProps.location.id != device)
        return CUDA_ERROR_INVALID_DEVICE;
    for (size_t i = 0; i < what->accessDescCount; i++)
        if (what->accessDescs[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
            sim_device_ordinal(what->accessDescs[i].location.id) < 0)
            return CUDA_ERROR_INVALID_DEVICE;
    SIM_TRY(sim_op_own(op, what->accessDescs, what->accessDescCount * sizeof *what->accessDescs));
    op->run = run_alloc;
    what->accessDescs = op->owned;
    what->dptr = what->bytesize <= context->memory ? vm_reserve(context->device, what->bytesize, ALIGN) : 0;
    if (what->dptr)
        return CUDA_SUCCESS;
    kiln__free(sim_memory(), op->owned);
    op->owned = NULL;
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult make_child(sim_context *context, sim_op *op)
{
    const sim_graph *graph = sim_graph_of(context, op->what.graph.graph);
    if (!graph || graph->capturing)
        return CUDA_ERROR_INVALID_VALUE;
    if (graph->memory_nodes > 0 || op->what.graph.ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE)
        return CUDA_ERROR_NOT_SUPPORTED;
    return sim_graph_clone(context, graph, &op->child);
}

CUresult sim_op_check(sim_context *context, const sim_op *op)
{
    switch (op->what.type) {
    case CU_GRAPH_NODE_TYPE_MEMCPY: return sim_copy_check(context, op);
    case CU_GRAPH_NODE_TYPE_MEMSET: return sim_fill_check(context, &op->what.memset);
    case CU_GRAPH_NODE_TYPE_HOST: return op->what.host.fn ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return sim_object_find(sim_owner(context, op->what.eventWait.event, SIM_EVENT), op->what.eventWait.event,
                               SIM_EVENT)
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_INVALID_HANDLE;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return sim_object_find(context, op->what.eventRecord.event, SIM_EVENT) ? CUDA_SUCCESS
                                                                               : CUDA_ERROR_INVALID_HANDLE;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return sim_graph_memory(context, op->what.free.dptr, 1, true) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    default: return CUDA_SUCCESS;
    }
}

CUresult sim_op_make(sim_context *context, const CUgraphNodeParams *what, sim_op *op)
{
    *op = (sim_op){.what = *what};
    switch (what->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
        CUDA_KERNEL_NODE_PARAMS kernel;
        _Static_assert(sizeof kernel == sizeof what->kernel, "both forms have the same members");
        memcpy(&kernel, &what->kernel, sizeof kernel);
        return sim_kernel_make(context, &kernel, op);
    }
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return make_alloc(context, op);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return sim_memops_make(context, op);
    case CU_GRAPH_NODE_TYPE_GRAPH: return make_child(context, op);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return sim_condition_make(context, op);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
    case CU_GRAPH_NODE_TYPE_MEMSET:
    case CU_GRAPH_NODE_TYPE_HOST:
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return sim_op_check(context, op);
    case CU_GRAPH_NODE_TYPE_MEM_FREE: op->run = sim_free_run; return sim_op_check(context, op);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT: return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_op_copy(sim_context *context, const sim_op *from, sim_op *to)
{
    *to = *from;
    to->owned = NULL;
    to->child = NULL;
    CUresult result = from->owned ? sim_op_own(to, from->owned, from->owned_bytes) : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS && from->child)
        result = sim_graph_clone(context, from->child, &to->child);
    if (result == CUDA_SUCCESS && sim_condition_count(to))
        return sim_condition_copy(context, from, to);
    if (result != CUDA_SUCCESS)
        return result;
    void **pointers = to->owned; /* NULL if the operation has no pointers */
    /* the program has this array of pointers too, and may have changed the pointers */
    for (size_t i = 0; pointers && i < to->pointers; i++) {
        const uintptr_t offset = (uintptr_t)pointers[i] - (uintptr_t)from->owned;
        pointers[i] = offset < to->owned_bytes ? (char *)to->owned + offset : NULL;
    }
    if (to->what.type == CU_GRAPH_NODE_TYPE_KERNEL)
        to->what.kernel.kernelParams = pointers;
    else if (to->what.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        to->what.alloc.accessDescs = to->owned;
    else if (to->what.type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP)
        to->what.memOp.paramArray = to->owned;
    return CUDA_SUCCESS;
}

void sim_op_free(sim_context *context, sim_op *op)
{
    sim_condition_close(context, op);
    kiln__free(sim_memory(), op->owned);
    if (op->child)
        sim_graph_close(context, op->child);
    op->owned = NULL;
    op->child = NULL;
}

bool sim_graph_memory(const sim_context *context, CUdeviceptr address, uint64_t bytes, bool exact)
{
    for (const sim_object *object = context->objects; object; object = object->next) {
        const sim_op *op = &((const sim_node *)object)->op;
        if (object->kind != SIM_NODE || op->what.type != CU_GRAPH_NODE_TYPE_MEM_ALLOC)
            continue;
        uint64_t offset = address - op->what.alloc.dptr;
        if (exact ? offset == 0 : offset < op->what.alloc.bytesize && bytes <= op->what.alloc.bytesize - offset)
            return true;
    }
    return false;
}
