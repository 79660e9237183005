/* thread_stream.c - the functions that a program calls if nvcc compiled it with --default-stream per-thread. Then each
 * thread has a default stream of its own. Copies without a stream wait for all streams, including the thread's default
 * stream, so they need no separate form. */
#include "runtime.h"

static cudaStream_t own(cudaStream_t stream) { return stream ? stream : cudaStreamPerThread; }

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                               cudaStream_t stream);

#define S(name, declared, ...)                                                                                         \
    cudaError_t name##_ptsz declared;                                                                                  \
    cudaError_t name##_ptsz declared { return name(__VA_ARGS__); }
#define LAUNCHED const void *symbol, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t s
S(cudaLaunchKernel, (LAUNCHED), symbol, grid, block, arguments, shared, own(s))
S(cudaLaunchCooperativeKernel, (LAUNCHED), symbol, grid, block, arguments, shared, own(s))
S(__cudaLaunchKernel, (cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t s),
  kernel, grid, block, arguments, shared, own(s))
S(cudaLaunchHostFunc, (cudaStream_t s, cudaHostFn_t function, void *data), own(s), function, data)
S(cudaEventRecord, (cudaEvent_t event, cudaStream_t s), event, own(s))
S(cudaEventRecordWithFlags, (cudaEvent_t event, cudaStream_t s, unsigned int flags), event, own(s), flags)
S(cudaMallocAsync, (void **p, size_t bytes, cudaStream_t s), p, bytes, own(s))
S(cudaMallocFromPoolAsync, (void **p, size_t bytes, cudaMemPool_t pool, cudaStream_t s), p, bytes, pool, own(s))
S(cudaFreeAsync, (void *p, cudaStream_t s), p, own(s))
S(cudaGraphUpload, (cudaGraphExec_t exec, cudaStream_t s), exec, own(s))
S(cudaGraphLaunch, (cudaGraphExec_t exec, cudaStream_t s), exec, own(s))
S(cudaGraphInstantiateWithParams, (cudaGraphExec_t * exec, cudaGraph_t graph, cudaGraphInstantiateParams *params), exec,
  graph, params)
S(cudaGetDriverEntryPoint,
  (const char *name, void **function, unsigned long long flags, enum cudaDriverEntryPointQueryResult *status), name,
  function, flags ? flags : cudaEnablePerThreadDefaultStream, status)
S(cudaGetDriverEntryPointByVersion,
  (const char *name, void **function, unsigned int version, unsigned long long flags,
   enum cudaDriverEntryPointQueryResult *status),
  name, function, version, flags ? flags : cudaEnablePerThreadDefaultStream, status)
S(cudaMemPrefetchAsync, (const void *p, size_t bytes, struct cudaMemLocation where, unsigned int flags, cudaStream_t s),
  p, bytes, where, flags, own(s))
S(cudaMemcpyAsync, (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t s), to, from,
  bytes, kind, own(s))
S(cudaMemcpyToSymbolAsync,
  (const void *symbol, const void *from, size_t bytes, size_t offset, enum cudaMemcpyKind kind, cudaStream_t s), symbol,
  from, bytes, offset, kind, own(s))
S(cudaMemcpyFromSymbolAsync,
  (void *to, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind, cudaStream_t s), to, symbol,
  bytes, offset, kind, own(s))
S(cudaMemcpy2DAsync,
  (void *to, size_t to_pitch, const void *from, size_t pitch, size_t width, size_t height, enum cudaMemcpyKind kind,
   cudaStream_t s),
  to, to_pitch, from, pitch, width, height, kind, own(s))
S(cudaMemcpy2DToArrayAsync,
  (cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width, size_t height,
   enum cudaMemcpyKind kind, cudaStream_t s),
  to, x, y, from, pitch, width, height, kind, own(s))
S(cudaMemcpy2DFromArrayAsync,
  (void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width, size_t height,
   enum cudaMemcpyKind kind, cudaStream_t s),
  to, pitch, from, x, y, width, height, kind, own(s))
S(cudaMemcpyToArrayAsync,
  (cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t s), to, x,
  y, from, bytes, kind, own(s))
S(cudaMemcpyFromArrayAsync,
  (void *to, cudaArray_const_t from, size_t x, size_t y, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t s), to,
  from, x, y, bytes, kind, own(s))
S(cudaMemcpy3DAsync, (const struct cudaMemcpy3DParms *p, cudaStream_t s), p, own(s))
S(cudaMemcpy3DPeerAsync, (const struct cudaMemcpy3DPeerParms *p, cudaStream_t s), p, own(s))
S(cudaMemcpyBatchAsync,
  (void *const *to, const void *const *from, const size_t *bytes, size_t count, struct cudaMemcpyAttributes *attributes,
   size_t *indices, size_t attribute_count, cudaStream_t s),
  to, from, bytes, count, attributes, indices, attribute_count, own(s))
S(cudaMemsetAsync, (void *to, int value, size_t bytes, cudaStream_t s), to, value, bytes, own(s))
S(cudaMemset2DAsync, (void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t s), to, pitch, value,
  width, height, own(s))
S(cudaMemset3DAsync, (struct cudaPitchedPtr to, int value, struct cudaExtent extent, cudaStream_t s), to, value, extent,
  own(s))
