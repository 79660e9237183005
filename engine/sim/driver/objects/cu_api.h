/* cu_api.h - the list of the driver API functions that sim/driver defines. X(name, since): `name` is the name in the
 * API. `since` is the CUDA version in which cuGetProcAddress() first returned this form of the function. A version is
 * 1000 * major + 10 * minor. The function sim_NAME has the type that cuda.h gives NAME. programs/cu_programs_api.h
 * lists the functions of programs/ in the same format. */
#ifndef KILN_SIM_CU_API_H
#define KILN_SIM_CU_API_H

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
    X(cuDeviceGetLuid, 10000)                                                                                          \
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
    X(cuModuleGetFunction, 2000)                                                                                       \
    X(cuModuleGetGlobal, 3020)                                                                                         \
    X(cuModuleLoadData, 2000)                                                                                          \
    X(cuModuleLoadDataEx, 2010)                                                                                        \
    X(cuModuleLoadFatBinary, 2000)                                                                                     \
    X(cuModuleUnload, 2000)                                                                                            \
    X(cuFuncGetAttribute, 2020)                                                                                        \
    X(cuFuncGetParamInfo, 12040)                                                                                       \
    X(cuFuncSetAttribute, 9000)                                                                                        \
    X(cuOccupancyAvailableDynamicSMemPerBlock, 10020)                                                                  \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050)                                                               \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, 7000)                                                      \
    X(cuOccupancyMaxPotentialBlockSize, 6050)                                                                          \
    X(cuOccupancyMaxPotentialBlockSizeWithFlags, 7000)                                                                 \
    X(cuMemAlloc, 3020)                                                                                                \
    X(cuMemAllocPitch, 3020)                                                                                           \
    X(cuMemFree, 3020)                                                                                                 \
    X(cuMemGetAddressRange, 3020)                                                                                      \
    X(cuMemGetInfo, 3020)                                                                                              \
    X(cuStreamCreate, 2000)                                                                                            \
    X(cuStreamCreateWithPriority, 5050)                                                                                \
    X(cuStreamDestroy, 2000)                                                                                           \
    X(cuEventCreate, 2000)                                                                                             \
    X(cuEventDestroy, 2000)                                                                                            \
    X(cuEventElapsedTime, 2000)                                                                                        \
    X(cuEventQuery, 2000)                                                                                              \
    X(cuEventSynchronize, 2000)                                                                                        \
    X(cuArrayCreate, 3020)                                                                                             \
    X(cuArrayDestroy, 2000)                                                                                            \
    X(cuArrayGetDescriptor, 3020)                                                                                      \
    X(cuArray3DCreate, 3020)                                                                                           \
    X(cuArray3DGetDescriptor, 3020)                                                                                    \
    X(cuMipmappedArrayCreate, 5000)                                                                                    \
    X(cuMipmappedArrayDestroy, 5000)                                                                                   \
    X(cuMipmappedArrayGetLevel, 5000)                                                                                  \
    X(cuTensorMapEncodeIm2col, 12000)                                                                                  \
    X(cuTensorMapEncodeIm2colWide, 12080)                                                                              \
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
    X(cuProfilerStart, 2000)                                                                                           \
    X(cuProfilerStop, 2000)                                                                                            \
    X(cuCtxAttach, 2000)                                                                                               \
    X(cuCtxDetach, 2000)                                                                                               \
    X(cuLinkCreate, 6050)                                                                                              \
    X(cuLinkAddData, 6050)                                                                                             \
    X(cuLinkAddFile, 6050)                                                                                             \
    X(cuLinkComplete, 5050)                                                                                            \
    X(cuLinkDestroy, 5050)                                                                                             \
    X(cuDeviceGetExecAffinitySupport, 11040)                                                                           \
    X(cuCtxGetExecAffinity, 11040)                                                                                     \
    X(cuOccupancyMaxActiveClusters, 11070)                                                                             \
    X(cuOccupancyMaxPotentialClusterSize, 11070)

/* libcuda exports these functions a second time, for a per-thread default stream, as NAME_ptds or NAME_ptsz. The
 * simulator completes work before the call returns, so the two kinds of default stream behave in the same way.
 * Therefore all these names stand for the same function. */
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
    X(cuStreamCopyAttributes, 11000)                                                                                   \
    X(cuStreamGetAttribute, 11000)                                                                                     \
    X(cuStreamSetAttribute, 11000)

#define SIM_API_MAP(X) SIM_PLAIN_MAP(X) SIM_PTDS_MAP(X) SIM_PTSZ_MAP(X)

/* The older forms of functions. X(symbol, name, since, function): the name that libcuda exports, the name in the API,
 * the first CUDA version of this form, and the function that implements it. If the old and the current form have the
 * same signature, this is the current function. */
#define SIM_FORM_MAP(X)                                                                                                \
    X("cuCtxCreate", "cuCtxCreate", 2000, sim_cuCtxCreate_v2)                                                          \
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
    X("cuLinkCreate", "cuLinkCreate", 5050, sim_cuLinkCreate)                                                          \
    X("cuLinkAddData", "cuLinkAddData", 5050, sim_cuLinkAddData)                                                       \
    X("cuLinkAddFile", "cuLinkAddFile", 5050, sim_cuLinkAddFile)
#endif
