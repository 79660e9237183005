/* isolate_internal.h - starts and controls the process that measures on one device (isolate.c). */
#ifndef KILN_TUNE_ISOLATE_INTERNAL_H
#define KILN_TUNE_ISOLATE_INTERNAL_H

#include <poll.h>

#include "record_internal.h"
#include "trial_internal.h"

/* A process that measures on one device, and the processes that replace it. No function waits. After the start of a
 * sample, the caller must step the runner whenever its socket is ready or its deadline has passed, until the sample has
 * ended. */
typedef struct kiln__runner kiln__runner;
/* Starts the process before anything is compiled, so that errors are found early. Fails if another process cannot do
 * the work of the engine. Engine, spec, options and site must outlive the runner. */
kiln_status kiln__runner_open(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                              const kiln__site *site, kiln__runner **runner, kiln_error **error);
void kiln__runner_close(kiln__runner *runner);         /* ends a running sample and the process; `runner` may be NULL */
bool kiln__runner_is_idle(const kiln__runner *runner); /* returns whether a sample can be started */
/* Starts a sample. If the last process has ended, first starts a new process. The function copies the code. `small` is
 * the code at the smaller sizes. It is NULL if the sweep has no smaller sizes. */
kiln_status kiln__runner_begin(kiln__runner *runner, const kiln_sample *sample, const kiln__trial *trial,
                               const kiln__code *code, const kiln__code *small, kiln_error **error);
void kiln__runner_stop(kiln__runner *runner); /* ends a running sample: KILN_ERROR_INTERRUPTED */
/* The process may end while a sample runs. Then kiln__runner_waits() is true until kiln__runner_retry() starts another
 * process for the sample. From the end of the process on, kiln__runner_retries() is true until the caller takes the
 * outcome of the sample. */
bool kiln__runner_waits(const kiln__runner *runner);
bool kiln__runner_retries(const kiln__runner *runner);
void kiln__runner_retry(kiln__runner *runner);
/* makes progress without waiting; returns true if the caller can take the outcome */
bool kiln__runner_step(kiln__runner *runner);
/* Sets *fd for poll(). If there is nothing to poll, the descriptor is -1. Returns the time of kiln__now_ns() at which
 * the caller must step the runner in any case. Returns 0 if there is no such time. */
uint64_t kiln__runner_watch(const kiln__runner *runner, struct pollfd *fd);
/* Returns the outcome of the sample, and makes the runner idle. `recorder` gets the times of the repetitions and the
 * features. It may be NULL. Sets *ends if this device can no longer measure, and the
 * sample is not the cause. */
kiln_status kiln__runner_take(kiln__runner *runner, kiln__recorder *recorder, kiln_result *result, bool *ends,
                              kiln_error **error);

#endif
