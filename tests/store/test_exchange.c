/* Samples as recorded spaces. An exported file gives the same samples when it is imported, and files of other
 * programs become samples too. */
#include <math.h>
#include <unistd.h>

#include "check.h"
#include "document.h"
#include "store_internal.h"

typedef struct fixture {
    char folder[64];
    kiln_store *store, *other;
} fixture;

static kiln_store *open_store(const fixture *f, const kiln_allocator *mem, const char *name)
{
    char path[128];
    kiln_store *store = NULL;
    kiln_error *error = NULL;
    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    CHECK_OK(kiln__store_open(mem, NULL, path, 0, &store, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(store);
    return store;
}

static void setup(fixture *f)
{
    memset(f, 0, sizeof *f);
    strcpy(f->folder, "/tmp/kiln-exchange-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(f->folder));
    f->store = open_store(f, NULL, "one.db");
    f->other = open_store(f, NULL, "other.db");
}

static void teardown(fixture *f)
{
    char command[128];
    kiln_store_close(f->store);
    kiln_store_close(f->other);
    snprintf(command, sizeof command, "rm -rf '%s'", f->folder);
    CU_ASSERT_EQUAL(system(command), 0);
}

/* Adds a sample that differs in each field from the sample with another number. The numbers cover two variants with
 * different params, and each kind of end. */
static void add_with(kiln_store *store, unsigned number, const char *given)
{
    static const kiln_status ends[] = {
        KILN_OK, KILN_ERROR_COMPILE, KILN_OK, KILN_ERROR_TIMEOUT, KILN_ERROR_WRONG_ANSWER, KILN_ERROR_LAUNCH,
        KILN_OK, KILN_ERROR_DEVICE};
    char key[33], params[64];
    double times[3];
    kiln_error *error = NULL;
    kiln_status end = ends[number % 8];
    snprintf(key, sizeof key, "%032x", number);
    snprintf(params, sizeof params, number % 2 ? "BLOCK=%u SCALE=0.5" : "BLOCK=%u FAST=true MODE=\"a \\\"b\\\"\"",
             number);
    for (unsigned i = 0; i < 3; i++)
        times[i] = (number + i + 1) / 3e5; /* some of these times change when they are converted from milliseconds */
    kiln__store_row row = {
        .key = key,
        .spec = "matmul",
        .variant = number % 2 ? "odd" : "even",
        .params = given ? given : params,
        .sizes = number == 5 ? "" : "M=512 N=64",
        .inputs = "i",
        .run = "verify",
        .device = "A GPU",
        .device_id = "cuda:0",
        .uuid = "GPU-1",
        .cc = "9.0",
        .driver = "13.0",
        .nvrtc = "12.9",
        .kiln = "0",
        .source_key = "s",
        .status = end,
        .message = end ? "no\nno \"\\ \xc3\xa9" : "",
        .reusable = 1,
        .inputs_seconds = number == 4 ? 0.5 : 0,
        .input_functions = number == 4 ? "make=0.375 convert=0.125" : "",
        .metrics = number == 4 ? "edges=12.0 rate=0.5" : "",
        .host = "a1, Linux",
        .command = number == 4 ? "kiln tune 'a, \"b\"'" : "",
        .path = number == 4 ? "/nowhere/a.yaml\n/nowhere/\"b\".yaml" : "",
        .copy_seconds = number == 4 ? 0.0625 : 0,
        .rounds = number,
        /* the sample ran without a fault; another reader sees no candidate in it, but the sample comes back
         * unchanged */
        .comparison = number == 6,
        .verified = 1,
        .measured = !end,
        .seconds = times[1],
        .seconds_low = times[0],
        .seconds_high = number == 2 ? HUGE_VAL : times[2],
        .repetitions = 3,
        .flops = 1e12 + number,
        .bytes = 3e9,
        .worst_error = 0.1,
        .compile_ns = 12345678901,
        .made = 1700000000123456 + number,
        .taken = number % 2 ? 1700000000223456 + number : 0,
        .clock_hz = 1.98e9,
        .throttle = 4,
        .energy_joules = 0.25,
        .features = number % 2 ? "rows=300 mean=2.5" : "",
        .stopped_early = number == 6,
        .times = times,
        .time_count = end ? 0 : 3,
    };
    CHECK_OK(kiln__store_add(store, &row, NULL, &error), error);
}

static void add(kiln_store *store, unsigned number) { add_with(store, number, NULL); }

static const char *path_in(const fixture *f, const char *name, char path[128])
{
    snprintf(path, 128, "%s/%s", f->folder, name);
    return path;
}

static char *slurp(const char *path)
{
    char *text = NULL;
    size_t length;
    kiln_error *error = NULL;
    CHECK_OK(kiln__file_read(NULL, path, 0, &text, &length, &error), error);
    return text;
}

static void same_samples(const fixture *f, const char *why)
{
    char one[128], two[128];
    kiln_error *error = NULL;
    CHECK_OK(kiln_store_export(f->store, NULL, path_in(f, "one.csv", one), KILN_FORMAT_AUTO, NULL, &error), error);
    CHECK_OK(kiln_store_export(f->other, NULL, path_in(f, "two.csv", two), KILN_FORMAT_AUTO, NULL, &error), error);
    char *a = slurp(one), *b = slurp(two);
    bool same = a && b && strcmp(a, b) == 0;
    if (!same)
        fprintf(stderr, "%s:\n%s\n%s\n", why, a ? a : "", b ? b : "");
    CHECK(same);
    kiln__free(NULL, a);
    kiln__free(NULL, b);
}

/* A text that a spreadsheet would take for a formula is written as a text. Numbers stay numbers. All texts come back
 * unchanged. */
static void no_formulas(void)
{
    static const struct {
        const char *text, *cell;
    } cases[] = {
        {"=1+2", "\"'=1+2\""},
        {"+x", "\"'+x\""},
        {"-x", "\"'-x\""},
        {"@SUM(A1)", "\"'@SUM(A1)\""},
        {"\t=1", "\"'\t=1\""},
        {"\r=1", "\"'\r=1\""},
        {"\n=1", "\"'\n=1\""},
        {"=cmd|' /C calc'!A0", "\"'=cmd|' /C calc'!A0\""},
        {"=\"a\",b", "\"'=\"\"a\"\",b\""},
        {"-", "\"'-\""},
        {"-1.5", "-1.5"},
        {"+2e-3", "+2e-3"},
        {"-1.5x", "\"'-1.5x\""},
        {"-inf", "\"'-inf\""},
        {"'=1", "\"''=1\""},
        {"''-2", "\"'''-2\""},
        {"'quoted'", "'quoted'"},
        {"'", "'"},
        {"''", "''"},
        {"a;=1", "\"a;=1\""},
        {"a=b", "a=b"},
        {"it's", "it's"},
        {"", ""},
    };
    fixture f;
    char path[128], key[33];
    kiln_error *error = NULL;
    setup(&f);
    for (size_t i = 0; i < KILN__COUNT(cases); i++) {
        snprintf(key, sizeof key, "%032zx", i);
        kiln__store_row row = {.key = key,
                               .spec = "s",
                               .variant = "v",
                               .params = "",
                               .sizes = "",
                               .inputs = "",
                               .run = "",
                               .device = cases[i].text,
                               .device_id = "before",
                               .uuid = "",
                               .cc = "",
                               .driver = "",
                               .nvrtc = "",
                               .kiln = "",
                               .source_key = "",
                               .message = cases[i].text,
                               .features = "",
                               .input_functions = "",
                               .metrics = "",
                               .host = "",
                               .command = "",
                               .path = "",
                               .seconds = -1.5,
                               .made = 1};
        CHECK_OK(kiln__store_add(f.store, &row, NULL, &error), error);
    }
    CHECK_OK(kiln_store_export(f.store, NULL, path_in(&f, "a.csv", path), KILN_FORMAT_AUTO, NULL, &error), error);
    char *text = slurp(path);
    for (size_t i = 0; i < KILN__COUNT(cases); i++) {
        char want[128];
        snprintf(want, sizeof want, ",%s,before,", cases[i].cell);
        CHECK_TEXT(text && strstr(text, want) ? want : "", want);
    }
    CHECK(text && strstr(text, ",-1.5,")); /* a column of numbers */
    kiln__free(NULL, text);
    CHECK_OK(kiln_store_import(f.other, path, NULL, NULL, &error), error);
    same_samples(&f, "formulas");
    sqlite3_stmt *statement = NULL;
    CHECK(sqlite3_prepare_v2(f.other->db, "SELECT device, message FROM sample ORDER BY id", -1, &statement, NULL) ==
          SQLITE_OK);
    for (size_t i = 0; i < KILN__COUNT(cases); i++) {
        CHECK(sqlite3_step(statement) == SQLITE_ROW);
        CHECK_TEXT((const char *)sqlite3_column_text(statement, 0), cases[i].text);
        CHECK_TEXT((const char *)sqlite3_column_text(statement, 1), cases[i].text);
    }
    sqlite3_finalize(statement);
    teardown(&f);
}

/* CSV holds all fields, so the test compares both sides as CSV. */
static void nothing_is_lost(void)
{
    static const struct {
        const char *name;
        kiln_format format, is;
    } files[] = {
        {"a.json", KILN_FORMAT_AUTO, KILN_FORMAT_T4},
        {"a.json.gz", KILN_FORMAT_AUTO, KILN_FORMAT_T4},
        {"a.gz", KILN_FORMAT_T4, KILN_FORMAT_T4},
        {"b.json", KILN_FORMAT_KERNEL_TUNER, KILN_FORMAT_KERNEL_TUNER},
        {"b.gz", KILN_FORMAT_KERNEL_TUNER, KILN_FORMAT_KERNEL_TUNER},
    };
    for (size_t i = 0; i < KILN__COUNT(files); i++) {
        fixture f;
        char path[128];
        uint64_t written = 0, read = 0, taken = 0, removed;
        kiln_error *error = NULL;
        kiln__document document;
        setup(&f);
        for (unsigned n = 0; n < 20; n++)
            if (n != 5) /* the sizes of sample 5 are not known; see below */
                add(f.store, n);
        path_in(&f, files[i].name, path);
        CHECK_OK(kiln_store_export(f.store, NULL, path, files[i].format, &written, &error), error);
        CHECK_OK(kiln__document_load(NULL, path, &document, &error), error);
        CHECK(document.format == files[i].is && !document.cut_off);
        kiln__document_free(&document);
        CHECK_OK(kiln_store_import(f.other, path, &read, &taken, &error), error);
        CHECK(written == 19 && read == 19 && taken == 19);
        same_samples(&f, files[i].name);
        CHECK_OK(kiln_store_import(f.other, path, &read, &taken, &error), error);
        CHECK(read == 19 && taken == 0);
        add(f.store, 5); /* sample 5 is written last, so that it has the sizes of the others */
        CHECK_OK(kiln_store_prune(f.other, NULL, &removed, &error), error);
        CHECK_OK(kiln_store_export(f.store, NULL, path, files[i].format, &written, &error), error);
        CHECK_OK(kiln_store_import(f.other, path, &read, &taken, &error), error);
        CHECK(written == 20 && taken == 20);
        same_samples(&f, files[i].name);
        teardown(&f);
    }
}

/* Each sample has params of its own. A recorded space would have all of these params in each configuration. */
static void too_many_params(void)
{
    enum { SAMPLES = 1500 };
    fixture f;
    char path[128], params[64];
    kiln_error *error = NULL;
    uint64_t written = 0;
    setup(&f);
    for (unsigned n = 10; n < SAMPLES + 10; n++) {
        snprintf(params, sizeof params, "A%u=1 B%u=1", n, n);
        add_with(f.store, n, params);
    }
    CHECK(kiln_store_export(f.store, NULL, path_in(&f, "a.json", path), KILN_FORMAT_T4, NULL, &error) ==
          KILN_ERROR_ARGUMENT);
    CHECK(strstr(kiln_error_message(error), "have 3001 different ones") != NULL);
    kiln_error_free(error);
    error = NULL;
    CHECK_OK(kiln_store_export(f.store, NULL, path_in(&f, "a.csv", path), KILN_FORMAT_CSV, &written, &error), error);
    CHECK(written == SAMPLES);
    teardown(&f);
}

/* A file of T4 or Kernel Tuner has one problem. An export of several problems is refused, and the message names two
 * of them. */
static void one_problem_a_file(void)
{
    fixture f;
    char path[128], key[33] = "0123456789abcdef0123456789abcdef";
    kiln_error *error = NULL;
    uint64_t written = 0;
    setup(&f);
    path_in(&f, "a.json", path);
    CHECK(kiln_store_export(f.store, NULL, path, KILN_FORMAT_T4, NULL, &error) == KILN_ERROR_NOT_FOUND);
    kiln_error_free(error);
    error = NULL;
    add(f.store, 0);
    kiln__store_row row = {.key = key,
                           .spec = "matmul",
                           .variant = "odd",
                           .params = "",
                           .sizes = "M=512 N=65",
                           .inputs = "",
                           .run = "",
                           .device = "A GPU",
                           .device_id = "",
                           .uuid = "",
                           .cc = "",
                           .driver = "",
                           .nvrtc = "",
                           .kiln = "",
                           .source_key = "",
                           .message = "",
                           .features = "",
                           .input_functions = "",
                           .metrics = "",
                           .host = "",
                           .command = "",
                           .path = "",
                           .seconds = 1,
                           .measured = 1};
    CHECK_OK(kiln__store_add(f.store, &row, NULL, &error), error);
    CHECK(kiln_store_export(f.store, NULL, path, KILN_FORMAT_T4, NULL, &error) == KILN_ERROR_ARGUMENT);
    CHECK_TEXT(kiln_error_message(error),
               "a recorded space must belong to one spec, one set of sizes and one device, but these samples belong to "
               "matmul, M=512 N=64, A GPU and to matmul, M=512 N=65, A GPU: select one of them, or export CSV");
    kiln_error_free(error);
    error = NULL;
    kiln_setting sizes[] = {{"N", {KILN_INT, {.i = 6}}}, {"M", {KILN_INT, {.i = 512}}}};
    kiln_store_filter filter = {.size = sizeof filter, .sizes = sizes, .size_count = 2};
    CHECK(kiln_store_export(f.store, &filter, path, KILN_FORMAT_T4, NULL, &error) == KILN_ERROR_NOT_FOUND);
    kiln_error_free(error);
    error = NULL;
    sizes[0].value.as.i = 65;
    CHECK_OK(kiln_store_export(f.store, &filter, path, KILN_FORMAT_T4, &written, &error), error);
    CHECK(written == 1);
    CHECK(kiln_store_export(f.store, NULL, path, (kiln_format)99, NULL, NULL) == KILN_ERROR_ARGUMENT);
    teardown(&f);
}

typedef struct seen {
    unsigned count;
    char text[2048];
} seen;

static int note(void *user, const kiln_record *r)
{
    seen *s = user;
    kiln__text text = {0};
    kiln__settings_print(&text, KILN__PARAMS(r));
    kiln__text_puts(&text, " at ");
    kiln__settings_print(&text, KILN__SIZES(r));
    size_t length = strlen(s->text);
    kiln__format(s->text + length, sizeof s->text - length, "%s %s on %s: %s, %d %g %zu %lld %d\n", r->spec, r->variant,
                 r->device, kiln__text_get(&text), (int)r->status, r->result->seconds, r->time_count,
                 (long long)r->made, r->reusable);
    kiln__text_free(&text);
    s->count++;
    return 0;
}

static void write_file(const char *path, const char *text)
{
    kiln_error *error = NULL;
    CHECK_OK(kiln__file_write(NULL, path, text, strlen(text), &error), error);
}

static void what_others_wrote(void)
{
    fixture f;
    char path[128];
    uint64_t read, taken;
    kiln_error *error = NULL;
    seen all = {0};
    setup(&f);
    write_file(
        path_in(&f, "conv.X.json", path),
        "{\"device_name\": \"D\", \"kernel_name\": \"k\", \"problem_size\": [64, 32], \"tune_params_keys\": [\"x\"], "
        "\"tune_params\": {\"x\": [1, 2]}, \"cache\": {\"1\": {\"x\": 1, \"time\": 2.5, \"times\": [2, 3], "
        "\"timestamp\": \"2023-12-22 09:53:48.691683+00:00\"}, \"2\": {\"x\": 2, \"time\": "
        "\"CompilationFailedConfig\"}}}");
    CHECK_OK(kiln_store_import(f.store, path, &read, &taken, &error), error);
    /* a second import gives the same samples */
    CHECK_OK(kiln_store_import(f.store, path, &read, &taken, &error), error);
    CHECK(read == 2 && taken == 0);
    write_file(
        path_in(&f, "conv.Y.json", path),
        "{\"schema_version\": \"1.0.0\", \"metadata\": {\"timeunit\": \"microseconds\"}, \"results\": [{"
        "\"configuration\": {\"y\": true}, \"times\": {\"runtimes\": []}, \"invalidity\": \"correct\", "
        "\"correctness\": "
        "1, \"measurements\": [{\"name\": \"time\", \"value\": 8, \"unit\": \"\"}]}, {\"configuration\": {\"y\": "
        "\"a b\"}, \"times\": {}, \"invalidity\": \"timeout\", \"correctness\": 0}]}");
    CHECK_OK(kiln_store_import(f.store, path, &read, &taken, &error), error);
    CHECK(read == 2 && taken == 2);
    CHECK_OK(kiln_store_list(f.store, NULL, note, &all, &error), error);
    CHECK_TEXT(all.text, "k default on D: x=1 at ProblemSize[0]=64 ProblemSize[1]=32, 0 0.0025 2 1703238828691683 0\n"
                         "k default on D: x=2 at ProblemSize[0]=64 ProblemSize[1]=32, 9 0 0 0 0\n"
                         "conv default on : y=true at , 0 8e-06 0 0 0\n"
                         "conv default on : y=\"a b\" at , 10 0 0 0 0\n");
    teardown(&f);
}

/* A file of today's Kernel Tuner: a failure has a kind and no time, and there are NaNs. Times come back unchanged,
 * with the time of measuring. */
static void what_others_write_today(void)
{
    static const double times[] = {2.3, 0.7, 1.1, 12.2629570066927, 0.1234567, 33.3};
    fixture f;
    char path[128], *text;
    uint64_t read, taken;
    kiln_error *error = NULL;
    kiln__text file = {0};
    seen all = {0};
    setup(&f);
    kiln__text_puts(&file, "{\"kernel_name\": \"k\", \"tune_params_keys\": [\"x\"], \"cache\": {"
                           "\"a\": {\"x\": 10, \"__error__\": \"CompilationFailedConfig\"}, \"b\": {\"x\": 11, "
                           "\"time\": NaN}");
    for (size_t i = 0; i < KILN__COUNT(times); i++)
        kiln__text_printf(&file, ", \"%zu\": {\"x\": %zu, \"time\": %.17g, \"times\": [%.17g]}", i, i, times[i],
                          times[i]);
    kiln__text_puts(&file, "}}");
    write_file(path_in(&f, "k.json", path), file.data);
    CHECK_OK(kiln_store_import(f.store, path, &read, &taken, &error), error);
    CHECK(read == 8 && taken == 8);
    CHECK_OK(kiln_store_list(f.store, NULL, note, &all, &error), error);
    CHECK(strstr(all.text, "x=10 at , 9 ") && strstr(all.text, "x=11 at , "));
    CHECK_OK(kiln_store_export(f.store, NULL, path_in(&f, "out.json", path), KILN_FORMAT_KERNEL_TUNER, NULL, &error),
             error);
    text = slurp(path);
    json_t *out = json_loads(text, 0, NULL), *entry;
    size_t same = 0;
    const char *key;
    json_object_foreach(json_object_get(out, "cache"), key, entry)
    {
        long long x = json_integer_value(json_object_get(entry, "x"));
        CHECK(json_is_number(json_object_get(entry, "benchmark_time")));
        same += x < 6 && json_number_value(json_object_get(entry, "time")) == times[x] &&
                json_number_value(json_array_get(json_object_get(entry, "times"), 0)) == times[x] &&
                json_number_value(json_object_get(entry, "benchmark_time")) == times[x];
    }
    CHECK(same == KILN__COUNT(times));
    json_decref(out);
    kiln__free(NULL, text);
    kiln__text_free(&file);
    teardown(&f);
}

/* A file is imported completely or not at all, and the message has the place of the error. */
static void what_is_wrong(void)
{
#define OWN(text)                                                                                                      \
    "{\"results\": [{\"kiln\": {\"key\": \"0123456789abcdef0123456789abcdef\", \"params\": \"\"}, \"times\": {}}, "    \
    "{\"kiln\": {" text "}}]}"
    static const struct {
        const char *text, *says;
    } cases[] = {
        {OWN("\"key\": \"1\""), "t.json: result 2: the key must be 32 hexadecimal digits: '1'; nothing was imported"},
        {OWN("\"key\": \"0123456789abcdef0123456789abcdef\", \"status\": -1"),
         "t.json: result 2: the status is out of range, key: '0123456789abcdef0123456789abcdef'; nothing was imported"},
        {OWN("\"spec\": 1"), "t.json: result 2: this is not a text: 'spec'; nothing was imported"},
        {OWN("\"made\": 1.5"), "t.json: result 2: this is not an integer: 'made'; nothing was imported"},
        {OWN("\"flops\": \"many\""), "t.json: result 2: this is not a number: 'flops'; nothing was imported"},
        {OWN("\"times\": [[]]"), "t.json: result 2: its times are not numbers; nothing was imported"},
        {"{\"results\": [3]}", "t.json: result 1: it has no configuration; nothing was imported"},
        {"{\"results\": [{\"configuration\": {\"a\": []}, \"invalidity\": \"compile\"}]}",
         "t.json: result 1: a sample cannot have this param: 'a'; nothing was imported"},
        {"{\"results\": [{\"configuration\": {\"a b\": 1}}]}",
         "t.json: result 1: a sample cannot have this param: 'a b'; nothing was imported"},
        {"{\"results\": [{\"configuration\": {\"a\": 1}}]}",
         "t.json: result 1: it has neither a time nor a failure; nothing was imported"},
        {"{\"results\": [], \"metadata\": {\"timeunit\": \"weeks\"}}",
         "t.json: metadata: 'weeks' is not a unit of time; nothing was imported"},
        {"{\"a\": 1}", "t.json: neither a recorded space of Kernel Tuner ('cache') nor T4 results ('results')"},
        {"{", "t.json: line 1, column 1: not JSON: string or '}' expected near end of file"},
    };
    fixture f;
    setup(&f);
    CHECK(chdir(f.folder) == 0);
    for (size_t i = 0; i < KILN__COUNT(cases); i++) {
        kiln_error *error = NULL;
        seen all = {0};
        write_file("t.json", cases[i].text);
        CHECK(kiln_store_import(f.store, "t.json", NULL, NULL, &error) != KILN_OK);
        CHECK_TEXT(kiln_error_message(error), cases[i].says);
        kiln_error_free(error);
        error = NULL;
        CHECK_OK(kiln_store_list(f.store, NULL, note, &all, &error), error);
        CHECK(all.count == 0);
    }
    CHECK(chdir("/") == 0);
    teardown(&f);
}

static void memory_may_be_out(void)
{
    fixture f;
    char path[128];
    setup(&f);
    for (unsigned n = 0; n < 3; n++)
        add(f.store, n);
    path_in(&f, "m.json.gz", path);
    bool done = false;
    for (long n = 0; n < 2000 && !done; n++) {
        check_oom oom = {.countdown = -1};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln_store *store = open_store(&f, &mem, "one.db");
        kiln_error *error = NULL;
        oom.countdown = n;
        kiln_status status = kiln_store_export(store, NULL, path, KILN_FORMAT_KERNEL_TUNER, NULL, &error);
        if (status == KILN_OK)
            status = kiln_store_import(store, path, NULL, NULL, &error);
        done = !oom.failed;
        CHECK(status == (oom.failed ? KILN_ERROR_MEMORY : KILN_OK));
        kiln_error_free(error);
        kiln_store_close(store);
        CHECK(oom.live == 0);
    }
    CHECK(done);
    teardown(&f);
}

static const check_case cases[] = {
    {"nothing is lost", nothing_is_lost},     {"no formulas", no_formulas},
    {"too many params", too_many_params},     {"one problem a file", one_problem_a_file},
    {"what others wrote", what_others_wrote}, {"what others write today", what_others_write_today},
    {"what is wrong", what_is_wrong},         {"memory may be out", memory_may_be_out},
};
KILN_SUITE("exchange", cases)
