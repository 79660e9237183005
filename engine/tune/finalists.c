/* finalists.c - the fastest configurations are measured again, in turn, before one of them is called the best.
 *
 * What a sweep measures of two configurations may lie minutes apart, at another clock and temperature, and the smallest of
 * many noisy times is small by luck as well. In the finals every round visits each finalist once, in random order, so that
 * what changes slowly changes for all of them alike. Two are told apart by the sign test over the rounds (W. J. Conover,
 * Practical Nonparametric Statistics, 3rd ed., section 3.4), which assumes nothing of the times' distribution, with the
 * level divided among all pairs (O. J. Dunn, Multiple Comparisons among Means, JASA 56, 1961): that any two are wrongly
 * told apart has a probability of at most LEVEL. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "tune_internal.h"

#define LEVEL 0.05
#define MARGIN 0.005        /* by which one is slower at least before anybody should care */
#define NEAR 0.05           /* finalists are at most so much slower than the best of the sweep */
#define NEAR_SECONDS 0.5e-6 /* or so much: events resolve no better */
#define SHARE 0.07          /* of the sweep's wall time, that finals may take */
#define LEAST_SECONDS 0.5   /* which they may take anyway */
#define LONG 20e-3          /* what takes longer than that is repeated less often in a visit */
enum { FINALISTS = 5, FINALISTS_MOST = 16, ROUNDS = 15, REPETITIONS = 5, REPETITIONS_LONG = 3 };

typedef struct finalist {
    kiln_sample *sample;
    kiln_result last;
    double rounds[ROUNDS]; /* the median of each visit */
    unsigned count, throttle;
    double cost; /* seconds that a visit took */
    bool out;    /* it failed this time */
} finalist;

typedef struct finals {
    kiln_tuning *tuning;
    const kiln__again *again;
    finalist list[FINALISTS_MOST]; /* fastest first, as the sweep measured them */
    size_t count;
    kiln__random random;
} finals;

static double seconds_since(uint64_t start) { return (double)(kiln__now_ns() - start) * 1e-9; }

/* What the sweep measured, whatever finals have made of it since: so the same samples have the same finalists. */
static double first_seconds(const kiln_sample *sample)
{
    return sample->result.first_seconds > 0 ? sample->result.first_seconds : kiln__result_seconds(&sample->result);
}

/* ---- who takes part ---- */

static bool is_chosen(const finals *f, const kiln_sample *sample)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->list[i].sample == sample)
            return true;
    return false;
}

