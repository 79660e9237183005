/* op.c - work as data: copies the work of a stream or a node with all memory to which it points, and runs it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cu_graph.h"

/* ---- making, copying, freeing ---- */

/* Copies `bytes` of the caller's memory into the op; the caller sets the op's pointer to it. */
static CUresult copy_owned(sim_op *op, const void *data, size_t bytes)
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

/* Makes a node that allocates. Reserves its address now, so that other nodes can name it; the memory comes at the
 * launch. */
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
    CUresult result = copy_owned(op, what->accessDescs, what->accessDescCount * sizeof *what->accessDescs);
    if (result != CUDA_SUCCESS)
        return result;
    what->accessDescs = op->owned;
    what->dptr = what->bytesize <= context->memory ? vm_reserve(context->device, what->bytesize, ALIGN) : 0;
    if (what->dptr)
        return CUDA_SUCCESS;
    kiln__free(sim_memory(), op->owned);
    op->owned = NULL;
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult make_memops(sim_context *context, sim_op *op)
{
    CUresult result = sim_memops_check(context, &op->what.memOp);
    if (result == CUDA_SUCCESS)
        result = copy_owned(op, op->what.memOp.paramArray, op->what.memOp.count * sizeof *op->what.memOp.paramArray);
    op->what.memOp.paramArray = op->owned;
    return result;
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
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return make_memops(context, op);
    case CU_GRAPH_NODE_TYPE_GRAPH: return make_child(context, op);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return sim_condition_make(context, op);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
    case CU_GRAPH_NODE_TYPE_MEMSET:
    case CU_GRAPH_NODE_TYPE_HOST:
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return sim_op_check(context, op);
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
    CUresult result = from->owned ? copy_owned(to, from->owned, from->owned_bytes) : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS && from->child)
        result = sim_graph_clone(context, from->child, &to->child);
    if (result == CUDA_SUCCESS && sim_condition_count(to))
        return sim_condition_copy(context, from, to);
    if (result != CUDA_SUCCESS)
        return result;
    void **pointers = to->owned; /* NULL: there are none */
    for (size_t i = 0; pointers && i < to->pointers; i++)
        pointers[i] = (char *)to->owned + ((char *)pointers[i] - (char *)from->owned);
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

/* ---- values in memory that a stream writes, or for which it waits ---- */

static bool is_wide(CUstreamBatchMemOpType type)
{
    return type == CU_STREAM_MEM_OP_WAIT_VALUE_64 || type == CU_STREAM_MEM_OP_WRITE_VALUE_64;
}

/* Returns the host pointer of a value in memory, or NULL if the address is invalid or misaligned. */
static void *find_value(const sim_context *context, CUdeviceptr address, bool wide)
{
    return address % (wide ? 8 : 4) == 0
               ? vm_pointer(sim_home((sim_context *)(uintptr_t)context, address)->device, address, wide ? 8 : 4)
               : NULL;
}

CUresult sim_memops_check(sim_context *context, const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *what)
{
    enum { MOST = 256 };
    if (what->count == 0 || what->count > MOST || !what->paramArray || what->flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < what->count; i++) {
        const CUstreamBatchMemOpParams *op = &what->paramArray[i];
        switch (op->operation) {
        case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        case CU_STREAM_MEM_OP_WAIT_VALUE_64:
            if ((op->waitValue.flags & ~(unsigned)CU_STREAM_WAIT_VALUE_FLUSH) > CU_STREAM_WAIT_VALUE_NOR ||
                !find_value(context, op->waitValue.address, is_wide(op->operation)))
                return CUDA_ERROR_INVALID_VALUE;
            break;
        case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        case CU_STREAM_MEM_OP_WRITE_VALUE_64:
            if (op->writeValue.flags > CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER ||
                !find_value(context, op->writeValue.address, is_wide(op->operation)))
                return CUDA_ERROR_INVALID_VALUE;
            break;
        case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
        case CU_STREAM_MEM_OP_BARRIER: break;
        default: return CUDA_ERROR_INVALID_VALUE;
        }
    }
    return CUDA_SUCCESS;
}

