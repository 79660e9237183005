/* absent.c - functions of the runtime that Kiln does not implement: sharing with graphics interfaces and with other
 * programs, sparse arrays, the driver's log. The functions exist so that a program that is linked against them can
 * start. They return cudaErrorNotSupported. This file declares the functions without parameters, so it cannot include
 * the runtime's headers. */
int kiln__rt_absent(void); /* error.c */

#define ABSENT_MAP(X)                                                                                                  \
    X(cudaArrayGetMemoryRequirements)                                                                                  \
    X(cudaArrayGetPlane)                                                                                               \
    X(cudaArrayGetSparseProperties)                                                                                    \
    X(cudaDestroyExternalMemory)                                                                                       \
    X(cudaDestroyExternalSemaphore)                                                                                    \
    X(cudaDeviceRegisterAsyncNotification)                                                                             \
    X(cudaDeviceUnregisterAsyncNotification)                                                                           \
    X(cudaEGLStreamConsumerAcquireFrame)                                                                               \
    X(cudaEGLStreamConsumerConnect)                                                                                    \
    X(cudaEGLStreamConsumerConnectWithFlags)                                                                           \
    X(cudaEGLStreamConsumerDisconnect)                                                                                 \
    X(cudaEGLStreamConsumerReleaseFrame)                                                                               \
    X(cudaEGLStreamProducerConnect)                                                                                    \
    X(cudaEGLStreamProducerDisconnect)                                                                                 \
    X(cudaEGLStreamProducerPresentFrame)                                                                               \
    X(cudaEGLStreamProducerReturnFrame)                                                                                \
    X(cudaEventCreateFromEGLSync)                                                                                      \
    X(cudaExternalMemoryGetMappedBuffer)                                                                               \
    X(cudaExternalMemoryGetMappedMipmappedArray)                                                                       \
    X(cudaGLGetDevices)                                                                                                \
    X(cudaGLMapBufferObject)                                                                                           \
    X(cudaGLMapBufferObjectAsync)                                                                                      \
    X(cudaGLRegisterBufferObject)                                                                                      \
    X(cudaGLSetBufferObjectMapFlags)                                                                                   \
    X(cudaGLSetGLDevice)                                                                                               \
    X(cudaGLUnmapBufferObject)                                                                                         \
    X(cudaGLUnmapBufferObjectAsync)                                                                                    \
    X(cudaGLUnregisterBufferObject)                                                                                    \
    X(cudaGraphAddExternalSemaphoresSignalNode)                                                                        \
    X(cudaGraphAddExternalSemaphoresWaitNode)                                                                          \
    X(cudaGraphExecExternalSemaphoresSignalNodeSetParams)                                                              \
    X(cudaGraphExecExternalSemaphoresWaitNodeSetParams)                                                                \
    X(cudaGraphExternalSemaphoresSignalNodeGetParams)                                                                  \
    X(cudaGraphExternalSemaphoresSignalNodeSetParams)                                                                  \
    X(cudaGraphExternalSemaphoresWaitNodeGetParams)                                                                    \
    X(cudaGraphExternalSemaphoresWaitNodeSetParams)                                                                    \
    X(cudaGraphicsEGLRegisterImage)                                                                                    \
    X(cudaGraphicsGLRegisterBuffer)                                                                                    \
    X(cudaGraphicsGLRegisterImage)                                                                                     \
    X(cudaGraphicsMapResources)                                                                                        \
    X(cudaGraphicsResourceGetMappedEglFrame)                                                                           \
    X(cudaGraphicsResourceGetMappedMipmappedArray)                                                                     \
    X(cudaGraphicsResourceGetMappedPointer)                                                                            \
    X(cudaGraphicsResourceSetMapFlags)                                                                                 \
    X(cudaGraphicsSubResourceGetMappedArray)                                                                           \
    X(cudaGraphicsUnmapResources)                                                                                      \
    X(cudaGraphicsUnregisterResource)                                                                                  \
    X(cudaGraphicsVDPAURegisterOutputSurface)                                                                          \
    X(cudaGraphicsVDPAURegisterVideoSurface)                                                                           \
    X(cudaImportExternalMemory)                                                                                        \
    X(cudaImportExternalSemaphore)                                                                                     \
    X(cudaMemcpy3DBatchAsync)                                                                                          \
    X(cudaMemcpy3DBatchAsync_ptsz)                                                                                     \
    X(cudaMipmappedArrayGetMemoryRequirements)                                                                         \
    X(cudaMipmappedArrayGetSparseProperties)                                                                           \
    X(cudaSignalExternalSemaphoresAsync)                                                                               \
    X(cudaSignalExternalSemaphoresAsync_ptsz)                                                                          \
    X(cudaVDPAUGetDevice)                                                                                              \
    X(cudaVDPAUSetVDPAUDevice)                                                                                         \
    X(cudaWaitExternalSemaphoresAsync)                                                                                 \
    X(cudaWaitExternalSemaphoresAsync_ptsz)

#if RT_VERSION == 12
#define VERSION_MAP(X)                                                                                                 \
    X(cudaGetDeviceProperties)                                                                                         \
    X(cudaLaunchCooperativeKernelMultiDevice)                                                                          \
    X(cudaSignalExternalSemaphoresAsync_v2)                                                                            \
    X(cudaSignalExternalSemaphoresAsync_v2_ptsz)                                                                       \
    X(cudaWaitExternalSemaphoresAsync_v2)                                                                              \
    X(cudaWaitExternalSemaphoresAsync_v2_ptsz)
#else
#define VERSION_MAP(X)                                                                                                 \
    X(__cudaGetProcAddress)                                                                                            \
    X(cudaDeviceGetHostAtomicCapabilities)                                                                             \
    X(cudaDeviceGetP2PAtomicCapabilities)                                                                              \
    X(cudaLogsCurrent)                                                                                                 \
    X(cudaLogsDumpToFile)                                                                                              \
    X(cudaLogsDumpToMemory)                                                                                            \
    X(cudaLogsRegisterCallback)                                                                                        \
    X(cudaLogsUnregisterCallback)                                                                                      \
    X(cudaMemDiscardAndPrefetchBatchAsync)                                                                             \
    X(cudaMemDiscardAndPrefetchBatchAsync_ptsz)                                                                        \
    X(cudaMemDiscardBatchAsync)                                                                                        \
    X(cudaMemDiscardBatchAsync_ptsz)                                                                                   \
    X(cudaMemPrefetchBatchAsync)                                                                                       \
    X(cudaMemPrefetchBatchAsync_ptsz)
#endif

#define ABSENT(name)                                                                                                   \
    int name(void);                                                                                                    \
    int name(void) { return kiln__rt_absent(); }
ABSENT_MAP(ABSENT)
VERSION_MAP(ABSENT)
