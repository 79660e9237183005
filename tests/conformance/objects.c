/* objects.c - texture and surface objects for cases. A name consists of words with _ between them. First comes the format
 * (u8 s8 u16 s16 u32 s32 f16 f32, then x and the channels), then the shape. These words follow in any order:
 *   point linear           the filter
 *   clamp wrap mirror border     the address mode (border: 1/4 1/2 3/4 1)
 *   norm int srgb seam     flags: normalised coordinates, integers without conversion, ...
 *   mip mipl               all levels, with a point or a linear filter between them
 *   surf                   a surface object
 * Shapes: 1d 2d 3d a1d a2d cube acube; lin and pitch are for linear memory. The texels are noise, as fractions or floats
 * from 0 to 1, or from -1 to 1 if they are signed. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "sim.h"

#define FUNCTIONS(X)                                                                                                   \
    X(cuArray3DCreate)                                                                                                 \
    X(cuArrayDestroy)                                                                                                  \
    X(cuMipmappedArrayCreate)                                                                                          \
    X(cuMipmappedArrayDestroy)                                                                                         \
    X(cuMipmappedArrayGetLevel)                                                                                        \
    X(cuTexObjectCreate)                                                                                               \
    X(cuTexObjectDestroy)                                                                                              \
    X(cuSurfObjectCreate)                                                                                              \
    X(cuSurfObjectDestroy)                                                                                             \
    X(cuMemcpy3D)
#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
typedef struct functions {
#define X(name) __typeof__(name) *name##_;
    FUNCTIONS(X)
#undef X
} functions;

static bool load(const conf_device *d, functions *f)
{
    void *symbol;
#define X(name) /* TEXT(name) is the name with the suffix of its version, as in cuda.h */                              \
    symbol = d->driver.simulator ? kiln__sim_symbol(#name) : dlsym(d->driver.library, TEXT(name));                     \
    if (!symbol)                                                                                                       \
        return false;                                                                                                  \
    memcpy(&f->name##_, &symbol, sizeof symbol);
    FUNCTIONS(X)
#undef X
    return true;
}

typedef struct plan {
    CUarray_format format;
    unsigned bytes, channels; /* bytes of a channel; number of channels */
    bool real;
    char shape[8];
    CUDA_ARRAY3D_DESCRIPTOR array;
    CUDA_TEXTURE_DESC sampling;
    bool mipmap, surface;
} plan;

static bool read_format(const char *word, plan *p)
{
    static const struct {
        const char *name;
        CUarray_format format;
        unsigned bytes;
    } formats[] = {{"u8", CU_AD_FORMAT_UNSIGNED_INT8, 1},   {"s8", CU_AD_FORMAT_SIGNED_INT8, 1},
                   {"u16", CU_AD_FORMAT_UNSIGNED_INT16, 2}, {"s16", CU_AD_FORMAT_SIGNED_INT16, 2},
                   {"u32", CU_AD_FORMAT_UNSIGNED_INT32, 4}, {"s32", CU_AD_FORMAT_SIGNED_INT32, 4},
                   {"f16", CU_AD_FORMAT_HALF, 2},           {"f32", CU_AD_FORMAT_FLOAT, 4}};
    const char *x = strchr(word, 'x');
    for (size_t k = 0; x && k < sizeof formats / sizeof *formats; k++)
        if (strncmp(formats[k].name, word, (size_t)(x - word)) == 0 && !formats[k].name[x - word]) {
            p->format = formats[k].format;
            p->bytes = formats[k].bytes;
            p->real = word[0] == 'f';
            p->channels = (unsigned)(x[1] - '0');
            return true;
        }
    return false;
}

static bool read_shape(const char *word, plan *p)
{
    static const struct {
        const char *name;
        unsigned size[3], surface[3], flags;
    } shapes[] = {{"1d", {16, 0, 0}, {1024, 0, 0}, 0},
                  {"2d", {16, 8, 0}, {32, 32, 0}, 0},
                  {"3d", {16, 8, 4}, {16, 8, 8}, 0},
                  {"a1d", {16, 0, 5}, {32, 0, 32}, CUDA_ARRAY3D_LAYERED},
                  {"a2d", {16, 8, 5}, {16, 8, 8}, CUDA_ARRAY3D_LAYERED},
                  {"cube", {8, 8, 6}, {16, 16, 6}, CUDA_ARRAY3D_CUBEMAP},
                  {"acube", {8, 8, 12}, {8, 8, 12}, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED},
                  {"lin", {16, 0, 0}, {16, 0, 0}, 0},
                  {"pitch", {16, 8, 0}, {16, 8, 0}, 0}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        if (strcmp(shapes[k].name, word) == 0) {
            const unsigned *size = p->surface ? shapes[k].surface : shapes[k].size;
            snprintf(p->shape, sizeof p->shape, "%s", word);
            p->array = (CUDA_ARRAY3D_DESCRIPTOR){size[0], size[1], size[2], p->format, p->channels, shapes[k].flags};
            p->array.Flags |= p->surface ? CUDA_ARRAY3D_SURFACE_LDST : 0;
            return true;
        }
    return false;
}

/* Reads one word of an object's name, such as "srgb" or "clamp". Returns false if the word is unknown. */
static bool read_word(const char *word, plan *p)
{
    static const struct {
        const char *name;
        unsigned flag;
    } flags[] = {{"norm", CU_TRSF_NORMALIZED_COORDINATES},
                 {"int", CU_TRSF_READ_AS_INTEGER},
                 {"srgb", CU_TRSF_SRGB},
                 {"seam", CU_TRSF_SEAMLESS_CUBEMAP},
                 {"point", 0},
                 {"surf", 0}};
    static const char *const modes[] = {"wrap", "clamp", "mirror", "border"};
    for (size_t k = 0; k < sizeof flags / sizeof *flags; k++)
        if (strcmp(word, flags[k].name) == 0) {
            p->sampling.flags |= flags[k].flag;
            return true;
        }
    for (int k = 0; k < 4; k++)
        if (strcmp(word, modes[k]) == 0) {
            for (int axis = 0; axis < 3; axis++)
                p->sampling.addressMode[axis] = (CUaddress_mode)k;
            return true;
        }
    if (strcmp(word, "linear") == 0) {
        p->sampling.filterMode = CU_TR_FILTER_MODE_LINEAR;
        return true;
    }
    p->mipmap = true;
    p->sampling.mipmapFilterMode = strcmp(word, "mipl") == 0 ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT;
    p->sampling.maxMipmapLevelClamp = 16;
    return strcmp(word, "mip") == 0 || strcmp(word, "mipl") == 0;
}

static void read_name(const char *name, plan *p)
{
    char copy[CONF_OBJECT], *rest = copy;
    bool good = true;
    snprintf(copy, sizeof copy, "%s", name);
    *p = (plan){
        .surface = strstr(name, "_surf") != NULL,
        .sampling = {.addressMode = {CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP},
                     .borderColor = {0.25f, 0.5f, 0.75f, 1}}};
    for (int n = 0; good && rest; n++) {
        char *word = strsep(&rest, "_");
        good = n == 0 ? read_format(word, p) : n == 1 ? read_shape(word, p) : read_word(word, p);
    }
    if (!good) {
        fprintf(stderr, "conformance: no such object: %s\n", name);
        exit(2);
    }
}

static unsigned char *noise(const plan *p, size_t count, uint64_t seed)
{
    unsigned char *data = conf_alloc(count * p->bytes);
    for (size_t k = 0; k < count; k++) {
        const uint64_t hash = conf_hash(&k, sizeof k, seed) >> 13;
        const float f = (float)(hash % 65537) / 65536;
        const uint16_t half = (uint16_t)(hash % 0x3c01); /* 0 to 1 */
        memcpy(data + k * p->bytes,
               !p->real        ? (const void *)&hash
               : p->bytes == 4 ? (const void *)&f
                               : (const void *)&half,
               p->bytes);
    }
    return data;
}

static size_t some(size_t count) { return count ? count : 1; }

static CUresult fill(const functions *f, const plan *p, CUarray array, const size_t size[3], uint64_t seed)
{
    const size_t row = size[0] * p->channels * p->bytes;
    unsigned char *data = noise(p, some(size[0]) * some(size[1]) * some(size[2]) * p->channels, seed);
    const CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                                .srcHost = data,
                                .srcPitch = row,
                                .srcHeight = some(size[1]),
                                .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                                .dstArray = array,
                                .WidthInBytes = row,
                                .Height = some(size[1]),
                                .Depth = some(size[2])};
    const CUresult r = f->cuMemcpy3D_(&copy);
    free(data);
    return r;
}

static CUresult fill_levels(const functions *f, const plan *p, CUmipmappedArray mipmap, uint64_t seed)
{
    size_t most = p->array.Width > p->array.Height ? p->array.Width : p->array.Height;
    const bool deep = !(p->array.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP));
    CUresult r = CUDA_SUCCESS;
    for (unsigned k = 0; most >> k && r == CUDA_SUCCESS; k++) {
        CUarray level;
        const size_t size[3] = {some(p->array.Width >> k), p->array.Height ? some(p->array.Height >> k) : 0,
                                p->array.Depth && deep ? some(p->array.Depth >> k) : p->array.Depth};
        r = f->cuMipmappedArrayGetLevel_(&level, mipmap, k);
        r = r ? r : fill(f, p, level, size, seed + k);
    }
    return r;
}

