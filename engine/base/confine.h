/* confine.h - a process gives up rights for the rest of its life (confine.c). */
#ifndef KILN_BASE_CONFINE_H
#define KILN_BASE_CONFINE_H

#include "base.h"

/* The rights that the process keeps. Paths that are NULL, "" or missing are skipped. */
typedef struct kiln__confinement {
    const char *const *readable; /* files, and folders with everything in them */
    size_t count;
    const char *writable; /* a folder; NULL means no folder */
    /* true: the process runs kernels of the simulated device, so only the system calls of a short list are allowed.
     * false: the process compiles, so it may not start programs, open connections or reach other processes. */
    bool kernels;
    /* for kernels: the process may make memory executable, which compiled kernels and loaded libraries need */
    bool executes;
} kiln__confinement;

enum {
    /* the process can open only the readable files; without this protection a process that runs kernels can read all
     * files */
    KILN__CONFINED_FILES = 1,
    /* the system calls of the process are limited; a process that runs kernels can then write no files either */
    KILN__CONFINED_CALLS = 2
};

/* Takes away the rights, and returns which protections hold. `how` gets the names of the mechanisms, or the reason
 * why no mechanism works. Access to files is limited for the calling thread and the threads that it starts. The
 * limits of system calls hold for all threads. */
unsigned kiln__confine(const kiln__confinement *want, char *how, size_t room);
/* Returns the protections that kiln__confine() would give to kernels in a process with one thread, and changes
 * nothing. */
unsigned kiln__confine_look(char *how, size_t room);

#endif
