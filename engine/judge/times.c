/* times.c - takes the time of the candidate and of another variant. A GPU measures the times, and a simulated device
 * with a model of times estimates them. A simulated device without a model gives no time. */
#include <math.h>
#include <string.h>

#include "judge_internal.h"

enum { ELEMENTS_MOST = 1 << 22, ELEMENTS_MOST_GPU = 1 << 28 };
/* The largest credible ratio between two times: the time that the device's peak rates require, and the measured time.
 * Variable clocks and the resolution of events cannot explain a larger ratio. */
#define FASTER 1.05

kiln_status kiln__judge_choose_set(kiln__judge *judge, uint64_t most, size_t *set, bool *found, kiln_error **error)
{
    uint64_t best = 0;
    if (most == 0)
        most = judge->simulated ? ELEMENTS_MOST : ELEMENTS_MOST_GPU;
    *found = false;
    kiln__judge_choose_device(judge, false);
    for (size_t s = 0; s < judge->spec->size_set_count; s++) {
        const kiln__settings *settings = &judge->spec->size_sets[s].settings;
        uint64_t elements = 0;
        kiln_error *why = NULL;
        kiln_status status = kiln_plan_resize(judge->original, settings->items, settings->count, &why);
        kiln_error_free(why);
        if (status == KILN_ERROR_MEMORY)
            return kiln__fail_memory(error);
        if (status != KILN_OK)
            continue; /* the constraints exclude this size set */
        KILN__TRY(kiln__once_buffers(judge->original, judge->buffers, error));
        for (size_t i = 0; i < judge->buffer_count; i++)
            elements += judge->buffers[i].elements;
        if (elements <= most && elements >= best) {
            best = elements;
            *set = s;
            *found = true;
        }
    }
    return KILN_OK;
}

kiln_status kiln__judge_time_plan(kiln__judge *judge, kiln_plan *plan, size_t set, const kiln_result **result,
                                  kiln__judge_fault *fault, kiln_error **error)
{
    const kiln__settings *settings = &judge->spec->size_sets[set].settings;
    const kiln_run_options options = {.size = sizeof options,
                                      .flags = judge->simulated ? KILN_RUN_NO_VERIFY : KILN_RUN_FLUSH_L2,
                                      .budget = judge->simulated ? 0 : 0.5,
                                      .sample_timeout = judge->options.launch_limit};
    kiln_error *why = NULL;
    *result = NULL;
    kiln_status status = kiln_plan_resize(plan, settings->items, settings->count, &why);
    if (status == KILN_OK)
        status = kiln_plan_run(plan, &options, result, &why);
    if (status == KILN_OK)
        return KILN_OK;
    *result = NULL;
    if (judge->engine->driver.cuCtxSynchronize_() != CUDA_SUCCESS)
        judge->broken = true;
    if (status == KILN_ERROR_MEMORY) {
        kiln_error_free(why);
        return kiln__fail_memory(error);
    }
    if (fault && (status == KILN_ERROR_WRONG_ANSWER || status == KILN_ERROR_DEVICE)) {
        *fault = (kiln__judge_fault){.kind = status == KILN_ERROR_DEVICE ? KILN_JUDGED_UNSAFE : KILN_JUDGED_WRONG};
        fault->message = kiln__judge_print(judge, "at the sizes '%s', which are timed: %s",
                                           judge->spec->size_sets[set].name, kiln_error_message(why));
    } else {
        kiln__judge_note(judge, kiln__judge_print(judge, "no time: %s", kiln_error_message(why)));
    }
    kiln_error_free(why);
    return KILN_OK;
}

/* Takes the time of the candidate or of the spec's own kernel. On a GPU each repetition has new inputs (`repeats`), and
 * the judge compares the answers of some repetitions. */
