/* Tests features, which are numbers that describe an input. They are computed from its exports, and stored with the
 * samples of a sweep. */
#include <math.h>
#include <unistd.h>

#include <kiln_catalogue.h>

#include "check.h"
#include "tuning_internal.h"

typedef struct fixture {
    char folder[64];
    kiln_engine *engine;
    kiln_store *store;
} fixture;

static void setup(fixture *f)
{
    kiln_error *error = NULL;
    char path[96];
    memset(f, 0, sizeof *f);
    strcpy(f->folder, "/tmp/kiln-features-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(f->folder));
    kiln_options options = {
        .size = sizeof options, .device = "sim", .cache_dir = f->folder, .worker = KILN_TEST_WORKER, .jobs = 1};
    CHECK_OK(kiln_engine_open(&options, &f->engine, &error), error);
    CHECK_OK(kiln_catalogue_register(f->engine, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->engine);
    snprintf(path, sizeof path, "%s/samples.db", f->folder);
    CHECK_OK(kiln_store_open(f->engine, path, 0, &f->store, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->store);
}

static void teardown(fixture *f)
{
    char command[128];
    kiln_store_close(f->store);
    kiln_engine_close(f->engine);
    snprintf(command, sizeof command, "rm -rf '%s'", f->folder);
    CU_ASSERT_EQUAL(system(command), 0);
}

static kiln_spec *parse(const fixture *f, const char *text)
{
    kiln_spec *spec = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln_spec_parse(f->engine, text, strlen(text), KILN_TEST_DATA "/features.yaml", &spec, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(spec);
    return spec;
}

/* ---- samples ---- */

#define SPEC(features)                                                                                                 \
    "kiln: 1\n"                                                                                                        \
    "name: features\n"                                                                                                 \
    "source: add.cu\n"                                                                                                 \
    "sizes: {tiny: {MATRIX: band, ROWS: 50, DEGREE: 3}}\n"                                                             \
    "inputs: {A: {host: sparse_matrix, matrix: MATRIX, rows: ROWS, degree: DEGREE}}\n" features "buffers:\n"           \
    "  x: {from: A.csr.values}\n"                                                                                      \
    "  y: {type: f32, shape: [A.nonzeros], fill: 2}\n"                                                                 \
    "  z: {type: f32, shape: [A.nonzeros], out: true}\n"                                                               \
    "params: {BLOCK: [32, 64], ITEMS: [1], FAR: [near]}\n"                                                             \
    "launch: {kernel: add, grid: [\"ceil_div(A.nonzeros, BLOCK)\"], block: [BLOCK], args: [x, y, z, A.nonzeros]}\n"

static int show(void *user, const kiln_record *record)
{
    kiln__text *out = user;
    kiln__settings_print(out, (kiln__settings){record->feature_count, record->features});
    kiln__text_printf(out, ";%s", record->status == KILN_OK ? "" : record->message);
    return 0;
}

/* Runs a sweep. Collects the features of all samples, and the messages of those that failed. */
static void sweep(const fixture *f, const char *text, kiln_isolation isolation, const kiln_run_options *run,
                  kiln__text *out)
{
    kiln_spec *spec = parse(f, text);
    kiln_tuning *tuning = NULL;
    kiln_error *error = NULL;
    kiln_tune_options options = {.size = sizeof options, .store = f->store, .isolation = isolation, .run = run};
    CHECK_OK(kiln_store_prune(f->store, NULL, NULL, &error), error);
    kiln_status status = kiln_tune(f->engine, spec, &options, &tuning, &error);
    /* KILN_ERROR_SPEC if all samples failed with it */
    CHECK(tuning != NULL && (status == KILN_OK || status == KILN_ERROR_SPEC));
    kiln_error_free(error);
    error = NULL;
    CHECK_OK(kiln_store_list(f->store, NULL, show, out, &error), error);
    kiln_tuning_free(tuning);
    kiln_spec_free(spec);
}

static void check_sweep(const fixture *f, const char *text, kiln_isolation isolation, const kiln_run_options *run,
                        const char *want)
{
    kiln__text out = {0};
    sweep(f, text, isolation, run, &out);
    CHECK_TEXT(kiln__text_get(&out), want);
    kiln__text_free(&out);
}

#define FEATURES "features: {rows: A.rows, nonzeros: A.nonzeros, mean: A.mean, wide: A.largest > 3}\n"
#define VALUES "rows=50 nonzeros=148 mean=2.96 wide=false;"

static void samples_keep_them(void)
{
    fixture f;
    setup(&f);
    check_sweep(&f, SPEC(FEATURES), KILN_ISOLATE_NEVER, NULL, VALUES VALUES);
    check_sweep(&f, SPEC(""), KILN_ISOLATE_NEVER, NULL, ";;");
    check_sweep(&f, SPEC(FEATURES), KILN_ISOLATE_ALWAYS, NULL, VALUES VALUES);
    teardown(&f);
}

/* If a file replaces the content of a buffer, the content may differ from the input's export. The samples then have
 * no features. */
static void a_file_in_place_of_an_input(void)
{
    fixture f;
    setup(&f);
    char path[96];
    float values[148] = {0};
    kiln_error *error = NULL;
    kiln_array array = {.type = KILN_f32, .dims = 1, .data = values};
    array.shape[0] = KILN__COUNT(values);
    snprintf(path, sizeof path, "%s/x.npy", f.folder);
    CHECK_OK(kiln__npy_write(NULL, path, &array, &error), error);
    kiln_file_binding file = {"x", path};
    kiln_run_options run = {.size = sizeof run, .inputs = &file, .input_count = 1};
    check_sweep(&f, SPEC(FEATURES), KILN_ISOLATE_NEVER, &run, ";;");
    teardown(&f);
}

/* A missing export is found when the input is made: the sample fails with the place in the spec. */
static void what_is_not_exported(void)
{
    fixture f;
    kiln__text out = {0};
    setup(&f);
    sweep(&f, SPEC("features: {rows: A.rowz}\n"), KILN_ISOLATE_NEVER, NULL, &out);
    CHECK(strstr(kiln__text_get(&out), "features.yaml:6:18: unknown name 'A.rowz'") != NULL);
    kiln__text_free(&out);
    sweep(&f, SPEC("features: {kind: MATRIX}\n"), KILN_ISOLATE_NEVER, NULL, &out);
    CHECK(strstr(kiln__text_get(&out), "the feature 'kind' is a text, not a number") != NULL);
    kiln__text_free(&out);
    teardown(&f);
}

/* ---- what the host functions of the catalogue export ---- */

/* Compares the features with a text. The sizes are also given as a text. */
static void check_features(const fixture *f, const kiln_spec *spec, const char *sizes, const char *want)
{
    kiln__arena arena = {0};
    kiln__settings given, features;
    kiln__text out = {0};
    kiln_error *error = NULL;
    CU_ASSERT_TRUE_FATAL(kiln__settings_read(&arena, sizes, &given));
    kiln_choice choice = {.sizes = given.items, .size_count = given.count};
    CHECK_OK(kiln__features_of(f->engine, spec, &choice, &arena, &features, &error), error);
    kiln__settings_print(&out, features);
    CHECK_TEXT(kiln__text_get(&out), want);
    kiln__text_free(&out);
    kiln__arena_free(&arena);
}

#define MADE(name, sizes, input, features)                                                                             \
    "kiln: 1\nname: " name "\nsource: add.cu\nsizes: {tiny: " sizes "}\ninputs: {I: " input "}\nfeatures: " features   \
    "\nbuffers: {z: {type: f32, shape: [1], out: true}}\n"                                                             \
    "launch: {kernel: add, grid: [1], block: [32], args: [z, z, z, 1]}\n"

static void of_matrices(void)
{
    fixture f;
    setup(&f);
    kiln_spec *spec = parse(&f, MADE("matrices", "{M: band, N: 10, D: 3}",
                                     "{host: sparse_matrix, matrix: M, rows: N, degree: D}",
                                     "{diagonals: I.diagonals, adjacent: I.adjacent, largest: I.largest}"));
    check_features(&f, spec, "", "diagonals=3 adjacent=0.6428571428571429 largest=3"); /* 18 / 28 */
    check_features(&f, spec, "M=\"arrow\"", "diagonals=19 adjacent=0.35714285714285715 largest=10");
    check_features(&f, spec, "M=\"none\"", "diagonals=0 adjacent=0.0 largest=0");
    check_features(&f, spec, "N=0", "diagonals=0 adjacent=0.0 largest=0");
    kiln_spec_free(spec);
    teardown(&f);
}

static void of_graphs(void)
{
    fixture f;
    setup(&f);
    kiln_spec *spec = parse(&f, MADE("graphs", "{M: path, N: 20, S: -1}",
                                     "{host: sparse_graph, matrix: M, rows: N, degree: 3, source: S}",
                                     "{levels: I.levels, diameter: I.diameter, reached: I.reached}"));
    /* The graph is a path of 20 vertices. The search begins at the second vertex. The diameter is the distance between
     * the two ends. */
    check_features(&f, spec, "", "levels=19 diameter=19 reached=20");
    check_features(&f, spec, "S=10", "levels=11 diameter=19 reached=20");
    /* the search begins in the middle */
    check_features(&f, spec, "M=\"grid2d\" N=49 S=24", "levels=7 diameter=12 reached=49");
    check_features(&f, spec, "M=\"star\"", "levels=2 diameter=2 reached=20");
    check_features(&f, spec, "M=\"none\"", "levels=1 diameter=0 reached=1");
    check_features(&f, spec, "M=\"none\" N=0", "levels=0 diameter=0 reached=0");
    kiln_spec_free(spec);
    teardown(&f);
}

static void of_keys(void)
{
    fixture f;
    setup(&f);
    kiln_spec *spec = parse(&f,
                            MADE("keys", "{K: sorted, T: u32, N: 1000}", "{host: sort_keys, keys: K, type: T, n: N}",
                                 "{ascents: I.ascents, different: I.different, commonest: I.commonest}"));
    check_features(&f, spec, "", "ascents=1.0 different=1.0 commonest=0.001");
    check_features(&f, spec, "K=\"reversed\" T=\"i32\"", "ascents=0.0 different=1.0 commonest=0.001");
    check_features(&f, spec, "K=\"equal\" T=\"f32\"", "ascents=1.0 different=0.001 commonest=1.0");
    check_features(&f, spec, "K=\"few\" N=200000",
                   "ascents=0.5320576602883015 different=0.000244140625 commonest=0.0638580322265625");
    check_features(&f, spec, "N=0", "ascents=1.0 different=1.0 commonest=1.0");
    check_features(&f, spec, "N=1", "ascents=1.0 different=1.0 commonest=1.0");
    kiln_spec_free(spec);
    teardown(&f);
}

static void of_curves(void)
{
    fixture f;
    setup(&f);
    kiln_spec *spec = parse(&f, MADE("curves", "{C: straight, N: 100}",
                                     "{host: bezier_curves, count: N, control: C, scale: 64, seed: 1}",
                                     "{mean: I.mean, deviation: I.deviation, largest: I.largest}"));
    check_features(&f, spec, "", "mean=1.0 deviation=0.0 largest=1");
    check_features(&f, spec, "C=\"bent\"", "mean=1000.0 deviation=0.0 largest=1000");
    check_features(&f, spec, "N=0", "mean=0.0 deviation=0.0 largest=0");
    kiln_spec_free(spec);
    teardown(&f);
}

static const check_case cases[] = {
    {"samples keep them", samples_keep_them},
    {"a file in place of an input", a_file_in_place_of_an_input},
    {"what is not exported", what_is_not_exported},
    {"of matrices", of_matrices},
    {"of graphs", of_graphs},
    {"of keys", of_keys},
    {"of curves", of_curves},
};
KILN_SUITE("tune.features", cases)
