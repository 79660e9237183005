/* pool.h - the interface of a worker process for the pool's threads. */
#ifndef KILN_COMPILE_POOL_H
#define KILN_COMPILE_POOL_H

#include "compile_internal.h"

typedef struct kiln__outcome {
    kiln_status status;
    kiln__unit unit;
    uint64_t ns;
    kiln_error *error;
    bool pch;  /* precompiled headers were used or made */
    bool died; /* the process ended before it answered; the source may not be the cause */
} kiln__outcome;

/* ---- precompiled headers (pch.c) ---- */
typedef struct kiln__pch kiln__pch;
typedef struct kiln__pch_use {
    char path[4200]; /* without the end that a worker gives it */
    size_t set;      /* 0: without precompiled headers */
    bool make;       /* make the file first */
} kiln__pch_use;
/* NULL in *pch: the folder cannot be used, or trusted. False: out of memory. Plans and outcomes need the pool's lock. */
bool kiln__pch_open(const kiln_allocator *mem, const char *folder, kiln__pch **pch);
void kiln__pch_close(const kiln_allocator *mem, kiln__pch *pch);
const char *kiln__pch_folder(const kiln__pch *pch);
void kiln__pch_plan(kiln__pch *pch, const kiln__nvrtc *nvrtc, const kiln__compile_request *request, kiln__pch_use *use);
void kiln__pch_made(kiln__pch *pch, kiln__pch_use *use, bool good);
void kiln__pch_used(kiln__pch *pch, const kiln__pch_use *use, bool used, bool died);

typedef struct kiln__worker {
    const kiln_allocator *mem;
    kiln__log log;
    const char *program, *library, *include, *identity; /* referenced */
    double timeout;                                     /* seconds per compile; <= 0: no limit */
    uint64_t memory;     /* bytes of address space that it may use; 0: it sets a limit itself */
    atomic_bool *warned; /* shared by the workers of a pool: "not confined" was logged; may be NULL */
    kiln__child child;   /* its `wake`: stop now */
    const char *pch;     /* the folder of precompiled headers that a new process may use; NULL: none */
    bool pch_makes;      /* and may write to; it gets one request */
    bool pch_given;      /* the running process has it */
} kiln__worker;

/* With precompiled headers of `path` (NULL: without). Sends a request and waits for the result; starts the process
 * first if there is none. After a crash, a hang or an invalid answer the process is ended, and the next call starts
 * another. `again`: another process died with this request before; for the message. */
void kiln__worker_compile(kiln__worker *worker, const kiln__text *message, const char *path, bool again,
                          kiln__outcome *outcome);
void kiln__worker_end(kiln__worker *worker);
/* Starts the process. how[]: how it is confined. *died: the process ended before it answered. */
kiln_status kiln__worker_greet(kiln__worker *worker, bool *confined, char *how, size_t room, bool *died,
                               kiln_error **error);

#endif
