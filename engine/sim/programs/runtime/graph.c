/* graph.c - nodes of graphs whose parameters differ from the driver's parameters: kernels, copies, and nodes of any
 * type (cudaGraphNodeParams). forward.c has the other functions of graphs. */
#include <string.h>

#include "runtime.h"

static CUcontext current_context(void)
{
    CUcontext context = NULL;
    CU(cuCtxGetCurrent)(&context);
    return context;
}

/* ---- kernels ---- */

static cudaError_t kernel_of(const struct cudaKernelNodeParams *from, CUDA_KERNEL_NODE_PARAMS *to)
{
    if (!from)
        return cudaErrorInvalidValue;
    *to = (CUDA_KERNEL_NODE_PARAMS){.gridDimX = from->gridDim.x,
                                    .gridDimY = from->gridDim.y,
                                    .gridDimZ = from->gridDim.z,
                                    .blockDimX = from->blockDim.x,
                                    .blockDimY = from->blockDim.y,
                                    .blockDimZ = from->blockDim.z,
                                    .sharedMemBytes = from->sharedMemBytes,
                                    .kernelParams = from->kernelParams,
                                    .extra = from->extra};
    return kiln__rt_function(from->func, &to->func);
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                                   const struct cudaKernelNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS k;
    RT_ENTER();
    cudaError_t error = kernel_of(params, &k);
    return error != cudaSuccess ? kiln__rt_record(error)
                                : kiln__rt_result(CU(cuGraphAddKernelNode)(node, graph, after, count, &k));
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const struct cudaKernelNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS k;
    RT_ENTER();
    cudaError_t error = kernel_of(params, &k);
    return error != cudaSuccess ? kiln__rt_record(error) : kiln__rt_result(CU(cuGraphKernelNodeSetParams)(node, &k));
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const struct cudaKernelNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS k;
    RT_ENTER();
    cudaError_t error = kernel_of(params, &k);
    return error != cudaSuccess ? kiln__rt_record(error)
                                : kiln__rt_result(CU(cuGraphExecKernelNodeSetParams)(exec, node, &k));
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *to)
{
    CUDA_KERNEL_NODE_PARAMS k;
    RT_NEED(to);
    RT_ENTER();
    CUresult result = CU(cuGraphKernelNodeGetParams)(node, &k);
    if (result == CUDA_SUCCESS && !k.func && k.kern)
        result = CU(cuKernelGetFunction)(&k.func, k.kern);
    if (result != CUDA_SUCCESS)
        return kiln__rt_result(result);
    *to = (struct cudaKernelNodeParams){.func = (void *)(uintptr_t)kiln__rt_symbol_of(k.func),
                                        .gridDim = {k.gridDimX, k.gridDimY, k.gridDimZ},
                                        .blockDim = {k.blockDimX, k.blockDimY, k.blockDimZ},
                                        .sharedMemBytes = k.sharedMemBytes,
                                        .kernelParams = k.kernelParams,
                                        .extra = k.extra};
    return cudaSuccess;
}

/* ---- copies ---- */

static cudaError_t add_copy(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                            cudaError_t error, const CUDA_MEMCPY3D *c)
{
    return error != cudaSuccess
               ? kiln__rt_record(error)
               : kiln__rt_result(CU(cuGraphAddMemcpyNode)(node, graph, after, count, c, current_context()));
}

/* Sets the parameters of a copy in an executable graph, or in the graph itself if `exec` is NULL. */
static cudaError_t set_copy(cudaGraphExec_t exec, cudaGraphNode_t node, cudaError_t error, const CUDA_MEMCPY3D *c)
{
    if (error != cudaSuccess)
        return kiln__rt_record(error);
    return kiln__rt_result(exec ? CU(cuGraphExecMemcpyNodeSetParams)(exec, node, c, current_context())
                                : CU(cuGraphMemcpyNodeSetParams)(node, c));
}

