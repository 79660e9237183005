/* forward.c - functions that only call a function of the driver with another name. Handles and values of enumerations
 * are the same in both. */
#include "runtime.h"

_Static_assert(sizeof(struct cudaMemPoolProps) == sizeof(CUmemPoolProps), "the driver's");
_Static_assert(sizeof(struct cudaMemAccessDesc) == sizeof(CUmemAccessDesc), "the driver's");
_Static_assert(sizeof(struct cudaMemLocation) == sizeof(CUmemLocation), "the driver's");
_Static_assert(sizeof(cudaGraphInstantiateParams) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS), "the driver's");
_Static_assert(sizeof(cudaGraphExecUpdateResultInfo) == sizeof(CUgraphExecUpdateResultInfo), "the driver's");
_Static_assert(sizeof(cudaLaunchAttributeValue) == sizeof(CUlaunchAttributeValue), "the driver's");
_Static_assert(sizeof(cudaGraphEdgeData) == sizeof(CUgraphEdgeData), "the driver's");

#define F(name, declared, function, ...)                                                                               \
    cudaError_t name declared                                                                                          \
    {                                                                                                                  \
        RT_ENTER();                                                                                                    \
        return kiln__rt_result(CU(function)(__VA_ARGS__));                                                             \
    }
/* Defines a function without arguments, with its exact type, that calls `function`. */
#define F0(name, function)                                                                                             \
    cudaError_t name(void)                                                                                             \
    {                                                                                                                  \
        RT_ENTER();                                                                                                    \
        return kiln__rt_result(CU(function)());                                                                        \
    }

/* ---- the device ---- */
F0(cudaDeviceSynchronize, cuCtxSynchronize)
F0(cudaCtxResetPersistingL2Cache, cuCtxResetPersistingL2Cache)
F0(cudaProfilerStart, cuProfilerStart)
F0(cudaProfilerStop, cuProfilerStop)
F(cudaDeviceSetLimit, (enum cudaLimit limit, size_t value), cuCtxSetLimit, (CUlimit)limit, value)
F(cudaDeviceGetLimit, (size_t * value, enum cudaLimit limit), cuCtxGetLimit, value, (CUlimit)limit)
F(cudaDeviceGetCacheConfig, (enum cudaFuncCache * config), cuCtxGetCacheConfig, (CUfunc_cache *)config)
F(cudaDeviceSetCacheConfig, (enum cudaFuncCache config), cuCtxSetCacheConfig, (CUfunc_cache)config)
F(cudaDeviceGetSharedMemConfig, (enum cudaSharedMemConfig * config), cuCtxGetSharedMemConfig, (CUsharedconfig *)config)
F(cudaDeviceSetSharedMemConfig, (enum cudaSharedMemConfig config), cuCtxSetSharedMemConfig, (CUsharedconfig)config)
F(cudaDeviceGetStreamPriorityRange, (int *least, int *greatest), cuCtxGetStreamPriorityRange, least, greatest)
F(cudaMemGetInfo, (size_t * left, size_t *total), cuMemGetInfo, left, total)
F(cudaDeviceFlushGPUDirectRDMAWrites,
  (enum cudaFlushGPUDirectRDMAWritesTarget target, enum cudaFlushGPUDirectRDMAWritesScope scope),
  cuFlushGPUDirectRDMAWrites, (CUflushGPUDirectRDMAWritesTarget)target, (CUflushGPUDirectRDMAWritesScope)scope)

/* ---- memory ---- */
F(cudaHostRegister, (void *p, size_t bytes, unsigned int flags), cuMemHostRegister, p, bytes, flags)
F(cudaHostUnregister, (void *p), cuMemHostUnregister, p)
F(cudaHostGetFlags, (unsigned int *flags, void *p), cuMemHostGetFlags, flags, p)
F(cudaMemPoolDestroy, (cudaMemPool_t pool), cuMemPoolDestroy, pool)
F(cudaMemPoolTrimTo, (cudaMemPool_t pool, size_t keep), cuMemPoolTrimTo, pool, keep)
F(cudaMemPoolSetAttribute, (cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value), cuMemPoolSetAttribute,
  pool, (CUmemPool_attribute)attribute, value)
F(cudaMemPoolGetAttribute, (cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value), cuMemPoolGetAttribute,
  pool, (CUmemPool_attribute)attribute, value)
