/* llvm.h - compiles text in LLVM's language to host code, by a libLLVM that is opened at run time. */
#ifndef KILN_SIM_JIT_LLVM_H
#define KILN_SIM_JIT_LLVM_H

#include "base.h"

typedef struct jit_llvm jit_llvm; /* LLVM for one device */
/* The host code of one module of PTX. It is freed as a whole. */
typedef struct jit_code jit_code;
typedef struct jit_symbol {
    const char *name;
    uint64_t address; /* 0 if it has no code */
} jit_symbol;

/* Opens LLVM. `isa` is the value of KILN_SIM_ISA; NULL allows all instructions of the host. Returns NULL if there is no
 * LLVM that can be used, if the host does not execute memory that was written, or if memory runs out. */
jit_llvm *jit_llvm_open(const kiln_allocator *mem, const char *isa);
void jit_llvm_close(jit_llvm *llvm); /* does nothing for NULL */
const char *jit_llvm_name(const jit_llvm *llvm);
/* Returns false after a fatal error of LLVM, while the process exits, and in a process that was forked. */
bool jit_llvm_alive(void);
bool jit_llvm_typed(const jit_llvm *llvm); /* Returns true if pointers have types, as before version 16. */
bool jit_llvm_wide(const jit_llvm *llvm);  /* Returns true if registers of 512 bits may be used. */

jit_code *jit_code_new(jit_llvm *llvm);
void jit_code_free(jit_llvm *llvm, jit_code *code);
/* Compiles a text, adds it to `code`, and sets the addresses of the `count` symbols. Returns false if LLVM refused
 * it. */
bool jit_code_add(jit_llvm *llvm, jit_code *code, const char *text, size_t length, jit_symbol *symbols, unsigned count);

#endif
