/* Tests the finals of a sweep: the participants, the results of the rounds, and the stored verdicts. The times are
 * invented. */
#include <math.h>
#include <time.h>

#include "check.h"
#include "finals_internal.h"
#include "plan_internal.h"
#include "trial_internal.h"
#include "tuning_internal.h"

enum { MOST = 8 };

/* A device on which configuration i takes base[i], multiplied by a drift over time and by noise. */
typedef struct device {
    double base[MOST], noise, drift;
    uint64_t random;
    unsigned visits, kept, kept_rounds;
    /* the configuration that fails, and the configuration that ends the finals; -1 if there is none */
    int fails, ends;
    long nap;                /* nanoseconds that a visit takes */
    double rounds[MOST][64]; /* the times of the rounds, as the store keeps them */
} device;

static double uniform(device *d)
{
    d->random = d->random * 6364136223846793005u + 1442695040888963407u;
    return (double)(d->random >> 11) * 0x1p-53;
}

static size_t number_of(const kiln_sample *sample) { return (size_t)sample->params[0].value.as.i; }

static kiln_status measure(void *user, const kiln_sample *sample, const kiln__trial *trial, kiln_result *result,
                           bool *ends, kiln_error **error)
{
    device *d = user;
    size_t number = number_of(sample);
    *ends = d->ends == (int)number;
    CHECK(trial->again >= 3 && trial->stop_early_above == 0);
    if (*ends || d->fails == (int)number)
        return kiln__fail(NULL, error, *ends ? KILN_ERROR_INTERRUPTED : KILN_ERROR_TIMEOUT, "as told");
    if (d->nap)
        nanosleep(&(struct timespec){.tv_nsec = d->nap}, NULL);
    double noise = 1 + d->noise * (uniform(d) + uniform(d) + uniform(d) - 1.5);
    double drift = 1 + d->drift * sin(0.05 * d->visits++);
    *result = (kiln_result){.measured = 1, .seconds = d->base[number] * noise * drift, .clock_hz = 1e9, .throttle = 1};
    return KILN_OK;
}

static void keep(void *user, const kiln_sample *sample, const double *times, size_t count, const kiln_error *why)
{
    CHECK(!why && times);
    device *d = user;
    d->kept++;
    d->kept_rounds = (unsigned)count;
    memcpy(d->rounds[number_of(sample)], times, count * sizeof *times);
}

static const kiln__log silent;

/* Makes a sweep in which configuration i was measured as seconds[i]. */
static kiln_tuning *sweep_of(const double *seconds, size_t count, kiln_result like)
{
    kiln_tuning *tuning = kiln__tuning_new(NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tuning);
    for (size_t i = 0; i < count; i++) {
        kiln_setting param = {"I", {KILN_INT, {.i = (int64_t)i}}};
        kiln_sample *sample = kiln__tuning_sample(tuning, "v", (kiln__settings){1, &param});
        CU_ASSERT_PTR_NOT_NULL_FATAL(sample);
        *kiln__tuning_result(sample) = like;
        kiln__tuning_result(sample)->seconds = seconds[i];
        CHECK(kiln__tuning_add(tuning, sample, KILN_OK, ""));
    }
    return tuning;
}

static kiln_status hold(kiln_tuning *tuning, device *d, kiln_tune_options options, kiln_verdict *verdict)
{
    kiln__again again = {.user = d, .log = &silent, .measure = measure, .keep = keep};
    kiln_status status = kiln__finals_hold(tuning, &options, &again, NULL);
    kiln__tuning_rank(tuning);
    *verdict = *kiln_tuning_verdict(tuning);
    return status;
}

static long at(const kiln_tuning *tuning, size_t rank) { return (long)number_of(kiln_tuning_sample(tuning, rank)); }

static const kiln_result measured = {.measured = 1, .repetitions = 7, .roofline = 0.5, .clock_hz = 2e9};

/* The sweep measured 0 as too fast. In truth 1 and 2 are equally fast, and 0 and 3 are slower. The clocks fall by a
 * fifth during the finals. */
