/* Tests the public functions for recorded spaces, which describe, convert, search and score a recording. */
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "recording.h"

/* Four configurations of x with times of 3, 11, 1 and 2 ms, and one that failed. Each cost a second. */
static const char five[] =
    "{\"device_name\": \"A\", \"kernel_name\": \"k\", \"tune_params_keys\": [\"x\"], \"cache\": {"
    "\"1\": {\"x\": 1, \"time\": 3, \"compile_time\": 1000},"
    "\"2\": {\"x\": 2, \"time\": 11, \"compile_time\": 1000},"
    "\"3\": {\"x\": 3, \"time\": 1, \"compile_time\": 1000},"
    "\"4\": {\"x\": 4, \"time\": \"RuntimeFailedConfig\", \"compile_time\": 1000},"
    "\"5\": {\"x\": 5, \"time\": 2, \"compile_time\": 1000}}}";

typedef struct fixture {
    char folder[32], path[64];
    kiln_engine *engine;
    kiln_recording *recording;
} fixture;

static bool setup(fixture *f)
{
    kiln_error *error = NULL;
    *f = (fixture){.folder = "/tmp/kiln-replay-XXXXXX"};
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(f->folder));
    snprintf(f->path, sizeof f->path, "%s/five.json", f->folder);
    FILE *file = fopen(f->path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CHECK(fputs(five, file) >= 0 && fclose(file) == 0);
    kiln_options options = {.size = sizeof options, .device = "sim", .flags = KILN_NO_CACHE | KILN_NO_WORKERS};
    CHECK_OK(kiln_engine_open(&options, &f->engine, &error), error);
    CHECK_OK(kiln_recording_load(f->engine, f->path, &f->recording, &error), error);
    return f->engine && f->recording;
}

static void teardown(fixture *f)
{
    char command[64];
    kiln_recording_free(f->recording);
    kiln_engine_close(f->engine);
    snprintf(command, sizeof command, "rm -rf '%s'", f->folder);
    CU_ASSERT_EQUAL(system(command), 0);
}

static bool near(double a, double b) { return a - b <= 1e-12 && b - a <= 1e-12; }

static void described(void)
{
    fixture f;
    kiln_error *error = NULL;
    kiln_recording *none = NULL;
    if (!setup(&f))
        return;
    const kiln_recording_info *info = kiln_recording_describe(f.recording);
    CHECK_TEXT(info->path, f.path);
    CHECK_TEXT(info->format, "Kernel Tuner");
    CHECK_TEXT(info->kernel, "k");
    CHECK_TEXT(info->device, "A");
    CHECK(!info->cut_off && info->params == 1 && info->configurations == 5 && info->failed == 1);
    CHECK(near(info->optimum, 1e-3) && near(info->median, 2.5e-3) && near(info->worst, 11e-3) &&
          near(info->mean_cost, 1));
    /* The goal is within 5 % of the way from 1 to 2.5 ms. Random search is sure to reach it only after all five,
     * which take 5 s. */
    CHECK(info->draws == 5 && near(info->budget, 5));
    CHECK(!kiln_recording_describe(NULL));
    CHECK(kiln_recording_load(f.engine, "/nonexistent/a.json", &none, &error) == KILN_ERROR_NOT_FOUND && !none);
    CHECK(strstr(kiln_error_message(error), "/nonexistent/a.json") != NULL);
    kiln_error_free(error);
    teardown(&f);
}

/* The messages of a replay, and the point at which it must end. */
typedef struct told {
    size_t count, failed, most;
    int64_t order[8];
    double clock, seconds[8];
    unsigned best; /* a bit for each step that had the best time so far */
} told;

