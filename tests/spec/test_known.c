/* Tests files of best-known configurations. A written file can be read again, whatever texts it has, and an error
 * message has the place of the error. */
#include <math.h>

#include "check.h"
#include "expr.h"
#include "known.h"

static const kiln_setting sizes[] = {{"N", {KILN_INT, {.i = 512}}}, {"M", {KILN_INT, {.i = 64}}}};
static const kiln_setting params[] = {
    {"F", {KILN_FLOAT, {.f = 0.1}}},
    {"B", {KILN_BOOL, {.i = 1}}},
    {"I", {KILN_INT, {.i = INT64_MIN}}},
    {"T", {KILN_TEXT, {.text = "a: \"b\" #\\ \x7f\n\xc3\xa9\xff"}}},
};

static kiln__known make(const char *spec, const char *variant, double seconds, int64_t made)
{
    return (kiln__known){.spec = spec,
                         .variant = variant,
                         .device = "A GPU",
                         .cc = "9.0",
                         .sizes = {2, sizes},
                         .params = {4, params},
                         .how = KILN__MEASURED,
                         .seconds = seconds,
                         .verified = true,
                         .made = made};
}

/* Returns true if the first `count` settings of both are equal. */
static bool same_settings(kiln__settings all, kiln__settings others, size_t count)
{
    const kiln_setting *a = all.items, *b = others.items;
    for (size_t i = 0; i < count; i++)
        if (strcmp(a[i].name, b[i].name) != 0 || a[i].value.kind != b[i].value.kind ||
            !kiln__value_equal(a[i].value, b[i].value))
            return false;
    return true;
}

static const char *print(const kiln__known_list *list, kiln__text *text)
{
    kiln_error *error = NULL;
    CHECK_OK(kiln__known_print(NULL, list, text, &error), error);
    return kiln__text_get(text);
}

/* Writes known configurations with unusual texts, compares the file, reads it, and compares the list. */
static void what_is_written_reads_back(void)
{
    kiln__known_list list = {0}, again = {0};
    kiln__known plain = make("matmul", "tiled", 0.001, 1700000000000000), odd = make("two words", "no", 1e-300, 0);
    odd.device = "";
    odd.cc = "";
    odd.how = KILN__ESTIMATED;
    odd.verified = false;
    CHECK(kiln__known_add(&list, &odd) && kiln__known_add(&list, &plain));
    kiln__known_deduplicate(&list);
    kiln__text text = {0}, second = {0};
    CHECK_TEXT(print(&list, &text),
               "kiln-best: 1\nbest:\n"
               "- spec: matmul\n  device: \"A GPU\"\n  cc: \"9.0\"\n  sizes: {M: 64, N: 512}\n  variant: tiled\n"
               "  params: {B: true, F: 0.1, I: -9223372036854775807 - 1, "
               "T: \"a: \\\"b\\\" #\\\\ \\u007f\\u000a\xc3\xa9\\ufffd\"}\n"
               "  seconds: 0.001\n  how: measured\n  verified: true\n  made: 2023-11-14T22:13:20Z\n"
               "- spec: \"two words\"\n  device: \"\"\n  cc: \"\"\n  sizes: {M: 64, N: 512}\n  variant: \"no\"\n"
               "  params: {B: true, F: 0.1, I: -9223372036854775807 - 1, "
               "T: \"a: \\\"b\\\" #\\\\ \\u007f\\u000a\xc3\xa9\\ufffd\"}\n"
               "  seconds: 1e-300\n  how: estimated\n  verified: false\n  made: 1970-01-01T00:00:00Z\n");
    kiln_error *error = NULL;
    CHECK_OK(kiln__known_read(NULL, "k", text.data, text.length, &again, &error), error);
    kiln__known_deduplicate(&again);
    CU_ASSERT_TRUE_FATAL(again.count == 2);
    const kiln__known *a = &again.items[0], *b = &again.items[1];
    CHECK(a->seconds == 0.001 && a->made == plain.made && a->how == KILN__MEASURED && a->verified);
    CHECK(b->seconds == 1e-300 && b->how == KILN__ESTIMATED && !b->verified && !*b->device);
    CHECK(a->params.count == 4 && same_settings(a->params, list.items[0].params, 3) && a->sizes.count == 2 &&
          same_settings(a->sizes, list.items[0].sizes, 2));
    CHECK_TEXT(a->params.items[3].value.as.text, "a: \"b\" #\\ \x7f\n\xc3\xa9\xef\xbf\xbd");
    CHECK_TEXT(print(&again, &second), text.data);
    kiln__text_free(&text);
    kiln__text_free(&second);
    kiln__known_free(&list);
    kiln__known_free(&again);
}

