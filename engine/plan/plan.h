/* plan.h - spec + variant + configuration + sizes -> code, buffers, steps; run, verify, measure.
 * Knows nothing of searching. */
#ifndef KILN_PLAN_H
#define KILN_PLAN_H

#include "config.h"
#include "engine.h"
#include "spec.h"

/* ---- plans ---- */
/* kiln_plan_open in two halves, for a scheduler that compiles ahead: makes a plan from a config and finished code.
 * Takes ownership of both, also on failure. */
kiln_status kiln__plan_make(kiln_engine *engine, kiln__config *config, kiln__code *code, kiln_plan **plan,
                            kiln_error **error);

/* Whether how much a variant does depends on its data: `while` and `host` steps. */
bool kiln__steps_depend(const kiln__variant *variant);

/* Inputs and expected outputs that do not depend on the configuration are made once and shared by the plans of a
 * sweep: buffers filled on the device, references computed on the host. One per sweep; NULL is allowed everywhere. */
typedef struct kiln__shared kiln__shared;
kiln_status kiln__shared_open(kiln_engine *engine, const kiln_spec *spec, kiln__shared **shared, kiln_error **error);
void kiln__shared_free(kiln__shared *shared);
/* `notify` is called in each run of its plans when inputs and references are ready, before the first launch. */
void kiln__shared_on_launch(kiln__shared *shared, void (*notify)(void *user), void *user);
/* `notify` is called with a reason when a run waits for another process's measurement, and with NULL when it
 * continues. */
void kiln__shared_on_wait(kiln__shared *shared, void (*notify)(void *user, const char *why), void *user);
/* `ends` is asked often while a run waits for another process: true ends the run with KILN_ERROR_INTERRUPTED. */
void kiln__shared_on_ask(kiln__shared *shared, bool (*ends)(void *user), void *user);
/* The seconds of each repetition of the plan's last run, in order. */
const double *kiln__plan_times(const kiln_plan *plan, size_t *count);
/* The numbers that describe the plan's input, as the spec's `features` has them; none: the spec has no features. Makes
 * the inputs that they need. Everything is in the arena. */
kiln_status kiln__plan_features(kiln_plan *plan, kiln__arena *arena, kiln__settings *features, kiln_error **error);
/* The same for the sizes of a choice, without a plan: makes the inputs on the host, and frees them. */
kiln_status kiln__features_of(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *sizes, kiln__arena *arena,
                              kiln__settings *features, kiln_error **error);
/* Makes what all configurations at these sizes need of the host, into the shared part: the spec's inputs, contents of
 * buffers and, where `check`, references by host functions. A sweep does so while its first configuration is compiled. */
kiln_status kiln__plan_prepare(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *sizes,
                               kiln__shared *shared, bool check, kiln_error **error);
/* A result's time: measured or estimated seconds, else the simulator's wall time. */
double kiln__result_seconds(const kiln_result *result);
void kiln__plan_share(kiln_plan *plan, kiln__shared *shared); /* before the plan's first run; shared outlives it */
/* How a run uses answers of other runs of the sweep, where the reference has only a part of the elements. */
typedef enum kiln__answer_use {
    KILN__ANSWER_NONE,
    KILN__ANSWER_KEEP,    /* keep the answer with the plans that share, in place of an earlier one */
    KILN__ANSWER_COMPARE, /* compare every element with the kept answer, within twice the tolerance */
    KILN__ANSWER_WHOLE    /* compute a reference of all elements, however long that takes */
} kiln__answer_use;
void kiln__plan_answer(kiln_plan *plan, kiln__answer_use use);
void kiln__plan_whole(kiln_plan *plan); /* all blocks run, also where an estimate needs a few alone */
#endif
