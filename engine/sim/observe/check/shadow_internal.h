/* shadow_internal.h - shadow memory, and the tables of patterns (shadow.c). */
#ifndef KILN_SIM_CHECK_SHADOW_INTERNAL_H
#define KILN_SIM_CHECK_SHADOW_INTERNAL_H

#include "vm_checks_internal.h"

/* Allocates groups of cells, all zero, each at the beginning of a cache line. Returns NULL if memory runs out. */
vm_cells *check_cells_new(const kiln_allocator *mem, size_t groups);
void check_cells_free(const kiln_allocator *mem, vm_cells *cells); /* Frees groups of cells. NULL is allowed. */
/* Allocates the shadow memory of `bytes` bytes. If `written` is true, all bytes count as written. Returns NULL if
 * memory runs out. */
vm_shadow *check_shadow_new(vm_check *check, uint64_t bytes, bool written);
void check_shadow_free(vm_check *check, vm_shadow *shadow, uint64_t bytes);
/* Forgets all accesses, but keeps the information which bytes were written. */
void check_shadow_renew(vm_check *check, vm_shadow *shadow, uint64_t bytes);
/* Marks bytes as written. */
void check_shadow_write(vm_shadow *shadow, uint64_t offset, uint64_t bytes);
/* Frees the data that quick.c has made for a pattern. */
void check_parts_drop(vm_check *check, vm_pattern *p);

#endif
