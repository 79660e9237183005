/* array.c - arrays and mipmapped arrays. The texels of an array have an opaque layout, which only textures, surfaces
 * and copies access. */
#include "cu_objects.h"

bool sim_format(CUarray_format format, vm_format *out)
{
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8: *out = VM_U8; return true;
    case CU_AD_FORMAT_UNSIGNED_INT16: *out = VM_U16; return true;
    case CU_AD_FORMAT_UNSIGNED_INT32: *out = VM_U32; return true;
    case CU_AD_FORMAT_SIGNED_INT8: *out = VM_S8; return true;
    case CU_AD_FORMAT_SIGNED_INT16: *out = VM_S16; return true;
    case CU_AD_FORMAT_SIGNED_INT32: *out = VM_S32; return true;
    case CU_AD_FORMAT_HALF: *out = VM_F16; return true;
    case CU_AD_FORMAT_FLOAT: *out = VM_F32; return true;
    default: return false;
    }
}

/* ---- limits of sizes ---- */

#define ATTRIBUTES(a, b, c)                                                                                            \
    {                                                                                                                  \
        CU_DEVICE_ATTRIBUTE_MAXIMUM_##a, CU_DEVICE_ATTRIBUTE_MAXIMUM_##b, CU_DEVICE_ATTRIBUTE_MAXIMUM_##c              \
    }
/* The limits of each kind of array, in this order: width, height, and depth or layers. If an array has no height or no
 * depth, its extent in this dimension is 1. So the table may have any limit there. */
typedef enum shape_kind { ONE, TWO, THREE, THREE_DEEP, ONE_LAYERED, TWO_LAYERED, CUBE, CUBE_LAYERED } shape_kind;
static const CUdevice_attribute texture_most[][3] = {
    [ONE] = ATTRIBUTES(TEXTURE1D_WIDTH, TEXTURE1D_WIDTH, TEXTURE1D_WIDTH),
    [TWO] = ATTRIBUTES(TEXTURE2D_WIDTH, TEXTURE2D_HEIGHT, TEXTURE2D_WIDTH),
    [THREE] = ATTRIBUTES(TEXTURE3D_WIDTH, TEXTURE3D_HEIGHT, TEXTURE3D_DEPTH),
    [THREE_DEEP] = ATTRIBUTES(TEXTURE3D_WIDTH_ALTERNATE, TEXTURE3D_HEIGHT_ALTERNATE, TEXTURE3D_DEPTH_ALTERNATE),
    [ONE_LAYERED] = ATTRIBUTES(TEXTURE1D_LAYERED_WIDTH, TEXTURE1D_LAYERED_WIDTH, TEXTURE1D_LAYERED_LAYERS),
    [TWO_LAYERED] = ATTRIBUTES(TEXTURE2D_LAYERED_WIDTH, TEXTURE2D_LAYERED_HEIGHT, TEXTURE2D_LAYERED_LAYERS),
    [CUBE] = ATTRIBUTES(TEXTURECUBEMAP_WIDTH, TEXTURECUBEMAP_WIDTH, TEXTURECUBEMAP_WIDTH),
    [CUBE_LAYERED] = ATTRIBUTES(TEXTURECUBEMAP_LAYERED_WIDTH, TEXTURECUBEMAP_LAYERED_WIDTH,
                                TEXTURECUBEMAP_LAYERED_LAYERS),
};
static const CUdevice_attribute surface_most[][3] = {
    [ONE] = ATTRIBUTES(SURFACE1D_WIDTH, SURFACE1D_WIDTH, SURFACE1D_WIDTH),
    [TWO] = ATTRIBUTES(SURFACE2D_WIDTH, SURFACE2D_HEIGHT, SURFACE2D_WIDTH),
    [THREE] = ATTRIBUTES(SURFACE3D_WIDTH, SURFACE3D_HEIGHT, SURFACE3D_DEPTH),
    [THREE_DEEP] = ATTRIBUTES(SURFACE3D_WIDTH, SURFACE3D_HEIGHT, SURFACE3D_DEPTH),
    [ONE_LAYERED] = ATTRIBUTES(SURFACE1D_LAYERED_WIDTH, SURFACE1D_LAYERED_WIDTH, SURFACE1D_LAYERED_LAYERS),
    [TWO_LAYERED] = ATTRIBUTES(SURFACE2D_LAYERED_WIDTH, SURFACE2D_LAYERED_HEIGHT, SURFACE2D_LAYERED_LAYERS),
    [CUBE] = ATTRIBUTES(SURFACECUBEMAP_WIDTH, SURFACECUBEMAP_WIDTH, SURFACECUBEMAP_WIDTH),
    [CUBE_LAYERED] = ATTRIBUTES(SURFACECUBEMAP_LAYERED_WIDTH, SURFACECUBEMAP_LAYERED_WIDTH,
                                SURFACECUBEMAP_LAYERED_LAYERS),
};

