/* finalists.c - the finals of a sweep: measures the fastest configurations again in turn, before one of them is called
 * the best.
 *
 * In a sweep two configurations may be measured minutes apart, at different clocks and temperatures. Moreover, the
 * shortest of many noisy times is short partly by chance. In the finals every round measures each finalist once, in
 * random order. So slow changes affect all finalists in the same way. Two finalists are distinguished by the sign test
 * over the rounds (W. J. Conover, Practical Nonparametric Statistics, 3rd ed., section 3.4), which assumes nothing
 * about the times' distribution, with the level divided among all pairs (O. J. Dunn, Multiple Comparisons among Means,
 * JASA 56, 1961): the probability that any two are wrongly distinguished is at most LEVEL. */
#include <math.h>
#include <string.h>

#include "random.h"
#include "finals_internal.h"
#include "trial_internal.h"
#include "tuning_internal.h"

#define LEVEL 0.05
#define MARGIN 0.005        /* a difference of at most this share does not matter */
#define NEAR 0.05           /* a finalist is slower than the best of the sweep by at most this share */
#define NEAR_SECONDS 0.5e-6 /* this time is added to the bound for finalists, because it is the resolution of events */
#define SHARE 0.07          /* the share of the sweep's wall time that the finals may take */
#define LEAST_SECONDS 0.5   /* the finals may take this wall time in any case */
#define LONG 20e-3          /* configurations that take longer than this are repeated less often in a visit */
enum { FINALISTS = 5, FINALISTS_MOST = 16, ROUNDS = 15, REPETITIONS = 5, REPETITIONS_LONG = 3 };

typedef struct finalist {
    kiln_sample *sample;
    kiln_result last;
    double rounds[ROUNDS]; /* the median time of each visit */
    kiln_metric_values metrics[ROUNDS];
    unsigned count, throttle;
    double cost; /* the seconds that a visit of this finalist took */
    bool out;    /* a visit of this finalist failed */
} finalist;

typedef struct finals {
    kiln_tuning *tuning;
    const kiln__again *again;
    /* the finalists in the order of the times that the sweep measured, the fastest first */
    finalist list[FINALISTS_MOST];
    size_t count;
    kiln__random random;
} finals;

/* Returns the time that the sweep measured for a sample. Later finals do not change this time, so the same samples give
 * the same finalists. */
static double first_seconds(const kiln_sample *sample)
{
    return sample->result->first_seconds > 0 ? sample->result->first_seconds : kiln__result_seconds(sample->result);
}

/* ---- choosing the finalists ---- */

static bool is_chosen(const finals *f, const kiln_sample *sample)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->list[i].sample == sample)
            return true;
    return false;
}

/* Chooses at most `most` finalists. The finalists are the fastest contenders whose measurement did not stop early, and
 * whose times are within NEAR and NEAR_SECONDS of the fastest. */
static void choose(finals *f, size_t most)
{
    double bound = HUGE_VAL;
    while (f->count < most) {
        kiln_sample *next = NULL;
        for (size_t i = 0; i < f->tuning->count; i++) {
            kiln_sample *sample = f->tuning->samples[i];
            if (sample->status == KILN_OK && sample->contender && !sample->result->stopped_early &&
                !is_chosen(f, sample) && (!next || first_seconds(sample) < first_seconds(next)))
                next = sample;
        }
        if (!next || first_seconds(next) > bound)
            return;
        if (f->count == 0)
            bound = (1 + NEAR) * first_seconds(next) + NEAR_SECONDS;
        f->list[f->count++] = (finalist){.sample = next};
    }
}

/* Reuses the rounds of earlier finals, if all finalists took part in these finals. A finalist that was dropped for lack
 * of time has only one round. */
static bool recall(finals *f)
{
    int64_t held = f->list[0].sample->result->finals;
    size_t rounds = 0, whole = 0, count;
    kiln__tuning_rounds(f->list[0].sample, &rounds);
    if (!held || rounds < 2 || rounds > ROUNDS)
        return false;
    for (size_t i = 0; i < f->count; i++) {
        const kiln_sample *sample = f->list[i].sample;
        kiln__tuning_rounds(sample, &count);
        if (sample->result->finals != held || count > rounds)
            return false;
        whole += count == rounds && whole == i;
    }
    if (whole < 2)
        return false;
    f->count = whole;
    for (size_t i = 0; i < f->count; i++) {
        f->list[i].count = (unsigned)rounds;
        memcpy(f->list[i].rounds, kiln__tuning_rounds(f->list[i].sample, &count), rounds * sizeof(double));
    }
    return true;
}

/* ---- the rounds ---- */

