/* register.c - the fat binaries, kernels and variables that code from nvcc registers before main(). The runtime loads a
 * fat binary into a context when one of its kernels or variables is first used in that context. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

typedef struct loaded {
    CUcontext context;
    CUlibrary library;
    cudaError_t error; /* result of the loading; after an error the runtime does not try again */
    struct loaded *next;
} loaded;

typedef struct binary {
    const void *image; /* the wrapper that nvcc made around the fat binary */
    loaded *in;
    struct entry *entries;
    struct binary *next;
} binary;

typedef enum entry_kind { KERNEL, VARIABLE, MANAGED, HANDLE } entry_kind;

/* A name of the program. The runtime finds a kernel by its symbol, and by the address of its entry, which
 * __cudaGetKernel() returns. */
typedef struct entry {
    entry_kind kind;
    const void *symbol;
    const char *name;
    binary *of; /* the binary of the name, or NULL for the kind HANDLE, where `symbol` is a CUkernel */
    size_t size;
    void **pointer; /* for the kind MANAGED, the host's pointer to the variable */
    CUcontext context;
    CUfunction function; /* the function of the kernel in `context` */
    struct entry *next;  /* next entry of the binary */
} entry;

typedef struct slot {
    const void *key;
    entry *value;
} slot;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static binary *binaries;
static slot *table;
static size_t table_size, table_used; /* table_size is a power of two */

/* ---- the table of symbols ---- */

