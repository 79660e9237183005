#include <math.h>

#include "base.h"
#include "check.h"
#include "document.h"
#include "score.h"

#define CORPUS KILN_SOURCE_DIR "/tests/fuzz/corpus/fuzz_recording/"
#define SHARED KILN_SOURCE_DIR "/../shared/data/"

static struct kiln_recording *load(const char *path)
{
    char *data = NULL;
    size_t length = 0;
    struct kiln_recording *r = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln__file_read(NULL, path, 0, &data, &length, &error), error);
    if (data)
        CHECK_OK(kiln__recording_parse(NULL, path, data, length, &r, &error), error);
    kiln__free(NULL, data);
    return r;
}

static bool near(double got, double want) { return fabs(got - want) <= 1e-12 * fabs(want); }

static void check_cache(const struct kiln_recording *r, size_t rows)
{
    CHECK_TEXT(r->format, "Kernel Tuner");
    CHECK_TEXT(r->device, "A");
    CHECK_TEXT(r->kernel, "k");
    CHECK(r->param_count == 3 && r->row_count == rows && r->failed == 1);
    CHECK_TEXT(r->params[2].name, "how");
    CHECK(r->params[0].count == 3 && r->params[0].values[2].as.i == 4);
    CHECK(near(r->rows[0].seconds, 4e-3) && near(r->rows[0].compile, 10e-3) && near(r->rows[0].verify, 1e-3));
    CHECK(near(kiln__recording_row_cost(&r->rows[0]), 20.5e-3));
    CHECK_TEXT(r->rows[2].failure, "CompilationFailedConfig");
    CHECK(r->rows[2].seconds == HUGE_VAL && near(kiln__recording_row_cost(&r->rows[2]), 20e-3));
    if (rows < 4)
        return;
    CHECK(r->params[1].count == 2 && r->params[1].values[0].kind == KILN_FLOAT);
    CHECK(r->params[1].values[1].kind == KILN_BOOL);
    const uint32_t last[] = {0, 2, 1, 1}, absent[] = {0, 0, 1, 1};
    bool holds;
    CHECK(kiln__recording_find_row(r, last) == &r->rows[3]);
    CHECK(r->points.holds(r->points.user, last, &holds, NULL) == KILN_OK && holds);
    CHECK(r->points.holds(r->points.user, absent, &holds, NULL) == KILN_OK && !holds);
    CHECK(r->points.parts[0].axes[0].ordered && !r->points.parts[0].axes[2].ordered);
}

static void test_cache(void)
{
    static const char *const whole[] = {CORPUS "cache.json", CORPUS "cache.json.gz"};
    for (size_t i = 0; i < 2; i++) {
        struct kiln_recording *r = load(whole[i]);
        CHECK(r && !r->cut_off);
        if (r)
            check_cache(r, 4);
        kiln_recording_free(r);
    }
    struct kiln_recording *r = load(CORPUS "cut.json");
    CHECK(r && r->cut_off);
    if (r)
        check_cache(r, 3);
    kiln_recording_free(r);
}

/* Tests files that end at any place, plain or gzipped. The result must be the beginning of the whole recording, or an
 * error with a reason. */
static void test_cut(void)
{
    static const char *const files[] = {CORPUS "cache.json", CORPUS "cache.json.gz", CORPUS "t4.json"};
    for (size_t f = 0; f < 3; f++) {
        char *data = NULL;
        size_t length = 0, most = 0;
        kiln_error *error = NULL;
        CHECK_OK(kiln__file_read(NULL, files[f], 0, &data, &length, &error), error);
        for (size_t n = 0; n < length; n++) {
            struct kiln_recording *r = NULL;
            if (kiln__recording_parse(NULL, "cut", data, n, &r, &error) == KILN_OK) {
                CHECK(r->row_count >= most && r->row_count <= 4);
                most = r->row_count;
                kiln_recording_free(r);
            } else {
                CHECK(most == 0 && *kiln_error_message(error));
                kiln_error_free(error);
                error = NULL;
            }
        }
        CHECK(most >= 3 - (f == 2)); /* two of the four rows of the T4 file are equal */
        kiln__free(NULL, data);
    }
}

