/* pool.h - a worker process as the pool's threads see it. */
#ifndef KILN_COMPILE_POOL_H
#define KILN_COMPILE_POOL_H

#include "compile_internal.h"

typedef struct kiln__outcome {
    kiln_status status;
    kiln__unit unit;
    uint64_t ns;
    kiln_error *error;
    bool died; /* the process ended before it answered, which may be no fault of the source */
} kiln__outcome;

typedef struct kiln__worker {
    const kiln_allocator *mem;
    kiln__log log;
    const char *program, *library, *include, *identity; /* referenced */
    double timeout;                                     /* seconds a compile; <= 0: no limit */
    uint64_t memory;     /* bytes of address space that it may use; 0: it sets a limit itself */
    atomic_bool *warned; /* of all workers of a pool: that they are not confined has been said; may be NULL */
    kiln__child child;   /* its `wake`: stop whatever is going on */
} kiln__worker;

/* Sends a request and waits for the result; starts the process first where there is none. After a crash, a hang or an
 * answer that makes no sense the process is ended, and the next call starts another. `again`: for the message, that
 * another process died of this request before. */
void kiln__worker_compile(kiln__worker *worker, const kiln__text *message, bool again, kiln__outcome *outcome);
void kiln__worker_end(kiln__worker *worker);
/* Starts the process. What confines it is put into how[]. *died is set if the process ended before it answered. */
kiln_status kiln__worker_greet(kiln__worker *worker, bool *confined, char *how, size_t room, bool *died,
                               kiln_error **error);

#endif
