/* texel_format.c - the formats of texels. The functions convert the bits in memory to the values that a kernel sees,
 * and back. */
#include <string.h>

#include "vm_math.h"
#include "vm_ops.h"

/* ---- memory; these functions may race, because the kernel's accesses may race ---- */

VM_RACY uint64_t ops_bits_load(const unsigned char *at, unsigned size)
{
    switch (size) {
    case 1: return *at;
    case 2: return *(const vm_u16 *)(const void *)at;
    case 4: return *(const vm_u32 *)(const void *)at;
    default: return *(const vm_u64 *)(const void *)at;
    }
}

VM_RACY void ops_bits_store(unsigned char *at, unsigned size, uint64_t value)
{
    switch (size) {
    case 1: *at = (uint8_t)value; break;
    case 2: *(vm_u16 *)(void *)at = (uint16_t)value; break;
    case 4: *(vm_u32 *)(void *)at = (uint32_t)value; break;
    default: *(vm_u64 *)(void *)at = value; break;
    }
}

/* ---- formats ---- */

/* Converts an sRGB value to a linear value (IEC 61966-2-1). */
static float linear_of(float c) { return c <= 0.04045f ? c / 12.92f : powf((c + 0.055f) / 1.055f, 2.4f); }

static float fraction_of(const vm_texture *texture, uint32_t bits, unsigned channel)
{
    switch (texture->image.format) {
    case VM_U8: {
        float f = (float)bits / 255.0f;
        return texture->srgb && channel < 3 ? linear_of(f) : f;
    }
    case VM_U16: return (float)bits / 65535.0f;
    case VM_S8: return fmaxf((float)(int8_t)bits / 127.0f, texture->linear ? -2.0f : -1.0f);
    case VM_S16: return fmaxf((float)(int16_t)bits / 32767.0f, texture->linear ? -2.0f : -1.0f);
    case VM_F16: return (float)ops_half_get(PTX_F16, bits);
    default: return vm_float(bits);
    }
}

static uint32_t integer_of(vm_format format, uint32_t bits)
{
    return format == VM_S8    ? (uint32_t)(int32_t)(int8_t)bits
           : format == VM_S16 ? (uint32_t)(int32_t)(int16_t)bits
                              : bits;
}

void ops_texel_read(const vm_texture *texture, const unsigned char *at, vm_texel *texel)
{
    const unsigned size = vm_format_bytes(texture->image.format), channels = texture->image.channels;
    const bool real = vm_format_is_float(texture);
    memset(texel, 0, sizeof *texel); /* channels that the texel does not have are zero */
    for (unsigned k = 0; k < channels; k++) {
        const uint32_t bits = (uint32_t)ops_bits_load(at + k * size, size);
        if (real)
            texel->f[k] = fraction_of(texture, bits, k);
        else
            texel->u[k] = integer_of(texture->image.format, bits);
    }
}

/* Converts a border value to the bits that a kernel reads. A fraction is rounded to the nearest value of the format. A
 * tie is rounded towards zero. For integer formats, the result is the low bits of the float, as on an H200. */
uint32_t ops_texel_border(const vm_texture *texture, float value)
{
    static const float most[VM_FORMATS] = {[VM_U8] = 255, [VM_U16] = 65535, [VM_S8] = 127, [VM_S16] = 32767};
    const vm_format format = texture->image.format;
    const float scale = most[format], least = format == VM_S8 || format == VM_S16 ? -1 : 0;
    if (scale == 0)
        return vm_bits32(value);
    if (!vm_format_is_float(texture))
        return integer_of(format, vm_bits32(value) & (uint32_t)(vm_format_bytes(format) == 1 ? UINT8_MAX : UINT16_MAX));
    value = value > 1 ? 1 : value > least ? value : least;
    return vm_bits32(copysignf(ceilf(fabsf(value) * scale - 0.5f), value) / scale);
}

/* Stores one channel of a texel. The value is an s32, a u32 or an f32, depending on the format. A value that the format
 * cannot hold becomes the nearest value that the format can hold. */
void ops_texel_write(vm_format format, unsigned char *at, uint32_t value)
{
    const int32_t s = (int32_t)value;
    switch (format) {
    case VM_U8: value = value > UINT8_MAX ? UINT8_MAX : value; break;
    case VM_U16: value = value > UINT16_MAX ? UINT16_MAX : value; break;
    case VM_S8: value = (uint32_t)(s < INT8_MIN ? INT8_MIN : s > INT8_MAX ? INT8_MAX : s); break;
    case VM_S16: value = (uint32_t)(s < INT16_MIN ? INT16_MIN : s > INT16_MAX ? INT16_MAX : s); break;
    case VM_F16: value = ops_half_put(PTX_F16, (double)vm_float(value), PTX_MOD_RZ); break;
    default: break;
    }
    ops_bits_store(at, vm_format_bytes(format), value);
}
