/* Tests that recorded spaces are written, and converted from one format into the other and back, without loss. All
 * fields are compared. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "document.h"
#include "recording.h"

#define CORPUS KILN_SOURCE_DIR "/tests/fuzz/corpus/fuzz_recording/"
#define SHARED KILN_SOURCE_DIR "/../shared/data/"

static kiln_format other(kiln_format format)
{
    return format == KILN_FORMAT_T4 ? KILN_FORMAT_KERNEL_TUNER : KILN_FORMAT_T4;
}

static kiln__document load(const char *path)
{
    kiln__document document = {0};
    kiln_error *error = NULL;
    CHECK_OK(kiln__document_load(NULL, path, &document, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(document.root);
    return document;
}

static kiln__document convert(const kiln__document *from, kiln_format format)
{
    kiln__document to = {0};
    kiln_error *error = NULL;
    CHECK_OK(kiln__document_convert(NULL, "t", from, format, &to, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(to.root);
    return to;
}

/* Returns the recording that a search reads from a file. */
static struct kiln_recording *record(const kiln__document *document)
{
    kiln__text text = {0};
    struct kiln_recording *r = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln__document_print(document, &text, &error), error);
    CHECK_OK(kiln__recording_parse(NULL, "t", text.data, text.length, &r, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(r);
    kiln__text_free(&text);
    return r;
}

static bool near(double a, double b) { return a == b || fabs(a - b) <= 1e-12 * fabs(b); }

static void same_search(const kiln__document *a, const kiln__document *b)
{
    struct kiln_recording *x = record(a), *y = record(b);
    CU_ASSERT_TRUE_FATAL(x->row_count == y->row_count && x->param_count == y->param_count && x->failed == y->failed);
    CHECK(memcmp(x->coords, y->coords, x->row_count * x->points.width * sizeof *x->coords) == 0);
    size_t different = 0;
    for (size_t i = 0; i < x->row_count; i++)
        different += !near(x->rows[i].seconds, y->rows[i].seconds) ||
                     !near(kiln__recording_row_cost(&x->rows[i]), kiln__recording_row_cost(&y->rows[i]));
    CHECK(different == 0);
    kiln_recording_free(x);
    kiln_recording_free(y);
}

/* Checks the schema of T4: the required members, and their types. */
static bool is_valid_t4(const json_t *root)
{
    const char *const invalidities[] = {"timeout", "compile", "runtime", "correctness", "constraints", "correct"};
    json_t *result, *item, *value;
    size_t i, k;
    const char *key;
    if (!json_is_string(json_object_get(root, "schema_version")) || !json_is_array(json_object_get(root, "results")))
        return false;
    json_array_foreach(json_object_get(root, "results"), i, result)
    {
        const char *invalidity = json_string_value(json_object_get(result, "invalidity"));
        bool known = false;
        for (k = 0; invalidity && k < KILN__COUNT(invalidities); k++)
            known |= strcmp(invalidities[k], invalidity) == 0;
        json_t *timestamp = json_object_get(result, "timestamp");
        if (!known || !json_is_object(json_object_get(result, "configuration")) ||
            !json_is_object(json_object_get(result, "times")) ||
            !json_is_number(json_object_get(result, "correctness")) ||
            !json_is_array(json_object_get(result, "objectives")) || (timestamp && !json_is_string(timestamp)))
            return false;
        json_object_foreach(json_object_get(result, "times"), key,
                            value) if (strcmp(key, "runtimes") == 0 ? !json_is_array(value)
                                                                    : !json_is_number(value)) return false;
        json_array_foreach(json_object_get(result, "measurements"), k, item)
        {
            value = json_object_get(item, "value");
            if (!json_is_string(json_object_get(item, "name")) || !json_is_string(json_object_get(item, "unit")) ||
                !(json_is_number(value) || json_is_string(value) || json_is_array(value)))
                return false;
        }
    }
    return true;
}

/* Writes the file and reads it. Then gzips it and reads it. Then writes the other format, reads that, and converts it
 * back. */
static void check_file(const char *path, bool natural)
{
    char folder[] = "/tmp/kiln-convert-XXXXXX", file[64], command[64];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    kiln__document first = load(path), turned = convert(&first, other(first.format));
    kiln_error *error = NULL;
    static const char *const names[] = {"a.json", "a.json.gz"};
    for (size_t i = 0; i < KILN__COUNT(names); i++) {
        snprintf(file, sizeof file, "%s/%s", folder, names[i]);
        CHECK_OK(kiln__document_save(NULL, file, &first, &error), error);
        kiln__document again = load(file);
        CHECK(again.format == first.format && !again.cut_off && json_equal(again.root, first.root));
        kiln__document_free(&again);
        if (i > 0) /* the conversion of its content was compared in the first round */
            continue;
        CHECK_OK(kiln__document_save(NULL, file, &turned, &error), error);
        kiln__document read = load(file), back = convert(&read, first.format);
        CHECK(read.format == turned.format && json_equal(read.root, turned.root));
        CHECK(json_equal(back.root, first.root));
        kiln__document_free(&read);
        kiln__document_free(&back);
    }
    CHECK(!natural || is_valid_t4(first.format == KILN_FORMAT_T4 ? first.root : turned.root));
    if (natural)
        same_search(&first, &turned);
    kiln__document_free(&first);
    kiln__document_free(&turned);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    CU_ASSERT_EQUAL(system(command), 0);
}

static void the_collection(void)
{
    static const char *const files[] = {SHARED "convolution_milo.A4000.json.gz",
                                        SHARED "convolution_milo.MI250X.T4.json.gz", SHARED "pnpoly.RTX_3090.json.gz",
                                        SHARED "gemm.RTX_2080_Ti.json.gz"};
    for (size_t i = 0; i < KILN__COUNT(files); i++)
        if (kiln__file_exists(files[i]))
            check_file(files[i], true);
        else
            printf("SKIP data: there is no %s\n", files[i]);
}

static void small_files(void)
{
    check_file(CORPUS "cache.json", true);
    check_file(CORPUS "cache.json.gz", true);
    check_file(CORPUS "cut.json", true);
    check_file(CORPUS "t4.json", false);
}

static json_t *at(const kiln__document *document, const char *list, size_t index)
{
    return json_array_get(json_object_get(document->root, list), index);
}

static kiln__document parse(const char *text)
{
    kiln__document document = {0};
    kiln_error *error = NULL;
    CHECK_OK(kiln__document_read(NULL, "t", text, strlen(text), &document, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(document.root);
    return document;
}

/* Compares each field of an entry with the conversion by hand. */
static void what_becomes_of_an_entry(void)
{
    kiln__document cache = parse(
        "{\"device_name\": \"D\", \"kernel_name\": \"k\", \"tune_params_keys\": [\"x\", \"how\"], \"tune_params\": {\"x\": "
        "[1, 2, 3], \"how\": [\"a\"]}, \"cache\": {"
        "\"1,a\": {\"x\": 1, \"how\": \"a\", \"time\": 2.5, \"times\": [2.0, 3.0], \"compile_time\": 7, \"verification_time\": "
        "1, \"benchmark_time\": 9.5, \"framework_time\": 4, \"strategy_time\": 0, \"GFLOP/s\": 11.0, \"timestamp\": \"now\"},"
        "\"2,a\": {\"x\": 2, \"how\": \"a\", \"time\": \"InvalidConfig\", \"ok\": false, \"odd\": null},"
        "\"other key\": {\"x\": 2.0, \"how\": \"a\", \"time\": \"Strange\", \"compile_time\": \"none\", \"times\": 3}}}");
    kiln__document t4 = convert(&cache, KILN_FORMAT_T4);
    json_t *want = json_loads(
        "{\"timestamp\": \"now\", \"configuration\": {\"x\": 1, \"how\": \"a\"}, \"times\": {\"compilation_time\": 7, "
        "\"validation\": 1, \"framework\": 4, \"search_algorithm\": 0, \"runtimes\": [2.0, 3.0]}, \"invalidity\": "
        "\"correct\", \"correctness\": 1, \"measurements\": [{\"name\": \"time\", \"value\": 2.5, \"unit\": "
        "\"milliseconds\"}, {\"name\": \"benchmark_time\", \"value\": 9.5, \"unit\": \"milliseconds\"}, {\"name\": "
        "\"GFLOP/s\", \"value\": 11.0, \"unit\": \"\"}], \"objectives\": [\"time\"]}",
        0, NULL);
    CHECK(want && json_equal(at(&t4, "results", 0), want));
    json_decref(want);
    want = json_loads(
        "{\"configuration\": {\"x\": 2, \"how\": \"a\"}, \"times\": {}, \"invalidity\": \"constraints\", "
        "\"correctness\": 0, \"measurements\": [{\"name\": \"time\", \"value\": \"InvalidConfig\", \"unit\": "
        "\"milliseconds\"}], \"objectives\": [\"time\"], \"ok\": false, \"odd\": null}",
        0, NULL);
    CHECK(want && json_equal(at(&t4, "results", 1), want));
    json_decref(want);
    CHECK(is_valid_t4(t4.root));
    kiln__document back = convert(&t4, KILN_FORMAT_KERNEL_TUNER);
    CHECK(json_equal(back.root, cache.root));
    kiln__document_free(&back);
    kiln__document_free(&t4);
    kiln__document_free(&cache);
}

/* A failure as Kernel Tuner writes it today: it keeps its kind, and nothing has to be kept beside it. */
static void what_becomes_of_an_error(void)
{
    kiln__document cache = parse("{\"tune_params_keys\": [\"x\"], \"tune_params\": {\"x\": [1]}, \"cache\": {\"1\": {"
                                 "\"x\": 1, \"__error__\": \"CompilationFailedConfig\", \"compile_time\": 7}}}");
    kiln__document t4 = convert(&cache, KILN_FORMAT_T4);
    CHECK_TEXT(json_string_value(json_object_get(at(&t4, "results", 0), "invalidity")), "compile");
    CHECK(!json_object_get(at(&t4, "results", 0), "kernel_tuner") && is_valid_t4(t4.root));
    kiln__document back = convert(&t4, KILN_FORMAT_KERNEL_TUNER);
    CHECK(json_equal(back.root, cache.root));
    kiln__document_free(&back);
    kiln__document_free(&t4);
    kiln__document_free(&cache);
}

static void what_becomes_of_a_result(void)
{
    kiln__document t4 = parse(
        "{\"schema_version\": \"1.0.0\", \"metadata\": {\"timeunit\": \"microseconds\", \"who\": 3}, \"extra\": [1], "
        "\"results\": ["
        "{\"configuration\": {\"x\": 1}, \"times\": {\"compilation\": 3000, \"runtimes\": [2000, 4000]}, \"invalidity\": "
        "\"correct\", \"correctness\": 0.5, \"measurements\": [{\"name\": \"time\", \"value\": 3, \"unit\": \"ms\"}], "
        "\"objectives\": [\"time\"]},"
        "{\"configuration\": {\"x\": 1}, \"times\": {}, \"invalidity\": \"timeout\", \"correctness\": 0},"
        "{\"configuration\": {\"x\": true}, \"times\": {}, \"invalidity\": \"compile\", \"correctness\": 0}]}");
    kiln__document cache = convert(&t4, KILN_FORMAT_KERNEL_TUNER);
    json_t *entries = json_object_get(cache.root, "cache"), *one = json_object_get(entries, "1");
    CHECK(json_object_size(entries) == 3 && json_object_get(entries, "1#2") && json_object_get(entries, "True"));
    CHECK(json_number_value(json_object_get(one, "time")) == 3 &&
          json_number_value(json_object_get(one, "compile_time")) == 3);
    CHECK(json_number_value(json_array_get(json_object_get(one, "times"), 1)) == 4);
    CHECK_TEXT(json_string_value(json_object_get(json_object_get(entries, "1#2"), "time")), "RuntimeFailedConfig");
    CHECK_TEXT(json_string_value(json_object_get(json_object_get(entries, "True"), "time")), "CompilationFailedConfig");
    CHECK(json_array_size(json_object_get(json_object_get(cache.root, "tune_params"), "x")) == 2);
    kiln__document back = convert(&cache, KILN_FORMAT_T4);
    CHECK(json_equal(back.root, t4.root));
    kiln__document_free(&back);
    kiln__document_free(&cache);
    kiln__document_free(&t4);
}

static void check_refused(const char *text, const char *says)
{
    kiln__document document = parse(text), to = {0};
    kiln_error *error = NULL;
    CHECK(kiln__document_convert(NULL, "t", &document, other(document.format), &to, &error) == KILN_ERROR_SPEC);
    CHECK_TEXT(kiln_error_message(error), says);
    CHECK(!to.root);
    kiln_error_free(error);
    kiln__document_free(&document);
}

#define LETTERS                                                                                                          \
    "\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\",\"j\",\"k\",\"l\",\"m\",\"n\",\"o\",\"p\",\"q\",\"r\",\"s\"," \
    "\"t\",\"u\",\"v\",\"w\",\"x\",\"y\",\"z\""
#define EMPTY "{\"configuration\": {}}"

static void what_cannot_be_turned(void)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"{\"cache\": {\"1\": 3}, \"tune_params_keys\": [\"x\"]}", "t: configuration 1: not an object"},
        {"{\"cache\": {\"1\": {}}, \"tune_params_keys\": [3]}", "t: tune_params_keys: not a list of names"},
        {"{\"cache\": {\"1\": {}}}", "t: has no tune_params_keys"},
        {"{\"results\": [{\"configuration\": {}}, 3]}", "t: configuration 2: has no params"},
        {"{\"results\": [], \"metadata\": {\"timeunit\": \"weeks\"}}", "t: metadata: unknown unit of time"},
        {"{\"schema_version\": \"1.0.0\", \"metadata\": {\"timeunit\": \"milliseconds\", \"kernel_tuner\": "
         "{\"tune_params_keys\": [3]}}, \"results\": [{\"configuration\": {\"x\": 1}}]}",
         "t: tune_params_keys: not a list of names"},
        {"{\"results\": [{\"configuration\": {\"a\":1, \"b\":1, \"c\":1, \"d\":1}}, {}, {}, {}, {}, {}]}",
         "t: 6 configurations cannot all have 4 params in a file of this size"},
        {"{\"tune_params_keys\": [" LETTERS "], \"cache\": {\"1\": {}, \"2\": {}, \"3\": {}, \"4\": {}}}",
         "t: 4 configurations cannot all have 26 params in a file of this size"},
        {"{\"schema_version\": \"1.0.0\", \"metadata\": {\"timeunit\": \"milliseconds\", \"kernel_tuner\": "
         "{\"tune_params_keys\": [" LETTERS "]}}, \"results\": [" EMPTY ", " EMPTY ", " EMPTY ", " EMPTY "]}",
         "t: 4 configurations cannot all have 26 params in a file of this size"},
    };
    for (size_t i = 0; i < KILN__COUNT(cases); i++)
        check_refused(cases[i].text, cases[i].says);
}

