/* op.c - operations: a stream executes work that is stored as data. The driver knows kernels, copies, fills, host
 * functions and events. programs/ adds further kinds of operations (sim_op.run). */
#include "cu_work.h"

/* Sets the time of the event to the current time of the context. */
static void set_recorded(sim_context *context, sim_event *event)
{
    event->recorded = true;
    event->capture = 0;
    event->clock_ns = sim_clock(context);
}

static CUresult run_record(sim_context *context, CUevent handle)
{
    sim_event *event = sim_object_find(context, handle, SIM_EVENT);
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    set_recorded(context, event);
    /* If a node of a graph records the event, the event marks all work of the context so far. In other cases
     * record_edges() later replaces this clock by the clock of the stream. */
    sim_order_record(context, NULL, event);
    sim_programs()->program_record(context, event);
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
    sim_programs()->program_stream(sim_stream_noted(*context, stream), stream == SIM_WAITS);
    switch (op->what.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return sim_kernel_run(in, op);
    case CU_GRAPH_NODE_TYPE_MEMCPY: return sim_copy_run(in, op);
    case CU_GRAPH_NODE_TYPE_MEMSET: return sim_fill_run(in, &op->what.memset);
    case CU_GRAPH_NODE_TYPE_HOST:
        if (!sim_order_call_out(*context, op->what.host.fn, op->what.host.userData))
            *context = NULL;
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return run_record(in, op->what.eventRecord.event);
    /* An operation of another kind does nothing here, unless programs/ has set its function `run`. For a child graph,
     * its nodes are separate operations. A wait for an event is already over, because the work that the event marks is
     * complete. */
    default: return op->run ? op->run(context, op) : CUDA_SUCCESS;
    }
}

void sim_order_told(sim_context *context, CUstream stream, const sim_op *op)
{
    if (op->what.type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP)
        /* a memory operation may have waited for a value that another stream has written */
        sim_order_stream_waits(context, stream, NULL);
    if (op->what.type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP || op->what.type == CU_GRAPH_NODE_TYPE_HOST)
        sim_order_waited(context, stream); /* the host may read memory that these operations write */
}

/* After a launch has run, records the events of its attributes, which mark moments of the launch (sim_trigger). */
static void record_marks(sim_context *context, CUstream stream, const sim_op *op)
{
    for (unsigned k = 0; k < SIM_TRIGGERS; k++) {
        sim_event *event = op->marks[k] ? sim_object_find(context, op->marks[k], SIM_EVENT) : NULL;
        if (!event)
            continue;
        set_recorded(context, event);
        sim_order_triggered(context, stream, event, (sim_trigger)k);
        sim_programs()->program_record(context, event);
    }
}

/* Adds the happens-before edges that an operation has after it has run (order.c). */
static void record_edges(sim_context *context, CUstream stream, const sim_op *op)
{
    if (op->what.type == CU_GRAPH_NODE_TYPE_EVENT_RECORD)
        sim_order_record(context, &stream, sim_object_find(context, op->what.eventRecord.event, SIM_EVENT));
    else if (op->what.type == CU_GRAPH_NODE_TYPE_KERNEL)
        record_marks(context, stream, op);
    else if (op->what.type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP || op->what.type == CU_GRAPH_NODE_TYPE_HOST)
        sim_order_told(context, stream, op);
    else if (op->what.type == CU_GRAPH_NODE_TYPE_MEMCPY && sim_copy_waits(context, stream, op))
        sim_order_waited(context, stream);
}

/* Runs an operation outside of a capture, and adds the happens-before edges before and after it. */
static CUresult run_in_order(sim_context **context, CUstream stream, const sim_op *op)
{
    sim_context *waiting[3] = {*context};
    const bool across = (*context)->check && op->what.type == CU_GRAPH_NODE_TYPE_MEMCPY && sim_is_legacy(stream) &&
                        sim_copy_across(*context, op, waiting + 1);
    if (across)
        sim_order_devices_wait(waiting, KILN__COUNT(waiting));
    /* Recording an event is no piece of work in the happens-before order. So a dependent kernel after the event does
     * not wait for the kernel before it. */
    const bool works = op->what.type != CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    if (works)
        sim_order_begin(*context, stream, op);
    CUresult result = sim_op_run(context, stream, op);
    if (!*context)
        return result;
    if (works)
        sim_order_end(*context);
    if (across)
        sim_order_devices_wait(waiting, KILN__COUNT(waiting));
    if (result == CUDA_SUCCESS)
        record_edges(*context, stream, op);
    sim_order_guard();
    return result;
}

CUresult sim_submit(sim_context **context, CUstream stream, sim_op *op)
{
    sim_stream *capturing = NULL;
    SIM_TRY(sim_programs()->capture_enter(*context, stream, &capturing));
    return capturing ? sim_programs()->capture_submit(*context, capturing, op) : run_in_order(context, stream, op);
}