static size_t place(const slot *in, size_t size, const void *key)
{
    size_t i = (size_t)(((uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (size - 1);
    while (in[i].key && in[i].key != key)
        i = (i + 1) & (size - 1);
    return i;
}

/* Makes room for one more key. If half of the slots are used, makes a new table. A removed entry leaves its key in the
 * table, and the new table drops such keys. So the table stays small even if a program repeatedly loads and unloads
 * shared objects. */
static bool make_room(void)
{
    if (2 * (table_used + 1) <= table_size)
        return true;
    size_t live = 0, size = 256;
    for (size_t i = 0; i < table_size; i++)
        live += table[i].value != NULL;
    while (size < 4 * (live + 1))
        size *= 2;
    slot *made = calloc(size, sizeof *made);
    if (!made)
        return false;
    for (size_t i = 0; i < table_size; i++)
        if (table[i].value)
            made[place(made, size, table[i].key)] = table[i];
    free(table);
    table = made;
    table_size = size;
    table_used = live;
    return true;
}

static bool insert(const void *key, entry *value)
{
    if (!make_room())
        return false;
    slot *at = &table[place(table, table_size, key)];
    table_used += !at->key;
    *at = (slot){key, value};
    return true;
}

static entry *find(const void *key) { return table_size ? table[place(table, table_size, key)].value : NULL; }

static void hide(const void *key, const entry *value)
{
    slot *at = table_size ? &table[place(table, table_size, key)] : NULL;
    if (at && at->value == value)
        at->value = NULL;
}

/* Needs the lock. Returns the binary that has the handle. Returns NULL for an unknown handle, because a program may
 * pass any pointer. */
static binary *find_binary(void **handle)
{
    binary *b = binaries;
    while (b && (void **)b != handle)
        b = b->next;
    return b;
}

/* ---- loading ---- */

static const char hint[] =
    "the simulated device runs PTX: compile so that the program contains PTX, for example nvcc -arch=sm_80, or "
    "-gencode arch=compute_80,code=compute_80";

static void explain(CUresult result, const char *log)
{
    if (result == CUDA_ERROR_NO_BINARY_FOR_GPU)
        fprintf(stderr, "kiln: cudart: a fat binary of this program contains only machine code and no PTX; %s\n", hint);
    if (log[0])
        fprintf(stderr, "kiln: cudart: the driver could not load a fat binary of this program:\n%s%s", log,
                log[strlen(log) - 1] == '\n' ? "" : "\n");
}

static void bind_managed(binary *of, CUlibrary library)
{
    for (entry *e = of->entries; e; e = e->next) {
        CUdeviceptr address = 0;
        size_t size;
        if (e->kind == MANAGED && CU(cuLibraryGetManaged)(&address, &size, library, e->name) == CUDA_SUCCESS)
            *e->pointer = (void *)(uintptr_t)address;
    }
}

/* Needs the lock. Loads the binary into the current context if it is not loaded there, and sets *library. */
static cudaError_t load(binary *of, CUcontext context, CUlibrary *library)
{
    for (const loaded *l = of->in; l; l = l->next)
        if (l->context == context) {
            *library = l->library;
            return l->error;
        }
    loaded *made = calloc(1, sizeof *made);
    if (!made)
        return cudaErrorMemoryAllocation;
    char log[4096] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
    /* A program may launch a kernel for the first time while a stream is captured, so the runtime must be able to load
     * a binary during a capture. */
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CU(cuThreadExchangeStreamCaptureMode)(&mode);
    /* with this option all devices share managed variables */
    CUlibraryOption kept[] = {CU_LIBRARY_BINARY_IS_PRESERVED};
    void *yes[] = {(void *)(uintptr_t)1};
    CUresult result = CU(cuLibraryLoadData)(&made->library, of->image, options, values, 2, kept, yes, 1);
    CU(cuThreadExchangeStreamCaptureMode)(&mode);
    made->context = context;
    made->error = (cudaError_t)result;
    made->next = of->in;
    of->in = made;
    *library = made->library;
    if (result == CUDA_SUCCESS)
        bind_managed(of, made->library);
    else
        explain(result, log);
    return made->error;
}

static cudaError_t get_current(CUcontext *context)
{
    cudaError_t error = kiln__rt_enter();
    return error != cudaSuccess ? error : (cudaError_t)CU(cuCtxGetCurrent)(context);
}

static cudaError_t resolve(entry *e, CUcontext context, CUkernel *kernel)
{
    if (e->kind == HANDLE) {
        *kernel = (CUkernel)(uintptr_t)e->symbol;
        return cudaSuccess;
    }
    CUlibrary library;
    cudaError_t error = load(e->of, context, &library);
    if (error != cudaSuccess)
        return error;
    CUresult result = CU(cuLibraryGetKernel)(kernel, library, e->name);
    return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidDeviceFunction : (cudaError_t)result;
}

cudaError_t kiln__rt_kernel(const void *symbol, CUkernel *kernel)
{
    CUcontext context;
    cudaError_t error = get_current(&context);
    if (error != cudaSuccess)
        return error;
    pthread_mutex_lock(&lock);
    entry *e = find(symbol);
    error = e && (e->kind == KERNEL || e->kind == HANDLE) ? resolve(e, context, kernel)
                                                          : cudaErrorInvalidDeviceFunction;
    pthread_mutex_unlock(&lock);
    return error;
}

cudaError_t kiln__rt_function(const void *symbol, CUfunction *function)
{
    CUcontext context;
    CUkernel kernel;
    cudaError_t error = get_current(&context);
    if (error != cudaSuccess)
        return error;
    pthread_mutex_lock(&lock);
    entry *e = find(symbol);
    if (!e || (e->kind != KERNEL && e->kind != HANDLE)) {
        error = cudaErrorInvalidDeviceFunction;
    } else if (!e->function || e->context != context) {
        error = resolve(e, context, &kernel);
        if (error == cudaSuccess)
            error = (cudaError_t)CU(cuKernelGetFunction)(&e->function, kernel);
        if (error == cudaSuccess)
            e->context = context;
        else
            e->function = NULL;
    }
    if (error == cudaSuccess)
        *function = e->function;
    pthread_mutex_unlock(&lock);
    return error;
}

cudaError_t kiln__rt_variable(const void *symbol, CUdeviceptr *address, size_t *size)
{
    CUcontext context;
    CUlibrary library;
    cudaError_t error = get_current(&context);
    if (error != cudaSuccess)
        return error;
    pthread_mutex_lock(&lock);
    const entry *e = find(symbol);
    error = e && (e->kind == VARIABLE || e->kind == MANAGED) ? load(e->of, context, &library) : cudaErrorInvalidSymbol;
    if (error == cudaSuccess) {
        CUresult result = e->kind == MANAGED ? CU(cuLibraryGetManaged)(address, size, library, e->name)
                                             : CU(cuLibraryGetGlobal)(address, size, library, e->name);
        error = result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : (cudaError_t)result;
    }
    pthread_mutex_unlock(&lock);
    return error;
}

const void *kiln__rt_symbol_of(CUfunction function)
{
    const void *symbol = function;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < table_size; i++)
        if (table[i].value && table[i].value->kind == KERNEL && table[i].value->function == function)
            symbol = table[i].value->symbol;
    pthread_mutex_unlock(&lock);
    return symbol;
}

cudaError_t kiln__rt_known(CUkernel kernel)
{
    pthread_mutex_lock(&lock);
    const entry *there = find(kernel);
    entry *made = there ? NULL : calloc(1, sizeof *made);
    bool done = there;
    if (made) {
        *made = (entry){.kind = HANDLE, .symbol = kernel};
        done = insert(kernel, made);
        if (!done)
            free(made);
    }
    pthread_mutex_unlock(&lock);
    return done ? cudaSuccess : cudaErrorMemoryAllocation;
}

void kiln__rt_forget_kernel(CUkernel kernel)
{
    pthread_mutex_lock(&lock);
    entry *known = find(kernel);
    if (known && known->kind == HANDLE) {
        hide(kernel, known);
        free(known);
    }
    pthread_mutex_unlock(&lock);
}

void kiln__rt_unload(CUcontext context)
{
    pthread_mutex_lock(&lock);
    for (binary *b = binaries; b; b = b->next) {
        for (loaded **at = &b->in; *at;) {
            loaded *l = *at;
            if (l->context != context) {
                at = &l->next;
                continue;
            }
            if (l->library)
                CU(cuLibraryUnload)(l->library);
            *at = l->next;
            free(l);
        }
        for (entry *e = b->entries; e; e = e->next)
            if (e->context == context)
                e->function = NULL;
    }
    for (size_t i = 0; i < table_size; i++)
        if (table[i].value && table[i].value->kind == HANDLE && table[i].value->context == context)
            table[i].value->function = NULL;
    pthread_mutex_unlock(&lock);
}

/* ---- the functions that nvcc's code calls; crt/host_runtime.h declares them for C++ ---- */

void **__cudaRegisterFatBinary(void *image);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *symbol, char *device, const char *name, int limit, uint3 *tid,
                            uint3 *bid, dim3 *block, dim3 *grid, int *warp);
void __cudaRegisterVar(void **handle, char *symbol, char *device, const char *name, int external, size_t size,
                       int constant, int global);
void __cudaRegisterManagedVar(void **handle, void **pointer, char *device, const char *name, int external, size_t size,
                              int constant, int global);
void __cudaRegisterHostVar(void **handle, const char *name, char *symbol, size_t size);
void __cudaRegisterUnifiedTable(void **handle, void *table);
char __cudaInitModule(void **handle);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *symbol);

