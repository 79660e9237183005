/* against.c - compares the speed of a candidate that passed with the speed of another kernel. The other kernel is a
 * variant of the same spec or of another spec.
 *
 * On a GPU the judge measures both kernels. On a simulated device with a model of times the judge estimates both times.
 * Without such a model the judge compares only counters, which do not decide which kernel is faster. */
#include <math.h>
#include <string.h>

#include "judge_internal.h"

enum { COUNTED_ELEMENTS = 1 << 18 };
#define USUAL_NOISE 0.01 /* the relative difference between two measurements of the same program */
#define NO_INTERVAL 0.05 /* the relative uncertainty of a measured time without a confidence interval */

/* Finds the variant with which the candidate is compared, and opens its plan. The function must run before the process
 * enters its sandbox, because it reads the source of the other spec. The other spec must have all sizes of the
 * candidate's spec. */
kiln_status kiln__judge_open_against(kiln__judge *judge, kiln_error **error)
{
    const kiln_judge_options *options = &judge->options;
    const kiln_spec *other = options->against_spec ? options->against_spec : judge->spec;
    kiln_choice choice = {
        .variant = options->against, .params = options->against_params, .param_count = options->against_param_count};
    if (!options->against && !options->against_spec)
        return KILN_OK;
    if (options->against && kiln_spec_variant_find(other, options->against) < 0)
        return kiln__fail(judge->mem, error, KILN_ERROR_NOT_FOUND,
                          "%s has no variant '%s' with which the candidate can be compared", other->name,
                          options->against);
    if (!choice.variant)
        choice.variant = kiln_spec_variant_name(other, kiln_spec_variant_first(other));
    for (size_t s = 0; s < judge->spec->size_set_count; s++) {
        const kiln__settings *sizes = &judge->spec->size_sets[s].settings;
        for (size_t i = 0; i < sizes->count; i++)
            if (other->size_set_count == 0 || !kiln__settings_find(other->size_sets[0].settings, sizes->items[i].name))
                return kiln__fail(judge->mem, error, KILN_ERROR_NOT_FOUND,
                                  "%s has no size '%s', so it cannot run at the sizes of %s", other->name,
                                  sizes->items[i].name, judge->spec->name);
    }
    judge->comparison.spec = other->name;
    judge->comparison.variant = choice.variant;
    return kiln_plan_open(judge->engine, other, &choice, &judge->against, error);
}

/* Counts the instructions and memory accesses of one run, at the sizes that the plan has now. If the run fails,
 * side->counted stays false, and a note has the reason. */
static kiln_status count_work(kiln__judge *judge, kiln_plan *plan, kiln__judge_side *side, kiln_error **error)
{
    const kiln__simulator *simulator = judge->engine->driver.simulator;
    kiln__sim_kernel *kernels = NULL;
    size_t count = 0;
    kiln_error *why = NULL;
    if (!simulator->count_begin(NULL, NULL, 0))
        return kiln__fail_memory(error);
    kiln_status status = kiln__once_run(plan, judge->options.launch_limit, &why);
    const bool whole = simulator->count_end(&judge->arena, &kernels, &count);
    kiln__once_release(plan);
    if (status == KILN_ERROR_MEMORY || !whole) {
        kiln_error_free(why);
        return kiln__fail_memory(error);
    }
    if (status != KILN_OK) {
        judge->broken = judge->engine->driver.cuCtxSynchronize_() != CUDA_SUCCESS;
        kiln__judge_note(judge, kiln__judge_print(judge, "no counters: %s", kiln_error_message(why)));
        kiln_error_free(why);
        return KILN_OK;
    }
    for (size_t k = 0; k < count; k++) {
        side->launches += kernels[k].launches;
        for (size_t i = 0; i < kernels[k].insn_count; i++) {
            const kiln_counters *c = &kernels[k].insns[i].counters;
            side->executed += c->executed;
            side->sectors += c->global_load_sectors + c->global_store_sectors + c->global_atomic_sectors +
                             c->bulk_load_sectors + c->bulk_store_sectors;
            side->wavefronts += c->shared_load_wavefronts + c->shared_store_wavefronts + c->shared_atomic_wavefronts;
        }
    }
    side->counted = true;
    return KILN_OK;
}

/* Compares the answer of the plan with the references of its spec, at the sizes that the plan has now. */
static kiln_status check_answer(kiln__judge *judge, kiln_plan *plan, kiln__judge_side *side, kiln_error **error)
{
    const kiln_run_options options = {
        .size = sizeof options, .flags = KILN_RUN_NO_MEASURE, .sample_timeout = judge->options.launch_limit};
    const kiln_result *result = NULL;
    kiln_error *why = NULL;
    kiln_status status = kiln_plan_run(plan, &options, &result, &why);
    if (status == KILN_OK && result->verified) {
        side->answer = KILN__JUDGE_RIGHT;
        side->worst_error = result->worst_error;
    } else if (status == KILN_ERROR_WRONG_ANSWER) {
        side->answer = KILN__JUDGE_WRONG;
        kiln__judge_note(judge, kiln__judge_print(judge, "the variant of the comparison gives a wrong answer: %s",
                                                  kiln_error_message(why)));
    } else if (status != KILN_OK) {
        judge->broken = judge->engine->driver.cuCtxSynchronize_() != CUDA_SUCCESS;
        kiln__judge_note(judge, kiln__judge_print(judge, "no comparison of answers: %s", kiln_error_message(why)));
    }
    kiln_error_free(why);
    return status == KILN_ERROR_MEMORY ? kiln__fail_memory(error) : KILN_OK;
}

