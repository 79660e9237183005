/* stream.c - streams, events and host functions. A call that enqueues work returns only when the work is complete. The
 * rules of CUDA streams allow this. So a query of a stream or an event never returns CUDA_ERROR_NOT_READY. Work counts
 * as enqueued only when the call that enqueues it has returned. So a call that waits only waits for a kernel or a host
 * function that another thread runs now. cuEventSynchronize() waits only for host functions, because a recorded event
 * never marks a kernel that still runs.
 *
 * When an event is recorded, it stores the clock of its context. This clock is the host time in nanoseconds that the
 * work of the device has taken until now. This time shows the speed of the simulator, and is no estimate of a GPU.
 *
 * Most functions call sim_begin(), which takes the state lock. A function that runs work, or that waits for a kernel of
 * another thread, calls sim_begin_work() instead. sim_begin_work() takes the work lock and then the state lock. A
 * function that waits for host functions of other threads calls sim_wait_idle() first. */
#include <string.h>

#include "cu_work.h"

bool sim_stream_known(const sim_context *context, CUstream stream)
{
    return !stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD ||
           sim_object_find(context, stream, SIM_STREAM);
}

static void stream_drop(sim_object *object)
{
    sim_stream *stream = (sim_stream *)object;
    kiln__free(sim_memory(), stream->tips);
    kiln__free(sim_memory(), stream->shown);
    kiln__free(sim_memory(), stream->shown_data);
}

static sim_stream *stream_new(sim_context *context, unsigned flags, int priority)
{
    sim_stream *made = sim_object_new(context, SIM_STREAM, sizeof *made);
    if (!made)
        return NULL;
    made->object.drop = stream_drop;
    made->flags = flags;
    made->priority = priority;
    made->policy = CU_SYNC_POLICY_AUTO;
    return made;
}

/* The per-thread default streams of this thread. There is one for each context in which the thread has used its default
 * stream. Captures, checks and profiles of programs need these streams as objects. If the list already has
 * SIM_DEVICES_MOST streams, the next stream takes the place of the oldest one. A per-thread stream lives until its
 * context ends, even after the thread has ended or the stream has left the list. */
static _Thread_local struct {
    uint64_t streams[SIM_DEVICES_MOST];
    unsigned next;
} own_streams;

sim_stream *sim_stream_at(sim_context *context, CUstream stream, bool make)
{
    if (stream != CU_STREAM_PER_THREAD)
        return sim_is_legacy(stream) ? NULL : sim_object_find(context, stream, SIM_STREAM);
    sim_stream *own = NULL;
    for (unsigned i = 0; !own && i < SIM_DEVICES_MOST; i++)
        own = sim_object_find(context, (const void *)(uintptr_t)own_streams.streams[i], SIM_STREAM);
    if (own || !make)
        return own;
    own = stream_new(context, CU_STREAM_DEFAULT, 0);
    if (own)
        own_streams.streams[own_streams.next++ % SIM_DEVICES_MOST] = own->object.handle;
    return own;
}

sim_stream *sim_stream_noted(sim_context *context, CUstream stream)
{
    return sim_programs()->program_on() ? sim_stream_at(context, stream, true) : NULL;
}

/* Limits the priority to the range of the device, as NVIDIA's driver does, and stores it for queries. Priorities have
 * no effect on the order of work. */
CUresult sim_cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    if (!stream || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING))
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    priority = priority > 0 ? 0 : priority < SIM_PRIORITY ? SIM_PRIORITY : priority;
    sim_stream *made = stream_new(context, flags, priority);
    if (!made)
        return sim_end(CUDA_ERROR_OUT_OF_MEMORY);
    *stream = SIM_HANDLE(CUstream, made);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuStreamCreate(CUstream *stream, unsigned flags)
{
    return sim_cuStreamCreateWithPriority(stream, flags, 0);
}

