/* confine.h - a process gives up rights for the rest of its life (confine.c). */
#ifndef KILN_BASE_CONFINE_H
#define KILN_BASE_CONFINE_H

#include "base.h"

/* What the process keeps. Paths that are NULL, "" or missing are skipped. */
typedef struct kiln__confinement {
    const char *const *readable; /* files, and folders with all in them */
    size_t count;
    const char *writable; /* a folder; NULL: none */
    /* It runs kernels of the simulated device: no system call that is not on a short list. If this is false, it
     * compiles: no programs, connections or other processes. */
    bool kernels;
    bool executes; /* kernels: it may make memory executable, for compiled kernels and for libraries that are loaded */
} kiln__confinement;

enum {
    KILN__CONFINED_FILES = 1, /* it opens no files but those; if it runs kernels and this is missing, it can read all */
    KILN__CONFINED_CALLS = 2  /* its system calls are limited; if it runs kernels, it can write no files either */
};

/* Returns which of these hold. `how` names the mechanisms, or says why not. Holds for the calling thread and those that
 * it starts; the limits of system calls hold for all threads. */
unsigned kiln__confine(const kiln__confinement *want, char *how, size_t room);
/* Returns what kiln__confine() would return for kernels in a process with one thread, and confines nothing. */
unsigned kiln__confine_look(char *how, size_t room);

#endif