F(cudaMemPoolSetAccess, (cudaMemPool_t pool, const struct cudaMemAccessDesc *list, size_t count), cuMemPoolSetAccess,
  pool, (const CUmemAccessDesc *)list, count)
F(cudaMemPoolGetAccess, (enum cudaMemAccessFlags * flags, cudaMemPool_t pool, struct cudaMemLocation *where),
  cuMemPoolGetAccess, (CUmemAccess_flags *)flags, pool, (CUmemLocation *)where)
F(cudaMemPoolExportPointer, (struct cudaMemPoolPtrExportData * data, void *p), cuMemPoolExportPointer,
  (CUmemPoolPtrExportData *)data, rt_address(p))
F(cudaMemPoolExportToShareableHandle,
  (void *handle, cudaMemPool_t pool, enum cudaMemAllocationHandleType type, unsigned int flags),
  cuMemPoolExportToShareableHandle, handle, pool, (CUmemAllocationHandleType)type, flags)
F(cudaMemPoolImportFromShareableHandle,
  (cudaMemPool_t * pool, void *handle, enum cudaMemAllocationHandleType type, unsigned int flags),
  cuMemPoolImportFromShareableHandle, pool, handle, (CUmemAllocationHandleType)type, flags)
F(cudaMemPoolImportPointer, (void **p, cudaMemPool_t pool, struct cudaMemPoolPtrExportData *data),
  cuMemPoolImportPointer, (CUdeviceptr *)p, pool, (CUmemPoolPtrExportData *)data)
F(cudaMemGetDefaultMemPool, (cudaMemPool_t * pool, struct cudaMemLocation *where, enum cudaMemAllocationType type),
  cuMemGetDefaultMemPool, pool, (CUmemLocation *)where, (CUmemAllocationType)type)
F(cudaMemGetMemPool, (cudaMemPool_t * pool, struct cudaMemLocation *where, enum cudaMemAllocationType type),
  cuMemGetMemPool, pool, (CUmemLocation *)where, (CUmemAllocationType)type)
F(cudaMemSetMemPool, (struct cudaMemLocation * where, enum cudaMemAllocationType type, cudaMemPool_t pool),
  cuMemSetMemPool, (CUmemLocation *)where, (CUmemAllocationType)type, pool)
F(cudaMemRangeGetAttribute,
  (void *data, size_t size, enum cudaMemRangeAttribute attribute, const void *p, size_t bytes), cuMemRangeGetAttribute,
  data, size, (CUmem_range_attribute)attribute, rt_address(p), bytes)
F(cudaMemRangeGetAttributes,
  (void **data, size_t *sizes, enum cudaMemRangeAttribute *attributes, size_t count, const void *p, size_t bytes),
  cuMemRangeGetAttributes, data, sizes, (CUmem_range_attribute *)attributes, count, rt_address(p), bytes)
F(cudaIpcGetMemHandle, (cudaIpcMemHandle_t * handle, void *p), cuIpcGetMemHandle, (CUipcMemHandle *)handle,
  rt_address(p))
F(cudaIpcCloseMemHandle, (void *p), cuIpcCloseMemHandle, rt_address(p))
F(cudaIpcGetEventHandle, (cudaIpcEventHandle_t * handle, cudaEvent_t event), cuIpcGetEventHandle,
  (CUipcEventHandle *)handle, event)

cudaError_t cudaIpcOpenMemHandle(void **p, cudaIpcMemHandle_t handle, unsigned int flags)
{
    CUipcMemHandle same;
    _Static_assert(sizeof same == sizeof handle, "the driver's");
    __builtin_memcpy(&same, &handle, sizeof same);
    RT_ENTER();
    return kiln__rt_result(CU(cuIpcOpenMemHandle)((CUdeviceptr *)p, same, flags));
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
    CUipcEventHandle same;
    _Static_assert(sizeof same == sizeof handle, "the driver's");
    __builtin_memcpy(&same, &handle, sizeof same);
    RT_ENTER();
    return kiln__rt_result(CU(cuIpcOpenEventHandle)(event, same));
}

/* ---- streams and events ---- */
F(cudaStreamCreate, (cudaStream_t * stream), cuStreamCreate, stream, 0)
F(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned int flags), cuStreamCreate, stream, flags)
F(cudaStreamCreateWithPriority, (cudaStream_t * stream, unsigned int flags, int priority), cuStreamCreateWithPriority,
  stream, flags, priority)
