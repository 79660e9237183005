/* llvm.h - compiles text of LLVM IR to host code, with a libLLVM that is opened at run time. */
#ifndef KILN_SIM_JIT_LLVM_H
#define KILN_SIM_JIT_LLVM_H

#include "base.h"

typedef struct jit_llvm jit_llvm; /* one device's use of LLVM */
/* The host code of one module of PTX. jit_code_free() frees all of it. */
typedef struct jit_code jit_code;
typedef struct jit_symbol {
    const char *name;
    uint64_t address; /* the address of the symbol's code; 0 if the symbol has no code */
} jit_symbol;

/* Opens LLVM. `isa` is the value of KILN_SIM_ISA; NULL allows all instructions of the host. Returns NULL if no
 * supported LLVM is found, if the host does not execute memory that the process has written, or if memory runs out. */
jit_llvm *jit_llvm_open(const kiln_allocator *mem, const char *isa);
void jit_llvm_close(jit_llvm *llvm); /* does nothing if `llvm` is NULL */
const char *jit_llvm_name(const jit_llvm *llvm);
/* Returns false after a fatal error of LLVM, while the process exits, and in a process that was forked. */
bool jit_llvm_alive(void);
bool jit_llvm_typed(const jit_llvm *llvm); /* Returns true if pointers in LLVM IR have types, as before version 16. */
bool jit_llvm_wide(const jit_llvm *llvm);  /* Returns true if the host's registers of 512 bits may be used. */

jit_code *jit_code_new(jit_llvm *llvm);
void jit_code_free(jit_llvm *llvm, jit_code *code);
/* Compiles a text, adds it to `code`, and sets the addresses of the `count` symbols. Returns false if LLVM refuses the
 * text. */
bool jit_code_add(jit_llvm *llvm, jit_code *code, const char *text, size_t length, jit_symbol *symbols, unsigned count);

#endif
