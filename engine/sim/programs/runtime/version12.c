/* version12.c - the parts of the runtime of CUDA 12 that CUDA 13 lacks: old forms of functions, and the old
 * cudaDeviceProp. */
#include "runtime.h"
#if RT_VERSION == 12
#include <string.h>

#include "properties.h"

/* ---- properties ---- */

/* The struct cudaDeviceProp of CUDA 12, whose order differs, and which has members that CUDA 13 lacks. */
typedef struct prop12 {
    char name[256];
    cudaUUID_t uuid;
    char luid[8];
    unsigned luidDeviceNodeMask;
    size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize;
    size_t memPitch;
    int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
    size_t totalConstMem;
    int major, minor;
    size_t textureAlignment, texturePitchAlignment;
    int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory, computeMode;
    int maxTexture1D, maxTexture1DMipmap, maxTexture1DLinear, maxTexture2D[2], maxTexture2DMipmap[2];
    int maxTexture2DLinear[3], maxTexture2DGather[2], maxTexture3D[3], maxTexture3DAlt[3], maxTextureCubemap;
    int maxTexture1DLayered[2], maxTexture2DLayered[3], maxTextureCubemapLayered[2];
    int maxSurface1D, maxSurface2D[2], maxSurface3D[3], maxSurface1DLayered[2], maxSurface2DLayered[3];
    int maxSurfaceCubemap, maxSurfaceCubemapLayered[2];
    size_t surfaceAlignment;
    int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount;
    int unifiedAddressing, memoryClockRate, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize;
    int maxThreadsPerMultiProcessor, streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported;
    size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported;
    int singleToDoublePrecisionPerfRatio, pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported;
    int canUseHostPointerForRegisteredMem, cooperativeLaunch, cooperativeMultiDeviceLaunch;
    size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor;
    int accessPolicyMaxWindowSize;
    size_t reservedSharedMemPerBlock;
    int hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported;
    int timelineSemaphoreInteropSupported, memoryPoolsSupported, gpuDirectRDMASupported;
    unsigned gpuDirectRDMAFlushWritesOptions;
    int gpuDirectRDMAWritesOrdering;
    unsigned memoryPoolSupportedHandleTypes;
    int deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch, unifiedFunctionPointers, reserved[63];
} prop12;
_Static_assert(sizeof(prop12) == 1032, "the size of CUDA 12's cudaDeviceProp");

RT_PROPERTIES(fill, prop12)

cudaError_t cudaGetDeviceProperties_v2(prop12 *to, int ordinal);
cudaError_t cudaGetDeviceProperties_v2(prop12 *to, int ordinal)
{
    CUdevice device;
    RT_NEED(to);
    cudaError_t error = kiln__rt_device(ordinal, &device);
    if (error != cudaSuccess)
        return kiln__rt_record(error);
    fill(to, device);
    RT_PROPERTY(clockRate, CLOCK_RATE)
    RT_PROPERTY(deviceOverlap, GPU_OVERLAP)
    RT_PROPERTY(kernelExecTimeoutEnabled, KERNEL_EXEC_TIMEOUT)
    RT_PROPERTY(computeMode, COMPUTE_MODE)
    RT_PROPERTY(maxTexture1DLinear, MAXIMUM_TEXTURE1D_LINEAR_WIDTH)
    RT_PROPERTY(memoryClockRate, MEMORY_CLOCK_RATE)
    RT_PROPERTY(singleToDoublePrecisionPerfRatio, SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO)
    RT_PROPERTY(cooperativeMultiDeviceLaunch, COOPERATIVE_MULTI_DEVICE_LAUNCH)
    return cudaSuccess;
}

/* ---- forms of functions without edge data and locations ---- */

/* In this build the old names are macros for the new names (rename12.h). So the functions get other names in C, and
 * __asm__ sets their symbols. */
#define V12(symbol, function, declared, ...)                                                                           \
    cudaError_t function declared __asm__(symbol);                                                                     \
    cudaError_t function declared { return __VA_ARGS__; }
V12("cudaGraphAddDependencies", add_dependencies,
    (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t count),
    cudaGraphAddDependencies(graph, from, to, NULL, count))
V12("cudaGraphRemoveDependencies", remove_dependencies,
    (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t count),
    cudaGraphRemoveDependencies(graph, from, to, NULL, count))
V12("cudaGraphAddNode", add_node,
    (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
     struct cudaGraphNodeParams *params),
    cudaGraphAddNode(node, graph, after, NULL, count, params))
V12("cudaGraphGetEdges", get_edges, (cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *count),
    cudaGraphGetEdges(graph, from, to, NULL, count))
V12("cudaGraphNodeGetDependencies", get_dependencies, (cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count),
    cudaGraphNodeGetDependencies(node, nodes, NULL, count))
