/* texture.c - texture and surface objects. This file checks the descriptors that a program passes, and makes a
 * vm_texture (vm.h) for each object. Kernels access texels through the vm_texture. */
#include <string.h>

#include "cu_objects.h"

/* ---- resources ---- */

/* Makes the image for linear or pitched memory. The function checks the alignment and the extent. When a kernel reads,
 * the interpreter checks the allocation. */
static CUresult linear_image(const CUDA_RESOURCE_DESC *r, vm_image *image)
{
    const sim_profile *profile = sim_current_profile();
    const bool pitched = r->resType == CU_RESOURCE_TYPE_PITCH2D;
    const CUdeviceptr start = pitched ? r->res.pitch2D.devPtr : r->res.linear.devPtr;
    const unsigned channels = pitched ? r->res.pitch2D.numChannels : r->res.linear.numChannels;
    if (channels != 1 && channels != 2 && channels != 4)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sim_format(pitched ? r->res.pitch2D.format : r->res.linear.format, &image->format))
        return CUDA_ERROR_NOT_SUPPORTED;
    const uint64_t texel = (uint64_t)vm_format_bytes(image->format) * channels;
    if (start == 0 || start % (unsigned)sim_profile_int(profile, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t width = r->res.linear.sizeInBytes / texel, height = 1, pitch = 0;
    uint64_t most = (uint64_t)sim_profile_int(profile, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH);
    if (pitched) {
        width = r->res.pitch2D.width, height = r->res.pitch2D.height, pitch = r->res.pitch2D.pitchInBytes;
        most = (uint64_t)sim_profile_int(profile, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH);
        const uint64_t align = (uint64_t)sim_profile_int(profile, CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT);
        if (height > (uint64_t)sim_profile_int(profile, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT) ||
            pitch > (uint64_t)sim_profile_int(profile, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH) ||
            pitch % align != 0 || width > most || pitch < width * texel)
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (width == 0 || width > most || height == 0)
        return CUDA_ERROR_INVALID_VALUE;
    image->address = start;
    image->channels = channels;
    image->dims = pitched ? 2 : 1;
    image->level_count = 1;
    image->levels[0] = (vm_level){.size = {(uint32_t)width, (uint32_t)height, 1}, .pitch = pitch};
    return CUDA_SUCCESS;
}

static CUresult image_of(sim_context *context, const CUDA_RESOURCE_DESC *r, vm_image *image, const sim_array **array)
{
    const void *handle = r->resType == CU_RESOURCE_TYPE_ARRAY ? (const void *)r->res.array.hArray
                                                              : (const void *)r->res.mipmap.hMipmappedArray;
    if (r->flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    switch (r->resType) {
    case CU_RESOURCE_TYPE_ARRAY:
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        *array = sim_object_find(context, handle, SIM_ARRAY);
        if (!*array || (*array)->mipmapped != (r->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY))
            return CUDA_ERROR_INVALID_HANDLE;
        *image = (*array)->image;
        return CUDA_SUCCESS;
    case CU_RESOURCE_TYPE_LINEAR:
    case CU_RESOURCE_TYPE_PITCH2D: return linear_image(r, image);
    }
    return CUDA_ERROR_INVALID_VALUE;
}

/* ---- views: a view chooses levels and layers, or another format with texels of the same size ---- */

static CUresult view_format(CUresourceViewFormat format, vm_image *image)
{
    static const vm_format formats[] = {VM_U8, VM_S8, VM_U16, VM_S16, VM_U32, VM_S32, VM_F16, VM_F32};
    static const uint8_t channels[] = {1, 2, 4};
    if (format == CU_RES_VIEW_FORMAT_NONE)
        return CUDA_SUCCESS;
    if (format < CU_RES_VIEW_FORMAT_UINT_1X8 || format > CU_RES_VIEW_FORMAT_UNSIGNED_BC7)
        return CUDA_ERROR_INVALID_VALUE;
    if (format > CU_RES_VIEW_FORMAT_FLOAT_4X32)
        return CUDA_ERROR_NOT_SUPPORTED; /* the formats with compressed blocks */
    const unsigned number = (unsigned)format - CU_RES_VIEW_FORMAT_UINT_1X8;
    const vm_format wanted = formats[number / 3];
    if (vm_format_bytes(wanted) * channels[number % 3] != vm_format_bytes(image->format) * image->channels)
        return CUDA_ERROR_INVALID_VALUE;
    image->format = wanted;
    image->channels = channels[number % 3];
    return CUDA_SUCCESS;
}

static CUresult apply_view(const CUDA_RESOURCE_VIEW_DESC *v, vm_image *image)
{
    const vm_level *base = &image->levels[0];
    if (!image->host)
        return CUDA_ERROR_INVALID_VALUE; /* linear memory cannot have a view */
    const uint32_t depth = image->layers ? image->layers : image->dims == 3 ? base->size[2] : 0;
    if (v->width != base->size[0] || v->height != (image->dims > 1 ? base->size[1] : 0) ||
        (v->depth != depth && !(image->layers && v->depth == v->lastLayer - v->firstLayer + 1)) ||
        v->firstMipmapLevel > v->lastMipmapLevel || v->lastMipmapLevel >= image->level_count ||
        v->firstLayer > v->lastLayer || v->lastLayer >= (image->layers ? image->layers : 1))
        return CUDA_ERROR_INVALID_VALUE;
    const uint32_t layers = v->lastLayer - v->firstLayer + 1;
    if (image->cube && layers % 6 != 0)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned k = v->firstMipmapLevel; k <= v->lastMipmapLevel; k++) {
        vm_level *level = &image->levels[k - v->firstMipmapLevel];
        *level = image->levels[k];
        level->offset += v->firstLayer * level->slice;
    }
    image->level_count = v->lastMipmapLevel - v->firstMipmapLevel + 1;
    if (image->layers)
        image->layers = layers;
    return view_format(v->format, image);
}

/* ---- sampling ---- */

static CUresult apply_sampling(const CUDA_TEXTURE_DESC *d, const CUDA_RESOURCE_DESC *r, vm_texture *t)
{
    const unsigned flags = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB |
                           CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP;
    for (unsigned k = 0; k < 3; k++) {
        if ((unsigned)d->addressMode[k] > CU_TR_ADDRESS_MODE_BORDER)
            return CUDA_ERROR_INVALID_VALUE;
        t->edge[k] = (vm_edge)d->addressMode[k];
    }
    if ((d->flags & ~flags) || (unsigned)d->filterMode > CU_TR_FILTER_MODE_LINEAR ||
        (unsigned)d->mipmapFilterMode > CU_TR_FILTER_MODE_LINEAR)
        return CUDA_ERROR_INVALID_VALUE;
    t->normalized = d->flags & CU_TRSF_NORMALIZED_COORDINATES;
    if (r->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY && !t->normalized)
        return CUDA_ERROR_INVALID_VALUE;
    t->integer = d->flags & CU_TRSF_READ_AS_INTEGER;
    t->srgb = d->flags & CU_TRSF_SRGB;
    t->seamless = d->flags & CU_TRSF_SEAMLESS_CUBEMAP;
    t->linear = d->filterMode == CU_TR_FILTER_MODE_LINEAR;
    t->mip_linear = d->mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR;
    t->bias = d->mipmapLevelBias;
    t->least = d->minMipmapLevelClamp;
    t->most = d->maxMipmapLevelClamp;
    memcpy(t->border, d->borderColor, sizeof t->border);
    /* a kernel fetches from such a texture by index; an index outside of it gives zero */
    if (r->resType == CU_RESOURCE_TYPE_LINEAR) {
        t->linear = t->normalized = false;
        t->edge[0] = VM_EDGE_BORDER;
        memset(t->border, 0, sizeof t->border);
    }
    return CUDA_SUCCESS;
}

/* ---- objects ---- */

static CUresult texture_make(sim_context *context, const vm_texture *what, const sim_array *array,
                             const CUDA_RESOURCE_DESC *resource, sim_texture **out)
{
    sim_texture *made = sim_object_new(context, SIM_TEXTURE, sizeof *made);
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!vm_texture_add(context->device, made->object.handle, what)) {
        sim_object_free(context, made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->surface = what->surface;
    made->array = array;
    made->resource = *resource;
    *out = made;
    return CUDA_SUCCESS;
}

void sim_texture_close(sim_context *context, sim_texture *texture)
{
    vm_texture_remove(context->device, texture->object.handle);
    sim_object_free(context, texture);
}

static sim_texture *texture_find(const sim_context *context, uint64_t handle, bool surface)
{
    sim_texture *texture = sim_object_find(context, (const void *)(uintptr_t)handle, SIM_TEXTURE);
    return texture && texture->surface == surface ? texture : NULL;
}

static CUresult texture_destroy(uint64_t handle, bool surface)
{
    sim_context *context;
    SIM_TRY(sim_begin_work(&context));
    sim_texture *texture = texture_find(context, handle, surface);
    if (!texture)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    sim_texture_close(context, texture);
    return sim_end_work(context, CUDA_SUCCESS);
}

/* Checks the descriptors of the resource, the sampling and the view, and makes a texture object. */
CUresult sim_cuTexObjectCreate(CUtexObject *object, const CUDA_RESOURCE_DESC *resource,
                               const CUDA_TEXTURE_DESC *sampling, const CUDA_RESOURCE_VIEW_DESC *view)
{
    sim_context *context;
    SIM_TRY(sim_begin_work(&context));
    if (!object || !resource || !sampling)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    vm_texture t = {.surface = false};
    const sim_array *array = NULL;
    CUresult result = image_of(context, resource, &t.image, &array);
    if (result == CUDA_SUCCESS && view)
        result = apply_view(view, &t.image);
    if (result == CUDA_SUCCESS)
        result = apply_sampling(sampling, resource, &t);
    if (result == CUDA_SUCCESS && t.linear && !vm_format_is_float(&t))
        result = CUDA_ERROR_INVALID_VALUE;
    sim_texture *made = NULL;
    if (result == CUDA_SUCCESS)
        result = texture_make(context, &t, array, resource, &made);
    if (result == CUDA_SUCCESS) {
        made->sampling = *sampling;
        made->has_view = view != NULL;
        if (view)
            made->view = *view;
        *object = made->object.handle;
    }
    return sim_end_work(context, result);
}

CUresult sim_cuTexObjectDestroy(CUtexObject object) { return texture_destroy(object, false); }

CUresult sim_cuSurfObjectCreate(CUsurfObject *object, const CUDA_RESOURCE_DESC *resource)
{
    sim_context *context;
    SIM_TRY(sim_begin_work(&context));
    if (!object || !resource || resource->resType != CU_RESOURCE_TYPE_ARRAY)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    vm_texture t = {.surface = true};
    const sim_array *array = NULL;
    CUresult result = image_of(context, resource, &t.image, &array);
    if (result == CUDA_SUCCESS && !t.image.surface)
        result = CUDA_ERROR_INVALID_VALUE; /* the array was created without CUDA_ARRAY3D_SURFACE_LDST */
    sim_texture *made = NULL;
    if (result == CUDA_SUCCESS)
        result = texture_make(context, &t, array, resource, &made);
    if (result == CUDA_SUCCESS)
        *object = made->object.handle;
    return sim_end_work(context, result);
}

CUresult sim_cuSurfObjectDestroy(CUsurfObject object) { return texture_destroy(object, true); }

/* ---- queries ---- */

/* Copies `bytes` bytes from the offset `offset` of the object. */
static CUresult texture_look(uint64_t handle, bool surface, void *out, size_t offset, size_t bytes, bool view)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    const sim_texture *texture = texture_find(context, handle, surface);
    if (!texture || !out || (view && !texture->has_view))
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    memcpy(out, (const char *)texture + offset, bytes);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *resource, CUtexObject object)
{
    return texture_look(object, false, resource, offsetof(sim_texture, resource), sizeof *resource, false);
}

CUresult sim_cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *sampling, CUtexObject object)
{
    return texture_look(object, false, sampling, offsetof(sim_texture, sampling), sizeof *sampling, false);
}

CUresult sim_cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *view, CUtexObject object)
{
    return texture_look(object, false, view, offsetof(sim_texture, view), sizeof *view, true);
}

CUresult sim_cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *resource, CUsurfObject object)
{
    return texture_look(object, true, resource, offsetof(sim_texture, resource), sizeof *resource, false);
}

CUresult sim_cuDeviceGetTexture1DLinearMaxWidth(size_t *width, CUarray_format format, unsigned channels,
                                                CUdevice device)
{
    vm_format known;
    SIM_TRY(sim_begin_device(device, width));
    if ((channels != 1 && channels != 2 && channels != 4) || !sim_format(format, &known))
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    *width = (size_t)sim_profile_int(sim_device_profile(device), CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH);
    return sim_end(CUDA_SUCCESS);
}
