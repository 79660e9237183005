/* confirm.c - runs the best configuration many times before a sweep returns it. It has to give the right answer in
 * every run.
 *
 * A sweep verifies each sample only once. A kernel with a race gives the right answer in most runs. It is often faster
 * than a correct kernel, because it waits less. So the sweep runs its best configuration again from the initial
 * contents, as often as a time limit allows. It compares every answer (engine/plan/answer.c). If an answer is wrong, or
 * a run fails, the configuration counts as failed, and the next best configuration takes its place.
 *
 * A reference may have only some of the elements, because all elements would take minutes (`sampled` of a spec). Then
 * all elements of the best configuration's answer are also compared with the answer of the fastest other variant. If
 * the two answers differ, a reference of all elements decides which answer is wrong. If computing that reference takes
 * longer than the limit of a sample, both configurations stay. A warning tells where their answers differ. */
#include <math.h>
#include <string.h>

#include "finals_internal.h"
#include "trial_internal.h"
#include "tuning_internal.h"

#define SHARE 0.03         /* the share of the sweep's wall time for running one configuration again */
#define LEAST_SECONDS 0.25 /* the least seconds for running one configuration again */
#define MOST_SECONDS 2.0   /* the most seconds for running one configuration again */

typedef struct confirming {
    kiln_tuning *tuning;
    const kiln__again *again;
    bool ends; /* no further run is possible */
} confirming;

/* Tells whether the best configuration of the sweep needs more runs. The simulated device repeats its runs exactly. So
 * there the best configuration is run again only if the caller asks for finals. */
static bool needs_runs(const kiln_tuning *tuning, const kiln_tune_options *options)
{
    const kiln_result *result = tuning->best ? tuning->best->result : NULL;
    if (!result || !result->verified || result->verified_runs > 1 || result->estimated)
        return false;
    return !(options->flags & KILN_TUNE_NO_FINALS) && !options->verify_size_set &&
           (result->measured || options->finalists);
}

/* Counts a sample as failed for the reason `why`, and frees `why`. */
static kiln_status refute(confirming *c, kiln_sample *sample, kiln_status status, kiln_error *why, kiln_error **error)
{
    const bool kept = kiln__tuning_refute(c->tuning, sample, status, kiln_error_message(why));
    c->tuning->verdict.refuted++;
    kiln__logf(c->again->log, KILN_LOG_WARNING, "one of the fastest configurations failed when it was run again: %s",
               kiln_error_message(why));
    c->again->keep(c->again->user, sample, NULL, 0, why);
    kiln_error_free(why);
    return kept ? KILN_OK : kiln__fail_memory(error);
}

/* Returns the fastest verified sample of a variant other than the best one, or NULL. */
static kiln_sample *find_other(const kiln_tuning *tuning)
{
    kiln_sample *other = NULL;
    for (size_t i = 0; i < tuning->count; i++) {
        kiln_sample *sample = tuning->samples[i];
        if (sample->status == KILN_OK && sample->result->verified &&
            strcmp(sample->variant, tuning->best->variant) != 0 &&
            (!other || kiln__result_seconds(sample->result) < kiln__result_seconds(other->result)))
            other = sample;
    }
    return other;
}

/* Compares the best configuration's answer with the answer of another variant. The process that measures on the device
 * has kept the first answer. If the two answers differ, refutes the variant whose answer a reference of all elements
 * shows to be wrong. */
static kiln_status compare_variants(confirming *c, kiln_sample *best, kiln_error **error)
{
    static const kiln__trial compare = {.answer = KILN__ANSWER_COMPARE}, whole = {.answer = KILN__ANSWER_WHOLE};
    kiln_sample *other = find_other(c->tuning);
    kiln_error *differs = NULL, *why = NULL;
    kiln_result result = {0};
    if (!other)
        return KILN_OK;
    kiln_status status = c->again->measure(c->again->user, other, &compare, &result, &c->ends, &differs);
    if (status != KILN_ERROR_WRONG_ANSWER || c->ends) {
        kiln_error_free(differs); /* a failure of the other variant does not affect the best configuration */
        return KILN_OK;
    }
    kiln__logf(c->again->log, KILN_LOG_WARNING,
               "the fastest configurations of %s and %s give different answers; computing a reference of all elements",
               best->variant, other->variant);
    status = c->again->measure(c->again->user, best, &whole, &result, &c->ends, &why);
    if (status == KILN_OK)
        return refute(c, other, KILN_ERROR_WRONG_ANSWER, differs, error);
    if (status == KILN_ERROR_WRONG_ANSWER && !c->ends) {
        kiln_error_free(differs);
        return refute(c, best, status, why, error);
    }
    kiln__logf(
        c->again->log, KILN_LOG_WARNING,
        "kiln cannot determine which of the two answers is wrong, because the reference of all elements failed (%s): "
        "%s",
        kiln_error_message(why), kiln_error_message(differs));
    kiln_error_free(differs);
    kiln_error_free(why);
    return KILN_OK;
}

/* Runs the best configuration again until the time is over. If an answer of the configuration is wrong, refutes it. If
 * the answer of the variant with which it is compared is wrong, refutes that variant. */
static kiln_status confirm(confirming *c, const kiln__trial *trial, kiln_error **error)
{
    kiln_sample *best = (kiln_sample *)c->tuning->best;
    kiln_result result = {0};
    kiln_error *why = NULL;
    kiln_status status = c->again->measure(c->again->user, best, trial, &result, &c->ends, &why);
    if (c->ends && status != KILN_OK) {
        if (error && !*error)
            *error = why;
        else
            kiln_error_free(why);
        return status;
    }
    if (status != KILN_OK)
        return refute(c, best, status, why, error);
    kiln__tuning_result(best)->verified_runs = result.verified_runs;
    status = result.partly ? compare_variants(c, best, error) : KILN_OK;
    if (status == KILN_OK && best->status == KILN_OK)
        c->again->keep(c->again->user, best, NULL, 0, NULL);
    return status;
}

kiln_status kiln__best_confirm(kiln_tuning *tuning, const kiln_tune_options *options, const kiln__again *again,
                               kiln_error **error)
{
    kiln_verdict *verdict = &tuning->verdict;
    const uint64_t start = kiln__now_ns();
    const double share = SHARE * tuning->totals.seconds;
    const kiln__trial trial = {.verify_seconds = fmin(fmax(share, LEAST_SECONDS), MOST_SECONDS),
                               .answer = KILN__ANSWER_KEEP};
    confirming c = {.tuning = tuning, .again = again};
    kiln_status status = KILN_OK;
    const kiln_sample *last = NULL;
    while (status == KILN_OK && !c.ends && tuning->best != last && needs_runs(tuning, options)) {
        last = tuning->best;
        status = confirm(&c, &trial, error);
    }
    verdict->seconds += last ? kiln__seconds_since(start) : 0;
    verdict->verified_runs = tuning->best ? tuning->best->result->verified_runs : 0;
    return status;
}
