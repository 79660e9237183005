/* cu_api.h - the functions of the driver API that exist here. X(name, since): the API's name, and the CUDA version
 * whose cuGetProcAddress first had this form (1000 * major + 10 * minor). sim_NAME has the type that cuda.h gives the
 * name. */
#ifndef KILN_SIM_CU_API_H
#define KILN_SIM_CU_API_H

#define SIM_GRAPH_MAP(X)                                                                                               \
    X(cuGraphAddBatchMemOpNode, 11070)                                                                                 \
    X(cuGraphAddChildGraphNode, 10000)                                                                                 \
    X(cuGraphAddDependencies, 12030)                                                                                   \
    X(cuGraphAddEmptyNode, 10000)                                                                                      \
    X(cuGraphAddEventRecordNode, 11010)                                                                                \
    X(cuGraphAddEventWaitNode, 11010)                                                                                  \
    X(cuGraphAddHostNode, 10000)                                                                                       \
    X(cuGraphAddKernelNode, 12000)                                                                                     \
    X(cuGraphAddMemAllocNode, 11040)                                                                                   \
    X(cuGraphAddMemFreeNode, 11040)                                                                                    \
    X(cuGraphAddMemcpyNode, 10000)                                                                                     \
    X(cuGraphAddMemsetNode, 10000)                                                                                     \
    X(cuGraphAddNode, 12030)                                                                                           \
    X(cuGraphBatchMemOpNodeGetParams, 11070)                                                                           \
    X(cuGraphBatchMemOpNodeSetParams, 11070)                                                                           \
    X(cuGraphChildGraphNodeGetGraph, 10000)                                                                            \
    X(cuGraphClone, 10000)                                                                                             \
    X(cuGraphCreate, 10000)                                                                                            \
    X(cuGraphDebugDotPrint, 11030)                                                                                     \
    X(cuGraphDestroy, 10000)                                                                                           \
    X(cuGraphDestroyNode, 10000)                                                                                       \
    X(cuGraphEventRecordNodeGetEvent, 11010)                                                                           \
    X(cuGraphEventRecordNodeSetEvent, 11010)                                                                           \
    X(cuGraphEventWaitNodeGetEvent, 11010)                                                                             \
    X(cuGraphEventWaitNodeSetEvent, 11010)                                                                             \
    X(cuGraphExecBatchMemOpNodeSetParams, 11070)                                                                       \
    X(cuGraphExecChildGraphNodeSetParams, 11010)                                                                       \
    X(cuGraphConditionalHandleCreate, 12030)                                                                           \
    X(cuGraphExecDestroy, 10000)                                                                                       \
    X(cuGraphExecEventRecordNodeSetEvent, 11010)                                                                       \
    X(cuGraphExecEventWaitNodeSetEvent, 11010)                                                                         \
    X(cuGraphExecGetFlags, 12000)                                                                                      \
    X(cuGraphExecHostNodeSetParams, 11000)                                                                             \
    X(cuGraphExecKernelNodeSetParams, 12000)                                                                           \
    X(cuGraphExecMemcpyNodeSetParams, 11000)                                                                           \
    X(cuGraphExecMemsetNodeSetParams, 11000)                                                                           \
    X(cuGraphExecNodeSetParams, 12020)                                                                                 \
    X(cuGraphExecUpdate, 12000)                                                                                        \
    X(cuGraphGetEdges, 12030)                                                                                          \
    X(cuGraphGetNodes, 10000)                                                                                          \
    X(cuGraphGetRootNodes, 10000)                                                                                      \
    X(cuGraphHostNodeGetParams, 10000)                                                                                 \
    X(cuGraphHostNodeSetParams, 10000)                                                                                 \
    X(cuGraphInstantiateWithFlags, 11040)                                                                              \
    X(cuGraphKernelNodeCopyAttributes, 11000)                                                                          \
    X(cuGraphKernelNodeGetAttribute, 11000)                                                                            \
    X(cuGraphKernelNodeGetParams, 12000)                                                                               \
    X(cuGraphKernelNodeSetAttribute, 11000)                                                                            \
    X(cuGraphKernelNodeSetParams, 12000)                                                                               \
    X(cuGraphMemAllocNodeGetParams, 11040)                                                                             \
    X(cuGraphMemFreeNodeGetParams, 11040)                                                                              \
    X(cuGraphMemcpyNodeGetParams, 10000)                                                                               \
    X(cuGraphMemcpyNodeSetParams, 10000)                                                                               \
    X(cuGraphMemsetNodeGetParams, 10000)                                                                               \
    X(cuGraphMemsetNodeSetParams, 10000)                                                                               \
    X(cuGraphNodeFindInClone, 10000)                                                                                   \
    X(cuGraphNodeGetDependencies, 12030)                                                                               \
    X(cuGraphNodeGetDependentNodes, 12030)                                                                             \
    X(cuGraphNodeGetEnabled, 11060)                                                                                    \
    X(cuGraphNodeGetType, 10000)                                                                                       \
    X(cuGraphNodeSetEnabled, 11060)                                                                                    \
    X(cuGraphNodeSetParams, 12020)                                                                                     \
    X(cuGraphReleaseUserObject, 11030)                                                                                 \
    X(cuGraphRemoveDependencies, 12030)                                                                                \
    X(cuGraphRetainUserObject, 11030)                                                                                  \
    X(cuUserObjectCreate, 11030)                                                                                       \
    X(cuUserObjectRelease, 11030)                                                                                      \
    X(cuUserObjectRetain, 11030)                                                                                       \
    X(cuDeviceGetGraphMemAttribute, 11040)                                                                             \
    X(cuDeviceGraphMemTrim, 11040)                                                                                     \
    X(cuDeviceSetGraphMemAttribute, 11040)                                                                             \
    X(cuDeviceGetExecAffinitySupport, 11040)                                                                           \
    X(cuCtxGetExecAffinity, 11040)                                                                                     \
    X(cuMemAddressFree, 10020)                                                                                         \
    X(cuMemAddressReserve, 10020)                                                                                      \
    X(cuMemAdvise, 12020)                                                                                              \
    X(cuIpcCloseMemHandle, 4010)                                                                                       \
    X(cuIpcGetEventHandle, 4010)                                                                                       \
    X(cuIpcGetMemHandle, 4010)                                                                                         \
    X(cuIpcOpenEventHandle, 4010)                                                                                      \
    X(cuIpcOpenMemHandle, 11000)                                                                                       \
    X(cuMemCreate, 10020)                                                                                              \
    X(cuMemExportToShareableHandle, 10020)                                                                             \
    X(cuMemImportFromShareableHandle, 10020)                                                                           \
    X(cuMemGetAccess, 10020)                                                                                           \
    X(cuMemGetAllocationGranularity, 10020)                                                                            \
    X(cuMemGetAllocationPropertiesFromHandle, 10020)                                                                   \
    X(cuMemGetDefaultMemPool, 13000)                                                                                   \
    X(cuMemGetMemPool, 13000)                                                                                          \
    X(cuMemMap, 10020)                                                                                                 \
    X(cuMemPoolCreate, 11020)                                                                                          \
    X(cuMemPoolDestroy, 11020)                                                                                         \
    X(cuMemPoolExportPointer, 11020)                                                                                   \
    X(cuMemPoolExportToShareableHandle, 11020)                                                                         \
    X(cuMemPoolGetAccess, 11020)                                                                                       \
    X(cuMemPoolImportFromShareableHandle, 11020)                                                                       \
    X(cuMemPoolImportPointer, 11020)                                                                                   \
    X(cuMemPoolSetAccess, 11020)                                                                                       \
    X(cuMemRelease, 10020)                                                                                             \
    X(cuMemRetainAllocationHandle, 11000)                                                                              \
    X(cuMemSetAccess, 10020)                                                                                           \
    X(cuMemSetMemPool, 13000)                                                                                          \
    X(cuMemUnmap, 10020)                                                                                               \
    X(cuOccupancyMaxActiveClusters, 11070)                                                                             \
    X(cuOccupancyMaxPotentialClusterSize, 11070)                                                                       \
    X(cuPointerSetAttribute, 6000)

