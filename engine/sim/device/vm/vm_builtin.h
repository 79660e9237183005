/* vm_builtin.h - functions that device code calls and that the simulator provides (builtin.c, argument.c). */
#ifndef KILN_SIM_VM_BUILTIN_H
#define KILN_SIM_VM_BUILTIN_H

#include "vm_machine.h"

typedef enum vm_builtin {
    VM_BUILTIN_PRINTF,
    VM_BUILTIN_ASSERT,
    VM_BUILTIN_MALLOC,
    VM_BUILTIN_FREE,
    VM_BUILTINS
} vm_builtin;
/* Returns the number of the built-in function + 1, or 0 if no built-in function has this name. */
uint32_t vm_builtin_find(const char *name);
void vm_builtin_run(vm_warp *w, const vm_code *i, uint32_t m);
/* returns an argument of a call to a builtin */
uint64_t vm_argument(vm_warp *w, const vm_call *call, uint32_t lane, uint32_t index);
void vm_argument_bytes(const vm_warp *w, const vm_call *call, uint32_t lane, uint32_t index, void *out, size_t bytes);
void vm_answer(vm_warp *w, const vm_call *call, uint32_t lane, uint64_t value);

#endif
