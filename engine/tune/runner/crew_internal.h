/* crew_internal.h - the sweep's side: a runner process for each of its devices (crew.c). */
#ifndef KILN_TUNE_CREW_INTERNAL_H
#define KILN_TUNE_CREW_INTERNAL_H

#include "isolate_internal.h"

typedef struct kiln__crew kiln__crew;
/* Starts a runner for each site, and does not wait for the runners. Opening a device takes a tenth of a second or more,
 * and meanwhile the caller can begin compiles. */
kiln_status kiln__crew_start(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                             const kiln__sites *sites, kiln__crew **crew, kiln_error **error);
/* Steps the runners that have not opened their device yet. *ready tells whether all of them have. Call it, with
 * kiln__crew_wait() between the calls, until all are ready; before that a runner takes no sample. Fails if a device of
 * this machine cannot be opened; a rank whose device cannot be opened is left out. */
kiln_status kiln__crew_greet(kiln__crew *crew, bool *ready, kiln_error **error);
void kiln__crew_close(kiln__crew *crew); /* NULL is fine */
size_t kiln__crew_count(const kiln__crew *crew);
kiln__runner *kiln__crew_runner(const kiln__crew *crew, size_t index); /* NULL means that it is no longer used */
void kiln__crew_let_go(kiln__crew *crew, size_t index);                /* a device that can measure no more */
/* Waits until a runner's socket is ready, a deadline has passed, a compile has ended (if `compiles`), or `seconds` are
 * over. Then all runners must be stepped. */
void kiln__crew_wait(const kiln__crew *crew, bool compiles, double seconds);
/* Retries a sample whose process ended, once, while nothing else is at work. Returns true if such a sample is being
 * retried, or waits for the end of running samples and compiles. While it returns true, the caller must not begin
 * another sample, and no waiting compile begins. The caller calls this function each time after it has stepped the
 * runners. */
bool kiln__crew_alone(kiln__crew *crew);
/* Measures one sample and waits for it, while all runners are idle. `tick` is called about ten times a second; false
 * stops the sample. Returns the outcome as kiln__runner_take() does. */
kiln_status kiln__crew_run(kiln__crew *crew, size_t index, const kiln_sample *sample, const kiln__trial *trial,
                           const kiln__code *code, bool (*tick)(void *user), void *user, kiln__recorder *recorder,
                           kiln_result *result, bool *ends, kiln_error **error);

#endif