#define SIM_PLAIN_MAP(X)                                                                                               \
    X(cuInit, 2000)                                                                                                    \
    X(cuDriverGetVersion, 2020)                                                                                        \
    X(cuGetErrorName, 6000)                                                                                            \
    X(cuGetErrorString, 6000)                                                                                          \
    X(cuGetExportTable, 3000)                                                                                          \
    X(cuGetProcAddress, 12000)                                                                                         \
    X(cuDeviceCanAccessPeer, 4000)                                                                                     \
    X(cuDeviceComputeCapability, 2000)                                                                                 \
    X(cuDeviceGet, 2000)                                                                                               \
    X(cuDeviceGetAttribute, 2000)                                                                                      \
    X(cuDeviceGetByPCIBusId, 4010)                                                                                     \
    X(cuDeviceGetCount, 2000)                                                                                          \
    X(cuDeviceGetDefaultMemPool, 11020)                                                                                \
    X(cuDeviceGetLuid, 10000)                                                                                          \
    X(cuDeviceGetMemPool, 11020)                                                                                       \
    X(cuDeviceGetName, 2000)                                                                                           \
    X(cuDeviceGetP2PAttribute, 8000)                                                                                   \
    X(cuDeviceGetPCIBusId, 4010)                                                                                       \
    X(cuDeviceGetProperties, 2000)                                                                                     \
    X(cuDeviceGetUuid, 9020)                                                                                           \
    X(cuDevicePrimaryCtxGetState, 7000)                                                                                \
    X(cuDevicePrimaryCtxRelease, 7000)                                                                                 \
    X(cuDevicePrimaryCtxReset, 7000)                                                                                   \
    X(cuDevicePrimaryCtxRetain, 7000)                                                                                  \
    X(cuDevicePrimaryCtxSetFlags, 7000)                                                                                \
    X(cuDeviceSetMemPool, 11020)                                                                                       \
    X(cuDeviceTotalMem, 3020)                                                                                          \
    X(cuCtxCreate, 12050)                                                                                              \
    X(cuCtxDestroy, 2000)                                                                                              \
    X(cuCtxDisablePeerAccess, 4000)                                                                                    \
    X(cuCtxEnablePeerAccess, 4000)                                                                                     \
    X(cuCtxGetApiVersion, 3020)                                                                                        \
    X(cuCtxGetCacheConfig, 3020)                                                                                       \
    X(cuCtxGetCurrent, 4000)                                                                                           \
    X(cuCtxGetDevice, 2000)                                                                                            \
    X(cuCtxGetFlags, 7000)                                                                                             \
    X(cuCtxGetId, 12000)                                                                                               \
    X(cuCtxGetLimit, 3010)                                                                                             \
    X(cuCtxGetSharedMemConfig, 4020)                                                                                   \
    X(cuCtxGetStreamPriorityRange, 5050)                                                                               \
    X(cuCtxPopCurrent, 2000)                                                                                           \
    X(cuCtxPushCurrent, 2000)                                                                                          \
    X(cuCtxResetPersistingL2Cache, 11000)                                                                              \
    X(cuCtxSetCacheConfig, 3020)                                                                                       \
    X(cuCtxSetCurrent, 4000)                                                                                           \
    X(cuCtxSetFlags, 12010)                                                                                            \
    X(cuCtxSetLimit, 3010)                                                                                             \
    X(cuCtxSetSharedMemConfig, 4020)                                                                                   \
    X(cuCtxSynchronize, 2000)                                                                                          \
    X(cuModuleEnumerateFunctions, 12040)                                                                               \
    X(cuModuleGetFunction, 2000)                                                                                       \
    X(cuModuleGetFunctionCount, 12040)                                                                                 \
    X(cuModuleGetGlobal, 3020)                                                                                         \
    X(cuModuleGetLoadingMode, 11070)                                                                                   \
    X(cuModuleLoad, 2000)                                                                                              \
    X(cuModuleLoadData, 2000)                                                                                          \
    X(cuModuleLoadDataEx, 2010)                                                                                        \
    X(cuModuleLoadFatBinary, 2000)                                                                                     \
    X(cuModuleUnload, 2000)                                                                                            \
    X(cuLibraryEnumerateKernels, 12040)                                                                                \
    X(cuLibraryGetGlobal, 12000)                                                                                       \
    X(cuLibraryGetKernel, 12000)                                                                                       \
    X(cuLibraryGetKernelCount, 12040)                                                                                  \
    X(cuLibraryGetManaged, 12000)                                                                                      \
    X(cuLibraryGetModule, 12000)                                                                                       \
    X(cuLibraryGetUnifiedFunction, 12000)                                                                              \
    X(cuLibraryLoadData, 12000)                                                                                        \
    X(cuLibraryLoadFromFile, 12000)                                                                                    \
    X(cuLibraryUnload, 12000)                                                                                          \
    X(cuKernelGetAttribute, 12000)                                                                                     \
    X(cuKernelGetFunction, 12000)                                                                                      \
    X(cuKernelGetLibrary, 12050)                                                                                       \
    X(cuKernelGetName, 12030)                                                                                          \
    X(cuKernelGetParamInfo, 12040)                                                                                     \
    X(cuKernelSetAttribute, 12000)                                                                                     \
    X(cuKernelSetCacheConfig, 12000)                                                                                   \
    X(cuFuncGetAttribute, 2020)                                                                                        \
    X(cuFuncGetModule, 11000)                                                                                          \
    X(cuFuncGetName, 12030)                                                                                            \
    X(cuFuncGetParamInfo, 12040)                                                                                       \
    X(cuFuncIsLoaded, 12040)                                                                                           \
    X(cuFuncLoad, 12040)                                                                                               \
    X(cuFuncSetAttribute, 9000)                                                                                        \
    X(cuFuncSetBlockShape, 2000)                                                                                       \
    X(cuFuncSetCacheConfig, 3000)                                                                                      \
    X(cuFuncSetSharedMemConfig, 4020)                                                                                  \
    X(cuFuncSetSharedSize, 2000)                                                                                       \
    X(cuOccupancyAvailableDynamicSMemPerBlock, 10020)                                                                  \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050)                                                               \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, 7000)                                                      \
    X(cuOccupancyMaxPotentialBlockSize, 6050)                                                                          \
    X(cuOccupancyMaxPotentialBlockSizeWithFlags, 7000)                                                                 \
    X(cuMemAlloc, 3020)                                                                                                \
    X(cuMemAllocHost, 3020)                                                                                            \
    X(cuMemAllocManaged, 6000)                                                                                         \
    X(cuMemAllocPitch, 3020)                                                                                           \
    X(cuMemFree, 3020)                                                                                                 \
    X(cuMemFreeHost, 2000)                                                                                             \
    X(cuMemGetAddressRange, 3020)                                                                                      \
    X(cuMemGetInfo, 3020)                                                                                              \
    X(cuMemHostAlloc, 2020)                                                                                            \
    X(cuMemHostGetDevicePointer, 3020)                                                                                 \
    X(cuMemHostGetFlags, 2030)                                                                                         \
    X(cuMemHostRegister, 4000)                                                                                         \
    X(cuMemHostUnregister, 4000)                                                                                       \
    X(cuMemPoolGetAttribute, 11020)                                                                                    \
    X(cuMemPoolSetAttribute, 11020)                                                                                    \
    X(cuMemPoolTrimTo, 11020)                                                                                          \
    X(cuPointerGetAttribute, 4000)                                                                                     \
    X(cuPointerGetAttributes, 7000)                                                                                    \
    X(cuStreamCreate, 2000)                                                                                            \
    X(cuStreamCreateWithPriority, 5050)                                                                                \
    X(cuStreamDestroy, 2000)                                                                                           \
    X(cuThreadExchangeStreamCaptureMode, 10010)                                                                        \
    X(cuEventCreate, 2000)                                                                                             \
    X(cuEventDestroy, 2000)                                                                                            \
    X(cuEventElapsedTime, 2000)                                                                                        \
    X(cuEventQuery, 2000)                                                                                              \
    X(cuEventSynchronize, 2000)                                                                                        \
    X(cuLaunch, 2000)                                                                                                  \
    X(cuLaunchGrid, 2000)                                                                                              \
    X(cuLaunchGridAsync, 2000)                                                                                         \
    X(cuArrayCreate, 3020)                                                                                             \
    X(cuArrayDestroy, 2000)                                                                                            \
    X(cuArrayGetDescriptor, 3020)                                                                                      \
    X(cuArray3DCreate, 3020)                                                                                           \
    X(cuArray3DGetDescriptor, 3020)                                                                                    \
    X(cuMipmappedArrayCreate, 5000)                                                                                    \
    X(cuMipmappedArrayDestroy, 5000)                                                                                   \
    X(cuMipmappedArrayGetLevel, 5000)                                                                                  \
    X(cuTensorMapEncodeIm2col, 12000)                                                                                  \
    X(cuTensorMapEncodeTiled, 12000)                                                                                   \
    X(cuTensorMapReplaceAddress, 12000)                                                                                \
    X(cuTexObjectCreate, 5000)                                                                                         \
    X(cuTexObjectDestroy, 5000)                                                                                        \
    X(cuTexObjectGetResourceDesc, 5000)                                                                                \
    X(cuTexObjectGetResourceViewDesc, 5000)                                                                            \
    X(cuTexObjectGetTextureDesc, 5000)                                                                                 \
    X(cuSurfObjectCreate, 5000)                                                                                        \
    X(cuSurfObjectDestroy, 5000)                                                                                       \
    X(cuSurfObjectGetResourceDesc, 5000)                                                                               \
    X(cuDeviceGetTexture1DLinearMaxWidth, 11010)                                                                       \
    X(cuParamSetSize, 2000)                                                                                            \
    X(cuParamSetf, 2000)                                                                                               \
    X(cuParamSeti, 2000)                                                                                               \
    X(cuParamSetv, 2000)                                                                                               \
    X(cuProfilerStart, 2000)                                                                                           \
    X(cuProfilerStop, 2000)                                                                                            \
    X(cuCtxAttach, 2000)                                                                                               \
    X(cuCtxDetach, 2000)                                                                                               \
    X(cuLinkCreate, 6050)                                                                                              \
    X(cuLinkAddData, 6050)                                                                                             \
    X(cuLinkAddFile, 6050)                                                                                             \
    X(cuLinkComplete, 5050)                                                                                            \
    X(cuLinkDestroy, 5050)                                                                                             \
    SIM_GRAPH_MAP(X)

