/* nvidia.c - prints the name of a library or program that contains NVIDIA's CUDA runtime. NVIDIA's runtime does not
 * work on the simulated device. The errors of a library that contains it (cuBLAS, cuSPARSE, cuFFT) do not tell this
 * cause. */
#include "choose.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 16 };

void sim_library_nvidia(const void *caller)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static const void *said[MOST];
    Dl_info from;
    if (!dladdr(caller, &from) || !from.dli_fname)
        return;
    size_t i = 0;
    pthread_mutex_lock(&lock);
    while (i < MOST && said[i] && said[i] != from.dli_fbase)
        i++;
    if (i < MOST && !said[i]) {
        const char *slash = strrchr(from.dli_fname, '/');
        said[i] = from.dli_fbase;
        fprintf(stderr,
                "kiln: %s contains NVIDIA's CUDA runtime, which works only with NVIDIA's driver: its calls fail on the "
                "simulated device\n",
                slash ? slash + 1 : from.dli_fname);
    }
    pthread_mutex_unlock(&lock);
}
