/* surface.c - surface loads, stores and reductions, lane by lane. The coordinate x of an access counts bytes. In sust.p
 * the coordinate x counts texels. In sured.p it counts words of the operation's size. With .trap, an access outside of
 * the surface is a fault. With .clamp, such an access goes to the nearest place inside of the surface. With .zero, such
 * an access has no effect. */
#include <inttypes.h>

#include "vm_fault.h"
#include "vm_ops.h"

/* Returns the host address of a lane's access. Returns NULL for an access with .zero outside of the surface. After a
 * fault, sets *failed and returns NULL. */
static unsigned char *reach(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t bytes, const vm_image **image_out,
                            bool *failed)
{
    const vm_lookup *l = i->extra;
    const vm_texture *t = ops_texture_of(w, i, lane, vm_r64(w, l->object)[lane], true);
    *failed = true;
    if (!t || !ops_texture_fits(w, i, lane, &t->image))
        return NULL;
    const vm_image *image = &t->image;
    const vm_level *level = &image->levels[0];
    const uint32_t texel = vm_format_bytes(image->format) * image->channels;
    const int64_t row = (int64_t)level->size[0] * texel, step = !l->formatted ? 1 : l->operation ? i->size : texel;
    /* the number of bytes that the access covers */
    const uint32_t width = l->formatted && !l->operation ? texel : bytes;
    const uint32_t layer = l->layer == VM_NO_SLOT ? 0 : vm_r32(w, l->layer)[lane];
    int64_t at[4] = {0}, most[4] = {row - width, (int64_t)level->size[1] - 1, (int64_t)level->size[2] - 1,
                                    image->layers ? (int64_t)image->layers - 1 : 0};
    for (unsigned k = 0; k < 3 && l->at[k] != VM_NO_SLOT; k++)
        at[k] = (int32_t)vm_r32(w, l->at[k])[lane] * (k == 0 ? step : 1);
    at[3] = layer;
    const char *op = ptx_op_name((ptx_op)w->frame->function->ptx->insns[i->insn].op);
    if (at[0] % width != 0) {
        vm_fault_raise(w, i, lane, VM_FAULT_MISALIGNED, (uint64_t)at[0], width,
                       "misaligned %s of %u bytes at byte %" PRId64 " of a surface's row", op, width, at[0]);
        return NULL;
    }
    if (most[0] > 0)
        most[0] -= most[0] % width;
    bool inside = true;
    for (unsigned k = 0; k < 4; k++) {
        if (at[k] >= 0 && at[k] <= most[k])
            continue;
        if (l->edge == PTX_MOD_CLAMP && most[k] >= 0)
            at[k] = at[k] < 0 ? 0 : most[k];
        else
            inside = false;
    }
    if (!inside && l->edge != PTX_MOD_ZERO) {
        vm_fault_raise(w, i, lane, VM_FAULT_ADDRESS, (uint64_t)at[0], width,
                       "%s of %u bytes at byte %" PRId64 " of row %" PRId64 ", plane %" PRId64 ", layer %" PRId64
                       " is outside a surface of %" PRId64 " bytes per row, "
                       "%u rows, %u planes, %u layers",
                       op, width, at[0], at[1], at[2], at[3], row, level->size[1], level->size[2],
                       image->layers ? image->layers : 1);
        return NULL;
    }
    *failed = false;
    *image_out = image;
    return inside ? image->host + level->offset + (uint64_t)(at[2] + at[3]) * level->slice +
                        (uint64_t)at[1] * level->pitch + (uint64_t)at[0]
                  : NULL;
}

void ops_surface_load(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_lookup *l = i->extra;
    VM_EACH(lane, m) {
        const vm_image *image;
        bool failed;
        const unsigned char *p = reach(w, i, lane, (uint32_t)i->size * l->count, &image, &failed);
        if (failed)
            return;
        for (unsigned k = 0; k < l->count; k++) {
            const uint64_t value = p ? ops_bits_load(p + k * i->size, i->size) : 0;
            if (l->values[k] == VM_NO_SLOT)
                continue;
            if (l->wide[k])
                vm_r64(w, l->values[k])[lane] = value;
            else
                vm_r32(w, l->values[k])[lane] = (uint32_t)value;
        }
    }
}

void ops_surface_store(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_lookup *l = i->extra;
    VM_EACH(lane, m) {
        const vm_image *image;
        bool failed;
        unsigned char *p = reach(w, i, lane, (uint32_t)i->size * l->count, &image, &failed);
        if (failed)
            return;
        for (unsigned k = 0; p && k < (l->formatted ? image->channels : l->count); k++) {
            const bool given = k < l->count; /* the values that a formatted store does not give are zero */
            if (l->formatted)
                ops_texel_write(image->format, p + k * vm_format_bytes(image->format),
                                given ? vm_r32(w, l->values[k])[lane] : 0);
            else
                ops_bits_store(p + k * i->size, i->size,
                               i->flags & VM_REG64 ? vm_r64(w, l->values[k])[lane] : vm_r32(w, l->values[k])[lane]);
        }
    }
}

/* Returns the type in which a reduction computes. */
static unsigned reduction_type(const vm_lookup *l, const vm_image *image, unsigned size)
{
    if (!l->formatted)
        return l->type;
    if (size == 8)
        return image->format == VM_S32 ? PTX_S64 : PTX_U64;
    return image->format == VM_S32 ? PTX_S32 : PTX_U32;
}

void ops_surface_reduce(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_lookup *l = i->extra;
    VM_EACH(lane, m) {
        const vm_image *image;
        bool failed;
        unsigned char *p = reach(w, i, lane, i->size, &image, &failed);
        if (failed)
            return;
        if (!p)
            continue;
        if (l->formatted && vm_format_bytes(image->format) * image->channels < i->size) {
            vm_fault_raise(w, i, lane, VM_FAULT_ADDRESS, 0, i->size,
                           "sured.p of %u bytes on a surface whose texels have "
                           "%u",
                           i->size, vm_format_bytes(image->format) * image->channels);
            return;
        }
        const uint64_t value = i->flags & VM_REG64 ? vm_r64(w, l->values[0])[lane] : vm_r32(w, l->values[0])[lane];
        ops_atomic_update(i, p, reduction_type(l, image, i->size), l->operation, value, 0);
    }
}