S(cudaStreamAddCallback, (cudaStream_t s, cudaStreamCallback_t callback, void *data, unsigned int flags), own(s),
  callback, data, flags)
S(cudaStreamAttachMemAsync, (cudaStream_t s, void *p, size_t bytes, unsigned int flags), own(s), p, bytes, flags)
S(cudaStreamBeginCapture, (cudaStream_t s, enum cudaStreamCaptureMode mode), own(s), mode)
S(cudaStreamBeginCaptureToGraph,
  (cudaStream_t s, cudaGraph_t graph, const cudaGraphNode_t *after, const cudaGraphEdgeData *edges, size_t count,
   enum cudaStreamCaptureMode mode),
  own(s), graph, after, edges, count, mode)
S(cudaStreamEndCapture, (cudaStream_t s, cudaGraph_t *graph), own(s), graph)
S(cudaStreamIsCapturing, (cudaStream_t s, enum cudaStreamCaptureStatus *status), own(s), status)
S(cudaStreamGetCaptureInfo,
  (cudaStream_t s, enum cudaStreamCaptureStatus *status, unsigned long long *id, cudaGraph_t *graph,
   const cudaGraphNode_t **after, const cudaGraphEdgeData **edges, size_t *count),
  own(s), status, id, graph, after, edges, count)
S(cudaStreamUpdateCaptureDependencies,
  (cudaStream_t s, cudaGraphNode_t *after, const cudaGraphEdgeData *edges, size_t count, unsigned int flags), own(s),
  after, edges, count, flags)
S(cudaStreamCopyAttributes, (cudaStream_t to, cudaStream_t from), own(to), own(from))
S(cudaStreamGetAttribute, (cudaStream_t s, cudaStreamAttrID attribute, cudaStreamAttrValue *value), own(s), attribute,
  value)
S(cudaStreamSetAttribute, (cudaStream_t s, cudaStreamAttrID attribute, const cudaStreamAttrValue *value), own(s),
  attribute, value)
S(cudaStreamGetDevice, (cudaStream_t s, int *device), own(s), device)
S(cudaStreamGetFlags, (cudaStream_t s, unsigned int *flags), own(s), flags)
S(cudaStreamGetId, (cudaStream_t s, unsigned long long *id), own(s), id)
S(cudaStreamGetPriority, (cudaStream_t s, int *priority), own(s), priority)
S(cudaStreamQuery, (cudaStream_t s), own(s))
S(cudaStreamSynchronize, (cudaStream_t s), own(s))
S(cudaStreamWaitEvent, (cudaStream_t s, cudaEvent_t event, unsigned int flags), own(s), event, flags)

cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *config, const void *symbol, void **arguments);
cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *config, const void *symbol, void **arguments)
{
    RT_NEED(config);
    cudaLaunchConfig_t mine = *config;
    mine.stream = own(mine.stream);
    return cudaLaunchKernelExC(&mine, symbol, arguments);
}

#define D(name, declared, ...)                                                                                         \
    cudaError_t name##_ptds declared;                                                                                  \
    cudaError_t name##_ptds declared { return name(__VA_ARGS__); }
D(cudaMemcpy, (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind), to, from, bytes, kind)
D(cudaMemcpyToSymbol, (const void *symbol, const void *from, size_t bytes, size_t offset, enum cudaMemcpyKind kind),
  symbol, from, bytes, offset, kind)
D(cudaMemcpyFromSymbol, (void *to, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind), to,
  symbol, bytes, offset, kind)
D(cudaMemcpy2D,
  (void *to, size_t to_pitch, const void *from, size_t pitch, size_t width, size_t height, enum cudaMemcpyKind kind),
  to, to_pitch, from, pitch, width, height, kind)
D(cudaMemcpyToArray, (cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes, enum cudaMemcpyKind kind), to,
  x, y, from, bytes, kind)
D(cudaMemcpyFromArray, (void *to, cudaArray_const_t from, size_t x, size_t y, size_t bytes, enum cudaMemcpyKind kind),
  to, from, x, y, bytes, kind)
D(cudaMemcpy2DToArray,
  (cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width, size_t height,
   enum cudaMemcpyKind kind),
  to, x, y, from, pitch, width, height, kind)
D(cudaMemcpy2DFromArray,
  (void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width, size_t height,
   enum cudaMemcpyKind kind),
  to, pitch, from, x, y, width, height, kind)
D(cudaMemcpyArrayToArray,
  (cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
   enum cudaMemcpyKind kind),
  to, to_x, to_y, from, x, y, bytes, kind)
D(cudaMemcpy2DArrayToArray,
  (cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t x, size_t y, size_t width, size_t height,
   enum cudaMemcpyKind kind),
  to, to_x, to_y, from, x, y, width, height, kind)
D(cudaMemcpy3D, (const struct cudaMemcpy3DParms *p), p)
D(cudaMemcpy3DPeer, (const struct cudaMemcpy3DPeerParms *p), p)
D(cudaMemset, (void *to, int value, size_t bytes), to, value, bytes)
D(cudaMemset2D, (void *to, size_t pitch, int value, size_t width, size_t height), to, pitch, value, width, height)
D(cudaMemset3D, (struct cudaPitchedPtr to, int value, struct cudaExtent extent), to, value, extent)
