/* vm_fault.h - raises and describes faults (fault.c). */
#ifndef KILN_SIM_VM_FAULT_H
#define KILN_SIM_VM_FAULT_H

#include "vm_machine.h"

/* Records a fault of a lane at an instruction, with a message, and stops the launch. Only the first fault of a launch
 * is kept. */
void vm_fault_raise(vm_warp *w, const vm_code *i, uint32_t lane, vm_fault_kind kind, uint64_t address, uint32_t bytes,
                    const char *format, ...) KILN__PRINTF(7, 8);
/* Names the rule of tensor memory that the warp's fault breaks. Call this function after vm_fault_raise(). */
void vm_fault_breaks(vm_warp *w, vm_tensor_rule rule);
/* Sets the kernel, the block and the lines of a fault at an instruction. */
void vm_fault_at(const vm_warp *w, const vm_frame *frame, const vm_code *i, vm_fault *fault);
/* sets only the source lines of a fault */
void vm_fault_in(const vm_function *function, const vm_code *i, vm_fault *fault);

#endif
