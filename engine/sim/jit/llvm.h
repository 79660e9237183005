/* llvm.h - text of LLVM's language to host code, by a libLLVM that is opened at run time. */
#ifndef KILN_SIM_JIT_LLVM_H
#define KILN_SIM_JIT_LLVM_H

#include "base.h"

typedef struct jit_llvm jit_llvm; /* used by one thread at a time */
/* The code of one module; freed in one piece. */
typedef struct jit_code jit_code;

/* NULL: there is none that can be used, or no memory. isa: as KILN_SIM_ISA, NULL: all that the host has. */
jit_llvm *jit_llvm_open(const kiln_allocator *mem, const char *isa);
void jit_llvm_close(jit_llvm *llvm);       /* NULL: nothing */
bool jit_llvm_typed(const jit_llvm *llvm); /* pointers have types: it is older than version 16 */
bool jit_llvm_wide(const jit_llvm *llvm);  /* registers of 512 bits */

jit_code *jit_code_new(jit_llvm *llvm);
void jit_code_free(jit_llvm *llvm, jit_code *code);
/* Adds a module. False: it was refused. */
bool jit_code_add(jit_llvm *llvm, jit_code *code, const char *text, size_t length);
/* The address of a function; 0: there is none. */
uint64_t jit_code_find(jit_llvm *llvm, jit_code *code, const char *name);

#endif
