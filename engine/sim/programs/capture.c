/* capture.c - stream capture: work that a program puts into a stream becomes nodes of a graph.
 *
 * A stream takes part in a capture if the capture was started on the stream, or if the stream waits for an event that
 * was recorded in a captured stream. The *tips* of a stream are the nodes on which its next node depends.
 *
 * A capture is active from cuStreamBeginCapture on. A capture becomes invalid if a program makes a call that the
 * capture forbids, or if a call fails. A capture ends with cuStreamEndCapture, which reports an invalid capture. It
 * also ends when its stream or context ends.
 *
 * The graph, its nodes and the capture belong to the context of the stream on which it was started. Streams of other
 * contexts may take part too. Their nodes run in the contexts of these streams (sim_op.in). */
#include <pthread.h>
#include <string.h>

#include "cu_graph.h"

/* A capture that has been started and has not ended. */
typedef struct sim_capture {
    sim_object object; /* the handle of this object is the id of the capture */
    sim_graph *graph;
    sim_stream *origin; /* the stream on which the capture was started, or NULL if this stream was destroyed */
    CUstreamCaptureMode mode;
    pthread_t thread;  /* the thread that started the capture */
    bool invalid, own; /* `own` means that the capture has made the graph */
} sim_capture;

static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

CUresult sim_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    CUstreamCaptureMode before = thread_mode;
    thread_mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

/* ---- calls that are not allowed ---- */

/* Iterates over the streams of all contexts that take part in the capture. `last` is the previous stream, which must
 * still exist. If `last` is NULL, the function returns the first stream. */
static sim_stream *find_next_member(const sim_capture *capture, const sim_stream *last)
{
    sim_context *context = last ? last->object.context : sim_context_after(NULL);
    for (sim_object *object = last ? last->object.next : NULL; context;
         context = sim_context_after(context), object = NULL) {
        for (object = object                                    ? object
                      : last && last->object.context == context ? NULL
                                                                : context->objects;
             object; object = object->next)
            if (object->kind == SIM_STREAM && ((sim_stream *)object)->capture == capture)
                return (sim_stream *)object;
    }
    return NULL;
}

static void join_capture(sim_stream *stream, sim_capture *capture)
{
    if (!stream->capture)
        stream->object.context->captures++;
    stream->capture = capture;
}

static void leave_capture(sim_stream *stream)
{
    stream->capture = NULL;
    stream->tip_count = 0;
    stream->object.context->captures--;
}

/* This function runs when the context of the capture ends. All streams leave the capture. */
static void capture_drop(sim_object *object)
{
    sim_stream *stream;
    while ((stream = find_next_member((const sim_capture *)object, NULL)))
        leave_capture(stream);
}

static sim_capture *find_next_capture(sim_object *object)
{
    while (object && object->kind != SIM_CAPTURE)
        object = object->next;
    return (sim_capture *)object;
}

/* Checks whether a capture forbids a call that may wait for the device. Captured work never runs, so such a call could
 * wait for ever. Captures of the calling thread and GLOBAL captures of any thread forbid such a call. The call is
 * allowed if the capture or the calling thread is RELAXED. A forbidden call makes the capture invalid. */
