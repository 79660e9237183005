/* pool.c - stream-ordered allocation and memory pools. An allocation exists as soon as the call returns, and a free
 * releases the memory at once. So a pool keeps no freed memory, and only counts the allocated memory. In a captured
 * stream, allocations and frees become nodes of a graph. Launches of the graph then allocate and free the memory
 * (graph_op.c). */
#include <string.h>

#include "cu_graph.h"

/* Returns the pool with this handle, or NULL. If `context` is on the device, the default pool belongs to `context`. If
 * not, it belongs to the device's primary context. If the device has no context, returns NULL. */
sim_pool *sim_pool_at(sim_context *context, CUmemoryPool handle)
{
    for (unsigned i = 0; i < sim_device_count(); i++)
        if ((uintptr_t)handle == SIM_POOL_HANDLE(i)) {
            sim_context *of = context->ordinal == i ? context : sim_context_on(i);
            return of ? &of->pool : NULL;
        }
    return sim_object_find(sim_follow(context, handle, SIM_POOL), handle, SIM_POOL);
}

static int ordinal_of(const CUmemLocation *location)
{
    return location->type == CU_MEM_LOCATION_TYPE_DEVICE ? sim_device_ordinal(location->id) : -1;
}

/* ---- the device's pools ---- */

static CUresult return_pool(CUmemoryPool *pool, CUdevice device, bool current)
{
    SIM_TRY(sim_begin_device(device, pool));
    const int ordinal = sim_device_ordinal(device);
    const unsigned number = ordinal >= 0 ? (unsigned)ordinal : 0;
    const sim_context *context = sim_current();
    if (!context || context->ordinal != number)
        context = sim_context_on(number);
    uint64_t handle = current && context && context->pool_current ? context->pool_current : SIM_POOL_HANDLE(number);
    *pool = (CUmemoryPool)(uintptr_t)handle;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device) { return return_pool(pool, device, false); }

CUresult sim_cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device) { return return_pool(pool, device, true); }

CUresult sim_cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
    SIM_TRY(sim_begin_device(device, pool));
    const int ordinal = sim_device_ordinal(device);
    const unsigned number = ordinal >= 0 ? (unsigned)ordinal : 0;
    sim_context *context = sim_current();
    if (!context || context->ordinal != number)
        context = sim_context_on(number);
    if (!context)
        return sim_end((uintptr_t)pool == SIM_POOL_HANDLE(number) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT);
    const sim_pool *found = sim_pool_at(context, pool);
    if (!found || found->imported || found->object.context->ordinal != context->ordinal)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    context->pool_current = (uintptr_t)pool;
    return sim_end(CUDA_SUCCESS);
}

static CUresult pool_location(const CUmemLocation *location, CUmemAllocationType type)
{
    if (!location || type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    return location->type == CU_MEM_LOCATION_TYPE_DEVICE ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult sim_cuMemGetDefaultMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
    CUresult result = pool_location(location, type);
    return result == CUDA_SUCCESS ? return_pool(pool, location->id, false) : result;
}

CUresult sim_cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
    CUresult result = pool_location(location, type);
    return result == CUDA_SUCCESS ? return_pool(pool, location->id, true) : result;
}

CUresult sim_cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
    CUresult result = pool_location(location, type);
    return result == CUDA_SUCCESS ? sim_cuDeviceSetMemPool(location->id, pool) : result;
}

/* Refuses the properties of a new pool that NVIDIA's driver refuses too. The simulator has no pools of host memory. If
 * a pool in host memory has no NUMA node and requests shareable handles, the driver returns another error. */
