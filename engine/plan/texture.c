/* texture.c - texture objects as arguments. Evaluates a texture, checks the limits of the device, and calls the driver
 * to make the texture object. Arguments with equal keys share one texture object, which lives as long as the steps use
 * it. */
#include <inttypes.h>
#include <string.h>

#include "launch_internal.h"
#include "layout_internal.h"
#include "limit_internal.h"
#include "names_internal.h"
#include "plan_internal.h"
#include "texture_internal.h"

typedef struct making {
    kiln_plan *plan;
    const kiln__argument *arg;
    const kiln__texture *written;
    const kiln__scope *scope;
    const kiln__plan_buffer *buffer;
    const char *kernel;
    size_t number;
    CUdevice device;
    kiln__texture_key key;
    kiln_error **error;
} making;

#define fail_at(m, pos, ...) kiln__plan_fail_at((m)->plan, (m)->error, KILN_ERROR_LAUNCH, pos, __VA_ARGS__)

static kiln_status evaluate(making *m, const kiln__expr *expr, const char *what, int64_t *value)
{
    kiln__diag diag = {.mem = m->plan->mem};
    kiln__expr_eval_int(expr, m->scope, what, value, &diag);
    kiln_status status = kiln__plan_diag(m->plan, &diag, KILN_ERROR_SPEC, m->error);
    if (status == KILN_OK && (*value < 1 || *value > INT32_MAX))
        status = fail_at(m, kiln__expr_pos(expr), "argument %zu of %s: %s = %" PRId64 " is outside 1 .. %d", m->number,
                         m->kernel, what, *value, INT32_MAX);
    return status;
}

/* Returns a limit of the device. If the device does not know the attribute, returns a value that sets no limit. */
static uint64_t attribute(const making *m, CUdevice_attribute which)
{
    int value = 0;
    if (m->plan->engine->driver.cuDeviceGetAttribute_(&value, which, m->device) != CUDA_SUCCESS)
        return 0;
    return value > 0 ? (uint64_t)value : 0;
}

/* ---- texels ---- */

/* Sets the format, the number of channels and the size of a texel, from the argument and the type of the buffer. */
static kiln_status set_texels(making *m)
{
    static const struct {
        kiln_type type;
        CUarray_format format;
    } formats[] = {{KILN_u8, CU_AD_FORMAT_UNSIGNED_INT8},   {KILN_i8, CU_AD_FORMAT_SIGNED_INT8},
                   {KILN_u16, CU_AD_FORMAT_UNSIGNED_INT16}, {KILN_i16, CU_AD_FORMAT_SIGNED_INT16},
                   {KILN_u32, CU_AD_FORMAT_UNSIGNED_INT32}, {KILN_i32, CU_AD_FORMAT_SIGNED_INT32},
                   {KILN_f16, CU_AD_FORMAT_HALF},           {KILN_f32, CU_AD_FORMAT_FLOAT}};
    const kiln_type type = m->buffer->type;
    const bool real = kiln__type_is_float(type);
    size_t row = 0;
    int64_t channels = 1;
    while (row < KILN__COUNT(formats) && formats[row].type != type)
        row++;
    if (row == KILN__COUNT(formats))
        return fail_at(
            m, m->arg->pos,
            "argument %zu of %s: textures can have elements of type u8, i8, u16, i16, u32, i32, f16 or f32, but '%s' "
            "has %s",
            m->number, m->kernel, m->arg->buffer, kiln__types[type].name);
    kiln_status status = m->written->channels ? evaluate(m, m->written->channels, "channels", &channels) : KILN_OK;
    if (status == KILN_OK && channels != 1 && channels != 2 && channels != 4)
        status = fail_at(m, kiln__expr_pos(m->written->channels),
                         "argument %zu of %s: a texel has 1, 2 or 4 channels, not %" PRId64, m->number, m->kernel,
                         channels);
    if (status == KILN_OK && m->written->as_float && !real && kiln__type_bytes(type) > 2)
        status = fail_at(m, m->written->read_at,
                         "argument %zu of %s: 'read: float' needs integers of 8 or 16 bits, but '%s' has %s", m->number,
                         m->kernel, m->arg->buffer, kiln__types[type].name);
    if (status == KILN_OK && m->written->linear && !real && !m->written->as_float)
        status = fail_at(m, m->written->filter_at,
                         "argument %zu of %s: 'filter: linear' gives floats: '%s' has %s, which needs 'read: float'",
                         m->number, m->kernel, m->arg->buffer, kiln__types[type].name);
    m->key.format = formats[row].format;
    m->key.channels = (uint64_t)channels;
    m->key.texel = (uint64_t)channels * kiln__type_bytes(type);
    m->key.linear = m->written->linear;
    m->key.flags = (real || m->written->as_float ? 0 : CU_TRSF_READ_AS_INTEGER) |
                   (m->written->normalised ? CU_TRSF_NORMALIZED_COORDINATES : 0);
    return status;
}