/* Functions that libcuda exports a second time, for a per-thread default stream, as NAME_ptds and NAME_ptsz. Work is
 * done when a call returns, so both default streams behave in the same way here, and both names are one function. */
#define SIM_PTDS_MAP(X)                                                                                                \
    X(cuMemcpy, 4000)                                                                                                  \
    X(cuMemcpy2D, 3020)                                                                                                \
    X(cuMemcpy2DUnaligned, 3020)                                                                                       \
    X(cuMemcpy3D, 3020)                                                                                                \
    X(cuMemcpy3DPeer, 4000)                                                                                            \
    X(cuMemcpyDtoD, 3020)                                                                                              \
    X(cuMemcpyDtoH, 3020)                                                                                              \
    X(cuMemcpyHtoD, 3020)                                                                                              \
    X(cuMemcpyPeer, 4000)                                                                                              \
    X(cuMemsetD16, 3020)                                                                                               \
    X(cuMemsetD2D16, 3020)                                                                                             \
    X(cuMemsetD2D32, 3020)                                                                                             \
    X(cuMemsetD2D8, 3020)                                                                                              \
    X(cuMemsetD32, 3020)                                                                                               \
    X(cuMemsetD8, 3020)                                                                                                \
    X(cuMemcpyAtoA, 3020)                                                                                              \
    X(cuMemcpyAtoD, 3020)                                                                                              \
    X(cuMemcpyAtoH, 3020)                                                                                              \
    X(cuMemcpyDtoA, 3020)                                                                                              \
    X(cuMemcpyHtoA, 3020)
