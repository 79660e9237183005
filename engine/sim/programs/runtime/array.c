/* array.c - arrays, textures and surfaces: functions that call the driver and convert channel descriptors to the
 * driver's formats. */
#include "runtime.h"

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind f)
{
    return (struct cudaChannelFormatDesc){x, y, z, w, f};
}

typedef struct special {
    enum cudaChannelFormatKind kind;
    CUarray_format format;
    unsigned char bits, channels; /* number of bits and channels in the channel descriptor */
} special;

static const special specials[] = {
    {cudaChannelFormatKindUnsignedNormalized8X1, CU_AD_FORMAT_UNORM_INT8X1, 8, 1},
    {cudaChannelFormatKindUnsignedNormalized8X2, CU_AD_FORMAT_UNORM_INT8X2, 8, 2},
    {cudaChannelFormatKindUnsignedNormalized8X4, CU_AD_FORMAT_UNORM_INT8X4, 8, 4},
    {cudaChannelFormatKindUnsignedNormalized16X1, CU_AD_FORMAT_UNORM_INT16X1, 16, 1},
    {cudaChannelFormatKindUnsignedNormalized16X2, CU_AD_FORMAT_UNORM_INT16X2, 16, 2},
    {cudaChannelFormatKindUnsignedNormalized16X4, CU_AD_FORMAT_UNORM_INT16X4, 16, 4},
    {cudaChannelFormatKindSignedNormalized8X1, CU_AD_FORMAT_SNORM_INT8X1, 8, 1},
    {cudaChannelFormatKindSignedNormalized8X2, CU_AD_FORMAT_SNORM_INT8X2, 8, 2},
    {cudaChannelFormatKindSignedNormalized8X4, CU_AD_FORMAT_SNORM_INT8X4, 8, 4},
    {cudaChannelFormatKindSignedNormalized16X1, CU_AD_FORMAT_SNORM_INT16X1, 16, 1},
    {cudaChannelFormatKindSignedNormalized16X2, CU_AD_FORMAT_SNORM_INT16X2, 16, 2},
    {cudaChannelFormatKindSignedNormalized16X4, CU_AD_FORMAT_SNORM_INT16X4, 16, 4},
};
#define SPECIALS (sizeof specials / sizeof specials[0])

cudaError_t kiln__rt_format(const struct cudaChannelFormatDesc *d, CUarray_format *format, unsigned *channels)
{
    for (size_t i = 0; i < SPECIALS; i++)
        if (specials[i].kind == d->f) {
            *format = specials[i].format;
            *channels = specials[i].channels;
            return cudaSuccess;
        }
    *channels = (unsigned)((d->x > 0) + (d->y > 0) + (d->z > 0) + (d->w > 0));
    if ((d->y && d->y != d->x) || (d->z && d->z != d->x) || (d->w && d->w != d->x) || *channels == 3)
        return cudaErrorInvalidChannelDescriptor;
    int bits = d->x;
    if (d->f == cudaChannelFormatKindFloat && bits == 32)
        *format = CU_AD_FORMAT_FLOAT;
    else if (d->f == cudaChannelFormatKindFloat && bits == 16)
        *format = CU_AD_FORMAT_HALF;
    else if ((d->f == cudaChannelFormatKindSigned || d->f == cudaChannelFormatKindUnsigned) && bits == 8)
        *format = d->f == cudaChannelFormatKindSigned ? CU_AD_FORMAT_SIGNED_INT8 : CU_AD_FORMAT_UNSIGNED_INT8;
    else if ((d->f == cudaChannelFormatKindSigned || d->f == cudaChannelFormatKindUnsigned) && bits == 16)
        *format = d->f == cudaChannelFormatKindSigned ? CU_AD_FORMAT_SIGNED_INT16 : CU_AD_FORMAT_UNSIGNED_INT16;
    else if ((d->f == cudaChannelFormatKindSigned || d->f == cudaChannelFormatKindUnsigned) && bits == 32)
        *format = d->f == cudaChannelFormatKindSigned ? CU_AD_FORMAT_SIGNED_INT32 : CU_AD_FORMAT_UNSIGNED_INT32;
    else
        return cudaErrorInvalidChannelDescriptor;
    return cudaSuccess;
}