/* ---- extents ---- */

/* Reads the extents in texels from the spec or from the buffer's shape. The outermost extent comes first. */
static kiln_status read_extents(making *m, uint64_t extents[KILN__TEXTURE_MOST], size_t *count)
{
    const kiln__texture *t = m->written;
    const uint64_t channels = m->key.channels;
    int dims = m->buffer->dims;
    *count = t->shape_count;
    for (size_t i = 0; i < t->shape_count; i++) {
        int64_t value = 1;
        kiln_status status = evaluate(m, t->shape[i], "an extent", &value);
        if (status != KILN_OK)
            return status;
        extents[i] = (uint64_t)value;
    }
    if (t->shape_count)
        return KILN_OK;
    if (channels > 1 && (dims < 2 || m->buffer->shape[dims - 1] != channels))
        return fail_at(m, t->shape_at,
                       "argument %zu of %s: the last extent of '%s' is not %" PRIu64 ", its channels: give the "
                       "texture's 'shape'",
                       m->number, m->kernel, m->arg->buffer, channels);
    dims -= channels > 1;
    if (dims < 1 || dims > KILN__TEXTURE_MOST || m->arg->expr)
        return fail_at(m, t->shape_at, "argument %zu of %s: give the texture's 'shape', 1 to 3 extents", m->number,
                       m->kernel);
    *count = (size_t)dims;
    for (int d = 0; d < dims; d++)
        extents[d] = m->buffer->shape[d];
    return KILN_OK;
}

/* Returns the device attributes that limit the extents. The innermost extent comes first, and the layers come last. */
static const CUdevice_attribute *limits_of(const kiln__texture_key *key)
{
#define LIMIT(name) CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE##name
    static const CUdevice_attribute memory[2][3] = {{LIMIT(1D_LINEAR_WIDTH)},
                                                    {LIMIT(2D_LINEAR_WIDTH), LIMIT(2D_LINEAR_HEIGHT)}};
    static const CUdevice_attribute arrays[3][3] = {
        {LIMIT(1D_WIDTH)}, {LIMIT(2D_WIDTH), LIMIT(2D_HEIGHT)}, {LIMIT(3D_WIDTH), LIMIT(3D_HEIGHT), LIMIT(3D_DEPTH)}};
    static const CUdevice_attribute layers[2][3] = {
        {LIMIT(1D_LAYERED_WIDTH), LIMIT(1D_LAYERED_LAYERS)},
        {LIMIT(2D_LAYERED_WIDTH), LIMIT(2D_LAYERED_HEIGHT), LIMIT(2D_LAYERED_LAYERS)}};
#undef LIMIT
    return key->layered ? layers[key->dims - 1] : key->array ? arrays[key->dims - 1] : memory[key->dims - 1];
}

/* Sets the extents of a texture, with 1 for missing dimensions, and checks them against the limits of the device. */
static kiln_status set_extents(making *m)
{
    const kiln__texture *t = m->written;
    kiln__texture_key *key = &m->key;
    uint64_t extents[KILN__TEXTURE_MOST] = {0};
    size_t count = 0;
    kiln_status status = read_extents(m, extents, &count);
    if (status != KILN_OK)
        return status;
    if (t->layered && count < 2)
        return fail_at(m, t->shape_at,
                       "argument %zu of %s: layers need 2 or 3 extents, and the first extent is the "
                       "number of layers",
                       m->number, m->kernel);
    if (!t->array && count == 3)
        return fail_at(m, t->shape_at, "argument %zu of %s: a texture of 3 extents needs 'array: true'", m->number,
                       m->kernel);
    key->array = t->array;
    key->layered = t->layered;
    key->dims = count - t->layered;
    const CUdevice_attribute *limits = limits_of(key);
    for (size_t d = 0; d < count; d++) {
        const uint64_t most = attribute(m, limits[d]), extent = extents[count - 1 - d];
        if (extent == 0 || (most && extent > most))
            return fail_at(m, t->shape_at,
                           "argument %zu of %s: an extent of the texture is %" PRIu64
                           "; this device allows 1 to %" PRIu64 " there",
                           m->number, m->kernel, extent, most);
    }
    key->extent[0] = extents[count - 1];
    key->extent[1] = key->dims > 1 ? extents[count - 2] : 1;
    key->extent[2] = t->layered || count == 3 ? extents[0] : 1;
    return KILN_OK;
}

