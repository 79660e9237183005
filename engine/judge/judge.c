/* judge.c - kiln_judge(). Decides the order of the trials, searches for a smaller failing case, and decides whether the
 * candidate or the spec is at fault.
 *
 * Every trial has its own seed. The judge makes this seed from the caller's seed, the phase and the number of the
 * trial. So a trial does not depend on the trials before it, and a failing trial can be repeated alone.
 *
 * If the candidate fails in a trial, the spec's own kernel runs in the same trial. The spec's own kernel is the kernel
 * whose source the candidate replaces. If it fails too, the spec is at fault. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "judge_internal.h"
#include "sim.h"

enum {
    CHECKS = 10, /* the number of trials with small sizes in the phase `checks` */
    /* The number of trials with drawn sizes in the phase `answers`. Trials with the spec's size sets follow them. */
    ANSWERS = 4 * KILN__JUDGE_CLASS_COUNT,
    /* The number of trials with drawn sizes in the phase `orders`. Another trial for each size follows them. */
    ORDERS = 4,
    /* A trial with more elements than this shows how many steps the kernel takes for one element. */
    MANY = 1 << 15,
    /* The number of the trial with many blocks in the phase `calls`. The trials before it have small sizes. */
    LARGE_CALLS = 3
};
#define BUDGET 60.0
#define LAUNCH_LIMIT 20.0
/* The version of the trials, which is part of a digest. Increment this number after every change of the trials.
 * Otherwise a cache returns verdicts of the earlier trials. */
#define TRIALS 13

/* ---- opening ---- */

/* Copies the spec to judge->own, and replaces the source of the judged variant by the candidate's text. */
static kiln_status copy_spec(kiln__judge *judge, const char *text, size_t length, kiln_error **error)
{
    const kiln_spec *spec = judge->spec;
    const char *variant = judge->options.variant;
    if (spec->from_t1)
        return kiln__fail(judge->mem, error, KILN_ERROR_UNSUPPORTED,
                          "%s: a T1 file has no references, so kiln cannot judge a kernel by it", spec->path);
    if (spec->verify_count == 0)
        return kiln__fail(judge->mem, error, KILN_ERROR_SPEC,
                          "%s: kiln judge needs references, but the spec has no 'verify'", spec->path);
    if (memchr(text, '\0', length))
        return kiln__fail(judge->mem, error, KILN_ERROR_ARGUMENT, "%s is not a text: it contains a zero byte",
                          judge->name);
    KILN__TRY(kiln_spec_parse(judge->engine, spec->file.text, spec->file.length, spec->path, &judge->own, error));
    size_t at = kiln_spec_variant_first(judge->own);
    if (variant) {
        const int found = kiln_spec_variant_find(judge->own, variant);
        if (found < 0)
            return kiln__fail(judge->mem, error, KILN_ERROR_NOT_FOUND, "%s has no variant '%s'", spec->name, variant);
        at = (size_t)found;
    }
    kiln__variant *own = &judge->own->variants[at];
    const char *path, *source = own->source ? own->source : judge->own->source;
    KILN__TRY(kiln__engine_find_source(judge->engine, spec->folder, source ? source : "", &judge->arena, &path, error));
    own->source_folder = kiln__arena_folder(&judge->arena, path);
    own->source_text = kiln__arena_strndup(&judge->arena, text, length);
    own->source = judge->name;
    judge->variant = own;
    return own->source_text && own->source_folder ? KILN_OK : kiln__fail_memory(error);
}

/* Opens a plan of a variant at the engine's default sizes. If the variant's constraints do not hold at these sizes,
 * opens the plan at the first size set at which they hold. If there is no such size set, fails with the error of the
 * default sizes. */
static kiln_status open_plan(kiln__judge *judge, const kiln_spec *spec, const char *variant, bool judged,
                             kiln_plan **plan, kiln_error **error)
{
    kiln_choice choice = {.variant = variant,
                          .params = judged ? judge->options.params : NULL,
                          .param_count = judged ? judge->options.param_count : 0};
    kiln_error *why = NULL;
    kiln_status status = kiln_plan_open(judge->engine, spec, &choice, plan, &why);
    for (size_t s = 0; status == KILN_ERROR_CONSTRAINT && s < spec->size_set_count; s++) {
        bool allowed;
        choice.size_set = spec->size_sets[s].name;
        if (kiln__judge_allows(judge, spec, &choice, &allowed, &why) != KILN_OK) {
            status = KILN_ERROR_MEMORY;
        } else if (allowed) {
            kiln_error_free(why);
            why = NULL;
            status = kiln_plan_open(judge->engine, spec, &choice, plan, &why);
        }
    }
    if (error)
        *error = why;
    else
        kiln_error_free(why);
    return status;
}