/* Measures a finalist once. Drops a finalist that fails. Sets *ends if the device can measure nothing more. */
static kiln_status visit(finals *f, finalist *one, bool *ends, kiln_error **error)
{
    kiln__trial trial = {.again = first_seconds(one->sample) < LONG ? REPETITIONS : REPETITIONS_LONG};
    uint64_t start = kiln__now_ns();
    kiln_error *why = NULL;
    kiln_status status = f->again->measure(f->again->user, one->sample, &trial, &one->last, ends, &why);
    one->cost = kiln__seconds_since(start);
    if (status == KILN_OK) {
        one->metrics[one->count] = one->last.metrics;
        one->rounds[one->count++] = kiln__result_seconds(&one->last);
        one->throttle |= one->last.throttle;
        return KILN_OK;
    }
    if (*ends) {
        if (error && !*error)
            *error = why;
        else
            kiln_error_free(why);
        return status;
    }
    kiln__logf(f->again->log, KILN_LOG_WARNING,
               "one of the fastest configurations failed when it was measured again: %s", kiln_error_message(why));
    kiln_error_free(why);
    one->out = true;
    return KILN_OK;
}

static kiln_status hold_round(finals *f, kiln_error **error)
{
    size_t order[FINALISTS_MOST] = {0};
    bool ends = false;
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < f->count; i++) {
        /* `i` is at most 16, so the bias of the remainder is below 2^-60 */
        size_t at = (size_t)(kiln__random_next(&f->random) % (i + 1));
        order[i] = i;
        order[i] = order[at];
        order[at] = i;
    }
    for (size_t i = 0; i < f->count && status == KILN_OK; i++)
        status = visit(f, &f->list[order[i]], &ends, error);
    size_t kept = 0;
    for (size_t i = 0; i < f->count; i++)
        if (!f->list[i].out)
            f->list[kept++] = f->list[i];
    f->count = kept;
    return status;
}

/* Returns the least number of rounds with which the sign test can tell `count` finalists apart. */
static unsigned rounds_needed(size_t count)
{
    unsigned rounds = 1;
    while (2 * kiln__sign_test(rounds, rounds) > LEVEL / ((double)(count * (count - 1)) / 2))
        rounds++;
    return rounds;
}

/* Returns how many rounds fit into the time, including the first round. If too few rounds fit, drops the slowest
 * finalists. Returns 0 if only one finalist is left. */
static unsigned affordable(finals *f, double left)
{
    for (; f->count > 1; f->count--) {
        double cost = 0;
        for (size_t i = 0; i < f->count; i++)
            cost += f->list[i].cost;
        double rounds = 1 + (left > 0 ? left / cost : 0);
        if (rounds >= rounds_needed(f->count))
            return rounds < ROUNDS ? (unsigned)rounds : ROUNDS;
    }
    return 0;
}

/* Returns the metrics of the visit whose time is nearest to the median, because some metrics depend on the time. */
static const kiln_metric_values *metrics_of(const finalist *one, double median)
{
    unsigned nearest = 0;
    for (unsigned k = 1; k < one->count; k++)
        if (fabs(one->rounds[k] - median) < fabs(one->rounds[nearest] - median))
            nearest = k;
    return &one->metrics[nearest];
}

/* Sets the time of each finalist's sample to the median of its rounds. */
static void conclude(finals *f, int64_t held)
{
    for (size_t i = 0; i < f->count; i++) {
        finalist *one = &f->list[i];
        kiln_result *result = kiln__tuning_result(one->sample);
        double sorted[ROUNDS], median, low, high, before = kiln__result_seconds(result);
        for (unsigned k = 0; k < one->count; k++)
            sorted[k] = one->rounds[k];
        kiln__median(sorted, one->count, &median, &low, &high);
        result->first_seconds = first_seconds(one->sample);
        *(result->measured ? &result->seconds : &result->host_seconds) = median;
        result->metrics = *metrics_of(one, median);
        if (result->measured) {
            result->seconds_low = low;
            result->seconds_high = high;
            result->roofline *= before / median;
        }
        result->repetitions = one->count;
        result->finals = held;
        result->clock_hz = one->last.clock_hz;
        result->memory_clock_hz = one->last.memory_clock_hz;
        result->temperature = one->last.temperature;
        result->throttle = one->throttle;
        f->again->keep(f->again->user, one->sample, one->rounds, one->count, NULL);
    }
}

/* Marks the samples of the finalists that affordable() dropped. These samples keep the time that the sweep measured.
 * The store gets their one round, so that the same finals need not be held again. */
static void dismiss(finals *f, size_t count, int64_t held)
{
    for (size_t i = f->count; i < count; i++) {
        finalist *one = &f->list[i];
        kiln_result *result = kiln__tuning_result(one->sample);
        result->first_seconds = first_seconds(one->sample);
        result->finals = held;
        f->again->keep(f->again->user, one->sample, one->rounds, 1, NULL);
    }
}