/* Finds the kind of array that the descriptor asks for. Returns false if its fields contradict each other. */
static bool shape_of(const CUDA_ARRAY3D_DESCRIPTOR *d, shape_kind *shape)
{
    const bool layered = d->Flags & CUDA_ARRAY3D_LAYERED, cube = d->Flags & CUDA_ARRAY3D_CUBEMAP;
    if (cube) {
        *shape = layered ? CUBE_LAYERED : CUBE;
        return d->Width == d->Height && (layered ? d->Depth > 0 && d->Depth % 6 == 0 : d->Depth == 6);
    }
    if (layered) {
        *shape = d->Height ? TWO_LAYERED : ONE_LAYERED;
        return d->Depth > 0;
    }
    *shape = d->Depth ? THREE : d->Height ? TWO : ONE;
    return d->Height > 0 || d->Depth == 0;
}

static bool array_fits(const CUDA_ARRAY3D_DESCRIPTOR *d, shape_kind shape)
{
    const sim_profile *profile = sim_current_profile();
    const size_t size[3] = {d->Width, d->Height ? d->Height : 1, d->Depth ? d->Depth : 1};
    for (unsigned k = 0; k < 3; k++) {
        size_t most = (size_t)sim_profile_int(profile, texture_most[shape][k]);
        size_t surface = (size_t)sim_profile_int(profile, surface_most[shape][k]);
        if (size[k] > most || ((d->Flags & CUDA_ARRAY3D_SURFACE_LDST) && size[k] > surface))
            return false;
    }
    return true;
}

