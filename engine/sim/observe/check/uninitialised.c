/* uninitialised.c - reads of memory that nothing has written. Global memory (in shadow.c) and local memory (in this
 * file) have a bit for each byte. Shared memory needs no bits: check_shared() of access.c tests whether the last write
 * of a cell is newer than the block's start. */
#include <inttypes.h>
#include <string.h>

#include "bounds_internal.h"
#include "finding_internal.h"
#include "look_internal.h"
#include "uninitialised_internal.h"
#include "vm_checks_internal.h"

void check_unwritten(vm_look *k, uint32_t lane, uint32_t lanes, bool note)
{
    kiln_check_finding *f = check_start(k, KILN_CHECK_UNINITIALISED, note, VM_NO_INSN, lane, lanes);
    if (!f)
        return;
    f->allocation = check_describe(k, lane);
    f->message = check_print(k->check, "%s at %s address 0x%" PRIx64 ", %swhich was never written, %s", f->at.what,
                             f->space, f->address, note ? "some of " : "", f->allocation);
}

/* Counts how many bytes of the access were written. If some of the bytes were written, the finding is a note, because
 * compilers load padding together with data. */
void check_written(vm_look *k, vm_shadow *shadow, uint64_t offset, uint32_t lane, uint32_t lanes)
{
    unsigned found = 0, bytes = k->a->bytes;
    for (uint64_t at = offset; at < offset + bytes; at++)
        found += (unsigned)(shadow->written[at / 64] >> at % 64 & 1);
    if (found < bytes)
        check_unwritten(k, lane, lanes, found != 0);
}

/* ---- local memory ----
 *
 * The bits are cleared when the block begins. The frame of a called function reuses the memory of earlier calls, so the
 * checks miss some reads of unwritten variables there. */

static size_t first_bit(const vm_warp *w, uint32_t lane, uint64_t at)
{
    return (size_t)(w->index * VM_LANES + lane) * w->runner->run->local_bytes + (size_t)at;
}

/* The cost is charged to the step budget of the instruction, because a thread may have 512 KiB of local memory. */
void check_local_known(vm_warp *w, uint32_t lanes)
{
    vm_check_block *b = w->block->check;
    VM_EACH(lane, b->local_written ? lanes : 0) {
        size_t n = first_bit(w, lane, 0), end = first_bit(w, lane + 1, 0);
        vm_charge(w, (end - n) >> 14);
        for (size_t count; n < end; n += count) { /* word by word */
            count = 64 - n % 64 < end - n ? 64 - n % 64 : end - n;
            b->local_written[n / 64] |= UINT64_MAX >> (64 - count) << n % 64;
        }
    }
}

/* Returns true if the address belongs to a parameter of a call in local memory. The call itself has written this
 * parameter. The cost of the search is charged to the step budget of the instruction, because calls may be nested, and
 * functions may have many parameters. */
static bool is_parameter(vm_warp *w, uint64_t at)
{
    for (const vm_frame *frame = w->frame; frame; frame = frame->caller) {
        const vm_module *module = frame->function->module;
        const ptx_function *f = frame->function->ptx;
        vm_charge(w, frame->function->has_homes ? (f->param_count + f->return_count) >> 8 : 0);
        for (uint32_t k = 0; frame->function->has_homes && k < f->param_count + f->return_count; k++) {
            const uint32_t symbol = f->params[k];
            if (module->home[symbol] &&
                at - frame->local_base - module->address[symbol] < module->ptx->symbols[symbol].bytes)
                return true;
        }
    }
    return false;
}

/* Reports reads of unwritten bytes, and marks the bytes of a write as written, in one pass over the lanes. If some
 * bytes of a read were written, the finding is a note. */
void check_local(vm_look *k)
{
    const vm_check_block *b = k->w->block->check;
    const unsigned bytes = k->a->bytes;
    uint32_t none = 0, some = 0;
    if (!b->local_written)
        return;
    VM_EACH(lane, k->a->lanes) {
        const size_t from = first_bit(k->w, lane, k->a->address[lane]);
        unsigned found = 0;
        for (size_t n = from; n < from + bytes; n++) {
            found += (unsigned)(b->local_written[n / 64] >> n % 64 & 1);
            b->local_written[n / 64] |= k->write ? (uint64_t)1 << n % 64 : 0;
        }
        if (found < bytes && k->a->kind & VM_READS && !is_parameter(k->w, k->a->address[lane]))
            *(found ? &some : &none) |= 1u << lane;
    }
    if (none)
        check_unwritten(k, (uint32_t)__builtin_ctz(none), none, false);
    if (some)
        check_unwritten(k, (uint32_t)__builtin_ctz(some), some, true);
}