F(cudaStreamDestroy, (cudaStream_t stream), cuStreamDestroy, stream)
F(cudaStreamGetPriority, (cudaStream_t stream, int *priority), cuStreamGetPriority, stream, priority)
F(cudaStreamGetFlags, (cudaStream_t stream, unsigned int *flags), cuStreamGetFlags, stream, flags)
F(cudaStreamGetId, (cudaStream_t stream, unsigned long long *id), cuStreamGetId, stream, id)
F(cudaStreamSynchronize, (cudaStream_t stream), cuStreamSynchronize, stream)
F(cudaStreamQuery, (cudaStream_t stream), cuStreamQuery, stream)
F(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned int flags), cuStreamWaitEvent, stream, event,
  flags)
F(cudaStreamAttachMemAsync, (cudaStream_t stream, void *p, size_t bytes, unsigned int flags), cuStreamAttachMemAsync,
  stream, rt_address(p), bytes, flags)
F(cudaStreamCopyAttributes, (cudaStream_t to, cudaStream_t from), cuStreamCopyAttributes, to, from)
F(cudaStreamGetAttribute, (cudaStream_t stream, cudaStreamAttrID attribute, cudaStreamAttrValue *value),
  cuStreamGetAttribute, stream, (CUstreamAttrID)attribute, (CUstreamAttrValue *)value)
F(cudaStreamSetAttribute, (cudaStream_t stream, cudaStreamAttrID attribute, const cudaStreamAttrValue *value),
  cuStreamSetAttribute, stream, (CUstreamAttrID)attribute, (const CUstreamAttrValue *)value)
F(cudaLaunchHostFunc, (cudaStream_t stream, cudaHostFn_t function, void *data), cuLaunchHostFunc, stream, function,
  data)
F(cudaEventCreate, (cudaEvent_t * event), cuEventCreate, event, 0)
F(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned int flags), cuEventCreate, event, flags)
F(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), cuEventRecord, event, stream)
F(cudaEventRecordWithFlags, (cudaEvent_t event, cudaStream_t stream, unsigned int flags), cuEventRecordWithFlags, event,
  stream, flags)
F(cudaEventQuery, (cudaEvent_t event), cuEventQuery, event)
F(cudaEventSynchronize, (cudaEvent_t event), cuEventSynchronize, event)
F(cudaEventDestroy, (cudaEvent_t event), cuEventDestroy, event)
F(cudaEventElapsedTime, (float *ms, cudaEvent_t from, cudaEvent_t to), cuEventElapsedTime, ms, from, to)

/* The driver and the runtime use the same numbers for errors, so the driver can call the callback directly. */
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned int flags)
{
    RT_ENTER();
    return kiln__rt_result(CU(cuStreamAddCallback)(stream, (CUstreamCallback)(void (*)(void))callback, data, flags));
}

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *ordinal)
{
    CUdevice device, other;
    RT_NEED(ordinal);
    RT_ENTER();
    CUresult result = CU(cuStreamGetDevice)(stream, &device);
    for (int i = 0; result == CUDA_SUCCESS && kiln__rt_device(i, &other) == cudaSuccess; i++)
        if (other == device)
            *ordinal = i;
    return kiln__rt_result(result);
}

/* ---- capture ---- */
F(cudaStreamBeginCapture, (cudaStream_t stream, enum cudaStreamCaptureMode mode), cuStreamBeginCapture, stream,
  (CUstreamCaptureMode)mode)
F(cudaStreamBeginCaptureToGraph,
  (cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *after, const cudaGraphEdgeData *edges, size_t count,
   enum cudaStreamCaptureMode mode),
  cuStreamBeginCaptureToGraph, stream, graph, after, (const CUgraphEdgeData *)edges, count, (CUstreamCaptureMode)mode)
F(cudaThreadExchangeStreamCaptureMode, (enum cudaStreamCaptureMode * mode), cuThreadExchangeStreamCaptureMode,
  (CUstreamCaptureMode *)mode)
F(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t *graph), cuStreamEndCapture, stream, graph)
F(cudaStreamIsCapturing, (cudaStream_t stream, enum cudaStreamCaptureStatus *status), cuStreamIsCapturing, stream,
  (CUstreamCaptureStatus *)status)
