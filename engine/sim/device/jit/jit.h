/* jit.h - the compiler of hot code. vm_jit.h is its contract with the interpreter. */
#ifndef KILN_SIM_JIT_H
#define KILN_SIM_JIT_H

#include "vm_jit.h"

/* Gives the device a compiler, which opens LLVM when code is hot. Returns false if memory runs out. Without LLVM, the
 * device interprets all code. `threshold` is vm_jit.threshold (vm_jit.h); 0 means that the device gets no compiler. */
bool sim_jit_open(vm_device *device, uint32_t threshold);
uint64_t sim_jit_regions(const vm_device *device); /* Returns how many regions the device's compiler has made. */
/* Opens LLVM. Returns true if the device has a compiler and LLVM is usable. */
bool sim_jit_usable(vm_device *device);

/* Opens LLVM and returns the name of its library. Returns NULL if no LLVM is usable here. */
const char *sim_jit_library(const kiln_allocator *mem);

#endif
