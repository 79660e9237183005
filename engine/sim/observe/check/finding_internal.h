/* finding_internal.h - findings (finding.c). */
#ifndef KILN_SIM_CHECK_FINDING_INTERNAL_H
#define KILN_SIM_CHECK_FINDING_INTERNAL_H

#include "look_internal.h"

/* Looks up the finding of the launched module at the instructions (insn, other). If the finding exists, counts it and
 * returns NULL. Otherwise returns a new finding. Its kernel, its places and the thread of its example are set. The
 * caller sets the other members, with texts from check_print(). Returns NULL also if there is no room for another
 * finding. */
kiln_check_finding *check_find_finding(vm_warp *w, kiln_check_kind kind, bool note, uint32_t insn, uint32_t other,
                                       uint32_t lane, unsigned times);
/* Formats a text and stores it in the check's arena. Returns an empty text if memory runs out. */
const char *check_print(vm_check *check, const char *format, ...) KILN__PRINTF(2, 3);
/* Returns the function that holds the instruction with this number, or NULL. */
const vm_function *check_function_of(const vm_module *module, uint32_t insn);
/* Sets source file, line and inlining of one side of a finding from the debug information of the instruction. */
void check_side_place(vm_check *check, const vm_module *module, uint32_t insn, kiln_check_side *side);
/* Sets block and thread of one side of a finding from the epoch of the access. */
void check_side_thread(const vm_warp *w, const vm_mark *s, kiln_check_side *side);
/* Does the same as check_find_finding() for a finding about the work of the host, which has no instruction. `key` takes
 * the place of the instruction. */
kiln_check_finding *check_host_finding(vm_check *check, kiln_check_kind kind, bool note, uint64_t key);
/* Finds the named buffer that contains the global address of the finding or lies beside it, and stores the buffer's
 * name in the finding. */
void check_label(vm_check *check, vm_device *device, kiln_check_finding *f);
/* Starts a finding about some lanes of an access. Calls check_find_finding(), and sets kind, space, address and size in
 * a new finding. */
kiln_check_finding *check_start(vm_look *k, kiln_check_kind kind, bool note, uint32_t other, uint32_t lane,
                                uint32_t lanes);
/* Reports the fault that ended a launch, if nothing else has reported it. */
void check_end_launch(vm_run_state *run);

#endif
