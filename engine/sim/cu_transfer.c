/* Copies with a pitch, in two and three dimensions, between contexts, and from and to arrays. Each side's extent is
 * checked against its allocation before a byte moves. */
#include <string.h>

#include "sim/cu_internal.h"

/* One side of a box: its memory, and where in it the box begins. */
typedef struct corner {
    sim_side side;
    size_t x, y, z, pitch, rows; /* rows: of a slice; x and pitch in bytes */
} corner;

typedef struct box { size_t width, height, depth; } box;

/* The first byte of the box on that side, or NULL if not all of it is there. */
static unsigned char *locate(corner *at, const box *size)
{
    const size_t most = (size_t)sim_profile_int(sim_current_profile(), CU_DEVICE_ATTRIBUTE_MAX_PITCH);
    size_t line, slice, start, extent;
    if (__builtin_add_overflow(at->x, size->width, &line))
        return NULL;
    if (at->pitch == 0 && size->height == 1 && at->y == 0)
        at->pitch = line;
    if (at->rows == 0 && size->depth == 1 && at->z == 0) /* ignored then */
        at->rows = 1;
    else if (at->rows < at->y || at->rows - at->y < size->height)
        return NULL;
    if (at->pitch < line || at->pitch > most || __builtin_mul_overflow(at->pitch, at->rows, &slice))
        return NULL;
    if (__builtin_mul_overflow(at->z, slice, &start) || __builtin_mul_overflow(at->y, at->pitch, &extent) ||
        __builtin_add_overflow(start, extent, &start) || __builtin_add_overflow(start, at->x, &start) ||
        __builtin_add_overflow(at->side.address, start, &at->side.address))
        return NULL;
    if (__builtin_mul_overflow(size->depth - 1, slice, &extent) ||
        __builtin_mul_overflow(size->height - 1, at->pitch, &line) || __builtin_add_overflow(extent, line, &extent) ||
        __builtin_add_overflow(extent, size->width, &extent))
        return NULL;
    return sim_side_resolve(&at->side, extent);
}

/* The same in an array, whose handle is the side's address. */
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

static CUresult move(sim_context *context, corner *to, corner *from, const box *size, CUstream stream)
{
    if (!sim_stream_known(context, stream))
        return CUDA_ERROR_INVALID_HANDLE;
    if (size->width == 0 || size->height == 0 || size->depth == 0)
        return CUDA_SUCCESS;
    if (!to->side.context)
        to->side.context = context;
    if (!from->side.context)
        from->side.context = context;
    unsigned char *target = NULL, *source = NULL;
    CUresult result = find_corner(to, size, &target);
    if (result == CUDA_SUCCESS)
        result = find_corner(from, size, &source);
    if (result != CUDA_SUCCESS)
        return result;
    for (size_t z = 0; z < size->depth; z++)
        for (size_t y = 0; y < size->height; y++)
            memmove(target + (z * to->rows + y) * to->pitch, source + (z * from->rows + y) * from->pitch, size->width);
    return CUDA_SUCCESS;
}

static sim_side side_of(CUmemorytype type, const void *host, CUdeviceptr device, CUarray array)
{
    return (sim_side){.type = type, .address = type == CU_MEMORYTYPE_HOST    ? (uintptr_t)host
                                               : type == CU_MEMORYTYPE_ARRAY ? (uintptr_t)array
                                                                             : device};
}

static bool right_type(CUmemorytype type)
{
    return type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_ARRAY ||
           type == CU_MEMORYTYPE_UNIFIED;
}

static CUresult copy_2d(const CUDA_MEMCPY2D *what, CUstream stream)
{
    sim_context *context;
    CUresult result = sim_begin_work(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!what || !right_type(what->srcMemoryType) || !right_type(what->dstMemoryType))
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    corner to = {side_of(what->dstMemoryType, what->dstHost, what->dstDevice, what->dstArray), what->dstXInBytes, what->dstY, 0,
                 what->dstPitch, 0};
    corner from = {side_of(what->srcMemoryType, what->srcHost, what->srcDevice, what->srcArray), what->srcXInBytes, what->srcY, 0,
                   what->srcPitch, 0};
    return sim_end_work(context, move(context, &to, &from, &(box){what->WidthInBytes, what->Height, 1}, stream));
}

static CUresult copy_3d(const CUDA_MEMCPY3D *what, CUstream stream)
{
    sim_context *context;
    CUresult result = sim_begin_work(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!what || !right_type(what->srcMemoryType) || !right_type(what->dstMemoryType) || what->srcLOD || what->dstLOD)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    corner to = {side_of(what->dstMemoryType, what->dstHost, what->dstDevice, what->dstArray), what->dstXInBytes, what->dstY,
                 what->dstZ, what->dstPitch, what->dstHeight};
    corner from = {side_of(what->srcMemoryType, what->srcHost, what->srcDevice, what->srcArray), what->srcXInBytes, what->srcY,
                   what->srcZ, what->srcPitch, what->srcHeight};
    box size = {what->WidthInBytes, what->Height, what->Depth};
    return sim_end_work(context, move(context, &to, &from, &size, stream));
}