static int tell(void *user, const kiln_replay_step *step)
{
    told *t = user;
    CHECK(step->number == t->count + 1 && step->param_count == 1);
    CHECK_TEXT(step->params[0].name, "x");
    if (t->count < KILN__COUNT(t->order)) {
        t->order[t->count] = step->params[0].value.as.i;
        t->seconds[t->count] = step->seconds;
        t->best |= step->best ? 1u << t->count : 0;
    }
    t->failed += step->failure != NULL;
    t->clock = step->clock;
    return ++t->count == t->most;
}

/* Exhaustive search takes the values in their order, so every step is known. */
static void replayed(void)
{
    fixture f;
    kiln_error *error = NULL;
    if (!setup(&f))
        return;
    static const struct {
        size_t most; /* the callback ends the replay after this many steps, or never if it is 0 */
        uint64_t configurations;
        double seconds;
        size_t count;
        unsigned best;
    } rows[] = {
        {0, 0, 0, 5, 0x05},   /* the best times are 3 ms, then 1 ms */
        {2, 0, 0, 2, 0x01},   /* the callback ends the replay */
        {0, 3, 0, 3, 0x05},   /* a limit on the number of configurations */
        {0, 0, 2.5, 3, 0x05}, /* the third configuration begins at 2 s and ends at 3 s */
        {0, 9, 99, 5, 0x05},  /* the limits are not reached */
    };
    for (size_t i = 0; i < KILN__COUNT(rows); i++) {
        told t = {.most = rows[i].most};
        const kiln_replay_options options = {.size = sizeof options,
                                             .strategy = "exhaustive",
                                             .max_configurations = rows[i].configurations,
                                             .max_seconds = rows[i].seconds};
        CHECK_OK(kiln_replay(f.recording, &options, tell, &t, &error), error);
        CHECK(t.count == rows[i].count && t.best == rows[i].best && near(t.clock, (double)rows[i].count));
        CHECK(t.failed == (t.count >= 4));
        for (size_t k = 0; k < t.count && k < 5; k++)
            CHECK(t.order[k] == (int64_t)k + 1 && near(t.seconds[k], (double[]){3e-3, 11e-3, 1e-3, 0, 2e-3}[k]));
    }
    told any = {0}; /* the default strategy tries the same configurations in another order */
    CHECK_OK(kiln_replay(f.recording, NULL, tell, &any, &error), error);
    CHECK(any.count == 5 && any.failed == 1 && near(any.clock, 5));
    teardown(&f);
}

/* Tests a prior: the same space with other times. The prior expects x = 3 to be the slowest. */
static void expected(void)
{
    static const char others[] = "{\"tune_params_keys\": [\"x\"], \"cache\": {"
                                 "\"5\": {\"x\": 5, \"time\": 2}, \"2\": {\"x\": 2, \"time\": 1},"
                                 "\"3\": {\"x\": 3, \"time\": 9}, \"7\": {\"x\": 7, \"time\": 0.1}}}";
    static const char strange[] = "{\"tune_params_keys\": [\"y\"], \"cache\": {\"5\": {\"y\": 5, \"time\": 2}}}";
    static const char disjoint[] = "{\"tune_params_keys\": [\"x\"], \"cache\": {\"9\": {\"x\": 9, \"time\": 2}}}";
    fixture f;
    kiln_error *error = NULL;
    kiln_recording *prior = NULL;
    told t = {.most = 2};
    if (!setup(&f))
        return;
    CHECK_OK(kiln__recording_parse(NULL, "others.json", others, strlen(others), &prior, &error), error);
    CHECK_OK(kiln_recording_set_prior(f.recording, prior, &error), error);
    kiln_recording_free(prior);
    CHECK_OK(kiln_replay(f.recording, NULL, tell, &t, &error), error);
    CHECK(t.count == 2 && t.order[1] == 2); /* the first configuration is a random one */
    CHECK_OK(kiln__recording_parse(NULL, "strange.json", strange, strlen(strange), &prior, &error), error);
    CHECK(kiln_recording_set_prior(f.recording, prior, &error) == KILN_ERROR_ARGUMENT);
    CHECK(strstr(kiln_error_message(error), "strange.json cannot be the prior of") &&
          strstr(kiln_error_message(error), "'x'"));
    kiln_error_free(error);
    error = NULL;
    kiln_recording_free(prior);
    CHECK_OK(kiln__recording_parse(NULL, "disjoint.json", disjoint, strlen(disjoint), &prior, &error), error);
    CHECK(kiln_recording_set_prior(f.recording, prior, &error) == KILN_ERROR_ARGUMENT);
    kiln_error_free(error);
    kiln_recording_free(prior);
    teardown(&f);
}

