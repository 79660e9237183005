/* texture_handle.c - finds the texture or surface object of a kernel's handle, and checks that the instruction fits
 * it. */
#include <inttypes.h>

#include "vm_fault.h"
#include "vm_memory.h"
#include "vm_ops.h"

static const char *name_of(const vm_warp *w, const vm_code *i)
{
    return ptx_op_name((ptx_op)w->frame->function->ptx->insns[i->insn].op);
}

const vm_texture *ops_texture_of(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t handle, bool surface)
{
    const vm_texture *texture = vm_texture_find(w->runner->run->device, handle);
    const char *wanted = surface ? "surface" : "texture", *other = surface ? "texture" : "surface", *op = name_of(w, i);
    if (!texture)
        vm_fault_raise(w, i, lane, VM_FAULT_ADDRESS, handle, 0,
                       "%s with 0x%" PRIx64 ", which is not the handle of a %s "
                       "object",
                       op, handle, wanted);
    else if (texture->surface != surface)
        vm_fault_raise(w, i, lane, VM_FAULT_ADDRESS, handle, 0,
                       "%s with the handle of a %s object instead of a %s "
                       "object",
                       op, other, wanted);
    else if (texture->stale)
        vm_fault_raise(w, i, lane, VM_FAULT_ADDRESS, handle, 0, "%s on a %s object whose array was destroyed", op,
                       wanted);
    else
        return texture;
    return NULL;
}

bool ops_texture_fits(vm_warp *w, const vm_code *i, uint32_t lane, const vm_image *image)
{
    static const char *const names[] = {"1d", "2d", "3d", "cube"};
    const vm_lookup *l = i->extra;
    /* A cubemap's faces are also the layers of a 2-D array. Instructions on surfaces access a cubemap as a 2-D array of
     * faces. */
    const bool fits = l->geometry == VM_GEOMETRY_CUBE ? image->cube : image->dims == l->geometry + 1u;
    if (!fits)
        vm_fault_raise(w, i, lane, VM_FAULT_ADDRESS, 0, 0, "%s.%s%s of a %s%s with %u dimension%s", name_of(w, i),
                       l->layer != VM_NO_SLOT ? "a" : "", names[l->geometry], image->cube ? "cubemap" : "resource",
                       image->layers && !image->cube ? " of layers" : "", image->dims, image->dims == 1 ? "" : "s");
    return fits;
}
