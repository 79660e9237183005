/* driver.c - loads libcuda.so.1, and finds the driver's functions by the exact names to which cuda.h maps them. So each
 * function has the type that cuda.h declares. A call of a function that the driver lacks returns
 * CUDA_ERROR_NOT_SUPPORTED. */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "runtime.h"

rt_driver kiln__rt_driver;
static void *library;
static cudaError_t loaded;

static CUresult missing(void) { return CUDA_ERROR_NOT_SUPPORTED; }

void *kiln__rt_symbol(const char *name) { return library ? dlsym(library, name) : NULL; }

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

static void load(void)
{
    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    static const struct {
        const char *name;
        size_t at;
    } functions[] = {
#define RT_X(name) {TEXT(name), offsetof(rt_driver, name)},
#include "driver.inc"
#undef RT_X
    };
    CUresult (*const absent)(void) = missing;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *found = kiln__rt_symbol(functions[i].name);
        _Static_assert(sizeof found == sizeof absent, "POSIX: both kinds of pointer are alike");
        memcpy((char *)&kiln__rt_driver + functions[i].at, found ? (void *)&found : (void *)&absent, sizeof found);
    }
    if (!library)
        loaded = cudaErrorInsufficientDriver;
    else
        loaded = (cudaError_t)CU(cuInit)(0);
}

cudaError_t kiln__rt_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return loaded;
}
