/* Tests sweeps whose store fails during the sweep, because another process holds it, or because it cannot be written
 * any more. The sweep goes on, and its last message says whether the samples were stored. */
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "store_internal.h"
#include "tuning_internal.h"

typedef struct fixture {
    char folder[64], path[96];
    kiln_engine *engine;
    kiln_spec *spec;
    kiln_store *store;
    sqlite3 *other;    /* the connection that holds the store */
    bool shuts, holds; /* the action after the first sample: make the store unwritable, or hold it */
    unsigned lost, beside, waited, not_kept, not_read, not_written;
} fixture;

static void listen(void *user, kiln_log_level level, const char *message)
{
    fixture *f = user;
    (void)level;
    f->beside += strstr(message, "samples are kept in") != NULL;
    f->waited += strstr(message, "waiting up to") != NULL;
    f->not_kept += strstr(message, "samples are not stored: the store") && strstr(message, "is read-only");
    f->not_read += strstr(message, "stored samples are not used: ") != NULL;
    f->not_written += strstr(message, "samples are not stored: ") != NULL;
    const char *at = strstr(message, " samples of this sweep were not written");
    f->lost += at ? (unsigned)strtoul(message, NULL, 10) : 0;
}

static void setup(fixture *f)
{
    memset(f, 0, sizeof *f);
    strcpy(f->folder, "/tmp/kiln-kept-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(f->folder));
    snprintf(f->path, sizeof f->path, "%s/samples.db", f->folder);
    kiln_error *error = NULL;
    kiln_options options = {.size = sizeof options,
                            .device = "sim",
                            .cache_dir = f->folder,
                            .flags = KILN_NO_WORKERS,
                            .log = listen,
                            .log_user = f};
    CHECK_OK(kiln_engine_open(&options, &f->engine, &error), error);
    CHECK_OK(kiln_spec_load(f->engine, KILN_TEST_DATA "/add.yaml", &f->spec, &error), error);
    CHECK_OK(kiln_store_open(f->engine, f->path, 0, &f->store, &error), error);
    CU_ASSERT_TRUE_FATAL(f->spec && f->store);
    f->store->patience = 40; /* milliseconds */
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

/* The callback gets the first sample after the sample was written. */
static int make_trouble(void *user, const kiln_progress *progress, const kiln_sample *sample)
{
    fixture *f = user;
    if (!sample || progress->done != 1)
        return 0;
    if (f->shuts)
        CU_ASSERT_EQUAL(kiln__store_run(f->store, "PRAGMA query_only=ON"), SQLITE_OK);
    if (f->holds) {
        CU_ASSERT_EQUAL_FATAL(sqlite3_open(f->path, &f->other), SQLITE_OK);
        CU_ASSERT_EQUAL(sqlite3_exec(f->other, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
    }
    return 0;
}

static uint64_t sweep(fixture *f, uint64_t *reused)
{
    static const char *const names[] = {"wide", "plain"};
    kiln_error *error = NULL;
    kiln_tuning *tuning = NULL;
    kiln_tuning_totals totals = {0};
    kiln_tune_options options = {.size = sizeof options,
                                 .variants = names,
                                 .variant_count = 2,
                                 .store = f->store,
                                 .callback = make_trouble,
                                 .user = f};
    CHECK_OK(kiln_tune(f->engine, f->spec, &options, &tuning, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tuning);
    totals = *kiln_tuning_sum(tuning);
    CHECK(totals.failed == 0);
    *reused = totals.reused;
    kiln_tuning_free(tuning);
    return totals.configurations;
}

static void a_held_store(void)
{
    fixture f;
    uint64_t reused = 1;
    setup(&f);
    f.holds = true;
    uint64_t count = sweep(&f, &reused);
    CHECK(count > 3 && reused == 0);
    CHECK(f.beside == 1 && f.waited == 1 && f.lost == 0);
    CHECK(f.store->vain == 2); /* two failures: the first sample, and the end */
    CHECK(kiln__pending_count(f.store) == count - 1);
    CU_ASSERT_EQUAL(sqlite3_exec(f.other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(f.other);
    kiln_store_close(f.store);
    f.holds = false;
    CU_ASSERT_EQUAL_FATAL(kiln_store_open(f.engine, f.path, 0, &f.store, NULL), KILN_OK);
    CHECK(sweep(&f, &reused) == count && reused == count); /* no sample was lost */
    teardown(&f);
}

static void a_store_that_cannot_be_written(void)
{
    fixture f;
    uint64_t reused = 1;
    setup(&f);
    f.shuts = true;
    uint64_t count = sweep(&f, &reused);
    CHECK(count > 3 && f.not_kept == 1 && f.lost == count - 1);
    f.shuts = false;
    CU_ASSERT_EQUAL(kiln__store_run(f.store, "PRAGMA query_only=OFF"), SQLITE_OK);
    CHECK(sweep(&f, &reused) == count && reused == 1); /* samples that were not stored are made again */
    teardown(&f);
}

/* The store can neither be read nor written. The log has each of the two messages once. */
static void a_store_that_cannot_be_read(void)
{
    fixture f;
    uint64_t reused = 1;
    setup(&f);
    CU_ASSERT_EQUAL(kiln__store_run(f.store, "ALTER TABLE sample RENAME TO moved"), SQLITE_OK);
    uint64_t count = sweep(&f, &reused);
    CHECK(count > 3 && reused == 0 && f.not_read == 1 && f.not_written == 1 && f.lost == count);
    teardown(&f);
}

/* Tests a sample of an earlier build, which took the death of a compile worker for a result. */
static void an_earlier_death(void)
{
    fixture f;
    uint64_t reused = 1;
    setup(&f);
    uint64_t count = sweep(&f, &reused);
    CU_ASSERT_EQUAL(
        kiln__store_run(f.store, "UPDATE sample SET status=9, message='add.cu does not compile: add.cu: the compiler "
                                 "crashed: it was ended by signal 9, Killed' WHERE id=1"),
        SQLITE_OK);
    CHECK(sweep(&f, &reused) == count && reused == count - 1);
    CHECK(sweep(&f, &reused) == count && reused == count);
    teardown(&f);
}

/* Each search with a limit begins with the results of the searches before it, with any seed. It ignores results with
 * other values. */
static void a_search_goes_on(void)
{
    static const char *const names[] = {"wide", "plain"};
    static const struct {
        uint64_t most, configurations, reused; /* of 7 */
        unsigned flags, fixed;
        int block;
    } rounds[] = {{2, 2, 0, 0, 0, 0},
                  {2, 4, 2, 0, 0, 0},
                  {2, 6, 4, 0, 0, 0},
                  {9, 7, 6, 0, 0, 0},
                  {1, 4, 4, 0, 1, 64},
                  {1, 1, 1, 0, 1, 128},
                  {2, 2, 0, KILN_TUNE_FRESH, 0, 0}};
    fixture f;
    setup(&f);
    for (size_t i = 0; i < KILN__COUNT(rounds); i++) {
        kiln_error *error = NULL;
        kiln_tuning *tuning = NULL;
        const kiln_setting block = {"BLOCK", {KILN_INT, {rounds[i].block}}};
        const kiln_tune_options options = {.size = sizeof options,
                                           .variants = names,
                                           .variant_count = 2,
                                           .params = &block,
                                           .param_count = rounds[i].fixed,
                                           .max_configurations = rounds[i].most,
                                           .stagnation = 3, /* samples from the store do not count */
                                           .seed = i,
                                           .flags = rounds[i].flags |
                                                    /* samples that were stopped early are made again */
                                                    KILN_TUNE_NO_STOP_EARLY,
                                           .store = f.store};
        CHECK_OK(kiln_tune(f.engine, f.spec, &options, &tuning, &error), error);
        const kiln_tuning_totals *totals = kiln_tuning_sum(tuning);
        if (!totals || totals->configurations != rounds[i].configurations || totals->reused != rounds[i].reused)
            fprintf(stderr, "round %zu: %llu configurations, %llu reused\n", i,
                    totals ? (unsigned long long)totals->configurations : 0,
                    totals ? (unsigned long long)totals->reused : 0);
        CHECK(totals && totals->configurations == rounds[i].configurations && totals->reused == rounds[i].reused);
        kiln_tuning_free(tuning);
    }
    teardown(&f);
}

/* A search at other sizes begins with the best configuration of the first sizes, if it may use these samples. */
static void a_search_elsewhere(void)
{
    /* without this list the default of the first variant is tried first */
    static const char *const names[] = {"plain", "wide"};
    fixture f;
    setup(&f);
    kiln_engine *engine = NULL;
    kiln_error *error = NULL;
    const kiln_options device = {
        .size = sizeof device, .device = "sim:h200", .cache_dir = f.folder, .flags = KILN_NO_WORKERS};
    CHECK_OK(kiln_engine_open(&device, &engine, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(engine);
    const kiln_run_options run = {.size = sizeof run, .flags = KILN_RUN_NO_VERIFY};
    char best[256] = "";
    unsigned hits = 0, blind = 0;
    enum { SEEDS = 6 };
    for (uint64_t round = 0; round <= 2 * SEEDS; round++) {
        /* the first round searches all, and each later round tries one configuration of another size */
        const kiln_setting size = {"N", {KILN_INT, {round == 0 ? 20000 : 20000 + 64 * (int64_t)round}}};
        kiln_tuning *tuning = NULL;
        const kiln_tune_options options = {.size = sizeof options,
                                           .variants = names,
                                           .variant_count = 2,
                                           .sizes = &size,
                                           .size_count = 1,
                                           .max_configurations = round > 0,
                                           .seed = round,
                                           .run = &run,
                                           .flags = round > SEEDS ? KILN_TUNE_FRESH : 0,
                                           .store = f.store};
        CHECK_OK(kiln_tune(engine, f.spec, &options, &tuning, &error), error);
        const kiln_sample *sample = kiln_tuning_sample(tuning, 0);
        CU_ASSERT_PTR_NOT_NULL_FATAL(sample);
        kiln__text text = {0};
        kiln__text_printf(&text, "%s ", sample->variant);
        kiln__settings_print(&text, (kiln__settings){sample->param_count, sample->params});
        if (round == 0)
            snprintf(best, sizeof best, "%s", kiln__text_get(&text));
        else if (round <= SEEDS)
            hits += strcmp(best, kiln__text_get(&text)) == 0;
        else
            blind += strcmp(best, kiln__text_get(&text)) == 0;
        kiln__text_free(&text);
        kiln_tuning_free(tuning);
    }
    CHECK(hits == SEEDS && blind < SEEDS);
    kiln_engine_close(engine);
    teardown(&f);
}

typedef struct path { /* the path of a search */
    char variants[7][8];
    int64_t params[7][3];
    size_t count;
} path;

static int follow(void *user, const kiln_progress *progress, const kiln_sample *sample)
{
    path *p = user;
    (void)progress;
    if (!sample || p->count == KILN__COUNT(p->variants))
        return 0;
    snprintf(p->variants[p->count], sizeof *p->variants, "%s", sample->variant);
    for (size_t i = 0; i < sample->param_count && i < KILN__COUNT(*p->params); i++)
        p->params[p->count][i] = sample->params[i].value.kind == KILN_INT ? sample->params[i].value.as.i : 0;
    p->count++;
    return 0;
}

/* With the same seed and code from the cache, a search takes the same path, whatever device measures and however long
 * it takes. */
static void a_path(void)
{
    static const char *const names[] = {"wide", "plain"};
    fixture f;
    setup(&f);
    kiln_engine *engine = NULL;
    kiln_error *error = NULL;
    const kiln_options device = {.size = sizeof device, .device = "sim:h200", .cache_dir = f.folder, .jobs = 1};
    CHECK_OK(kiln_engine_open(&device, &engine, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(engine);
    const kiln_run_options run = {.size = sizeof run, .flags = KILN_RUN_NO_VERIFY};
    path paths[4] = {0};
    for (size_t round = 0; round < 5; round++) { /* the first round fills the cache */
        kiln_tuning *tuning = NULL;
        const kiln_tune_options options = {.size = sizeof options,
                                           .variants = names,
                                           .variant_count = 2,
                                           .run = &run,
                                           .max_configurations = 7,
                                           .seed = 5,
                                           .strategy = round ? "surrogate" : "exhaustive",
                                           .isolation = KILN_ISOLATE_ALWAYS,
                                           .callback = round ? follow : NULL,
                                           .user = round ? &paths[round - 1] : NULL};
        CHECK_OK(kiln_tune(engine, f.spec, &options, &tuning, &error), error);
        CHECK(round == 0 || paths[round - 1].count == 7);
        CHECK(round < 2 || memcmp(&paths[round - 1], &paths[0], sizeof *paths) == 0);
        kiln_tuning_free(tuning);
    }
    kiln_engine_close(engine);
    teardown(&f);
}

static const check_case cases[] = {
    {"the same path", a_path},
    {"a search elsewhere", a_search_elsewhere},
    {"a search goes on", a_search_goes_on},
    {"a held store", a_held_store},
    {"an earlier death", an_earlier_death},
    {"a store that cannot be written", a_store_that_cannot_be_written},
    {"a store that cannot be read", a_store_that_cannot_be_read},
};
KILN_SUITE("tune.kept", cases)