CUresult sim_cuStreamDestroy(CUstream stream)
{
    sim_context *context;
    SIM_TRY(sim_begin_work(&context));
    context = sim_follow(context, stream, SIM_STREAM);
    sim_stream *found = sim_object_find(context, stream, SIM_STREAM);
    if (!found)
        return sim_end_work(context, CUDA_ERROR_INVALID_HANDLE);
    sim_programs()->capture_leave(context, found);
    sim_order_stream_gone(context, found);
    sim_object_free(context, found);
    return sim_end_work(context, CUDA_SUCCESS);
}

/* Tells the checks and the profile of the program that the host has waited for the stream. */
static void record_wait(sim_context *context, CUstream stream)
{
    sim_order_waited(context, stream);
    sim_programs()->program_wait(context, sim_stream_noted(context, stream));
}

CUresult sim_cuStreamSynchronize(CUstream stream)
{
    sim_context *context;
    sim_wait_idle();
    SIM_TRY(sim_begin_work(&context));
    context = sim_follow(context, stream, SIM_STREAM);
    CUresult result = sim_stream_known(context, stream) ? sim_programs()->capture_wait(context, stream)
                                                        : CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        record_wait(context, stream);
    return sim_end_work(context, result);
}

CUresult sim_cuStreamQuery(CUstream stream)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    context = sim_follow(context, stream, SIM_STREAM);
    CUresult result = sim_stream_known(context, stream) ? sim_programs()->capture_wait(context, stream)
                                                        : CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        record_wait(context, stream);
    return sim_end(result);
}

/* ---- properties of a stream ---- */

/* Begins a query of a stream. Sets *context to the context of the stream. If the stream exists and `out` is not NULL,
 * holds the state lock and returns CUDA_SUCCESS. In other cases returns an error and holds no lock. */
static CUresult begin_query(CUstream stream, const void *out, sim_context **context)
{
    SIM_TRY(sim_begin(context));
    *context = sim_follow(*context, stream, SIM_STREAM);
    if (!sim_stream_known(*context, stream))
        return sim_end(CUDA_ERROR_INVALID_HANDLE);
    return out ? CUDA_SUCCESS : sim_end(CUDA_ERROR_INVALID_VALUE);
}