void **__cudaRegisterFatBinary(void *image)
{
    binary *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->image = image;
    pthread_mutex_lock(&lock);
    made->next = binaries;
    binaries = made;
    pthread_mutex_unlock(&lock);
    return (void **)made;
}

void __cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }

void __cudaUnregisterFatBinary(void **handle)
{
    pthread_mutex_lock(&lock);
    binary **at = &binaries;
    while (*at && (void **)*at != handle)
        at = &(*at)->next;
    binary *gone = *at;
    if (!gone) {
        pthread_mutex_unlock(&lock);
        return;
    }
    *at = gone->next;
    /* free the list, because the process ends, or because the shared object with the binary is closed */
    for (loaded *l = gone->in; l;) {
        loaded *next = l->next;
        if (l->library)
            CU(cuLibraryUnload)(l->library);
        free(l);
        l = next;
    }
    for (entry *e = gone->entries; e;) {
        entry *next = e->next;
        hide(e->symbol, e);
        hide(e, e);
        free(e);
        e = next;
    }
    free(gone);
    pthread_mutex_unlock(&lock);
}

/* Adds a name of the program. If the handle is unknown, the symbol is NULL, or memory runs out, the function adds
 * nothing. A use of the symbol is then an error. */
static void add(void **handle, entry what)
{
    pthread_mutex_lock(&lock);
    binary *of = find_binary(handle);
    entry *made = of && what.symbol ? malloc(sizeof *made) : NULL;
    if (made) {
        *made = what;
        made->of = of;
        made->next = of->entries;
        of->entries = made;
        insert(made->symbol, made);
        insert(made, made);
    }
    pthread_mutex_unlock(&lock);
}

void __cudaRegisterFunction(void **handle, const char *symbol, char *device, const char *name, int limit, uint3 *tid,
                            uint3 *bid, dim3 *block, dim3 *grid, int *warp)
{
    (void)device, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
    add(handle, (entry){.kind = KERNEL, .symbol = symbol, .name = name});
}

void __cudaRegisterVar(void **handle, char *symbol, char *device, const char *name, int external, size_t size,
                       int constant, int global)
{
    (void)device, (void)external, (void)constant, (void)global;
    add(handle, (entry){.kind = VARIABLE, .symbol = symbol, .name = name, .size = size});
}

/* The symbol of a managed variable is the address of the pointer in the host's code. */
void __cudaRegisterManagedVar(void **handle, void **pointer, char *device, const char *name, int external, size_t size,
                              int constant, int global)
{
    (void)device, (void)external, (void)constant, (void)global;
    add(handle, (entry){.kind = MANAGED, .symbol = pointer, .name = name, .size = size, .pointer = pointer});
}

/* nvcc's code calls this for variables with the same address on host and device, which the runtime does not support. */
void __cudaRegisterHostVar(void **handle, const char *name, char *symbol, size_t size)
{
    (void)handle, (void)name, (void)symbol, (void)size;
}

void __cudaRegisterUnifiedTable(void **handle, void *functions) { (void)handle, (void)functions; }

/* nvcc's code calls this before the host reads a managed variable. */
char __cudaInitModule(void **handle)
{
    CUcontext context;
    CUlibrary library;
    cudaError_t error = get_current(&context);
    if (error == cudaSuccess) {
        pthread_mutex_lock(&lock);
        binary *of = find_binary(handle);
        error = of ? load(of, context, &library) : cudaErrorInvalidResourceHandle;
        pthread_mutex_unlock(&lock);
    }
    kiln__rt_record(error);
    return error == cudaSuccess;
}

/* Returns a handle for launches, which stays valid after a reset of the device. */
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *symbol)
{
    /* another thread may close the shared object of the symbol, which frees the entry of the symbol */
    pthread_mutex_lock(&lock);
    entry *e = find(symbol);
    const bool is_kernel = kernel && e && e->kind == KERNEL;
    if (is_kernel)
        *kernel = (cudaKernel_t)(void *)e;
    pthread_mutex_unlock(&lock);
    return is_kernel ? cudaSuccess : kiln__rt_record(cudaErrorInvalidDeviceFunction);
}
