#include <inttypes.h>

#include "base.h"
#include "check.h"
#include "expr.h"

static const kiln_setting settings[] = {{"i", {KILN_INT, {.i = 7}}},
                                        {"n", {KILN_INT, {.i = -7}}},
                                        {"z", {KILN_INT, {.i = 0}}},
                                        {"f", {KILN_FLOAT, {.f = 2.5}}},
                                        {"big", {KILN_INT, {.i = INT64_MAX}}},
                                        {"t", {KILN_TEXT, {.text = "ca"}}},
                                        {"yes", {KILN_BOOL, {.i = 1}}},
                                        {"A.rows", {KILN_INT, {.i = 12}}},
                                        {"device.sm_count", {KILN_INT, {.i = 132}}}};
static const kiln__scope scope = {.settings = {KILN__COUNT(settings), settings}};

/* Writes the result of one case in the form of the table. */
static void outcome(const char *text, bool list, kiln__text *out)
{
    kiln__arena arena = {0};
    kiln__source source = {"x", text, strlen(text)};
    kiln__pos pos = {&source, 1, 1};
    kiln__diag diag = {0};
    bool fine = false;
    if (list) {
        kiln_value *values = NULL;
        size_t count = 0;
        fine = kiln__expr_list(&arena, text, strlen(text), pos, NULL, 1000, 5000, &values, &count, &diag);
        for (size_t i = 0; fine && i < count; i++) {
            kiln__text_puts(out, i ? " " : "");
            kiln__value_print(out, values[i]);
        }
    } else {
        unsigned flags = strncmp(text, "python ", 7) == 0 ? KILN__EXPR_PYTHON : 0;
        size_t skip = flags ? 7 : 0;
        source.text += skip;
        source.length -= skip;
        kiln__expr *expr = kiln__expr_parse(&arena, source.text, source.length, pos, flags, &diag);
        kiln_value value;
        fine = expr && kiln__expr_eval(expr, &scope, &value, &diag);
        if (fine)
            kiln__value_print(out, value);
    }
    CHECK(fine == (diag.count == 0));
    CHECK(diag.count <= 1);
    kiln_error *error = NULL;
    kiln__diag_finish(&diag, KILN_ERROR_SPEC, &error);
    if (!fine) { /* "x:1:COLUMN: MESSAGE\n..." */
        unsigned column = 0;
        int used = 0;
        sscanf(kiln_error_message(error), "x:1:%u: %n", &column, &used);
        const char *message = kiln_error_message(error) + used;
        kiln__text_printf(out, "!%u: %.*s", column, (int)strcspn(message, "\n"), message);
    }
    kiln_error_free(error);
    kiln__arena_free(&arena);
}

static size_t run_table(const char *path, bool list)
{
    char *data = NULL, *rest;
    size_t length, cases = 0;
    kiln_error *error = NULL;
    CHECK_OK(kiln__file_read(NULL, path, 0, &data, &length, &error), error);
    rest = data;
    for (char *line; rest && (line = strsep(&rest, "\n")) != NULL;) {
        if (*line == '#' || *line == '\0')
            continue;
        char *want = rest ? strsep(&rest, "\n") : NULL;
        kiln__text got = {0};
        outcome(line, list, &got);
        if (strcmp(kiln__text_get(&got), want ? want : "") != 0)
            fprintf(stderr, "of: %s\n", line);
        CHECK_TEXT(kiln__text_get(&got), want ? want : "");
        kiln__text_free(&got);
        cases++;
    }
    kiln__free(NULL, data);
    return cases;
}

static void test_expressions(void) { CHECK(run_table(KILN_TEST_DATA "/cases.txt", false) > 120); }

static void test_lists(void) { CHECK(run_table(KILN_TEST_DATA "/lists.txt", true) > 20); }

