/* pool.h - the interfaces between the threads of the pool, a worker process, and the precompiled headers. */
#ifndef KILN_COMPILE_POOL_H
#define KILN_COMPILE_POOL_H

#include "compile_internal.h"

typedef struct kiln__outcome { /* the result of a compile; the receiver frees unit and error */
    kiln_status status;
    kiln__unit unit;
    uint64_t ns;
    kiln_error *error;
    bool pch;  /* NVRTC used or made precompiled headers */
    bool died; /* the worker ended before it answered, for a reason that the source may not have caused */
} kiln__outcome;

/* ---- precompiled headers (pch.c) ---- */
typedef struct kiln__pch kiln__pch;
/* Tells how one compile uses precompiled headers. */
typedef struct kiln__pch_use {
    char path[4200]; /* the path of the file without the suffix that a worker adds */
    size_t set;      /* number of the set + 1, or 0 if the request is compiled without precompiled headers */
    bool make;       /* the file must be made before the compile */
} kiln__pch_use;
/* Opens a folder of precompiled headers. *pch becomes NULL if the folder cannot be used or trusted. Returns false if
 * there is no memory. */
bool kiln__pch_open(const kiln_allocator *mem, const char *folder, kiln__pch **pch);
void kiln__pch_close(const kiln_allocator *mem, kiln__pch *pch);
const char *kiln__pch_folder(const kiln__pch *pch);
/* Decides whether a request uses a file, and whether it makes the file first. The caller of this function, of
 * kiln__pch_made() and of kiln__pch_used() holds the pool's lock. */
void kiln__pch_plan(kiln__pch *pch, const kiln__nvrtc *nvrtc, const kiln__compile_request *request, kiln__pch_use *use);
/* Records whether making the file succeeded. If it failed, the request continues without precompiled headers. */
void kiln__pch_made(kiln__pch *pch, kiln__pch_use *use, bool good);
/* Records whether a compile used its file. If a compile did not use the file, later requests do not use the file until
 * a request has made it again (pch.c lists the states). If the worker died, the function deletes the file. */
void kiln__pch_used(kiln__pch *pch, const kiln__pch_use *use, bool used, bool died);

/* ---- several requests as one compile (group.c) ---- */
/* Returns whether two encoded requests differ at most in the names of their kernels. `one_names` and `other_names` are
 * the positions of the names, as kiln__message_request() returned them. */
bool kiln__group_fits(const kiln__text *one, size_t one_names, const kiln__text *other, size_t other_names);
/* Adds the names of a member to the message of a group, which is empty at first. All members of a group must fit each
 * other, by kiln__group_fits(). If the message already has a name, the function does not add the name again. If memory
 * runs out, the function sets message->failed. */
void kiln__group_add(kiln__text *message, const kiln__text *member, size_t names);
/* Makes the unit of a member from the unit of its group. The code of the unit contains the kernels of all members. The
 * symbols and the log of the unit contain only the member's own kernels. */
kiln_status kiln__group_part(const kiln_allocator *mem, const kiln__unit *whole, const kiln__text *member, size_t names,
                             kiln__unit *part, kiln_error **error);

/* A worker process, as the library sees it. Only one thread uses a worker. */
typedef struct kiln__worker {
    const kiln_allocator *mem;
    kiln__log log;
    const char *program, *library, *include, *identity; /* referenced, not owned */
    /* time limit of one compile in seconds; a value <= 0 means no limit */
    double timeout;
    uint64_t memory; /* limit of the worker's address space in bytes, or 0 if the worker chooses the limit */
    /* a flag that all workers of a pool share: the message "not confined" was logged; may be NULL */
    atomic_bool *warned;
    kiln__child child; /* the process; its `wake` is an eventfd that stops a wait */
    const char *pch;   /* the folder of precompiled headers that a new process may read, or NULL */
    bool pch_makes;    /* a new process may also write to the folder `pch`, and gets a single request */
    bool pch_given;    /* the running process was started with the folder `pch` */
} kiln__worker;

/* Sends a request and waits for the result. If the process does not run, starts it first. `path` names precompiled
 * headers, or is NULL. After a crash, a time-out or an invalid answer the function ends the process, and the next call
 * starts another process. `again` means that another process died with this request before. An error message then says
 * so. */
void kiln__worker_compile(kiln__worker *worker, const kiln__text *message, const char *path, bool again,
                          kiln__outcome *outcome);
void kiln__worker_end(kiln__worker *worker);
/* Starts the process and waits for its first message. how[] receives how the process is confined. *died becomes true if
 * the process ended before it answered. */
kiln_status kiln__worker_greet(kiln__worker *worker, bool *confined, char *how, size_t room, bool *died,
                               kiln_error **error);

#endif