static kiln_status time_repeats(kiln__judge *judge, kiln__judge_repeats *repeats, kiln_plan *plan, size_t set,
                                const kiln_result **result, kiln_result *kept, kiln__judge_fault *fault,
                                kiln_error **error)
{
    if (repeats)
        kiln__judge_begin_repeats(repeats, plan);
    kiln_status status = kiln__judge_time_plan(judge, plan, set, result, fault, error);
    if (*result) { /* copies the result, because the plan owns it and may run again */
        *kept = **result;
        *result = kept;
    }
    if (!repeats)
        return status;
    const bool measured = status == KILN_OK && *result && !judge->broken;
    const kiln_status ended = kiln__judge_end_repeats(repeats, measured, fault, status == KILN_OK ? error : NULL);
    return status == KILN_OK ? ended : status;
}

/* Takes the time of the candidate, and then of the spec's own kernel. If both have a fault, the spec allows more cases
 * than its own kernel can handle. A note then replaces the fault. */
static kiln_status time_both(kiln__judge *judge, kiln__judge_repeats *repeats, size_t set, kiln__judge_fault *fault,
                             kiln_error **error)
{
    kiln__judge_fault other_fault = {.kind = KILN_JUDGED_PASS};
    const kiln_result *own, *other;
    kiln_result own_kept, other_kept;
    KILN__TRY(time_repeats(judge, repeats, judge->candidate, set, &own, &own_kept, fault, error));
    if (judge->broken || (!own && fault->kind == KILN_JUDGED_PASS))
        return KILN_OK;
    KILN__TRY(time_repeats(judge, repeats, judge->original, set, &other, &other_kept, &other_fault, error));
    if (other_fault.kind != KILN_JUDGED_PASS)
        kiln__judge_note(judge, kiln__judge_print(judge, "the variant's own source fails when it is timed (%s): %s",
                                                  kiln_judged_word(other_fault.kind), other_fault.message));
    if (other_fault.kind != KILN_JUDGED_PASS && fault->kind != KILN_JUDGED_PASS) {
        *fault = (kiln__judge_fault){.kind = KILN_JUDGED_PASS};
        judge->unsettled++;
    }
    if (!own)
        return KILN_OK;
    judge->times = (struct kiln__judge_times){.known = own->measured || own->estimated,
                                              .measured = own->measured != 0,
                                              .seconds = own->seconds,
                                              .low = own->seconds_low,
                                              .high = own->seconds_high,
                                              .roofline = own->roofline,
                                              .device = judge->engine->info.id,
                                              .sizes = judge->spec->size_sets[set].name};
    if (other && (other->measured || other->estimated)) {
        judge->times.against_known = true;
        judge->times.against = other->seconds;
    }
    judge->ran[KILN__JUDGE_PHASE_TIMES]++;
    return KILN_OK;
}

/* Takes the times of the candidate and of the spec's own kernel at a size set that fits the device. Sets *fault if an
 * answer at this size set is wrong, or if a measured time is shorter than the peak rates of the device allow. If there
 * is no time, a note has the reason. */
kiln_status kiln__judge_time(kiln__judge *judge, kiln__judge_fault *fault, kiln_error **error)
{
    const kiln__simulator *simulator = judge->engine->driver.simulator;
    kiln__judge_repeats *repeats = NULL;
    size_t set = 0;
    bool found;
    if (simulator && !simulator->has_model()) {
        kiln__judge_note(judge, "no time: this simulated device cannot estimate times");
        return KILN_OK;
    }
    judge->sized_set = SIZE_MAX;
    KILN__TRY(kiln__judge_choose_set(judge, 0, &set, &found, error));
    if (!found) {
        kiln__judge_note(judge, "no time: every size set is too large for this device");
        return KILN_OK;
    }
    if (!judge->simulated)
        KILN__TRY(kiln__judge_open_repeats(judge, set, &repeats, error));
    kiln_status status = time_both(judge, repeats, set, fault, error);
    kiln__judge_close_repeats(repeats);
    judge->sized_set = SIZE_MAX;
    KILN__TRY(status);
    if (fault->kind == KILN_JUDGED_PASS && judge->times.measured && judge->times.roofline > FASTER) {
        *fault = (kiln__judge_fault){.kind = KILN_JUDGED_TOO_FAST};
        fault->message = kiln__judge_print(
            judge, "%.3g s is %.2f times as fast as the peaks of the device allow for the spec's flops and bytes",
            judge->times.seconds, judge->times.roofline);
    }
    return KILN_OK;
}