F(cudaStreamGetCaptureInfo,
  (cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id, cudaGraph_t *graph,
   const cudaGraphNode_t **after, const cudaGraphEdgeData **edges, size_t *count),
  cuStreamGetCaptureInfo, stream, (CUstreamCaptureStatus *)status, (cuuint64_t *)id, graph, after,
  (const CUgraphEdgeData **)edges, count)
F(cudaStreamUpdateCaptureDependencies,
  (cudaStream_t stream, cudaGraphNode_t *after, const cudaGraphEdgeData *edges, size_t count, unsigned int flags),
  cuStreamUpdateCaptureDependencies, stream, after, (const CUgraphEdgeData *)edges, count, flags)

/* ---- graphs ---- */
F(cudaGraphCreate, (cudaGraph_t * graph, unsigned int flags), cuGraphCreate, graph, flags)
F(cudaGraphDestroy, (cudaGraph_t graph), cuGraphDestroy, graph)
F(cudaGraphClone, (cudaGraph_t * to, cudaGraph_t from), cuGraphClone, to, from)
F(cudaGraphNodeFindInClone, (cudaGraphNode_t * node, cudaGraphNode_t original, cudaGraph_t clone),
  cuGraphNodeFindInClone, node, original, clone)
F(cudaGraphNodeGetType, (cudaGraphNode_t node, enum cudaGraphNodeType *type), cuGraphNodeGetType, node,
  (CUgraphNodeType *)type)
F(cudaGraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count), cuGraphGetNodes, graph, nodes, count)
F(cudaGraphGetRootNodes, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count), cuGraphGetRootNodes, graph, nodes,
  count)
F(cudaGraphGetEdges,
  (cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, cudaGraphEdgeData *edges, size_t *count),
  cuGraphGetEdges, graph, from, to, (CUgraphEdgeData *)edges, count)
F(cudaGraphNodeGetDependencies, (cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *edges, size_t *count),
  cuGraphNodeGetDependencies, node, nodes, (CUgraphEdgeData *)edges, count)
F(cudaGraphNodeGetDependentNodes,
  (cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *edges, size_t *count), cuGraphNodeGetDependentNodes,
  node, nodes, (CUgraphEdgeData *)edges, count)
F(cudaGraphAddDependencies,
  (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, const cudaGraphEdgeData *edges,
   size_t count),
  cuGraphAddDependencies, graph, from, to, (const CUgraphEdgeData *)edges, count)
F(cudaGraphRemoveDependencies,
  (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, const cudaGraphEdgeData *edges,
   size_t count),
  cuGraphRemoveDependencies, graph, from, to, (const CUgraphEdgeData *)edges, count)
F(cudaGraphDestroyNode, (cudaGraphNode_t node), cuGraphDestroyNode, node)
F(cudaGraphInstantiate, (cudaGraphExec_t * exec, cudaGraph_t graph, unsigned long long flags),
  cuGraphInstantiateWithFlags, exec, graph, flags)
F(cudaGraphInstantiateWithFlags, (cudaGraphExec_t * exec, cudaGraph_t graph, unsigned long long flags),
  cuGraphInstantiateWithFlags, exec, graph, flags)
F(cudaGraphInstantiateWithParams, (cudaGraphExec_t * exec, cudaGraph_t graph, cudaGraphInstantiateParams *params),
  cuGraphInstantiateWithParams, exec, graph, (CUDA_GRAPH_INSTANTIATE_PARAMS *)params)
F(cudaGraphExecGetFlags, (cudaGraphExec_t exec, unsigned long long *flags), cuGraphExecGetFlags, exec,
  (cuuint64_t *)flags)
F(cudaGraphExecUpdate, (cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info),
  cuGraphExecUpdate, exec, graph, (CUgraphExecUpdateResultInfo *)info)
F(cudaGraphUpload, (cudaGraphExec_t exec, cudaStream_t stream), cuGraphUpload, exec, stream)
F(cudaGraphLaunch, (cudaGraphExec_t exec, cudaStream_t stream), cuGraphLaunch, exec, stream)
F(cudaGraphExecDestroy, (cudaGraphExec_t exec), cuGraphExecDestroy, exec)
F(cudaGraphDebugDotPrint, (cudaGraph_t graph, const char *path, unsigned int flags), cuGraphDebugDotPrint, graph, path,
  flags)
