/* What libcuda exports and the simulated device has not: texture references, conditional nodes of graphs, sharing with
 * other processes, other graphics interfaces, and the forms of before CUDA 3.2, whose device addresses had 32 bits. They
 * are here so that a program that is linked against them starts; called, they say CUDA_ERROR_NOT_SUPPORTED.
 * cuGetProcAddress does not know them, so a program that asks first is told. Types do not matter to functions that take
 * nothing, and cuda.h would object to them. */
enum { NOT_SUPPORTED = 801 };

#define ABSENT_MAP(X)                                                                                                  \
    X(cuArray3DCreate) X(cuArray3DGetDescriptor) X(cuArrayCreate) X(cuArrayGetDescriptor)                              \
    X(cuArrayGetMemoryRequirements) X(cuArrayGetPlane) X(cuArrayGetSparseProperties)                                   \
    X(cuCheckpointProcessCheckpoint) X(cuCheckpointProcessGetRestoreThreadId) X(cuCheckpointProcessGetState)           \
    X(cuCheckpointProcessLock) X(cuCheckpointProcessRestore) X(cuCheckpointProcessUnlock) X(cuCoredumpGetAttribute)    \
    X(cuCoredumpGetAttributeGlobal) X(cuCoredumpSetAttribute) X(cuCoredumpSetAttributeGlobal) X(cuCtxFromGreenCtx)     \
    X(cuCtxGetDevResource) X(cuCtxRecordEvent) X(cuCtxWaitEvent) X(cuDestroyExternalMemory)                            \
    X(cuDestroyExternalSemaphore) X(cuDevResourceGenerateDesc) X(cuDevSmResourceSplitByCount)                          \
    X(cuDeviceGetDevResource) X(cuDeviceGetHostAtomicCapabilities) X(cuDeviceGetNvSciSyncAttributes)                   \
    X(cuDeviceGetP2PAtomicCapabilities) X(cuDeviceRegisterAsyncNotification) X(cuDeviceTotalMem)                       \
    X(cuDeviceUnregisterAsyncNotification) X(cuExternalMemoryGetMappedBuffer)                                          \
    X(cuExternalMemoryGetMappedMipmappedArray) X(cuFlushGPUDirectRDMAWrites)                                           \
    X(cuGraphAddExternalSemaphoresSignalNode) X(cuGraphAddExternalSemaphoresWaitNode)                                  \
    X(cuGraphConditionalHandleCreate) X(cuGraphExecExternalSemaphoresSignalNodeSetParams)                              \
    X(cuGraphExecExternalSemaphoresWaitNodeSetParams) X(cuGraphExternalSemaphoresSignalNodeGetParams)                  \
    X(cuGraphExternalSemaphoresSignalNodeSetParams) X(cuGraphExternalSemaphoresWaitNodeGetParams)                      \
    X(cuGraphExternalSemaphoresWaitNodeSetParams) X(cuGraphicsMapResources) X(cuGraphicsMapResources_ptsz)             \
    X(cuGraphicsResourceGetMappedMipmappedArray) X(cuGraphicsResourceGetMappedPointer)                                 \
    X(cuGraphicsResourceGetMappedPointer_v2) X(cuGraphicsResourceSetMapFlags) X(cuGraphicsResourceSetMapFlags_v2)      \
    X(cuGraphicsSubResourceGetMappedArray) X(cuGraphicsUnmapResources) X(cuGraphicsUnmapResources_ptsz)                \
    X(cuGraphicsUnregisterResource) X(cuGreenCtxCreate) X(cuGreenCtxDestroy) X(cuGreenCtxGetDevResource)               \
    X(cuGreenCtxGetId) X(cuGreenCtxRecordEvent) X(cuGreenCtxStreamCreate) X(cuGreenCtxWaitEvent)                       \
    X(cuImportExternalMemory) X(cuImportExternalSemaphore) X(cuIpcCloseMemHandle) X(cuIpcGetEventHandle)               \
    X(cuIpcGetMemHandle) X(cuIpcOpenEventHandle) X(cuIpcOpenMemHandle) X(cuIpcOpenMemHandle_v2)                        \
    X(cuLaunchCooperativeKernelMultiDevice) X(cuLogsCurrent) X(cuLogsDumpToFile) X(cuLogsDumpToMemory)                 \
    X(cuLogsRegisterCallback) X(cuLogsUnregisterCallback) X(cuMemAlloc) X(cuMemAllocHost) X(cuMemAllocPitch)           \
    X(cuMemBatchDecompressAsync) X(cuMemBatchDecompressAsync_ptsz) X(cuMemDiscardAndPrefetchBatchAsync)                \
    X(cuMemDiscardAndPrefetchBatchAsync_ptsz) X(cuMemDiscardBatchAsync) X(cuMemDiscardBatchAsync_ptsz)                 \
    X(cuMemExportToShareableHandle) X(cuMemFree) X(cuMemGetAddressRange) X(cuMemGetHandleForAddressRange)              \
    X(cuMemGetInfo) X(cuMemHostGetDevicePointer) X(cuMemImportFromShareableHandle) X(cuMemMapArrayAsync)               \
    X(cuMemMapArrayAsync_ptsz) X(cuMemPoolExportPointer) X(cuMemPoolExportToShareableHandle)                           \
    X(cuMemPoolImportFromShareableHandle) X(cuMemPoolImportPointer) X(cuMemPrefetchBatchAsync)                         \
    X(cuMemPrefetchBatchAsync_ptsz) X(cuMemRangeGetAttribute) X(cuMemRangeGetAttributes) X(cuMemcpy2D)                 \
    X(cuMemcpy2DAsync) X(cuMemcpy2DUnaligned) X(cuMemcpy3D) X(cuMemcpy3DAsync) X(cuMemcpy3DBatchAsync)                 \
    X(cuMemcpy3DBatchAsync_ptsz) X(cuMemcpy3DBatchAsync_v2) X(cuMemcpy3DBatchAsync_v2_ptsz) X(cuMemcpyAtoA)            \
    X(cuMemcpyAtoD) X(cuMemcpyAtoH) X(cuMemcpyAtoHAsync) X(cuMemcpyBatchAsync) X(cuMemcpyBatchAsync_ptsz)              \
    X(cuMemcpyBatchAsync_v2) X(cuMemcpyBatchAsync_v2_ptsz) X(cuMemcpyDtoA) X(cuMemcpyDtoD) X(cuMemcpyDtoDAsync)        \
    X(cuMemcpyDtoH) X(cuMemcpyDtoHAsync) X(cuMemcpyHtoA) X(cuMemcpyHtoAAsync) X(cuMemcpyHtoD) X(cuMemcpyHtoDAsync)     \
    X(cuMemsetD16) X(cuMemsetD2D16) X(cuMemsetD2D32) X(cuMemsetD2D8) X(cuMemsetD32) X(cuMemsetD8)                      \
    X(cuMipmappedArrayGetMemoryRequirements) X(cuMipmappedArrayGetSparseProperties) X(cuModuleGetGlobal)               \
    X(cuModuleGetSurfRef) X(cuModuleGetTexRef) X(cuMulticastAddDevice) X(cuMulticastBindAddr) X(cuMulticastBindMem)    \
    X(cuMulticastCreate) X(cuMulticastGetGranularity) X(cuMulticastUnbind) X(cuParamSetTexRef)                         \
    X(cuProfilerInitialize) X(cuSignalExternalSemaphoresAsync) X(cuSignalExternalSemaphoresAsync_ptsz)                 \
    X(cuStreamGetCtx_v2) X(cuStreamGetCtx_v2_ptsz) X(cuStreamGetGreenCtx) X(cuSurfRefGetArray) X(cuSurfRefSetArray)    \
    X(cuTensorMapEncodeIm2col) X(cuTensorMapEncodeIm2colWide) X(cuTensorMapEncodeTiled) X(cuTensorMapReplaceAddress)   \
    X(cuTexRefCreate) X(cuTexRefDestroy) X(cuTexRefGetAddress) X(cuTexRefGetAddressMode) X(cuTexRefGetAddress_v2)      \
    X(cuTexRefGetArray) X(cuTexRefGetBorderColor) X(cuTexRefGetFilterMode) X(cuTexRefGetFlags) X(cuTexRefGetFormat)    \
    X(cuTexRefGetMaxAnisotropy) X(cuTexRefGetMipmapFilterMode) X(cuTexRefGetMipmapLevelBias)                           \
    X(cuTexRefGetMipmapLevelClamp) X(cuTexRefGetMipmappedArray) X(cuTexRefSetAddress) X(cuTexRefSetAddress2D)          \
    X(cuTexRefSetAddress2D_v2) X(cuTexRefSetAddress2D_v3) X(cuTexRefSetAddressMode) X(cuTexRefSetAddress_v2)           \
    X(cuTexRefSetArray) X(cuTexRefSetBorderColor) X(cuTexRefSetFilterMode) X(cuTexRefSetFlags) X(cuTexRefSetFormat)    \
    X(cuTexRefSetMaxAnisotropy) X(cuTexRefSetMipmapFilterMode) X(cuTexRefSetMipmapLevelBias)                           \
    X(cuTexRefSetMipmapLevelClamp) X(cuTexRefSetMipmappedArray) X(cuWaitExternalSemaphoresAsync)                       \
    X(cuWaitExternalSemaphoresAsync_ptsz)

#define X(name)                                                                                                        \
    __attribute__((visibility("default"))) int name(void);                                                             \
    int name(void)                                                                                                     \
    {                                                                                                                  \
        return NOT_SUPPORTED;                                                                                          \
    }
ABSENT_MAP(X)
