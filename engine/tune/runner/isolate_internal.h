/* isolate_internal.h - how a sweep starts and controls the process that measures on one device (isolate.c). */
#ifndef KILN_TUNE_ISOLATE_INTERNAL_H
#define KILN_TUNE_ISOLATE_INTERNAL_H

#include <poll.h>

#include "record_internal.h"
#include "trial_internal.h"

/* A process that measures on a device, and its replacements. Nothing waits: after a sample is started, the runner
 * must be stepped whenever its socket is ready or its deadline has passed, until the sample has ended. */
typedef struct kiln__runner kiln__runner;
/* Starts the process, so that errors are found before anything is compiled. Fails if another process cannot use the
 * engine. Engine, spec, options and site must outlive the runner. */
kiln_status kiln__runner_open(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                              const kiln__site *site, kiln__runner **runner, kiln_error **error);
void kiln__runner_close(kiln__runner *runner);         /* NULL is allowed; ends a running sample */
bool kiln__runner_is_idle(const kiln__runner *runner); /* a sample may be started */
/* Starts a sample; starts a new process first if the last process has ended. The code is copied. `small` (may be
 * NULL) is the code at the smaller sizes, if the sweep has them. */
kiln_status kiln__runner_begin(kiln__runner *runner, const kiln_sample *sample, const kiln__trial *trial,
                               const kiln__code *code, const kiln__code *small, kiln_error **error);
void kiln__runner_stop(kiln__runner *runner); /* ends a running sample: KILN_ERROR_INTERRUPTED */
/* The process may end during the sample. Then kiln__runner_waits() is true until kiln__runner_retry() starts another
 * process for the sample. Meanwhile kiln__runner_retries() is true, and stays true until the outcome of the sample is
 * taken. */
bool kiln__runner_waits(const kiln__runner *runner);
bool kiln__runner_retries(const kiln__runner *runner);
void kiln__runner_retry(kiln__runner *runner);
bool kiln__runner_step(kiln__runner *runner); /* makes progress without waiting; true: the outcome can be taken */
/* Sets *fd for poll(); a descriptor of -1 means that there is nothing to poll. Returns the time of kiln__now_ns() at
 * which the runner must be stepped in any case, or 0 if there is no such time. */
uint64_t kiln__runner_watch(const kiln__runner *runner, struct pollfd *fd);
/* Returns the outcome, and makes the runner idle. `recorder` (may be NULL) gets the times of the repetitions and the
 * features. *ends: the sample did not cause the failure, and this device can no longer measure. */
kiln_status kiln__runner_take(kiln__runner *runner, kiln__recorder *recorder, kiln_result *result, bool *ends,
                              kiln_error **error);

#endif