static void choose(finals *f, size_t most)
{
    double bound = HUGE_VAL;
    while (f->count < most) {
        kiln_sample *next = NULL;
        for (size_t i = 0; i < f->tuning->count; i++) {
            kiln_sample *sample = f->tuning->samples[i];
            if (sample->status == KILN_OK && sample->contender && !sample->result.stopped_early &&
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

/* Takes the rounds of finals that were held before, if all took part in the same. Those that dropped out for want of time
 * have but one. */
static bool recall(finals *f)
{
    int64_t held = f->list[0].sample->result.finals;
    size_t rounds = 0, whole = 0, count;
    kiln__tuning_rounds(f->list[0].sample, &rounds);
    if (!held || rounds < 2 || rounds > ROUNDS)
        return false;
    for (size_t i = 0; i < f->count; i++) {
        const kiln_sample *sample = f->list[i].sample;
        kiln__tuning_rounds(sample, &count);
        if (sample->result.finals != held || count > rounds)
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

/* A failure costs the finalist its place; *ends: nothing can be measured any more. */
static kiln_status visit(finals *f, finalist *one, bool *ends, kiln_error **error)
{
    kiln__trial trial = {.again = first_seconds(one->sample) < LONG ? REPETITIONS : REPETITIONS_LONG};
    uint64_t start = kiln__now_ns();
    kiln_error *why = NULL;
    kiln_status status = f->again->measure(f->again->user, one->sample, &trial, &one->last, ends, &why);
    one->cost = seconds_since(start);
    if (status == KILN_OK) {
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
    size_t order[FINALISTS_MOST];
    bool ends = false;
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < f->count; i++) {
        size_t at = (size_t)(kiln__random_next(&f->random) % (i + 1)); /* of at most 16: the bias is below 2^-60 */
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

/* The fewest rounds in which the sign test can tell any of so many apart. */
static unsigned rounds_needed(size_t count)
{
    unsigned rounds = 1;
    while (2 * kiln__sign_test(rounds, rounds) > LEVEL / ((double)(count * (count - 1)) / 2))
        rounds++;
    return rounds;
}

/* How many rounds there is time for, after the first. Where they are too few, the slowest drop out; 0: all but one. */
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

/* The median of the rounds becomes the sample's time. */
static void conclude(finals *f, int64_t held)
{
    for (size_t i = 0; i < f->count; i++) {
        finalist *one = &f->list[i];
        kiln_result *result = &one->sample->result;
        double sorted[ROUNDS], median, low, high, before = kiln__result_seconds(result);
        for (unsigned k = 0; k < one->count; k++)
            sorted[k] = one->rounds[k];
        kiln__median(sorted, one->count, &median, &low, &high);
        result->first_seconds = first_seconds(one->sample);
        *(result->measured ? &result->seconds : &result->host_seconds) = median;
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
        f->again->keep(f->again->user, one->sample, one->rounds, one->count);
    }
}

/* They keep their time; that they were there is kept, so that the same finals need not be held again for them. */
static void dismiss(finals *f, size_t count, int64_t held)
{
    for (size_t i = f->count; i < count; i++) {
        finalist *one = &f->list[i];
        one->sample->result.first_seconds = first_seconds(one->sample);
        one->sample->result.finals = held;
        f->again->keep(f->again->user, one->sample, one->rounds, 1);
    }
}

/* Holds them; the verdict says why there are none. */
static kiln_status hold(finals *f, kiln_verdict *verdict, kiln_error **error)
{
    double limit = SHARE * f->tuning->totals.seconds;
    limit = limit > LEAST_SECONDS ? limit : LEAST_SECONDS;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t held = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
    uint64_t start = kiln__now_ns();
    kiln_status status = hold_round(f, error);
    size_t began = f->count;
    unsigned rounds = status == KILN_OK ? affordable(f, limit - seconds_since(start)) : 0;
    size_t stayed = f->count;
    for (unsigned i = 1; i < rounds && status == KILN_OK && f->count > 1; i++)
        status = hold_round(f, error);
    verdict->seconds = seconds_since(start);
    if (status != KILN_OK)
        verdict->why_not = "it was interrupted";
    else if (f->count < 2)
        verdict->why_not = rounds ? "the others failed when they were measured again"
                                  : "there was no time for enough rounds";
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
        if (kiln__result_seconds(&f->list[i].sample->result) < kiln__result_seconds(&best->sample->result))
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

/* Estimates are the same every time: equal is equal. */
static void judge_estimates(kiln_tuning *tuning, kiln_verdict *verdict)
{
    verdict->why_not = "estimates are the same every time";
    for (size_t i = 0; i < tuning->count; i++) {
        kiln_sample *sample = tuning->samples[i];
        bool tied = sample->status == KILN_OK && sample->contender &&
                    sample->result.seconds == tuning->best->result.seconds;
        verdict->tied += tied;
        sample->tied = tied;
    }
}

kiln_status kiln__finals_hold(kiln_tuning *tuning, const kiln_tune_options *options, const kiln__again *again,
                              kiln_error **error)
{
    kiln_verdict *verdict = &tuning->verdict;
    size_t most = options->finalists ? options->finalists : FINALISTS;
    finals f = {.tuning = tuning, .again = again, .random = {options->seed}};
    *verdict = (kiln_verdict){.margin = MARGIN, .near = NEAR, .why_not = ""};
    const kiln_result *best = tuning->best ? &tuning->best->result : NULL;
    if (!best)
        verdict->why_not = "no configuration worked";
    else if (best->estimated)
        judge_estimates(tuning, verdict);
    else if (options->flags & KILN_TUNE_NO_FINALS)
        verdict->why_not = "it was not wanted";
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