/* Returns true if the value in memory satisfies the condition of a wait. */
static bool is_satisfied(const CUstreamBatchMemOpParams *op, const void *at)
{
    bool wide = is_wide(op->operation);
    uint64_t value = wide ? op->waitValue.value64 : op->waitValue.value;
    uint64_t now = wide ? __atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE)
                        : __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);
    switch (op->waitValue.flags & ~(unsigned)CU_STREAM_WAIT_VALUE_FLUSH) {
    case CU_STREAM_WAIT_VALUE_GEQ: return wide ? (int64_t)(now - value) >= 0 : (int32_t)(uint32_t)(now - value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ: return now == value;
    case CU_STREAM_WAIT_VALUE_AND: return (now & value) != 0;
    default: return wide ? ~(now | value) != 0 : (uint32_t) ~(now | value) != 0;
    }
}

/* Lets other threads run for 50 microseconds. */
static void pause_a_little(void *none)
{
    (void)none;
    nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

/* Waits for a value in memory. Other threads may continue meanwhile. Work is done when it is enqueued, so only another
 * thread can write the value. After 20 s, or one microsecond for each step of the budget, the wait counts as an endless
 * kernel. */
static CUresult wait_value(sim_context **context, const CUstreamBatchMemOpParams *op)
{
    const uint64_t most = 20000000000u, start = kiln__now_ns();
    uint64_t steps = (*context)->steps, limit = steps && steps < most / 1000 ? steps * 1000 : most;
    for (;;) {
        const void *at = find_value(*context, op->waitValue.address, is_wide(op->operation));
        if (!at)
            return CUDA_ERROR_INVALID_VALUE;
        if (is_satisfied(op, at))
            return CUDA_SUCCESS;
        if (kiln__now_ns() - start > limit) {
            snprintf((*context)->fault, sizeof(*context)->fault,
                     "a stream waited for a value at 0x%" PRIx64 " that nobody wrote: work is done when the call that "
                     "enqueues it returns, so another thread must write it",
                     (uint64_t)op->waitValue.address);
            (*context)->sticky = CUDA_ERROR_LAUNCH_TIMEOUT;
            return CUDA_SUCCESS; /* this call succeeds; the next one gets the error */
        }
        if (!sim_order_call_out(*context, pause_a_little, NULL)) {
            *context = NULL;
            return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        }
    }
}

CUresult sim_memops_run(sim_context **context, const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *what)
{
    for (unsigned i = 0; i < what->count; i++) {
        const CUstreamBatchMemOpParams op = what->paramArray[i];
        CUresult result = CUDA_SUCCESS;
        if (op.operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 || op.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64) {
            result = wait_value(context, &op);
        } else if (op.operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 || op.operation == CU_STREAM_MEM_OP_WRITE_VALUE_64) {
            void *at = find_value(*context, op.writeValue.address, is_wide(op.operation));
            if (!at)
                result = CUDA_ERROR_INVALID_VALUE;
            else if (is_wide(op.operation))
                __atomic_store_n((uint64_t *)at, op.writeValue.value64, __ATOMIC_RELEASE);
            else
                __atomic_store_n((uint32_t *)at, op.writeValue.value, __ATOMIC_RELEASE);
        }
        if (result != CUDA_SUCCESS || (*context)->sticky != CUDA_SUCCESS)
            return result;
    }
    return CUDA_SUCCESS;
}

/* ---- running ---- */

static CUresult run_alloc(sim_context *context, const CUDA_MEM_ALLOC_NODE_PARAMS_v2 *what)
{
    if (!vm_alloc_at(context->device, what->dptr, what->bytesize))
        return CUDA_ERROR_OUT_OF_MEMORY;
    vm_set_owner(context->device, what->dptr, SIM_OWNER_GRAPH);
    uint32_t open = 0;
    for (size_t i = 0; i < what->accessDescCount; i++)
        if (what->accessDescs[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE)
            open |= 1u << sim_device_ordinal(what->accessDescs[i].location.id);
    vm_open(context->device, what->dptr, open);
    context->graph_used += what->bytesize;
    context->graph_most = context->graph_used > context->graph_most ? context->graph_used : context->graph_most;
    return CUDA_SUCCESS;
}

static CUresult run_record(sim_context *context, CUevent handle)
{
    sim_event *event = sim_object_find(context, handle, SIM_EVENT);
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    event->recorded = true;
    event->capture = 0;
    event->clock_ns = sim_clock(context);
    sim_order_record(context, NULL, event); /* the event is recorded by a node of a graph, so it marks all work */
    sim_program_record(context, event);
    return CUDA_SUCCESS;
}

sim_context *sim_op_context(sim_context *context, const sim_op *op)
{
    return op->in ? sim_context_find(op->in) : context;
}

CUresult sim_op_run(sim_context **context, CUstream stream, const sim_op *op)
{
    sim_context *in = sim_op_context(*context, op);
    if (!in)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    sim_program_stream(sim_stream_noted(*context, stream), stream == SIM_WAITS);
    switch (op->what.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return sim_kernel_run(in, op);
    case CU_GRAPH_NODE_TYPE_MEMCPY: return sim_copy_run(in, op);
    case CU_GRAPH_NODE_TYPE_MEMSET: return sim_fill_run(in, &op->what.memset);
    case CU_GRAPH_NODE_TYPE_HOST:
        if (!sim_order_call_out(*context, op->what.host.fn, op->what.host.userData))
            *context = NULL;
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return run_record(in, op->what.eventRecord.event);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return run_alloc(*context, &op->what.alloc);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return sim_memory_free(sim_home(*context, op->what.free.dptr), op->what.free.dptr) ? CUDA_SUCCESS
                                                                                           : CUDA_ERROR_INVALID_VALUE;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return sim_memops_run(context, &op->what.memOp);
    default: /* nothing to do: events mark work that is done, and the nodes of a child graph are separate steps */
        return CUDA_SUCCESS;
    }
}

void sim_order_told(sim_context *context, CUstream stream, const sim_op *op)
{
    if (op->what.type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP)
        sim_order_stream_waits(context, stream, NULL); /* it may have waited for any other stream */
    if (op->what.type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP || op->what.type == CU_GRAPH_NODE_TYPE_HOST)
        sim_order_waited(context, stream); /* the host may read what they write */
}

/* Tells order.c which edges follow from an operation that has run. */
static void record_edges(sim_context *context, CUstream stream, const sim_op *op)
{
    if (op->what.type == CU_GRAPH_NODE_TYPE_EVENT_RECORD)
        sim_order_record(context, &stream, sim_object_find(context, op->what.eventRecord.event, SIM_EVENT));
    else if (op->what.type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP)
        sim_order_told(context, stream, op);
    else if (op->what.type == CU_GRAPH_NODE_TYPE_HOST)
        sim_order_told(context, stream, op);
    else if (op->what.type == CU_GRAPH_NODE_TYPE_MEMCPY && sim_copy_waits(context, stream, op))
        sim_order_waited(context, stream);
}

/* Runs an operation outside a capture, with the happens-before edges before and after it. */
static CUresult run_in_order(sim_context **context, CUstream stream, const sim_op *op)
{
    sim_context *waiting[3] = {*context};
    const bool across = (*context)->check && op->what.type == CU_GRAPH_NODE_TYPE_MEMCPY && sim_is_legacy(stream) &&
                        sim_copy_across(*context, op, waiting + 1);
    if (across)
        sim_order_devices_wait(waiting, KILN__COUNT(waiting));
    sim_order_begin(*context, stream);
    CUresult result = sim_op_run(context, stream, op);
    if (!*context)
        return result;
    sim_order_end(*context);
    if (across)
        sim_order_devices_wait(waiting, KILN__COUNT(waiting));
    if (result == CUDA_SUCCESS)
        record_edges(*context, stream, op);
    sim_order_guard();
    return result;
}

CUresult sim_submit(sim_context **context, CUstream stream, sim_op *op, sim_node **captured)
{
    sim_stream *capturing = NULL;
    CUresult result = sim_capture_enter(*context, stream, &capturing);
    if (result != CUDA_SUCCESS)
        return result;
    if (!capturing)
        return run_in_order(context, stream, op);
    result = sim_op_check(*context, op);
    return result == CUDA_SUCCESS ? sim_capture_op(*context, capturing, op, captured) : result;
}