/* Tests T4 files whose metadata follow the results. Several places are tried as the end of the file. Without the unit
 * the times would be read as milliseconds. */
static void test_cut_metadata(void)
{
#define ROWS                                                                                                               \
    "{\"results\": [{\"configuration\": {\"x\": 1}, \"invalidity\": \"correct\", \"measurements\": [{\"name\": \"time\", " \
    "\"value\": 2}], \"objectives\": [\"time\"]}"
    static const struct {
        const char *text;
        bool read;
    } files[] = {{ROWS ", {\"con", false},
                 {ROWS "], \"metadata\": {\"timeunit\": \"micro", false},
                 {ROWS "], \"metadata\": {\"a\": {\"b\": 1}, \"timeunit\": \"micro", false},
                 {ROWS "], \"metadata\": {\"timeunit\": \"microseconds\", \"a\": {\"b\": 1}, \"c\": ", true}};
#undef ROWS
    for (size_t i = 0; i < KILN__COUNT(files); i++) {
        struct kiln_recording *r = NULL;
        kiln_error *error = NULL;
        const kiln_status status = kiln__recording_parse(NULL, "cut", files[i].text, strlen(files[i].text), &r, &error);
        if (!files[i].read) {
            CHECK(status == KILN_ERROR_SPEC);
            CHECK_TEXT(
                kiln_error_message(error),
                "cut: the end of the file is missing, and the file has no unit of time (metadata.timeunit) before it");
        } else {
            CHECK_OK(status, error);
            CHECK(r && r->cut_off && r->row_count == 1 && near(r->rows[0].seconds, 2e-6));
        }
        kiln_error_free(files[i].read ? NULL : error);
        kiln_recording_free(r);
    }
}

static void test_t4(void)
{
    struct kiln_recording *r = load(CORPUS "t4.json");
    if (!r)
        return;
    CHECK_TEXT(r->format, "T4");
    CHECK(r->row_count == 3 && r->failed == 1 && r->param_count == 2);
    CHECK(near(r->rows[0].seconds, 3.5e-6) && near(r->rows[0].compile, 1e-3) && near(r->rows[0].benchmark, 7e-6));
    CHECK_TEXT(r->rows[1].failure, "CompilationFailedConfig");
    CHECK(near(r->rows[1].compile, 2e-3));
    CHECK(near(r->rows[2].seconds, 1e-6)); /* this measurement states its own unit */
    kiln_recording_free(r);
}

static void test_errors(void)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "t: line 1, column 0: not JSON: '[' or '{' expected near end of file"},
        {"{}", "t: neither a recorded space of Kernel Tuner ('cache') nor T4 results ('results')"},
        {"{\"cache\": {}, \"tune_params_keys\": [\"x\"]}", "t: no configurations"},
        {"{\"cache\": {\"1\": {}}, \"tune_params_keys\": []}", "t: no params"},
        {"{\"cache\": {\"1\": {}}, \"tune_params_keys\": [1]}", "t: tune_params_keys: not a list of names"},
        {"{\"cache\": {\"1\": {}}, \"tune_params_keys\": [\"x\"]}", "t: configuration 1 has no 'x'"},
        {"{\"cache\": {\"1\": {\"x\": []}}, \"tune_params_keys\": [\"x\"]}",
         "t: configuration 1: 'x' is neither a number nor a text"},
        {"{\"cache\": {\"1\": {\"x\": 1, \"time\": 0}}, \"tune_params_keys\": [\"x\"]}",
         "t: configuration 1: its time is not a positive number"},
        {"{\"results\": [{\"configuration\": {\"x\": 1}}], \"metadata\": {\"timeunit\": \"weeks\"}}",
         "t: metadata: 'weeks' is not a unit of time"},
        {"\x1f\x8b\x08 nothing of the kind", "t: the gzip data is damaged"},
    };
    for (size_t i = 0; i < KILN__COUNT(cases); i++) {
        struct kiln_recording *r = NULL;
        kiln_error *error = NULL;
        CHECK(kiln__recording_parse(NULL, "t", cases[i].text, strlen(cases[i].text), &r, &error) == KILN_ERROR_SPEC);
        CHECK_TEXT(kiln_error_message(error), cases[i].says);
        kiln_error_free(error);
    }
}