/* Sets the distance between two rows, and checks that all rows lie in the buffer. */
static kiln_status set_pitch(making *m)
{
    const kiln__texture *t = m->written;
    kiln__texture_key *key = &m->key;
    const uint64_t dense = key->extent[0] * key->texel, rows = key->extent[1] * key->extent[2];
    const uint64_t bytes = m->buffer->bytes - (key->address - m->buffer->pointer);
    uint64_t end;
    int64_t pitch = 1;
    kiln_status status = t->pitch ? evaluate(m, t->pitch, "pitch", &pitch) : KILN_OK;
    if (status != KILN_OK)
        return status;
    key->pitch = t->pitch ? (uint64_t)pitch * kiln__type_bytes(m->buffer->type) : dense;
    if (key->pitch < dense)
        return fail_at(m, t->pitch_at,
                       "argument %zu of %s: rows %" PRIu64 " bytes apart overlap: each has %" PRIu64 " bytes",
                       m->number, m->kernel, key->pitch, dense);
    if (__builtin_mul_overflow(rows - 1, key->pitch, &end) || __builtin_add_overflow(end, dense, &end) || end > bytes)
        return fail_at(m, t->pitch_at,
                       "argument %zu of %s: the texture covers more than the %" PRIu64
                       " bytes that '%s' has from there on",
                       m->number, m->kernel, bytes, m->arg->text);
    const uint64_t align = attribute(m, CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT);
    if (!key->array && key->dims == 2 && align && key->pitch % align)
        return fail_at(m, t->pitch_at,
                       "argument %zu of %s: rows lie %" PRIu64 " bytes apart, and this device needs a multiple of "
                       "%" PRIu64 ": pad them and give 'pitch', or 'array: true'",
                       m->number, m->kernel, key->pitch, align);
    return KILN_OK;
}

/* ---- accesses outside the texture, and the memory of the texels ---- */

static kiln_status set_address_modes(making *m)
{
    static const CUaddress_mode modes[] = {
#define KILN_X(name, text) [KILN__ADDRESS_##name] = CU_TR_ADDRESS_MODE_##name,
        KILN__ADDRESS_MAP(KILN_X)
#undef KILN_X
    };
    const kiln__texture *t = m->written;
    const size_t dims = (size_t)m->key.dims;
    if (t->address_count > 1 && t->address_count != dims)
        return fail_at(
            m, t->address_at,
            "argument %zu of %s: 'address' needs 1 or %zu words (the dimension of layers needs none), not %zu",
            m->number, m->kernel, dims, t->address_count);
    for (size_t d = 0; d < KILN__TEXTURE_MOST; d++)
        m->key.edge[d] = t->address_count == 0   ? CU_TR_ADDRESS_MODE_CLAMP
                         : t->address_count == 1 ? modes[t->address[0]]
                         : d < dims              ? modes[t->address[dims - 1 - d]]
                                                 : CU_TR_ADDRESS_MODE_CLAMP;
    return KILN_OK;
}

/* Checks the rules for the memory of the texels. One set of rules is for reading a buffer's own memory, another for
 * copying it into a CUDA array.
 */