static CUresult array_check(const CUDA_ARRAY3D_DESCRIPTOR *d, shape_kind *shape, vm_format *format)
{
    const unsigned known = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP |
                           CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_COLOR_ATTACHMENT;
    const unsigned absent = CUDA_ARRAY3D_DEPTH_TEXTURE | CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING |
                            CUDA_ARRAY3D_VIDEO_ENCODE_DECODE;
    if ((d->Flags & ~(known | absent)) || (d->NumChannels != 1 && d->NumChannels != 2 && d->NumChannels != 4) ||
        d->Width == 0 || !shape_of(d, shape) ||
        !(array_fits(d, *shape) || (*shape == THREE && array_fits(d, THREE_DEEP))))
        return CUDA_ERROR_INVALID_VALUE;
    if ((d->Flags & CUDA_ARRAY3D_TEXTURE_GATHER) && *shape != TWO && *shape != TWO_LAYERED)
        return CUDA_ERROR_INVALID_VALUE;
    return (d->Flags & absent) || !sim_format(d->Format, format) ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

/* ---- making and ending ---- */

static uint32_t level_size(size_t size, unsigned level)
{
    const size_t at = size >> level;
    return at ? (uint32_t)at : 1;
}

/* Lays out the levels one after the other. Within a level, lays out the layers one after the other. Returns the number
 * of bytes. The size of a row is a multiple of 16 bytes, because 16 bytes is the widest access of a surface. */
static uint64_t lay_out(vm_image *image, const CUDA_ARRAY3D_DESCRIPTOR *d, shape_kind shape, unsigned levels)
{
    const uint64_t texel = (uint64_t)vm_format_bytes(image->format) * d->NumChannels;
    uint64_t bytes = 0;
    image->channels = d->NumChannels;
    image->dims = shape == ONE || shape == ONE_LAYERED ? 1 : shape == THREE ? 3 : 2;
    image->layers = d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP) ? (uint32_t)d->Depth : 0;
    image->cube = shape == CUBE || shape == CUBE_LAYERED;
    image->surface = d->Flags & CUDA_ARRAY3D_SURFACE_LDST;
    image->level_count = levels;
    for (unsigned k = 0; k < levels; k++) {
        vm_level *level = &image->levels[k];
        level->size[0] = level_size(d->Width, k);
        level->size[1] = image->dims > 1 ? level_size(d->Height, k) : 1;
        level->size[2] = image->dims > 2 ? level_size(d->Depth, k) : 1;
        level->offset = bytes;
        level->pitch = (level->size[0] * texel + 15) & ~(uint64_t)15;
        level->slice = level->pitch * level->size[1];
        bytes += level->slice * level->size[2] * (image->layers ? image->layers : 1);
    }
    return bytes;
}

static unsigned most_levels(const CUDA_ARRAY3D_DESCRIPTOR *d, shape_kind shape)
{
    size_t most = d->Width > d->Height ? d->Width : d->Height;
    most = shape == THREE && d->Depth > most ? d->Depth : most;
    unsigned levels = 1;
    while (most >> levels && levels < VM_LEVELS_MAX)
        levels++;
    return levels;
}

/* Checks the descriptor and makes an array. The storage for the texels counts as device memory. Sets *out to the
 * handle, and not to a pointer. Another thread may end the context as soon as this call has ended. */
static CUresult array_create(uint64_t *out, const CUDA_ARRAY3D_DESCRIPTOR *d, bool mipmapped, unsigned levels)
{
    sim_context *context;
    SIM_TRY(sim_begin_work(&context));
    shape_kind shape = ONE;
    vm_format format = VM_U8;
    CUresult result = d ? array_check(d, &shape, &format) : CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return sim_end_work(context, result);
    sim_array *made = sim_object_new(context, SIM_ARRAY, sizeof *made);
    if (!made)
        return sim_end_work(context, CUDA_ERROR_OUT_OF_MEMORY);
    const unsigned most = most_levels(d, shape);
    made->mipmapped = mipmapped;
    made->descriptor = *d;
    made->image.format = format;
    made->bytes = lay_out(&made->image, d, shape, levels < 1 ? 1 : levels > most ? most : levels);
    made->storage = vm_storage_new(context->device, made->bytes);
    made->image.host = made->storage;
    if (!made->storage) {
        sim_object_free(context, made);
        return sim_end_work(context, CUDA_ERROR_OUT_OF_MEMORY);
    }
    *out = made->object.handle;
    return sim_end_work(context, CUDA_SUCCESS);
}

void sim_array_close(sim_context *context, sim_array *array)
{
    for (sim_object *object = context->objects; object; object = object->next)
        if (object->kind == SIM_TEXTURE) {
            sim_texture *texture = (sim_texture *)object;
            if (texture->array && (texture->array == array || texture->array->parent == array)) {
                vm_texture_lose(context->device, texture->object.handle);
                texture->array = NULL;
            }
        }
    for (unsigned k = 0; k < VM_LEVELS_MAX; k++)
        if (array->levels[k])
            sim_object_free(context, array->levels[k]);
    if (array->parent) /* a context frees its objects in no fixed order, so the parent may still exist */
        for (unsigned k = 0; k < VM_LEVELS_MAX; k++)
            if (array->parent->levels[k] == array)
                array->parent->levels[k] = NULL;
    if (array->storage)
        vm_storage_free(context->device, array->storage, array->bytes);
    sim_object_free(context, array);
}