static cudaError_t symbol_copy(const void *symbol, bool to_symbol, void *to, const void *from, size_t bytes,
                               size_t offset, enum cudaMemcpyKind kind, CUDA_MEMCPY3D *c)
{
    CUdeviceptr address;
    size_t size;
    cudaError_t error = kiln__rt_variable(symbol, &address, &size);
    if (error != cudaSuccess)
        return error;
    if (offset > size || bytes > size - offset)
        return cudaErrorInvalidValue;
    void *variable = (void *)(address + offset);
    return kiln__rt_copy1d(to_symbol ? variable : to, to_symbol ? from : variable, bytes, kind, c);
}

#define ADDED cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t dependencies
#define ROW void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind
#define FROM_SYMBOL void *to, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind
#define TO_SYMBOL const void *symbol, const void *from, size_t bytes, size_t offset, enum cudaMemcpyKind kind
#define COPY_NODE(name, declared, made, call)                                                                          \
    cudaError_t name declared                                                                                          \
    {                                                                                                                  \
        CUDA_MEMCPY3D c;                                                                                               \
        RT_ENTER();                                                                                                    \
        cudaError_t error = made;                                                                                      \
        return call;                                                                                                   \
    }
#define MADE_ROW kiln__rt_copy1d(to, from, bytes, kind, &c)
#define MADE_FROM symbol_copy(symbol, false, to, NULL, bytes, offset, kind, &c)
#define MADE_TO symbol_copy(symbol, true, NULL, from, bytes, offset, kind, &c)
#define MADE_3D (p ? kiln__rt_copy3d(p, &c) : cudaErrorInvalidValue)
#define ADD add_copy(node, graph, after, dependencies, error, &c)
#define SET set_copy(NULL, node, error, &c)
#define SET_EXEC exec ? set_copy(exec, node, error, &c) : kiln__rt_record(cudaErrorInvalidValue)
COPY_NODE(cudaGraphAddMemcpyNode, (ADDED, const struct cudaMemcpy3DParms *p), MADE_3D, ADD)
COPY_NODE(cudaGraphAddMemcpyNode1D, (ADDED, ROW), MADE_ROW, ADD)
COPY_NODE(cudaGraphAddMemcpyNodeFromSymbol, (ADDED, FROM_SYMBOL), MADE_FROM, ADD)
COPY_NODE(cudaGraphAddMemcpyNodeToSymbol, (ADDED, TO_SYMBOL), MADE_TO, ADD)
COPY_NODE(cudaGraphMemcpyNodeSetParams, (cudaGraphNode_t node, const struct cudaMemcpy3DParms *p), MADE_3D, SET)
COPY_NODE(cudaGraphMemcpyNodeSetParams1D, (cudaGraphNode_t node, ROW), MADE_ROW, SET)
COPY_NODE(cudaGraphMemcpyNodeSetParamsFromSymbol, (cudaGraphNode_t node, FROM_SYMBOL), MADE_FROM, SET)
COPY_NODE(cudaGraphMemcpyNodeSetParamsToSymbol, (cudaGraphNode_t node, TO_SYMBOL), MADE_TO, SET)
COPY_NODE(cudaGraphExecMemcpyNodeSetParams,
          (cudaGraphExec_t exec, cudaGraphNode_t node, const struct cudaMemcpy3DParms *p), MADE_3D, SET_EXEC)
COPY_NODE(cudaGraphExecMemcpyNodeSetParams1D, (cudaGraphExec_t exec, cudaGraphNode_t node, ROW), MADE_ROW, SET_EXEC)
COPY_NODE(cudaGraphExecMemcpyNodeSetParamsFromSymbol, (cudaGraphExec_t exec, cudaGraphNode_t node, FROM_SYMBOL),
          MADE_FROM, SET_EXEC)
COPY_NODE(cudaGraphExecMemcpyNodeSetParamsToSymbol, (cudaGraphExec_t exec, cudaGraphNode_t node, TO_SYMBOL), MADE_TO,
          SET_EXEC)

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, struct cudaMemcpy3DParms *to)
{
    CUDA_MEMCPY3D c;
    RT_NEED(to);
    RT_ENTER();
    CUresult result = CU(cuGraphMemcpyNodeGetParams)(node, &c);
    if (result == CUDA_SUCCESS)
        kiln__rt_params3d(&c, to);
    return kiln__rt_result(result);
}

/* ---- fills, allocations: the structs of the runtime and the driver are the same ---- */