/* The number 1 and the truth value true are two values of a param, and each has its own prior. If a file has only one
 * of them, this one stands for the other too. */
static void numbers_and_truth_values(void)
{
    static const char both[] = "{\"tune_params_keys\": [\"x\"], \"cache\": {\"a\": {\"x\": 1, \"time\": 2},"
                               "\"b\": {\"x\": true, \"time\": 3}, \"c\": {\"x\": 0, \"time\": 4}}}";
    static const char other[] = "{\"tune_params_keys\": [\"x\"], \"cache\": {\"a\": {\"x\": 1.0, \"time\": 5},"
                                "\"b\": {\"x\": true, \"time\": 6}, \"c\": {\"x\": false, \"time\": 7},"
                                "\"d\": {\"x\": \"1\", \"time\": 8}}}";
    kiln_recording *r = NULL, *prior = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln__recording_parse(NULL, "both.json", both, strlen(both), &r, &error), error);
    CHECK_OK(kiln__recording_parse(NULL, "other.json", other, strlen(other), &prior, &error), error);
    CU_ASSERT_FATAL(r && prior);
    CHECK_OK(kiln_recording_set_prior(r, prior, &error), error);
    CHECK(r->row_count == 3 && near(r->rows[0].prior, 5e-3) && near(r->rows[1].prior, 6e-3) &&
          near(r->rows[2].prior, 7e-3));
    kiln_recording_free(r);
    kiln_recording_free(prior);
}

static void refused(void)
{
    fixture f;
    kiln_error *error = NULL;
    kiln_score score = {.size = sizeof score};
    told t = {0};
    if (!setup(&f))
        return;
    const kiln_replay_options options = {.size = sizeof options, .strategy = "exhaustif"};
    CHECK(kiln_replay(f.recording, &options, tell, &t, &error) == KILN_ERROR_NOT_FOUND && t.count == 0);
    CHECK(strstr(kiln_error_message(error), "did you mean 'exhaustive'?") != NULL);
    kiln_error_free(error);
    error = NULL;
    CHECK(kiln_recording_score(f.recording, "exhaustif", 1, &score, &error) == KILN_ERROR_NOT_FOUND);
    kiln_error_free(error);
    error = NULL;
    CHECK(kiln_recording_score(f.recording, NULL, 0, &score, &error) == KILN_ERROR_ARGUMENT);
    kiln_error_free(error);
    error = NULL;
    CHECK(kiln_recording_convert(f.engine, f.path, "a.json", KILN_FORMAT_CSV, &error) == KILN_ERROR_ARGUMENT);
    CHECK_TEXT(kiln_error_message(error), "a recorded space is written as T4 or as Kernel Tuner's file");
    kiln_error_free(error);
    teardown(&f);
}

/* The best time is 3 ms from 1 s on, and 1 ms from 3 s on. Parts of the budget before 1 s have the worst time. */
static void scored(void)
{
    fixture f;
    kiln_error *error = NULL;
    kiln_score score = {.size = sizeof score}, again = score;
    if (!setup(&f))
        return;
    CHECK_OK(kiln_recording_score(f.recording, "exhaustive", 2, &score, &error), error);
    CHECK(near(score.best[0], 11e-3) && near(score.best[18], 11e-3) && near(score.best[20], 3e-3));
    CHECK(near(score.best[58], 3e-3) && near(score.best[60], 1e-3) && near(score.best[99], 1e-3) &&
          near(score.share, 1));
    double sum = 0;
    for (size_t i = 0; i < KILN_SCORE_STEPS; i++)
        sum += score.curve[i] / KILN_SCORE_STEPS;
    CHECK(near(score.score, sum));
    CHECK_OK(kiln_recording_score(f.recording, NULL, 2, &score, &error), error);
    CHECK_OK(kiln_recording_score(f.recording, NULL, 2, &again, &error), error);
    CHECK(memcmp(&score, &again, sizeof score) == 0);
    teardown(&f);
}