/* Holds the finals. If no finals are held, sets the reason in the verdict. */
static kiln_status hold(finals *f, kiln_verdict *verdict, kiln_error **error)
{
    double limit = SHARE * f->tuning->totals.seconds;
    limit = limit > LEAST_SECONDS ? limit : LEAST_SECONDS;
    int64_t held = kiln__today_ns() / 1000;
    uint64_t start = kiln__now_ns();
    kiln_status status = hold_round(f, error);
    size_t began = f->count;
    unsigned rounds = status == KILN_OK ? affordable(f, limit - kiln__seconds_since(start)) : 0;
    size_t stayed = f->count;
    for (unsigned i = 1; i < rounds && status == KILN_OK && f->count > 1; i++)
        status = hold_round(f, error);
    verdict->seconds = kiln__seconds_since(start);
    if (status != KILN_OK)
        verdict->why_not = "it was interrupted";
    else if (f->count < 2)
        verdict->why_not = rounds ? "the other configurations failed when they were measured again"
                                  : "there was not enough time";
    else
        conclude(f, held);
    if (status == KILN_OK && !*verdict->why_not && f->count == stayed)
        dismiss(f, began, held);
    return status;
}

/* ---- the verdict ---- */

static bool is_slower(const finalist *one, const finalist *best, size_t finalists)
{
    unsigned wins = 0;
    for (unsigned i = 0; i < one->count; i++)
        wins += one->rounds[i] > (1 + MARGIN) * best->rounds[i];
    return 2 * kiln__sign_test(one->count, wins) <= LEVEL / ((double)(finalists * (finalists - 1)) / 2);
}

static void judge(finals *f, kiln_verdict *verdict)
{
    const finalist *best = &f->list[0];
    for (size_t i = 1; i < f->count; i++)
        if (kiln__result_seconds(f->list[i].sample->result) < kiln__result_seconds(best->sample->result))
            best = &f->list[i];
    verdict->finalists = f->count;
    verdict->rounds = f->list[0].count;
    verdict->tied = 1;
    for (size_t i = 0; i < f->count; i++) {
        finalist *one = &f->list[i];
        bool tied = one == best || !is_slower(one, best, f->count);
        verdict->tied += tied && one != best;
        kiln__tuning_mark(one->sample, tied);
    }
    f->tuning->best = best->sample;
}

/* Sets the verdict from estimates. Estimates are the same in every run, so the function compares them directly. */
static void judge_estimates(kiln_tuning *tuning, kiln_verdict *verdict)
{
    verdict->why_not = "estimates are exactly repeatable";
    for (size_t i = 0; i < tuning->count; i++) {
        kiln_sample *sample = tuning->samples[i];
        bool tied = sample->status == KILN_OK && sample->contender && sample->result->estimated &&
                    sample->result->seconds == tuning->best->result->seconds;
        verdict->tied += tied;
        sample->tied = tied;
    }
}

/* Sets the verdict of the finals. Sets `why_not` of the verdict to the reason why there are no finals. If there is only
 * one finalist, `why_not` is "". Compares estimates directly, without finals. Reuses the finals of an earlier sweep if
 * every finalist took part in them (recall). */
kiln_status kiln__finals_hold(kiln_tuning *tuning, const kiln_tune_options *options, const kiln__again *again,
                              kiln_error **error)
{
    kiln_verdict *verdict = &tuning->verdict;
    size_t most = options->finalists ? options->finalists : FINALISTS;
    finals f = {.tuning = tuning, .again = again, .random = {options->seed}};
    *verdict = (kiln_verdict){.margin = MARGIN, .near = NEAR, .why_not = ""};
    const kiln_result *best = tuning->best ? tuning->best->result : NULL;
    if (!best)
        verdict->why_not = "no configuration worked";
    else if (best->estimated)
        judge_estimates(tuning, verdict);
    else if (options->flags & KILN_TUNE_NO_FINALS)
        verdict->why_not = "switched off";
    else if (!(kiln__result_seconds(best) > 0) || (!best->measured && !options->finalists))
        verdict->why_not = "nothing was measured";
    if (*verdict->why_not)
        return KILN_OK;
    choose(&f, most < FINALISTS_MOST ? most : FINALISTS_MOST);
    if (f.count < 2) {
        verdict->finalists = verdict->tied = f.count;
        return KILN_OK;
    }
    verdict->reused = recall(&f);
    kiln_status status = verdict->reused ? KILN_OK : hold(&f, verdict, error);
    if (status == KILN_OK && !*verdict->why_not)
        judge(&f, verdict);
    return status;
}

const kiln_verdict *kiln_tuning_verdict(const kiln_tuning *tuning) { return tuning ? &tuning->verdict : NULL; }