static void test_memory(void)
{
    static const char *const files[] = {CORPUS "cache.json.gz", CORPUS "t4.json"};
    for (size_t f = 0; f < 2; f++) {
        char *data = NULL;
        size_t length = 0;
        CHECK(kiln__file_read(NULL, files[f], 0, &data, &length, NULL) == KILN_OK);
        check_oom oom = {.failed = 1};
        for (long n = 0; oom.failed && n < 1000; n++) {
            oom = (check_oom){.countdown = n};
            kiln_allocator mem = {check_oom_resize, &oom};
            struct kiln_recording *r = NULL;
            kiln_error *error = NULL;
            kiln_status status = kiln__recording_parse(&mem, "t", data, length, &r, &error);
            CHECK(status == (oom.failed ? KILN_ERROR_MEMORY : KILN_OK));
            kiln_recording_free(r);
            kiln_error_free(error);
            CHECK(oom.live == 0);
        }
        CHECK(!oom.failed);
        kiln__free(NULL, data);
    }
}

/* ---- the score, against values computed by hand ---- */

/* Four configurations of x at 1, 2, 3 and 11 ms that cost 1 s each. */
static const char four[] = "{\"tune_params_keys\": [\"x\"], \"cache\": {"
                           "\"1\": {\"x\": 1, \"time\": 3, \"compile_time\": 1000},"
                           "\"2\": {\"x\": 2, \"time\": 11, \"compile_time\": 1000},"
                           "\"3\": {\"x\": 3, \"time\": 1, \"compile_time\": 1000},"
                           "\"4\": {\"x\": 4, \"time\": 2, \"compile_time\": 1000}}}";

static struct kiln_recording *parse(const char *text)
{
    struct kiln_recording *r = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln__recording_parse(NULL, "t", text, strlen(text), &r, &error), error);
    return r;
}

static void test_baseline(void)
{
    struct kiln_recording *r = parse(four);
    if (!r)
        return;
    const kiln__baseline *b = &r->baseline;
    CHECK(near(b->optimum, 1e-3) && near(b->median, 2.5e-3) && near(b->worst, 11e-3) && near(b->mean_cost, 1));
    /* two draws out of four: 3 of 6 pairs have the best time 1, 2 pairs have 2, and 1 pair has 3; three draws: 3 of 4
     * have 1, and 1 has 2 */
    static const double want[] = {11e-3, 17e-3 / 4, (3 * 1 + 2 * 2 + 3) * 1e-3 / 6, (3 * 1 + 2) * 1e-3 / 4, 1e-3, 1e-3};
    for (size_t n = 0; n < 6; n++)
        CHECK(near(kiln__baseline_best(b, n), want[n]));
    /* only all four draws together reach 1 + 0.05 x 1.5 = 1.075 ms */
    CHECK(b->draws == 4 && near(b->budget, 4));
    kiln_recording_free(r);
}

/* Tried in order, the best so far is 3, 3, 1, 1 ms after 1, 2, 3, 4 s. Random search expects 4.25, 1.667, 1.25, 1 ms. The
 * score is the mean over a hundred times:
 *   before 1 s      neither search has a result; both count as the worst, which scores 0
 *   up to 1.99 s    (4.25 - 3) / 3.25
 *   up to 2.99 s    (1.667 - 3) / 0.667 = -2
 *   up to 3.99 s    1
 *   at 4 s          random search is at the optimum, which scores 0 */