#define SIM_PTSZ_MAP(X)                                                                                                \
    X(cuMemAllocAsync, 11020)                                                                                          \
    X(cuMemAllocFromPoolAsync, 11020)                                                                                  \
    X(cuMemFreeAsync, 11020)                                                                                           \
    X(cuMemcpy2DAsync, 3020)                                                                                           \
    X(cuMemcpy3DAsync, 3020)                                                                                           \
    X(cuMemcpy3DPeerAsync, 4000)                                                                                       \
    X(cuMemcpyAsync, 4000)                                                                                             \
    X(cuMemcpyDtoDAsync, 3020)                                                                                         \
    X(cuMemcpyDtoHAsync, 3020)                                                                                         \
    X(cuMemcpyHtoDAsync, 3020)                                                                                         \
    X(cuMemcpyPeerAsync, 4000)                                                                                         \
    X(cuMemsetD16Async, 3020)                                                                                          \
    X(cuMemsetD2D16Async, 3020)                                                                                        \
    X(cuMemsetD2D32Async, 3020)                                                                                        \
    X(cuMemsetD2D8Async, 3020)                                                                                         \
    X(cuMemsetD32Async, 3020)                                                                                          \
    X(cuMemsetD8Async, 3020)                                                                                           \
    X(cuStreamAddCallback, 5000)                                                                                       \
    X(cuStreamGetCaptureInfo, 12030)                                                                                   \
    X(cuStreamGetCtx, 9020)                                                                                            \
    X(cuStreamGetDevice, 12080)                                                                                        \
    X(cuStreamGetFlags, 5050)                                                                                          \
    X(cuStreamGetId, 12000)                                                                                            \
    X(cuStreamGetPriority, 5050)                                                                                       \
    X(cuStreamIsCapturing, 10000)                                                                                      \
    X(cuStreamQuery, 2000)                                                                                             \
    X(cuStreamSynchronize, 2000)                                                                                       \
    X(cuStreamWaitEvent, 3020)                                                                                         \
    X(cuEventRecord, 2000)                                                                                             \
    X(cuEventRecordWithFlags, 11010)                                                                                   \
    X(cuLaunchCooperativeKernel, 9000)                                                                                 \
    X(cuLaunchHostFunc, 10000)                                                                                         \
    X(cuLaunchKernel, 4000)                                                                                            \
    X(cuLaunchKernelEx, 11060)                                                                                         \
    X(cuMemcpyAtoHAsync, 3020)                                                                                         \
    X(cuMemcpyHtoAAsync, 3020)                                                                                         \
    X(cuGraphInstantiateWithParams, 12000)                                                                             \
    X(cuGraphLaunch, 10000)                                                                                            \
    X(cuGraphUpload, 11010)                                                                                            \
    X(cuMemPrefetchAsync, 12020)                                                                                       \
    X(cuStreamAttachMemAsync, 6000)                                                                                    \
    X(cuStreamBatchMemOp, 11070)                                                                                       \
    X(cuStreamBeginCapture, 10010)                                                                                     \
    X(cuStreamBeginCaptureToGraph, 12030)                                                                              \
    X(cuStreamCopyAttributes, 11000)                                                                                   \
    X(cuStreamEndCapture, 10000)                                                                                       \
    X(cuStreamGetAttribute, 11000)                                                                                     \
    X(cuStreamSetAttribute, 11000)                                                                                     \
    X(cuStreamUpdateCaptureDependencies, 12030)                                                                        \
    X(cuStreamWaitValue32, 11070)                                                                                      \
    X(cuStreamWaitValue64, 11070)                                                                                      \
    X(cuStreamWriteValue32, 11070)                                                                                     \
    X(cuStreamWriteValue64, 11070)

