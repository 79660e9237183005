/* Streams and events. Work is done when the call that enqueues it returns, which is one of the orders that streams
 * allow; so there is never anything to wait for but another thread's kernel. An event reads the context's clock: the
 * host time that the device's work has taken so far, which is the simulator's own speed and no estimate of a GPU's. */
#include "sim/cu_internal.h"

bool sim_stream_known(const sim_context *context, CUstream stream)
{
    return !stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD ||
           sim_object_find(context, stream, SIM_STREAM);
}

/* There is one priority; the driver clamps others to its range. */
CUresult sim_cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
    (void)priority;
    sim_context *context;
    CUresult result = sim_begin(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!stream || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING))
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    sim_stream *made = sim_object_new(context, SIM_STREAM, sizeof *made);
    if (!made)
        return sim_end(CUDA_ERROR_OUT_OF_MEMORY);
    made->flags = flags;
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
    CUresult result = sim_begin_work(&context);
    if (result != CUDA_SUCCESS)
        return result;
    sim_stream *found = sim_object_find(context, stream, SIM_STREAM);
    if (!found)
        return sim_end_work(context, CUDA_ERROR_INVALID_HANDLE);
    sim_object_free(context, found);
    return sim_end_work(context, CUDA_SUCCESS);
}

CUresult sim_cuStreamSynchronize(CUstream stream)
{
    sim_context *context;
    CUresult result = sim_begin_work(&context);
    if (result != CUDA_SUCCESS)
        return result;
    return sim_end_work(context, sim_stream_known(context, stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

CUresult sim_cuStreamQuery(CUstream stream)
{
    sim_context *context;
    CUresult result = sim_begin(&context);
    if (result != CUDA_SUCCESS)
        return result;
    return sim_end(sim_stream_known(context, stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

/* ---- what a stream is ---- */

static CUresult begin_stream(CUstream stream, const void *out, sim_context **context)
{
    CUresult result = sim_begin(context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!sim_stream_known(*context, stream))
        return sim_end(CUDA_ERROR_INVALID_HANDLE);
    return out ? CUDA_SUCCESS : sim_end(CUDA_ERROR_INVALID_VALUE);
}

CUresult sim_cuStreamGetPriority(CUstream stream, int *priority)
{
    sim_context *context = NULL;
    CUresult result = begin_stream(stream, priority, &context);
    if (result != CUDA_SUCCESS)
        return result;
    *priority = 0;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuStreamGetFlags(CUstream stream, unsigned *flags)
{
    sim_context *context = NULL;
    CUresult result = begin_stream(stream, flags, &context);
    if (result != CUDA_SUCCESS)
        return result;
    const sim_stream *found = sim_object_find(context, stream, SIM_STREAM);
    *flags = found ? found->flags : CU_STREAM_DEFAULT;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuStreamGetId(CUstream stream, unsigned long long *id)
{
    sim_context *context = NULL;
    CUresult result = begin_stream(stream, id, &context);
    if (result != CUDA_SUCCESS)
        return result;
    *id = stream ? (uintptr_t)stream : (uintptr_t)CU_STREAM_LEGACY; /* handles are not used twice */
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuStreamGetCtx(CUstream stream, CUcontext *owner)
{
    sim_context *context = NULL;
    CUresult result = begin_stream(stream, owner, &context);
    if (result != CUDA_SUCCESS)
        return result;
    *owner = SIM_HANDLE(CUcontext, context);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuStreamGetDevice(CUstream stream, CUdevice *device)
{
    sim_context *context = NULL;
    CUresult result = begin_stream(stream, device, &context);
    if (result != CUDA_SUCCESS)
        return result;
    *device = (CUdevice)(sim_current_profile() - sim_profiles);
    return sim_end(CUDA_SUCCESS);
}

/* Nothing is captured here, and these two say so. */
CUresult sim_cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    sim_context *context = NULL;
    CUresult result = begin_stream(stream, status, &context);
    if (result != CUDA_SUCCESS)
        return result;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                    const CUgraphNode **nodes, const CUgraphEdgeData **edges, size_t *count)
{
    (void)id; /* these are written for a capture only */
    (void)graph;
    (void)nodes;
    (void)edges;
    (void)count;
    return sim_cuStreamIsCapturing(stream, status);
}

CUresult sim_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    static _Thread_local CUstreamCaptureMode now = CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    CUstreamCaptureMode before = now;
    now = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

/* ---- callbacks: all work before is done, so they are called here and now, under no lock ---- */

CUresult sim_cuLaunchHostFunc(CUstream stream, CUhostFn function, void *user)
{
    sim_context *context;
    CUresult result = sim_begin_work(&context); /* after whatever another thread has running */
    if (result != CUDA_SUCCESS)
        return result;
    result = !sim_stream_known(context, stream) ? CUDA_ERROR_INVALID_HANDLE
             : !function                        ? CUDA_ERROR_INVALID_VALUE
                                                : CUDA_SUCCESS;
    sim_end_work(context, result);
    if (result == CUDA_SUCCESS)
        function(user);
    return result;
}

CUresult sim_cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *user, unsigned flags)
{
    sim_context *context;
    CUresult result = sim_begin_work(&context);
    if (result != CUDA_SUCCESS)
        return result;
    result = !sim_stream_known(context, stream) ? CUDA_ERROR_INVALID_HANDLE
             : !callback || flags != 0          ? CUDA_ERROR_INVALID_VALUE
                                                : CUDA_SUCCESS;
    sim_end_work(context, result);
    if (result == CUDA_SUCCESS)
        callback(stream, CUDA_SUCCESS, user);
    return result;
}

/* ---- events ---- */

/* What the event marks was done before this is called. */
CUresult sim_cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    sim_context *context = NULL;
    CUresult result = begin_stream(stream, event, &context);
    if (result != CUDA_SUCCESS)
        return result == CUDA_ERROR_INVALID_VALUE ? CUDA_ERROR_INVALID_HANDLE : result; /* no event at all */
    if (flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    return sim_end(sim_object_find(context, event, SIM_EVENT) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

CUresult sim_cuEventCreate(CUevent *event, unsigned flags)
{
    sim_context *context;
    CUresult result = sim_begin(&context);
    if (result != CUDA_SUCCESS)
        return result;
    const unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    if (!event || (flags & ~known) || ((flags & CU_EVENT_INTERPROCESS) && !(flags & CU_EVENT_DISABLE_TIMING)))
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    if (flags & CU_EVENT_INTERPROCESS) /* the device is this process's own */
        return sim_end(CUDA_ERROR_NOT_SUPPORTED);
    sim_event *made = sim_object_new(context, SIM_EVENT, sizeof *made);
    if (!made)
        return sim_end(CUDA_ERROR_OUT_OF_MEMORY);
    made->flags = flags;
    *event = SIM_HANDLE(CUevent, made);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuEventDestroy(CUevent event)
{
    sim_context *context;
    CUresult result = sim_begin(&context);
    if (result != CUDA_SUCCESS)
        return result;
    sim_event *found = sim_object_find(context, event, SIM_EVENT);
    if (!found)
        return sim_end(CUDA_ERROR_INVALID_HANDLE);
    sim_object_free(context, found);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuEventRecord(CUevent event, CUstream stream)
{
    sim_context *context;
    CUresult result = sim_begin_work(&context); /* after whatever another thread has running */
    if (result != CUDA_SUCCESS)
        return result;
    sim_event *found = sim_object_find(context, event, SIM_EVENT);
    if (!found || !sim_stream_known(context, stream))
        return sim_end_work(context, CUDA_ERROR_INVALID_HANDLE);
    found->recorded = true;
    found->clock_ns = context->clock_ns;
    return sim_end_work(context, CUDA_SUCCESS);
}

CUresult sim_cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags)
{
    if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    return sim_cuEventRecord(event, stream);
}

/* An event that was never recorded counts as complete, as in the driver. */
CUresult sim_cuEventQuery(CUevent event)
{
    sim_context *context;
    CUresult result = sim_begin(&context);
    if (result != CUDA_SUCCESS)
        return result;
    return sim_end(sim_object_find(context, event, SIM_EVENT) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

CUresult sim_cuEventSynchronize(CUevent event)
{
    return sim_cuEventQuery(event);
}

CUresult sim_cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    sim_context *context;
    CUresult result = sim_begin(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!milliseconds)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    const sim_event *from = sim_object_find(context, start, SIM_EVENT), *to = sim_object_find(context, end, SIM_EVENT);
    if (!from || !to || !from->recorded || !to->recorded || ((from->flags | to->flags) & CU_EVENT_DISABLE_TIMING))
        return sim_end(CUDA_ERROR_INVALID_HANDLE);
    *milliseconds = (float)(((double)to->clock_ns - (double)from->clock_ns) * 1e-6);
    return sim_end(CUDA_SUCCESS);
}