static CUresult check_props(const CUmemPoolProps *props)
{
    static const CUmemPoolProps none;
    if (props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED || props->usage != 0 || props->win32SecurityAttributes ||
        memcmp(props->reserved, none.reserved, sizeof props->reserved) != 0 ||
        props->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT ||
        (props->location.type == CU_MEM_LOCATION_TYPE_HOST && props->handleTypes != CU_MEM_HANDLE_TYPE_NONE))
        return CUDA_ERROR_INVALID_VALUE;
    if (((unsigned)props->handleTypes & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0 ||
        props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_NOT_SUPPORTED;
    return ordinal_of(&props->location) >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
    sim_context *context;
    SIM_TRY(sim_begin_pool(&context));
    CUresult result = pool && props ? check_props(props) : CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return sim_end(result);
    const int ordinal = ordinal_of(&props->location);
    if (context->ordinal != (unsigned)ordinal)
        context = sim_context_on((unsigned)ordinal);
    if (!context)
        return sim_end(CUDA_ERROR_INVALID_CONTEXT);
    sim_pool *made = sim_object_new(context, SIM_POOL, sizeof *made);
    if (!made)
        return sim_end(CUDA_ERROR_OUT_OF_MEMORY);
    for (size_t i = 0; i < KILN__COUNT(made->reuse); i++)
        made->reuse[i] = 1;
    made->limit = props->maxSize;
    if (props->handleTypes != CU_MEM_HANDLE_TYPE_NONE && !sim_pool_open(made, sim_device_place(props->location.id))) {
        sim_object_free(context, made);
        return sim_end(CUDA_ERROR_OUT_OF_MEMORY);
    }
    *pool = SIM_HANDLE(CUmemoryPool, made);
    return sim_end(CUDA_SUCCESS);
}

/* The allocations of a destroyed pool stay valid, and the program frees them as usual. */
CUresult sim_cuMemPoolDestroy(CUmemoryPool handle)
{
    sim_context *context;
    SIM_TRY(sim_begin_pool(&context));
    context = sim_follow(context, handle, SIM_POOL);
    sim_pool *pool = sim_object_find(context, handle, SIM_POOL);
    if (!pool)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    if (context->pool_current == pool->object.handle)
        context->pool_current = 0;
    sim_object_free(context, pool);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *map, size_t count)
{
    sim_context *context;
    CUresult result = sim_begin_pool(&context);
    if (result != CUDA_SUCCESS)
        return result;
    sim_pool *pool = sim_pool_at(context, handle);
    if (!pool || (count > 0 && !map))
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    uint32_t open = pool->open;
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++) {
        const int ordinal = ordinal_of(&map[i].location);
        if (ordinal < 0)
            result = CUDA_ERROR_INVALID_DEVICE;
        else if (map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            open |= 1u << ordinal;
        else if (map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE)
            result = CUDA_ERROR_INVALID_VALUE;
        else if ((unsigned)ordinal == pool->object.context->ordinal) /* the device of the pool always has access */
            result = CUDA_ERROR_INVALID_DEVICE;
        else
            open &= ~(1u << ordinal);
    }
    if (result == CUDA_SUCCESS) {
        pool->open = open;
        vm_open_owned(pool->object.context->device, pool->object.handle, open);
    }
    return sim_end(result);
}

CUresult sim_cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool handle, CUmemLocation *location)
{
    sim_context *context;
    SIM_TRY(sim_begin_pool(&context));
    const sim_pool *pool = sim_pool_at(context, handle);
    if (!flags || !location || !pool)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    const int ordinal = ordinal_of(location);
    const bool may = ordinal >= 0 && ((unsigned)ordinal == pool->object.context->ordinal || pool->open >> ordinal & 1);
    *flags = may ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuMemPoolTrimTo(CUmemoryPool handle, size_t keep)
{
    sim_context *context;
    CUresult result = sim_begin_pool(&context);
    (void)keep;
    if (result != CUDA_SUCCESS)
        return result;
    return sim_end(sim_pool_at(context, handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult sim_cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
    sim_context *context;
    SIM_TRY(sim_begin_pool(&context));
    const sim_pool *pool = sim_pool_at(context, handle);
    if (!pool || !value)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    cuuint64_t number = 0;
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        memcpy(value, &pool->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES], sizeof(int));
        return sim_end(CUDA_SUCCESS);
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: number = pool->threshold; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: number = pool->used; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: number = pool->most; break;
    default: return sim_end(CUDA_ERROR_INVALID_VALUE);
    }
    memcpy(value, &number, sizeof number);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
    sim_context *context;
    SIM_TRY(sim_begin_pool(&context));
    sim_pool *pool = sim_pool_at(context, handle);
    if (!pool || !value)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    cuuint64_t number = 0;
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES: /* these permissions have no effect in the simulator */
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        memcpy(&pool->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES], value, sizeof(int));
        return sim_end(CUDA_SUCCESS);
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        memcpy(&pool->threshold, value, sizeof pool->threshold);
        return sim_end(CUDA_SUCCESS);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: /* a program may set the value to zero, to restart the measurement */
        memcpy(&number, value, sizeof number);
        if (number != 0)
            return sim_end(CUDA_ERROR_INVALID_VALUE);
        pool->most = pool->used;
        return sim_end(CUDA_SUCCESS);
    default: return sim_end(CUDA_ERROR_INVALID_VALUE);
    }
}

/* ---- allocations ---- */

void sim_pool_freed(sim_context *context, uint64_t pool, uint64_t address, uint64_t bytes)
{
    sim_pool *from = sim_pool_at(context, (CUmemoryPool)(uintptr_t)pool);
    if (from) /* NULL if the pool was destroyed before the memory was freed */
        from->used -= bytes;
    if (!from || from->shared)
        sim_pool_let(context, address);
}