static CUresult array_destroy(const void *handle, bool mipmapped)
{
    sim_context *context;
    SIM_TRY(sim_begin_work(&context));
    sim_array *array = sim_object_find(context, handle, SIM_ARRAY);
    if (!array || array->mipmapped != mipmapped || array->parent)
        return sim_end_work(context, CUDA_ERROR_INVALID_HANDLE);
    sim_array_close(context, array);
    return sim_end_work(context, CUDA_SUCCESS);
}

CUresult sim_cuArray3DCreate(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
    uint64_t made = 0;
    if (!array)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = array_create(&made, descriptor, false, 1);
    if (result == CUDA_SUCCESS)
        *array = (CUarray)(uintptr_t)made;
    return result;
}

CUresult sim_cuArrayCreate(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *descriptor)
{
    if (!descriptor)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_ARRAY3D_DESCRIPTOR wide = {.Width = descriptor->Width,
                                    .Height = descriptor->Height,
                                    .Format = descriptor->Format,
                                    .NumChannels = descriptor->NumChannels,
                                    .Flags = 0};
    return sim_cuArray3DCreate(array, &wide);
}

CUresult sim_cuArrayDestroy(CUarray array) { return array_destroy(array, false); }

CUresult sim_cuMipmappedArrayCreate(CUmipmappedArray *array, const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned levels)
{
    uint64_t made = 0;
    if (!array)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = array_create(&made, descriptor, true, levels);
    if (result == CUDA_SUCCESS)
        *array = (CUmipmappedArray)(uintptr_t)made;
    return result;
}

CUresult sim_cuMipmappedArrayDestroy(CUmipmappedArray array) { return array_destroy(array, true); }

/* ---- queries ---- */

CUresult sim_cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR *descriptor, CUarray handle)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    const sim_array *array = sim_object_find(context, handle, SIM_ARRAY);
    if (!array || array->mipmapped)
        return sim_end(CUDA_ERROR_INVALID_HANDLE);
    if (!descriptor)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    *descriptor = array->descriptor;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR *descriptor, CUarray array)
{
    CUDA_ARRAY3D_DESCRIPTOR wide = {.Width = 0};
    if (!descriptor)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sim_cuArray3DGetDescriptor(&wide, array);
    if (result == CUDA_SUCCESS)
        *descriptor = (CUDA_ARRAY_DESCRIPTOR){wide.Width, wide.Height, wide.Format, wide.NumChannels};
    return result;
}

/* Returns an array that shows one level of the mipmapped array. Later calls for this level return the same array. */
CUresult sim_cuMipmappedArrayGetLevel(CUarray *array, CUmipmappedArray handle, unsigned level)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    sim_array *whole = sim_object_find(context, handle, SIM_ARRAY);
    if (!whole || !whole->mipmapped)
        return sim_end(CUDA_ERROR_INVALID_HANDLE);
    if (!array || level >= whole->image.level_count)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    sim_array *made = whole->levels[level];
    if (!made) {
        made = sim_object_new(context, SIM_ARRAY, sizeof *made);
        if (!made)
            return sim_end(CUDA_ERROR_OUT_OF_MEMORY);
        const vm_level *of = &whole->image.levels[level];
        made->descriptor = whole->descriptor;
        made->descriptor.Width = of->size[0];
        made->descriptor.Height = whole->descriptor.Height ? of->size[1] : 0;
        if (whole->image.dims == 3)
            made->descriptor.Depth = of->size[2];
        made->image = whole->image;
        made->image.level_count = 1;
        made->image.levels[0] = *of;
        made->parent = whole;
        whole->levels[level] = made;
    }
    *array = SIM_HANDLE(CUarray, made);
    return sim_end(CUDA_SUCCESS);
}