/* Opens the plans of kernels that the judge trusts: the spec's own kernel, and the variants that compute expected
 * outputs. */
static kiln_status open_trusted(kiln__judge *judge, kiln_error **error)
{
    const kiln_spec *spec = judge->spec;
    const size_t count = spec->verify_count;
    judge->references = kiln__arena_alloc(&judge->arena, (count + 1) * sizeof *judge->references);
    judge->expected = kiln__arena_alloc(&judge->arena, (count + 1) * sizeof *judge->expected);
    judge->allowed = kiln__arena_alloc(&judge->arena, (count + 1) * sizeof *judge->allowed);
    if (!judge->references || !judge->expected || !judge->allowed || !kiln__judge_read_ranges(judge))
        return kiln__fail_memory(error);
    KILN__TRY(open_plan(judge, spec, judge->variant->name, true, &judge->original, error));
    if (!kiln__judge_make_few(judge))
        return kiln__fail_memory(error);
    KILN__TRY(kiln__judge_find_sets(judge, error));
    for (size_t v = 0; v < count; v++) {
        const kiln__verify *verify = &spec->verify[v];
        if (verify->against != KILN__AGAINST_VARIANT)
            continue;
        if (verify->param_count)
            return kiln__fail(judge->mem, error, KILN_ERROR_UNSUPPORTED,
                              "the reference of '%s' sets params, but kiln judge uses the defaults of a variant",
                              verify->buffer);
        judge->references[v].variant = kiln__spec_variant(spec, verify->name);
        KILN__TRY(open_plan(judge, spec, verify->name, false, &judge->references[v].plan, error));
    }
    judge->buffer_count = judge->variant->buffer_count;
    judge->buffers = kiln__arena_alloc(&judge->arena, (judge->buffer_count + 1) * sizeof *judge->buffers);
    judge->places = kiln__arena_alloc(&judge->arena, (judge->buffer_count + 1) * sizeof *judge->places);
    judge->second_places = kiln__arena_alloc(&judge->arena, (judge->buffer_count + 1) * sizeof *judge->places);
    return judge->buffers && judge->places && judge->second_places ? KILN_OK : kiln__fail_memory(error);
}

/* Compiles and loads the candidate. If that fails, sets the fault. */
static kiln_status open_candidate(kiln__judge *judge, const char *text, size_t length, kiln_error **error)
{
    judge->code.forbidden = kiln__judge_find_macro(text, length);
    if (judge->code.forbidden)
        return KILN_OK;
    kiln_error *why = NULL;
    kiln_status status = open_plan(judge, judge->own, judge->variant->name, true, &judge->candidate, &why);
    if (status == KILN_OK)
        return kiln__judge_read_code(judge) ? KILN_OK : kiln__fail_memory(error);
    return kiln__judge_refuse(judge, status, why, &judge->fault, error);
}

/* ---- trials ---- */

static bool is_late(kiln__judge *judge)
{
    if (kiln__seconds_since(judge->begun) < judge->options.budget)
        return false;
    judge->late = true;
    return true;
}

/* Runs the spec's own kernel in the same trial, and sets *fails if it has a fault. Then the spec allows more cases than
 * its own kernel can handle, and the judge does not blame the candidate. If the spec's own kernel fails only with 4
 * multiprocessors, all later trials have the real number of multiprocessors. */
static kiln_status ask_original(kiln__judge *judge, const kiln__judge_trial *trial, bool *fails, kiln_error **error)
{
    kiln__judge_fault fault, whole = {.kind = KILN_JUDGED_PASS};
    bool fits;
    KILN__TRY(kiln__judge_run_trial(judge, trial, true, &fault, &fits, error));
    *fails = fault.kind != KILN_JUDGED_PASS;
    if (*fails && trial->few && !judge->broken) {
        kiln__judge_trial other = *trial;
        other.few = false;
        KILN__TRY(kiln__judge_run_trial(judge, &other, true, &whole, &fits, error));
        judge->few = whole.kind != KILN_JUDGED_PASS;
        if (!judge->few)
            return KILN_OK;
    }
    if (*fails)
        kiln__judge_note(judge, kiln__judge_print(judge, "the variant's own source fails in a trial too (%s): %s",
                                                  kiln_judged_word(fault.kind), fault.message));
    return KILN_OK;
}

/* Runs the failed case with another value of one size. Sets *same if the candidate has the same kind of fault there,
 * and the spec's own kernel passes. If *same is not set, the case keeps its earlier value. */