static kiln_status resize(kiln__judge *judge, kiln_plan *plan, size_t set, bool *fits, kiln_error **error)
{
    const kiln__settings *settings = &judge->spec->size_sets[set].settings;
    kiln_error *why = NULL;
    kiln_status status = kiln_plan_resize(plan, settings->items, settings->count, &why);
    *fits = status == KILN_OK;
    if (!*fits && status != KILN_ERROR_MEMORY)
        kiln__judge_note(judge, kiln__judge_print(judge, "no comparison: %s", kiln_error_message(why)));
    kiln_error_free(why);
    return status == KILN_ERROR_MEMORY ? kiln__fail_memory(error) : KILN_OK;
}

/* Computes the ratio of both times with a 95 % interval, and decides which kernel is faster. The medians of the two
 * times are independent, so the half widths of their intervals are added in quadrature. The scale is logarithmic,
 * because the result is a ratio. */
void kiln__judge_compare_times(struct kiln__judge_comparison *to)
{
    const kiln__judge_side *mine = &to->candidate, *other = &to->against;
    double below = 0, above = 0;
    if (!(mine->seconds > 0) || !(other->seconds > 0))
        return;
    to->ratio = other->seconds / mine->seconds;
    if (to->kind == KILN__JUDGE_MEASURED) {
        const bool known = mine->low > 0 && mine->high >= mine->low && other->low > 0 && other->high >= other->low;
        below = known ? hypot(log(other->seconds / other->low), log(mine->high / mine->seconds)) : NO_INTERVAL;
        above = known ? hypot(log(other->high / other->seconds), log(mine->seconds / mine->low)) : NO_INTERVAL;
    }
    to->low = to->ratio * exp(-below);
    to->high = to->ratio * exp(above);
    to->faster = to->low > 1 && to->ratio > 1 + USUAL_NOISE          ? "candidate"
                 : to->high < 1 && to->ratio < 1 / (1 + USUAL_NOISE) ? "against"
                                                                     : "neither";
}

static void take_time(kiln__judge_side *side, const kiln_result *result)
{
    side->seconds = result->seconds;
    side->low = result->seconds_low;
    side->high = result->seconds_high;
}

/* Compares the candidate with the variant that the options name. Compares times or estimates, counters, and answers. */
kiln_status kiln__judge_compare_with(kiln__judge *judge, kiln_error **error)
{
    const kiln__simulator *simulator = judge->engine->driver.simulator;
    struct kiln__judge_comparison *to = &judge->comparison;
    kiln_plan *const plans[] = {judge->candidate, judge->against};
    kiln__judge_side *const sides[] = {&to->candidate, &to->against};
    size_t timed = 0, counted = 0;
    bool found, fits = true;
    if (!judge->against)
        return KILN_OK;
    to->kind = !simulator ? KILN__JUDGE_MEASURED : simulator->has_model() ? KILN__JUDGE_ESTIMATED : KILN__JUDGE_COUNTED;
    judge->sized_set = SIZE_MAX;
    KILN__TRY(kiln__judge_choose_set(judge, simulator ? COUNTED_ELEMENTS : 0, &counted, &found, error));
    for (size_t i = 0; i < 2 && found && simulator && fits && !judge->broken; i++) {
        KILN__TRY(resize(judge, plans[i], counted, &fits, error));
        if (fits)
            KILN__TRY(count_work(judge, plans[i], sides[i], error));
    }
    for (size_t i = 0; i < 2 && found && fits && !judge->broken; i++) {
        KILN__TRY(resize(judge, plans[i], counted, &fits, error));
        if (fits)
            KILN__TRY(check_answer(judge, plans[i], sides[i], error));
    }
    if (!found || !fits || judge->broken) {
        if (!found)
            kiln__judge_note(judge, "no comparison: every size set is too large for this device");
        return KILN_OK;
    }
    to->known = true;
    to->sizes = judge->spec->size_sets[counted].name;
    if (to->kind == KILN__JUDGE_COUNTED)
        return KILN_OK;
    KILN__TRY(kiln__judge_choose_set(judge, 0, &timed, &found, error));
    for (size_t i = 0; i < 2 && found && !judge->broken; i++) {
        const kiln_result *result;
        KILN__TRY(kiln__judge_time_plan(judge, plans[i], timed, &result, NULL, error));
        if (result && (result->measured || result->estimated))
            take_time(sides[i], result);
    }
    to->timed_sizes = judge->spec->size_sets[timed].name;
    kiln__judge_compare_times(to);
    return KILN_OK;
}
