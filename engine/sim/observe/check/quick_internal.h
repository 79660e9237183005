/* quick_internal.h - the fast path of plain accesses (quick.c). */
#ifndef KILN_SIM_CHECK_QUICK_INTERNAL_H
#define KILN_SIM_CHECK_QUICK_INTERNAL_H

#include "vm_checks_internal.h"

/* Returns true if check_quick() may be called: this host has AVX2, and KILN_SIM_ISA is not `base`. */
bool check_can_quick(void);
/* Checks and records a plain load or store. If `kind` has VM_SEE_CONSTANT, it is a load of read-only data. Returns true
 * if the access has no defect and was recorded. Returns false if the fast path cannot decide; check_access() must then
 * check it. */
bool check_quick(const vm_warp *w, const vm_code *i, uint32_t m, unsigned kind);
extern const bool check_has_vectors; /* true if quick.c was compiled for AVX2 */

#endif
