/* llvm.c - LLVM by dlopen. Its C API is documented (llvm.org/doxygen, LLVM-C) and keeps its functions over many
 * versions; the few that are used are declared here, so that building Kiln needs no LLVM. */
#include "llvm.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef struct opaque opaque; /* any object of LLVM's */

#if defined(__aarch64__)
#define TARGET(name) "LLVMInitializeAArch64" name
#else
#define TARGET(name) "LLVMInitializeX86" name
#endif

enum { OBJECT_FILE = 1, OPTIMISE = 2, RELOC_PIC = 2, CODE_JIT = 1 };

#define FUNCTIONS(X)                                                                                                   \
    X(opaque *, LLVMContextCreate, (void))                                                                             \
    X(void, LLVMContextDispose, (opaque * context))                                                                    \
    X(opaque *, LLVMCreateMemoryBufferWithMemoryRangeCopy, (const char *data, size_t size, const char *name))          \
    X(int, LLVMParseIRInContext, (opaque * context, opaque * buffer, opaque * *module, char **message))                \
    X(void, LLVMDisposeModule, (opaque * module))                                                                      \
    X(void, LLVMDisposeMessage, (char *message))                                                                       \
    X(char *, LLVMGetDefaultTargetTriple, (void))                                                                      \
    X(char *, LLVMGetHostCPUName, (void))                                                                              \
    X(char *, LLVMGetHostCPUFeatures, (void))                                                                          \
    X(int, LLVMGetTargetFromTriple, (const char *triple, opaque **target, char **message))                             \
    X(opaque *, LLVMCreateTargetMachine,                                                                               \
      (opaque * target, const char *triple, const char *cpu, const char *features, int level, int reloc, int model))   \
    X(opaque *, LLVMCreateTargetDataLayout, (opaque * machine))                                                        \
    X(void, LLVMDisposeTargetData, (opaque * layout))                                                                  \
    X(void, LLVMSetModuleDataLayout, (opaque * module, opaque * layout))                                               \
    X(void, LLVMSetTarget, (opaque * module, const char *triple))                                                      \
    X(void, LLVMDisposeTargetMachine, (opaque * machine))                                                              \
    X(int, LLVMTargetMachineEmitToMemoryBuffer,                                                                        \
      (opaque * machine, opaque * module, int kind, char **message, opaque **buffer))                                  \
    X(opaque *, LLVMCreatePassBuilderOptions, (void))                                                                  \
    X(void, LLVMDisposePassBuilderOptions, (opaque * options))                                                         \
    X(opaque *, LLVMRunPasses, (opaque * module, const char *passes, opaque *machine, opaque *options))                \
    X(char *, LLVMGetErrorMessage, (opaque * error))                                                                   \
    X(void, LLVMDisposeErrorMessage, (char *message))                                                                  \
    X(opaque *, LLVMOrcCreateLLJIT, (opaque * *jit, opaque * builder))                                                 \
    X(opaque *, LLVMOrcDisposeLLJIT, (opaque * jit))                                                                   \
    X(opaque *, LLVMOrcLLJITGetMainJITDylib, (opaque * jit))                                                           \
    X(opaque *, LLVMOrcLLJITAddObjectFile, (opaque * jit, opaque * library, opaque * buffer))                          \
    X(opaque *, LLVMOrcLLJITLookup, (opaque * jit, uint64_t * address, const char *name))

/* Newest first. Each of these has run the suites, others have not: LLVM ends the process where it sees an error of ours. */
static const char *const names[] = {"libLLVM.so.19.1", "libLLVM-16.so.1", "libLLVM-15.so.1", "libLLVM-14.so.1"};

struct jit_llvm {
    const kiln_allocator *mem;
    void *library;
    opaque *machine;
    unsigned major; /* of its version; 0: before 16 */
    bool wide;
#define X(result, name, arguments) result(*name) arguments;
    FUNCTIONS(X)
#undef X
};

struct jit_code {
    opaque *jit;
};

static bool load(void *library, const char *name, void *pointer)
{
    void *symbol = dlsym(library, name);
    memcpy(pointer, &symbol, sizeof symbol); /* ISO C casts no data pointer to a function */
    return symbol != NULL;
}

static bool fill(jit_llvm *llvm)
{
    bool all = true;
#define X(result, name, arguments) all = load(llvm->library, #name, &llvm->name) && all;
    FUNCTIONS(X)
#undef X
    static const char *const begin[] = {TARGET("TargetInfo"), TARGET("Target"), TARGET("TargetMC"),
                                        TARGET("AsmPrinter")};
    for (size_t k = 0; k < KILN__COUNT(begin); k++) {
        void (*call)(void);
        if (load(llvm->library, begin[k], &call))
            call();
        else
            all = false;
    }
    void (*version)(unsigned *major, unsigned *minor, unsigned *patch);
    unsigned minor, patch;
    if (load(llvm->library, "LLVMGetVersion", &version)) /* since 16 */
        version(&llvm->major, &minor, &patch);
    return all;
}

/* The host's features, without those that KILN_SIM_ISA excludes. */
static void features_of(jit_llvm *llvm, const char *isa, kiln__text *features)
{
    const bool base = isa && strcmp(isa, "base") == 0, narrow = base || (isa && strcmp(isa, "avx2") == 0);
    char *host = llvm->LLVMGetHostCPUFeatures();
    kiln__text_puts(features, host);
    if (narrow)
        kiln__text_puts(features, ",-avx512f");
    if (base)
        kiln__text_puts(features, ",-avx,-avx2,-fma");
    llvm->wide = !narrow && strstr(host, "+avx512f") && strstr(host, "+avx512dq") && strstr(host, "+avx512bw") &&
                 strstr(host, "+avx512vl");
    llvm->LLVMDisposeMessage(host);
}

