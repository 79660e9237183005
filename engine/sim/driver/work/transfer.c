/* transfer.c - copies: contiguous copies, copies with a pitch, copies in two and three dimensions, copies between
 * contexts, and copies from and to arrays. This file treats every copy as the copy of a three-dimensional box: rows,
 * and slices of rows. A copy has two sides, the target and the source. Before move_box() copies a byte, it checks for
 * each side that the whole box lies in device memory or in an array. If the call declares the source or the target as
 * host memory, move_box() does not check it, even if the memory is pinned. */
#include <string.h>

#include "cu_work.h"
#include "vm_checks.h"

/* The target or the source of a copy: the memory, and the place in it where the box begins. */
typedef struct corner {
    sim_side side;
    size_t x, y, z, pitch, rows; /* rows: number of rows of a slice, a plane with one z; x and pitch are in bytes */
    /* If device memory does not contain the whole box: the number of bytes from the box's first byte to its last byte.
     * Otherwise 0. */
    size_t missing;
} corner;

typedef struct box {
    size_t width, height, depth;
} box;

/* Returns the host pointer to the first byte of the box in the memory of `at`. Sets the address in `at` to this byte.
 * Returns NULL if a value in `at` is invalid, or if device memory does not contain the whole box. */
static unsigned char *locate(corner *at, const box *size)
{
    const size_t most = (size_t)sim_profile_int(sim_current_profile(), CU_DEVICE_ATTRIBUTE_MAX_PITCH);
    size_t line, slice, start, extent;
    if (__builtin_add_overflow(at->x, size->width, &line))
        return NULL;
    if (at->pitch == 0 && size->height == 1 && at->y == 0)
        at->pitch = line;
    if (at->rows == 0 && size->depth == 1 && at->z == 0) /* a box with one slice needs no distance between slices */
        at->rows = 1;
    else if (at->rows < at->y || at->rows - at->y < size->height)
        return NULL;
    /* if the box is a single row, the device's limit for pitches does not apply */
    bool rows = size->height > 1 || size->depth > 1;
    if (at->pitch < line || (rows && at->pitch > most) || __builtin_mul_overflow(at->pitch, at->rows, &slice))
        return NULL;
    if (__builtin_mul_overflow(at->z, slice, &start) || __builtin_mul_overflow(at->y, at->pitch, &extent) ||
        __builtin_add_overflow(start, extent, &start) || __builtin_add_overflow(start, at->x, &start) ||
        __builtin_add_overflow(at->side.address, start, &at->side.address))
        return NULL;
    if (__builtin_mul_overflow(size->depth - 1, slice, &extent) ||
        __builtin_mul_overflow(size->height - 1, at->pitch, &line) || __builtin_add_overflow(extent, line, &extent) ||
        __builtin_add_overflow(extent, size->width, &extent))
        return NULL;
    unsigned char *first = sim_side_resolve(&at->side, extent);
    at->missing = first ? 0 : extent;
    return first;
}

/* Sets *first to the host pointer to the first byte of the box in a CUDA array. The address in `at` is the handle of
 * the array. */
static CUresult locate_in_array(corner *at, const box *size, unsigned char **first)
{
    const sim_array *array = sim_object_find(at->side.context, (const void *)(uintptr_t)at->side.address, SIM_ARRAY);
    if (!array || array->mipmapped)
        return CUDA_ERROR_INVALID_HANDLE;
    const vm_image *image = &array->image;
    const vm_level *level = &image->levels[0];
    const size_t texel = (size_t)vm_format_bytes(image->format) * image->channels, row = level->size[0] * texel;
    const size_t planes = image->layers ? image->layers : level->size[2];
    if (at->x % texel != 0 || size->width % texel != 0 || at->x > row || size->width > row - at->x ||
        at->y > level->size[1] || size->height > level->size[1] - at->y || at->z > planes ||
        size->depth > planes - at->z)
        return CUDA_ERROR_INVALID_VALUE;
    at->pitch = level->pitch;
    at->rows = level->size[1];
    *first = image->host + level->offset + at->z * level->slice + at->y * level->pitch + at->x;
    return CUDA_SUCCESS;
}