static kiln_status check_place(making *m)
{
    const kiln__texture *t = m->written;
    const kiln__buffer *buffer = m->buffer->buffer;
    const uint64_t align = attribute(m, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
    if (t->array &&
        (buffer->out || buffer->fill.kind == KILN__FILL_NONE || kiln__variant_writes(m->plan->variant, buffer)))
        return fail_at(m, m->arg->pos,
                       "argument %zu of %s: 'array: true' copies an input before the run, but '%s' has no content, "
                       "is an output, or is written by a step",
                       m->number, m->kernel, m->arg->buffer);
    if (t->array)
        return KILN_OK;
    if (m->key.dims == 1 && (t->linear || t->normalised || t->address_count))
        return fail_at(
            m,
            t->linear       ? t->filter_at
            : t->normalised ? t->normalised_at
                            : t->address_at,
            "argument %zu of %s: kernels read a texture of one extent in plain memory by index (tex1Dfetch), with "
            "zero outside: filters, coordinates and address modes need 'array: true'",
            m->number, m->kernel);
    if (align && m->key.address % align)
        return fail_at(m, m->arg->pos,
                       "argument %zu of %s: '%s' lies at %" PRIu64 " bytes after a multiple of %" PRIu64
                       ", and textures of this device must begin at such a multiple; 'array: true' has no such limit",
                       m->number, m->kernel, m->arg->text, m->key.address % align, align);
    return KILN_OK;
}

/* ---- the texture object ---- */

static CUresult make_array(const kiln__driver *driver, const kiln__texture_key *key, CUarray *array)
{
    const CUDA_ARRAY3D_DESCRIPTOR shape = {.Width = key->extent[0],
                                           .Height = key->dims > 1 ? key->extent[1] : 0,
                                           .Depth = key->layered || key->dims == 3 ? key->extent[2] : 0,
                                           .Format = (CUarray_format)key->format,
                                           .NumChannels = (unsigned)key->channels,
                                           .Flags = key->layered ? CUDA_ARRAY3D_LAYERED : 0};
    return driver->cuArray3DCreate_(array, &shape);
}

/* Makes a texture object over linear memory, pitched memory or a CUDA array. */
static CUresult make_object(const kiln__driver *driver, kiln__plan_texture *made)
{
    const kiln__texture_key *key = &made->key;
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};
    CUDA_TEXTURE_DESC sampling = {
        .filterMode = key->linear ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT,
        .flags = (unsigned)key->flags,
    };
    for (size_t d = 0; d < KILN__COUNT(key->edge); d++)
        sampling.addressMode[d] = (CUaddress_mode)key->edge[d];
    if (key->array) {
        resource.res.array.hArray = made->array;
    } else if (key->dims == 1) {
        resource.resType = CU_RESOURCE_TYPE_LINEAR;
        resource.res.linear.devPtr = key->address;
        resource.res.linear.format = (CUarray_format)key->format;
        resource.res.linear.numChannels = (unsigned)key->channels;
        resource.res.linear.sizeInBytes = key->extent[0] * key->texel;
    } else {
        resource.resType = CU_RESOURCE_TYPE_PITCH2D;
        resource.res.pitch2D.devPtr = key->address;
        resource.res.pitch2D.format = (CUarray_format)key->format;
        resource.res.pitch2D.numChannels = (unsigned)key->channels;
        resource.res.pitch2D.width = key->extent[0];
        resource.res.pitch2D.height = key->extent[1];
        resource.res.pitch2D.pitchInBytes = key->pitch;
    }
    return driver->cuTexObjectCreate_(&made->object, &resource, &sampling, NULL);
}

static void destroy(const kiln_plan *plan, kiln__plan_texture *texture)
{
    if (texture->object)
        plan->engine->driver.cuTexObjectDestroy_(texture->object);
    if (texture->array)
        plan->engine->driver.cuArrayDestroy_(texture->array);
}

/* Returns the texture object with this key. If it does not exist yet, makes the object. */
static kiln_status find_or_make(making *m, uint64_t *object)
{
    kiln_plan *plan = m->plan;
    const kiln__driver *driver = &plan->engine->driver;
    for (size_t i = 0; i < plan->texture_count; i++)
        if (memcmp(&plan->textures[i].key, &m->key, sizeof m->key) == 0) {
            plan->textures[i].needed |= plan->texture_use;
            *object = plan->textures[i].object;
            return KILN_OK;
        }
    if (!kiln__grow(plan->mem, &plan->textures, &plan->texture_capacity, plan->texture_count + 1,
                    sizeof *plan->textures))
        return kiln__fail_memory(m->error);
    kiln__plan_texture made = {.key = m->key, .needed = plan->texture_use};
    CUresult result = m->key.array ? make_array(driver, &m->key, &made.array) : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS)
        result = make_object(driver, &made);
    if (result != CUDA_SUCCESS) {
        destroy(plan, &made);
        return kiln__driver_fail(driver, plan->mem, result, m->error, "argument %zu of %s: making the texture of '%s'",
                                 m->number, m->kernel, m->arg->text);
    }
    plan->textures[plan->texture_count++] = made;
    *object = made.object;
    return KILN_OK;
}