#define SIM_API_MAP(X) SIM_PLAIN_MAP(X) SIM_PTDS_MAP(X) SIM_PTSZ_MAP(X)

/* Other forms of these functions. X(symbol, name, since, function): the name that libcuda exports, the API's name and
 * version for it, and the function: an older form, or the one above if both are called in the same way. */
#define SIM_FORM_MAP(X)                                                                                                \
    X("cuCtxCreate", "cuCtxCreate", 2000, sim_cuCtxCreate_v2)                                                          \
    X("cuIpcOpenMemHandle", "cuIpcOpenMemHandle", 4010, sim_cuIpcOpenMemHandle)                                        \
    X("cuCtxCreate_v2", "cuCtxCreate", 3020, sim_cuCtxCreate_v2)                                                       \
    X("cuCtxCreate_v3", "cuCtxCreate", 11040, sim_cuCtxCreate_v3)                                                      \
    X("cuCtxGetDevice_v2", "cuCtxGetDevice", 13000, sim_cuCtxGetDevice_v2)                                             \
    X("cuCtxSynchronize_v2", "cuCtxSynchronize", 13000, sim_cuCtxSynchronize_v2)                                       \
    X("cuGetProcAddress", "cuGetProcAddress", 11030, sim_cuGetProcAddress_v1)                                          \
    X("cuCtxDestroy", "cuCtxDestroy", 2000, sim_cuCtxDestroy)                                                          \
    X("cuCtxPopCurrent", "cuCtxPopCurrent", 2000, sim_cuCtxPopCurrent)                                                 \
    X("cuCtxPushCurrent", "cuCtxPushCurrent", 2000, sim_cuCtxPushCurrent)                                              \
    X("cuStreamDestroy", "cuStreamDestroy", 2000, sim_cuStreamDestroy)                                                 \
    X("cuEventDestroy", "cuEventDestroy", 2000, sim_cuEventDestroy)                                                    \
    X("cuEventElapsedTime", "cuEventElapsedTime", 2000, sim_cuEventElapsedTime)                                        \
    X("cuDeviceGetUuid", "cuDeviceGetUuid", 9020, sim_cuDeviceGetUuid)                                                 \
    X("cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRelease", 7000, sim_cuDevicePrimaryCtxRelease)                   \
    X("cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxReset", 7000, sim_cuDevicePrimaryCtxReset)                         \
    X("cuDevicePrimaryCtxSetFlags", "cuDevicePrimaryCtxSetFlags", 7000, sim_cuDevicePrimaryCtxSetFlags)                \
    X("cuMemHostRegister", "cuMemHostRegister", 4000, sim_cuMemHostRegister)                                           \
    X("cuLinkCreate", "cuLinkCreate", 5050, sim_cuLinkCreate)                                                          \
    X("cuLinkAddData", "cuLinkAddData", 5050, sim_cuLinkAddData)                                                       \
    X("cuLinkAddFile", "cuLinkAddFile", 5050, sim_cuLinkAddFile)                                                       \
    X("cuGraphAddKernelNode", "cuGraphAddKernelNode", 10000, sim_cuGraphAddKernelNode_v1)                              \
    X("cuGraphKernelNodeGetParams", "cuGraphKernelNodeGetParams", 10000, sim_cuGraphKernelNodeGetParams_v1)            \
    X("cuGraphKernelNodeSetParams", "cuGraphKernelNodeSetParams", 10000, sim_cuGraphKernelNodeSetParams_v1)            \
    X("cuGraphExecKernelNodeSetParams", "cuGraphExecKernelNodeSetParams", 10010,                                       \
      sim_cuGraphExecKernelNodeSetParams_v1)                                                                           \
    X("cuGraphAddNode", "cuGraphAddNode", 12020, sim_cuGraphAddNode_v1)                                                \
    X("cuGraphGetEdges", "cuGraphGetEdges", 10000, sim_cuGraphGetEdges_v1)                                             \
    X("cuGraphNodeGetDependencies", "cuGraphNodeGetDependencies", 10000, sim_cuGraphNodeGetDependencies_v1)            \
    X("cuGraphNodeGetDependentNodes", "cuGraphNodeGetDependentNodes", 10000, sim_cuGraphNodeGetDependentNodes_v1)      \
    X("cuGraphAddDependencies", "cuGraphAddDependencies", 10000, sim_cuGraphAddDependencies_v1)                        \
    X("cuGraphRemoveDependencies", "cuGraphRemoveDependencies", 10000, sim_cuGraphRemoveDependencies_v1)               \
    X("cuGraphInstantiate", "cuGraphInstantiate", 10000, sim_cuGraphInstantiate_v1)                                    \
    X("cuGraphInstantiate_v2", "cuGraphInstantiate", 11000, sim_cuGraphInstantiate_v1)                                 \
    X("cuGraphExecUpdate", "cuGraphExecUpdate", 10020, sim_cuGraphExecUpdate_v1)                                       \
    X("cuStreamBeginCapture", "cuStreamBeginCapture", 10000, sim_cuStreamBeginCapture_v1)                              \
    X("cuStreamBeginCapture_ptsz", "cuStreamBeginCapture", 10000, sim_cuStreamBeginCapture_v1)                         \
    X("cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo", 10010, sim_cuStreamGetCaptureInfo_v1)                        \
    X("cuStreamGetCaptureInfo_ptsz", "cuStreamGetCaptureInfo", 10010, sim_cuStreamGetCaptureInfo_v1)                   \
    X("cuStreamGetCaptureInfo_v2", "cuStreamGetCaptureInfo", 11030, sim_cuStreamGetCaptureInfo_v2)                     \
    X("cuStreamGetCaptureInfo_v2_ptsz", "cuStreamGetCaptureInfo", 11030, sim_cuStreamGetCaptureInfo_v2)                \
    X("cuStreamUpdateCaptureDependencies", "cuStreamUpdateCaptureDependencies", 11030,                                 \
      sim_cuStreamUpdateCaptureDependencies_v1)                                                                        \
    X("cuStreamUpdateCaptureDependencies_ptsz", "cuStreamUpdateCaptureDependencies", 11030,                            \
      sim_cuStreamUpdateCaptureDependencies_v1)                                                                        \
    X("cuMemPrefetchAsync", "cuMemPrefetchAsync", 8000, sim_cuMemPrefetchAsync_v1)                                     \
    X("cuMemPrefetchAsync_ptsz", "cuMemPrefetchAsync", 8000, sim_cuMemPrefetchAsync_v1)                                \
    X("cuMemAdvise", "cuMemAdvise", 8000, sim_cuMemAdvise_v1)                                                          \
    X("cuStreamWaitValue32", "cuStreamWaitValue32", 8000, sim_cuStreamWaitValue32)                                     \
    X("cuStreamWaitValue32_ptsz", "cuStreamWaitValue32", 8000, sim_cuStreamWaitValue32)                                \
    X("cuStreamWaitValue64", "cuStreamWaitValue64", 9000, sim_cuStreamWaitValue64)                                     \
    X("cuStreamWaitValue64_ptsz", "cuStreamWaitValue64", 9000, sim_cuStreamWaitValue64)                                \
    X("cuStreamWriteValue32", "cuStreamWriteValue32", 8000, sim_cuStreamWriteValue32)                                  \
    X("cuStreamWriteValue32_ptsz", "cuStreamWriteValue32", 8000, sim_cuStreamWriteValue32)                             \
    X("cuStreamWriteValue64", "cuStreamWriteValue64", 9000, sim_cuStreamWriteValue64)                                  \
    X("cuStreamWriteValue64_ptsz", "cuStreamWriteValue64", 9000, sim_cuStreamWriteValue64)                             \
    X("cuStreamBatchMemOp", "cuStreamBatchMemOp", 8000, sim_cuStreamBatchMemOp)                                        \
    X("cuStreamBatchMemOp_ptsz", "cuStreamBatchMemOp", 8000, sim_cuStreamBatchMemOp)

/* Names that cuda.h maps to other ones: X(name, since, function). Only cuGetProcAddress knows them. */
#define SIM_ALIAS_MAP(X) X(cuGraphInstantiate, 12000, sim_cuGraphInstantiateWithFlags)
#endif