static CUresult find_corner(corner *at, const box *size, unsigned char **first)
{
    if (at->side.type == CU_MEMORYTYPE_ARRAY)
        return locate_in_array(at, size, first);
    *first = at->side.address ? locate(at, size) : NULL;
    return *first ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Reports an access to one row of a box to the checks. */
static void report_row(const corner *at, const box *size, size_t z, size_t y)
{
    if (at->side.type != CU_MEMORYTYPE_ARRAY)
        sim_order_touch(at->side.context, "the host's copy", at->side.address + (z * at->rows + y) * at->pitch,
                        size->width, at->side.write);
}

/* Finds the memory of target and source, and copies the box row by row. If the target or the source is invalid, the
 * function copies nothing. */
static CUresult move_box(corner *to, corner *from, const box *size)
{
    if (size->width == 0 || size->height == 0 || size->depth == 0)
        return CUDA_SUCCESS;
    unsigned char *target = NULL, *source = NULL;
    CUresult result = find_corner(to, size, &target);
    if (result == CUDA_SUCCESS)
        result = find_corner(from, size, &source);
    const corner *wrong = to->missing ? to : from;
    if (result != CUDA_SUCCESS && wrong->missing)
        check_host_bounds(wrong->side.context->device, "the host's copy", wrong->side.address, wrong->missing,
                          wrong->side.write);
    if (result != CUDA_SUCCESS)
        return result;
    for (size_t z = 0; z < size->depth; z++)
        for (size_t y = 0; y < size->height; y++) {
            report_row(to, size, z, y);
            report_row(from, size, z, y);
            memmove(target + (z * to->rows + y) * to->pitch, source + (z * from->rows + y) * from->pitch, size->width);
        }
    if (size->height == 1 && size->depth == 1)
        sim_side_copied(&to->side, &from->side, size->width);
    return CUDA_SUCCESS;
}

static sim_side make_side(CUmemorytype type, const void *host, CUdeviceptr device, CUarray array)
{
    return (sim_side){.type = type,
                      .address = type == CU_MEMORYTYPE_HOST    ? (uintptr_t)host
                                 : type == CU_MEMORYTYPE_ARRAY ? (uintptr_t)array
                                                               : device};
}

static bool right_type(CUmemorytype type)
{
    return type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_ARRAY ||
           type == CU_MEMORYTYPE_UNIFIED;
}

/* ---- copies as operations ---- */

/* Returns the context to which the memory of a copy's target or source belongs. If there are several devices, the
 * address determines the context. */
static sim_context *get_home(const sim_side *side)
{
    return side->type == CU_MEMORYTYPE_ARRAY
               ? sim_follow(side->context, (const void *)(uintptr_t)side->address, SIM_ARRAY)
               : sim_home(side->context, side->address);
}

/* Fills in the target and the source of a copy. Returns an error if the operation is invalid for any memory, such as an
 * unknown memory type or a level of a mipmap. */
static CUresult find_sides(sim_context *context, const sim_op *op, corner *to, corner *from)
{
    const CUDA_MEMCPY3D *what = &op->what.memcpy.copyParams;
    if (!right_type(what->srcMemoryType) || !right_type(what->dstMemoryType) || what->srcLOD || what->dstLOD)
        return CUDA_ERROR_INVALID_VALUE;
    *to = (corner){make_side(what->dstMemoryType, what->dstHost, what->dstDevice, what->dstArray),
                   what->dstXInBytes,
                   what->dstY,
                   what->dstZ,
                   what->dstPitch,
                   what->dstHeight,
                   0};
    *from = (corner){make_side(what->srcMemoryType, what->srcHost, what->srcDevice, what->srcArray),
                     what->srcXInBytes,
                     what->srcY,
                     what->srcZ,
                     what->srcPitch,
                     what->srcHeight,
                     0};
    to->side.write = true;
    to->side.context = op->to ? sim_context_find(op->to) : context;
    from->side.context = op->from ? sim_context_find(op->from) : context;
    if (!to->side.context || !from->side.context)
        return CUDA_ERROR_INVALID_CONTEXT;
    to->side.context = get_home(&to->side);
    from->side.context = get_home(&from->side);
    return CUDA_SUCCESS;
}

/* Returns true if the target or source is host memory, which may be pageable or pinned. Device memory, managed memory
 * and arrays are not host memory. Pinned memory counts as host memory even if the call declares it as device memory. */
static bool is_host(const sim_side *side)
{
    uint64_t base, bytes;
    if (side->type == CU_MEMORYTYPE_HOST || side->type == CU_MEMORYTYPE_ARRAY)
        return side->type == CU_MEMORYTYPE_HOST;
    const sim_host *shared = sim_host_at(side->context, side->address);
    if (shared)
        return shared->sharing != SIM_MANAGED;
    return side->type == CU_MEMORYTYPE_UNIFIED && !vm_range(side->context->device, side->address, &base, &bytes);
}

static void estimate_copy(sim_context *context, const corner *to, const corner *from, uint64_t bytes)
{
    const bool up = is_host(&from->side), down = is_host(&to->side);
    if (up && down)
        return;
    if (up)
        sim_estimate_bytes(context, SIM_LANE_TO_DEVICE, "copy to the device", bytes);
    else if (down)
        sim_estimate_bytes(context, SIM_LANE_FROM_DEVICE, "copy from the device", bytes);
    else
        sim_estimate_bytes(context, SIM_LANE_ON_DEVICE, "copy on the device", 2 * bytes);
}

CUresult sim_copy_run(sim_context *context, const sim_op *op)
{
    const CUDA_MEMCPY3D *what = &op->what.memcpy.copyParams;
    corner to, from;
    CUresult result = find_sides(context, op, &to, &from);
    if (result == CUDA_SUCCESS)
        result = move_box(&to, &from, &(box){what->WidthInBytes, what->Height, what->Depth});
    if (result == CUDA_SUCCESS)
        estimate_copy(context, &to, &from, (uint64_t)what->WidthInBytes * what->Height * what->Depth);
    return result;
}

bool sim_copy_across(sim_context *context, const sim_op *op, sim_context *both[2])
{
    corner to, from;
    if (find_sides(context, op, &to, &from) != CUDA_SUCCESS || is_host(&to.side) || is_host(&from.side))
        return false;
    both[0] = to.side.context;
    both[1] = from.side.context;
    return both[0]->ordinal != both[1]->ordinal;
}

bool sim_copy_waits(const sim_context *context, CUstream stream, const sim_op *op)
{
    const CUDA_MEMCPY3D *what = &op->what.memcpy.copyParams;
    return sim_is_legacy(stream) ||
           (what->srcMemoryType == CU_MEMORYTYPE_HOST && !sim_host_at(context, (uintptr_t)what->srcHost)) ||
           (what->dstMemoryType == CU_MEMORYTYPE_HOST && !sim_host_at(context, (uintptr_t)what->dstHost));
}

/* Checks the target or the source of a copy that will run later. Returns CUDA_SUCCESS if its memory exists, or if a
 * node of a graph will allocate it. */
static CUresult will_be_there(const sim_context *context, corner *at, const box *size)
{
    unsigned char *first;
    const uint64_t address = at->side.address;
    at->side.write = false; /* this call only checks the copy, so it must not count as a write */
    CUresult result = find_corner(at, size, &first);
    bool later = result != CUDA_SUCCESS && at->side.type != CU_MEMORYTYPE_ARRAY;
    return later && sim_programs()->graph_memory(context, address, 1, false) ? CUDA_SUCCESS : result;
}

/* Checks a copy that will become a node of a graph. */
CUresult sim_copy_check(sim_context *context, const sim_op *op)
{
    const CUDA_MEMCPY3D *what = &op->what.memcpy.copyParams;
    corner to, from;
    CUresult result = find_sides(context, op, &to, &from);
    if (result != CUDA_SUCCESS || what->WidthInBytes == 0 || what->Height == 0 || what->Depth == 0)
        return result;
    box size = {what->WidthInBytes, what->Height, what->Depth};
    result = will_be_there(context, &to, &size);
    return result == CUDA_SUCCESS ? will_be_there(context, &from, &size) : result;
}

/* Makes the operation of a copy and submits it to the stream. */
static CUresult submit_copy(const CUDA_MEMCPY3D *what, CUcontext to, CUcontext from, CUstream stream)
{
    sim_context *context;
    SIM_TRY(sim_begin_work(&context));
    context = sim_follow(context, stream, SIM_STREAM);
    if (!sim_stream_known(context, stream))
        return sim_end_work(context, CUDA_ERROR_INVALID_HANDLE);
    sim_op op = {.what = {.type = CU_GRAPH_NODE_TYPE_MEMCPY}, .to = to, .from = from};
    op.what.memcpy.copyCtx = SIM_HANDLE(CUcontext, context);
    op.what.memcpy.copyParams = *what;
    return sim_end_work(context, sim_submit(&context, stream, &op));
}

static CUresult copy_2d(const CUDA_MEMCPY2D *what, CUstream stream)
{
    if (!what)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_MEMCPY3D solid = {.srcXInBytes = what->srcXInBytes,
                           .srcY = what->srcY,
                           .srcMemoryType = what->srcMemoryType,
                           .srcHost = what->srcHost,
                           .srcDevice = what->srcDevice,
                           .srcArray = what->srcArray,
                           .srcPitch = what->srcPitch,
                           .dstXInBytes = what->dstXInBytes,
                           .dstY = what->dstY,
                           .dstMemoryType = what->dstMemoryType,
                           .dstHost = what->dstHost,
                           .dstDevice = what->dstDevice,
                           .dstArray = what->dstArray,
                           .dstPitch = what->dstPitch,
                           .WidthInBytes = what->WidthInBytes,
                           .Height = what->Height,
                           .Depth = 1};
    return submit_copy(&solid, NULL, NULL, stream);
}

static CUresult copy_3d(const CUDA_MEMCPY3D *what, CUstream stream)
{
    return what ? submit_copy(what, NULL, NULL, stream) : CUDA_ERROR_INVALID_VALUE;
}

/* Submits a copy between contexts. `what` has the members of an ordinary copy, and the two contexts. */
static CUresult copy_3d_peer(const CUDA_MEMCPY3D_PEER *what, CUstream stream)
{
    if (!what)
        return CUDA_ERROR_INVALID_VALUE;
    if (!what->srcContext || !what->dstContext)
        return CUDA_ERROR_INVALID_CONTEXT;
    CUDA_MEMCPY3D solid = {.srcXInBytes = what->srcXInBytes,
                           .srcY = what->srcY,
                           .srcZ = what->srcZ,
                           .srcLOD = what->srcLOD,
                           .srcMemoryType = what->srcMemoryType,
                           .srcHost = what->srcHost,
                           .srcDevice = what->srcDevice,
                           .srcArray = what->srcArray,
                           .srcPitch = what->srcPitch,
                           .srcHeight = what->srcHeight,
                           .dstXInBytes = what->dstXInBytes,
                           .dstY = what->dstY,
                           .dstZ = what->dstZ,
                           .dstLOD = what->dstLOD,
                           .dstMemoryType = what->dstMemoryType,
                           .dstHost = what->dstHost,
                           .dstDevice = what->dstDevice,
                           .dstArray = what->dstArray,
                           .dstPitch = what->dstPitch,
                           .dstHeight = what->dstHeight,
                           .WidthInBytes = what->WidthInBytes,
                           .Height = what->Height,
                           .Depth = what->Depth};
    return submit_copy(&solid, what->dstContext, what->srcContext, stream);
}

CUresult sim_cuMemcpy2D(const CUDA_MEMCPY2D *what) { return copy_2d(what, SIM_WAITS); }

CUresult sim_cuMemcpy2DUnaligned(const CUDA_MEMCPY2D *what) { return copy_2d(what, SIM_WAITS); }

CUresult sim_cuMemcpy2DAsync(const CUDA_MEMCPY2D *what, CUstream stream) { return copy_2d(what, stream); }

CUresult sim_cuMemcpy3D(const CUDA_MEMCPY3D *what) { return copy_3d(what, SIM_WAITS); }

CUresult sim_cuMemcpy3DAsync(const CUDA_MEMCPY3D *what, CUstream stream) { return copy_3d(what, stream); }

CUresult sim_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *what) { return copy_3d_peer(what, SIM_WAITS); }

