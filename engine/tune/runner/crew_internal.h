/* crew_internal.h - the sweep's side of measuring in other processes: a runner process for each of its devices
 * (crew.c). */
#ifndef KILN_TUNE_CREW_INTERNAL_H
#define KILN_TUNE_CREW_INTERNAL_H

#include "isolate_internal.h"

typedef struct kiln__crew kiln__crew;
/* Starts a runner for each site, and does not wait for the runners. Opening a device takes a tenth of a second or more.
 * The caller can begin compiles during this time. */
kiln_status kiln__crew_start(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                             const kiln__sites *sites, kiln__crew **crew, kiln_error **error);
/* Steps the runners that have not opened their device yet. *ready tells whether all runners have opened their devices.
 * Call this function until all runners are ready, with kiln__crew_wait() between two calls. A runner takes no sample
 * before that. Fails if a device of this machine cannot be opened. A rank whose device cannot be opened is left out. */
kiln_status kiln__crew_greet(kiln__crew *crew, bool *ready, kiln_error **error);
void kiln__crew_close(kiln__crew *crew); /* NULL is fine */
size_t kiln__crew_count(const kiln__crew *crew);
/* NULL means that the runner is no longer used */
kiln__runner *kiln__crew_runner(const kiln__crew *crew, size_t index);
/* gives up a device that can no longer measure */
void kiln__crew_let_go(kiln__crew *crew, size_t index);
/* Waits until a runner's socket is ready, a deadline has passed, or `seconds` are over. If `compiles` is set, the end
 * of a compile ends the wait too. After this, the caller must step all runners. */
void kiln__crew_wait(const kiln__crew *crew, bool compiles, double seconds);
/* If the process of a sample ended, retries the sample once, while nothing else runs. Returns true while such a sample
 * is retried, or waits for the end of running samples and compiles. While the function returns true, the caller must
 * not begin another sample, and no waiting compile begins. The caller calls it each time after it has stepped the
 * runners. */
bool kiln__crew_alone(kiln__crew *crew);
/* Measures one sample and waits for its end. All runners must be idle. `tick` is called about ten times a second. If it
 * returns false, the sample is stopped. Returns the outcome of the sample like kiln__runner_take(). */
kiln_status kiln__crew_run(kiln__crew *crew, size_t index, const kiln_sample *sample, const kiln__trial *trial,
                           const kiln__code *code, bool (*tick)(void *user), void *user, kiln__recorder *recorder,
                           kiln_result *result, bool *ends, kiln_error **error);

#endif
