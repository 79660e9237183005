/* host.c - finds numeric libraries of the host at run time, so that Kiln depends on none of them. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vendor.h"

static void *blas;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Returns the first of the libraries that has the function `probe`, or NULL. `names` ends with NULL. */
static void *open_first(const char *const *names, const char *probe)
{
    for (size_t k = 0; names[k]; k++) {
        void *library = dlopen(names[k], RTLD_NOW | RTLD_LOCAL);
        if (library && dlsym(library, probe))
            return library;
        if (library)
            dlclose(library);
    }
    return NULL;
}

static void open_blas(void)
{
    static const char *const names[] = {"libopenblas.so.0", "libblis.so.4", "libblas.so.3", "libcblas.so.3", NULL};
    const char *chosen = getenv("KILN_BLAS");
    if (chosen && *chosen) {
        blas = dlopen(chosen, RTLD_NOW | RTLD_LOCAL);
        if (!blas)
            /* the text of dlerror() begins with the name of the file */
            fprintf(stderr, "kiln: KILN_BLAS: %s\n", dlerror());
        return;
    }
    blas = open_first(names, "cblas_sgemm");
}

vendor_function *vendor_find_blas(const char *name)
{
    vendor_function *function = NULL;
    pthread_once(&once, open_blas);
    void *found = blas ? dlsym(blas, name) : NULL;
    memcpy(&function, &found, sizeof found); /* memcpy, because a cast would not be ISO C */
    return function;
}

static void *lapack;
static pthread_once_t lapack_once = PTHREAD_ONCE_INIT;

static void open_lapack(void)
{
    static const char *const names[] = {"libopenblas.so.0", "liblapack.so.3", NULL};
    const char *const chosen[] = {getenv("KILN_LAPACK"), NULL};
    if (chosen[0] && *chosen[0]) {
        lapack = open_first(chosen, "dpotrf_");
        if (!lapack)
            fprintf(stderr, "kiln: KILN_LAPACK: %s is no library with LAPACK\n", chosen[0]);
        return;
    }
    lapack = open_first(names, "dpotrf_");
}

vendor_function *vendor_find_lapack(const char *name)
{
    vendor_function *function = NULL;
    pthread_once(&lapack_once, open_lapack);
    void *found = lapack ? dlsym(lapack, name) : NULL;
    memcpy(&function, &found, sizeof found);
    return function;
}

static void *fftw[2]; /* the libraries for double and for single precision */
static pthread_once_t fftw_once = PTHREAD_ONCE_INIT;

static void open_fftw(void)
{
    fftw[0] = dlopen("libfftw3.so.3", RTLD_NOW | RTLD_LOCAL);
    fftw[1] = dlopen("libfftw3f.so.3", RTLD_NOW | RTLD_LOCAL);
}

vendor_function *vendor_find_fftw(bool single, const char *name)
{
    vendor_function *function = NULL;
    pthread_once(&fftw_once, open_fftw);
    void *found = fftw[single] ? dlsym(fftw[single], name) : NULL;
    memcpy(&function, &found, sizeof found);
    return function;
}

void vendor_tell_missing(const char *library, const char *name)
{
    enum { MOST = 64 };
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static const char *told[MOST];
    static size_t count;
    pthread_mutex_lock(&lock);
    size_t k = 0;
    while (k < count && strcmp(told[k], name) != 0)
        k++;
    if (k == count && count < MOST) {
        told[count++] = name; /* the name is a string literal, so the pointer stays valid */
        fprintf(stderr, "kiln: %s: %s is not supported on the simulated device\n", library, name);
    }
    pthread_mutex_unlock(&lock);
}
