/* shadow_internal.h - shadow memory, and the tables of patterns (shadow.c). */
#ifndef KILN_SIM_CHECK_SHADOW_INTERNAL_H
#define KILN_SIM_CHECK_SHADOW_INTERNAL_H

#include "vm_checks_internal.h"

/* Allocates lines that have no marks. Returns NULL if memory runs out. */
vm_line *check_lines_new(const kiln_allocator *mem, size_t count);
/* Frees lines, and subtracts the cells of open lines from check->cell_bytes. NULL is allowed. */
void check_lines_free(vm_check *check, const kiln_allocator *mem, vm_line *lines, size_t count);
/* Returns the number of lines of a page of the shadow. */
static inline size_t check_page_lines(const vm_shadow *shadow) { return (VM_SHADOW_PAGE >> shadow->shift) / VM_LINE; }
/* Allocates the shadow memory of `bytes` bytes. If `written` is true, all bytes count as written. Returns NULL if
 * memory runs out. */
vm_shadow *check_shadow_new(vm_check *check, uint64_t bytes, bool written);
void check_shadow_free(vm_check *check, vm_shadow *shadow, uint64_t bytes);
/* Forgets all accesses, but remembers which bytes were written. */
void check_shadow_renew(vm_check *check, vm_shadow *shadow, uint64_t bytes);
/* Marks bytes as written. */
void check_shadow_write(vm_shadow *shadow, uint64_t offset, uint64_t bytes);
/* Frees the data that quick.c has computed for a pattern. */
void check_parts_drop(vm_check *check, vm_pattern *p);

#endif
