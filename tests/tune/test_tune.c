/* Tests sweeps on the simulated device, through the public functions. */
#include <inttypes.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "source_internal.h"
#include "tuning_internal.h"

typedef struct fixture {
    char folder[64];
    kiln_engine *engine;
    kiln_spec *spec;
} fixture;

static void open_with(fixture *f, const kiln_allocator *mem)
{
    kiln_error *error = NULL;
    kiln_options options = {.size = sizeof options,
                            .device = "sim",
                            .cache_dir = f->folder,
                            .jobs = 2,
                            .flags = KILN_NO_WORKERS,
                            .allocator = mem};
    CHECK_OK(kiln_engine_open(&options, &f->engine, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->engine);
    CHECK_OK(kiln_spec_load(f->engine, KILN_TEST_DATA "/add.yaml", &f->spec, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->spec);
}

static void setup(fixture *f)
{
    memset(f, 0, sizeof *f);
    strcpy(f->folder, "/tmp/kiln-tune-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(f->folder));
    open_with(f, NULL);
}

static void close_engine(fixture *f)
{
    kiln_spec_free(f->spec);
    kiln_engine_close(f->engine);
    f->spec = NULL;
    f->engine = NULL;
}

static void teardown(fixture *f)
{
    kiln_error *error = NULL;
    uint64_t removed;
    CHECK_OK(kiln_cache_clear(f->engine, &removed, &error), error);
    close_engine(f);
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", f->folder);
    CU_ASSERT_EQUAL(system(command), 0);
}

static const char *const plain[] = {"plain"}, *const wide[] = {"wide"}, *const both[] = {"wide", "plain"};

/* Returns a sample's configuration as text, such as "plain BLOCK=32 ITEMS=1 FAR=near". */
static const char *name_of(const kiln_sample *sample, char text[128])
{
    kiln__text out = {0};
    kiln__text_puts(&out, sample->variant);
    for (size_t i = 0; i < sample->param_count; i++) {
        kiln__text_printf(&out, " %s=", sample->params[i].name);
        kiln__value_print(&out, sample->params[i].value);
    }
    snprintf(text, 128, "%s", kiln__text_get(&out));
    kiln__text_free(&out);
    return text;
}

static const kiln_sample *find(const kiln_tuning *tuning, const char *wanted)
{
    char text[128];
    for (size_t i = 0; i < kiln_tuning_count(tuning); i++)
        if (strcmp(name_of(kiln_tuning_sample(tuning, i), text), wanted) == 0)
            return kiln_tuning_sample(tuning, i);
    return NULL;
}

static void sweeps_all_of_a_variant(void)
{
    fixture f;
    setup(&f);
    kiln_error *error = NULL;
    kiln_tuning *tuning = NULL;
    kiln_tune_options options = {.size = sizeof options, .variants = both, .variant_count = 2};
    CHECK_OK(kiln_tune(f.engine, f.spec, &options, &tuning, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tuning);
    CU_ASSERT_EQUAL(kiln_tuning_count(tuning), 7); /* 5 of the 6 configurations of one variant, and 2 of the other */
    CHECK_TEXT(kiln_tuning_size_set(tuning), "tiny");
    CHECK_TEXT(kiln_tuning_size(tuning, 0)->name, "N");
    CHECK(kiln_tuning_size(tuning, 0)->value.as.i == 200 && !kiln_tuning_size(tuning, 1));
    for (size_t i = 0; i < kiln_tuning_count(tuning); i++) {
        const kiln_sample *sample = kiln_tuning_sample(tuning, i);
        CU_ASSERT_EQUAL(sample->status, KILN_OK);
        CHECK_TEXT(sample->message, "");
        CHECK(!sample->result->measured && sample->result->host_seconds > 0);
        CHECK(i == 0 ||
              kiln__result_seconds(kiln_tuning_sample(tuning, i - 1)->result) <= kiln__result_seconds(sample->result));
        CU_ASSERT_EQUAL(sample->result->cache_misses, 1);
    }
    CHECK(find(tuning, "plain BLOCK=32 ITEMS=2 FAR=near") != NULL);
    CHECK(find(tuning, "plain BLOCK=128 ITEMS=2 FAR=near") == NULL); /* a constraint forbids it */
    CHECK(find(tuning, "wide BLOCK=64 ITEMS=8 FAR=near") != NULL);
    kiln_tuning_totals cold, warm;
    cold = *kiln_tuning_sum(tuning);
    CU_ASSERT_EQUAL(cold.configurations, 7);
    CU_ASSERT_EQUAL(cold.failed, 0);
    CU_ASSERT_EQUAL(cold.cache_hits, 0);
    CU_ASSERT_EQUAL(cold.cache_misses, 7);
    CHECK(cold.compile_work_seconds > 0 && cold.run_seconds > 0 && cold.seconds >= cold.run_seconds);
    kiln_tuning_free(tuning);

    tuning = NULL;
    CHECK_OK(kiln_tune(f.engine, f.spec, &options, &tuning, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tuning);
    warm = *kiln_tuning_sum(tuning);
    CU_ASSERT_EQUAL(warm.cache_hits, 7);
    CU_ASSERT_EQUAL(warm.cache_misses, 0);
    CU_ASSERT_EQUAL(warm.compile_work_seconds, 0);
    kiln_tuning_free(tuning);
    teardown(&f);
}

static void a_failure_costs_one_sample(void)
{
    static const char *const variants[] = {"bad", "wrong", "wide"};
    fixture f;
    setup(&f);
    kiln_error *error = NULL;
    kiln_tuning *tuning = NULL;
    kiln_tune_options options = {.size = sizeof options, .variants = variants, .variant_count = 3};
    CHECK_OK(kiln_tune(f.engine, f.spec, &options, &tuning, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tuning);
    CU_ASSERT_EQUAL(kiln_tuning_count(tuning), 12);
    static const struct {
        const char *name;
        kiln_status status;
    } want[] = {
        {"bad BLOCK=100 ITEMS=1 FAR=near", KILN_OK}, /* 200 elements, so a missing bound has no effect */
        /* past the end of the buffer and of its granule of 512 bytes */
        {"bad BLOCK=32 ITEMS=1 FAR=near", KILN_ERROR_DEVICE},
        {"bad BLOCK=32 ITEMS=1 FAR=far", KILN_ERROR_DEVICE},
        {"bad BLOCK=32 ITEMS=1 FAR=nowhere", KILN_ERROR_COMPILE},
        {"bad BLOCK=2048 ITEMS=1 FAR=near", KILN_ERROR_LAUNCH},
        {"wrong BLOCK=32 ITEMS=1 FAR=near", KILN_ERROR_WRONG_ANSWER},
        {"wide BLOCK=64 ITEMS=4 FAR=near", KILN_OK}, /* this configuration works, although others have faulted before */
        {"wide BLOCK=64 ITEMS=8 FAR=near", KILN_OK},
    };
    for (size_t i = 0; i < KILN__COUNT(want); i++) {
        const kiln_sample *sample = find(tuning, want[i].name);
        CU_ASSERT_PTR_NOT_NULL_FATAL(sample);
        if (sample->status != want[i].status)
            fprintf(stderr, "%s: %s: %s\n", want[i].name, kiln_status_name(sample->status), sample->message);
        CU_ASSERT_EQUAL(sample->status, want[i].status);
        CHECK((sample->status == KILN_OK) == (*sample->message == '\0'));
    }
    kiln_tuning_totals totals;
    totals = *kiln_tuning_sum(tuning);
    CU_ASSERT_EQUAL(totals.failed, 9);
    kiln_tuning_free(tuning);
    teardown(&f);
}

/* If all samples have the same status, the sweep fails with it. With two kinds of failure, only the samples tell
 * them. */
static void says_that_all_failed(void)
{
    static const char text[] =
        "kiln: 1\n"
        "name: forgets\n"
        "source: add.cu\n"
        "sizes: {tiny: {N: 200}}\n"
        "buffers:\n"
        "  x: {type: f32, shape: [N], fill: {iota: [0, 1]}}\n"
        "  y: {type: f32, shape: [N], fill: 2}\n"
        "  z: {type: f32, shape: [N], out: true}\n"
        "verify: {z: {against: {variant: plain}, exact: true}}\n"
        "variants:\n"
        "  plain:\n"
        "    params: {BLOCK: [32], ITEMS: [1], FAR: [near]}\n"
        "    launch: {kernel: add, grid: ['ceil_div(N, BLOCK)'], block: [BLOCK], args: [x, y, z, N]}\n"
        "  wrong:\n"
        "    params: {BLOCK: [32, 64, 2048], ITEMS: [1], FAR: [near]}\n"
        "    launch: {kernel: forgets, grid: ['ceil_div(N, BLOCK)'], block: [BLOCK], args: [x, y, z, N]}\n";
    static const char *const wrong[] = {"wrong"};
    const kiln_setting one[] = {{"BLOCK", {KILN_INT, {64}}}};
    fixture f;
    setup(&f);
    kiln_spec *spec = NULL;
    kiln_error *error = NULL;
    kiln_tuning *tuning = NULL;
    CHECK_OK(kiln_spec_parse(f.engine, text, sizeof text - 1, KILN_TEST_DATA "/forgets.yaml", &spec, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(spec);
    kiln_tune_options options = {.size = sizeof options,
                                 .variants = wrong,
                                 .variant_count = 1,
                                 .max_configurations = 2,
                                 .strategy = "exhaustive"};
    CU_ASSERT_EQUAL(kiln_tune(f.engine, spec, &options, &tuning, &error), KILN_ERROR_WRONG_ANSWER);
    CHECK(error &&
          strstr(kiln_error_message(error), "all 2 configurations of the sweep failed for one reason") != NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tuning);
    CU_ASSERT_EQUAL(kiln_tuning_count(tuning), 2);
    CHECK(error && strstr(kiln_error_message(error), kiln_tuning_sample(tuning, 0)->message) != NULL);
    CU_ASSERT_EQUAL(kiln_tuning_sum(tuning)->failed, 2);
    CU_ASSERT_EQUAL(kiln_tuning_sum(tuning)->end, KILN_END_CONFIGURATIONS);
    kiln_error_free(error);
    kiln_tuning_free(tuning);

    error = NULL;
    tuning = NULL;
    options = (kiln_tune_options){
        .size = sizeof options, .variants = wrong, .variant_count = 1, .params = one, .param_count = 1};
    CU_ASSERT_EQUAL(kiln_tune(f.engine, spec, &options, &tuning, &error), KILN_ERROR_WRONG_ANSWER);
    CHECK(error && strstr(kiln_error_message(error), "the only configuration of the sweep failed") != NULL);
    kiln_error_free(error);
    kiln_tuning_free(tuning);

    error = NULL;
    tuning = NULL;
    options = (kiln_tune_options){.size = sizeof options, .variants = wrong, .variant_count = 1};
    CHECK_OK(kiln_tune(f.engine, spec, &options, &tuning, &error), error); /* BLOCK=2048 cannot be launched */
    CHECK(tuning && kiln_tuning_sum(tuning)->failed == 3);
    kiln_tuning_free(tuning);
    kiln_spec_free(spec);
    teardown(&f);
}

/* ---- another process measures on the device ---- */

static int stop_soon(void *user, const kiln_progress *progress, const kiln_sample *sample)
{
    (void)progress;
    (void)sample;
    return ++*(unsigned *)user == 4; /* the first call comes before the first sample */
}

static void count_warnings(void *user, kiln_log_level level, const char *message)
{
    *(unsigned *)user += level == KILN_LOG_WARNING && strstr(message, "measuring without the lock");
}

/* A lock is never given back. The callback ends the wait, or the time limit of the wait ends it. */
static void waits_for_the_device(void)
{
    fixture f;
    setup(&f);
    int holder = kiln__exclusive_open(f.folder, "GPU-1");
    f.engine->exclusive_sought = true; /* a simulated device has no lock */
    f.engine->exclusive = kiln__exclusive_open(f.folder, "GPU-1");
    CU_ASSERT_TRUE_FATAL(holder >= 0 && f.engine->exclusive >= 0);
    CU_ASSERT_EQUAL(kiln__exclusive_take(holder, 1, NULL, NULL), KILN__TURN_TAKEN);
    setenv("KILN_LOCK_SECONDS", "100000", 1);
    unsigned calls = 0, warnings = 0;
    kiln_error *error = NULL;
    kiln_tuning *tuning = NULL;
    kiln_tune_options options = {
        .size = sizeof options, .variants = plain, .variant_count = 1, .callback = stop_soon, .user = &calls};
    CU_ASSERT_EQUAL(kiln_tune(f.engine, f.spec, &options, &tuning, &error), KILN_ERROR_INTERRUPTED);
    CU_ASSERT_EQUAL(calls, 4);
    kiln_error_free(error);
    kiln_tuning_free(tuning);

    error = NULL;
    tuning = NULL;
    setenv("KILN_LOCK_SECONDS", "0.01", 1);
    f.engine->log = (kiln__log){count_warnings, &warnings};
    options.callback = NULL;
    CHECK_OK(kiln_tune(f.engine, f.spec, &options, &tuning, &error), error);
    CU_ASSERT_EQUAL(warnings, 1); /* one warning for all samples */
    CHECK(tuning && kiln_tuning_sum(tuning)->failed == 0);
    kiln_tuning_free(tuning);
    unsetenv("KILN_LOCK_SECONDS");
    close(holder);
    teardown(&f);
}

typedef struct seen {
    unsigned samples, ticks, stop_after;
    uint64_t done, total;
    int best;
} seen;

static int note(void *user, const kiln_progress *progress, const kiln_sample *sample)
{
    seen *s = user;
    s->samples += sample != NULL;
    s->ticks += sample == NULL;
    CHECK(progress->done >= s->done);
    CHECK(progress->done == s->samples);
    s->done = progress->done;
    s->total = progress->total;
    s->best |= progress->best != NULL;
    return s->stop_after && s->samples >= s->stop_after;
}

static void the_callback_hears_and_stops(void)
{
    fixture f;
    setup(&f);
    kiln_error *error = NULL;
    kiln_tuning *tuning = NULL;
    seen s = {0};
    kiln_tune_options options = {
        .size = sizeof options, .variants = plain, .variant_count = 1, .callback = note, .user = &s};
    CHECK_OK(kiln_tune(f.engine, f.spec, &options, &tuning, &error), error);
    CU_ASSERT_EQUAL(s.samples, 5);
    CU_ASSERT_EQUAL(s.total, 5);
    CHECK(s.ticks >= 1 && s.best);
    kiln_tuning_free(tuning);

    tuning = NULL;
    s = (seen){.stop_after = 2};
    CU_ASSERT_EQUAL(kiln_tune(f.engine, f.spec, &options, &tuning, &error), KILN_ERROR_INTERRUPTED);
    CHECK_TEXT(kiln_error_message(error), "the sweep was stopped after 2 of 5 configurations");
    CU_ASSERT_PTR_NOT_NULL_FATAL(tuning);
    CU_ASSERT_EQUAL(kiln_tuning_count(tuning), 2);
    kiln_error_free(error);
    kiln_tuning_free(tuning);
    teardown(&f);
}

static void limits_end_it(void)
{
    fixture f;
    setup(&f);
    kiln_error *error = NULL;
    kiln_tuning *tuning = NULL;
    kiln_tune_options options = {.size = sizeof options, .max_configurations = 3};
    CHECK_OK(kiln_tune(f.engine, f.spec, &options, &tuning, &error), error);
    CU_ASSERT_EQUAL(kiln_tuning_count(tuning), 3);
    kiln_tuning_free(tuning);
    options = (kiln_tune_options){.size = sizeof options, .max_seconds = 1e-9};
    tuning = NULL;
    CHECK_OK(kiln_tune(f.engine, f.spec, &options, &tuning, &error), error);
    /* a sample was made, so that the same command makes progress if it is run again */
    CU_ASSERT_EQUAL(kiln_tuning_count(tuning), 1);
    kiln_tuning_free(tuning);
    teardown(&f);
}

static void fixed_params_and_sizes(void)
{
    static const kiln_setting block[] = {{"BLOCK", {KILN_INT, {.i = 64}}}}, n[] = {{"N", {KILN_INT, {.i = 150}}}},
                              few[] = {{"N", {KILN_INT, {.i = 50}}}};
    char text[128];
    fixture f;
    setup(&f);
    kiln_error *error = NULL;
    kiln_tuning *tuning = NULL;
    kiln_tune_options options = {.size = sizeof options,
                                 .variants = plain,
                                 .variant_count = 1,
                                 .params = block,
                                 .param_count = 1,
                                 .size_set = "other",
                                 .sizes = n,
                                 .size_count = 1};
    CHECK_OK(kiln_tune(f.engine, f.spec, &options, &tuning, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tuning);
    CU_ASSERT_EQUAL(kiln_tuning_count(tuning), 2);
    CHECK(strncmp(name_of(kiln_tuning_sample(tuning, 0), text), "plain BLOCK=64", 14) == 0);
    kiln_tuning_free(tuning);
    tuning = NULL;
    options.sizes = few; /* a constraint names the size, so no configuration is valid */
    CHECK(kiln_tune(f.engine, f.spec, &options, &tuning, &error) == KILN_ERROR_CONSTRAINT);
    CHECK(strstr(kiln_error_message(error), "variant plain, of 2 configurations:") != NULL);
    CHECK(strstr(kiln_error_message(error), "N >= 100") != NULL);
    kiln_error_free(error);
    kiln_tuning_free(tuning);
    teardown(&f);
}

/* Options of kiln_tune() that are wrong: misspelt names, values that do not exist, options that exclude each other. */
static void refuses_what_is_wrong(void)
{
    static const char *const misspelt[] = {"plian"};
    static const kiln_setting no_param[] = {{"BLOK", {KILN_INT, {.i = 64}}}},
                              no_value[] = {{"BLOCK", {KILN_INT, {.i = 7}}}}, no_size[] = {{"M", {KILN_INT, {.i = 7}}}};
    fixture f;
    setup(&f);
    const struct {
        kiln_tune_options options;
        kiln_status status;
        const char *message;
    } want[] = {
        {{.variants = misspelt, .variant_count = 1},
         KILN_ERROR_NOT_FOUND,
         "add has no variant 'plian'; did you mean 'plain'?"},
        {{.params = no_param, .param_count = 1},
         KILN_ERROR_NOT_FOUND,
         "no variant of the sweep has a param 'BLOK'; did you mean 'BLOCK'?"},
        {{.variants = plain, .variant_count = 1, .params = no_value, .param_count = 1}, KILN_ERROR_CONSTRAINT, NULL},
        {{.size_set = "tinny"}, KILN_ERROR_NOT_FOUND, "add has no size set 'tinny'; did you mean 'tiny'?"},
        {{.sizes = no_size, .size_count = 1}, KILN_ERROR_NOT_FOUND, NULL},
    };
    for (size_t i = 0; i < KILN__COUNT(want); i++) {
        kiln_error *error = NULL;
        kiln_tuning *tuning = NULL;
        kiln_tune_options options = want[i].options;
        options.size = sizeof options;
        CU_ASSERT_EQUAL(kiln_tune(f.engine, f.spec, &options, &tuning, &error), want[i].status);
        CHECK(tuning == NULL);
        CHECK(error != NULL);
        if (want[i].message)
            CHECK_TEXT(kiln_error_message(error), want[i].message);
        kiln_error_free(error);
    }
    kiln_error *error = NULL;
    kiln_tuning *tuning = NULL;
    kiln_tune_options unsized = {0};
    CU_ASSERT_EQUAL(kiln_tune(f.engine, f.spec, &unsized, &tuning, &error), KILN_ERROR_ARGUMENT);
    kiln_error_free(error);
    CU_ASSERT_EQUAL(kiln_tune(f.engine, NULL, NULL, &tuning, NULL), KILN_ERROR_ARGUMENT);
    teardown(&f);
}

/* Fails the first, second, ... allocation of a sweep. Each time the sweep must end with an error or an outcome, and
 * leak nothing. The code comes from the cache. */
static void survives_no_memory(void)
{
    fixture f;
    setup(&f);
    kiln_error *error = NULL;
    kiln_tuning *tuning = NULL;
    kiln_tune_options options = {
        .size = sizeof options, .variants = wide, .variant_count = 1, .max_configurations = 1, .strategy = "greedy"};
    CHECK_OK(kiln_tune(f.engine, f.spec, &options, &tuning, &error), error);
    kiln_tuning_free(tuning);
    close_engine(&f);
    int finished = 0;
    long step = 1;
    for (long n = 0; !finished && n < 100000; n += step, step = n < 200 ? 1 : 1 + n / 50) {
        check_oom oom = {.countdown = -1};
        kiln_allocator mem = {check_oom_resize, &oom};
        open_with(&f, &mem);
        const kiln_device_info *info = NULL;
        CHECK_OK(kiln_engine_device(f.engine, &info, &error), error);
        tuning = NULL;
        oom.countdown = n;
        kiln_status status = kiln_tune(f.engine, f.spec, &options, &tuning, &error);
        finished = !oom.failed;
        oom.countdown = -1;
        /* If memory runs out in the cache, the result is a miss and a warning, and the sweep may succeed. */
        CHECK(status == KILN_OK || oom.failed);
        CHECK(status == KILN_OK || error != NULL);
        kiln_error_free(error);
        error = NULL;
        kiln_tuning_free(tuning);
        close_engine(&f);
        CU_ASSERT_EQUAL(oom.live, 0);
    }
    CHECK(finished);
    open_with(&f, NULL);
    teardown(&f);
}

/* Tests that each strategy tries every configuration of several variants once, including those that fail. */
static void every_strategy_finds_all(void)
{
    static const char *const variants[] = {"plain", "bad", "wide"};
    char text[128], other[128];
    fixture f;
    setup(&f);
    for (size_t k = 0; kiln_strategy_name(k); k++) {
        kiln_error *error = NULL;
        kiln_tuning *tuning = NULL;
        kiln_tune_options options = {.size = sizeof options,
                                     .variants = variants,
                                     .variant_count = 3,
                                     .strategy = kiln_strategy_name(k),
                                     .seed = 7};
        CHECK_OK(kiln_tune(f.engine, f.spec, &options, &tuning, &error), error);
        CU_ASSERT_PTR_NOT_NULL_FATAL(tuning);
        CU_ASSERT_EQUAL(kiln_tuning_count(tuning), 16); /* 5, 9 and 2 configurations */
        for (size_t i = 0; i < kiln_tuning_count(tuning); i++)
            for (size_t j = 0; j < i; j++)
                CHECK(strcmp(name_of(kiln_tuning_sample(tuning, i), text),
                             name_of(kiln_tuning_sample(tuning, j), other)) != 0);
        kiln_tuning_totals totals;
        totals = *kiln_tuning_sum(tuning);
        CU_ASSERT_EQUAL(totals.failed, 8);
        kiln_tuning_free(tuning);
    }
    teardown(&f);
}

/* A sweep tries all configurations in order, unless it has a budget. */
static void chooses_a_strategy(void)
{
    const kiln_run_options checked = {.flags = KILN_RUN_CHECK};
    const struct {
        kiln_tune_options options;
        bool learns;
    } want[] = {
        {{0}, false},
        {{.strategy = ""}, false},
        {{.max_configurations = 3}, true},
        {{.max_seconds = 3}, true},
        {{.max_seconds = 3, .run = &checked}, false},
        {{.max_seconds = 3, .strategy = "exhaustive"}, false},
        {{.max_seconds = 3, .strategy = "random"}, false},
        {{.strategy = "ils"}, true},
    };
    fixture f;
    setup(&f);
    for (size_t i = 0; i < KILN__COUNT(want); i++) {
        kiln_error *error = NULL;
        kiln__tune_source *source = NULL;
        CHECK_OK(kiln__tune_source_open(f.engine, f.spec, &want[i].options, NULL, &source, &error), error);
        CU_ASSERT_PTR_NOT_NULL_FATAL(source);
        CU_ASSERT_EQUAL(kiln__tune_source_learns(source), want[i].learns);
        kiln__tune_source_free(source);
    }
    kiln_error *error = NULL;
    kiln__tune_source *source = NULL;
    kiln_tune_options options = {.strategy = "gredy"};
    CU_ASSERT_EQUAL(kiln__tune_source_open(f.engine, f.spec, &options, NULL, &source, &error), KILN_ERROR_NOT_FOUND);
    CHECK_TEXT(kiln_error_message(error), "there is no strategy 'gredy'; did you mean 'greedy'?");
    kiln_error_free(error);
    teardown(&f);
}

enum { DRAWS = 200 };
static uint64_t drawn_number(const kiln_choice *choice)
{
    uint64_t number = 0;
    for (size_t i = 0; i < choice->param_count; i++)
        number = number * 1000 + (uint64_t)choice->params[i].value.as.i;
    return number;
}

/* Returns the time of a configuration of `huge`. The best is A = 17, B = 400. */
static double huge_seconds(const kiln_choice *choice)
{
    double a = (double)choice->params[0].value.as.i - 17, b = (double)choice->params[1].value.as.i - 400;
    return 1e-3 * (1 + a * a / 1e4 + b * b / 1e5);
}

/* Searches a space of 5 * 10^8 valid points, which is not held in memory. Answers come late and out of order. The same
 * seed and answers must draw the same points. */
static void searches_a_huge_space(void)
{
    static uint64_t first[DRAWS], numbers[DRAWS];
    fixture f;
    setup(&f);
    kiln_error *error = NULL;
    kiln_spec *spec = NULL;
    CHECK_OK(kiln_spec_load(f.engine, KILN_TEST_DATA "/huge.yaml", &spec, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(spec);
    for (int round = 0; round < 2; round++) {
        kiln_tune_options options = {.max_configurations = DRAWS, .seed = 11};
        kiln__tune_source *source = NULL;
        CHECK_OK(kiln__tune_source_open(f.engine, spec, &options, NULL, &source, &error), error);
        CU_ASSERT_PTR_NOT_NULL_FATAL(source);
        /* the pairs A < B of 1000 values each, times the number of values of C */
        CU_ASSERT_EQUAL(kiln__tune_source_total(source), 499500000);
        struct {
            size_t ticket;
            double value;
        } open[4];
        size_t waiting = 0;
        double best = HUGE_VAL;
        for (size_t i = 0; i < DRAWS; i++) {
            kiln_choice choice;
            CHECK_OK(kiln__tune_source_next(source, &choice, &open[waiting].ticket, &error), error);
            CU_ASSERT_PTR_NOT_NULL_FATAL(choice.variant);
            CHECK(choice.params[0].value.as.i < choice.params[1].value.as.i);
            numbers[i] = drawn_number(&choice);
            for (size_t j = 0; j < i; j++)
                CHECK(numbers[j] != numbers[i]);
            open[waiting].value = i % 10 == 9 ? HUGE_VAL : huge_seconds(&choice);
            best = open[waiting].value < best ? open[waiting].value : best;
            if (++waiting < KILN__COUNT(open))
                continue;
            while (waiting > 1) {
                waiting--; /* answers the last proposal first */
                CHECK_OK(kiln__tune_source_tell(source, open[waiting].ticket, open[waiting].value, 0, &error), error);
            }
        }
        CHECK(best < 1.005e-3); /* one in 1,000 configurations is as fast */
        if (round == 0)
            memcpy(first, numbers, sizeof first);
        else
            CHECK(memcmp(first, numbers, sizeof first) == 0);
        kiln__tune_source_free(source);
    }
    kiln_spec_free(spec);
    teardown(&f);
}

/* ---- a space that is too large to count ---- */

typedef struct patience {
    int asked, most;
} patience;
static bool impatient(void *user)
{
    patience *p = user;
    return ++p->asked >= p->most;
}

static int impatient_too(void *user) { return impatient(user); }

static kiln_spec *load_hard(fixture *f)
{
    kiln_error *error = NULL;
    kiln_spec *spec = NULL;
    CHECK_OK(kiln_spec_load(f->engine, KILN_TEST_DATA "/hard.yaml", &spec, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(spec);
    return spec;
}

/* Takes configurations in order without a count, or draws them. A configuration is valid if all params differ. */
static void takes_from_an_uncounted_space(void)
{
    static const char *const strategies[] = {"exhaustive", "random", "surrogate"}, *const some = "some";
    fixture f;
    setup(&f);
    kiln_spec *spec = load_hard(&f);
    for (size_t s = 0; s < KILN__COUNT(strategies); s++) {
        kiln_tune_options options = {.variants = &some, .variant_count = 1, .strategy = strategies[s]};
        kiln__tune_source *source = NULL;
        kiln_error *error = NULL;
        CHECK_OK(kiln__tune_source_open(f.engine, spec, &options, NULL, &source, &error), error);
        CU_ASSERT_PTR_NOT_NULL_FATAL(source);
        CHECK(kiln__tune_source_total(source) == UINT64_MAX);
        CHECK(kiln__tune_source_sampled(source) == (s > 0));
        for (int n = 0; n < 30; n++) {
            kiln_choice choice;
            size_t ticket;
            unsigned values = 0;
            CHECK_OK(kiln__tune_source_next(source, &choice, &ticket, &error), error);
            CU_ASSERT_PTR_NOT_NULL_FATAL(choice.variant);
            for (size_t i = 0; i < choice.param_count; i++)
                values |= 1u << choice.params[i].value.as.i;
            CU_ASSERT_EQUAL(values, 0xffe);
            CHECK_OK(kiln__tune_source_tell(source, ticket, 1.0 + n, 0, &error), error);
        }
        CHECK(!kiln__tune_source_gave_up(source));
        kiln__tune_source_free(source);
    }
    kiln_spec_free(spec);
    teardown(&f);
}

/* If no configuration is found, the caller's answer ends the walk and the drawing, at their next step. */
static void asks_while_it_looks(void)
{
    static const char *const strategies[] = {"exhaustive", "random"}, *const none = "none";
    fixture f;
    setup(&f);
    kiln_spec *spec = load_hard(&f);
    for (size_t s = 0; s < KILN__COUNT(strategies); s++) {
        kiln_tune_options options = {.variants = &none, .variant_count = 1, .strategy = strategies[s]};
        patience user = {.most = 3};
        const kiln__asker watch = {impatient, &user};
        kiln__tune_source *source = NULL;
        kiln_error *error = NULL;
        CU_ASSERT_EQUAL(kiln__tune_source_open(f.engine, spec, &options, &watch, &source, &error),
                        KILN_ERROR_INTERRUPTED); /* while counting */
        CU_ASSERT_EQUAL(user.asked, 3);
        kiln_error_free(error);
        error = NULL;
        user = (patience){.most = 1 << 30};
        CHECK_OK(kiln__tune_source_open(f.engine, spec, &options, &watch, &source, &error), error);
        CU_ASSERT_PTR_NOT_NULL_FATAL(source);
        user.most = user.asked + 2;
        kiln_choice choice;
        size_t ticket;
        CU_ASSERT_EQUAL(kiln__tune_source_next(source, &choice, &ticket, &error), KILN_ERROR_INTERRUPTED);
        kiln_error_free(error);
        kiln__tune_source_free(source);
    }
    patience user = {.most = 3};
    kiln_space_options options = {.size = sizeof options, .stop = impatient_too, .user = &user};
    kiln_space_info info = {.size = sizeof info};
    kiln_error *error = NULL;
    CU_ASSERT_EQUAL(kiln_space_count(f.engine, spec, NULL, &options, &info, &error), KILN_ERROR_INTERRUPTED);
    CU_ASSERT_EQUAL(user.asked, 3);
    kiln_error_free(error);
    error = NULL;
    options = (kiln_space_options){.size = sizeof options, .max_seconds = 0.01};
    CHECK_OK(kiln_space_count(f.engine, spec, NULL, &options, &info, &error), error);
    CHECK(!info.counted && info.raw == 285311670611 + 10000000000000000);
    kiln_spec_free(spec);
    teardown(&f);
}

/* Tests that one valid configuration is found without counting the space. If there is none, the message must point to
 * the constraint that rejected the most. */
static void suggests_in_an_uncounted_space(void)
{
    fixture f;
    setup(&f);
    kiln_spec *spec = load_hard(&f);
    kiln_best *best = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln_best_find(f.engine, spec, &(kiln_choice){.variant = "some"}, NULL, &best, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(best);
    CU_ASSERT_EQUAL(best->from, KILN_BEST_DEFAULT);
    kiln_best_free(best);
    best = NULL;
    CU_ASSERT_EQUAL(kiln_best_find(f.engine, spec, &(kiln_choice){.variant = "none"}, NULL, &best, &error),
                    KILN_ERROR_CONSTRAINT);
    CHECK(strstr(kiln_error_message(error), "variant none: no valid configuration was found in ") != NULL);
    CHECK(strstr(kiln_error_message(error), "this constraint rejected most of them") != NULL);
    kiln_error_free(error);
    kiln_spec_free(spec);
    teardown(&f);
}

/* A clearly slower configuration is stopped early, is still checked, and is not reused from the store as fully measured.
 * Returns false if another number of configurations was stopped early than expected. A busy host may have disturbed a
 * time, so the caller tries again. */
static bool stops_early(const fixture *f, const kiln_spec *spec, double budget, unsigned attempt)
{
    static const char *const all[] = {"copy", "slower", "wrong"}, *const slower[] = {"slower"};
    static const struct {
        const char *const *variants;
        size_t count;
        unsigned flags, stopped, reused;
    } sweeps[] = {
        {all, 3, 0, 4, 0}, /* all configurations but the first one and the one with a wrong answer */
        {all, 3, 0, 4, 6},
        {slower, 1, 0, 0, 0}, /* here these configurations are nearly as fast as the best */
        {all, 3, 0, 2, 6},
        {all, 3, KILN_TUNE_NO_STOP_EARLY, 0, 4}, /* the two configurations that were stopped early are made again */
        {all, 3, KILN_TUNE_FRESH | KILN_TUNE_NO_STOP_EARLY, 0, 0},
    };
    kiln_error *error = NULL;
    kiln_store *store = NULL;
    char path[96];
    snprintf(path, sizeof path, "%s/samples%u.db", f->folder, attempt);
    CHECK_OK(kiln_store_open(f->engine, path, 0, &store, &error), error);
    bool as_expected = true;
    for (size_t i = 0; as_expected && i < KILN__COUNT(sweeps); i++) {
        kiln_tuning *tuning = NULL;
        kiln_tuning_totals totals;
        const kiln_run_options run = {.size = sizeof run, .budget = budget};
        kiln_tune_options options = {.size = sizeof options,
                                     .run = &run,
                                     .variants = sweeps[i].variants,
                                     .variant_count = sweeps[i].count,
                                     .store = store,
                                     .flags = sweeps[i].flags};
        CHECK_OK(kiln_tune(f->engine, spec, &options, &tuning, &error), error);
        CU_ASSERT_PTR_NOT_NULL_FATAL(tuning);
        totals = *kiln_tuning_sum(tuning);
        as_expected = totals.stopped_early == sweeps[i].stopped && totals.reused == sweeps[i].reused &&
                      (sweeps[i].count < 3 || find(tuning, "copy REPEAT=1") == kiln_tuning_sample(tuning, 0));
        if (!as_expected)
            fprintf(stderr, "sweep %zu: %" PRIu64 " given up, %" PRIu64 " reused\n", i, (uint64_t)totals.stopped_early,
                    (uint64_t)totals.reused);
        CU_ASSERT_EQUAL(totals.failed, sweeps[i].count == 3);
        for (size_t k = 0; k < kiln_tuning_count(tuning); k++) {
            const kiln_result *result = kiln_tuning_sample(tuning, k)->result;
            /* Usually one repetition is enough. Under load the first repetition may look fast and the second one
             * slow. */
            CHECK(!result->stopped_early || (result->repetitions >= 1 && result->host_seconds > 0 && result->verified));
        }
        const kiln_sample *wrong = kiln_tuning_sample(tuning, kiln_tuning_count(tuning) - 1);
        CHECK(sweeps[i].count < 3 || wrong->status == KILN_ERROR_WRONG_ANSWER);
        kiln_tuning_free(tuning);
    }
    kiln_store_close(store);
    return as_expected;
}

static void stops_early_what_is_slower(void)
{
    enum { ATTEMPTS = 60 }; /* the first attempt succeeds, unless the host is busy */
    fixture f;
    setup(&f);
    kiln_error *error = NULL;
    kiln_spec *spec = NULL;
    CHECK_OK(kiln_spec_load(f.engine, KILN_TEST_DATA "/slow.yaml", &spec, &error), error);
    kiln_tuning *first = NULL; /* configurations with cached code run in order */
    CHECK_OK(kiln_tune(f.engine, spec, NULL, &first, &error), error);
    /* If one repetition takes all of the budget, there is nothing to stop early. */
    const kiln_sample *slow = find(first, "slower REPEAT=50001");
    CU_ASSERT_PTR_NOT_NULL_FATAL(slow);
    double budget = fmax(0.15, 4 * slow->result->host_seconds);
    kiln_tuning_free(first);
    unsigned attempt = 0;
    while (attempt < ATTEMPTS && !stops_early(&f, spec, budget, attempt))
        attempt++;
    CHECK(attempt < ATTEMPTS);
    kiln_spec_free(spec);
    teardown(&f);
}

/* The finals of a sweep, in this process or in a runner, and the next sweep, which takes all samples from the store.
 * The times are the interpreter's, so the participants differ from run to run. Mostly there are finals. test_finals.c
 * tests finals with invented times. */
static void holds_finals(void)
{
    static const char *const quick[] = {"quick"};
    fixture f;
    setup(&f);
    kiln_error *error = NULL;
    size_t held = 0;
    for (int round = 0; round < 4; round++) {
        char path[96];
        kiln_engine *engine = NULL;
        kiln_spec *spec = NULL;
        kiln_store *store = NULL;
        kiln_options options = {
            .size = sizeof options, .device = "sim", .cache_dir = f.folder, .worker = KILN_TEST_WORKER};
        snprintf(path, sizeof path, "%s/finals-%d.db", f.folder, round);
        CHECK_OK(kiln_engine_open(&options, &engine, &error), error);
        CHECK_OK(kiln_store_open(engine, path, 0, &store, &error), error);
        CHECK_OK(kiln_spec_load(engine, KILN_TEST_DATA "/slow.yaml", &spec, &error), error);
        kiln_verdict first = {0}, second;
        for (int again = 0; again < 2; again++) {
            kiln_tuning *tuning = NULL;
            const kiln_run_options run = {.size = sizeof run, .budget = 0.02};
            kiln_tune_options sweep = {.size = sizeof sweep,
                                       .run = &run,
                                       .variants = quick,
                                       .variant_count = 1,
                                       .store = store,
                                       .finalists = 4,
                                       /* a sample that was stopped early may be made again */
                                       .flags = KILN_TUNE_NO_STOP_EARLY,
                                       .isolation = round % 2 ? KILN_ISOLATE_ALWAYS : KILN_ISOLATE_NEVER};
            CHECK_OK(kiln_tune(engine, spec, &sweep, &tuning, &error), error);
            CU_ASSERT_PTR_NOT_NULL_FATAL(tuning);
            *(again ? &second : &first) = *kiln_tuning_verdict(tuning);
            for (size_t i = 0; i < first.finalists && first.rounds; i++) {
                const kiln_sample *sample = kiln_tuning_sample(tuning, i);
                const kiln_result *result = sample->result;
                CHECK(result->finals && result->finals == kiln_tuning_sample(tuning, 0)->result->finals);
                CHECK(result->first_seconds > 0 && result->host_seconds > 0 && result->repetitions == first.rounds);
                CHECK(result->verified); /* the result must equal the sweep's result */
                CHECK(sample->reused == again);
            }
            kiln_tuning_free(tuning);
        }
        held += first.rounds > 0;
        CHECK(!first.reused && second.reused == (first.rounds > 0));
        CHECK(second.seconds == 0 || !first.rounds);
        CHECK(second.finalists == first.finalists || !first.rounds);
        CHECK(second.tied == first.tied || !first.rounds);
        CHECK(second.rounds == first.rounds || !first.rounds);
        kiln_spec_free(spec);
        kiln_store_close(store);
        kiln_engine_close(engine);
    }
    if (!held)
        printf("\n  no finals came about on so busy a machine\n");
    teardown(&f);
}

static const check_case cases[] = {
    {"sweeps all of a variant; the second time from the cache", sweeps_all_of_a_variant},
    {"a failure costs one sample", a_failure_costs_one_sample},
    {"says that all failed", says_that_all_failed},
    {"waits for the device", waits_for_the_device},
    {"the callback hears and stops", the_callback_hears_and_stops},
    {"limits end it", limits_end_it},
    {"fixed params and sizes", fixed_params_and_sizes},
    {"refuses what is wrong", refuses_what_is_wrong},
    {"every strategy finds all", every_strategy_finds_all, CHECK_ONE_THREAD},
    {"chooses a strategy", chooses_a_strategy},
    {"searches a huge space", searches_a_huge_space, CHECK_ONE_THREAD},
    {"an uncounted space", takes_from_an_uncounted_space, CHECK_ONE_THREAD},
    {"asks while it looks", asks_while_it_looks, CHECK_ONE_THREAD},
    {"suggests in an uncounted space", suggests_in_an_uncounted_space, CHECK_ONE_THREAD},
    {"stops early what is slower", stops_early_what_is_slower, CHECK_LONG},
    {"holds finals", holds_finals},
    {"survives no memory", survives_no_memory, CHECK_ONE_THREAD},
};
KILN_SUITE("tune.tune", cases)