/* Evaluates the key of an argument, and returns the texture object with this key. */
kiln_status kiln__texture_make(kiln_plan *plan, const kiln__argument *arg, const kiln__plan_kernel *kernel,
                               size_t number, const kiln__scope *scope, CUdeviceptr address, uint64_t *object,
                               kiln_error **error)
{
    making m = {.plan = plan,
                .arg = arg,
                .written = arg->texture,
                .scope = scope,
                .buffer = kiln__plan_buffer_named(plan, arg->buffer),
                .kernel = kernel->name,
                .number = number,
                .key.address = address,
                .error = error};
    const kiln__driver *driver = &plan->engine->driver;
    CUresult result = driver->cuCtxGetDevice_(&m.device);
    if (result != CUDA_SUCCESS)
        return kiln__driver_fail(driver, plan->mem, result, error, "asking for the device of a texture");
    kiln_status status = set_texels(&m);
    if (status == KILN_OK)
        status = set_extents(&m);
    if (status == KILN_OK)
        status = set_pitch(&m);
    if (status == KILN_OK)
        status = set_address_modes(&m);
    if (status == KILN_OK)
        status = check_place(&m);
    return status == KILN_OK ? find_or_make(&m, object) : status;
}

/* ---- contents and lifetime ---- */

void kiln__textures_stale(kiln_plan *plan)
{
    for (size_t i = 0; i < plan->texture_count; i++)
        plan->textures[i].filled = false;
}

kiln_status kiln__textures_fill(kiln_plan *plan, CUstream stream, kiln_error **error)
{
    const kiln__driver *driver = &plan->engine->driver;
    for (size_t i = 0; i < plan->texture_count; i++) {
        kiln__plan_texture *texture = &plan->textures[i];
        const kiln__texture_key *key = &texture->key;
        if (!texture->array || texture->filled)
            continue;
        const CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                    .srcDevice = key->address,
                                    .srcPitch = key->pitch,
                                    .srcHeight = key->extent[1],
                                    .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                                    .dstArray = texture->array,
                                    .WidthInBytes = key->extent[0] * key->texel,
                                    .Height = key->extent[1],
                                    .Depth = key->extent[2]};
        CUresult result = driver->cuMemcpy3DAsync_(&copy, stream);
        if (result != CUDA_SUCCESS)
            return kiln__driver_fail(driver, plan->mem, result, error, "copying a buffer into the array of a texture");
        texture->filled = true;
    }
    return KILN_OK;
}

void kiln__textures_begin(kiln_plan *plan, unsigned of)
{
    plan->texture_use = of;
    for (size_t i = 0; i < plan->texture_count; i++)
        plan->textures[i].needed &= ~of;
}

kiln_status kiln__textures_end(kiln_plan *plan, kiln_error **error)
{
    size_t kept = 0, gone = 0;
    for (size_t i = 0; i < plan->texture_count; i++)
        gone += plan->textures[i].needed == 0;
    if (gone == 0)
        return KILN_OK;
    /* waits for earlier launches, because they may still read these textures */
    CUresult result = kiln__limit_wait_all(plan);
    if (result != CUDA_SUCCESS)
        return kiln__limit_fail(plan, result, error, "waiting for launches that use textures");
    for (size_t i = 0; i < plan->texture_count; i++)
        if (plan->textures[i].needed == 0)
            destroy(plan, &plan->textures[i]);
        else
            plan->textures[kept++] = plan->textures[i];
    plan->texture_count = kept;
    return KILN_OK;
}

void kiln__textures_free(kiln_plan *plan)
{
    for (size_t i = 0; i < plan->texture_count; i++)
        destroy(plan, &plan->textures[i]);
    plan->texture_count = 0;
}