F(cudaGraphNodeSetEnabled, (cudaGraphExec_t exec, cudaGraphNode_t node, unsigned int enabled), cuGraphNodeSetEnabled,
  exec, node, enabled)
F(cudaGraphNodeGetEnabled, (cudaGraphExec_t exec, cudaGraphNode_t node, unsigned int *enabled), cuGraphNodeGetEnabled,
  exec, node, enabled)
F(cudaUserObjectCreate,
  (cudaUserObject_t * object, void *p, cudaHostFn_t destroy, unsigned int count, unsigned int flags),
  cuUserObjectCreate, object, p, destroy, count, flags)
F(cudaUserObjectRetain, (cudaUserObject_t object, unsigned int count), cuUserObjectRetain, object, count)
F(cudaUserObjectRelease, (cudaUserObject_t object, unsigned int count), cuUserObjectRelease, object, count)
F(cudaGraphRetainUserObject, (cudaGraph_t graph, cudaUserObject_t object, unsigned int count, unsigned int flags),
  cuGraphRetainUserObject, graph, object, count, flags)
F(cudaGraphReleaseUserObject, (cudaGraph_t graph, cudaUserObject_t object, unsigned int count),
  cuGraphReleaseUserObject, graph, object, count)

/* ---- nodes ---- */
#define ADDED cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count
F(cudaGraphAddEmptyNode, (ADDED), cuGraphAddEmptyNode, node, graph, after, count)
F(cudaGraphAddChildGraphNode, (ADDED, cudaGraph_t child), cuGraphAddChildGraphNode, node, graph, after, count, child)
F(cudaGraphAddEventRecordNode, (ADDED, cudaEvent_t event), cuGraphAddEventRecordNode, node, graph, after, count, event)
F(cudaGraphAddEventWaitNode, (ADDED, cudaEvent_t event), cuGraphAddEventWaitNode, node, graph, after, count, event)
F(cudaGraphAddHostNode, (ADDED, const struct cudaHostNodeParams *params), cuGraphAddHostNode, node, graph, after, count,
  (const CUDA_HOST_NODE_PARAMS *)params)
F(cudaGraphAddMemAllocNode, (ADDED, struct cudaMemAllocNodeParams *params), cuGraphAddMemAllocNode, node, graph, after,
  count, (CUDA_MEM_ALLOC_NODE_PARAMS *)params)
F(cudaGraphAddMemFreeNode, (ADDED, void *p), cuGraphAddMemFreeNode, node, graph, after, count, rt_address(p))
F(cudaGraphChildGraphNodeGetGraph, (cudaGraphNode_t node, cudaGraph_t *graph), cuGraphChildGraphNodeGetGraph, node,
  graph)
F(cudaGraphEventRecordNodeGetEvent, (cudaGraphNode_t node, cudaEvent_t *event), cuGraphEventRecordNodeGetEvent, node,
  event)
F(cudaGraphEventRecordNodeSetEvent, (cudaGraphNode_t node, cudaEvent_t event), cuGraphEventRecordNodeSetEvent, node,
  event)
F(cudaGraphEventWaitNodeGetEvent, (cudaGraphNode_t node, cudaEvent_t *event), cuGraphEventWaitNodeGetEvent, node, event)
F(cudaGraphEventWaitNodeSetEvent, (cudaGraphNode_t node, cudaEvent_t event), cuGraphEventWaitNodeSetEvent, node, event)
F(cudaGraphHostNodeGetParams, (cudaGraphNode_t node, struct cudaHostNodeParams *params), cuGraphHostNodeGetParams, node,
  (CUDA_HOST_NODE_PARAMS *)params)
F(cudaGraphHostNodeSetParams, (cudaGraphNode_t node, const struct cudaHostNodeParams *params), cuGraphHostNodeSetParams,
  node, (const CUDA_HOST_NODE_PARAMS *)params)
F(cudaGraphMemsetNodeGetParams, (cudaGraphNode_t node, struct cudaMemsetParams *params), cuGraphMemsetNodeGetParams,
  node, (CUDA_MEMSET_NODE_PARAMS *)params)
F(cudaGraphMemsetNodeSetParams, (cudaGraphNode_t node, const struct cudaMemsetParams *params),
  cuGraphMemsetNodeSetParams, node, (const CUDA_MEMSET_NODE_PARAMS *)params)