static kiln_status try_size(kiln__judge *judge, size_t at, int64_t value, bool *same, kiln_error **error)
{
    const int64_t now = judge->failed.ranged[at];
    kiln__judge_fault fault;
    bool fits, fails = false;
    judge->failed.ranged[at] = value;
    judge->steps = 0;
    KILN__TRY(kiln__judge_try(judge, &judge->failed, false, &fault, &fits, error));
    const uint64_t taken = judge->steps;
    *same = fits && fault.kind == judge->fault.kind;
    if (*same && !judge->broken)
        KILN__TRY(ask_original(judge, &judge->failed, &fails, error));
    *same = *same && !fails;
    if (*same && fault.kind == KILN_JUDGED_TIMEOUT && judge->simulated && !judge->broken)
        kiln__judge_tell_steps(judge, taken, judge->steps, &fault);
    if (*same)
        judge->fault = fault;
    else
        judge->failed.ranged[at] = now;
    return KILN_OK;
}

/* Searches for smaller sizes with the same fault. For each size, first tries its smallest values. Then searches by
 * bisection, because most faults occur at all sizes above a certain size. For a large trial the bisection ends at one
 * sixteenth of the size, because each of its steps takes as long as a large trial. */
static kiln_status shrink(kiln__judge *judge, kiln_error **error)
{
    enum { LEAST = 4, PART = 16 };
    const bool large = judge->failed.phase == KILN__JUDGE_PHASE_LARGE;
    for (size_t i = 0; i < judge->range_count; i++) {
        const kiln__judge_range *range = &judge->ranges[i];
        const int64_t m = range->multiple;
        int64_t low = range->from - 1; /* the largest value that has no fault; at first a value below the range */
        for (unsigned k = 0; !judge->broken && !is_late(judge); k++) {
            const int64_t high = judge->failed.ranged[i], first = k < LEAST && range->from < k ? k : range->from;
            int64_t value = ((k < LEAST ? first : low + (high - low) / 2) + m - 1) / m * m;
            bool same;
            if (value >= high)
                value = high - m;
            if (value <= low || value < range->from || (large && k >= LEAST && high - low <= high / PART)) {
                if (k < LEAST)
                    continue;
                break;
            }
            KILN__TRY(try_size(judge, i, value, &same, error));
            if (same && k < LEAST)
                break; /* the previous value had no fault, so the present value is the smallest failing value */
            low = same ? low : value;
        }
    }
    return KILN_OK;
}

/* Runs a trial of the candidate. If a constraint excludes the sizes of the trial, rounds them up to multiples of 8,
 * then 16, and so on. The constraints of many kernels for tensor cores require multiples of 8 or more. Sizes that are
 * drawn at random are hardly ever such multiples. */
static kiln_status run_allowed(kiln__judge *judge, kiln__judge_trial *trial, kiln__judge_fault *fault, bool *fits,
                               kiln_error **error)
{
    enum { FIRST = 8, LAST = 128 };
    judge->excluded = false;
    KILN__TRY(kiln__judge_run_trial(judge, trial, false, fault, fits, error));
    for (int64_t step = FIRST;
         !*fits && judge->excluded && step <= LAST && judge->range_count && trial->phase != KILN__JUDGE_PHASE_LARGE;
         step *= 2) {
        kiln__judge_round_sizes(judge, step, trial);
        if (!kiln__judge_is_huge(judge, trial))
            KILN__TRY(kiln__judge_run_trial(judge, trial, false, fault, fits, error));
    }
    return KILN_OK;
}