/* Tests that a file with features has version 2, and that a file without features keeps version 1, which earlier builds
 * read. */
static void features_are_written(void)
{
    static const kiln_setting features[] = {{"rows", {KILN_INT, {.i = 300}}}, {"mean", {KILN_FLOAT, {.f = 2.5}}}};
    kiln__known_list list = {0}, again = {0};
    kiln__known with = make("s", "v", 1, 0), without = make("s", "w", 1, 0);
    with.features = (kiln__settings){2, features};
    CHECK(kiln__known_add(&list, &with) && kiln__known_add(&list, &without));
    kiln__known_deduplicate(&list);
    kiln__text text = {0}, second = {0};
    CHECK(strncmp(print(&list, &text), "kiln-best: 2\n", 13) == 0);
    CHECK(strstr(kiln__text_get(&text), "  features: {mean: 2.5, rows: 300}\n") != NULL);
    kiln_error *error = NULL;
    CHECK_OK(kiln__known_read(NULL, "k", text.data, text.length, &again, &error), error);
    CU_ASSERT_TRUE_FATAL(again.count == 2);
    CHECK(again.items[0].features.count == 2 && again.items[1].features.count == 0);
    CHECK_TEXT(print(&again, &second), text.data);
    kiln__text_free(&text);
    kiln__text_free(&second);
    kiln__known_free(&list);
    kiln__known_free(&again);
}

static void the_latest_counts_and_the_best_stays(void)
{
    kiln__known_list list = {0};
    const kiln_setting fast[] = {{"B", {KILN_INT, {.i = 1}}}}, slow[] = {{"B", {KILN_INT, {.i = 2}}}};
    kiln__known known = make("s", "v", 3, 30);
    known.params = (kiln__settings){1, slow};
    CHECK(kiln__known_add(&list, &known));
    known.seconds = 1; /* an earlier sample of the same configuration has no effect */
    known.made = 20;
    CHECK(kiln__known_add(&list, &known));
    known.params = (kiln__settings){1, fast};
    CHECK(kiln__known_add(&list, &known));
    known.seconds = 2;
    known.made = 40;
    CHECK(kiln__known_add(&list, &known));
    known.variant = "fails";
    CHECK(kiln__known_add(&list, &known));
    known.seconds = HUGE_VAL;
    known.made = 50;
    CHECK(kiln__known_add(&list, &known));
    known = make("s", "taken", 4, 10); /* made first, but a sweep took it from the store last */
    known.taken = 60;
    CHECK(kiln__known_add(&list, &known));
    known = make("s", "taken", HUGE_VAL, 50);
    CHECK(kiln__known_add(&list, &known));
    known = make("s", "v", NAN, 1); /* the configuration has no time */
    CHECK(kiln__known_add(&list, &known));
    CHECK(list.count == 8);
    kiln__known_deduplicate(&list);
    CHECK(list.count == 3 && list.items[0].seconds == 4 && list.items[1].seconds == 2 && list.items[2].seconds == 3);
    kiln__known_keep_best(&list);
    CHECK(list.count == 2 && list.items[0].seconds == 4 && list.items[1].seconds == 2);
    kiln__known_free(&list);
}

/* Among equal times the smallest params win, and params are compared as numbers. */
static void equal_times(void)
{
    static const int64_t numbers[] = {512, 1024, 64};
    kiln__known_list list = {0};
    for (size_t i = 0; i < 3; i++) {
        const kiln_setting param[] = {{"BLOCK", {KILN_INT, {.i = numbers[i]}}}};
        kiln__known known = make("s", "v", 1, 1);
        known.params = (kiln__settings){1, param};
        CHECK(kiln__known_add(&list, &known));
    }
    kiln__known_deduplicate(&list);
    CHECK(list.count == 3 && list.items[2].params.items[0].value.as.i == 1024);
    kiln__known_keep_best(&list);
    CHECK(list.count == 1 && list.items[0].params.items[0].value.as.i == 64);
    kiln__known_free(&list);
}

static void sizes_are_sorted_as_numbers(void)
{
    kiln__known_list list = {0};
    static const int64_t numbers[] = {512, 64, 4096};
    for (size_t i = 0; i < 3; i++) {
        const kiln_setting size[] = {{"N", {KILN_INT, {.i = numbers[i]}}}};
        kiln__known known = make("s", "v", 1, 1);
        known.sizes = (kiln__settings){1, size};
        CHECK(kiln__known_add(&list, &known));
    }
    kiln__known_deduplicate(&list);
    CHECK(list.items[0].sizes.items[0].value.as.i == 64 && list.items[2].sizes.items[0].value.as.i == 4096);
    CHECK(!kiln__known_same_problem(&list.items[0], &list.items[1]));
    kiln__known_free(&list);
}

