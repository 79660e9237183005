/* jit.h - the compiler of hot code: vm_jit.h says what it does for the interpreter. */
#ifndef KILN_SIM_JIT_H
#define KILN_SIM_JIT_H

#include "vm_jit.h"

/* Gives the device a compiler, which opens LLVM when code is hot; without LLVM the device goes on interpreting. threshold:
 * as in vm_jit.h; 0: no compiler. False: out of memory. */
bool sim_jit_open(vm_device *device, uint32_t threshold);
uint64_t sim_jit_regions(const vm_device *device); /* how many were made */
bool sim_jit_usable(vm_device *device);            /* there is a compiler, and LLVM; opens it */

/* The library that compiles hot code; NULL: there is none that can be used here. Opens it. */
const char *sim_jit_library(const kiln_allocator *mem);

#endif