static CUresult copy_3d_peer(const CUDA_MEMCPY3D_PEER *what, CUstream stream)
{
    sim_context *context;
    CUresult result = sim_begin_work(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!what || !right_type(what->srcMemoryType) || !right_type(what->dstMemoryType) || what->srcLOD || what->dstLOD)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    corner to = {side_of(what->dstMemoryType, what->dstHost, what->dstDevice, what->dstArray), what->dstXInBytes, what->dstY,
                 what->dstZ, what->dstPitch, what->dstHeight};
    corner from = {side_of(what->srcMemoryType, what->srcHost, what->srcDevice, what->srcArray), what->srcXInBytes, what->srcY,
                   what->srcZ, what->srcPitch, what->srcHeight};
    to.side.context = sim_context_find(what->dstContext);
    from.side.context = sim_context_find(what->srcContext);
    if (!to.side.context || !from.side.context)
        return sim_end_work(context, CUDA_ERROR_INVALID_CONTEXT);
    box size = {what->WidthInBytes, what->Height, what->Depth};
    return sim_end_work(context, move(context, &to, &from, &size, stream));
}

CUresult sim_cuMemcpy2D(const CUDA_MEMCPY2D *what)
{
    return copy_2d(what, NULL);
}

CUresult sim_cuMemcpy2DUnaligned(const CUDA_MEMCPY2D *what)
{
    return copy_2d(what, NULL);
}

CUresult sim_cuMemcpy2DAsync(const CUDA_MEMCPY2D *what, CUstream stream)
{
    return copy_2d(what, stream);
}

CUresult sim_cuMemcpy3D(const CUDA_MEMCPY3D *what)
{
    return copy_3d(what, NULL);
}

CUresult sim_cuMemcpy3DAsync(const CUDA_MEMCPY3D *what, CUstream stream)
{
    return copy_3d(what, stream);
}

CUresult sim_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *what)
{
    return copy_3d_peer(what, NULL);
}

CUresult sim_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *what, CUstream stream)
{
    return copy_3d_peer(what, stream);
}

CUresult sim_cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                               size_t bytes, CUstream stream)
{
    sim_context *context;
    CUresult result = sim_begin_work(&context);
    if (result != CUDA_SUCCESS)
        return result;
    sim_side target = {CU_MEMORYTYPE_DEVICE, to, sim_context_find(to_context)};
    sim_side source = {CU_MEMORYTYPE_DEVICE, from, sim_context_find(from_context)};
    if (!sim_stream_known(context, stream))
        return sim_end_work(context, CUDA_ERROR_INVALID_HANDLE);
    if (!target.context || !source.context)
        return sim_end_work(context, CUDA_ERROR_INVALID_CONTEXT);
    if (bytes == 0)
        return sim_end_work(context, CUDA_SUCCESS);
    void *into = sim_side_resolve(&target, bytes), *out_of = sim_side_resolve(&source, bytes);
    if (!into || !out_of)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    memmove(into, out_of, bytes);
    return sim_end_work(context, CUDA_SUCCESS);
}

CUresult sim_cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes)
{
    return sim_cuMemcpyPeerAsync(to, to_context, from, from_context, bytes, NULL);
}

/* ---- one-dimensional arrays, by bytes ---- */

static corner in_array(CUarray array, size_t offset)
{
    return (corner){.side = {.type = CU_MEMORYTYPE_ARRAY, .address = (uintptr_t)array}, .x = offset};
}

static corner in_memory(CUmemorytype type, uint64_t address)
{
    return (corner){.side = {.type = type, .address = address}};
}

static CUresult copy_line(corner to, corner from, size_t bytes, CUstream stream)
{
    sim_context *context;
    CUresult result = sim_begin_work(&context);
    if (result != CUDA_SUCCESS)
        return result;
    const corner *sides[] = {&to, &from};
    for (unsigned k = 0; k < 2; k++) {
        const sim_array *array = sides[k]->side.type != CU_MEMORYTYPE_ARRAY ? NULL
                                     : sim_object_find(context, (const void *)(uintptr_t)sides[k]->side.address, SIM_ARRAY);
        if (array && (array->image.dims != 1 || array->image.layers))
            return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    }
    return sim_end_work(context, move(context, &to, &from, &(box){bytes, 1, 1}, stream));
}

CUresult sim_cuMemcpyAtoA(CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t bytes)
{
    return copy_line(in_array(to, to_offset), in_array(from, from_offset), bytes, NULL);
}

CUresult sim_cuMemcpyAtoD(CUdeviceptr to, CUarray from, size_t offset, size_t bytes)
{
    return copy_line(in_memory(CU_MEMORYTYPE_DEVICE, to), in_array(from, offset), bytes, NULL);
}

CUresult sim_cuMemcpyDtoA(CUarray to, size_t offset, CUdeviceptr from, size_t bytes)
{
    return copy_line(in_array(to, offset), in_memory(CU_MEMORYTYPE_DEVICE, from), bytes, NULL);
}

CUresult sim_cuMemcpyAtoHAsync(void *to, CUarray from, size_t offset, size_t bytes, CUstream stream)
{
    return copy_line(in_memory(CU_MEMORYTYPE_HOST, (uintptr_t)to), in_array(from, offset), bytes, stream);
}

CUresult sim_cuMemcpyAtoH(void *to, CUarray from, size_t offset, size_t bytes)
{
    return sim_cuMemcpyAtoHAsync(to, from, offset, bytes, NULL);
}

CUresult sim_cuMemcpyHtoAAsync(CUarray to, size_t offset, const void *from, size_t bytes, CUstream stream)
{
    return copy_line(in_array(to, offset), in_memory(CU_MEMORYTYPE_HOST, (uintptr_t)from), bytes, stream);
}

CUresult sim_cuMemcpyHtoA(CUarray to, size_t offset, const void *from, size_t bytes)
{
    return sim_cuMemcpyHtoAAsync(to, offset, from, bytes, NULL);
}
