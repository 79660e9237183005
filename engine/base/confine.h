/* confine.h - takes rights away from a process for the rest of its life (confine.c). */
#ifndef KILN_BASE_CONFINE_H
#define KILN_BASE_CONFINE_H

#include "base.h"

/* The rights that the process keeps. The function skips paths that are NULL, "" or missing. */
typedef struct kiln__confinement {
    const char *const *readable; /* files, and folders with all their contents, that the process may still read */
    size_t count;
    const char *writable; /* a folder in which the process may still write, or NULL */
    /* true if the process runs kernels of the simulated device: a short list names all allowed system calls. false if
     * the process compiles: it may not start programs, open connections or reach other processes. */
    bool kernels;
    /* a process that runs kernels may make memory executable, which compiled kernels and loaded libraries need */
    bool executes;
} kiln__confinement;

enum {
    /* the process can open only the readable files; without this bit a process that runs kernels can read all files */
    KILN__CONFINED_FILES = 1,
    /* a filter limits the system calls of the process; then a process that runs kernels cannot write files either */
    KILN__CONFINED_CALLS = 2
};

/* Takes the other rights away from the process, and returns the bits of the protections that hold. `how` receives the
 * names of the mechanisms, or the reason why no mechanism works. The limits for files apply to the calling thread and
 * the threads that it starts later. The limits for system calls apply to all threads. */
unsigned kiln__confine(const kiln__confinement *want, char *how, size_t room);
/* Returns the protections that kiln__confine() would give a process with one thread that runs kernels. Changes
 * nothing. */
unsigned kiln__confine_look(char *how, size_t room);

#endif