/* Allocates memory from a pool, within the pool's limit. */
static CUresult take_from_pool(sim_pool *pool, uint64_t bytes, CUdeviceptr *pointer)
{
    const sim_context *context = pool->object.context;
    bool room = pool->limit == 0 || (pool->used <= pool->limit && bytes <= pool->limit - pool->used);
    uint64_t address = 0;
    if (room)
        address = pool->shared ? sim_pool_take(pool, bytes) : vm_alloc(context->device, bytes);
    if (address == 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    vm_set_owner(context->device, address, pool->object.handle);
    vm_open(context->device, address, pool->open);
    pool->used += bytes;
    pool->most = pool->used > pool->most ? pool->used : pool->most;
    *pointer = address;
    return CUDA_SUCCESS;
}

static CUresult capture_alloc(sim_context *context, sim_stream *stream, const sim_pool *pool, uint64_t bytes,
                              CUdeviceptr *pointer)
{
    CUgraphNodeParams what = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
    what.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    what.alloc.poolProps.location = (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_DEVICE,
                                                    .id = sim_device_at(context->ordinal)};
    if (pool->shared) /* nodes of graphs cannot use shared pools */
        what.alloc.poolProps.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    what.alloc.bytesize = bytes;
    sim_op op = {0};
    SIM_TRY(sim_op_make(context, &what, &op));
    CUdeviceptr address = op.what.alloc.dptr;
    CUresult result = sim_capture_op(context, stream, &op);
    sim_op_free(context, &op);
    if (result == CUDA_SUCCESS)
        *pointer = address;
    return result;
}

/* Allocates memory in the order of a stream. In a captured stream the allocation becomes a node. */
static CUresult allocate_in_stream(CUdeviceptr *pointer, size_t bytes, CUmemoryPool handle, CUstream stream)
{
    sim_context *context;
    SIM_TRY(sim_begin_work(&context));
    sim_stream *capturing = NULL;
    context = sim_follow(context, stream, SIM_STREAM);
    uint64_t usual = context->pool_current ? context->pool_current : SIM_POOL_HANDLE(context->ordinal);
    sim_pool *pool = sim_pool_at(context, handle ? handle : (CUmemoryPool)(uintptr_t)usual);
    if (!sim_stream_known(context, stream))
        return sim_end_work(context, CUDA_ERROR_INVALID_HANDLE);
    if (!pointer || bytes == 0 || !pool || pool->imported)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    CUresult result = sim_capture_enter(context, stream, &capturing);
    if (result == CUDA_SUCCESS)
        result = capturing ? capture_alloc(context, capturing, pool, bytes, pointer)
                           : take_from_pool(pool, bytes, pointer);
    if (result == CUDA_SUCCESS && !capturing) {
        sim_order_begin(context, stream, NULL);
        sim_order_touch(context, "the allocation (cuMemAllocAsync)", *pointer, bytes, true);
        sim_order_end(context);
        sim_order_guard();
    }
    return sim_end_work(context, result);
}

CUresult sim_cuMemAllocAsync(CUdeviceptr *pointer, size_t bytes, CUstream stream)
{
    return allocate_in_stream(pointer, bytes, NULL, stream);
}

CUresult sim_cuMemAllocFromPoolAsync(CUdeviceptr *pointer, size_t bytes, CUmemoryPool pool, CUstream stream)
{
    return pool ? allocate_in_stream(pointer, bytes, pool, stream) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemFreeAsync(CUdeviceptr pointer, CUstream stream)
{
    sim_context *context;
    SIM_TRY(sim_begin_work(&context));
    context = sim_follow(context, stream, SIM_STREAM);
    if (!sim_stream_known(context, stream))
        return sim_end_work(context, CUDA_ERROR_INVALID_HANDLE);
    if (pointer == 0)
        return sim_end_work(context, CUDA_SUCCESS);
    sim_op op = {.what = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE}, .run = sim_free_run};
    op.what.free.dptr = pointer;
    return sim_end_work(context, sim_submit(&context, stream, &op));
}

/* ---- memory of graphs' nodes ---- */

CUresult sim_cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void *value)
{
    SIM_TRY(sim_begin_device(device, value));
    const int ordinal = sim_device_ordinal(device);
    const sim_context *context = sim_current();
    if (ordinal >= 0 && context && context->ordinal != (unsigned)ordinal)
        context = sim_context_on((unsigned)ordinal);
    cuuint64_t number = 0;
    switch (attribute) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT: number = context ? context->graph_used : 0; break;
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH: number = context ? context->graph_most : 0; break;
    default: return sim_end(CUDA_ERROR_INVALID_VALUE);
    }
    memcpy(value, &number, sizeof number);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void *value)
{
    SIM_TRY(sim_begin_device(device, value));
    const int ordinal = sim_device_ordinal(device);
    sim_context *context = sim_current();
    if (ordinal >= 0 && context && context->ordinal != (unsigned)ordinal)
        context = sim_context_on((unsigned)ordinal);
    cuuint64_t number = 0;
    memcpy(&number, value, sizeof number);
    if (number != 0 ||
        (attribute != CU_GRAPH_MEM_ATTR_USED_MEM_HIGH && attribute != CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH))
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    if (context)
        context->graph_most = context->graph_used;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuDeviceGraphMemTrim(CUdevice device)
{
    CUresult result = sim_begin_device(device, &device);
    return result == CUDA_SUCCESS ? sim_end(CUDA_SUCCESS) : result;
}