/* The name of the file decides the format, unless the caller requests one. A search finds the same in each format. */
static void converted(void)
{
    fixture f;
    kiln_error *error = NULL;
    if (!setup(&f))
        return;
    static const struct {
        const char *name;
        kiln_format format;
        const char *wanted;
    } rows[] = {{"a.json", KILN_FORMAT_AUTO, "Kernel Tuner"},
                {"a.T4.json.gz", KILN_FORMAT_AUTO, "T4"},
                {"b.json", KILN_FORMAT_T4, "T4"},
                {"b.t4.json", KILN_FORMAT_KERNEL_TUNER, "Kernel Tuner"}};
    for (size_t i = 0; i < KILN__COUNT(rows); i++) {
        char to[96];
        kiln_recording *other = NULL;
        told t = {0};
        snprintf(to, sizeof to, "%s/%s", f.folder, rows[i].name);
        CHECK_OK(kiln_recording_convert(f.engine, f.path, to, rows[i].format, &error), error);
        CHECK_OK(kiln_recording_load(f.engine, to, &other, &error), error);
        const kiln_recording_info *info = kiln_recording_describe(other);
        CHECK_TEXT(info->format, rows[i].wanted);
        CHECK(info->configurations == 5 && info->failed == 1 && near(info->optimum, 1e-3) && near(info->mean_cost, 1));
        CHECK_OK(kiln_replay(other, NULL, tell, &t, &error), error);
        CHECK(t.count == 5);
        kiln_recording_free(other);
    }
    CHECK(kiln_recording_convert(f.engine, f.path, "/nonexistent/a.json", KILN_FORMAT_AUTO, &error) == KILN_ERROR_IO);
    kiln_error_free(error);
    error = NULL;
    CHECK(kiln_recording_convert(f.engine, "/nonexistent/a.json", f.path, KILN_FORMAT_AUTO, &error) ==
          KILN_ERROR_NOT_FOUND);
    kiln_error_free(error);
    teardown(&f);
}

static int ignore(void *user, const kiln_replay_step *step)
{
    (void)user, (void)step;
    return 0;
}

static void memory_runs_out(void)
{
    check_oom oom = {.failed = 1};
    for (long n = 0; oom.failed && n < 5000; n++) {
        oom = (check_oom){.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln_recording *r = NULL;
        kiln_error *error = NULL;
        kiln_score score = {.size = sizeof score};
        kiln_status status = kiln__recording_parse(&mem, "t", five, sizeof five - 1, &r, &error);
        if (status == KILN_OK)
            status = kiln_replay(r, NULL, ignore, NULL, &error);
        if (status == KILN_OK)
            status = kiln_recording_score(r, NULL, 1, &score, &error);
        CHECK(status == (oom.failed ? KILN_ERROR_MEMORY : KILN_OK));
        kiln_error_free(error);
        kiln_recording_free(r);
        CHECK(oom.live == 0);
    }
    CHECK(!oom.failed);
}

static const check_case cases[] = {{"described", described},
                                   {"replayed", replayed},
                                   {"numbers and truth values", numbers_and_truth_values},
                                   {"a prior", expected},
                                   {"refused", refused},
                                   {"scored", scored},
                                   {"converted", converted},
                                   {"memory runs out", memory_runs_out}};
KILN_SUITE("replay", cases)