CUresult sim_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *what, CUstream stream) { return copy_3d_peer(what, stream); }

CUresult sim_cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                               size_t bytes, CUstream stream)
{
    if (!to_context || !from_context)
        return CUDA_ERROR_INVALID_CONTEXT;
    return submit_copy(&(CUDA_MEMCPY3D){.dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                        .dstDevice = to,
                                        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                        .srcDevice = from,
                                        .WidthInBytes = bytes,
                                        .Height = 1,
                                        .Depth = 1},
                       to_context, from_context, stream);
}

CUresult sim_cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes)
{
    return sim_cuMemcpyPeerAsync(to, to_context, from, from_context, bytes, SIM_WAITS);
}

/* ---- contiguous copies ---- */

static CUresult copy_bytes(CUmemorytype to_type, uint64_t to, CUmemorytype from_type, uint64_t from, size_t bytes,
                           CUstream stream)
{
    CUDA_MEMCPY3D what = {
        .dstMemoryType = to_type, .srcMemoryType = from_type, .WidthInBytes = bytes, .Height = 1, .Depth = 1};
    what.dstHost = to_type == CU_MEMORYTYPE_HOST ? (void *)(uintptr_t)to : NULL;
    what.dstDevice = to_type == CU_MEMORYTYPE_HOST ? 0 : to;
    what.srcHost = from_type == CU_MEMORYTYPE_HOST ? (const void *)(uintptr_t)from : NULL;
    what.srcDevice = from_type == CU_MEMORYTYPE_HOST ? 0 : from;
    return submit_copy(&what, NULL, NULL, stream);
}