/* Runs one trial, and decides whether the candidate or the spec is at fault. */
static kiln_status run_one(kiln__judge *judge, kiln__judge_trial *trial, kiln_error **error)
{
    const size_t findings = judge->finding_count;
    kiln__judge_fault fault;
    bool fits, fails = false;
    uint64_t most;
    if (kiln__judge_is_huge(judge, trial)) {
        judge->skipped += trial->phase != KILN__JUDGE_PHASE_LARGE;
        return KILN_OK;
    }
    KILN__TRY(run_allowed(judge, trial, &fault, &fits, error));
    KILN__TRY(kiln__judge_give_more_steps(judge, trial, findings, &fault, &fits, &fails, &most, error));
    if (!trial->checked && fits && judge->elements > MANY && fault.kind == KILN_JUDGED_PASS)
        judge->steps_each = fmax(judge->steps_each,
                                 fmax((double)judge->steps, (double)judge->trusted_steps) / (double)judge->elements);
    judge->skipped += !fits && trial->phase != KILN__JUDGE_PHASE_LARGE;
    judge->ran[trial->phase] += fits;
    for (size_t i = 0; i < judge->range_count && fits; i++)
        if (trial->ranged[i] > judge->ranges[i].tried)
            judge->ranges[i].tried = trial->ranged[i];
    if (fault.kind == KILN_JUDGED_PASS)
        return KILN_OK;
    if (!fails && !most && !judge->broken && fault.kind != KILN_JUDGED_STATE && fault.kind != KILN_JUDGED_LAUNCH &&
        !fault.of_code)
        KILN__TRY(ask_original(judge, trial, &fails, error));
    if (fails) {
        judge->unsettled++;
        judge->finding_count = findings;
        return KILN_OK;
    }
    judge->fault = fault;
    judge->failed = *trial;
    if (trial->phase == KILN__JUDGE_PHASE_CHECKS && fault.kind == KILN_JUDGED_WRONG) {
        /* Runs the trial again without checks. A trial without checks runs the kernel twice. The two runs tell a wrong
         * element from an element that the kernel never writes. */
        judge->failed.checked = false;
        KILN__TRY(kiln__judge_try(judge, &judge->failed, false, &fault, &fits, error));
        judge->failed.checked = fault.kind == KILN_JUDGED_PASS;
        judge->fault = fault.kind == KILN_JUDGED_PASS ? judge->fault : fault;
    }
    bool smaller = trial->phase != KILN__JUDGE_PHASE_CALLS && trial->phase != KILN__JUDGE_PHASE_STREAMS &&
                   !judge->broken && !fault.of_code;
    if (trial->phase == KILN__JUDGE_PHASE_LARGE && smaller && !most) {
        /* If the host can hold the arrays, runs an ordinary trial at the sizes of the large trial. An ordinary trial
         * has two runs, and so it tells more about the fault. */
        KILN__TRY(kiln__judge_try(judge, &judge->failed, false, &fault, &fits, error));
        smaller = fits && fault.kind != KILN_JUDGED_PASS && !judge->broken;
        judge->fault = smaller ? fault : judge->fault;
    }
    judge->steps_given = most;
    kiln_status status = smaller ? shrink(judge, error) : KILN_OK;
    judge->steps_given = 0;
    return status;
}

/* Returns the number of trials of a phase. *most gets the largest product that the sizes with a range may have in a
 * trial. */
static unsigned count_trials(const kiln__judge *judge, kiln__judge_phase phase, uint64_t *most)
{
    const bool shares = judge->spec->streams > 1;
    bool moves = false;
    for (size_t i = 0; i < judge->spec->assumption_count; i++)
        moves = moves || judge->spec->assumptions[i].align < 256;
    *most = (uint64_t)1 << (phase == KILN__JUDGE_PHASE_CHECKS || phase == KILN__JUDGE_PHASE_CALLS ||
                                    phase == KILN__JUDGE_PHASE_STREAMS
                                ? 12
                                : 17);
    const unsigned sets = judge->range_count ? UINT32_MAX : (unsigned)judge->set_count;
    unsigned count = 0;
    switch (phase) {
    case KILN__JUDGE_PHASE_CHECKS: count = judge->simulated ? CHECKS + kiln__judge_thresholds(judge) : 0; break;
    case KILN__JUDGE_PHASE_ANSWERS:
        return sets < 24 ? sets + KILN__JUDGE_CLASS_COUNT
                         : ANSWERS + (unsigned)(judge->spec->size_set_count ? judge->set_count : 0);
    case KILN__JUDGE_PHASE_ORDERS: return judge->simulated ? ORDERS + (unsigned)judge->range_count : 0;
    case KILN__JUDGE_PHASE_ALIGNMENTS: return moves ? (unsigned)judge->buffer_count + 4 : 0;
    case KILN__JUDGE_PHASE_CALLS: count = LARGE_CALLS + 1; break;
    /* In the phase `streams`, two calls share the variables of the module. The two calls would also share texture
     * arrays, because these belong to the plan. So a spec with texture arrays has no such trials. */
    case KILN__JUDGE_PHASE_STREAMS:
        count = judge->code.global_count && !judge->spec->has_arrays && (judge->simulated || shares) ? 2 : 0;
        break;
    case KILN__JUDGE_PHASE_LARGE: /* run_large() makes the large trials */
    case KILN__JUDGE_PHASE_TIMES:
    case KILN__JUDGE_PHASE_COUNT: break;
    }
    return count < sets ? count : sets;
}