#define ENTRY "- spec: s\n  device: d\n  cc: '9.0'\n  sizes: {N: 1}\n  variant: v\n  params: {}\n"
/* Tests broken files of known configurations. Each error must have the line, the column and a reason. */
static void errors_have_their_place(void)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "k:1:1: "},
        {"kiln-best: 3\nbest: []\n", "k:1:12: this is kiln 0.1.0, which knows versions 1 and 2"},
        {"kiln-best: 2\nbest:\n" ENTRY "  features: {a: 1, b: \"x\"}\n  seconds: 1\n  how: measured\n  verified: true\n"
         "  made: 2026-01-01T00:00:00Z\n",
         "k:9:13: the feature 'b' must be a number"},
        {"kiln-best: 1\n", "k:1:1: the file lacks the key 'best'"},
        {"kiln-best: 1\nbest: 3\n", "k:2:7: best must be a list"},
        {"kiln-best: 1\nbest:\n- 7\n", "k:3:3: a configuration must be a mapping"},
        {"kiln-best: 1\nbest:\n- {spec: s}\n", "k:3:3: a configuration lacks the key 'device'"},
        {"kiln-best: 1\nbest:\n" ENTRY "  seconds: 0\n  how: guessed\n  verified: 1\n  made: today\n",
         "k:9:12: seconds must be a number above 0"},
        {"kiln-best: 1\nbest:\n" ENTRY "  seconds: 1\n  how: guessed\n  verified: true\n  made: 2026-01-01T00:00:00Z\n",
         "k:10:8: how must be one of"},
        {"kiln-best: 1\nbest:\n" ENTRY "  seconds: 1\n  how: measured\n  verified: 1\n  made: 2026-01-01T00:00:00Z\n",
         "k:11:13: verified must be true or false"},
        {"kiln-best: 1\nbest:\n" ENTRY "  seconds: 1\n  how: measured\n  verified: true\n  made: today\n",
         "k:12:9: made must be a time like"},
        {"kiln-best: 1\nbest: [\n", "k:"},
    };
    for (size_t i = 0; i < KILN__COUNT(cases); i++) {
        kiln__known_list list = {0};
        kiln_error *error = NULL;
        CHECK(kiln__known_read(NULL, "k", cases[i].text, strlen(cases[i].text), &list, &error) == KILN_ERROR_SPEC);
        bool says = strncmp(kiln_error_message(error), cases[i].says, strlen(cases[i].says)) == 0;
        if (!says)
            fprintf(stderr, "got: %s\nwant: %s\n", kiln_error_message(error), cases[i].says);
        CHECK(says && list.count == 0);
        kiln_error_free(error);
        kiln__known_free(&list);
    }
}

static void memory_may_be_out(void)
{
    kiln__known_list list = {0};
    kiln__known known = make("matmul", "tiled", 1, 1);
    CHECK(kiln__known_add(&list, &known));
    kiln__text text = {0};
    print(&list, &text);
    check_oom oom = {.failed = 1};
    for (long n = 0; oom.failed && n < 1000; n++) {
        oom = (check_oom){.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln__known_list got = {.arena.mem = &mem};
        kiln__text out = {.mem = &mem};
        kiln_error *error = NULL;
        kiln_status status = kiln__known_read(&mem, "k", text.data, text.length, &got, &error);
        if (status == KILN_OK)
            status = kiln__known_print(&mem, &got, &out, &error);
        CHECK(status == (oom.failed ? KILN_ERROR_MEMORY : KILN_OK));
        kiln_error_free(error);
        kiln__text_free(&out);
        kiln__known_free(&got);
        CHECK(oom.live == 0);
    }
    CHECK(!oom.failed);
    kiln__text_free(&text);
    kiln__known_free(&list);
}

static const check_case cases[] = {
    {"what is written reads back", what_is_written_reads_back},
    {"the latest counts, and the best stays", the_latest_counts_and_the_best_stays},
    {"sizes are sorted as numbers", sizes_are_sorted_as_numbers},
    {"the first of equal times", equal_times},
    {"features are written", features_are_written},
    {"errors have their place", errors_have_their_place},
    {"memory may be out", memory_may_be_out},
};
KILN_SUITE("known", cases)