#define HOST CU_MEMORYTYPE_HOST
#define DEVICE CU_MEMORYTYPE_DEVICE
#define EITHER CU_MEMORYTYPE_UNIFIED

CUresult sim_cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return copy_bytes(EITHER, to, EITHER, from, bytes, SIM_WAITS);
}

CUresult sim_cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return copy_bytes(EITHER, to, EITHER, from, bytes, stream);
}

CUresult sim_cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes)
{
    return copy_bytes(DEVICE, to, HOST, (uintptr_t)from, bytes, SIM_WAITS);
}

CUresult sim_cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
    return copy_bytes(HOST, (uintptr_t)to, DEVICE, from, bytes, SIM_WAITS);
}

CUresult sim_cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return copy_bytes(DEVICE, to, DEVICE, from, bytes, SIM_WAITS);
}

CUresult sim_cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    return copy_bytes(DEVICE, to, HOST, (uintptr_t)from, bytes, stream);
}

CUresult sim_cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return copy_bytes(HOST, (uintptr_t)to, DEVICE, from, bytes, stream);
}

CUresult sim_cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return copy_bytes(DEVICE, to, DEVICE, from, bytes, stream);
}

/* ---- one-dimensional arrays, by bytes ---- */

static bool is_line(sim_context *context, CUarray handle)
{
    const sim_array *array = sim_object_find(sim_follow(context, handle, SIM_ARRAY), handle, SIM_ARRAY);
    /* returns true for an invalid handle; a later test returns the error */
    return !array || (array->image.dims == 1 && !array->image.layers);
}

