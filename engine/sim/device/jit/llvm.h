/* llvm.h - text of LLVM's language to host code, by a libLLVM that is opened at run time. */
#ifndef KILN_SIM_JIT_LLVM_H
#define KILN_SIM_JIT_LLVM_H

#include "base.h"

typedef struct jit_llvm jit_llvm; /* LLVM for one device */
/* The code of one module; freed in one piece. */
typedef struct jit_code jit_code;
typedef struct jit_symbol {
    const char *name;
    uint64_t address; /* 0: no code */
} jit_symbol;

/* NULL: there is none that can be used, the host executes no memory that was written, or there is no memory. isa: as
 * KILN_SIM_ISA, NULL: all that the host has. */
jit_llvm *jit_llvm_open(const kiln_allocator *mem, const char *isa);
void jit_llvm_close(jit_llvm *llvm); /* NULL: nothing */
const char *jit_llvm_name(const jit_llvm *llvm);
bool jit_llvm_alive(void); /* this process may call LLVM: it has not failed, and the process is not exiting */
bool jit_llvm_typed(const jit_llvm *llvm); /* pointers have types: it is older than version 16 */
bool jit_llvm_wide(const jit_llvm *llvm);  /* registers of 512 bits */

jit_code *jit_code_new(jit_llvm *llvm);
void jit_code_free(jit_llvm *llvm, jit_code *code);
/* Adds a module, and fills in where its functions are. False: it was refused. */
bool jit_code_add(jit_llvm *llvm, jit_code *code, const char *text, size_t length, jit_symbol *symbols, unsigned count);

#endif