/* Makes an object on linear memory, with rows of 16 texels. */
static CUresult make_linear(const conf_device *d, const plan *p, uint64_t seed, conf_object_made *made,
                            CUDA_RESOURCE_DESC *resource)
{
    const size_t row = p->array.Width * p->channels * p->bytes, pitch = (row + 31) / 32 * 32,
                 rows = some(p->array.Height);
    plan whole = *p;
    whole.channels = 1;
    unsigned char *data = noise(&whole, pitch * rows / p->bytes, seed);
    CUresult r = d->driver.cuMemAlloc_(&made->memory, pitch * rows);
    r = r ? r : d->driver.cuMemcpyHtoD_(made->memory, data, pitch * rows);
    free(data);
    if (strcmp(p->shape, "lin") == 0)
        *resource = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_LINEAR,
                                         .res.linear = {made->memory, p->format, p->channels, row}};
    else
        *resource =
            (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_PITCH2D,
                                 .res.pitch2D = {made->memory, p->format, p->channels, p->array.Width, rows, pitch}};
    return r;
}

/* Makes the texture or surface that a name describes, with contents from a hash of the name. The same name gives the
 * same object on every device. */
CUresult conf_object_make(const conf_device *d, const char *name, conf_object_made *made)
{
    functions f;
    plan p;
    const uint64_t seed = conf_hash(name, strlen(name), 11);
    CUresult r;
    if (!name[0])
        return CUDA_SUCCESS;
    if (!load(d, &f))
        return CUDA_ERROR_NOT_FOUND;
    read_name(name, &p);
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};
    const size_t size[3] = {p.array.Width, p.array.Height, p.array.Depth};
    if (strcmp(p.shape, "lin") == 0 || strcmp(p.shape, "pitch") == 0) {
        r = make_linear(d, &p, seed, made, &resource);
    } else if (p.mipmap) {
        r = f.cuMipmappedArrayCreate_(&made->mipmap, &p.array, 16);
        r = r ? r : fill_levels(&f, &p, made->mipmap, seed);
        resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
        resource.res.mipmap.hMipmappedArray = made->mipmap;
    } else {
        r = f.cuArray3DCreate_(&made->array, &p.array);
        r = r ? r : fill(&f, &p, made->array, size, seed);
        resource.res.array.hArray = made->array;
    }
    made->surface = p.surface;
    return r           ? r
           : p.surface ? f.cuSurfObjectCreate_(&made->handle, &resource)
                       : f.cuTexObjectCreate_(&made->handle, &resource, &p.sampling, NULL);
}

void conf_object_end(const conf_device *d, const conf_object_made *made)
{
    functions f;
    if (made->handle == 0 || !load(d, &f))
        return;
    if (made->surface)
        f.cuSurfObjectDestroy_(made->handle);
    else
        f.cuTexObjectDestroy_(made->handle);
    if (made->array)
        f.cuArrayDestroy_(made->array);
    if (made->mipmap)
        f.cuMipmappedArrayDestroy_(made->mipmap);
    if (made->memory)
        d->driver.cuMemFree_(made->memory);
}
