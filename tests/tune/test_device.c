/* Tests variants with `target` and `needs`: the variants that run on devices of compute capability 9.0 and 7.5, the
 * messages about the other variants, how a sweep handles them, and the code that is compiled. */
#include <unistd.h>

#include "compiled.h"
#include "best.h"

typedef struct fixture {
    char folder[64];
    kiln_engine *engine;
    kiln_spec *spec;
} fixture;

static void open_on(fixture *f, const char *device)
{
    kiln_error *error = NULL;
    memset(f, 0, sizeof *f);
    strcpy(f->folder, "/tmp/kiln-device-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(f->folder));
    kiln_options options = {
        .size = sizeof options, .device = device, .cache_dir = f->folder, .jobs = 1, .flags = KILN_NO_WORKERS};
    CHECK_OK(kiln_engine_open(&options, &f->engine, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->engine);
    CHECK_OK(kiln_spec_load(f->engine, KILN_TEST_DATA "/device.yaml", &f->spec, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->spec);
}

static void end(fixture *f)
{
    char command[128];
    kiln_spec_free(f->spec);
    kiln_engine_close(f->engine);
    snprintf(command, sizeof command, "rm -rf '%s'", f->folder);
    CHECK(system(command) == 0);
}

/* Tests that the variant cannot run, and that kiln_variant_supported() and a plan give this reason. */
static void check_left_out(const fixture *f, const char *variant, const char *words)
{
    kiln_error *error = NULL;
    kiln_plan *plan = NULL;
    kiln_choice choice = {.variant = variant};
    size_t number = (size_t)kiln_spec_variant_find(f->spec, variant);
    CHECK(kiln_variant_supported(f->engine, f->spec, number, &error) == KILN_ERROR_UNSUPPORTED);
    CHECK_TEXT(kiln_error_message(error), words);
    kiln_error_free(error);
    error = NULL;
    CHECK(kiln_plan_open(f->engine, f->spec, &choice, &plan, &error) == KILN_ERROR_UNSUPPORTED);
    CHECK_TEXT(kiln_error_message(error), words);
    kiln_error_free(error);
}

/* Tests the target for which a plan of the variant gets its code. */
static void check_target(const fixture *f, const char *variant, int arch, char kind)
{
    kiln__target target = {0};
    kiln_error *error = NULL;
    CHECK_OK(kiln__variant_target(f->engine, kiln__spec_variant(f->spec, variant), &target, &error), error);
    CHECK(target.arch == arch && target.kind == kind);
}

static size_t count_of(const kiln_tuning *tuning, const char *variant)
{
    size_t count = 0;
    for (size_t i = 0; i < kiln_tuning_count(tuning); i++)
        count += strcmp(kiln_tuning_sample(tuning, i)->variant, variant) == 0 &&
                 kiln_tuning_sample(tuning, i)->status == KILN_OK;
    return count;
}

static void hopper(void)
{
    static const char later[] = KILN_TEST_DATA
        "/device.yaml:13: variant 'later' needs device.cc > 500 and device.async_copy; of Kiln simulated device "
        "(generic), device.cc = 90, device.async_copy = true";
    fixture f;
    kiln_error *error = NULL;
    kiln_tuning *tuning = NULL;
    kiln_plan *plan = NULL;
    open_on(&f, "sim:generic");
    CHECK(kiln_spec_target_count(f.spec, 1) == 1 && kiln_spec_target_count(f.spec, 0) == 0);
    CHECK_TEXT(kiln_spec_target(f.spec, 2, 1), "sm_75");
    CHECK(kiln_spec_need_count(f.spec, 0) == 2 && !kiln_spec_need(f.spec, 0, 2) && !kiln_spec_target(f.spec, 1, 1));
    CHECK_TEXT(kiln_spec_need(f.spec, 0, 0), "device.cc >= 20");
    check_left_out(&f, "later", later);
    check_target(&f, "hopper", 90, 'a');
    /* sm_100a does not fit; sm_75 fits everywhere, and Kiln compiles for the device's own architecture */
    check_target(&f, "any", 90, '\0');
    CHECK(kiln_variant_supported(f.engine, f.spec, 3, &error) == KILN_ERROR_ARGUMENT);
    kiln_error_free(error);
    error = NULL;

    kiln_run_options once = {.size = sizeof once, .flags = KILN_RUN_NO_MEASURE};
    kiln_tune_options options = {.size = sizeof options, .run = &once};
    CHECK_OK(kiln_tune(f.engine, f.spec, &options, &tuning, &error), error);
    CHECK(kiln_tuning_count(tuning) == 4 && count_of(tuning, "hopper") == 2 && count_of(tuning, "any") == 2);
    const kiln_left_out *left = kiln_tuning_left_out(tuning, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(left);
    CHECK_TEXT(left->variant, "later");
    CHECK_TEXT(left->why, later);
    CHECK(!kiln_tuning_left_out(tuning, 1) && !kiln_tuning_left_out(NULL, 0));
    kiln_tuning_free(tuning);
    tuning = NULL;

    CHECK(kiln_tune(
              f.engine, f.spec,
              &(kiln_tune_options){.size = sizeof options, .variants = &(const char *){"later"}, .variant_count = 1},
              &tuning, &error) == KILN_ERROR_UNSUPPORTED);
    CHECK_TEXT(kiln_error_message(error), later);
    kiln_error_free(error);
    error = NULL;

    /* the plan gets the first variant that runs here */
    CHECK_OK(kiln_plan_open(f.engine, f.spec, NULL, &plan, &error), error);
    kiln_plan_close(plan);
    end(&f);
}

static void turing(void)
{
    fixture f;
    kiln_device_info info = {0};
    kiln_error *error = NULL;
    const kiln_device_info *of = &info;
    open_on(&f, "sim:t4");
    CHECK_OK(kiln_engine_device(f.engine, &of, &error), error);
    CHECK(of->features == 0);
    check_left_out(&f, "hopper",
                   "variant 'hopper' is compiled for sm_90a, which does not load on NVIDIA T4 (simulated) of compute "
                   "capability 7.5");
    check_target(&f, "any", 75, '\0');
    end(&f);
}

static void names(void)
{
    static const struct {
        const char *text;
        int arch;
        char kind;
        const char *runs, *not ; /* one character for each compute capability */
    } good[] = {{"sm_90a", 90, 'a', "\x5a", "\x50\x64\x59"},
                {"compute_80", 80, 0, "\x50\x5a", "\x4b"},
                {"sm_100f", 100, 'f', "\x64\x67", "\x5a\x78"},
                {"120", 120, 0, "\x78\x79", "\x64"}};
    static const char *const bad[] = {"", "sm_", "sm_9", "sm_90b", "sm_90aa", "sm_80a", "sm_90f", "sm_1000", "sm_090"};
    kiln__target target;
    for (size_t i = 0; i < KILN__COUNT(good); i++) {
        CHECK(kiln__target_parse(good[i].text, &target) && target.arch == good[i].arch && target.kind == good[i].kind);
        for (const char *cc = good[i].runs; *cc; cc++)
            CHECK(kiln__target_runs(target, *cc));
        for (const char *cc = good[i].not ; *cc; cc++)
            CHECK(!kiln__target_runs(target, *cc));
    }
    for (size_t i = 0; i < KILN__COUNT(bad); i++)
        CHECK(!kiln__target_parse(bad[i], &target));
}

static const check_case cases[] = {
    {"compute capability 9.0", hopper, CHECK_LONG}, {"compute capability 7.5", turing}, {"names", names}};

KILN_COMPILED_SUITE("tune.device", cases, NULL)
