/* llvm.c - opens LLVM by dlopen() and calls its C API. LLVM documents this API (llvm.org/doxygen, LLVM-C), and its
 * functions stay the same over many versions. This file declares the few functions that it uses, so building Kiln needs
 * no LLVM.
 *
 * LLVM belongs to the process and not to a device. Only one thread at a time may call LLVM. No thread calls LLVM any
 * more when the process exits, in a forked process, or after an error at which LLVM would have ended the process. */
#include "llvm.h"

#include <dlfcn.h>
#include <fenv.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef struct opaque opaque; /* any object that belongs to LLVM */

#if defined(__aarch64__)
#define TARGET(name) "LLVMInitializeAArch64" name
#else
#define TARGET(name) "LLVMInitializeX86" name
#endif

enum { OBJECT_FILE = 1, OPTIMISE = 2, RELOC_PIC = 2, CODE_JIT = 1, SEVERITY_ERROR = 0 };
#define STACK ((size_t)64 << 20) /* size of the stack of the compiling thread; only used pages take memory */
/* Bytes of address space that must be free before LLVM is called, because LLVM ends the process when memory runs
 * out. */
#define SPARE ((size_t)256 << 20)

#define FUNCTIONS(X)                                                                                                   \
    X(opaque *, LLVMContextCreate, (void))                                                                             \
    X(void, LLVMContextDispose, (opaque * context))                                                                    \
    X(void, LLVMContextSetDiagnosticHandler,                                                                           \
      (opaque * context, void (*handler)(opaque * what, void *user), void *user))                                      \
    X(int, LLVMGetDiagInfoSeverity, (opaque * what))                                                                   \
    X(void, LLVMInstallFatalErrorHandler, (void (*handler)(const char *reason)))                                       \
    X(void, LLVMResetFatalErrorHandler, (void))                                                                        \
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
    X(opaque *, LLVMOrcLLJITGetExecutionSession, (opaque * jit))                                                       \
    X(void, LLVMOrcExecutionSessionSetErrorReporter,                                                                   \
      (opaque * session, void (*report)(void *user, opaque *error), void *user))                                       \
    X(opaque *, LLVMOrcLLJITGetMainJITDylib, (opaque * jit))                                                           \
    X(opaque *, LLVMOrcLLJITAddObjectFile, (opaque * jit, opaque * library, opaque * buffer))                          \
    X(opaque *, LLVMOrcLLJITLookup, (opaque * jit, uint64_t * address, const char *name))

/* The supported versions of LLVM, the newest first. The test suites were run with each of these versions. `major` is
 * the version from LLVMGetVersion(), which exists since LLVM 16. */
static const struct {
    const char *name;
    unsigned major;
} names[] = {{"libLLVM.so.19.1", 19},
             {"libLLVM.so.18.1", 18},
             {"libLLVM-16.so.1", 16},
             {"libLLVM-15.so.1", 0},
             {"libLLVM-14.so.1", 0}};

struct jit_llvm {
    const kiln_allocator *mem;
    void *library;
    const char *name; /* file name of the library */
    opaque *machine;
    unsigned major; /* major version of the library; 0 for versions before 16 */
    bool wide;
#define X(result, name, arguments) result(*name) arguments;
    FUNCTIONS(X)
#undef X
};

struct jit_code {
    opaque *jit;
};

/* ---- one thread at a time calls LLVM, and only until the process exits ---- */

static pthread_mutex_t gate = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static atomic_int owner;   /* the process that opened LLVM, or 0 */
static atomic_bool busy;   /* true while a thread executes code of LLVM */
static atomic_bool closed; /* true if LLVM must not be called any more */
static int armed;          /* number of times that the process has registered at_exit() */
static jmp_buf escape;
static _Thread_local bool calling; /* true while this thread is inside LLVM */

/* Takes the lock on LLVM. Returns false if LLVM must not be called. A signal handler that exits may call this function
 * in the thread that waits for LLVM. That thread already holds the lock. In this case the function only waits until
 * LLVM has finished, and returns false. */