_Static_assert(sizeof(struct cudaMemsetParams) == sizeof(CUDA_MEMSET_NODE_PARAMS), "the driver's");
_Static_assert(sizeof(struct cudaMemAllocNodeParams) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS), "the driver's");
_Static_assert(sizeof(struct cudaHostNodeParams) == sizeof(CUDA_HOST_NODE_PARAMS), "the driver's");

cudaError_t cudaGraphAddMemsetNode(ADDED, const struct cudaMemsetParams *params)
{
    RT_ENTER();
    return kiln__rt_result(CU(cuGraphAddMemsetNode)(node, graph, after, dependencies,
                                                    (const CUDA_MEMSET_NODE_PARAMS *)params, current_context()));
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const struct cudaMemsetParams *params)
{
    RT_ENTER();
    return kiln__rt_result(
        CU(cuGraphExecMemsetNodeSetParams)(exec, node, (const CUDA_MEMSET_NODE_PARAMS *)params, current_context()));
}

/* ---- nodes of any type ---- */

_Static_assert(sizeof(struct cudaGraphNodeParams) == sizeof(CUgraphNodeParams), "one is a form of the other");

/* Converts the parameters of a node. The types of nodes have the same numbers as in the driver, and most parameters
 * have the same layout. */
static cudaError_t node_of(const struct cudaGraphNodeParams *from, CUgraphNodeParams *to)
{
    CUDA_MEMCPY3D c;
    cudaError_t error = cudaSuccess;
    if (!from)
        return cudaErrorInvalidValue;
    memcpy(to, from, sizeof *to);
    switch (from->type) {
    case cudaGraphNodeTypeKernel:
        to->kernel.kern = NULL;
        to->kernel.ctx = NULL;
        error = kiln__rt_function(from->kernel.func, &to->kernel.func);
        break;
    case cudaGraphNodeTypeMemcpy:
        error = kiln__rt_copy3d(&from->memcpy.copyParams, &c);
        if (error == cudaSuccess) {
            memset(&to->memcpy, 0, sizeof to->memcpy);
            to->memcpy.copyParams = c;
            to->memcpy.copyCtx = current_context();
        }
        break;
    case cudaGraphNodeTypeMemset: to->memset.ctx = current_context(); break;
    case cudaGraphNodeTypeConditional: to->conditional.ctx = current_context(); break;
    default: break;
    }
    return error;
}

/* Copies the results that the driver has written into the parameters. */
static void node_results(const CUgraphNodeParams *from, struct cudaGraphNodeParams *to)
{
    if (to->type == cudaGraphNodeTypeMemAlloc)
        to->alloc.dptr = (void *)from->alloc.dptr;
    if (to->type == cudaGraphNodeTypeConditional)
        to->conditional.phGraph_out = from->conditional.phGraph_out;
}

cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                             const cudaGraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *params)
{
    CUgraphNodeParams p;
    RT_ENTER();
    cudaError_t error = node_of(params, &p);
    if (error != cudaSuccess)
        return kiln__rt_record(error);
    CUresult result = CU(cuGraphAddNode)(node, graph, after, (const CUgraphEdgeData *)edges, count, &p);
    if (result == CUDA_SUCCESS)
        node_results(&p, params);
    return kiln__rt_result(result);
}

cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *params)
{
    CUgraphNodeParams p;
    RT_ENTER();
    cudaError_t error = node_of(params, &p);
    return error != cudaSuccess ? kiln__rt_record(error) : kiln__rt_result(CU(cuGraphNodeSetParams)(node, &p));
}

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, struct cudaGraphNodeParams *params)
{
    CUgraphNodeParams p;
    RT_ENTER();
    cudaError_t error = node_of(params, &p);
    return error != cudaSuccess ? kiln__rt_record(error)
                                : kiln__rt_result(CU(cuGraphExecNodeSetParams)(exec, node, &p));
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle, cudaGraph_t graph, unsigned int value,
                                             unsigned int flags)
{
    RT_ENTER();
    return kiln__rt_result(
        CU(cuGraphConditionalHandleCreate)((CUgraphConditionalHandle *)handle, graph, current_context(), value, flags));
}
