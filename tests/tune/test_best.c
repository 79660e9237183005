/* Tests which best known configuration is returned, and the plan that is opened with it. The tests use the simulated
 * device and the public functions. */
#include <math.h>
#include <unistd.h>

#include "check.h"
#include "best.h"

typedef struct fixture {
    char folder[64], log[1024];
    kiln_engine *engine;
    kiln_spec *spec;
    kiln_store *store;
} fixture;

static void note(void *user, kiln_log_level level, const char *message)
{
    fixture *f = user;
    if (level >= KILN_LOG_INFO)
        snprintf(f->log, sizeof f->log, "%s", message);
}

static void setup_with(fixture *f, const kiln_allocator *mem)
{
    kiln_error *error = NULL;
    memset(f, 0, sizeof *f);
    strcpy(f->folder, "/tmp/kiln-best-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(f->folder));
    kiln_options options = {.size = sizeof options,
                            .device = "sim",
                            .cache_dir = f->folder,
                            .jobs = 1,
                            .flags = KILN_NO_WORKERS,
                            .log = note,
                            .log_user = f,
                            .allocator = mem};
    CHECK_OK(kiln_engine_open(&options, &f->engine, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->engine);
    CHECK_OK(kiln_spec_load(f->engine, KILN_TEST_DATA "/add.yaml", &f->spec, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->spec);
    char path[96];
    snprintf(path, sizeof path, "%s/samples.db", f->folder);
    CHECK_OK(kiln_store_open(f->engine, path, 0, &f->store, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->store);
}

static void setup(fixture *f) { setup_with(f, NULL); }

static void teardown(fixture *f)
{
    char command[128];
    kiln_store_close(f->store);
    kiln_spec_free(f->spec);
    kiln_engine_close(f->engine);
    snprintf(command, sizeof command, "rm -rf '%s'", f->folder);
    CU_ASSERT_EQUAL(system(command), 0);
}

#define HERE "\"Kiln simulated device (generic)\", cc: \"9.0\""
#define KNOWN(device, n, configuration, time, how, day)                                                                \
    "- {spec: add, device: " device ", sizes: {N: " #n "}, " configuration ", seconds: " #time ", how: " how           \
    ", verified: true, made: 2026-01-" day "T00:00:00Z}\n"
#define PLAIN(block, items) "variant: plain, params: {BLOCK: " #block ", ITEMS: " #items ", FAR: near}"

static kiln_knowledge *parse(fixture *f, const char *text)
{
    kiln_knowledge *known = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln_knowledge_parse(f->engine, text, strlen(text), "k.yaml", &known, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(known);
    return known;
}

/* Returns a result as text, such as "EXACT plain BLOCK=32 ITEMS=1 FAR=near". */
static const char *show(const kiln_best *best, char text[160])
{
    static const char *const words[] = {
#define KILN_X(name, says) #name,
        KILN_BEST_MAP(KILN_X)
#undef KILN_X
    };
    kiln__text out = {0};
    kiln__text_printf(&out, "%s %s", words[best->from], best->variant);
    for (size_t i = 0; i < best->param_count; i++) {
        kiln__text_printf(&out, " %s=", best->params[i].name);
        kiln__value_print(&out, best->params[i].value);
    }
    snprintf(text, 160, "%s", kiln__text_get(&out));
    kiln__text_free(&out);
    return text;
}

/* Tests the answer for size N from the text `known`, for the variant and params of a choice. */
static void ask(fixture *f, const char *known_text, int64_t n, const kiln_choice *choice, const char *want,
                double distance)
{
    kiln_knowledge *known = parse(f, known_text);
    kiln_setting size = {"N", {KILN_INT, {.i = n}}};
    kiln_choice asked = choice ? *choice : (kiln_choice){0};
    asked.sizes = &size;
    asked.size_count = 1;
    kiln_best_options options = {.size = sizeof options, .knowledge = known};
    kiln_best *best = NULL;
    kiln_error *error = NULL;
    char text[160];
    CHECK_OK(kiln_best_find(f->engine, f->spec, &asked, &options, &best, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(best);
    CHECK_TEXT(show(best, text), want);
    CHECK(fabs(best->distance - distance) < 1e-12);
    CHECK(best->size_count == 1 && best->sizes[0].value.as.i == n);
    kiln_best_free(best);
    kiln_knowledge_free(known);
}

static void the_ladder(void)
{
    fixture f;
    setup(&f);
    // clang-format off
    static const char text[] =
        "kiln-best: 1\nbest:\n"
        KNOWN(HERE, 100, PLAIN(32, 1), 0.5, "estimated", "01") KNOWN(HERE, 100, PLAIN(64, 1), 0.9, "measured", "01")
        KNOWN(HERE, 100, PLAIN(64, 2), 0.7, "measured", "01") KNOWN(HERE, 400, PLAIN(128, 1), 0.1, "measured", "01")
        KNOWN("Other, cc: \"8.0\"", 200, PLAIN(32, 2), 0.1, "measured", "01")
        KNOWN("Alike, cc: \"9.0\"", 100, PLAIN(32, 1), 0.2, "measured", "01");
    // clang-format on
    // measured times come before estimated times, and shorter times before longer ones
    ask(&f, text, 100, NULL, "EXACT plain BLOCK=64 ITEMS=2 FAR=near", 0);
    ask(&f, text, 400, NULL, "EXACT plain BLOCK=128 ITEMS=1 FAR=near", 0);
    /* the other device has these exact sizes, but does not come first */
    ask(&f, text, 200, NULL, "NEAREST plain BLOCK=64 ITEMS=2 FAR=near", 1);
    ask(&f, text, 1600, NULL, "NEAREST plain BLOCK=128 ITEMS=1 FAR=near", 2);
    // clang-format off
    static const char others[] =
        "kiln-best: 1\nbest:\n"
        KNOWN("Other, cc: \"8.0\"", 200, PLAIN(32, 2), 0.1, "measured", "01")
        KNOWN("Older, cc: \"7.5\"", 200, PLAIN(128, 1), 0.1, "measured", "01")
        KNOWN("Unknown, cc: \"\"", 200, PLAIN(128, 1), 0.1, "measured", "01")
        KNOWN("Alike, cc: \"9.0\"", 100, PLAIN(32, 1), 0.2, "measured", "01");
    // clang-format on
    /* These sizes on a device of the same capability come before near sizes on this device. Near sizes on this device
     * come before other sizes on other devices. */
    // clang-format off
    static const char alike[] =
        "kiln-best: 1\nbest:\n"
        KNOWN(HERE, 400, PLAIN(64, 2), 0.1, "measured", "01")
        KNOWN("Alike, cc: \"9.0\"", 200, PLAIN(32, 1), 0.2, "measured", "01")
        KNOWN("Alike, cc: \"9.0\"", 1600, PLAIN(128, 1), 0.2, "measured", "01");
    // clang-format on
    ask(&f, alike, 200, NULL, "OTHER_DEVICE plain BLOCK=32 ITEMS=1 FAR=near", 0);
    ask(&f, alike, 400, NULL, "EXACT plain BLOCK=64 ITEMS=2 FAR=near", 0);
    ask(&f, alike, 800, NULL, "NEAREST plain BLOCK=64 ITEMS=2 FAR=near", 1);
    /* the device of the same capability comes first */
    ask(&f, others, 200, NULL, "OTHER_DEVICE plain BLOCK=32 ITEMS=1 FAR=near", 1);
    static const char of_another[] =
        "kiln-best: 1\nbest:\n"
        "- {spec: subtract, device: " HERE
        ", sizes: {N: 200}, " PLAIN(64, 1) ", seconds: 1, how: measured, verified: true, made: 2026-01-01T00:00:00Z}\n";
    ask(&f, of_another, 200, NULL, "DEFAULT plain BLOCK=32 ITEMS=1 FAR=near", 0);
    teardown(&f);
}

static void only_what_is_valid_answers(void)
{
    fixture f;
    setup(&f);
    // clang-format off
    static const char text[] =
        "kiln-best: 1\nbest:\n"
        KNOWN(HERE, 200, PLAIN(128, 2), 0.1, "measured", "01")          /* breaks BLOCK * ITEMS <= 128 */
        KNOWN(HERE, 200, PLAIN(48, 1), 0.2, "measured", "01")           /* the spec has no such value any more */
        KNOWN(HERE, 200, "variant: gone, params: {}", 0.3, "measured", "01")
        KNOWN(HERE, 200, "variant: plain, params: {BLOCK: 32, WIDTH: 3}", 0.4, "measured", "01")
        /* the spec got ITEMS and FAR later */
        KNOWN(HERE, 200, "variant: plain, params: {BLOCK: 64}", 0.5, "measured", "01");
    // clang-format on
    ask(&f, text, 200, NULL, "EXACT plain BLOCK=64 ITEMS=1 FAR=near", 0);
    ask(&f, text, 50, NULL, "DEFAULT wide BLOCK=64 ITEMS=4 FAR=near", 0); /* `plain` needs N >= 100 */
    kiln_setting n = {"N", {KILN_INT, {.i = 50}}};
    kiln_choice choice = {.variant = "plain", .sizes = &n, .size_count = 1};
    kiln_best *best = NULL;
    kiln_error *error = NULL;
    CHECK(kiln_best_find(f.engine, f.spec, &choice, NULL, &best, &error) == KILN_ERROR_CONSTRAINT && !best);
    CHECK(strstr(kiln_error_message(error), "this constraint does not hold") != NULL);
    kiln_error_free(error);
    error = NULL;
    n.name = "M";
    CHECK(kiln_best_find(f.engine, f.spec, &choice, NULL, &best, &error) == KILN_ERROR_NOT_FOUND && !best);
    kiln_error_free(error);
    teardown(&f);
}

static void a_choice_narrows(void)
{
    fixture f;
    setup(&f);
    // clang-format off
    static const char text[] =
        "kiln-best: 1\nbest:\n"
        KNOWN(HERE, 200, PLAIN(32, 1), 0.1, "measured", "01") KNOWN(HERE, 200, PLAIN(64, 2), 0.2, "measured", "01")
        KNOWN(HERE, 200, "variant: wide, params: {BLOCK: 64, ITEMS: 8, FAR: near}", 0.3, "measured", "01");
    // clang-format on
    kiln_setting items = {"ITEMS", {KILN_INT, {.i = 2}}};
    kiln_choice choice = {.variant = "wide"};
    ask(&f, text, 200, &choice, "EXACT wide BLOCK=64 ITEMS=8 FAR=near", 0);
    choice = (kiln_choice){.params = &items, .param_count = 1};
    ask(&f, text, 200, &choice, "EXACT plain BLOCK=64 ITEMS=2 FAR=near", 0);
    items.value.as.i = 4; /* nothing is known, and 4 is no value of the first variant */
    ask(&f, text, 200, &choice, "DEFAULT wide BLOCK=64 ITEMS=4 FAR=near", 0);
    teardown(&f);
}

static void distances(void)
{
    static const kiln_setting
        cube[] = {{"M", {KILN_INT, {.i = 1024}}}, {"N", {KILN_INT, {.i = 1024}}}, {"K", {KILN_INT, {.i = 1024}}}},
        flat[] = {{"K", {KILN_INT, {.i = 4096}}}, {"M", {KILN_INT, {.i = 4096}}}, {"N", {KILN_INT, {.i = 64}}}},
        large[] = {{"M", {KILN_INT, {.i = 4096}}}, {"N", {KILN_INT, {.i = 4096}}}, {"K", {KILN_INT, {.i = 4096}}}},
        none[] = {{"M", {KILN_INT, {.i = 0}}}}, one[] = {{"M", {KILN_FLOAT, {.f = 1}}}};
    double d = -1, e = -1;
    bool same;
    /* The number of elements is the same, and yet the distance is larger than for four times as many along one side:
     * the sides differ by 2, 2 and -4 doublings. */
    CHECK(kiln__size_distance((kiln__settings){3, cube}, (kiln__settings){3, flat}, &d, &same) && !same &&
          fabs(d - sqrt(24)) < 1e-12);
    CHECK(kiln__size_distance((kiln__settings){3, cube}, (kiln__settings){3, large}, &e, &same) &&
          fabs(e - sqrt(12)) < 1e-12 && e < d);
    CHECK(kiln__size_distance((kiln__settings){3, flat}, (kiln__settings){3, flat}, &d, &same) && same && d == 0);
    CHECK(kiln__size_distance((kiln__settings){1, none}, (kiln__settings){1, one}, &d, &same) && !same && d == 1);
    CHECK(!kiln__size_distance((kiln__settings){3, cube}, (kiln__settings){1, one}, &d, &same) &&
          !kiln__size_distance((kiln__settings){1, cube}, (kiln__settings){1, &cube[1]}, &d, &same));
}

static kiln_best *open_best(fixture *f, const kiln_best_options *options, kiln_plan **plan)
{
    kiln_setting n = {"N", {KILN_INT, {.i = 150}}};
    kiln_choice choice = {.sizes = &n, .size_count = 1};
    kiln_best *best = NULL;
    kiln_error *error = NULL;
    *plan = NULL;
    CHECK_OK(kiln_plan_open_best(f->engine, f->spec, &choice, options, plan, &best, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(best);
    CU_ASSERT_PTR_NOT_NULL_FATAL(*plan);
    return best;
}

static void tuned_on_demand_and_remembered(void)
{
    fixture f;
    setup(&f);
    kiln_plan *plan;
    char first[160], again[160];
    kiln_best_options options = {.size = sizeof options, .store = f.store, .tune_seconds = 60};
    kiln_best *best = open_best(&f, &options, &plan);
    const kiln_result *result = NULL;
    kiln_error *error = NULL;
    CHECK(best->from == KILN_BEST_TUNED && best->seconds > 0 && best->verified && !best->measured);
    show(best, first);
    CHECK_OK(kiln_plan_run(plan, NULL, &result, &error), error);
    CHECK(result->verified);
    kiln_plan_close(plan);
    kiln_best_free(best);
    options.tune_seconds = 1e-9; /* a tuning that started now would end at once without a sample */
    best = open_best(&f, &options, &plan);
    CHECK(best->from == KILN_BEST_EXACT && best->known_size_count == 1);
    CHECK_TEXT(strchr(show(best, again), ' '), strchr(first, ' '));
    kiln_plan_close(plan);
    kiln_best_free(best);

    /* The test repeats this with a file in place of the store. */
    kiln_knowledge *collected = NULL, *loaded = NULL;
    char path[96];
    uint64_t written = 0;
    snprintf(path, sizeof path, "%s/known.yaml", f.folder);
    CHECK_OK(kiln_knowledge_collect(f.engine, f.store, NULL, &collected, &error), error);
    // 5 samples of one variant and 2 of the other; the other samples failed
    CHECK(kiln_knowledge_count(collected) == 7);
    CHECK_OK(kiln_knowledge_save(collected, path, &written, &error), error);
    CHECK_OK(kiln_knowledge_load(f.engine, path, &loaded, &error), error);
    CHECK(written == 2 && kiln_knowledge_count(loaded) == 2);
    options = (kiln_best_options){.size = sizeof options, .knowledge = loaded};
    best = open_best(&f, &options, &plan);
    CHECK_TEXT(show(best, again), again);
    CHECK(best->from == KILN_BEST_EXACT);
    CHECK_TEXT(strchr(again, ' '), strchr(first, ' '));
    kiln_plan_close(plan);
    kiln_best_free(best);
    kiln_knowledge_free(collected);
    kiln_knowledge_free(loaded);
    teardown(&f);
}

static void what_does_not_compile_is_passed_over(void)
{
    fixture f;
    setup(&f);
    kiln_knowledge *known = parse(
        &f, "kiln-best: 1\nbest:\n" KNOWN(HERE, 150, "variant: bad, params: {BLOCK: 32, ITEMS: 1, FAR: nowhere}", 0.1,
                                          "measured", "01") KNOWN(HERE, 150, PLAIN(64, 2), 0.2, "measured", "01"));
    kiln_plan *plan;
    char text[160];
    kiln_best_options options = {.size = sizeof options, .knowledge = known};
    kiln_best *best = open_best(&f, &options, &plan);
    CHECK_TEXT(show(best, text), "EXACT plain BLOCK=64 ITEMS=2 FAR=near");
    CHECK(strstr(f.log, "variant bad, best known, is skipped") != NULL);
    kiln_plan_close(plan);
    kiln_best_free(best);
    kiln_knowledge_free(known);
    /* A tuning that finds nothing leaves the suggestion. */
    known = parse(&f, "kiln-best: 1\nbest:\n" KNOWN(HERE, 100, PLAIN(64, 2), 0.2, "measured", "01"));
    options = (kiln_best_options){.size = sizeof options, .knowledge = known, .tune_seconds = 1e-9};
    best = open_best(&f, &options, &plan);
    CHECK_TEXT(show(best, text), "NEAREST plain BLOCK=64 ITEMS=2 FAR=near");
    kiln_plan_close(plan);
    kiln_best_free(best);
    kiln_knowledge_free(known);
    teardown(&f);
}

/* If the store and a file know the same configuration, the later of the two counts. */
static void of_store_and_file_the_later_counts(void)
{
    fixture f;
    setup(&f);
    kiln_error *error = NULL;
    kiln_setting n = {"N", {KILN_INT, {.i = 150}}};
    const char *variants[] = {"wrong"};
    kiln_tuning *tuning = NULL;
    kiln_tune_options sweep = {
        .size = sizeof sweep, .variants = variants, .variant_count = 1, .sizes = &n, .size_count = 1, .store = f.store};
    CHECK(kiln_tune(f.engine, f.spec, &sweep, &tuning, &error) == KILN_ERROR_WRONG_ANSWER);
    kiln_error_free(error);
    error = NULL;
    kiln_tuning_free(tuning);
    kiln_knowledge *known =
        parse(&f, "kiln-best: 1\nbest:\n" KNOWN(HERE, 150, "variant: wrong, params: {BLOCK: 32, ITEMS: 1, FAR: near}",
                                                1e-9, "measured", "01"));
    kiln_choice choice = {.sizes = &n, .size_count = 1};
    kiln_best_options options = {.size = sizeof options, .knowledge = known};
    kiln_best *best = NULL;
    char text[160];
    CHECK_OK(kiln_best_find(f.engine, f.spec, &choice, &options, &best, &error), error);
    CHECK_TEXT(show(best, text), "EXACT wrong BLOCK=32 ITEMS=1 FAR=near");
    kiln_best_free(best);
    options.store = f.store;
    best = NULL;
    CHECK_OK(kiln_best_find(f.engine, f.spec, &choice, &options, &best, &error), error);
    CHECK_TEXT(show(best, text), "DEFAULT plain BLOCK=32 ITEMS=1 FAR=near");
    kiln_best_free(best);
    kiln_knowledge_free(known);
    teardown(&f);
}

/* Lets the first allocation of the functions for the best known configuration fail, then the second, and so on. */
static void memory_may_be_out(void)
{
    static const char text[] = "kiln-best: 1\nbest:\n" KNOWN(HERE, 150, PLAIN(64, 2), 0.2, "measured", "01");
    check_oom oom = {.countdown = -1};
    kiln_allocator mem = {check_oom_resize, &oom};
    fixture f;
    setup_with(&f, &mem);
    const kiln_device_info *info = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln_engine_device(f.engine, &info, &error), error);
    bool failed = true;
    for (long n = 0; failed && n < 2000; n++) {
        long live = oom.live;
        oom.countdown = n;
        oom.failed = 0;
        kiln_knowledge *known = NULL;
        kiln_best *best = NULL;
        kiln_setting size = {"N", {KILN_INT, {.i = 100}}};
        kiln_choice choice = {.sizes = &size, .size_count = 1};
        kiln_status status = kiln_knowledge_parse(f.engine, text, sizeof text - 1, "k", &known, &error);
        kiln_best_options options = {.size = sizeof options, .knowledge = known, .store = f.store};
        if (status == KILN_OK)
            status = kiln_best_find(f.engine, f.spec, &choice, &options, &best, &error);
        failed = oom.failed;
        oom.countdown = -1;
        CHECK(status == (failed ? KILN_ERROR_MEMORY : KILN_OK));
        CHECK((best != NULL) == !failed);
        kiln_error_free(error);
        error = NULL;
        kiln_best_free(best);
        kiln_knowledge_free(known);
        CHECK(oom.live == live);
    }
    CHECK(!failed);
    teardown(&f);
    CHECK(oom.live == 0);
}

/* The first variant of aside.yaml is no contender, and has the smallest value of each objective. */
static kiln_tuning *sweep_aside(fixture *f, const char *variant, uint64_t most)
{
    static const char *const objectives[] = {"min:BLOCK", "min:BLOCK * 2"};
    kiln_tune_options options = {.size = sizeof options,
                                 .variants = variant ? &variant : NULL,
                                 .variant_count = variant != NULL,
                                 .store = f->store,
                                 .objectives = objectives,
                                 .objective_count = 2,
                                 .max_configurations = most};
    kiln_tuning *tuning = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln_tune(f->engine, f->spec, &options, &tuning, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tuning);
    return tuning;
}

static void what_is_no_contender_is_not_the_best(void)
{
    fixture f;
    setup(&f);
    kiln_error *error = NULL;
    kiln_best *best = NULL;
    char text[160];
    kiln_spec_free(f.spec);
    CHECK_OK(kiln_spec_load(f.engine, KILN_TEST_DATA "/aside.yaml", &f.spec, &error), error);
    CHECK(!kiln_spec_variant_contender(f.spec, 0) && kiln_spec_variant_contender(f.spec, 1));
    CHECK(!kiln_spec_variant_contender(f.spec, 2) && kiln_spec_variant_first(f.spec) == 1);

    /* If the variant is the only one, it counts as a contender. */
    kiln_tuning *tuning = sweep_aside(&f, "least", 0);
    const kiln_sample *sample = kiln_tuning_sample(tuning, 0);
    CHECK(kiln_tuning_count(tuning) == 1 && sample->contender && sample->front);
    kiln_tuning_free(tuning);

    /* A caller who names a variant gets the best known configuration of this variant. */
    kiln_best_options options = {.size = sizeof options, .store = f.store};
    CHECK_OK(kiln_best_find(f.engine, f.spec, NULL, &options, &best, &error), error);
    CHECK_TEXT(show(best, text), "DEFAULT plain ITEMS=1 FAR=near BLOCK=64");
    kiln_best_free(best);
    CHECK_OK(kiln_best_find(f.engine, f.spec, &(kiln_choice){.variant = "least"}, &options, &best, &error), error);
    CHECK_TEXT(show(best, text), "EXACT least ITEMS=1 FAR=near BLOCK=32");
    kiln_best_free(best);

    for (uint64_t most = 0; most < 10; most += 9) { /* once in order, and once by a strategy that learns */
        tuning = sweep_aside(&f, NULL, most);
        CU_ASSERT_EQUAL_FATAL(kiln_tuning_count(tuning), 3);
        for (size_t i = 0; i < 3; i++) {
            sample = kiln_tuning_sample(tuning, i);
            CHECK(sample->status == KILN_OK && sample->contender == (i < 2) && sample->front == (i == 0));
            CHECK(sample->params[2].value.as.i == (i == 0 ? 64 : i == 1 ? 128 : 32));
        }
        kiln_tuning_free(tuning);
    }
    CHECK_OK(kiln_best_find(f.engine, f.spec, NULL, &options, &best, &error), error);
    CHECK(best->from == KILN_BEST_EXACT);
    CHECK_TEXT(best->variant, "plain");
    kiln_best_free(best);
    kiln_plan *plan = NULL;
    CHECK_OK(kiln_plan_open(f.engine, f.spec, NULL, &plan, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    CHECK(kiln_plan_kernel(plan, 0)->block[0] == 64);
    kiln_plan_close(plan);
    teardown(&f);
}

static const check_case cases[] = {
    {"the ladder", the_ladder},
    {"only what is valid answers", only_what_is_valid_answers},
    {"a choice narrows", a_choice_narrows},
    {"distances", distances},
    {"tuned on demand and remembered", tuned_on_demand_and_remembered},
    {"what does not compile is passed over", what_does_not_compile_is_passed_over},
    {"of store and file the later counts", of_store_and_file_the_later_counts},
    {"what is no contender is not the best", what_is_no_contender_is_not_the_best},
    {"memory may be out", memory_may_be_out},
};
KILN_SUITE("best", cases)