/* Copies contiguous bytes between memory and one-dimensional arrays. `srcArray` or `dstArray` of `what` is NULL if the
 * source or the target is memory. */
static CUresult copy_line(CUDA_MEMCPY3D what, size_t bytes, CUstream stream)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    bool lines = is_line(context, what.srcArray) && is_line(context, what.dstArray);
    CUresult result = sim_end(lines ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    what.WidthInBytes = bytes;
    what.Height = what.Depth = 1;
    return result == CUDA_SUCCESS ? submit_copy(&what, NULL, NULL, stream) : result;
}

#define TO_ARRAY(array, offset) .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = (array), .dstXInBytes = (offset)
#define FROM_ARRAY(array, offset) .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = (array), .srcXInBytes = (offset)

CUresult sim_cuMemcpyAtoA(CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t bytes)
{
    return copy_line((CUDA_MEMCPY3D){TO_ARRAY(to, to_offset), FROM_ARRAY(from, from_offset)}, bytes, SIM_WAITS);
}

CUresult sim_cuMemcpyAtoD(CUdeviceptr to, CUarray from, size_t offset, size_t bytes)
{
    CUDA_MEMCPY3D what = {.dstMemoryType = DEVICE, .dstDevice = to, FROM_ARRAY(from, offset)};
    return copy_line(what, bytes, SIM_WAITS);
}

CUresult sim_cuMemcpyDtoA(CUarray to, size_t offset, CUdeviceptr from, size_t bytes)
{
    CUDA_MEMCPY3D what = {.srcMemoryType = DEVICE, .srcDevice = from, TO_ARRAY(to, offset)};
    return copy_line(what, bytes, SIM_WAITS);
}

CUresult sim_cuMemcpyAtoHAsync(void *to, CUarray from, size_t offset, size_t bytes, CUstream stream)
{
    return copy_line((CUDA_MEMCPY3D){.dstMemoryType = HOST, .dstHost = to, FROM_ARRAY(from, offset)}, bytes, stream);
}

CUresult sim_cuMemcpyAtoH(void *to, CUarray from, size_t offset, size_t bytes)
{
    return sim_cuMemcpyAtoHAsync(to, from, offset, bytes, SIM_WAITS);
}

CUresult sim_cuMemcpyHtoAAsync(CUarray to, size_t offset, const void *from, size_t bytes, CUstream stream)
{
    return copy_line((CUDA_MEMCPY3D){.srcMemoryType = HOST, .srcHost = from, TO_ARRAY(to, offset)}, bytes, stream);
}

CUresult sim_cuMemcpyHtoA(CUarray to, size_t offset, const void *from, size_t bytes)
{
    return sim_cuMemcpyHtoAAsync(to, offset, from, bytes, SIM_WAITS);
}
