/* pool.h - the interface of a worker process for the pool's threads. */
#ifndef KILN_COMPILE_POOL_H
#define KILN_COMPILE_POOL_H

#include "compile_internal.h"

typedef struct kiln__outcome {
    kiln_status status;
    kiln__unit unit;
    uint64_t ns;
    kiln_error *error;
    bool died; /* the process ended before it answered; the source may not be the cause */
} kiln__outcome;

typedef struct kiln__worker {
    const kiln_allocator *mem;
    kiln__log log;
    const char *program, *library, *include, *identity; /* referenced */
    double timeout;                                     /* seconds per compile; <= 0: no limit */
    uint64_t memory;     /* bytes of address space that it may use; 0: it sets a limit itself */
    atomic_bool *warned; /* shared by the workers of a pool: "not confined" was logged; may be NULL */
    kiln__child child;   /* its `wake`: stop now */
} kiln__worker;

/* Sends a request and waits for the result; starts the process first if there is none. After a crash, a hang or an
 * invalid answer the process is ended, and the next call starts another. `again`: another process died with this
 * request before; for the message. */
void kiln__worker_compile(kiln__worker *worker, const kiln__text *message, bool again, kiln__outcome *outcome);
void kiln__worker_end(kiln__worker *worker);
/* Starts the process. how[]: how it is confined. *died: the process ended before it answered. */
kiln_status kiln__worker_greet(kiln__worker *worker, bool *confined, char *how, size_t room, bool *died,
                               kiln_error **error);

#endif