static struct cudaChannelFormatDesc desc_of(CUarray_format format, unsigned channels)
{
    int bits = 0;
    enum cudaChannelFormatKind kind = cudaChannelFormatKindNone;
    switch ((int)format) {
    case CU_AD_FORMAT_UNSIGNED_INT8: bits = 8, kind = cudaChannelFormatKindUnsigned; break;
    case CU_AD_FORMAT_UNSIGNED_INT16: bits = 16, kind = cudaChannelFormatKindUnsigned; break;
    case CU_AD_FORMAT_UNSIGNED_INT32: bits = 32, kind = cudaChannelFormatKindUnsigned; break;
    case CU_AD_FORMAT_SIGNED_INT8: bits = 8, kind = cudaChannelFormatKindSigned; break;
    case CU_AD_FORMAT_SIGNED_INT16: bits = 16, kind = cudaChannelFormatKindSigned; break;
    case CU_AD_FORMAT_SIGNED_INT32: bits = 32, kind = cudaChannelFormatKindSigned; break;
    case CU_AD_FORMAT_HALF: bits = 16, kind = cudaChannelFormatKindFloat; break;
    case CU_AD_FORMAT_FLOAT: bits = 32, kind = cudaChannelFormatKindFloat; break;
    default: break;
    }
    for (size_t i = 0; i < SPECIALS; i++)
        if (specials[i].format == format) {
            kind = specials[i].kind;
            bits = specials[i].bits;
            channels = specials[i].channels;
        }
    return (struct cudaChannelFormatDesc){bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0,
                                          channels > 3 ? bits : 0, kind};
}

/* ---- arrays ---- */

static cudaError_t array_desc(const struct cudaChannelFormatDesc *desc, struct cudaExtent extent, unsigned flags,
                              CUDA_ARRAY3D_DESCRIPTOR *d)
{
    *d = (CUDA_ARRAY3D_DESCRIPTOR){
        .Width = extent.width, .Height = extent.height, .Depth = extent.depth, .Flags = flags};
    return kiln__rt_format(desc, &d->Format, &d->NumChannels);
}

cudaError_t cudaMalloc3DArray(cudaArray_t *to, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
                              unsigned int flags)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    RT_NEED(to && desc);
    RT_ENTER();
    cudaError_t error = array_desc(desc, extent, flags, &d);
    return error != cudaSuccess ? kiln__rt_record(error) : kiln__rt_result(CU(cuArray3DCreate)((CUarray *)to, &d));
}

cudaError_t cudaMallocArray(cudaArray_t *to, const struct cudaChannelFormatDesc *desc, size_t width, size_t height,
                            unsigned int flags)
{
    return cudaMalloc3DArray(to, desc, (struct cudaExtent){width, height, 0}, flags);
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *to, const struct cudaChannelFormatDesc *desc,
                                     struct cudaExtent extent, unsigned int levels, unsigned int flags)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    RT_NEED(to && desc);
    RT_ENTER();
    cudaError_t error = array_desc(desc, extent, flags, &d);
    return error != cudaSuccess ? kiln__rt_record(error)
                                : kiln__rt_result(CU(cuMipmappedArrayCreate)((CUmipmappedArray *)to, &d, levels));
}

cudaError_t cudaFreeArray(cudaArray_t array)
{
    RT_ENTER();
    return kiln__rt_result(array ? CU(cuArrayDestroy)((CUarray)array) : CUDA_SUCCESS);
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array)
{
    RT_ENTER();
    return kiln__rt_result(array ? CU(cuMipmappedArrayDestroy)((CUmipmappedArray)array) : CUDA_SUCCESS);
}

cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *level, cudaMipmappedArray_const_t array, unsigned int index)
{
    RT_NEED(level);
    RT_ENTER();
    return kiln__rt_result(CU(cuMipmappedArrayGetLevel)((CUarray *)level, (CUmipmappedArray)(uintptr_t)array, index));
}

cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent, unsigned int *flags,
                             cudaArray_t array)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    RT_ENTER();
    CUresult result = CU(cuArray3DGetDescriptor)(&d, (CUarray)array);
    if (result != CUDA_SUCCESS)
        return kiln__rt_result(result);
    if (desc)
        *desc = desc_of(d.Format, d.NumChannels);
    if (extent)
        *extent = (struct cudaExtent){d.Width, d.Height, d.Depth};
    if (flags)
        *flags = d.Flags;
    return cudaSuccess;
}

cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_const_t array)
{
    RT_NEED(desc);
    return cudaArrayGetInfo(desc, NULL, NULL, (cudaArray_t)(uintptr_t)array);
}

/* ---- textures and surfaces: the enumerations of the runtime and the driver have the same values ---- */

/* Converts a resource to the driver's struct. For linear and pitched memory the runtime's struct has the channel
 * format, which is converted too. For an array the function converts no format, because an array already has one. */
