/* rename12.h - maps names for version 12. The build for version 12 includes it before the runtime's headers of CUDA 13.
 * It maps the names of functions in CUDA 13 to their names in CUDA 12. In CUDA 12 the name without a suffix is the
 * older form, without edge data or locations (version12.c). */
#define cudaGraphAddDependencies cudaGraphAddDependencies_v2
#define cudaGraphRemoveDependencies cudaGraphRemoveDependencies_v2
#define cudaGraphAddNode cudaGraphAddNode_v2
#define cudaGraphGetEdges cudaGraphGetEdges_v2
#define cudaGraphNodeGetDependencies cudaGraphNodeGetDependencies_v2
#define cudaGraphNodeGetDependentNodes cudaGraphNodeGetDependentNodes_v2
#define cudaMemAdvise cudaMemAdvise_v2
#define cudaMemPrefetchAsync cudaMemPrefetchAsync_v2
#define cudaMemPrefetchAsync_ptsz cudaMemPrefetchAsync_v2_ptsz
#define cudaStreamGetCaptureInfo cudaStreamGetCaptureInfo_v3
#define cudaStreamGetCaptureInfo_ptsz cudaStreamGetCaptureInfo_v3_ptsz
#define cudaStreamUpdateCaptureDependencies cudaStreamUpdateCaptureDependencies_v2
#define cudaStreamUpdateCaptureDependencies_ptsz cudaStreamUpdateCaptureDependencies_v2_ptsz
#define cudaGetDeviceProperties kiln__rt_properties13
#define cudaMemcpyBatchAsync kiln__rt_batch13
#define cudaMemcpyBatchAsync_ptsz kiln__rt_batch13_ptsz