static void test_deep(void)
{
    static const char *const units[] = {"(", "-", "not ", "2 ** ", "1 if 1 else ", "min(", "1 or (", "i in ("};
    for (size_t u = 0; u < KILN__COUNT(units); u++) {
        kiln__text text = {0};
        for (int i = 0; i < 5000; i++)
            kiln__text_puts(&text, units[u]);
        kiln__text_puts(&text, "1");
        kiln__arena arena = {0};
        kiln__diag diag = {0};
        CHECK(kiln__expr_parse(&arena, text.data, text.length, (kiln__pos){0}, 0, &diag) == NULL);
        CHECK_TEXT(kiln__text_get(&diag.text), "this expression is nested too deep\n");
        kiln__text_free(&diag.text);
        kiln__arena_free(&arena);
        kiln__text_free(&text);
    }
    /* A text that is long but not nested is accepted. */
    kiln__text text = {0};
    kiln__text_puts(&text, "0");
    for (int i = 0; i < 8000; i++)
        kiln__text_puts(&text, " + i");
    kiln__arena arena = {0};
    kiln__expr *expr = kiln__expr_parse(&arena, text.data, text.length, (kiln__pos){0}, 0, NULL);
    int64_t value = 0;
    CHECK(expr && kiln__expr_eval_int(expr, &scope, "sum", &value, NULL) && value == 56000);
    kiln__arena_free(&arena);
    kiln__text_free(&text);
}

static void test_kinds(void)
{
    kiln__arena arena = {0};
    kiln__diag diag = {0};
    int64_t i = 0;
    double f = 0;
    bool b = false;
    CHECK(kiln__expr_eval_int(kiln__expr_parse(&arena, "8 / 2.0", 7, (kiln__pos){0}, 0, NULL), NULL, "x", &i, NULL) &&
          i == 4);
    CHECK(!kiln__expr_eval_int(kiln__expr_parse(&arena, "f", 1, (kiln__pos){0}, 0, NULL), &scope, "grid x", &i, &diag));
    CHECK(!kiln__expr_eval_float(kiln__expr_parse(&arena, "t", 1, (kiln__pos){0}, 0, NULL), &scope, "rtol", &f, &diag));
    CHECK(!kiln__expr_eval_bool(kiln__expr_parse(&arena, "t", 1, (kiln__pos){0}, 0, NULL), &scope, "cond", &b, &diag));
    CHECK(kiln__expr_eval_bool(kiln__expr_parse(&arena, "f", 1, (kiln__pos){0}, 0, NULL), &scope, "cond", &b, NULL));
    CHECK(b);
    CHECK_TEXT(kiln__text_get(&diag.text), "grid x must be an integer, but is 2.5\nrtol must be a number, but is 'ca'\n"
                                           "cond must be a condition, but is 'ca'\n");
    kiln__text_free(&diag.text);
    kiln__arena_free(&arena);
}

static void test_names(void)
{
    kiln__arena arena = {0};
    const char *text = "a + A.rows * (b if a else c.d) - a";
    kiln__source source = {"x", text, strlen(text)};
    kiln__expr *expr = kiln__expr_parse(&arena, text, strlen(text), (kiln__pos){&source, 1, 1}, 0, NULL);
    CHECK(kiln__expr_name_count(expr) == 4);
    CHECK_TEXT(kiln__expr_name(expr, 1), "A.rows");
    CHECK_TEXT(kiln__expr_name(expr, 3), "c.d");
    CHECK(kiln__expr_name_pos(expr, 1).column == 5);
    CHECK_TEXT(kiln__expr_text(expr), text);
    kiln_value value;
    CHECK(!kiln__expr_is_constant(expr, &value));
    CHECK(kiln__expr_is_constant(kiln__expr_parse(&arena, "2 * 8", 5, (kiln__pos){0}, 0, NULL), &value) &&
          value.as.i == 16);
    /* Evaluates the same expressions by slots. */
    const kiln_value values[] = {{KILN_INT, {.i = 5}}, {KILN_INT, {.i = 3}}, {KILN_INT, {.i = 2}}};
    const uint32_t slots[] = {1, 0, 2, 2};
    CHECK(kiln__expr_eval_slots(expr, values, slots, &value, NULL) && value.as.i == 3 + 5 * 2 - 3);
    kiln__arena_free(&arena);
}

static bool find_list(void *user, const char *name, const kiln_value **values, size_t *count)
{
    static const kiln_value list[] = {{KILN_INT, {.i = 3}}, {KILN_INT, {.i = 9}}, {KILN_INT, {.i = 4}}};
    (void)user;
    *values = list;
    *count = 3;
    return strcmp(name, "w") == 0;
}

static void test_python_lists(void)
{
    kiln__arena arena = {0};
    kiln__lists lists = {find_list, NULL};
    const char *text = "max(w) * 10 + min(w) + min(w, 5)";
    kiln__expr *expr = kiln__expr_parse_python(&arena, text, strlen(text), (kiln__pos){0}, &lists, NULL);
    const kiln_setting w = {"w", {KILN_INT, {.i = 4}}};
    kiln__scope with = {.settings = {1, &w}};
    int64_t value = 0;
    CHECK(expr && kiln__expr_eval_int(expr, &with, "x", &value, NULL) && value == 90 + 3 + 4);
    kiln__arena_free(&arena);
}

