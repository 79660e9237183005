/* pool.h - the interface between the threads of the pool, a worker process, and the precompiled headers. */
#ifndef KILN_COMPILE_POOL_H
#define KILN_COMPILE_POOL_H

#include "compile_internal.h"

typedef struct kiln__outcome { /* the result of a compile; the receiver frees unit and error */
    kiln_status status;
    kiln__unit unit;
    uint64_t ns;
    kiln_error *error;
    bool pch;  /* precompiled headers were used, or made */
    bool died; /* the worker ended before it answered; the source may not be the cause */
} kiln__outcome;

/* ---- precompiled headers (pch.c) ---- */
typedef struct kiln__pch kiln__pch;
/* The plan of one compile for precompiled headers. */
typedef struct kiln__pch_use {
    char path[4200]; /* the path without the suffix that a worker adds */
    size_t set;      /* number of the set + 1; 0 means that the request is compiled without precompiled headers */
    bool make;       /* the file must be made first */
} kiln__pch_use;
/* Opens a folder of precompiled headers. *pch is NULL if the folder cannot be used or trusted. Returns false if there
 * is no memory. */
bool kiln__pch_open(const kiln_allocator *mem, const char *folder, kiln__pch **pch);
void kiln__pch_close(const kiln_allocator *mem, kiln__pch *pch);
const char *kiln__pch_folder(const kiln__pch *pch);
/* Decides whether a request uses a file, and whether it makes the file first. The caller of this function, of
 * kiln__pch_made() and of kiln__pch_used() holds the pool's lock. */
void kiln__pch_plan(kiln__pch *pch, const kiln__nvrtc *nvrtc, const kiln__compile_request *request, kiln__pch_use *use);
/* Reports whether making the file succeeded. Without a file the request continues without precompiled headers. */
void kiln__pch_made(kiln__pch *pch, kiln__pch_use *use, bool good);
/* Reports whether a compile used its file. After a compile that did not use it, later requests do not use the file
 * either, until a request has made it again (pch.c lists the states). If the worker died, the file is deleted. */
void kiln__pch_used(kiln__pch *pch, const kiln__pch_use *use, bool used, bool died);

/* ---- several requests as one compile (group.c) ---- */
/* Returns whether two encoded requests differ at most in the names of their kernels. kiln__message_request() returned
 * the places of the names, `one_names` and `other_names`. */
bool kiln__group_fits(const kiln__text *one, size_t one_names, const kiln__text *other, size_t other_names);
/* Adds a member to the request of a group, which is empty at first. All members fit each other. A name that the
 * request has is not added again. A failure sets message->failed. */
void kiln__group_add(kiln__text *message, const kiln__text *member, size_t names);
/* Makes the unit of a member from the unit of its group. The code has the kernels of all members. The symbols and the
 * log have only this member's kernels. */
kiln_status kiln__group_part(const kiln_allocator *mem, const kiln__unit *whole, const kiln__text *member, size_t names,
                             kiln__unit *part, kiln_error **error);

/* A worker process from the library's side. One thread uses it. */
typedef struct kiln__worker {
    const kiln_allocator *mem;
    kiln__log log;
    const char *program, *library, *include, *identity; /* referenced, not owned */
    double timeout;                                     /* seconds for one compile; a value <= 0 means no limit */
    uint64_t memory;     /* limit of the worker's address space in bytes; if it is 0, the worker sets a limit itself */
    atomic_bool *warned; /* shared by all workers of a pool: "not confined" was logged; may be NULL */
    kiln__child child;   /* `wake` of the child is an eventfd that stops a wait */
    const char *pch;     /* the folder of precompiled headers that a new process may read; NULL means no folder */
    bool pch_makes;      /* a new process may also write to that folder, and gets a single request */
    bool pch_given;      /* the running process was started with the folder */
} kiln__worker;

/* Sends a request and waits for the result. Starts the process first if it does not run. `path` names precompiled
 * headers, or is NULL. After a crash, a time-out or an invalid answer the function ends the process, and the next call
 * starts another process. `again`: another process died with this request before; an error message then says so. */
void kiln__worker_compile(kiln__worker *worker, const kiln__text *message, const char *path, bool again,
                          kiln__outcome *outcome);
void kiln__worker_end(kiln__worker *worker);
/* Starts the process and waits for its first message. how[] says how it is confined. *died is set if the process
 * ended before it answered. */
kiln_status kiln__worker_greet(kiln__worker *worker, bool *confined, char *how, size_t room, bool *died,
                               kiln_error **error);

#endif
