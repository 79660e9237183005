/* Tests that a sweep runs its best configuration again. A configuration whose wrong answers pass the first check must
 * not win. */
#include <unistd.h>

#include "check.h"
#include "finals_internal.h"
#include "trial_internal.h"
#include "tuning_internal.h"

/* ---- on an invented device ---- */

/* The planted failures, by the numbers of the configurations. */
typedef struct device {
    /* the configuration whose later runs are wrong, fault, or end the process; -1 if there is none */
    int rarely_wrong, faults, ends;
    /* the configuration whose answer is wrong where the reference has no elements; -1 if there is none */
    int partly_wrong;
    bool partly;    /* true if the reference has only a part of the elements */
    bool undecided; /* true if a reference of all elements would take too long */
    int kept;       /* the configuration whose answer was kept; -1 if there is none */
    unsigned runs, compared, whole, rows, kept_as_failed;
} device;

static int number_of(const kiln_sample *sample) { return (int)sample->params[0].value.as.i; }

/* Measures a configuration on the planted device: it is right, rarely wrong, faulty, or ends the process. */
static kiln_status measure(void *user, const kiln_sample *sample, const kiln__trial *trial, kiln_result *result,
                           bool *ends, kiln_error **error)
{
    device *d = user;
    const int number = number_of(sample);
    *ends = number == d->ends;
    *result = (kiln_result){.verified = 1, .verified_runs = 1, .partly = d->partly};
    CHECK(trial->again == 0);
    if (*ends)
        return kiln__fail(NULL, error, KILN_ERROR_INTERRUPTED, "as told");
    if (number == d->faults)
        return kiln__fail(NULL, error, KILN_ERROR_DEVICE, "a fault");
    switch (trial->answer) {
    case KILN__ANSWER_NONE: CHECK(false); break;
    case KILN__ANSWER_KEEP:
        CHECK(trial->verify_seconds >= 0.25 && trial->verify_seconds <= 2);
        d->runs++;
        d->kept = number;
        result->verified_runs = 50;
        if (number == d->rarely_wrong)
            return kiln__fail(NULL, error, KILN_ERROR_WRONG_ANSWER, "wrong the 12th time");
        break;
    case KILN__ANSWER_COMPARE:
        d->compared++;
        if ((d->kept == d->partly_wrong) != (number == d->partly_wrong))
            return kiln__fail(NULL, error, KILN_ERROR_WRONG_ANSWER, "another answer");
        break;
    case KILN__ANSWER_WHOLE:
        d->whole++;
        if (d->undecided)
            return kiln__fail(NULL, error, KILN_ERROR_TIMEOUT, "it takes too long");
        if (number == d->partly_wrong)
            return kiln__fail(NULL, error, KILN_ERROR_WRONG_ANSWER, "wrong somewhere");
        break;
    }
    return KILN_OK;
}

static void keep(void *user, const kiln_sample *sample, const double *times, size_t count, const kiln_error *why)
{
    device *d = user;
    CHECK((why != NULL) == (sample->status != KILN_OK) && !times && count == 0);
    d->rows++;
    d->kept_as_failed += why != NULL;
}

static const kiln__log silent;

/* Makes a sweep that measured configuration i in 1 + i seconds. Configurations with odd numbers belong to another
 * variant. */
static kiln_tuning *make_sweep(size_t count, kiln_result like)
{
    kiln_tuning *tuning = kiln__tuning_new(NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tuning);
    for (size_t i = 0; i < count; i++) {
        kiln_setting param = {"I", {KILN_INT, {.i = (int64_t)i}}};
        kiln_sample *sample = kiln__tuning_sample(tuning, i % 2 ? "odd" : "even", (kiln__settings){1, &param});
        CU_ASSERT_PTR_NOT_NULL_FATAL(sample);
        *kiln__tuning_result(sample) = like;
        kiln__tuning_result(sample)->seconds = 1 + (double)i;
        CHECK(kiln__tuning_add(tuning, sample, KILN_OK, ""));
    }
    return tuning;
}

static const device nothing = {.rarely_wrong = -1, .faults = -1, .ends = -1, .partly_wrong = -1, .kept = -1};
static const kiln_result measured = {.measured = 1, .verified = 1, .verified_runs = 1};

static kiln_status confirm(kiln_tuning *tuning, device *d, kiln_tune_options options)
{
    const kiln__again again = {.user = d, .log = &silent, .measure = measure, .keep = keep};
    kiln_status status = kiln__best_confirm(tuning, &options, &again, NULL);
    kiln__tuning_rank(tuning);
    return status;
}