/* Makes the trial `number` of the `count` trials of a phase. */
static void make_trial(kiln__judge *judge, kiln__judge_phase phase, unsigned number, unsigned count, uint64_t most,
                       kiln__judge_trial *trial)
{
    kiln__random random = {kiln__random_mix(judge->options.seed + 1) ^ kiln__random_mix(1000u * phase + number)};
    unsigned like = number;
    trial->phase = phase;
    trial->class = KILN__JUDGE_FILL;
    trial->order = trial->shift = 0;
    trial->few = judge->few && (phase == KILN__JUDGE_PHASE_LARGE ||
                                kiln__random_mix(judge->options.seed ^ (1000u * phase + number + 77777)) % 2);
    trial->far = phase == KILN__JUDGE_PHASE_ANSWERS && (number == 4 || number == 37);
    trial->checked = judge->simulated && (phase == KILN__JUDGE_PHASE_CHECKS || phase == KILN__JUDGE_PHASE_CALLS ||
                                          phase == KILN__JUDGE_PHASE_STREAMS);
    if (phase == KILN__JUDGE_PHASE_CALLS && number == LARGE_CALLS) { /* this trial has too many blocks for checks */
        trial->checked = false;
        trial->order = KILN__SIM_LATE | kiln__random_mix(judge->options.seed);
        most = (uint64_t)1 << 17;
    }
    /* Three trials with whole tiles keep the spec's own distribution of input values. If inputs have only few different
     * values, a wrong element is often equal to the right element. */
    if (phase == KILN__JUDGE_PHASE_ANSWERS && number > 2 && number % 24 != 7 && number < ANSWERS)
        trial->class = kiln__judge_choose_class(judge, number);
    if (phase == KILN__JUDGE_PHASE_ORDERS) {
        trial->order = number == 0 || number >= ORDERS ? 1 : (kiln__random_next(&random) | 2) & ~KILN__SIM_LATE;
        trial->order |= number > 1 && number < ORDERS ? KILN__SIM_LATE : 0;
        like = 3 + number;
    }
    if (phase == KILN__JUDGE_PHASE_ALIGNMENTS) {
        trial->shift = 1 + number;
        like = 2 + number % 5;
    }
    if (phase == KILN__JUDGE_PHASE_CALLS || phase == KILN__JUDGE_PHASE_STREAMS)
        like = phase == KILN__JUDGE_PHASE_CALLS && number == LARGE_CALLS ? 3 : 2 + 2 * number;
    if (phase == KILN__JUDGE_PHASE_CHECKS && number >= CHECKS)
        most = (uint64_t)1 << 17;
    kiln__judge_draw_sizes(judge, &random, like, most, trial);
    if (phase == KILN__JUDGE_PHASE_CHECKS && number >= CHECKS)
        kiln__judge_pass_threshold(judge, number - CHECKS, trial);
    if (phase == KILN__JUDGE_PHASE_ORDERS && number >= ORDERS)
        kiln__judge_take_tiles(judge, number - ORDERS, trial);
    if (judge->range_count && phase == KILN__JUDGE_PHASE_ANSWERS && number >= ANSWERS)
        kiln__judge_take_set(judge, judge->sets[number - ANSWERS], trial);
    else if (!judge->range_count)
        trial->set = judge->sets[number % judge->set_count];
    else if (judge->variant->bake_count + judge->variant->define_count > 0)
        /* neighbouring trials share a size set, because sizes that are macros need a new compile for each size set */
        trial->set = judge->sets[(number + judge->options.seed) % count * judge->set_count / count];
    trial->seed = kiln__random_next(&random);
}

/* Adds a note for each size whose largest value no trial could use. */
static void note_sizes(kiln__judge *judge)
{
    for (size_t i = 0; i < judge->range_count; i++) {
        const kiln__judge_range *range = &judge->ranges[i];
        const int64_t last = kiln__judge_last(range);
        if (range->tried >= range->from && range->tried < last)
            kiln__judge_note(judge, kiln__judge_print(judge, "%s was tried up to %" PRId64 " of %" PRId64, range->name,
                                                      range->tried, last));
    }
}

static kiln_status check_device(kiln__judge *judge, kiln_error **error)
{
    return judge->broken && judge->fault.kind == KILN_JUDGED_PASS
               ? kiln__fail(judge->mem, error, KILN_ERROR_DEVICE, "the device failed while the spec's own kernels ran")
               : KILN_OK;
}

/* Runs the first large trial that fits, once with 4 multiprocessors and once with all multiprocessors. If a larger
 * trial did not fit into the memory, adds a note. */
