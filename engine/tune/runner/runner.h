/* runner.h - the process that measures for a sweep (runner.c). */
#ifndef KILN_TUNE_RUNNER_H
#define KILN_TUNE_RUNNER_H

#include "engine.h"

/* Does the work of `kiln-worker --run`. Answers the requests that arrive on the socket `fd` until it closes, and
 * returns the exit status. `add_hosts` registers the host functions of the program that the engine lacks
 * (KILN_HOST_SHIPPED). It may be NULL. */
typedef kiln_status (*kiln__add_hosts)(kiln_engine *engine, kiln_error **error);
int kiln__runner_serve(int fd, kiln__add_hosts add_hosts);

#endif