static void check_template(const char *text, const char *want)
{
    kiln__arena arena = {0};
    kiln__diag diag = {0};
    kiln__text out = {0};
    kiln__template *made = kiln__template_parse(&arena, text, strlen(text), (kiln__pos){0}, &diag);
    if (made)
        kiln__template_fill(made, &scope, &out, &diag);
    CHECK_TEXT(diag.count ? kiln__text_get(&diag.text) : kiln__text_get(&out), want);
    kiln__text_free(&diag.text);
    kiln__text_free(&out);
    kiln__arena_free(&arena);
}

static void test_templates(void)
{
    check_template("matmul", "matmul");
    check_template("transpose<float, {i}>", "transpose<float, 7>");
    check_template("{i}{t}{ f * 2 }{yes}", "7ca5.0true");
    check_template("a{{b}}c", "a{b}c");
    check_template("", "");
    check_template("{'}'}", "}");
    check_template("a{i", "this '{' is not closed; for the character '{' write '{{'\n");
    check_template("a}b", "this '}' has no '{' before it; for the character '}' write '}}'\n");
    check_template("{}", "expected a value, found '}'\n");
    check_template("{i i}", "expected '}'\n");
    check_template("{1 // z}", "division by zero\n");
}

static void test_values(void)
{
    static const struct {
        double f;
        const char *text;
    } floats[] = {{0.5, "0.5"},  {1, "1.0"}, {1e22, "1e+22"}, {0.1, "0.1"}, {1.0 / 3, "0.3333333333333333"},
                  {-0.0, "-0.0"}};
    for (size_t i = 0; i < KILN__COUNT(floats); i++) {
        kiln__text out = {0};
        kiln__value_print(&out, (kiln_value){KILN_FLOAT, {.f = floats[i].f}});
        CHECK_TEXT(kiln__text_get(&out), floats[i].text);
        kiln__text_free(&out);
    }
    CHECK(kiln__value_equal((kiln_value){KILN_INT, {.i = 1}}, (kiln_value){KILN_FLOAT, {.f = 1}}));
    CHECK(!kiln__value_equal((kiln_value){KILN_INT, {.i = INT64_MAX}}, (kiln_value){KILN_FLOAT, {.f = 0x1p63}}));
    CHECK(!kiln__value_equal((kiln_value){KILN_INT, {.i = 1}}, (kiln_value){KILN_TEXT, {.text = "1"}}));
    CHECK(kiln__name_valid("TILE_M") && !kiln__name_valid("if") && !kiln__name_valid("9x") && !kiln__name_valid("") &&
          !kiln__name_valid("a.b") && !kiln__name_valid("min"));
}

/* Parses expressions, templates and lists with an allocator that fails at the n-th call, for each n. Nothing leaks, and
 * the failure is reported. */
static void test_oom(void)
{
    static const char text[] = "max(i, 2) + ('a' == t and n < z < 3) if A.rows in (1, 2) else -f * device.sm_count";
    static const char list[] = "[x for x in ['a', 'b'] if x != 'a'] + ['c'] + list(range(40))";
    for (long n = 0;; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln__arena arena = {.mem = &mem};
        kiln__diag diag = {.mem = &mem};
        kiln__expr *expr = kiln__expr_parse(&arena, text, sizeof text - 1, (kiln__pos){0}, 0, &diag);
        kiln__expr *constant = kiln__expr_constant(&arena, (kiln_value){KILN_TEXT, {.text = "abc"}}, (kiln__pos){0});
        kiln__template *made = kiln__template_parse(&arena, "k<{i}>{z}", 9, (kiln__pos){0}, &diag);
        kiln_value *values = NULL;
        size_t count = 0;
        bool listed = kiln__expr_list(&arena, list, sizeof list - 1, (kiln__pos){0}, NULL, 100, 100, &values, &count,
                                      &diag);
        if (!oom.failed) {
            CHECK(expr && constant && made && listed && count == 42);
        } else {
            CHECK(arena.failed);
            CHECK(diag.count == 0);
        }
        kiln__text_free(&diag.text);
        kiln__arena_free(&arena);
        CHECK(oom.live == 0);
        if (!oom.failed)
            break;
    }
}

