/* Streams and events. Work is done when the call that enqueues it returns, which is one of the orders that streams
 * allow; so there is never anything to wait for but another thread's kernel. An event reads the context's clock: the
 * host time that the device's work has taken so far, which is the simulator's own speed and no estimate of a GPU's. */
#include "sim/cu_internal.h"

bool sim_stream_known(CUstream stream)
{
    return !stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD ||
           sim_object_find(stream, SIM_STREAM);
}

CUresult sim_cuStreamCreate(CUstream *stream, unsigned flags)
{
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

CUresult sim_cuStreamDestroy(CUstream stream)
{
    sim_context *context;
    CUresult result = sim_begin_work(&context);
    if (result != CUDA_SUCCESS)
        return result;
    sim_stream *found = sim_object_find(stream, SIM_STREAM);
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
    return sim_end_work(context, sim_stream_known(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

CUresult sim_cuStreamQuery(CUstream stream)
{
    sim_context *context;
    CUresult result = sim_begin(&context);
    if (result != CUDA_SUCCESS)
        return result;
    return sim_end(sim_stream_known(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

CUresult sim_cuEventCreate(CUevent *event, unsigned flags)
{
    sim_context *context;
    CUresult result = sim_begin(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!event || (flags & ~(unsigned)(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING)))
        return sim_end(CUDA_ERROR_INVALID_VALUE);
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
    sim_event *found = sim_object_find(event, SIM_EVENT);
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
    sim_event *found = sim_object_find(event, SIM_EVENT);
    if (!found || !sim_stream_known(stream))
        return sim_end_work(context, CUDA_ERROR_INVALID_HANDLE);
    found->recorded = true;
    found->clock_ns = context->clock_ns;
    return sim_end_work(context, CUDA_SUCCESS);
}

/* An event that was never recorded counts as complete, as in the driver. */
CUresult sim_cuEventQuery(CUevent event)
{
    sim_context *context;
    CUresult result = sim_begin(&context);
    if (result != CUDA_SUCCESS)
        return result;
    return sim_end(sim_object_find(event, SIM_EVENT) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
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
    const sim_event *from = sim_object_find(start, SIM_EVENT), *to = sim_object_find(end, SIM_EVENT);
    if (!from || !to || !from->recorded || !to->recorded || ((from->flags | to->flags) & CU_EVENT_DISABLE_TIMING))
        return sim_end(CUDA_ERROR_INVALID_HANDLE);
    *milliseconds = (float)(((double)to->clock_ns - (double)from->clock_ns) * 1e-6);
    return sim_end(CUDA_SUCCESS);
}