CUresult sim_forbid(sim_context *context)
{
    CUresult result = CUDA_SUCCESS;
    (void)context; /* the call may wait for work of any context, so the argument does not matter */
    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_SUCCESS;
    for (sim_context *any = sim_context_after(NULL); any; any = sim_context_after(any))
        for (sim_capture *c = any->captures ? find_next_capture(any->objects) : NULL; c;
             c = find_next_capture(c->object.next)) {
            bool mine = pthread_equal(c->thread, pthread_self()) && c->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
            bool everybodys = c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
            if (!mine && !everybodys)
                continue;
            c->invalid = true;
            result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    return result;
}

/* Makes all captures of the context's streams invalid, if there are any. */
CUresult sim_forbid_any(sim_context *context)
{
    CUresult result = CUDA_SUCCESS;
    for (sim_object *object = context->captures ? context->objects : NULL; object; object = object->next) {
        const sim_stream *stream = (const sim_stream *)object;
        if (object->kind != SIM_STREAM || !stream->capture)
            continue;
        stream->capture->invalid = true;
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return result;
}

/* Returns an error if a blocking stream is captured. Work in the legacy stream waits for all blocking streams, and
 * captured work never runs. */
static CUresult forbid_legacy(sim_context *context, bool invalidate)
{
    CUresult result = CUDA_SUCCESS;
    for (sim_object *object = context->captures ? context->objects : NULL; object; object = object->next) {
        const sim_stream *stream = (const sim_stream *)object;
        if (object->kind != SIM_STREAM || !stream->capture || (stream->flags & CU_STREAM_NON_BLOCKING))
            continue;
        stream->capture->invalid |= invalidate;
        result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    return result;
}

/* Sets *capturing to the captured stream for work that goes into the stream, or to NULL if the stream is not captured.
 * Returns an error if a capture forbids the call. */
CUresult sim_capture_enter(sim_context *context, CUstream handle, sim_stream **capturing)
{
    *capturing = NULL;
    if (context->captures == 0)
        return CUDA_SUCCESS;
    if (sim_is_legacy(handle))
        return forbid_legacy(context, true);
    sim_stream *stream = sim_stream_at(context, handle, false);
    if (!stream || !stream->capture)
        return CUDA_SUCCESS;
    *capturing = stream;
    return stream->capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

/* Checks a call that queries a stream or waits for it. A capture of the stream forbids such a call. */
CUresult sim_capture_wait(sim_context *context, CUstream handle)
{
    sim_stream *capturing = NULL;
    SIM_TRY(sim_capture_enter(context, handle, &capturing));
    if (!capturing)
        return sim_forbid(context);
    capturing->capture->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

/* ---- nodes ---- */

static CUresult invalidate_capture(sim_capture *capture, CUresult why)
{
    capture->invalid = true;
    return why;
}

/* Adds a dependency of the stream's next node. If the stream already depends on the node, the new dependency replaces
 * the old dependency only if the new one is full. */
static bool add_tip(sim_stream *stream, sim_node *node, CUgraphEdgeData data)
{
    for (size_t i = 0; i < stream->tip_count; i++)
        if (stream->tips[i].node == node) {
            stream->tips[i].data = sim_edge_is_full(&data) ? data : stream->tips[i].data;
            return true;
        }
    if (!kiln__grow(sim_memory(), &stream->tips, &stream->tip_capacity, stream->tip_count + 1, sizeof *stream->tips))
        return false;
    stream->tips[stream->tip_count++] = (sim_edge){node, data};
    return true;
}

/* Copies the stream's tips as the edges of an operation. A dependent launch has a programmatic dependency on each
 * kernel among the tips, even on a kernel for which the stream waits by an event. Other operations keep the types of
 * dependencies of the events, also programmatic dependencies. */
static void copy_tips(const sim_stream *stream, const sim_op *op, sim_edge *edges)
{
    for (size_t i = 0; i < stream->tip_count; i++) {
        edges[i] = stream->tips[i];
        if (op->what.type == CU_GRAPH_NODE_TYPE_KERNEL && op->dependent && sim_edge_is_full(&edges[i].data) &&
            edges[i].node->op.what.type == CU_GRAPH_NODE_TYPE_KERNEL)
            edges[i].data = (CUgraphEdgeData){.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC,
                                              .from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC};
    }
}

/* Makes an event mark the tips of a stream. */
static bool mark_tips(const sim_stream *stream, sim_event *event)
{
    if (!kiln__grow(sim_memory(), &event->tips, &event->tip_capacity, stream->tip_count, sizeof *event->tips))
        return false;
    for (size_t i = 0; i < stream->tip_count; i++)
        event->tips[i] = (sim_mark){stream->tips[i].node->object.handle, stream->tips[i].data};
    event->tip_count = stream->tip_count;
    event->capture = stream->capture->object.handle;
    event->recorded = false;
    return true;
}

/* Makes the events of a launch mark times of the launch's node, which is the only tip of the stream. */
static bool mark_launch(const sim_context *context, const sim_stream *stream, const CUevent *marks)
{
    static const CUgraphEdgeData edges[SIM_TRIGGERS] = {
        [SIM_TRIGGER_BLOCKS] = {.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC,
                                .from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC},
        [SIM_TRIGGER_START] = {.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC,
                               .from_port = CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER},
        [SIM_TRIGGER_BEGUN] = {.type = CU_GRAPH_DEPENDENCY_TYPE_DEFAULT,
                               .from_port = CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER},
    };
    for (unsigned k = 0; k < SIM_TRIGGERS; k++) {
        sim_event *event = marks[k] ? sim_object_find(context, marks[k], SIM_EVENT) : NULL;
        if (event && !mark_tips(stream, event))
            return false;
        if (event)
            event->tips[0].data = edges[k];
    }
    return true;
}

/* Returns true if the operation can be a node of another context's graph, because it needs no object of that
 * context. */
static bool runs_elsewhere(const sim_op *op)
{
    const CUgraphNodeType type = op->what.type;
    return type != CU_GRAPH_NODE_TYPE_MEM_ALLOC && type != CU_GRAPH_NODE_TYPE_MEM_FREE &&
           type != CU_GRAPH_NODE_TYPE_GRAPH && type != CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
}

CUresult sim_capture_op(sim_context *context, sim_stream *stream, sim_op *op)
{
    sim_node *node = NULL;
    sim_context *home = stream->capture->graph->object.context;
    if (context != home && !runs_elsewhere(op))
        return invalidate_capture(stream->capture, CUDA_ERROR_NOT_SUPPORTED);
    if (context != home)
        op->in = SIM_HANDLE(CUcontext, context);
    sim_edge *edges = kiln__calloc(sim_memory(), stream->tip_count + 1, sizeof *edges);
    bool room = edges && kiln__grow(sim_memory(), &stream->tips, &stream->tip_capacity, 1, sizeof *stream->tips);
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    CUevent marks[SIM_TRIGGERS];
    memcpy(marks, op->marks, sizeof marks);
    memset(op->marks, 0, sizeof op->marks);
    if (room)
        copy_tips(stream, op, edges);
    if (room)
        result = sim_node_add(home, stream->capture->graph, edges, stream->tip_count, op, &node);
    kiln__free(sim_memory(), edges);
    if (result != CUDA_SUCCESS) {
        stream->capture->invalid = true; /* the graph lacks a node, so the capture is invalid */
        return result;
    }
    stream->tips[0] = (sim_edge){.node = node};
    stream->tip_count = 1;
    return mark_launch(context, stream, marks) ? CUDA_SUCCESS
                                               : invalidate_capture(stream->capture, CUDA_ERROR_OUT_OF_MEMORY);
}

/* Checks an operation, and adds it to the graph of a captured stream. The graph takes ownership of the operation's
 * memory. */
CUresult sim_capture_submit(sim_context *context, sim_stream *stream, sim_op *op)
{
    CUresult result = sim_op_check(context, op);
    return result == CUDA_SUCCESS ? sim_capture_op(context, stream, op) : result;
}

/* ---- events between streams ---- */

/* Records an event in a captured stream: the event receives copies of the stream's tips. */
CUresult sim_capture_record(sim_context *context, sim_stream *stream, sim_event *event)
{
    (void)context;
    return mark_tips(stream, event) ? CUDA_SUCCESS : invalidate_capture(stream->capture, CUDA_ERROR_OUT_OF_MEMORY);
}

/* Returns the capture, of any context, in which the event was recorded. Returns NULL if that capture has ended. */
static sim_capture *find_capture(sim_context *context, const sim_event *event)
{
    const void *id = (const void *)(uintptr_t)event->capture;
    return sim_object_find(sim_owner(context, id, SIM_CAPTURE), id, SIM_CAPTURE);
}

/* If the event or the stream is captured, makes the stream wait for the event: the stream joins the event's capture.
 * Returns CUDA_SUCCESS if neither the event nor the stream is captured. */
CUresult sim_capture_wait_event(sim_context *context, CUstream handle, const sim_event *event)
{
    sim_capture *from = find_capture(context, event);
    if (sim_is_legacy(handle) && from) /* the legacy stream is never captured */
        return invalidate_capture(from, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    if (sim_is_legacy(handle) && forbid_legacy(context, true) != CUDA_SUCCESS)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    sim_stream *stream = sim_stream_at(context, handle, from != NULL);
    sim_capture *into = stream ? stream->capture : NULL;
    if (into && into->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!from) {
        if (into && (event->recorded || event->capture)) /* the event marks work outside the graph of the capture */
            return invalidate_capture(into, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
        /* the capture in which the event was recorded has ended */
        return event->capture ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    }
    if (!stream)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (from->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (into && into != from) {
        into->invalid = true;
        return invalidate_capture(from, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    }
    join_capture(stream, from);
    for (size_t i = 0; i < event->tip_count; i++) {
        sim_node *node = sim_object_find(from->object.context, (const void *)(uintptr_t)event->tips[i].node, SIM_NODE);
        if (node && !add_tip(stream, node, event->tips[i].data))
            return invalidate_capture(from, CUDA_ERROR_OUT_OF_MEMORY);
    }
    return CUDA_SUCCESS;
}

/* Checks the calls cuEventQuery and cuEventSynchronize, because a captured event cannot be queried. */
CUresult sim_capture_look_event(sim_context *context, const sim_event *event)
{
    if (!event->capture)
        return sim_forbid(context);
    sim_capture *capture = find_capture(context, event);
    return capture ? invalidate_capture(capture, CUDA_ERROR_CAPTURED_EVENT) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- beginning and ending ---- */

/* Starts a capture on a stream. `graph` is the graph to which the capture adds nodes, or NULL for a new graph. `edges`
 * are the first tips of the stream. */
static CUresult begin_capture(sim_context *context, CUstream handle, sim_graph *graph, const sim_edge *edges,
                              size_t count, CUstreamCaptureMode mode)
{
    if (!sim_stream_known(context, handle))
        return CUDA_ERROR_INVALID_HANDLE;
    if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    if (sim_is_legacy(handle))
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    sim_stream *stream = sim_stream_at(context, handle, true);
    if (!stream)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (stream->capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (!kiln__grow(sim_memory(), &stream->tips, &stream->tip_capacity, count + 1, sizeof *stream->tips))
        return CUDA_ERROR_OUT_OF_MEMORY;
    sim_capture *made = sim_object_new(context, SIM_CAPTURE, sizeof *made);
    sim_graph *into = !made ? NULL : graph ? graph : sim_graph_new(context);
    if (!into) {
        if (made)
            sim_object_free(context, made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->object.drop = capture_drop;
    *made = (sim_capture){
        .object = made->object, .graph = into, .origin = stream, .mode = mode, .thread = pthread_self(), .own = !graph};
    into->capturing = true;
    for (size_t i = 0; i < count; i++)
        stream->tips[i] = edges[i];
    stream->tip_count = count;
    join_capture(stream, made);
    return CUDA_SUCCESS;
}

CUresult sim_cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
    sim_context *context;
    CUresult result = sim_begin(&context);
    return result == CUDA_SUCCESS ? sim_end(begin_capture(context, stream, NULL, NULL, 0, mode)) : result;
}

CUresult sim_cuStreamBeginCapture_v1(CUstream stream)
{
    return sim_cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult sim_cuStreamBeginCaptureToGraph(CUstream stream, CUgraph handle, const CUgraphNode *nodes,
                                         const CUgraphEdgeData *data, size_t count, CUstreamCaptureMode mode)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    sim_graph *graph = sim_graph_of(context, handle);
    if (!graph || graph->capturing)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    if (graph->owner && graph->owner->op.what.type != CU_GRAPH_NODE_TYPE_CONDITIONAL)
        return sim_end(CUDA_ERROR_NOT_SUPPORTED);
    sim_edge *edges = NULL;
    CUresult result = sim_edges_read(context, graph, nodes, data, count, &edges);
    if (result == CUDA_SUCCESS)
        result = begin_capture(context, stream, graph, edges, count, mode);
    kiln__free(sim_memory(), edges);
    return sim_end(result);
}

/* Returns true if the origin of a capture waits for all work in the capture. If `only` is not NULL, only the work of
 * the stream `only` counts. A depth-first search begins at the origin's tips and goes backwards along edges. It marks
 * all nodes on which these tips depend. The function then tests that every tip of another stream is marked. */
static bool is_joined(const sim_capture *capture, const sim_stream *only, CUresult *error)
{
    size_t top = 0;
    sim_node **open = kiln__calloc(sim_memory(), capture->graph->count + 1, sizeof *open);
    if (!open) {
        *error = CUDA_ERROR_OUT_OF_MEMORY;
        return false;
    }
    for (sim_node *node = capture->graph->first; node; node = node->next)
        node->number = 0;
    for (size_t i = 0; i < capture->origin->tip_count; i++) {
        capture->origin->tips[i].node->number = 1;
        open[top++] = capture->origin->tips[i].node;
    }
    while (top > 0) {
        const sim_node *node = open[--top];
        for (size_t i = 0; i < node->before.count; i++)
            if (node->before.list[i].node->number == 0) {
                node->before.list[i].node->number = 1;
                open[top++] = node->before.list[i].node;
            }
    }
    kiln__free(sim_memory(), open);
    for (const sim_stream *stream = find_next_member(capture, NULL); stream;
         stream = find_next_member(capture, stream)) {
        if (only && stream != only)
            continue;
        for (size_t i = 0; i < stream->tip_count; i++)
            if (stream->tips[i].node->number == 0) {
                *error = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
                return false;
            }
    }
    return true;
}

static void end_capture(sim_capture *capture)
{
    capture->graph->capturing = false;
    sim_object_free(capture->object.context, capture);
}

CUresult sim_cuStreamEndCapture(CUstream handle, CUgraph *out)
{
    sim_context *context;
    CUresult result = sim_begin(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!sim_stream_known(context, handle))
        return sim_end(CUDA_ERROR_INVALID_HANDLE);
    const sim_stream *stream = sim_stream_at(context, handle, false);
    sim_capture *capture = stream ? stream->capture : NULL;
    if (!out && (!capture || capture->own)) /* a caller that gave the graph already has its handle */
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    if (out)
        *out = NULL;
    if (!capture)
        return sim_end(CUDA_ERROR_ILLEGAL_STATE);
    if (capture->origin != stream)
        return sim_end(invalidate_capture(capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED));
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(capture->thread, pthread_self()))
        result = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD; /* the capture ends although the thread is wrong */
    else if (capture->invalid)
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else
        is_joined(capture, NULL, &result);
    sim_graph *graph = capture->graph;
    bool own = capture->own;
    end_capture(capture);
    if (result == CUDA_SUCCESS && out)
        *out = SIM_HANDLE(CUgraph, graph);
    else if (result != CUDA_SUCCESS && own)
        sim_graph_close(context, graph);
    return sim_end(result);
}

/* This function runs when a stream is destroyed. The stream leaves its capture. If the capture was started on this
 * stream, the capture ends. */
void sim_capture_leave(sim_context *context, sim_stream *stream)
{
    sim_capture *capture = stream->capture;
    if (!capture)
        return;
    CUresult ignored;
    if (capture->origin != stream) { /* the capture stays valid if its origin waits for the work of this stream */
        capture->invalid = capture->invalid || !is_joined(capture, stream, &ignored);
        leave_capture(stream);
        return;
    }
    capture->invalid = true;
    sim_graph *graph = capture->own ? capture->graph : NULL;
    end_capture(capture);
    if (graph)
        sim_graph_close(context, graph);
}

/* ---- queries ---- */

/* Sets *status to the capture status of a stream. If the stream is the legacy stream and a capture forbids its use,
 * returns an error. */
CUresult sim_capture_status(sim_context *context, CUstream handle, CUstreamCaptureStatus *status)
{
    const sim_stream *stream = sim_is_legacy(handle) ? NULL : sim_stream_at(context, handle, false);
    const sim_capture *capture = stream ? stream->capture : NULL;
    *status = !capture           ? CU_STREAM_CAPTURE_STATUS_NONE
              : capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                 : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return sim_is_legacy(handle) ? forbid_legacy(context, false) : CUDA_SUCCESS;
}

CUresult sim_cuStreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                    const CUgraphNode **nodes, const CUgraphEdgeData **data, size_t *count)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    context = sim_follow(context, handle, SIM_STREAM);
    if (!sim_stream_known(context, handle))
        return sim_end(CUDA_ERROR_INVALID_HANDLE);
    if (!status)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    CUresult result = sim_capture_status(context, handle, status);
    if (result != CUDA_SUCCESS ||
        *status != CU_STREAM_CAPTURE_STATUS_ACTIVE) /* only an active capture has the other results */
        return sim_end(result);
    sim_stream *stream = sim_stream_at(context, handle, false);
    const sim_capture *capture = stream->capture;
    size_t room = stream->tip_count + 1;
    if (!kiln__grow(sim_memory(), &stream->shown, &stream->shown_capacity, room, sizeof *stream->shown) ||
        !kiln__grow(sim_memory(), &stream->shown_data, &stream->shown_data_capacity, room, sizeof *stream->shown_data))
        return sim_end(CUDA_ERROR_OUT_OF_MEMORY);
    for (size_t i = 0; i < stream->tip_count; i++) {
        stream->shown[i] = SIM_HANDLE(CUgraphNode, stream->tips[i].node);
        stream->shown_data[i] = stream->tips[i].data;
    }
    if (id)
        *id = capture->object.handle;
    if (graph)
        *graph = SIM_HANDLE(CUgraph, capture->graph);
    if (nodes)
        *nodes = stream->shown;
    if (data)
        *data = stream->shown_data;
    if (count)
        *count = stream->tip_count;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuStreamGetCaptureInfo_v1(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id)
{
    return sim_cuStreamGetCaptureInfo(stream, status, id, NULL, NULL, NULL, NULL);
}

CUresult sim_cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                       const CUgraphNode **nodes, size_t *count)
{
    return sim_cuStreamGetCaptureInfo(stream, status, id, graph, nodes, NULL, count);
}

/* Adds nodes to the tips of a captured stream, or replaces its tips. */
CUresult sim_cuStreamUpdateCaptureDependencies(CUstream handle, CUgraphNode *nodes, const CUgraphEdgeData *data,
                                               size_t count, unsigned flags)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    if (!sim_stream_known(context, handle))
        return sim_end(CUDA_ERROR_INVALID_HANDLE);
    if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    sim_stream *stream = sim_stream_at(context, handle, false);
    if (!stream || !stream->capture)
        return sim_end(CUDA_ERROR_ILLEGAL_STATE);
    if (stream->capture->invalid)
        return sim_end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    sim_edge *edges = NULL;
    sim_graph *graph = stream->capture->graph;
    CUresult result = sim_edges_read(graph->object.context, graph, nodes, data, count, &edges);
    if (result == CUDA_SUCCESS && !kiln__grow(sim_memory(), &stream->tips, &stream->tip_capacity,
                                              stream->tip_count + count, sizeof *stream->tips))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS && flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
        stream->tip_count = 0;
    for (size_t i = 0; result == CUDA_SUCCESS && i < count; i++)
        add_tip(stream, edges[i].node, edges[i].data);
    kiln__free(sim_memory(), edges);
    return sim_end(result);
}

CUresult sim_cuStreamUpdateCaptureDependencies_v1(CUstream stream, CUgraphNode *nodes, size_t count, unsigned flags)
{
    return sim_cuStreamUpdateCaptureDependencies(stream, nodes, NULL, count, flags);
}