static void luck_is_undone(void)
{
    const double seen[] = {1.00, 1.01, 1.02, 1.03, 1.2, 1.04, 1.049};
    device d = {
        .base = {1.03, 1.01, 1.01, 1.05, 1.2, 1.045, 1.06}, .noise = 0.002, .drift = 0.1, .fails = -1, .ends = -1};
    kiln_tuning *tuning = sweep_of(seen, 7, measured);
    kiln_verdict v;
    CHECK(hold(tuning, &d, (kiln_tune_options){0}, &v) == KILN_OK);
    CHECK(v.finalists == 5 && v.rounds == 15 && v.tied == 2 && !v.reused && v.margin == 0.005);
    CHECK_TEXT(v.why_not, "");
    CHECK(d.visits == 75 && d.kept == 5 && d.kept_rounds == 15);
    CHECK(at(tuning, 0) + at(tuning, 1) == 3 && at(tuning, 2) == 0 && at(tuning, 3) == 5 && at(tuning, 4) == 3);
    CHECK(at(tuning, 5) == 6 && at(tuning, 6) == 4); /* configurations that are no finalists come after the finalists */
    const kiln_sample *third = kiln_tuning_sample(tuning, 2), *sixth = kiln_tuning_sample(tuning, 5);
    CHECK(third->result->first_seconds == 1 && third->result->seconds > 1 && third->result->finals > 0 && !third->tied);
    CHECK(third->result->seconds_low <= third->result->seconds &&
          third->result->seconds <= third->result->seconds_high);
    CHECK(third->result->repetitions == 15 && third->result->throttle == 1 && third->result->clock_hz == 1e9);
    CHECK(fabs(third->result->roofline * third->result->seconds - 0.5) < 1e-12);
    CHECK(kiln_tuning_sample(tuning, 0)->tied && kiln_tuning_sample(tuning, 1)->tied);
    CHECK(sixth->result->first_seconds == 0 && sixth->result->seconds == 1.049 && sixth->result->finals == 0);
    kiln_tuning_free(tuning);
}

/* Stored finals give the same verdict without a new measurement, for all participants or for some of them. If there
 * is a new participant, all are measured again. */
static void finals_are_remembered(void)
{
    const double seen[] = {1.00, 1.01, 1.02};
    device d = {.base = {1.02, 1.00, 1.0}, .noise = 0.002, .fails = -1, .ends = -1};
    kiln_tuning *first = sweep_of(seen, 3, measured);
    kiln_verdict v, w;
    CHECK(hold(first, &d, (kiln_tune_options){0}, &v) == KILN_OK);
    CHECK(v.tied == 2 && v.rounds == 15);
    for (int newcomer = 0; newcomer < 2; newcomer++) {
        const double more[] = {1.00, 1.01, 1.02, newcomer ? 1.005 : 2};
        kiln_tuning *second = sweep_of(more, 4, measured);
        for (size_t i = 0; i < 3; i++) {
            const kiln_sample *had = kiln_tuning_sample(first, i);
            kiln_sample *sample = second->samples[number_of(had)];
            *kiln__tuning_result(sample) = *had->result;
            kiln__tuning_set_rounds(sample, d.rounds[number_of(had)], d.kept_rounds);
        }
        unsigned visits = d.visits;
        CHECK(hold(second, &d, (kiln_tune_options){.finalists = newcomer ? 0 : 3}, &w) == KILN_OK);
        CHECK(w.reused == !newcomer && (d.visits == visits) == !newcomer);
        CHECK(newcomer || (w.tied == v.tied && w.rounds == v.rounds && w.finalists == 3 && w.seconds == 0));
        for (size_t i = 0; i < 3 && !newcomer; i++)
            CHECK(at(second, i) == at(first, i) &&
                  kiln_tuning_sample(second, i)->tied == kiln_tuning_sample(first, i)->tied);
        kiln_tuning_free(second);
    }
    kiln_tuning_free(first);
}

/* If there is no time for all participants, the remaining ones are judged, and the next sweep takes the same verdict.
 * A round of five takes 75 ms, so 0.5 s are enough for six rounds, but nine are needed. */
static void some_drop_out(void)
{
    const double seen[] = {1.00, 1.01, 1.02, 1.03, 1.04};
    device d = {.base = {1, 1.02, 1.02, 1.02, 1.02}, .noise = 0.0001, .fails = -1, .ends = -1, .nap = 15000000};
    kiln_tuning *first = sweep_of(seen, 5, measured), *second = sweep_of(seen, 5, measured);
    kiln_verdict v, w;
    CHECK(hold(first, &d, (kiln_tune_options){0}, &v) == KILN_OK);
    if (v.rounds == 0) {
        printf("\n  no time for finals on so busy a machine\n");
    } else {
        CHECK(v.finalists >= 2 && v.finalists < 5 && v.tied == 1 && d.kept == 5 && at(first, 0) == 0);
        for (size_t i = 0; i < 5; i++) {
            const kiln_sample *had = kiln_tuning_sample(first, i);
            kiln_sample *sample = second->samples[number_of(had)];
            CHECK(had->result->finals > 0 && had->result->first_seconds == seen[number_of(had)]);
            CHECK(i < v.finalists || had->result->seconds == seen[number_of(had)]);
            *kiln__tuning_result(sample) = *had->result;
            kiln__tuning_set_rounds(sample, d.rounds[number_of(had)], i < v.finalists ? v.rounds : 1);
        }
        unsigned visits = d.visits;
        CHECK(hold(second, &d, (kiln_tune_options){0}, &w) == KILN_OK);
        CHECK(w.reused && d.visits == visits && w.finalists == v.finalists && w.tied == 1 && w.rounds == v.rounds);
    }
    kiln_tuning_free(first);
    kiln_tuning_free(second);
}