/* Tests which configurations are refuted, and which one wins in the end. */
static void the_next_best_wins(void)
{
    const struct {
        device d;
        int best;
        unsigned refuted, runs, compared, whole;
    } want[] = {
        {nothing, 0, 0, 1, 0, 0},
        {{.rarely_wrong = 0, .faults = 1, .ends = -1, .partly_wrong = -1}, 2, 2, 2, 0, 0},
        {{.rarely_wrong = -1, .faults = 0, .ends = -1, .partly_wrong = -1}, 1, 1, 1, 0, 0},
        /* configuration 2 is not the fastest */
        {{.rarely_wrong = 3, .faults = 2, .ends = -1, .partly_wrong = -1}, 0, 0, 1, 0, 0},
        {{.rarely_wrong = -1, .faults = -1, .ends = -1, .partly_wrong = 0, .partly = true}, 1, 1, 2, 2, 1},
        {{.rarely_wrong = -1, .faults = -1, .ends = -1, .partly_wrong = 1, .partly = true}, 0, 1, 1, 1, 1},
        {{.rarely_wrong = -1, .faults = -1, .ends = -1, .partly_wrong = -1, .partly = true}, 0, 0, 1, 1, 0},
        {{.rarely_wrong = -1, .faults = 1, .ends = -1, .partly_wrong = -1, .partly = true}, 0, 0, 1, 0, 0},
        {{.rarely_wrong = -1, .faults = -1, .ends = -1, .partly_wrong = 0, .partly = true, .undecided = true},
         0,
         0,
         1,
         1,
         1},
    };
    for (size_t i = 0; i < KILN__COUNT(want); i++) {
        device d = want[i].d;
        kiln_tuning *tuning = make_sweep(4, measured);
        CHECK(confirm(tuning, &d, (kiln_tune_options){0}) == KILN_OK);
        const kiln_verdict *v = kiln_tuning_verdict(tuning);
        const kiln_tuning_totals *totals = kiln_tuning_sum(tuning);
        CU_ASSERT_PTR_NOT_NULL_FATAL(tuning->best);
        CHECK(number_of(tuning->best) == want[i].best && kiln_tuning_sample(tuning, 0) == tuning->best);
        CHECK(v->refuted == want[i].refuted && totals->failed == want[i].refuted);
        CHECK(v->verified_runs == 50 && tuning->best->result->verified_runs == 50);
        CHECK(totals->verified == 4 - want[i].refuted && totals->configurations == 4);
        CHECK(d.runs == want[i].runs && d.compared == want[i].compared && d.whole == want[i].whole);
        CHECK(d.kept_as_failed == want[i].refuted);
        for (size_t k = 4 - want[i].refuted; k < 4; k++) {
            const kiln_sample *failed = kiln_tuning_sample(tuning, k);
            CHECK(failed->status != KILN_OK && *failed->message && failed->result->seconds == 0);
        }
        kiln_tuning_free(tuning);
    }
}

/* Tests the samples that a sweep does not run again. These are samples without a check or a time, and a best
 * configuration that an earlier sweep confirmed. */
static void not_every_best_is_run_again(void)
{
    const struct {
        kiln_result like;
        kiln_tune_options options;
        unsigned runs;
    } want[] = {
        {measured, {0}, 1},
        {measured, {.flags = KILN_TUNE_NO_FINALS}, 0},
        {measured, {.verify_size_set = "tiny"}, 0},
        {{.measured = 1}, {0}, 0},
        {{.measured = 1, .verified = 1, .verified_runs = 80}, {0}, 0},
        {{.estimated = 1, .verified = 1, .verified_runs = 1}, {0}, 0},
        {{.host_seconds = 1, .verified = 1, .verified_runs = 1}, {0}, 0},
        {{.host_seconds = 1, .verified = 1, .verified_runs = 1}, {.finalists = 2}, 1},
    };
    for (size_t i = 0; i < KILN__COUNT(want); i++) {
        device d = nothing;
        kiln_tuning *tuning = make_sweep(2, want[i].like);
        CHECK(confirm(tuning, &d, want[i].options) == KILN_OK && d.runs == want[i].runs);
        CHECK((tuning->verdict.seconds > 0) == (want[i].runs > 0));
        kiln_tuning_free(tuning);
    }
}

/* Tests a sweep in which all configurations are refuted, so that no configuration is the best. It also tests that the
 * sweep ends if the device is lost or the caller stops it. */
static void an_end(void)
{
    device d = nothing;
    d.rarely_wrong = 0;
    kiln_tuning *tuning = make_sweep(1, measured);
    CHECK(confirm(tuning, &d, (kiln_tune_options){0}) == KILN_OK);
    CHECK(!tuning->best && tuning->verdict.refuted == 1 && tuning->verdict.verified_runs == 0);
    kiln_tuning_free(tuning);
    d = nothing;
    d.ends = 0;
    tuning = make_sweep(3, measured);
    CHECK(confirm(tuning, &d, (kiln_tune_options){0}) == KILN_ERROR_INTERRUPTED);
    CHECK(tuning->best && number_of(tuning->best) == 0 && d.rows == 0);
    kiln_tuning_free(tuning);
}

