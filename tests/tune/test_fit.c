/* Tests configurations whose launches do not fit on the device: which of them Kiln does not compile, which of them it
 * does not load, and the messages. */
#include <unistd.h>

#include "compiled.h"

static const struct {
    const char *variant;
    int64_t first, second; /* the params of the variant, except BROKEN */
    bool broken;
    const char *words;
    bool compiled;
} cases[] = {
    {"block", 2048, -1, true, "block x = 2048 is outside 0 .. 1024", false},
    {"block", 2048, -1, false, "block x = 2048 is outside 0 .. 1024", false},
    {"block", 512, -1, true, "this is not to be compiled", true},
    {"block", 512, -1, false, "", true},
    {"flat", 32, 1, true, "this is not to be compiled", true},
    {"flat", 32, 64, true, "a block of 2048 threads; the device allows 1024", false},
    {"flat", 32, 128, true, "block z = 128 is outside 0 .. 64", false},
    {"rows", 32, 70000, true, "grid y = 70000 is outside 0 .. 65535", false},
    {"shared", 32, 300000, false,
     "300000 bytes of shared memory (0 static, 300000 dynamic); the device allows 232448 a block", false},
    {"both", 32, 190000, false, "", true},
    {"both", 32, 200000, false,
     "240000 bytes of shared memory (40000 static, 200000 dynamic); the device allows 232448 a block", true},
    {"registers", 128, -1, false, "", true},
    {"registers", 512, -1, false, "a block of 512 threads of ", true},
    {"empty", 2048, -1, false, "", true},
};

static bool has(const kiln_sample *sample, const char *name, int64_t value)
{
    for (size_t i = 0; i < sample->param_count; i++)
        if (strcmp(sample->params[i].name, name) == 0)
            return sample->params[i].value.as.i == value;
    return true;
}

static const kiln_sample *find(const kiln_tuning *tuning, size_t number)
{
    for (size_t i = 0; i < kiln_tuning_count(tuning); i++) {
        const kiln_sample *sample = kiln_tuning_sample(tuning, i);
        if (strcmp(sample->variant, cases[number].variant) == 0 && has(sample, "BLOCK", cases[number].first) &&
            has(sample, "BROKEN", cases[number].broken) && has(sample, "DEPTH", cases[number].second) &&
            has(sample, "ROWS", cases[number].second) && has(sample, "BYTES", cases[number].second))
            return sample;
    }
    return NULL;
}

static void what_has_no_room_is_not_compiled(void)
{
    char folder[] = "/tmp/kiln-fit-XXXXXX", command[128];
    kiln_engine *engine = NULL;
    kiln_spec *spec = NULL;
    kiln_tuning *tuning = NULL;
    kiln_error *error = NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    kiln_options options = {.size = sizeof options, .device = "sim:h200", .cache_dir = folder, .jobs = 2};
    CHECK_OK(kiln_engine_open(&options, &engine, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(engine);
    CHECK_OK(kiln_spec_load(engine, KILN_TEST_DATA "/fit.yaml", &spec, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(spec);
    CHECK_OK(kiln_tune(engine, spec, NULL, &tuning, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tuning);
    size_t compiled = 0;
    for (size_t i = 0; i < KILN__COUNT(cases); i++) {
        const kiln_sample *sample = find(tuning, i);
        CU_ASSERT_PTR_NOT_NULL_FATAL(sample);
        CHECK((sample->status == KILN_OK) == !*cases[i].words);
        CHECK(strstr(sample->message, cases[i].words) != NULL);
        CHECK(!*cases[i].words ||
              sample->status == (strstr(cases[i].words, "compiled") ? KILN_ERROR_COMPILE : KILN_ERROR_LAUNCH));
        compiled += cases[i].compiled;
    }
    /* three more configurations compile: BLOCK=64, BLOCK=64 with BROKEN, and 1024 bytes of shared memory */
    CU_ASSERT_EQUAL(kiln_tuning_sum(tuning)->cache_misses, compiled + 3);
    CU_ASSERT_EQUAL(kiln_tuning_count(tuning), KILN__COUNT(cases) + 3);
    kiln_tuning_free(tuning);
    kiln_spec_free(spec);
    kiln_engine_close(engine);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    CU_ASSERT_EQUAL(system(command), 0);
}

static const check_case all[] = {{"what has no room is not compiled, or not loaded", what_has_no_room_is_not_compiled}};

KILN_COMPILED_SUITE("tune.fit", all, NULL)