static bool enter_llvm(void)
{
    const int process = atomic_load(&owner);
    if (process && process != (int)getpid())
        return false; /* the lock may be held by a thread that does not exist in the forked process */
    if (pthread_mutex_lock(&gate) != 0) {
        while (atomic_load(&busy))
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        return false;
    }
    if (!atomic_load(&closed))
        return true;
    pthread_mutex_unlock(&gate);
    return false;
}

/* The exit handler. It runs before LLVM's own exit handlers, so that no other thread uses the objects that these
 * handlers free. */
static void at_exit(void)
{
    if (calling)
        return;
    const bool entered = enter_llvm();
    atomic_store(&closed, true);
    if (entered)
        pthread_mutex_unlock(&gate);
}

/* LLVM's handler of fatal errors. LLVM ends the process if the handler returns, so the handler jumps back to run_job().
 * If another user of the library in this process has caused the error, the handler returns. */
static void fatal(const char *reason)
{
    (void)reason;
    if (calling)
        longjmp(escape, 1);
}

typedef struct job {
    const jit_llvm *llvm; /* NULL before LLVM is open */
    void (*what)(void *of);
    void *of;
    bool done;
} job;

static void *run_job(void *argument)
{
    job *j = argument;
    calling = true;
    fesetenv(FE_DFL_ENV);
    if (j->llvm)
        j->llvm->LLVMInstallFatalErrorHandler(fatal);
    if (setjmp(escape) == 0) {
        j->what(j->of);
        j->done = true;
    }
    if (j->llvm)
        j->llvm->LLVMResetFatalErrorHandler();
    calling = false;
    atomic_store(&busy, false);
    return NULL;
}

/* Calls a function in a new thread and waits for it. The calling thread holds the lock on LLVM meanwhile. The new
 * thread has a large stack, because the caller's stack may be small. It blocks the program's signals. Returns false if
 * the function was not called, or if a fatal error of LLVM has ended the function. */
static bool in_thread(const jit_llvm *llvm, void (*what)(void *of), void *of)
{
    job j = {.llvm = llvm, .what = what, .of = of};
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setstacksize(&attributes, STACK);
    if (enter_llvm()) {
        atomic_store(&owner, (int)getpid());
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        atomic_store(&busy, true);
        const bool started = pthread_create(&thread, &attributes, run_job, &j) == 0;
        if (!started)
            atomic_store(&busy, false);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (started)
            pthread_join(thread, NULL);
        if (started && !j.done)
            atomic_store(&closed, true);
        /* at_exit() is registered again after LLVM's own handler, because exit handlers run in reverse order */
        else if (started && armed < (llvm ? 2 : 1))
            armed += atexit(at_exit) == 0;
        pthread_mutex_unlock(&gate);
    }
    pthread_attr_destroy(&attributes);
    return j.done;
}

/* ---- opening LLVM ---- */

static bool load_symbol(void *library, const char *name, void *pointer)
{
    void *symbol = dlsym(library, name);
    /* memcpy() is needed because ISO C does not allow a cast from a data pointer to a function pointer */
    memcpy(pointer, &symbol, sizeof symbol);
    return symbol != NULL;
}

static bool load_functions(jit_llvm *llvm)
{
    bool all = true;
#define X(result, name, arguments) all = load_symbol(llvm->library, #name, &llvm->name) && all;
    FUNCTIONS(X)
#undef X
    static const char *const begin[] = {TARGET("TargetInfo"), TARGET("Target"), TARGET("TargetMC"),
                                        TARGET("AsmPrinter")};
    for (size_t k = 0; k < KILN__COUNT(begin); k++) {
        void (*call)(void);
        if (load_symbol(llvm->library, begin[k], &call))
            call();
        else
            all = false;
    }
    void (*version)(unsigned *major, unsigned *minor, unsigned *patch);
    unsigned minor, patch;
    if (load_symbol(llvm->library, "LLVMGetVersion", &version)) /* LLVM has this function since version 16 */
        version(&llvm->major, &minor, &patch);
    return all;
}

/* Writes the features of the host's processor, except features that KILN_SIM_ISA excludes. */
static void get_features(jit_llvm *llvm, const char *isa, kiln__text *features)
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
        get_features(llvm, isa, &features);
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