F(cudaGraphMemAllocNodeGetParams, (cudaGraphNode_t node, struct cudaMemAllocNodeParams *params),
  cuGraphMemAllocNodeGetParams, node, (CUDA_MEM_ALLOC_NODE_PARAMS *)params)
F(cudaGraphMemFreeNodeGetParams, (cudaGraphNode_t node, void *p), cuGraphMemFreeNodeGetParams, node, (CUdeviceptr *)p)
F(cudaGraphKernelNodeCopyAttributes, (cudaGraphNode_t to, cudaGraphNode_t from), cuGraphKernelNodeCopyAttributes, to,
  from)
F(cudaGraphKernelNodeGetAttribute,
  (cudaGraphNode_t node, cudaKernelNodeAttrID attribute, cudaKernelNodeAttrValue *value), cuGraphKernelNodeGetAttribute,
  node, (CUkernelNodeAttrID)attribute, (CUkernelNodeAttrValue *)value)
F(cudaGraphKernelNodeSetAttribute,
  (cudaGraphNode_t node, cudaKernelNodeAttrID attribute, const cudaKernelNodeAttrValue *value),
  cuGraphKernelNodeSetAttribute, node, (CUkernelNodeAttrID)attribute, (const CUkernelNodeAttrValue *)value)
F(cudaGraphExecHostNodeSetParams, (cudaGraphExec_t exec, cudaGraphNode_t node, const struct cudaHostNodeParams *params),
  cuGraphExecHostNodeSetParams, exec, node, (const CUDA_HOST_NODE_PARAMS *)params)
F(cudaGraphExecChildGraphNodeSetParams, (cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child),
  cuGraphExecChildGraphNodeSetParams, exec, node, child)
F(cudaGraphExecEventRecordNodeSetEvent, (cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event),
  cuGraphExecEventRecordNodeSetEvent, exec, node, event)
F(cudaGraphExecEventWaitNodeSetEvent, (cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event),
  cuGraphExecEventWaitNodeSetEvent, exec, node, event)

/* ---- libraries ---- */
F(cudaLibraryGetGlobal, (void **p, size_t *bytes, cudaLibrary_t library, const char *name), cuLibraryGetGlobal,
  (CUdeviceptr *)p, bytes, (CUlibrary)library, name)
F(cudaLibraryGetManaged, (void **p, size_t *bytes, cudaLibrary_t library, const char *name), cuLibraryGetManaged,
  (CUdeviceptr *)p, bytes, (CUlibrary)library, name)
F(cudaLibraryGetUnifiedFunction, (void **function, cudaLibrary_t library, const char *name),
  cuLibraryGetUnifiedFunction, function, (CUlibrary)library, name)
F(cudaLibraryGetKernelCount, (unsigned int *count, cudaLibrary_t library), cuLibraryGetKernelCount, count,
  (CUlibrary)library)

/* ---- the driver's functions by name ---- */

static cudaError_t entry_point(const char *name, void **function, unsigned version, unsigned long long flags,
                               enum cudaDriverEntryPointQueryResult *status)
{
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
    RT_NEED(name && function);
    cudaError_t error = kiln__rt_load();
    if (error != cudaSuccess)
        return kiln__rt_record(error);
    CUresult result = CU(cuGetProcAddress)(name, function, (int)version, flags, &found);
    if (status)
        *status = (enum cudaDriverEntryPointQueryResult)found;
    else if (found != CU_GET_PROC_ADDRESS_SUCCESS)
        return kiln__rt_record(cudaErrorSymbolNotFound);
    return kiln__rt_result(result);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned int version,
                                             unsigned long long flags, enum cudaDriverEntryPointQueryResult *status)
{
    return entry_point(name, function, version, flags, status);
}

cudaError_t cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags,
                                    enum cudaDriverEntryPointQueryResult *status)
{
    return entry_point(name, function, RT_VERSION == 12 ? 12090 : CUDART_VERSION, flags, status);
}

/* NVIDIA's runtime returns tables of undocumented functions. This runtime has no such tables. */
cudaError_t cudaGetExportTable(const void **table, const cudaUUID_t *id)
{
    RT_NEED(table && id);
    *table = NULL;
    return kiln__rt_record(cudaErrorSymbolNotFound);
}
