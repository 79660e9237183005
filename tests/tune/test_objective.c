/* Tests the objectives of a sweep, and the limits that end it. */
#include <math.h>
#include <unistd.h>

#include "budget_internal.h"
#include "check.h"
#include "objective_internal.h"
#include "random.h"
#include "tuning_internal.h"

typedef struct fixture {
    kiln_engine *engine;
    kiln_spec *spec;
    kiln_tuning *tuning;
} fixture;

static const char text[] = "kiln: 1\n"
                           "name: add\n"
                           "source: add.cu\n"
                           "sizes: {tiny: {N: 200}}\n"
                           "buffers: {z: {type: f32, shape: [N], out: true}}\n"
                           "params: {BLOCK: [32, 64], ITEMS: [1, 2]}\n"
                           "let: {TILE: BLOCK * ITEMS}\n"
                           "metrics: {flops: 1000, elements: N * ITEMS}\n"
                           "launch: {kernel: add, grid: [1], block: [BLOCK], args: [z]}\n";

static void setup(fixture *f)
{
    kiln_error *error = NULL;
    kiln_options options = {.size = sizeof options, .device = "sim", .flags = KILN_NO_WORKERS | KILN_NO_CACHE};
    *f = (fixture){0};
    CHECK_OK(kiln_engine_open(&options, &f->engine, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->engine);
    CHECK_OK(kiln_spec_parse(f->engine, text, sizeof text - 1, "add.yaml", &f->spec, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->spec);
    f->tuning = kiln__tuning_new(NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->tuning);
}

static void teardown(fixture *f)
{
    kiln_tuning_free(f->tuning);
    kiln_spec_free(f->spec);
    kiln_engine_close(f->engine);
}

static kiln_sample *sample_of(fixture *f, int block, int items, kiln_result result)
{
    kiln_setting params[] = {{"BLOCK", {KILN_INT, {.i = block}}}, {"ITEMS", {KILN_INT, {.i = items}}}};
    kiln_sample *sample = kiln__tuning_sample(f->tuning, f->spec->variants[0].name, (kiln__settings){2, params});
    CU_ASSERT_PTR_NOT_NULL_FATAL(sample);
    *kiln__tuning_result(sample) = result;
    return sample;
}

/* The result of a run that took 2 ms for 1000 operations and 5000 bytes. */
static const kiln_result measured = {.measured = 1,
                                     .seconds = 2e-3,
                                     .flops = 1000,
                                     .bytes = 5000,
                                     .roofline = 0.25,
                                     .compile_ns = 1500000000,
                                     .energy_joules = 0.75,
                                     .power_watts = 375,
                                     .verified = 1,
                                     .worst_error = 0.125};

static void values(void)
{
    static const struct {
        const char *text;
        double value, rank;
    } want[] = {
        {"time", 2e-3, 2e-3},
        {"min:time", 2e-3, 2e-3},
        {"gflops", 5e-4, -5e-4}, /* 1000 / 0.002 s / 1e9 */
        {"gbs", 2.5e-3, -2.5e-3},
        {"min:roofline", 0.25, 0.25},
        {"roofline", 0.25, -0.25},
        {"compile", 1.5, 1.5},
        {"energy", 0.75, 0.75},
        {"energy * time", 1.5e-3, 1.5e-3},
        {"power", 375, 375},
        {"error", 0.125, 0.125},
        {"elements", 400, 400}, /* 200 * 2 */
        {"max: elements / time", 200000, -200000},
        {"time * BLOCK + TILE", 128.128, 128.128},
        {"N", 200, 200},
        {"1 / (time - 0.002)", NAN, HUGE_VAL},
    };
    fixture f;
    setup(&f);
    for (size_t i = 0; i < KILN__COUNT(want); i++) {
        kiln_error *error = NULL;
        kiln__goals *goals = NULL;
        kiln_tune_options options = {.objectives = &want[i].text, .objective_count = 1};
        CHECK_OK(kiln__goals_open(f.engine, f.spec, &options, &goals, &error), error);
        CU_ASSERT_PTR_NOT_NULL_FATAL(goals);
        kiln_sample *sample = sample_of(&f, 64, 2, measured);
        kiln_status status = kiln__goals_judge(goals, &f.tuning->arena, sample, &error);
        if (isnan(want[i].value)) { /* a division by zero; the message must name its place in the objective */
            CU_ASSERT_EQUAL(status, KILN_ERROR_ARGUMENT);
            CHECK(strncmp(kiln_error_message(error), "objective:1:3: ", 15) == 0);
            kiln_error_free(error);
        } else {
            CHECK_OK(status, error);
            CU_ASSERT_PTR_NOT_NULL_FATAL(sample->objectives);
            CHECK(fabs(sample->objectives[0] - want[i].value) <= 1e-12 * want[i].value);
            CHECK(fabs(kiln__goals_rank(goals, sample) - want[i].rank) <= 1e-12 * fabs(want[i].rank));
            CHECK(kiln__goals_told(goals, sample) == kiln__goals_rank(goals, sample));
            sample->status = KILN_ERROR_LAUNCH;
            CHECK(kiln__goals_rank(goals, sample) == HUGE_VAL);
        }
        CHECK(kiln__goals_by_time(&options) == (i < 2));
        bool energy = strstr(want[i].text, "energy") || strstr(want[i].text, "power");
        CU_ASSERT_EQUAL(kiln__goals_need_energy(goals), energy);
        kiln__goals_free(goals);
    }
    teardown(&f);
}

static void refuses(void)
{
    static const struct {
        const char *text;
        kiln_status status;
        const char *message;
    } want[] = {
        {"tme", KILN_ERROR_NOT_FOUND,
         "objective:1:1: an objective may use measurements (time, gflops, gbs, roofline, "
         "energy, power, compile, error), metrics, params and sizes; unknown name 'tme'; did you mean 'time'?"},
        {"time *", KILN_ERROR_ARGUMENT, "objective:1:7: expected a value, found the end"},
        {"max:", KILN_ERROR_ARGUMENT, NULL},
        {"", KILN_ERROR_ARGUMENT, NULL},
        {"time time", KILN_ERROR_ARGUMENT, NULL},
    };
    fixture f;
    setup(&f);
    for (size_t i = 0; i < KILN__COUNT(want); i++) {
        kiln_error *error = NULL;
        kiln__goals *goals = NULL;
        kiln_tune_options options = {.objectives = &want[i].text, .objective_count = 1};
        CU_ASSERT_EQUAL(kiln__goals_open(f.engine, f.spec, &options, &goals, &error), want[i].status);
        CHECK(goals == NULL);
        if (want[i].message)
            CHECK(strncmp(kiln_error_message(error), want[i].message, strlen(want[i].message)) == 0);
        kiln_error_free(error);
    }
    /* If the result lacks a quantity of the objective, the sample fails in its sweep. */
    kiln_error *error = NULL;
    kiln__goals *goals = NULL;
    const char *gbs = "gbs";
    kiln_tune_options options = {.objectives = &gbs, .objective_count = 1};
    CHECK_OK(kiln__goals_open(f.engine, f.spec, &options, &goals, &error), error);
    kiln_sample *sample = sample_of(&f, 32, 1, (kiln_result){.measured = 1, .seconds = 1, .flops = 5});
    CU_ASSERT_EQUAL(kiln__goals_judge(goals, &f.tuning->arena, sample, &error), KILN_ERROR_UNSUPPORTED);
    CHECK_TEXT(kiln_error_message(error), "objective gbs: there is no gbs: the spec has no metric `bytes`");
    kiln_error_free(error);
    kiln__goals_free(goals);
    error = NULL;
    const char *unknown = "error";
    options.objectives = &unknown;
    CHECK_OK(kiln__goals_open(f.engine, f.spec, &options, &goals, &error), error);
    CU_ASSERT_EQUAL(kiln__goals_judge(goals, &f.tuning->arena, sample, &error), KILN_ERROR_UNSUPPORTED);
    CHECK_TEXT(kiln_error_message(error), "objective error: there is no error: the answer is not verified");
    kiln_error_free(error);
    kiln__goals_free(goals);
    teardown(&f);
}

/* Tests the Pareto front of two objectives. The points are pairs of a time and a number of elements, where more
 * elements are better: 1 and 200, 2 and 400, 2 and 200, 1 and 200 again, 3 and 400. The last sample failed. */
static void front_of_two(void)
{
    static const char *const objectives[] = {"time", "max:elements"};
    static const struct {
        double seconds;
        int items;
        kiln_status status;
        int front;
    } want[] = {
        {1, 1, KILN_OK, 1}, {2, 2, KILN_OK, 1}, {2, 1, KILN_OK, 0},
        {1, 1, KILN_OK, 1}, {3, 2, KILN_OK, 0}, {0.5, 2, KILN_ERROR_WRONG_ANSWER, 0},
    };
    enum { COUNT = KILN__COUNT(want) };
    fixture f;
    setup(&f);
    kiln_sample *samples[COUNT];
    kiln_error *error = NULL;
    kiln__goals *goals = NULL;
    kiln_tune_options options = {.objectives = objectives, .objective_count = 2};
    CHECK_OK(kiln__goals_open(f.engine, f.spec, &options, &goals, &error), error);
    for (size_t n = 0; n < COUNT; n++) {
        size_t i = COUNT - 1 - n; /* better points come later, so that they remove earlier ones from the front */
        samples[i] = sample_of(&f, 32, want[i].items, (kiln_result){.measured = 1, .seconds = want[i].seconds});
        samples[i]->status = want[i].status;
        if (want[i].status == KILN_OK)
            CHECK_OK(kiln__goals_judge(goals, &f.tuning->arena, samples[i], &error), error);
        kiln__tuning_set_value(samples[i], kiln__goals_rank(goals, samples[i]));
        CHECK(kiln__tuning_add(f.tuning, samples[i], want[i].status, "failed"));
    }
    /* A strategy gets the geometric mean of the objectives: here of 2 and 1 / 400. */
    CHECK(fabs(kiln__goals_told(goals, samples[1]) - sqrt(2.0 / 400)) < 1e-12);
    CHECK(kiln__goals_told(goals, samples[5]) == HUGE_VAL);
    kiln__tuning_rank(f.tuning);
    CHECK(kiln__goals_front(goals, f.tuning));
    for (size_t i = 0; i < COUNT; i++)
        CU_ASSERT_EQUAL(samples[i]->front, want[i].front);
    CHECK(!kiln__goals_by_time(&options));
    kiln__goals_free(goals);
    teardown(&f);
}

/* Compares the front of random points of three objectives with the front that a comparison of all pairs gives. */
static void front_of_many(void)
{
    static const char *const objectives[] = {"time", "BLOCK", "max:compile"};
    enum { COUNT = 300 };
    fixture f;
    setup(&f);
    kiln_error *error = NULL;
    kiln__goals *goals = NULL;
    kiln_tune_options options = {.objectives = objectives, .objective_count = 3};
    CHECK_OK(kiln__goals_open(f.engine, f.spec, &options, &goals, &error), error);
    kiln__random random = {5};
    for (size_t i = 0; i < COUNT; i++) {
        /* a point that takes longer may have more of the other quantity */
        uint64_t seconds = 1 + kiln__random_below(&random, 30);
        kiln_result result = {.measured = 1,
                              .seconds = (double)seconds,
                              .compile_ns = 1000000000 * (1 + kiln__random_below(&random, 2 * seconds))};
        kiln_sample *sample = sample_of(&f, kiln__random_below(&random, 2) ? 32 : 64, 1, result);
        CHECK_OK(kiln__goals_judge(goals, &f.tuning->arena, sample, &error), error);
        kiln__tuning_set_value(sample, kiln__goals_rank(goals, sample));
        CHECK(kiln__tuning_add(f.tuning, sample, KILN_OK, ""));
    }
    kiln__tuning_rank(f.tuning);
    CHECK(kiln__goals_front(goals, f.tuning));
    size_t on_front = 0;
    for (size_t i = 0; i < COUNT; i++) {
        const kiln_sample *a = kiln_tuning_sample(f.tuning, i);
        int beaten = 0;
        for (size_t k = 0; k < COUNT; k++) {
            const double *x = kiln_tuning_sample(f.tuning, k)->objectives, *y = a->objectives;
            beaten |= x[0] <= y[0] && x[1] <= y[1] && x[2] >= y[2] && (x[0] < y[0] || x[1] < y[1] || x[2] > y[2]);
        }
        CU_ASSERT_EQUAL(a->front, !beaten);
        on_front += !beaten;
    }
    CHECK(on_front > 3 && on_front < COUNT / 2);
    kiln__goals_free(goals);
    teardown(&f);
}

static void opening_survives_no_memory(void)
{
    static const char *const objectives[] = {"time", "max:elements / time + TILE"};
    int finished = 0;
    for (long n = 0; !finished && n < 1000; n++) {
        fixture f;
        setup(&f);
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        const kiln_allocator *before = f.engine->mem;
        f.engine->mem = &mem;
        kiln_error *error = NULL;
        kiln__goals *goals = NULL;
        kiln_tune_options options = {.objectives = objectives, .objective_count = 2};
        kiln_status status = kiln__goals_open(f.engine, f.spec, &options, &goals, &error);
        finished = !oom.failed;
        CHECK(status == KILN_OK ? !oom.failed : status == KILN_ERROR_MEMORY);
        kiln__goals_free(goals);
        kiln_error_free(error);
        CU_ASSERT_EQUAL(oom.live, 0);
        f.engine->mem = before;
        teardown(&f);
    }
    CHECK(finished);
}

/* ---- budgets ---- */

static void ends_when_nothing_gets_better(void)
{
    kiln_tune_options options = {.stagnation = 3, .improvement = 0.1};
    kiln__budget b = {.options = &options, .start = kiln__now_ns()};
    kiln_sample worked = {.status = KILN_OK}, failed = {.status = KILN_ERROR_COMPILE};
    static const struct {
        double value;
        bool over;
    } want[] = {
        {HUGE_VAL, false}, {10, false},  {9.5, false},
        {11, false},       {8.9, false}, /* 8.9 is less than 10 by more than a tenth */
        {8.5, false},      {8.1, false}, {HUGE_VAL, true},
    };
    CHECK(kiln__budget_any(&options));
    for (size_t i = 0; i < KILN__COUNT(want); i++) {
        kiln__budget_note(&b, want[i].value < HUGE_VAL ? &worked : &failed, want[i].value);
        CU_ASSERT_EQUAL(kiln__budget_over(&b), want[i].over);
    }
    CU_ASSERT_EQUAL(b.end, KILN_END_STAGNATION);

    b = (kiln__budget){.options = &options}; /* the objective should be large, but its value is negative */
    const double large[] = {-10, -10.5, -12, -12.5, -13, -13.1};
    for (size_t i = 0; i < KILN__COUNT(large); i++) {
        kiln__budget_note(&b, &worked, large[i]);
        CU_ASSERT_EQUAL(kiln__budget_over(&b), i == 5);
    }
    b = (kiln__budget){.options = &options}; /* all configurations fail */
    for (size_t i = 0; i < 3; i++)
        kiln__budget_note(&b, &failed, HUGE_VAL);
    CHECK(kiln__budget_over(&b));
}

static void ends_at_the_roofline_and_in_time(void)
{
    kiln_tune_options options = {.max_roofline = 0.8}, none = {0}, time = {.max_seconds = 1e-9};
    kiln__budget b = {.options = &options};
    kiln_result share = {.roofline = 0.79};
    kiln_sample near = {.status = KILN_OK, .result = &share, .contender = 1};
    kiln__budget_note(&b, &near, 1);
    CHECK(!kiln__budget_over(&b));
    share.roofline = 0.8;
    near.contender = 0;
    kiln__budget_note(&b, &near, HUGE_VAL);
    CHECK(!kiln__budget_over(&b));
    near.contender = 1;
    kiln__budget_note(&b, &near, 2);
    CHECK(kiln__budget_over(&b));
    CU_ASSERT_EQUAL(b.end, KILN_END_ROOFLINE);
    b = (kiln__budget){.options = &none, .roofline = 1, .stale = 1000};
    CHECK(!kiln__budget_over(&b) && !kiln__budget_any(&none));
    b = (kiln__budget){.options = &time, .start = kiln__now_ns() - 1000};
    CHECK(kiln__budget_over(&b));
    CU_ASSERT_EQUAL(b.end, KILN_END_SECONDS);
}

static const check_case cases[] = {
    {"values", values},
    {"refuses", refuses},
    {"front of two", front_of_two},
    {"front of many", front_of_many},
    {"opening survives no memory", opening_survives_no_memory},
    {"ends when nothing gets better", ends_when_nothing_gets_better},
    {"ends at the roofline and in time", ends_at_the_roofline_and_in_time},
};
KILN_SUITE("tune.objective", cases)