/* Returns false if the host refuses to execute memory that a process has written (SELinux, PR_SET_MDWE). */
static bool may_execute(void)
{
    const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return false;
    const bool may = mprotect(page, bytes, PROT_READ | PROT_EXEC) == 0;
    munmap(page, bytes);
    return may;
}

/* Returns false if the address space is nearly full, because LLVM ends the process when memory runs out. */
static bool may_allocate(void)
{
    void *spare = mmap(NULL, SPARE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (spare == MAP_FAILED)
        return false;
    munmap(spare, SPARE);
    return true;
}

/* Returns false if the symbols of another LLVM are global in the process, because this LLVM might then call functions
 * of the other LLVM. */
static bool is_alone(const jit_llvm *llvm)
{
    opaque *(*seen)(void);
    return !load_symbol(RTLD_DEFAULT, "LLVMContextCreate", &seen) || seen == llvm->LLVMContextCreate;
}

typedef struct opening {
    jit_llvm *llvm;
    const char *isa;
    bool good;
} opening;

static void open_library(void *of)
{
    opening *o = of;
    unsigned wanted = 0;
    /* RTLD_NODELETE: the library is never unloaded, because it has exit handlers. */
    for (size_t k = 0; k < KILN__COUNT(names) && !o->llvm->library; k++) {
        o->llvm->library = dlopen(names[k].name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        o->llvm->name = names[k].name;
        wanted = names[k].major;
    }
    o->good = o->llvm->library && load_functions(o->llvm) && o->llvm->major == wanted && is_alone(o->llvm) &&
              machine_new(o->llvm, o->isa);
}

jit_llvm *jit_llvm_open(const kiln_allocator *mem, const char *isa)
{
    opening o = {.llvm = may_execute() && may_allocate() ? kiln__calloc(mem, 1, sizeof *o.llvm) : NULL, .isa = isa};
    if (!o.llvm)
        return NULL;
    o.llvm->mem = mem;
    if (in_thread(NULL, open_library, &o) && o.good)
        return o.llvm;
    jit_llvm_close(o.llvm);
    return NULL;
}

void jit_llvm_close(jit_llvm *llvm)
{
    if (!llvm)
        return;
    if (llvm->machine && enter_llvm()) {
        llvm->LLVMDisposeTargetMachine(llvm->machine);
        pthread_mutex_unlock(&gate);
    }
    if (llvm->library)
        dlclose(llvm->library);
    kiln__free(llvm->mem, llvm);
}

const char *jit_llvm_name(const jit_llvm *llvm) { return llvm->name; }
bool jit_llvm_alive(void) { return !atomic_load(&closed) && atomic_load(&owner) == (int)getpid(); }
bool jit_llvm_typed(const jit_llvm *llvm) { return llvm->major == 0; }
bool jit_llvm_wide(const jit_llvm *llvm) { return llvm->wide; }

/* Returns true if there is no error. */
static bool is_success(const jit_llvm *llvm, opaque *error)
{
    if (!error)
        return true;
    llvm->LLVMDisposeErrorMessage(llvm->LLVMGetErrorMessage(error)); /* this call frees the error */
    return false;
}

static void report(void *user, opaque *error)
{
    /* drops the message, which LLVM would otherwise print; the caller sees that the compile has failed */
    const jit_llvm *llvm = user;
    is_success(llvm, error);
}

jit_code *jit_code_new(jit_llvm *llvm) { return kiln__calloc(llvm->mem, 1, sizeof(jit_code)); }

void jit_code_free(jit_llvm *llvm, jit_code *code)
{
    if (code && code->jit && enter_llvm()) {
        is_success(llvm, llvm->LLVMOrcDisposeLLJIT(code->jit));
        pthread_mutex_unlock(&gate);
    }
    kiln__free(llvm->mem, code);
}

/* Returns the passes that optimise a region. The passes turn variables in memory into values (SROA), remove common
 * subexpressions and dead code, fold constants, and move invariant code out of loops. Since version 18, LLVM ends the
 * process if one run of instcombine leaves work for the next run, unless "no-verify-fixpoint" allows it. */
static const char *get_passes(const jit_llvm *llvm)
{
#define PASSES(combine)                                                                                                \
    "function(sroa,early-cse," combine ",simplifycfg,gvn,loop-mssa(licm)," combine ",adce,simplifycfg)"
    return llvm->major >= 18 ? PASSES("instcombine<no-verify-fixpoint>") : PASSES("instcombine");
}

static bool write_object(const jit_llvm *llvm, opaque *module, opaque **object)
{
    char *message = NULL, *triple = llvm->LLVMGetDefaultTargetTriple();
    opaque *options = llvm->LLVMCreatePassBuilderOptions(), *layout = llvm->LLVMCreateTargetDataLayout(llvm->machine);
    llvm->LLVMSetTarget(module, triple);
    llvm->LLVMSetModuleDataLayout(module, layout);
    llvm->LLVMDisposeMessage(triple);
    llvm->LLVMDisposeTargetData(layout);
    bool ok = is_success(llvm, llvm->LLVMRunPasses(module, get_passes(llvm), llvm->machine, options));
    llvm->LLVMDisposePassBuilderOptions(options);
    if (ok && llvm->LLVMTargetMachineEmitToMemoryBuffer(llvm->machine, module, OBJECT_FILE, &message, object) != 0) {
        ok = false;
        llvm->LLVMDisposeMessage(message);
    }
    return ok;
}

typedef struct compiling {
    jit_llvm *llvm;
    jit_code *code;
    const char *text;
    size_t length;
    jit_symbol *symbols;
    unsigned count;
    bool good;
} compiling;

/* The handler of diagnostics. Without a handler, LLVM ends the process at an error. */
static void handle_diagnostic(opaque *what, void *user)
{
    compiling *c = user;
    if (c->llvm->LLVMGetDiagInfoSeverity(what) == SEVERITY_ERROR)
        c->good = false;
}

static bool compile_text(compiling *c, opaque **object)
{
    const jit_llvm *llvm = c->llvm;
    opaque *context = llvm->LLVMContextCreate(), *module = NULL;
    opaque *buffer = llvm->LLVMCreateMemoryBufferWithMemoryRangeCopy(c->text, c->length, "region");
    char *message = NULL;
    llvm->LLVMContextSetDiagnosticHandler(context, handle_diagnostic, c);
    bool ok = llvm->LLVMParseIRInContext(context, buffer, &module, &message) == 0; /* this call frees the buffer */
    if (ok) {
        ok = write_object(llvm, module, object);
        llvm->LLVMDisposeModule(module);
    } else {
        llvm->LLVMDisposeMessage(message);
    }
    llvm->LLVMContextDispose(context);
    return ok;
}

static void compile(void *of)
{
    compiling *c = of;
    jit_llvm *llvm = c->llvm;
    opaque *object = NULL;
    c->good = true;
    if (!c->code->jit) {
        if (!is_success(llvm, llvm->LLVMOrcCreateLLJIT(&c->code->jit, NULL)))
            c->code->jit = NULL;
        else
            llvm->LLVMOrcExecutionSessionSetErrorReporter(llvm->LLVMOrcLLJITGetExecutionSession(c->code->jit), report,
                                                          llvm);
    }
    opaque *jit = c->code->jit;
    c->good = jit && compile_text(c, &object) && c->good &&
              is_success(llvm, llvm->LLVMOrcLLJITAddObjectFile(jit, llvm->LLVMOrcLLJITGetMainJITDylib(jit), object));
    for (unsigned k = 0; k < c->count && c->good; k++)
        if (!is_success(llvm, llvm->LLVMOrcLLJITLookup(jit, &c->symbols[k].address, c->symbols[k].name)))
            c->symbols[k].address = 0;
}

bool jit_code_add(jit_llvm *llvm, jit_code *code, const char *text, size_t length, jit_symbol *symbols, unsigned count)
{
    compiling c = {.llvm = llvm, .code = code, .text = text, .length = length, .symbols = symbols, .count = count};
    return may_allocate() && in_thread(llvm, compile, &c) && c.good;
}