CUresult sim_cuStreamGetPriority(CUstream stream, int *priority)
{
    sim_context *context = NULL;
    SIM_TRY(begin_query(stream, priority, &context));
    const sim_stream *found = sim_object_find(context, stream, SIM_STREAM);
    *priority = found ? found->priority : 0;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuStreamGetFlags(CUstream stream, unsigned *flags)
{
    sim_context *context = NULL;
    SIM_TRY(begin_query(stream, flags, &context));
    const sim_stream *found = sim_object_find(context, stream, SIM_STREAM);
    *flags = found ? found->flags : CU_STREAM_DEFAULT;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuStreamGetId(CUstream stream, unsigned long long *id)
{
    sim_context *context = NULL;
    SIM_TRY(begin_query(stream, id, &context));
    *id = stream ? (uintptr_t)stream
                 /* the handle can be the id, because the driver never uses a handle twice */
                 : (uintptr_t)CU_STREAM_LEGACY;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuStreamGetCtx(CUstream stream, CUcontext *owner)
{
    sim_context *context = NULL;
    SIM_TRY(begin_query(stream, owner, &context));
    *owner = SIM_HANDLE(CUcontext, context);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuStreamGetDevice(CUstream stream, CUdevice *device)
{
    sim_context *context = NULL;
    SIM_TRY(begin_query(stream, device, &context));
    *device = sim_device_at(context->ordinal);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    context = sim_follow(context, stream, SIM_STREAM);
    if (!sim_stream_known(context, stream))
        return sim_end(CUDA_ERROR_INVALID_HANDLE);
    return sim_end(status ? sim_programs()->capture_status(context, stream, status) : CUDA_ERROR_INVALID_VALUE);
}

/* An access policy window of 0 bytes means that there is no window, so it is valid. A hit ratio or a property that
 * cuda.h does not allow makes the window invalid. */
bool sim_right_window(const CUaccessPolicyWindow *window)
{
    const CUdevice_attribute most = CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE;
    return window->num_bytes == 0 ||
           (window->num_bytes <= (size_t)sim_profile_int(sim_current_profile(), most) && window->hitRatio >= 0 &&
            window->hitRatio <= 1 && (unsigned)window->hitProp <= CU_ACCESS_PROPERTY_PERSISTING &&
            (unsigned)window->missProp <= CU_ACCESS_PROPERTY_STREAMING);
}

/* Returns an attribute of a stream. Attributes of streams have no effect on the simulated device. */
CUresult sim_cuStreamGetAttribute(CUstream handle, CUstreamAttrID attribute, CUstreamAttrValue *value)
{
    sim_context *context = NULL;
    SIM_TRY(begin_query(handle, value, &context));
    const sim_stream none = {.policy = CU_SYNC_POLICY_AUTO}, *stream = sim_stream_at(context, handle, false);
    CUstreamAttrValue found = {{0}};
    if (!stream)
        stream = &none;
    switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: found.accessPolicyWindow = stream->window; break;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY: found.syncPolicy = stream->policy; break;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: found.priority = stream->priority; break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: found.memSyncDomainMap = stream->domains; break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: found.memSyncDomain = stream->domain; break;
    default: return sim_end(CUDA_ERROR_INVALID_VALUE);
    }
    *value = found;
    return sim_end(CUDA_SUCCESS);
}

/* Checks an attribute of a stream and stores it. The attribute has no effect on the work of the stream. */
CUresult sim_cuStreamSetAttribute(CUstream handle, CUstreamAttrID attribute, const CUstreamAttrValue *value)
{
    sim_context *context = NULL;
    SIM_TRY(begin_query(handle, value, &context));
    sim_stream *stream = sim_stream_at(context, handle, true);
    if (!stream)
        return sim_end(sim_is_legacy(handle) ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_OUT_OF_MEMORY);
    switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        if (!sim_right_window(&value->accessPolicyWindow))
            return sim_end(CUDA_ERROR_INVALID_VALUE);
        stream->window = value->accessPolicyWindow;
        break;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        if (value->syncPolicy < CU_SYNC_POLICY_AUTO || value->syncPolicy > CU_SYNC_POLICY_BLOCKING_SYNC)
            return sim_end(CUDA_ERROR_INVALID_VALUE);
        stream->policy = value->syncPolicy;
        break;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        if (value->priority > 0 || value->priority < SIM_PRIORITY)
            return sim_end(CUDA_ERROR_INVALID_VALUE);
        stream->priority = value->priority;
        break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: stream->domains = value->memSyncDomainMap; break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: stream->domain = value->memSyncDomain; break;
    default: return sim_end(CUDA_ERROR_INVALID_VALUE);
    }
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuStreamCopyAttributes(CUstream to, CUstream from)
{
    sim_context *context = NULL;
    SIM_TRY(begin_query(to, &to, &context));
    const sim_stream *source = sim_stream_at(context, from, true);
    sim_stream *target = sim_stream_at(context, to, true);
    if (!source || !target)
        return sim_end(CUDA_ERROR_INVALID_HANDLE);
    target->window = source->window;
    target->policy = source->policy;
    target->priority = source->priority;
    target->domains = source->domains;
    target->domain = source->domain;
    return sim_end(CUDA_SUCCESS);
}

/* ---- host functions: all earlier work is complete, so they are called at once, without locks. As on a GPU, a host
 * function must not call the driver. ---- */

CUresult sim_cuLaunchHostFunc(CUstream stream, CUhostFn function, void *user)
{
    sim_context *context;
    SIM_TRY(sim_begin_work(&context)); /* waits for the work that other threads run */
    context = sim_follow(context, stream, SIM_STREAM);
    if (!sim_stream_known(context, stream))
        return sim_end_work(context, CUDA_ERROR_INVALID_HANDLE);
    if (!function)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    sim_op op = {.what = {.type = CU_GRAPH_NODE_TYPE_HOST}};
    op.what.host = (CUDA_HOST_NODE_PARAMS_v2){.fn = function, .userData = user};
    CUresult result = sim_submit(&context, stream, &op);
    return sim_end_work(context, result);
}

typedef struct callback {
    CUstreamCallback function;
    CUstream stream;
    void *user;
} callback;

static void call_back(void *what)
{
    const callback *call = what;
    call->function(call->stream, CUDA_SUCCESS, call->user);
}

CUresult sim_cuStreamAddCallback(CUstream stream, CUstreamCallback function, void *user, unsigned flags)
{
    sim_context *context;
    sim_stream *capturing = NULL;
    SIM_TRY(sim_begin_work(&context));
    context = sim_follow(context, stream, SIM_STREAM);
    if (!sim_stream_known(context, stream))
        return sim_end_work(context, CUDA_ERROR_INVALID_HANDLE);
    if (!function || flags != 0)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    CUresult result = sim_programs()->capture_enter(context, stream, &capturing);
    if (result == CUDA_SUCCESS && capturing)
        /* graphs have no callbacks of this kind, which a capture therefore refuses */
        result = sim_programs()->capture_wait(context, stream);
    if (result != CUDA_SUCCESS)
        return sim_end_work(context, result);
    callback call = {function, stream, user};
    sim_order_waited(context, stream); /* the callback may use data that earlier work of the stream has copied */
    bool stays = sim_call_out(context, call_back, &call);
    return sim_end_work(stays ? context : NULL, CUDA_SUCCESS);
}

/* ---- events ---- */

static CUresult submit_event(CUstream stream, CUgraphNodeType type, CUevent event)
{
    sim_context *context;
    SIM_TRY(sim_begin_work(&context));
    sim_op op = {.what = {.type = type}};
    if (type == CU_GRAPH_NODE_TYPE_EVENT_RECORD)
        op.what.eventRecord.event = event;
    else
        op.what.eventWait.event = event;
    context = type == CU_GRAPH_NODE_TYPE_WAIT_EVENT ? sim_owner(context, stream, SIM_STREAM)
                                                    : sim_follow(context, stream, SIM_STREAM);
    sim_context *other = type == CU_GRAPH_NODE_TYPE_WAIT_EVENT ? sim_owner(context, event, SIM_EVENT) : context;
    bool known = sim_stream_known(context, stream) && sim_object_find(other, event, SIM_EVENT);
    CUresult result = known ? sim_submit(&context, stream, &op) : CUDA_ERROR_INVALID_HANDLE;
    return sim_end_work(context, result);
}

/* The stream need not wait, because the work that the event marks is already complete. If a capture records the stream,
 * the capture records the dependency. The checks add the happens-before edge. */
CUresult sim_cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    sim_context *context;
    sim_stream *capturing = NULL;
    CUresult result = sim_begin(&context);
    if (result != CUDA_SUCCESS)
        return result;
    context = sim_owner(context, stream, SIM_STREAM);
    const sim_event *found = sim_object_find(sim_owner(context, event, SIM_EVENT), event, SIM_EVENT);
    if (!sim_stream_known(context, stream) || !found)
        return sim_end(CUDA_ERROR_INVALID_HANDLE);
    if (flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    if (!(flags & CU_EVENT_WAIT_EXTERNAL)) {
        sim_programs()->program_after(context, sim_stream_noted(context, stream), found);
        result = sim_programs()->capture_wait_event(context, stream, found);
        if (result == CUDA_SUCCESS && found->recorded)
            sim_order_stream_waits(context, stream, found);
        return sim_end(result);
    }
    result = sim_programs()->capture_enter(context, stream, &capturing);
    sim_end(result);
    if (result != CUDA_SUCCESS || !capturing) /* outside of a capture, this flag is an error */
        return result != CUDA_SUCCESS ? result : CUDA_ERROR_ILLEGAL_STATE;
    return submit_event(stream, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
}

static void event_drop(sim_object *object)
{
    kiln__free(sim_memory(), ((sim_event *)object)->tips);
    kiln__free(sim_memory(), ((sim_event *)object)->known);
    kiln__free(sim_memory(), ((sim_event *)object)->promised);
}

CUresult sim_cuEventCreate(CUevent *event, unsigned flags)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    const unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    if (!event || (flags & ~known) || ((flags & CU_EVENT_INTERPROCESS) && !(flags & CU_EVENT_DISABLE_TIMING)))
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    sim_event *made = sim_object_new(context, SIM_EVENT, sizeof *made);
    if (!made)
        return sim_end(CUDA_ERROR_OUT_OF_MEMORY);
    made->object.drop = event_drop;
    made->flags = flags;
    *event = SIM_HANDLE(CUevent, made);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuEventDestroy(CUevent event)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    context = sim_follow(context, event, SIM_EVENT);
    sim_event *found = sim_object_find(context, event, SIM_EVENT);
    if (found)
        sim_object_free(context, found);
    return sim_end(found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

static CUresult record_event(CUevent event, CUstream stream, bool external)
{
    sim_context *context;
    sim_stream *capturing = NULL;
    SIM_TRY(sim_begin(&context));
    context = sim_follow(context, stream, SIM_STREAM);
    sim_event *found = sim_object_find(context, event, SIM_EVENT);
    if (!found || !sim_stream_known(context, stream))
        return sim_end(CUDA_ERROR_INVALID_HANDLE);
    CUresult result = sim_programs()->capture_enter(context, stream, &capturing);
    if (result == CUDA_SUCCESS && !capturing && external) /* outside of a capture, this flag is an error */
        result = CUDA_ERROR_ILLEGAL_STATE;
    if (result == CUDA_SUCCESS && capturing && !external) {
        result = sim_programs()->capture_record(context, capturing, found);
        return sim_end(result);
    }
    sim_end(result);
    return result == CUDA_SUCCESS ? submit_event(stream, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event) : result;
}

CUresult sim_cuEventRecord(CUevent event, CUstream stream) { return record_event(event, stream, false); }

CUresult sim_cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags)
{
    if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    return record_event(event, stream, flags & CU_EVENT_RECORD_EXTERNAL);
}

/* An event that was never recorded counts as complete, as in NVIDIA's driver. */
CUresult sim_cuEventQuery(CUevent event)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    context = sim_follow(context, event, SIM_EVENT);
    const sim_event *found = sim_object_find(context, event, SIM_EVENT);
    CUresult result = found ? sim_programs()->capture_look_event(context, found) : CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS) {
        sim_order_waited_event(context, found);
        sim_programs()->program_wait_event(found);
    }
    return sim_end(result);
}

CUresult sim_cuEventSynchronize(CUevent event)
{
    sim_wait_idle();
    return sim_cuEventQuery(event);
}

CUresult sim_cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    if (!milliseconds)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    /* if the events belong to two devices, their times come from two clocks */
    context = sim_follow(context, start, SIM_EVENT);
    const sim_event *from = sim_object_find(context, start, SIM_EVENT), *to = sim_object_find(context, end, SIM_EVENT);
    if (!from || !to || !from->recorded || !to->recorded || ((from->flags | to->flags) & CU_EVENT_DISABLE_TIMING))
        return sim_end(CUDA_ERROR_INVALID_HANDLE);
    *milliseconds = (float)(((double)to->clock_ns - (double)from->clock_ns) * 1e-6);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuCtxSynchronize(void)
{
    sim_context *context;
    sim_wait_idle();
    SIM_TRY(sim_begin_work(&context)); /* waits for a kernel that another thread runs */
    CUresult result = sim_programs()->forbid_any(context);
    if (result == CUDA_SUCCESS) {
        sim_order_waited_all(context);
        sim_programs()->program_wait_all(context);
    }
    return sim_end_work(context, result);
}

CUresult sim_cuCtxSynchronize_v2(CUcontext handle)
{
    SIM_TRY(handle ? sim_cuCtxPushCurrent(handle) : CUDA_SUCCESS);
    CUresult result = sim_cuCtxSynchronize();
    if (handle)
        sim_cuCtxPopCurrent(NULL);
    return result;
}
