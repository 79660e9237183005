/* uninitialised.c - reads of memory that nothing has written. Global memory has a bit for each byte (shadow.c); shared
 * memory was written if its cell's last write is of this block (see_shared() in access.c). */
#include <inttypes.h>

#include "vm_checks_internal.h"

void vm_check_unwritten(vm_look *k, uint32_t lane, uint32_t lanes, bool note)
{
    kiln_check_finding *f = vm_check_start(k, KILN_CHECK_UNINITIALISED, note, VM_NO_INSN, lane, lanes);
    if (!f)
        return;
    f->allocation = vm_check_describe(k, lane);
    f->message = vm_check_print(k->check, "%s at %s address 0x%" PRIx64 ", %swhich was never written, %s", f->at.what,
                                f->space, f->address, note ? "some of " : "", f->allocation);
}

void vm_check_written(vm_look *k, vm_shadow *shadow, uint64_t offset, uint32_t lane, uint32_t lanes)
{
    unsigned found = 0, bytes = k->a->bytes;
    for (uint64_t at = offset; at < offset + bytes; at++)
        found += (unsigned)(shadow->written[at / 64] >> at % 64 & 1);
    if (found < bytes)
        vm_check_unwritten(k, lane, lanes, found != 0);
}