static void test_score(void)
{
    struct kiln_recording *r = parse(four);
    kiln_score score;
    kiln_error *error = NULL;
    if (!r)
        return;
    CHECK_OK(kiln__score(r, kiln__strategy_find("exhaustive"), 1, 3, &score, &error), error);
    CHECK(near(score.score, (24 * 0.0 + 25 * (1.25 / 3.25) + 25 * -2.0 + 25 * 1.0) / 100));
    CHECK(near(score.best[0], 11e-3) && near(score.best[24], 3e-3) && near(score.best[99], 1e-3));
    CHECK(near(score.share, 1));
    kiln_recording_free(r);

    r = parse("{\"tune_params_keys\": [\"x\"], \"cache\": {\"1\": {\"x\": 1, \"time\": \"RuntimeFailedConfig\"}}}");
    CHECK(r && kiln__score(r, kiln__strategy_find(NULL), 1, 1, &score, &error) == KILN_ERROR_ARGUMENT);
    CHECK_TEXT(kiln_error_message(error), "t: strategies cannot be compared: all configurations failed");
    kiln_error_free(error);
    kiln_recording_free(r);
}

/* ---- the recorded spaces of the collection ---- */

static void test_collection(void)
{
    static const struct {
        const char *file;
        size_t rows, failed;
        double optimum, median;
    } want[] = {
        {SHARED "gemm.RTX_2080_Ti.json.gz", 17956, 0, 11.482779e-3, 28.598548e-3},
        {SHARED "pnpoly.RTX_3090.json.gz", 4092, 318, 8.714240169525146e-3, 13.5350191116333e-3},
        {SHARED "convolution_milo.A4000.json.gz", 4362, 161, 1.021171996369958e-3, 3.3050439953804016e-3},
        {SHARED "convolution_milo.MI250X.T4.json.gz", 4362, 0, 0.6587962452322245e-3, 19.84419161081314e-3},
    };
    double sum = 0;
    size_t read = 0;
    for (size_t i = 0; i < KILN__COUNT(want); i++) {
        if (!kiln__file_exists(want[i].file)) {
            printf("SKIP data: there is no %s\n", want[i].file);
            continue;
        }
        struct kiln_recording *r = load(want[i].file);
        kiln_score score = {0};
        kiln_error *error = NULL;
        CHECK(r && r->row_count == want[i].rows && r->failed == want[i].failed && !r->cut_off);
        CHECK(r && fabs(r->baseline.optimum / want[i].optimum - 1) < 1e-9);
        CHECK(r && fabs(r->baseline.median / want[i].median - 1) < 1e-9);
        if (r)
            CHECK_OK(kiln__score(r, kiln__strategy_find(NULL), 1, 2, &score, &error), error);
        CHECK(score.score > 0);
        sum += score.score;
        read++;
        kiln_recording_free(r);
    }
    if (read == KILN__COUNT(want))
        CHECK(sum / (double)read > 0.5); /* over 100 seeds: README.md */
}

/* Reads a generated file. The size of its text, of the objects of jansson, and of the tables of rows and params has a
 * limit, which is tested before memory is allocated. */
static kiln_status read_made(const kiln__text *text, bool packed, kiln_error **error)
{
    struct kiln_recording *r = NULL;
    kiln__text out = {0};
    if (packed)
        CHECK(kiln__gzip(NULL, text->data, text->length, &out, error) == KILN_OK);
    const kiln__text *data = packed ? &out : text;
    kiln_status status = kiln__recording_parse(NULL, "t", data->data, data->length, &r, error);
    kiln_recording_free(r);
    kiln__text_free(&out);
    return status;
}

static void expect_refused(kiln__text *text, bool packed, kiln_status want, const char *says)
{
    kiln_error *error = NULL;
    CHECK(!text->failed);
    CHECK(read_made(text, packed, &error) == want);
    CHECK(strstr(kiln_error_message(error), says) != NULL);
    if (!strstr(kiln_error_message(error), says))
        fprintf(stderr, "%s\n", kiln_error_message(error));
    kiln_error_free(error);
    kiln__text_free(text);
    *text = (kiln__text){0};
}