static kiln_status run_large(kiln__judge *judge, kiln__judge_trial *trial, kiln_error **error)
{
    for (unsigned number = 0;
         judge->ran[KILN__JUDGE_PHASE_LARGE] == 0 && judge->fault.kind == KILN_JUDGED_PASS && !is_late(judge);
         number++) {
        make_trial(judge, KILN__JUDGE_PHASE_LARGE, number, 1, 1, trial);
        bool larger;
        if (!kiln__judge_large_sizes(judge, number, trial, &larger))
            break;
        if (larger)
            KILN__TRY(run_one(judge, trial, error));
        KILN__TRY(check_device(judge, error));
        if (trial->few && judge->ran[KILN__JUDGE_PHASE_LARGE] && judge->fault.kind == KILN_JUDGED_PASS) {
            /* With all multiprocessors, a grid that fills the device has more blocks. A block that adds one number from
             * each block may then need several iterations. */
            trial->few = false;
            KILN__TRY(run_one(judge, trial, error));
            KILN__TRY(check_device(judge, error));
        }
    }
    if (judge->lacks_memory && judge->fault.kind == KILN_JUDGED_PASS)
        kiln__judge_note(
            judge,
            judge->ran[KILN__JUDGE_PHASE_LARGE]
                ? "the large trial is smaller than the contract allows, because larger arrays do not fit into the memory"
                : "there is no large trial, because its arrays do not fit into the memory");
    return KILN_OK;
}

/* Writes into the fault why there is no verdict, and how the user can get one. */
static void leave_undecided(kiln__judge *judge)
{
    const double budget = judge->options.budget, references = (double)judge->reference_ns * 1e-9;
    unsigned ran = 0;
    for (int p = 0; p < KILN__JUDGE_PHASE_COUNT; p++)
        ran += judge->ran[p];
    judge->fault.kind = KILN_JUDGED_UNDECIDED;
    judge->fault.message =
        !judge->late
            ? "no sizes are small enough for the trials on this device: give the sizes ranges in the key 'judge' of the spec"
        : references > budget / 2
            ? kiln__judge_print(
                  judge,
                  "%u trials ran in the budget of %.3g s, of which the references took %.0f s. Give a larger budget "
                  "(--budget), or a faster reference, such as a variant of the spec",
                  ran, budget, references)
            : kiln__judge_print(
                  judge,
                  "%u trials ran in the budget of %.3g s. Give a larger budget (--budget), or smaller ranges of sizes in "
                  "the key 'judge' of the spec",
                  ran, budget);
}

static kiln_status run_phases(kiln__judge *judge, kiln_error **error)
{
    kiln__judge_trial trial = {0};
    trial.ranged = kiln__arena_alloc(&judge->arena, (judge->range_count + 1) * sizeof *trial.ranged);
    if (!trial.ranged)
        return kiln__fail_memory(error);
    for (int p = 0; p < KILN__JUDGE_PHASE_COUNT; p++) {
        uint64_t most;
        const unsigned count = count_trials(judge, (kiln__judge_phase)p, &most);
        for (unsigned i = 0; i < count && judge->fault.kind == KILN_JUDGED_PASS && !is_late(judge); i++) {
            make_trial(judge, (kiln__judge_phase)p, i, count, most, &trial);
            double product = 1;
            for (size_t k = 0; k < judge->range_count; k++)
                product *= (double)trial.ranged[k];
            if (p == KILN__JUDGE_PHASE_ANSWERS && i >= ANSWERS && product > 1 << 20)
                /* skips this size set, because even filling the buffers at its sizes takes long; the phase `times` uses
                 * it */
                continue;
            KILN__TRY(run_one(judge, &trial, error));
            KILN__TRY(check_device(judge, error));
        }
    }
    KILN__TRY(run_large(judge, &trial, error));
    if (judge->fault.kind == KILN_JUDGED_PASS && !is_late(judge)) {
        judge->timed = true;
        judge->untimed_notes = judge->note_count;
        KILN__TRY(kiln__judge_time(judge, &judge->fault, error));
    }
    if (judge->fault.kind == KILN_JUDGED_PASS && !judge->broken && !is_late(judge))
        KILN__TRY(kiln__judge_compare_with(judge, error));
    if (judge->fault.kind == KILN_JUDGED_PASS)
        note_sizes(judge);
    if (judge->fault.kind == KILN_JUDGED_PASS && !judge->simulated)
        kiln__judge_note(
            judge, "a GPU has no checks: only a simulated device ('sim' in --device) finds races and reads outside "
                   "of buffers");
    if (judge->fault.kind == KILN_JUDGED_PASS && (judge->late || judge->ran[KILN__JUDGE_PHASE_ANSWERS] == 0))
        leave_undecided(judge);
    return KILN_OK;
}

/* ---- the public function ---- */

static void close_judge(kiln__judge *judge)
{
    kiln_plan_close(judge->candidate);
    for (size_t v = 0; judge->references && v < judge->spec->verify_count; v++)
        kiln_plan_close(judge->references[v].plan);
    kiln_plan_close(judge->against);
    kiln_plan_close(judge->original);
    kiln_spec_free(judge->own);
    kiln__judge_drop_globals(judge);
    kiln__free(judge->mem, judge->code.globals);
    kiln__free(judge->mem, judge->code.constants);
    kiln__free(judge->mem, judge->findings);
    kiln__free(judge->mem, judge->notes);
    kiln__arena_free(&judge->arena);
}