/* ---- on the simulated device ---- */

enum { ELEMENTS = 4096, STEP = 16 };

/* y = 2 x + 1. If the caller permits, the function computes only every 16th element. */
static kiln_status add_some(void *user, kiln_call *call)
{
    (void)user;
    const kiln_array *x;
    kiln_array *y;
    int64_t sampled;
    if (kiln_call_array(call, "x", &x) != KILN_OK || kiln_call_output(call, "y", &y) != KILN_OK ||
        kiln_call_int(call, "verify.sampled", NULL, &sampled) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    for (size_t i = 0; i < ELEMENTS; i += sampled ? STEP : 1)
        ((float *)y->data)[i] = 2 * ((const float *)x->data)[i] + 1;
    return KILN_OK;
}

/* The right kernel takes longer. The sweep may measure either of the two as the faster one; it then compares the
 * other one with it. */
static const char source[] = "extern \"C\" __global__ void add(const float *x, float *y, int n)\n"
                             "{\n"
                             "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "    float sum = 0;\n"
                             "    for (int k = 0; k < SLOW; k++)\n"
                             "        sum += __sinf(x[i] + k);\n"
                             "    y[i] = 2 * x[i] + (sum > -1e9f ? 1 : 0);\n"
                             "    if (WRONG && i >= WRONG && i < WRONG + 5)\n"
                             "        y[i] += 3;\n"
                             "}\n";
static const char spec_text[] = "kiln: 1\n"
                                "name: confirm\n"
                                "source: confirm.cu\n"
                                "sizes: {default: {N: 4096}}\n"
                                "buffers:\n"
                                "  x: {type: f32, shape: [N], fill: {uniform: [1, 2], seed: 1}}\n"
                                "  y: {type: f32, shape: [N], out: true}\n"
                                "verify: {y: {against: {host: add_some}, sampled: true}}\n"
                                "variants:\n"
                                "  right:\n"
                                "    define: {SLOW: 60, WRONG: 0}\n"
                                "    launch: &launch {kernel: add, grid: [N // 128], block: [128], args: [x, y, N]}\n"
                                "  wrong:\n"
                                "    define: {SLOW: 1, WRONG: 33}\n"
                                "    launch: *launch\n";

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CHECK(fputs(text, file) >= 0 && fclose(file) == 0);
}

/* In one of two variants, five elements are wrong. The reference does not have these elements. */
static void a_wrong_part_does_not_win(void)
{
    char folder[] = "/tmp/kiln-confirm-XXXXXX", path[96], command[128];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    write_text(folder, "confirm.yaml", spec_text);
    write_text(folder, "confirm.cu", source);
    snprintf(path, sizeof path, "%s/confirm.yaml", folder);
    kiln_engine *engine = NULL;
    kiln_spec *spec = NULL;
    kiln_error *error = NULL;
    const kiln_options options = {
        .size = sizeof options, .device = "sim", .cache_dir = folder, .flags = KILN_NO_WORKERS};
    CHECK_OK(kiln_engine_open(&options, &engine, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(engine);
    CHECK_OK(kiln_register_host(engine, "add_some", KILN_HOST_REFERENCE, add_some, NULL, &error), error);
    CHECK_OK(kiln_spec_load(engine, path, &spec, &error), error);
    kiln_tuning *tuning = NULL;
    const kiln_tune_options sweep = {.size = sizeof sweep, .finalists = 3};
    CHECK_OK(kiln_tune(engine, spec, &sweep, &tuning, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tuning);
    CHECK(kiln_tuning_count(tuning) == 2 && kiln_tuning_verdict(tuning)->refuted == 1);
    const kiln_sample *best = kiln_tuning_sample(tuning, 0), *last = kiln_tuning_sample(tuning, 1);
    CHECK(strcmp(best->variant, "right") == 0 && best->result->verified_runs > 1);
    CHECK_TEXT(last->variant, "wrong");
    CHECK(last->status == KILN_ERROR_WRONG_ANSWER && strstr(last->message, "5 of 4096 wrong") != NULL);
    kiln_tuning_free(tuning);
    kiln_spec_free(spec);
    kiln_engine_close(engine);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    CU_ASSERT_EQUAL(system(command), 0);
}

static const check_case cases[] = {
    {"the next best wins", the_next_best_wins},
    {"not every best is run again", not_every_best_is_run_again},
    {"an end", an_end},
    {"a wrong part does not win", a_wrong_part_does_not_win},
};
KILN_SUITE("tune.confirm", cases)