/* Adds up the bytes of all blocks that are allocated. */
static void *count_bytes(void *user, void *pointer, size_t size)
{
    if (size == 0) {
        free(pointer);
        return NULL;
    }
    *(size_t *)user += size;
    return realloc(pointer, size);
}

/* Memory grows linearly with the length of a list or of a template, not with its square, because its expressions
 * share one text. */
static void test_memory_of_parts(void)
{
    for (int kind = 0; kind < 2; kind++) {
        size_t bytes[2] = {0};
        for (size_t round = 0; round < 2; round++) {
            const size_t count = round ? 8000 : 1000;
            kiln_allocator mem = {count_bytes, &bytes[round]};
            kiln__arena arena = {.mem = &mem};
            kiln__diag diag = {0};
            kiln__text text = {0};
            kiln_value *values = NULL;
            size_t found = 0;
            kiln__text_puts(&text, kind ? "" : "[");
            for (size_t i = 0; i < count; i++)
                kiln__text_printf(&text, kind ? "{i}x" : "%zu, ", i);
            kiln__text_puts(&text, kind ? "" : "]");
            if (kind) {
                kiln__template *made = kiln__template_parse(&arena, text.data, text.length, (kiln__pos){0}, &diag);
                CHECK(made && kiln__template_expr_count(made) == count);
            } else {
                CHECK(kiln__expr_list(&arena, text.data, text.length, (kiln__pos){0}, NULL, 10000, 10000, &values,
                                      &found, &diag));
                CHECK(found == count);
            }
            kiln__text_free(&text);
            kiln__arena_free(&arena);
        }
        CHECK(bytes[1] < 12 * bytes[0]); /* the text is eight times as long */
    }
}

/* Tests a comprehension that repeats a long text. The memory of the copies has a limit. */
static void test_long_texts(void)
{
    enum { LONG = 60000 };
    static const char begin[] = "['", end[] = "' for i in range(2000)]";
    kiln__arena arena = {0};
    kiln__diag diag = {0};
    kiln__text text = {0};
    kiln_value *values = NULL;
    size_t count = 0;
    kiln__text_puts(&text, begin);
    for (size_t i = 0; i < LONG; i++)
        kiln__text_add(&text, "x", 1);
    kiln__text_puts(&text, end);
    CHECK(!kiln__expr_list(&arena, text.data, text.length, (kiln__pos){0}, NULL, 5000, 10000, &values, &count, &diag));
    kiln_error *error = NULL;
    kiln__diag_finish(&diag, KILN_ERROR_SPEC, &error);
    CHECK_TEXT(kiln_error_message(error), "the texts of this list take more than 64 MiB");
    kiln_error_free(error);
    kiln__text_free(&text);
    kiln__arena_free(&arena);
}

/* Tests that a range may be longer than a list that is written out, if the range is the whole list. */
static void test_long_range(void)
{
    static const struct {
        const char *text;
        size_t count;
        int64_t first, last;
    } want[] = {{"range(5000)", 5000, 0, 4999},
                {"list(range(9, 14997, 3))", 4996, 9, 14994},
                {"range(2000, -3000, -1)", 5000, 2000, -2999}};
    for (size_t i = 0; i < KILN__COUNT(want); i++) {
        kiln__arena arena = {0};
        kiln__diag diag = {0};
        kiln_value *values = NULL;
        size_t count = 0;
        CHECK(kiln__expr_list(&arena, want[i].text, strlen(want[i].text), (kiln__pos){0}, NULL, 1000, 5000, &values,
                              &count, &diag));
        CHECK(count == want[i].count);
        CHECK(values && values[0].as.i == want[i].first && values[count - 1].as.i == want[i].last);
        kiln__arena_free(&arena);
    }
}

static const check_case cases[] = {{"the table of expressions", test_expressions},
                                   {"the table of lists", test_lists},
                                   {"deep nesting", test_deep},
                                   {"wanted kinds", test_kinds},
                                   {"names and slots", test_names},
                                   {"lists in Python's dialect", test_python_lists},
                                   {"templates", test_templates},
                                   {"values", test_values},
                                   {"out of memory", test_oom},
                                   {"memory of long lists and templates", test_memory_of_parts},
                                   {"long texts in lists", test_long_texts},
                                   {"ranges longer than lists", test_long_range}};
KILN_SUITE("expr", cases)