/* Makes the whole judgement: opens and compiles the plans, enters the sandbox, runs the trials, and makes the verdict.
 * The engine's context must be current. */
static kiln_status run(kiln__judge *judge, const char *text, size_t length, kiln_judgement **verdict,
                       kiln_error **error)
{
    KILN__TRY(copy_spec(judge, text, length, error));
    KILN__TRY(open_trusted(judge, error));
    KILN__TRY(kiln__judge_open_against(judge, error));
    KILN__TRY(open_candidate(judge, text, length, error));
    if (judge->fault.kind == KILN_JUDGED_PASS && judge->code.forbidden) {
        judge->fault.kind = KILN_JUDGED_FORBIDDEN;
        judge->fault.message = judge->code.forbidden;
    }
    if (judge->fault.kind == KILN_JUDGED_PASS) {
        const kiln_spec *other = judge->options.against_spec;
        /* the folder of the spec with which the candidate is compared; this spec may name files in its folder */
        const kiln_file_binding folder = {.path = other ? other->folder : NULL};
        const kiln__sandbox want = {.files = &folder, .file_count = folder.path && *folder.path ? 1 : 0};
        /* a size that is a macro needs a compile for each trial, inside the sandbox */
        KILN__TRY(kiln__engine_nvrtc(judge->engine, error));
        KILN__TRY(kiln__engine_sandbox(judge->engine, judge->spec, &want, error));
        KILN__TRY(run_phases(judge, error));
    }
    kiln_judgement *made = kiln__judge_conclude(judge);
    if (!made)
        return kiln__fail_memory(error);
    *verdict = made;
    return KILN_OK;
}

/* Returns true if the spec reads files or runs commands. A digest does not cover the contents of such files. */
static bool reads_files(const kiln_spec *spec)
{
    for (size_t i = 0; i < spec->verify_count; i++)
        if (spec->verify[i].against == KILN__AGAINST_FILE || spec->verify[i].against == KILN__AGAINST_COMMAND)
            return true;
    for (size_t v = 0; v < spec->variant_count; v++)
        for (size_t i = 0; i < spec->variants[v].buffer_count; i++)
            if (spec->variants[v].buffers[i].fill.kind == KILN__FILL_FILE)
                return true;
    return false;
}

static void add_part(kiln__text *all, const char *data, size_t length)
{
    char hash[33];
    kiln__hash_print(kiln__hash(data, length), hash);
    kiln__text_printf(all, "%s\n", hash);
}

/* Adds the PTX of a plan to a digest. Adds nothing for NULL. Returns false if the plan has no PTX. Leaves out the PTX
 * lines that contain only .file and the name of a source file. If a source uses __FILE__, other lines contain the
 * file's name, and the digest covers this name. */
static bool add_code(kiln__text *all, const kiln_plan *plan)
{
    size_t length = 0;
    const char *ptx = plan ? kiln__plan_ptx(plan, &length) : "";
    for (const char *line = ptx, *end = ptx + length; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const size_t size = newline ? (size_t)(newline - line) + 1 : (size_t)(end - line);
        const size_t blanks = strspn(line, " \t");
        if (blanks >= size || !kiln__judge_names_file(line + blanks, size - blanks))
            add_part(all, line, size);
        line += size;
    }
    kiln__text_puts(all, ".\n");
    return !plan || length > 0;
}

static void add_settings(kiln__text *all, const kiln_setting *settings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        kiln__text_printf(all, "%s=", settings[i].name);
        kiln__value_print(all, settings[i].value);
        kiln__text_puts(all, "\n");
    }
    kiln__text_puts(all, ".\n");
}

/* Makes the digest of a judgement. The PTX of each kernel stands for its source and all headers that the source
 * includes. */