/* Tests that small gzipped files are refused before memory is used, if they would unpack to a large text or a large
 * tree. */
static void test_bombs(void)
{
    kiln__text text = {0};
    char *spaces = malloc(1 << 20);
    memset(spaces, ' ', 1 << 20);
    kiln__text_puts(&text, "{\"results\": [");
    for (int i = 0; i < 65; i++)
        kiln__text_add(&text, spaces, 1 << 20);
    free(spaces);
    kiln__text_puts(&text, "]}");
    expect_refused(&text, true, KILN_ERROR_UNSUPPORTED, "t: larger than 64 MiB when decompressed");

    kiln__text_puts(&text, "{\"results\": [{}");
    for (int i = 0; i < 1 << 21; i++)
        kiln__text_puts(&text, ",{}");
    kiln__text_puts(&text, "]}");
    expect_refused(&text, true, KILN_ERROR_UNSUPPORTED, "MiB of memory; for a file of its size 512 MiB is the limit");

    kiln__text_puts(&text, "{\"results\": [{\"configuration\": {\"p\": 1");
    for (int i = 0; i < 900; i++)
        kiln__text_printf(&text, ",\"p%d\": 1", i);
    kiln__text_puts(&text, "}}");
    for (int i = 0; i < 100000; i++)
        kiln__text_puts(&text, ",[]");
    kiln__text_puts(&text, "]}");
    expect_refused(&text, false, KILN_ERROR_SPEC,
                   "100001 configurations cannot all have 901 params in a file of this size");

    for (int i = 0; i < 100000; i++)
        kiln__text_puts(&text, "{\"results\":[");
    expect_refused(&text, true, KILN_ERROR_SPEC, "maximum parsing depth reached");
}

/* Tests files of Kernel Tuner from version 1.1 on. They have an entry with the kind of its failure and without a time,
 * numbers that JSON does not have, and both true and 1. */
static void test_today(void)
{
    struct kiln_recording *r = parse("{\"tune_params_keys\": [\"x\", \"NaN\"], \"cache\": {"
                                     "\"a\": {\"x\": true, \"NaN\": \"-Infinity\\\"NaN\", \"time\": 2,"
                                     " \"times\": [2, NaN], \"GFLOP/s\": -Infinity},"
                                     "\"b\": {\"x\": 1, \"NaN\": \"b\", \"__error__\": \"InvalidConfig\"},"
                                     "\"c\": {\"x\": 2, \"NaN\": \"b\", \"time\": NaN},"
                                     "\"d\": {\"x\": 3, \"NaN\": \"b\", \"time\": Infinity},"
                                     "\"e\": {\"x\": 1, \"NaN\": \"-Infinity\\\"NaN\", \"time\": 1}}}");
    if (!r)
        return;
    CHECK(r->row_count == 5 && r->failed == 3);
    CHECK_TEXT(r->rows[1].failure, "InvalidConfig");
    CHECK(r->rows[2].failure && r->rows[3].failure && !r->rows[4].failure);
    CHECK(r->params[0].count == 4 && r->params[1].count == 2);
    CHECK(r->params[0].values[0].kind == KILN_INT && r->params[0].values[1].kind == KILN_BOOL);
    CHECK_TEXT(r->params[1].values[0].as.text, "-Infinity\"NaN");
    CHECK(near(r->rows[0].benchmark, 2e-3));
    kiln_recording_free(r);
}

static const check_case cases[] = {{"Kernel Tuner's file, plain, packed, cut off", test_cache},
                                   {"failures of Kernel Tuner today, NaN, true", test_today},
                                   {"cut off anywhere", test_cut},
                                   {"cut off in the metadata", test_cut_metadata},
                                   {"T4", test_t4},
                                   {"errors", test_errors},
                                   {"memory runs out", test_memory},
                                   {"the baseline by hand", test_baseline},
                                   {"the score by hand", test_score},
                                   {"recorded spaces of the collection", test_collection, CHECK_LONG},
                                   {"what grows", test_bombs}};
KILN_SUITE("recording", cases)
