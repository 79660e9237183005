/* quick_internal.h - the fast path of plain accesses (quick.c). */
#ifndef KILN_SIM_CHECK_QUICK_INTERNAL_H
#define KILN_SIM_CHECK_QUICK_INTERNAL_H

#include "vm_checks_internal.h"

/* Returns true if check_quick() may be called: this host has AVX2, and the variable KILN_SIM_ISA does not say
 * `base`. */
bool check_can_quick(void);
/* Checks and records a plain load or store. If `kind` has VM_SEE_CONSTANT, the access is a load of read-only data.
 * Returns true if the access has no defect and was recorded. Returns false if the fast path cannot decide. Then the
 * caller must call check_access(). */
bool check_quick(const vm_warp *w, const vm_code *i, uint32_t m, unsigned kind);
/* Returns true if check_quick() can handle instructions of this kind. */
static inline bool check_is_plain(unsigned kind)
{
    return kind == VM_SEE_LOAD || kind == VM_SEE_STORE || kind == (VM_SEE_LOAD | VM_SEE_SPECIAL | VM_SEE_CONSTANT);
}
/* Does the same as check_quick() for an access of a whole warp in compiled code (vm_hooks.access). */
uint32_t check_compiled_access(vm_warp *w, const vm_code *i);
extern const bool check_has_vectors; /* true if quick.c was compiled for AVX2 */

#endif
