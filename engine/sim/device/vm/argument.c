/* argument.c - reads the arguments and writes the results of functions that the simulator provides. */
#include <string.h>

#include "vm_builtin.h"
#include "vm_hooks.h"
#include "vm_runtime.h"

uint64_t vm_argument(vm_warp *w, const vm_call *call, uint32_t lane, uint32_t index)
{
    const vm_transfer *t = &call->arguments[index];
    uint64_t value = 0;
    if (t->is_register)
        return t->wide ? vm_r64(w, t->slot)[lane] : vm_r32(w, t->slot)[lane];
    memcpy(&value, w->frame->vars + lane * (size_t)w->frame->function->ptx->frame_bytes + t->from,
           t->bytes > 8 ? 8 : t->bytes);
    return value;
}

/* Copies an argument that was passed as an array of bytes. If the argument was passed in another way, fills `out` with
 * zeros. */
void vm_argument_bytes(const vm_warp *w, const vm_call *call, uint32_t lane, uint32_t index, void *out, size_t bytes)
{
    const vm_transfer *t = &call->arguments[index];
    memset(out, 0, bytes);
    if (!t->is_register && t->bytes <= bytes)
        memcpy(out, w->frame->vars + lane * (size_t)w->frame->function->ptx->frame_bytes + t->from, t->bytes);
}

void vm_answer(vm_warp *w, const vm_call *call, uint32_t lane, uint64_t value)
{
    if (call->result_count == 0)
        return;
    const vm_transfer *t = &call->results[0];
    if (t->is_register && t->wide)
        vm_r64(w, t->slot)[lane] = value;
    else if (t->is_register)
        vm_r32(w, t->slot)[lane] = (uint32_t)value;
    else
        memcpy(w->frame->vars + lane * (size_t)w->frame->function->ptx->frame_bytes + t->from, &value,
               t->bytes > 8 ? 8 : t->bytes);
}