static cudaError_t resource_of(const struct cudaResourceDesc *from, CUDA_RESOURCE_DESC *to)
{
    unsigned channels = 0;
    cudaError_t error = cudaSuccess;
    *to = (CUDA_RESOURCE_DESC){.resType = (CUresourcetype)from->resType};
    switch (from->resType) {
    case cudaResourceTypeArray: to->res.array.hArray = (CUarray)from->res.array.array; break;
    case cudaResourceTypeMipmappedArray:
        to->res.mipmap.hMipmappedArray = (CUmipmappedArray)from->res.mipmap.mipmap;
        break;
    case cudaResourceTypeLinear:
        to->res.linear.devPtr = rt_address(from->res.linear.devPtr);
        to->res.linear.sizeInBytes = from->res.linear.sizeInBytes;
        error = kiln__rt_format(&from->res.linear.desc, &to->res.linear.format, &channels);
        to->res.linear.numChannels = channels;
        break;
    case cudaResourceTypePitch2D:
        to->res.pitch2D.devPtr = rt_address(from->res.pitch2D.devPtr);
        to->res.pitch2D.width = from->res.pitch2D.width;
        to->res.pitch2D.height = from->res.pitch2D.height;
        to->res.pitch2D.pitchInBytes = from->res.pitch2D.pitchInBytes;
        error = kiln__rt_format(&from->res.pitch2D.desc, &to->res.pitch2D.format, &channels);
        to->res.pitch2D.numChannels = channels;
        break;
    default: error = cudaErrorInvalidValue;
    }
    return error;
}

/* Writes only the members that belong to the type of the resource, because the struct is smaller in version 12. */
static void resource_to(const CUDA_RESOURCE_DESC *from, struct cudaResourceDesc *to)
{
    to->resType = (enum cudaResourceType)from->resType;
    switch (to->resType) {
    case cudaResourceTypeArray: to->res.array.array = (cudaArray_t)from->res.array.hArray; break;
    case cudaResourceTypeMipmappedArray:
        to->res.mipmap.mipmap = (cudaMipmappedArray_t)from->res.mipmap.hMipmappedArray;
        break;
    case cudaResourceTypeLinear:
        to->res.linear.devPtr = (void *)from->res.linear.devPtr;
        to->res.linear.sizeInBytes = from->res.linear.sizeInBytes;
        to->res.linear.desc = desc_of(from->res.linear.format, from->res.linear.numChannels);
        break;
    case cudaResourceTypePitch2D:
        to->res.pitch2D.devPtr = (void *)from->res.pitch2D.devPtr;
        to->res.pitch2D.width = from->res.pitch2D.width;
        to->res.pitch2D.height = from->res.pitch2D.height;
        to->res.pitch2D.pitchInBytes = from->res.pitch2D.pitchInBytes;
        to->res.pitch2D.desc = desc_of(from->res.pitch2D.format, from->res.pitch2D.numChannels);
        break;
    default: break;
    }
}

static CUDA_TEXTURE_DESC texture_of(const struct cudaTextureDesc *from)
{
    CUDA_TEXTURE_DESC to = {.filterMode = (CUfilter_mode)from->filterMode,
                            .maxAnisotropy = from->maxAnisotropy,
                            .mipmapFilterMode = (CUfilter_mode)from->mipmapFilterMode,
                            .mipmapLevelBias = from->mipmapLevelBias,
                            .minMipmapLevelClamp = from->minMipmapLevelClamp,
                            .maxMipmapLevelClamp = from->maxMipmapLevelClamp};
    for (int i = 0; i < 3; i++)
        to.addressMode[i] = (CUaddress_mode)from->addressMode[i];
    for (int i = 0; i < 4; i++)
        to.borderColor[i] = from->borderColor[i];
    to.flags = (from->readMode == cudaReadModeElementType ? (unsigned)CU_TRSF_READ_AS_INTEGER : 0) |
               (from->normalizedCoords ? (unsigned)CU_TRSF_NORMALIZED_COORDINATES : 0) |
               (from->sRGB ? (unsigned)CU_TRSF_SRGB : 0) |
               (from->disableTrilinearOptimization ? (unsigned)CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION : 0) |
               (from->seamlessCubemap ? (unsigned)CU_TRSF_SEAMLESS_CUBEMAP : 0);
    return to;
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *to, const struct cudaResourceDesc *resource,
                                    const struct cudaTextureDesc *texture, const struct cudaResourceViewDesc *view)
{
    CUDA_RESOURCE_DESC r;
    RT_NEED(to && resource && texture);
    RT_ENTER();
    cudaError_t error = resource_of(resource, &r);
    if (error != cudaSuccess)
        return kiln__rt_record(error);
    CUDA_TEXTURE_DESC t = texture_of(texture);
    CUDA_RESOURCE_VIEW_DESC v = {0};
    if (view)
        v = (CUDA_RESOURCE_VIEW_DESC){.format = (CUresourceViewFormat)view->format,
                                      .width = view->width,
                                      .height = view->height,
                                      .depth = view->depth,
                                      .firstMipmapLevel = view->firstMipmapLevel,
                                      .lastMipmapLevel = view->lastMipmapLevel,
                                      .firstLayer = view->firstLayer,
                                      .lastLayer = view->lastLayer};
    return kiln__rt_result(CU(cuTexObjectCreate)((CUtexObject *)to, &r, &t, view ? &v : NULL));
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture)
{
    RT_ENTER();
    return kiln__rt_result(texture ? CU(cuTexObjectDestroy)(texture) : CUDA_SUCCESS);
}

cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *to, cudaTextureObject_t texture)
{
    CUDA_RESOURCE_DESC r;
    RT_NEED(to);
    RT_ENTER();
    CUresult result = CU(cuTexObjectGetResourceDesc)(&r, texture);
    if (result == CUDA_SUCCESS)
        resource_to(&r, to);
    return kiln__rt_result(result);
}

cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *to, cudaTextureObject_t texture)
{
    CUDA_TEXTURE_DESC t;
    RT_NEED(to);
    RT_ENTER();
    CUresult result = CU(cuTexObjectGetTextureDesc)(&t, texture);
    if (result != CUDA_SUCCESS)
        return kiln__rt_result(result);
    *to = (struct cudaTextureDesc){
        .filterMode = (enum cudaTextureFilterMode)t.filterMode,
        .readMode = t.flags & CU_TRSF_READ_AS_INTEGER ? cudaReadModeElementType : cudaReadModeNormalizedFloat,
        .sRGB = (t.flags & CU_TRSF_SRGB) != 0,
        .normalizedCoords = (t.flags & CU_TRSF_NORMALIZED_COORDINATES) != 0,
        .maxAnisotropy = t.maxAnisotropy,
        .mipmapFilterMode = (enum cudaTextureFilterMode)t.mipmapFilterMode,
        .mipmapLevelBias = t.mipmapLevelBias,
        .minMipmapLevelClamp = t.minMipmapLevelClamp,
        .maxMipmapLevelClamp = t.maxMipmapLevelClamp,
        .disableTrilinearOptimization = (t.flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION) != 0,
        .seamlessCubemap = (t.flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0};
    for (int i = 0; i < 3; i++)
        to->addressMode[i] = (enum cudaTextureAddressMode)t.addressMode[i];
    for (int i = 0; i < 4; i++)
        to->borderColor[i] = t.borderColor[i];
    return cudaSuccess;
}

cudaError_t cudaGetTextureObjectResourceViewDesc(struct cudaResourceViewDesc *to, cudaTextureObject_t texture)
{
    CUDA_RESOURCE_VIEW_DESC v;
    RT_NEED(to);
    RT_ENTER();
    CUresult result = CU(cuTexObjectGetResourceViewDesc)(&v, texture);
    if (result != CUDA_SUCCESS)
        return kiln__rt_result(result);
    to->format = (enum cudaResourceViewFormat)v.format;
    to->width = v.width;
    to->height = v.height;
    to->depth = v.depth;
    to->firstMipmapLevel = v.firstMipmapLevel;
    to->lastMipmapLevel = v.lastMipmapLevel;
    to->firstLayer = v.firstLayer;
    to->lastLayer = v.lastLayer;
    return cudaSuccess;
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *to, const struct cudaResourceDesc *resource)
{
    CUDA_RESOURCE_DESC r;
    RT_NEED(to && resource);
    RT_ENTER();
    cudaError_t error = resource_of(resource, &r);
    return error != cudaSuccess ? kiln__rt_record(error)
                                : kiln__rt_result(CU(cuSurfObjectCreate)((CUsurfObject *)to, &r));
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface)
{
    RT_ENTER();
    return kiln__rt_result(surface ? CU(cuSurfObjectDestroy)(surface) : CUDA_SUCCESS);
}

cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *to, cudaSurfaceObject_t surface)
{
    CUDA_RESOURCE_DESC r;
    RT_NEED(to);
    RT_ENTER();
    CUresult result = CU(cuSurfObjectGetResourceDesc)(&r, surface);
    if (result == CUDA_SUCCESS)
        resource_to(&r, to);
    return kiln__rt_result(result);
}
