/* context.c - queries and settings of a context: limits, preferences, peers. The functions that create, find and end
 * contexts are in state.c. Only three settings have an effect: peer access, the heap of malloc(), and the limit of
 * pending launches. All other settings can only be set and queried. The settings without effect apply to caches and
 * queues, which the simulator does not have. */
#include "cu_objects.h"

/* Begins a call with a context as parameter. NULL stands for the current context. On success returns CUDA_SUCCESS, and
 * holds the state lock. */
static CUresult begin_named(CUcontext handle, sim_context **context)
{
    if (!handle)
        return sim_begin(context);
    SIM_TRY(sim_begin_bare());
    *context = sim_context_find(handle);
    return *context ? CUDA_SUCCESS : sim_end(CUDA_ERROR_INVALID_CONTEXT);
}

CUresult sim_cuCtxGetApiVersion(CUcontext handle, unsigned *version)
{
    enum { API_VERSION = 3020 }; /* the API version that current drivers report for every context */
    sim_context *context = NULL;
    SIM_TRY(begin_named(handle, &context));
    if (!version)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    *version = API_VERSION;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuCtxGetId(CUcontext handle, unsigned long long *id)
{
    sim_context *context = NULL;
    SIM_TRY(begin_named(handle, &context));
    if (!id)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    *id = context->id;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuCtxGetDevice_v2(CUdevice *device, CUcontext handle)
{
    sim_context *context = NULL;
    SIM_TRY(begin_named(handle, &context));
    if (!device)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    *device = sim_device_at(context->ordinal);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuCtxGetFlags(unsigned *flags)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    if (!flags)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    *flags = context->flags;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuCtxSetFlags(unsigned flags)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    if (flags & ~(unsigned)CU_CTX_FLAGS_MASK)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    context->flags = flags;
    return sim_end(CUDA_SUCCESS);
}

/* These deprecated functions count the users of a context. The number of users of a primary context is counted
 * separately, so these functions do not change it. */
CUresult sim_cuCtxAttach(CUcontext *handle, unsigned flags)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    if (!handle || flags != 0)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    context->attached++;
    *handle = SIM_HANDLE(CUcontext, context);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuCtxDetach(CUcontext handle)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    if (handle != SIM_HANDLE(CUcontext, context))
        return sim_end(CUDA_ERROR_INVALID_CONTEXT);
    bool last = !context->retained && context->attached == 0;
    context->attached -= context->attached > 0;
    sim_end(CUDA_SUCCESS);
    return last ? sim_cuCtxDestroy(handle) : CUDA_SUCCESS;
}

static bool limit_exists(CUlimit limit)
{
    /* Since compute capability 9.0, a kernel cannot wait for kernels that it has launched. */
    if (limit == CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH)
        return sim_profile_int(sim_current_profile(), CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) < 9;
    if (limit == CU_LIMIT_PERSISTING_L2_CACHE_SIZE)
        return sim_profile_int(sim_current_profile(), CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE) > 0;
    return limit == CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT || limit == CU_LIMIT_STACK_SIZE ||
           limit == CU_LIMIT_PRINTF_FIFO_SIZE || limit == CU_LIMIT_MALLOC_HEAP_SIZE ||
           limit == CU_LIMIT_MAX_L2_FETCH_GRANULARITY;
}

CUresult sim_cuCtxGetLimit(size_t *value, CUlimit limit)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    if (!value || (unsigned)limit >= CU_LIMIT_MAX)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    if (!limit_exists(limit))
        return sim_end(CUDA_ERROR_UNSUPPORTED_LIMIT);
    *value = context->limits[limit];
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuCtxSetLimit(CUlimit limit, size_t value)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    if ((unsigned)limit >= CU_LIMIT_MAX || (limit == CU_LIMIT_MAX_L2_FETCH_GRANULARITY && value > 128))
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    if (!limit_exists(limit))
        return sim_end(CUDA_ERROR_UNSUPPORTED_LIMIT);
    if (limit == CU_LIMIT_PERSISTING_L2_CACHE_SIZE &&
        value > (size_t)sim_profile_int(sim_current_profile(), CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE))
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    /* The device creates the heap when the first kernel uses it. */
    if (limit == CU_LIMIT_MALLOC_HEAP_SIZE && value != context->limits[limit] && vm_heap_used(context->device))
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    if ((limit == CU_LIMIT_MALLOC_HEAP_SIZE || limit == CU_LIMIT_PRINTF_FIFO_SIZE) && value > context->memory)
        return sim_end(CUDA_ERROR_OUT_OF_MEMORY);
    context->limits[limit] = value;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuCtxGetCacheConfig(CUfunc_cache *config)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    if (!config)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    *config = context->cache_config;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuCtxSetCacheConfig(CUfunc_cache config)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    context->cache_config = config;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuCtxGetSharedMemConfig(CUsharedconfig *config)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    if (!config)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    *config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE; /* every device since Maxwell has this value */
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuCtxSetSharedMemConfig(CUsharedconfig config)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    return sim_end((unsigned)config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_SUCCESS
                                                                                 : CUDA_ERROR_INVALID_VALUE);
}

CUresult sim_cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    if (least)
        *least = 0;
    if (greatest)
        *greatest = SIM_PRIORITY;
    return sim_end(CUDA_SUCCESS);
}

/* A context has no affinity. It may use the whole device, as on a GPU without MPS. */
CUresult sim_cuCtxGetExecAffinity(CUexecAffinityParam *affinity, CUexecAffinityType type)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    if (!affinity || (unsigned)type >= CU_EXEC_AFFINITY_TYPE_MAX)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    return sim_end(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
}

CUresult sim_cuCtxResetPersistingL2Cache(void)
{
    sim_context *context;
    CUresult result = sim_begin(&context);
    return result == CUDA_SUCCESS ? sim_end(CUDA_SUCCESS) : result;
}

/* Enables or disables the access of the current context to the memory of a context on another device. Waits for running
 * kernels, because they may use that memory. */
static CUresult peer_access(CUcontext handle, bool enable)
{
    sim_context *context;
    SIM_TRY(sim_begin_work(&context));
    const sim_context *peer = sim_context_find(handle);
    if (!peer || (enable && peer == context))
        return sim_end_work(context, CUDA_ERROR_INVALID_CONTEXT);
    if (enable && peer->ordinal == context->ordinal)
        return sim_end_work(context, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    if (vm_allowed(context->device, peer->device) == enable)
        return sim_end_work(context,
                            enable ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    vm_allow(context->device, peer->device, enable);
    return sim_end_work(context, CUDA_SUCCESS);
}

CUresult sim_cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    sim_end(CUDA_SUCCESS);
    return flags != 0 ? CUDA_ERROR_INVALID_VALUE : peer_access(peer, true);
}

CUresult sim_cuCtxDisablePeerAccess(CUcontext peer) { return peer_access(peer, false); }

/* cuProfilerStart() and cuProfilerStop() control an external profiler. No such profiler can be attached to the
 * simulator. */
CUresult sim_cuProfilerStart(void)
{
    sim_context *context;
    CUresult result = sim_begin(&context);
    return result == CUDA_SUCCESS ? sim_end(CUDA_SUCCESS) : result;
}

CUresult sim_cuProfilerStop(void) { return sim_cuProfilerStart(); }