static kiln_status make_digest(kiln__judge *judge, const char *text, size_t length, char *digest, kiln_error **error)
{
    const kiln_judge_options *options = &judge->options;
    const kiln_spec *other = options->against_spec;
    digest[0] = '\0';
    KILN__TRY(copy_spec(judge, text, length, error));
    KILN__TRY(open_trusted(judge, error));
    KILN__TRY(kiln__judge_open_against(judge, error));
    KILN__TRY(open_candidate(judge, text, length, error));
    if (judge->fault.kind != KILN_JUDGED_PASS || judge->code.forbidden || reads_files(judge->spec) ||
        (other && reads_files(other)))
        return KILN_OK;
    kiln__text all = {.mem = judge->mem};
    kiln__text_printf(&all, "%s %d\n%s\n%s\n%x %d\n%s\n%s\n%" PRIu64 " %.17g\n", kiln_version(), TRIALS,
                      judge->engine->info.id, judge->engine->info.name,
                      judge->engine->flags & (KILN_SANDBOX | KILN_SANDBOX_REQUIRED), judge->engine->info.sm_count,
                      judge->variant->name, judge->comparison.variant ? judge->comparison.variant : "", options->seed,
                      options->launch_limit);
    add_settings(&all, options->params, options->param_count);
    add_settings(&all, options->against_params, options->against_param_count);
    add_part(&all, text, length);
    add_part(&all, judge->spec->file.text, judge->spec->file.length);
    if (other)
        add_part(&all, other->file.text, other->file.length);
    bool covered = add_code(&all, judge->candidate) && add_code(&all, judge->original) &&
                   add_code(&all, judge->against);
    for (size_t v = 0; v < judge->spec->verify_count; v++)
        covered = covered && add_code(&all, judge->references[v].plan);
    /* the judge does not open the reference kernels of the other spec, so it does not know their PTX */
    for (size_t v = 0; other && v < other->verify_count; v++)
        covered = covered && other->verify[v].against != KILN__AGAINST_VARIANT;
    const bool failed = all.failed;
    if (!failed && covered)
        kiln__hash_print(kiln__hash(all.data, all.length), digest);
    kiln__text_free(&all);
    return failed ? kiln__fail_memory(error) : KILN_OK;
}

/* Checks the options, and fills in their defaults. Makes the engine's context current. *previous gets the context that
 * was current before. */
static kiln_status start(kiln__judge *judge, kiln_engine *engine, const kiln_spec *spec, const char *name,
                         const kiln_judge_options *options, CUcontext *previous, kiln_error **error)
{
    KILN__NEEDS_NUMBER(engine->mem, error, options->budget);
    KILN__NEEDS_NUMBER(engine->mem, error, options->launch_limit);
    KILN__NEEDS_SETTINGS(engine->mem, error, options->params, options->param_count);
    KILN__NEEDS_SETTINGS(engine->mem, error, options->against_params, options->against_param_count);
    *judge = (kiln__judge){.engine = engine,
                           .mem = engine->mem,
                           .arena.mem = engine->mem,
                           .spec = spec,
                           .options = *options,
                           .name = name,
                           .sized_set = SIZE_MAX,
                           .begun = kiln__now_ns()};
    if (options->budget == 0)
        judge->options.budget = BUDGET;
    if (options->launch_limit == 0)
        judge->options.launch_limit = LAUNCH_LIMIT;
    KILN__TRY(kiln__engine_enter(engine, previous, error));
    judge->simulated = engine->info.simulated != 0;
    return KILN_OK;
}

kiln_status kiln_judge(kiln_engine *engine, const kiln_spec *spec, const char *text, size_t length, const char *name,
                       const kiln_judge_options *given, kiln_judgement **verdict, kiln_error **error)
{
    kiln_judge_options options;
    kiln__judge judge;
    CUcontext previous;
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS(engine->mem, error, spec);
    KILN__NEEDS(engine->mem, error, text);
    KILN__NEEDS_TEXT(engine->mem, error, name);
    KILN__NEEDS(engine->mem, error, verdict);
    KILN__TAKE(engine->mem, error, "options", given, &options);
    KILN__TRY(start(&judge, engine, spec, name, &options, &previous, error));
    kiln_status status = run(&judge, text, length, verdict, error);
    close_judge(&judge);
    kiln__engine_leave(engine, previous);
    /* A fault destroys the context. If the engine owns the context, the engine makes a new context for the next
     * judgement. */
    if (judge.broken && judge.simulated && engine->owns_context)
        kiln__engine_renew(engine, NULL);
    return status;
}

kiln_status kiln_judge_digest(kiln_engine *engine, const kiln_spec *spec, const char *text, size_t length,
                              const char *name, const kiln_judge_options *given, char *digest, kiln_error **error)
{
    kiln_judge_options options;
    kiln__judge judge;
    CUcontext previous;
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS(engine->mem, error, spec);
    KILN__NEEDS(engine->mem, error, text);
    KILN__NEEDS_TEXT(engine->mem, error, name);
    KILN__NEEDS(engine->mem, error, digest);
    KILN__TAKE(engine->mem, error, "options", given, &options);
    KILN__TRY(start(&judge, engine, spec, name, &options, &previous, error));
    kiln_status status = make_digest(&judge, text, length, digest, error);
    close_judge(&judge);
    kiln__engine_leave(engine, previous);
    return status;
}