V12("cudaGraphNodeGetDependentNodes", get_dependents, (cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count),
    cudaGraphNodeGetDependentNodes(node, nodes, NULL, count))
V12("cudaStreamUpdateCaptureDependencies", update_dependencies,
    (cudaStream_t stream, cudaGraphNode_t *after, size_t count, unsigned flags),
    cudaStreamUpdateCaptureDependencies(stream, after, NULL, count, flags))
V12("cudaStreamUpdateCaptureDependencies_ptsz", update_dependencies_ptsz,
    (cudaStream_t stream, cudaGraphNode_t *after, size_t count, unsigned flags),
    cudaStreamUpdateCaptureDependencies(stream ? stream : cudaStreamPerThread, after, NULL, count, flags))
V12("cudaStreamGetCaptureInfo_v2", capture_info_v2,
    (cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id, cudaGraph_t *graph,
     const cudaGraphNode_t **after, size_t *count),
    cudaStreamGetCaptureInfo(stream, status, id, graph, after, NULL, count))
V12("cudaStreamGetCaptureInfo_v2_ptsz", capture_info_v2_ptsz,
    (cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id, cudaGraph_t *graph,
     const cudaGraphNode_t **after, size_t *count),
    cudaStreamGetCaptureInfo(stream ? stream : cudaStreamPerThread, status, id, graph, after, NULL, count))
V12("cudaStreamGetCaptureInfo", capture_info,
    (cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id),
    cudaStreamGetCaptureInfo(stream, status, id, NULL, NULL, NULL, NULL))
V12("cudaStreamGetCaptureInfo_ptsz", capture_info_ptsz,
    (cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id),
    cudaStreamGetCaptureInfo(stream ? stream : cudaStreamPerThread, status, id, NULL, NULL, NULL, NULL))

static struct cudaMemLocation location(int device)
{
    return device == cudaCpuDeviceId ? (struct cudaMemLocation){.type = cudaMemLocationTypeHost}
                                     : (struct cudaMemLocation){.type = cudaMemLocationTypeDevice, .id = device};
}

V12("cudaMemAdvise", advise, (const void *p, size_t bytes, enum cudaMemoryAdvise advice, int device),
    cudaMemAdvise(p, bytes, advice, location(device)))
V12("cudaMemPrefetchAsync", prefetch, (const void *p, size_t bytes, int device, cudaStream_t stream),
    cudaMemPrefetchAsync(p, bytes, location(device), 0, stream))
V12("cudaMemPrefetchAsync_ptsz", prefetch_ptsz, (const void *p, size_t bytes, int device, cudaStream_t stream),
    cudaMemPrefetchAsync(p, bytes, location(device), 0, stream ? stream : cudaStreamPerThread))
V12("cudaMemcpyBatchAsync", batch,
    (void **to, void **from, size_t *bytes, size_t count, struct cudaMemcpyAttributes *attributes, size_t *indices,
     size_t attribute_count, size_t *failed, cudaStream_t stream),
    ((void)failed,
     cudaMemcpyBatchAsync(to, (const void *const *)from, bytes, count, attributes, indices, attribute_count, stream)))
V12("cudaMemcpyBatchAsync_ptsz", batch_ptsz,
    (void **to, void **from, size_t *bytes, size_t count, struct cudaMemcpyAttributes *attributes, size_t *indices,
     size_t attribute_count, size_t *failed, cudaStream_t stream),
    ((void)failed, cudaMemcpyBatchAsync(to, (const void *const *)from, bytes, count, attributes, indices,
                                        attribute_count, stream ? stream : cudaStreamPerThread)))

/* ---- old names ---- */

V12("cudaEventElapsedTime_v2", elapsed_v2, (float *ms, cudaEvent_t from, cudaEvent_t to),
    cudaEventElapsedTime(ms, from, to))
V12("cudaThreadSynchronize", thread_synchronize, (void), cudaDeviceSynchronize())
V12("cudaThreadExit", thread_exit, (void), cudaDeviceReset())
V12("cudaThreadSetLimit", set_limit, (enum cudaLimit limit, size_t value), cudaDeviceSetLimit(limit, value))
V12("cudaThreadGetLimit", get_limit, (size_t * value, enum cudaLimit limit), cudaDeviceGetLimit(value, limit))
V12("cudaThreadGetCacheConfig", get_cache, (enum cudaFuncCache * config), cudaDeviceGetCacheConfig(config))
V12("cudaThreadSetCacheConfig", set_cache, (enum cudaFuncCache config), cudaDeviceSetCacheConfig(config))
V12("cudaSetDoubleForDevice", double_for_device, (double *d), ((void)d, cudaSuccess))
V12("cudaSetDoubleForHost", double_for_host, (double *d), ((void)d, cudaSuccess))
#else
typedef int kiln__rt_version12; /* ISO C forbids an empty file */
#endif