static bool machine_new(jit_llvm *llvm, const char *isa)
{
    char *triple = llvm->LLVMGetDefaultTargetTriple(), *message = NULL;
    opaque *target = NULL;
    if (llvm->LLVMGetTargetFromTriple(triple, &target, &message) == 0) {
        kiln__text features = {.mem = llvm->mem};
        char *cpu = llvm->LLVMGetHostCPUName();
        features_of(llvm, isa, &features);
        if (!features.failed)
            llvm->machine = llvm->LLVMCreateTargetMachine(target, triple, cpu, kiln__text_get(&features), OPTIMISE,
                                                          RELOC_PIC, CODE_JIT);
        llvm->LLVMDisposeMessage(cpu);
        kiln__text_free(&features);
    } else {
        llvm->LLVMDisposeMessage(message);
    }
    llvm->LLVMDisposeMessage(triple);
    return llvm->machine != NULL;
}

jit_llvm *jit_llvm_open(const kiln_allocator *mem, const char *isa)
{
    jit_llvm *llvm = kiln__calloc(mem, 1, sizeof *llvm);
    if (!llvm)
        return NULL;
    llvm->mem = mem;
    for (size_t k = 0; k < KILN__COUNT(names) && !llvm->library; k++) /* it cannot be unloaded: it has exit handlers */
        llvm->library = dlopen(names[k], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (llvm->library && fill(llvm) && machine_new(llvm, isa))
        return llvm;
    jit_llvm_close(llvm);
    return NULL;
}

void jit_llvm_close(jit_llvm *llvm)
{
    if (!llvm)
        return;
    if (llvm->machine)
        llvm->LLVMDisposeTargetMachine(llvm->machine);
    if (llvm->library)
        dlclose(llvm->library);
    kiln__free(llvm->mem, llvm);
}

bool jit_llvm_typed(const jit_llvm *llvm) { return llvm->major == 0; }
bool jit_llvm_wide(const jit_llvm *llvm) { return llvm->wide; }

/* True: no error. */
static bool passed(jit_llvm *llvm, opaque *error)
{
    if (!error)
        return true;
    llvm->LLVMDisposeErrorMessage(llvm->LLVMGetErrorMessage(error)); /* which frees the error */
    return false;
}

jit_code *jit_code_new(jit_llvm *llvm)
{
    jit_code *code = kiln__calloc(llvm->mem, 1, sizeof *code);
    if (code && !passed(llvm, llvm->LLVMOrcCreateLLJIT(&code->jit, NULL))) {
        kiln__free(llvm->mem, code);
        return NULL;
    }
    return code;
}

void jit_code_free(jit_llvm *llvm, jit_code *code)
{
    if (!code)
        return;
    passed(llvm, llvm->LLVMOrcDisposeLLJIT(code->jit));
    kiln__free(llvm->mem, code);
}

/* What the text leaves to do: variables in memory to values, repeated computations, and what is known beforehand. Since
 * 18 the process ends where one run of instcombine leaves work to the next, unless that is allowed. */
static const char *passes_of(const jit_llvm *llvm)
{
#define PASSES(combine)                                                                                                \
    "function(sroa,early-cse," combine ",simplifycfg,gvn,loop-mssa(licm)," combine ",adce,simplifycfg)"
    return llvm->major >= 18 ? PASSES("instcombine<no-verify-fixpoint>") : PASSES("instcombine");
}

static bool compile(jit_llvm *llvm, opaque *module, opaque **object)
{
    char *message = NULL, *triple = llvm->LLVMGetDefaultTargetTriple();
    opaque *options = llvm->LLVMCreatePassBuilderOptions(), *layout = llvm->LLVMCreateTargetDataLayout(llvm->machine);
    llvm->LLVMSetTarget(module, triple);
    llvm->LLVMSetModuleDataLayout(module, layout);
    llvm->LLVMDisposeMessage(triple);
    llvm->LLVMDisposeTargetData(layout);
    bool ok = passed(llvm, llvm->LLVMRunPasses(module, passes_of(llvm), llvm->machine, options));
    llvm->LLVMDisposePassBuilderOptions(options);
    if (ok && llvm->LLVMTargetMachineEmitToMemoryBuffer(llvm->machine, module, OBJECT_FILE, &message, object) != 0) {
        ok = false;
        llvm->LLVMDisposeMessage(message);
    }
    return ok;
}

bool jit_code_add(jit_llvm *llvm, jit_code *code, const char *text, size_t length)
{
    opaque *context = llvm->LLVMContextCreate(), *module = NULL, *object = NULL;
    opaque *buffer = llvm->LLVMCreateMemoryBufferWithMemoryRangeCopy(text, length, "region");
    char *message = NULL;
    bool ok = llvm->LLVMParseIRInContext(context, buffer, &module, &message) == 0; /* takes the buffer */
    if (ok) {
        ok = compile(llvm, module, &object);
        llvm->LLVMDisposeModule(module);
    } else {
        llvm->LLVMDisposeMessage(message);
    }
    llvm->LLVMContextDispose(context);
    return ok && passed(llvm, llvm->LLVMOrcLLJITAddObjectFile(code->jit, llvm->LLVMOrcLLJITGetMainJITDylib(code->jit),
                                                              object));
}

uint64_t jit_code_find(jit_llvm *llvm, jit_code *code, const char *name)
{
    uint64_t address = 0;
    return passed(llvm, llvm->LLVMOrcLLJITLookup(code->jit, &address, name)) ? address : 0;
}