static void what_can_go_wrong(void)
{
    const double seen[] = {1.00, 1.01, 1.02};
    const struct {
        int fails, ends;
        long nap;
        kiln_status status;
        size_t finalists;
        const char *why_not;
    } want[] = {
        {2, -1, 0, KILN_OK, 2, ""},
        {0, -1, 0, KILN_OK, 2, ""},
        {-1, 1, 0, KILN_ERROR_INTERRUPTED, 0, "it was interrupted"},
        {-1, -1, 250000000, KILN_OK, 0, "there was not enough time"},
    };
    for (size_t i = 0; i < KILN__COUNT(want); i++) {
        device d = {.base = {1, 1, 1}, .fails = want[i].fails, .ends = want[i].ends, .nap = want[i].nap};
        kiln_tuning *tuning = sweep_of(seen, 3, measured);
        kiln_verdict v;
        CHECK(hold(tuning, &d, (kiln_tune_options){0}, &v) == want[i].status);
        CHECK(v.finalists == want[i].finalists && v.tied == want[i].finalists);
        CHECK_TEXT(v.why_not, want[i].why_not);
        CHECK(d.kept == want[i].finalists && (d.kept || at(tuning, 0) == 0));
        kiln_tuning_free(tuning);
    }
}

/* Tests the cases in which there are no finals, and the reason that the verdict gives. */
static void without_finals(void)
{
    const double seen[] = {1.02, 1, 1, 1.04};
    const kiln_result estimated = {.estimated = 1}, host = {.host_seconds = 1},
                      early = {.measured = 1, .stopped_early = 1};
    const struct {
        size_t count;
        const kiln_result *like;
        kiln_tune_options options;
        size_t finalists, tied;
        const char *why_not;
    } want[] = {
        {0, &measured, {0}, 0, 0, "no configuration worked"},
        {1, &measured, {0}, 1, 1, ""},
        {4, &measured, {.finalists = 1}, 1, 1, ""},
        {4, &measured, {.flags = KILN_TUNE_NO_FINALS}, 0, 0, "switched off"},
        {4, &estimated, {0}, 0, 2, "estimates are exactly repeatable"},
        {4, &host, {0}, 0, 0, "nothing was measured"},
        {4, &early, {0}, 0, 0, ""},
    };
    for (size_t i = 0; i < KILN__COUNT(want); i++) {
        device d = {.fails = -1, .ends = -1};
        kiln_tuning *tuning = sweep_of(seen, want[i].count, *want[i].like);
        kiln_verdict v;
        CHECK(hold(tuning, &d, want[i].options, &v) == KILN_OK);
        CHECK(v.finalists == want[i].finalists && v.tied == want[i].tied && v.rounds == 0 && d.visits == 0);
        CHECK_TEXT(v.why_not, want[i].why_not);
        kiln_tuning_free(tuning);
    }
}

/* Holds 1,000 finals between five configurations that are equally fast, or differ by an amount that does not matter.
 * Few of them name one configuration the best. If one configuration is faster by 5 times the noise (its standard
 * deviation, 1 %), most finals name it. */
static void errors_are_rare(void)
{
    const double seen[] = {1, 1, 1, 1, 1};
    unsigned wrong = 0, right = 0;
    for (unsigned n = 0; n < 1000; n++) {
        device alike = {
            .base = {1, 1, 1.003, 1, 1}, .noise = 0.02, .drift = 0.05, .random = n, .fails = -1, .ends = -1};
        device apart = {
            .base = {1.05, 1.05, 1, 1.05, 1.05}, .noise = 0.02, .drift = 0.05, .random = n, .fails = -1, .ends = -1};
        kiln_tuning *tuning = sweep_of(seen, 5, measured);
        kiln_verdict v;
        CHECK(hold(tuning, &alike, (kiln_tune_options){.seed = n}, &v) == KILN_OK);
        wrong += v.tied < 5;
        kiln_tuning_free(tuning);
        tuning = sweep_of(seen, 5, measured);
        CHECK(hold(tuning, &apart, (kiln_tune_options){.seed = n}, &v) == KILN_OK);
        right += v.tied == 1 && at(tuning, 0) == 2;
        kiln_tuning_free(tuning);
    }
    CHECK(wrong <= 20);
    CHECK(right >= 900);
}

static void the_sign_test(void)
{
    CHECK(kiln__sign_test(3, 3) == 0.125 && kiln__sign_test(3, 2) == 0.5 && kiln__sign_test(5, 0) == 1);
    CHECK(fabs(kiln__sign_test(15, 14) - 16.0 / 32768) < 1e-15);
    CHECK(fabs(kiln__sign_test(20, 15) - 0.020694732666015625) < 1e-15); /* 21,700 of 2^20 */
    CHECK(kiln__sign_test(0, 0) == 1);
}

static const check_case cases[] = {
    {"luck is undone", luck_is_undone}, {"finals are remembered", finals_are_remembered},
    {"some drop out", some_drop_out},   {"what can go wrong", what_can_go_wrong},
    {"without finals", without_finals}, {"errors are rare", errors_are_rare},
    {"the sign test", the_sign_test},
};
KILN_SUITE("tune.finals", cases)
