/* host.c - finds the host's libraries at run time, so that Kiln depends on none of them. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vendor.h"

static void *blas;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_blas(void)
{
    static const char *const names[] = {"libopenblas.so.0", "libblis.so.4", "libblas.so.3", "libcblas.so.3"};
    const char *chosen = getenv("KILN_BLAS");
    if (chosen && *chosen) {
        blas = dlopen(chosen, RTLD_NOW | RTLD_LOCAL);
        if (!blas)
            fprintf(stderr, "kiln: KILN_BLAS: %s\n", dlerror()); /* the text begins with the name of the file */
        return;
    }
    for (size_t k = 0; !blas && k < sizeof names / sizeof names[0]; k++) {
        blas = dlopen(names[k], RTLD_NOW | RTLD_LOCAL);
        if (blas && !dlsym(blas, "cblas_sgemm")) {
            dlclose(blas);
            blas = NULL;
        }
    }
}

vendor_function *vendor_find_blas(const char *name)
{
    vendor_function *function = NULL;
    pthread_once(&once, open_blas);
    void *found = blas ? dlsym(blas, name) : NULL;
    memcpy(&function, &found, sizeof found); /* a cast would not be C */
    return function;
}

static void *fftw[2]; /* in double and in single precision */
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
        told[count++] = name; /* a string literal */
        fprintf(stderr, "kiln: %s: %s is not supported on the simulated device\n", library, name);
    }
    pthread_mutex_unlock(&lock);
}