/* The names of params are searched for each field of each row. So a list of any length would take quadratic time. */
static void many_params(void)
{
    kiln__text cache = {0}, t4 = {0};
    kiln__text_puts(&cache, "{\"cache\": {\"1\": {}}, \"tune_params_keys\": [");
    kiln__text_puts(&t4, "{\"results\": [{\"configuration\": {");
    for (int i = 0; i < 1001; i++) {
        kiln__text_printf(&cache, "%s\"p%d\"", i ? ", " : "", i);
        kiln__text_printf(&t4, "%s\"p%d\": 1", i ? ", " : "", i);
    }
    kiln__text_puts(&cache, "]}");
    kiln__text_puts(&t4, "}}]}");
    check_refused(kiln__text_get(&cache), "t: 1001 params; at most 1000 are allowed");
    check_refused(kiln__text_get(&t4), "t: 1001 params; at most 1000 are allowed");
    kiln__text_free(&cache);
    kiln__text_free(&t4);
}

static void memory_may_be_out(void)
{
    kiln__document cache = load(CORPUS "cache.json");
    check_oom oom = {.failed = 1};
    for (long n = 0; oom.failed && n < 1000; n++) {
        oom = (check_oom){.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln__document to = {0};
        kiln__text text = {.mem = &mem}, zipped = {.mem = &mem};
        kiln_error *error = NULL;
        kiln_status status = kiln__document_convert(&mem, "t", &cache, KILN_FORMAT_T4, &to, &error);
        if (status == KILN_OK)
            status = kiln__document_print(&to, &text, &error);
        if (status == KILN_OK)
            status = kiln__gzip(&mem, text.data, text.length, &zipped, &error);
        CHECK(status == (oom.failed ? KILN_ERROR_MEMORY : KILN_OK));
        kiln_error_free(error);
        kiln__document_free(&to);
        kiln__text_free(&text);
        kiln__text_free(&zipped);
        CHECK(oom.live == 0);
    }
    CHECK(!oom.failed);
    kiln__document_free(&cache);
}

static const check_case cases[] = {
    {"the collection", the_collection, CHECK_LONG},
    {"small files", small_files},
    {"what becomes of an entry", what_becomes_of_an_entry},
    {"what becomes of a result", what_becomes_of_a_result},
    {"what becomes of an error", what_becomes_of_an_error},
    {"what cannot be turned", what_cannot_be_turned},
    {"many params", many_params},
    {"memory may be out", memory_may_be_out},
};
KILN_SUITE("convert", cases)
