/* Tests a sweep that verifies at one set of sizes and estimates at another set. */
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"
#include "tuning_internal.h"

static const char wide_only[] = "wide";
static const char *const wide[] = {wide_only}, *const wrong[] = {"wrong"}, *const wide_and_plain[] = {"wide", "plain"};

typedef struct fixture {
    char folder[64], path[96];
    kiln_engine *engine;
    kiln_spec *spec;
    kiln_store *store;
} fixture;

static void setup(fixture *f)
{
    memset(f, 0, sizeof *f);
    strcpy(f->folder, "/tmp/kiln-split-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(f->folder));
    snprintf(f->path, sizeof f->path, "%s/samples.db", f->folder);
    kiln_error *error = NULL;
    kiln_options options = {
        .size = sizeof options, .device = "sim:h200", .cache_dir = f->folder, .flags = KILN_NO_WORKERS};
    CHECK_OK(kiln_engine_open(&options, &f->engine, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->engine);
    CHECK_OK(kiln_spec_load(f->engine, KILN_TEST_DATA "/split.yaml", &f->spec, &error), error);
    CHECK_OK(kiln_store_open(f->engine, f->path, 0, &f->store, &error), error);
    CU_ASSERT_TRUE_FATAL(f->spec && f->store);
}

static void teardown(fixture *f)
{
    kiln_store_close(f->store);
    kiln_spec_free(f->spec);
    kiln_engine_close(f->engine);
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", f->folder);
    CU_ASSERT_EQUAL(system(command), 0);
}

static kiln_tune_options options_of(const fixture *f, const char *const *variants, size_t count)
{
    return (kiln_tune_options){.size = sizeof(kiln_tune_options),
                               .variants = variants,
                               .variant_count = count,
                               .size_set = "large",
                               .verify_size_set = "tiny",
                               .store = f->store};
}

static kiln_tuning *tune(const fixture *f, const kiln_tune_options *options)
{
    kiln_tuning *tuning = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln_tune(f->engine, f->spec, options, &tuning, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tuning);
    return tuning;
}

static int look_at_record(void *user, const kiln_record *record)
{
    CHECK(record->size_count == 1 && record->sizes[0].value.as.i == 100000);
    CHECK_TEXT(record->run, "verify at tiny (N=200)");
    CHECK(record->result->verified && record->result->estimated);
    ++*(unsigned *)user;
    return 0;
}

/* The times equal the times of a sweep at the large sizes that checks nothing. Every answer is verified. */
static void both_in_one_sample(void)
{
    fixture f;
    setup(&f);
    kiln_run_options unverified = {.size = sizeof unverified, .flags = KILN_RUN_NO_VERIFY};
    kiln_tune_options options = options_of(&f, wide, 1), alone = options;
    alone.verify_size_set = NULL;
    alone.store = NULL;
    alone.run = &unverified;
    unsigned seen = 0;
    kiln_error *error = NULL;
    kiln_tuning *one = tune(&f, &options), *two = tune(&f, &alone);
    CHECK(kiln_tuning_count(one) == 2 && kiln_tuning_count(two) == 2 && kiln_tuning_sum(one)->verified == 2);
    for (size_t i = 0; i < kiln_tuning_count(one); i++) {
        const kiln_sample *a = kiln_tuning_sample(one, i), *b = kiln_tuning_sample(two, i);
        CHECK(a->status == KILN_OK && a->result->verified && a->result->estimated && a->result->seconds > 0);
        CHECK(a->result->seconds == b->result->seconds && !b->result->verified);
        CHECK(a->result->bytes == 1200000);
    }
    kiln_tuning_free(two);
    kiln_tuning_free(one);
    CHECK_OK(kiln_store_list(f.store, NULL, look_at_record, &seen, &error), error);
    CHECK(seen == 2);
    one = tune(&f, &options);
    CHECK(kiln_tuning_sum(one)->reused == 2 && kiln_tuning_sum(one)->verified == 2);
    kiln_tuning_free(one);
    options.verify_size_set = "other"; /* the samples for other small sizes have another key in the store */
    one = tune(&f, &options);
    CHECK(kiln_tuning_sum(one)->reused == 0);
    kiln_tuning_free(one);
    teardown(&f);
}

static void a_wrong_answer_is_found_at_the_small_sizes(void)
{
    fixture f;
    setup(&f);
    kiln_tune_options options = options_of(&f, wrong, 1);
    kiln_tuning *tuning = NULL;
    kiln_error *error = NULL;
    /* this status is the only one */
    CHECK(kiln_tune(f.engine, f.spec, &options, &tuning, &error) == KILN_ERROR_WRONG_ANSWER);
    kiln_error_free(error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tuning);
    CHECK(kiln_tuning_count(tuning) == 1);
    CHECK(kiln_tuning_sample(tuning, 0)->status == KILN_ERROR_WRONG_ANSWER);
    kiln_tuning_free(tuning);
    teardown(&f);
}

/* `plain` is not valid at `other`. */
static void not_valid_at_the_small_sizes(void)
{
    fixture f;
    setup(&f);
    kiln_setting fixed[] = {{"BLOCK", {KILN_INT, {.i = 64}}}, {"ITEMS", {KILN_INT, {.i = 1}}}};
    kiln_tune_options options = options_of(&f, wide_and_plain + 1, 1);
    options.verify_size_set = "other";
    options.params = fixed;
    options.param_count = 2;
    kiln_tuning *tuning = tune(&f, &options);
    CHECK(kiln_tuning_count(tuning) == 1);
    const kiln_sample *sample = kiln_tuning_sample(tuning, 0);
    CHECK(sample->status == KILN_OK && !sample->result->verified && sample->result->estimated);
    kiln_tuning_free(tuning);
    teardown(&f);
}

static void refuse(const fixture *f, const kiln_tune_options *options, kiln_status status, const char *part)
{
    kiln_tuning *tuning = NULL;
    kiln_error *error = NULL;
    CHECK(kiln_tune(f->engine, f->spec, options, &tuning, &error) == status);
    CHECK(error && strstr(kiln_error_message(error), part));
    kiln_error_free(error);
    kiln_tuning_free(tuning);
}

static long most_kilobytes(void)
{
    struct rusage usage;
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return usage.ru_maxrss;
}

/* Tests buffers of 2 GB and of 8 GB. The few simulated blocks use only a few pages of them. Kiln does not fill the
 * buffers completely. The used pages have the content of the fill, so that the kernel's addresses, which come from it,
 * stay in bounds. */
static void large_buffers_cost_little(void)
{
    fixture f;
    setup(&f);
    const long before = most_kilobytes();
    static const char *const sets[] = {"huge", "vast"};
    static const char *const both[] = {"wide", "gather"};
    for (size_t i = 0; i < KILN__COUNT(sets); i++) {
        kiln_tune_options options = options_of(&f, both, 2);
        options.size_set = sets[i];
        kiln_tuning *tuning = tune(&f, &options);
        CHECK(kiln_tuning_count(tuning) == 3 && kiln_tuning_sum(tuning)->verified == 3);
        for (size_t k = 0; k < kiln_tuning_count(tuning); k++)
            CHECK(kiln_tuning_sample(tuning, k)->status == KILN_OK && kiln_tuning_sample(tuning, k)->result->estimated);
        kiln_tuning_free(tuning);
    }
    CHECK(most_kilobytes() - before < 1 << 20);
    teardown(&f);
}

static void refuses_what_it_cannot_be(void)
{
    fixture f;
    setup(&f);
    kiln_run_options unverified = {.size = sizeof unverified, .flags = KILN_RUN_NO_VERIFY};
    kiln_tune_options options = options_of(&f, wide, 1);
    options.verify_size_set = "none";
    refuse(&f, &options, KILN_ERROR_ARGUMENT, "has no set of sizes 'none'");
    options = options_of(&f, wide, 1);
    options.run = &unverified;
    refuse(&f, &options, KILN_ERROR_UNSUPPORTED, "the options of the run allow only one size");
    options = options_of(&f, wide, 1);
    options.isolation = KILN_ISOLATE_ALWAYS;
    refuse(&f, &options, KILN_ERROR_UNSUPPORTED, "in this process");
    kiln_spec_free(f.spec);
    kiln_error *error = NULL;
    CHECK_OK(kiln_spec_load(f.engine, KILN_TEST_DATA "/split_loop.yaml", &f.spec, &error), error);
    options = options_of(&f, NULL, 0);
    options.size_set = "tiny";
    refuse(&f, &options, KILN_ERROR_UNSUPPORTED, "depends on data, in the variant loop");
    teardown(&f);
}

static const kiln__simulator *real;
static int estimates;

/* The time of the first launch cannot be estimated. The other launches would take the interpreter longer than anybody
 * waits. */
static double no_first_estimate(uint64_t *launches)
{
    double seconds = real->estimate_end(launches);
    return estimates++ == 0 ? -1 : seconds + 1000;
}

/* The interpreter's wall time is not compared with estimates. Configurations without an estimate come after all
 * configurations with one. */
static void without_an_estimate(void)
{
    fixture f;
    const kiln_device_info *device = NULL;
    kiln_error *error = NULL;
    setup(&f);
    CHECK_OK(kiln_engine_device(f.engine, &device, &error), error); /* this call opens the device */
    real = f.engine->driver.simulator;
    kiln__simulator altered = *real;
    altered.estimate_end = no_first_estimate;
    f.engine->driver.simulator = &altered;
    for (int round = 0; round < 2; round++) { /* round 0 makes the samples, and round 1 takes them from the store */
        estimates = 0;
        const char *const gbs[] = {"gbs"};
        const kiln_tune_options options = {.size = sizeof options,
                                           .size_set = "tiny",
                                           .objectives = gbs,
                                           .objective_count = (size_t)round,
                                           .variants = wide,
                                           .variant_count = 1,
                                           .store = f.store};
        kiln_tuning *tuning = tune(&f, &options);
        const size_t count = kiln_tuning_count(tuning);
        CHECK(count > 1 && kiln_tuning_sum(tuning)->reused == (round ? count : 0));
        for (size_t i = 0; i < count; i++) {
            const kiln_sample *sample = kiln_tuning_sample(tuning, i);
            CHECK(sample->status == KILN_OK && sample->result->verified);
            CHECK(sample->result->estimated == (i + 1 < count));
            CHECK(i + 1 < count ? sample->result->seconds > 999 : sample->result->host_seconds < 999);
        }
        kiln_tuning_free(tuning);
    }
    f.engine->driver.simulator = real;
    teardown(&f);
}

static const check_case cases[] = {
    {"large buffers cost little", large_buffers_cost_little},
    {"without an estimate", without_an_estimate},
    {"both in one sample", both_in_one_sample},
    {"a wrong answer is found at the small sizes", a_wrong_answer_is_found_at_the_small_sizes},
    {"not valid at the small sizes", not_valid_at_the_small_sizes},
    {"refuses what it cannot be", refuses_what_it_cannot_be},
};
KILN_SUITE("tune.split", cases)
