/* cu_programs_api.h - lists the functions of the driver API that sim/programs implements, in the form of cu_api.h. */
#ifndef KILN_SIM_CU_PROGRAMS_API_H
#define KILN_SIM_CU_PROGRAMS_API_H

#define SIM_PROGRAMS_PLAIN_MAP(X)                                                                                      \
    X(cuDeviceGetDefaultMemPool, 11020)                                                                                \
    X(cuDeviceGetMemPool, 11020)                                                                                       \
    X(cuDeviceSetMemPool, 11020)                                                                                       \
    X(cuModuleEnumerateFunctions, 12040)                                                                               \
    X(cuModuleGetFunctionCount, 12040)                                                                                 \
    X(cuModuleGetLoadingMode, 11070)                                                                                   \
    X(cuModuleLoad, 2000)                                                                                              \
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
    X(cuFuncGetModule, 11000)                                                                                          \
    X(cuFuncGetName, 12030)                                                                                            \
    X(cuFuncIsLoaded, 12040)                                                                                           \
    X(cuFuncLoad, 12040)                                                                                               \
    X(cuFuncSetBlockShape, 2000)                                                                                       \
    X(cuFuncSetCacheConfig, 3000)                                                                                      \
    X(cuFuncSetSharedMemConfig, 4020)                                                                                  \
    X(cuFuncSetSharedSize, 2000)                                                                                       \
    X(cuMemAllocHost, 3020)                                                                                            \
    X(cuMemAllocManaged, 6000)                                                                                         \
    X(cuMemFreeHost, 2000)                                                                                             \
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
    X(cuThreadExchangeStreamCaptureMode, 10010)                                                                        \
    X(cuLaunch, 2000)                                                                                                  \
    X(cuLaunchGrid, 2000)                                                                                              \
    X(cuLaunchGridAsync, 2000)                                                                                         \
    X(cuParamSetSize, 2000)                                                                                            \
    X(cuParamSetf, 2000)                                                                                               \
    X(cuParamSeti, 2000)                                                                                               \
    X(cuParamSetv, 2000)                                                                                               \
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
    X(cuMulticastAddDevice, 12010)                                                                                     \
    X(cuMulticastBindAddr, 12010)                                                                                      \
    X(cuMulticastBindMem, 12010)                                                                                       \
    X(cuMulticastCreate, 12010)                                                                                        \
    X(cuMulticastGetGranularity, 12010)                                                                                \
    X(cuMulticastUnbind, 12010)                                                                                        \
    X(cuPointerSetAttribute, 6000)

#define SIM_PROGRAMS_PTDS_MAP(X)

#define SIM_PROGRAMS_PTSZ_MAP(X)                                                                                       \
    X(cuMemAllocAsync, 11020)                                                                                          \
    X(cuMemAllocFromPoolAsync, 11020)                                                                                  \
    X(cuMemFreeAsync, 11020)                                                                                           \
    X(cuStreamGetCaptureInfo, 12030)                                                                                   \
    X(cuGraphInstantiateWithParams, 12000)                                                                             \
    X(cuGraphLaunch, 10000)                                                                                            \
    X(cuGraphUpload, 11010)                                                                                            \
    X(cuMemPrefetchAsync, 12020)                                                                                       \
    X(cuStreamAttachMemAsync, 6000)                                                                                    \
    X(cuStreamBatchMemOp, 11070)                                                                                       \
    X(cuStreamBeginCapture, 10010)                                                                                     \
    X(cuStreamBeginCaptureToGraph, 12030)                                                                              \
    X(cuStreamEndCapture, 10000)                                                                                       \
    X(cuStreamUpdateCaptureDependencies, 12030)                                                                        \
    X(cuStreamWaitValue32, 11070)                                                                                      \
    X(cuStreamWaitValue64, 11070)                                                                                      \
    X(cuStreamWriteValue32, 11070)                                                                                     \
    X(cuStreamWriteValue64, 11070)

#define SIM_PROGRAMS_API_MAP(X) SIM_PROGRAMS_PLAIN_MAP(X) SIM_PROGRAMS_PTDS_MAP(X) SIM_PROGRAMS_PTSZ_MAP(X)

#define SIM_PROGRAMS_FORM_MAP(X)                                                                                       \
    X("cuIpcOpenMemHandle", "cuIpcOpenMemHandle", 4010, sim_cuIpcOpenMemHandle)                                        \
    X("cuMemHostRegister", "cuMemHostRegister", 4000, sim_cuMemHostRegister)                                           \
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

/* Names that cuda.h maps to other names: X(name, since, function). Only cuGetProcAddress finds functions by these
 * names. */
#define SIM_PROGRAMS_ALIAS_MAP(X) X(cuGraphInstantiate, 12000, sim_cuGraphInstantiateWithFlags)
#endif
