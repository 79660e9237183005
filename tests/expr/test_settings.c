/* Tests settings, which are names with values: copying, finding, printing and reading. */
#include "check.h"
#include "expr.h"

static const kiln_setting three[] = {
    {"N", {KILN_INT, {.i = 3}}}, {"T", {KILN_TEXT, {.text = "half"}}}, {"A", {KILN_BOOL, {.i = 1}}}};
static const kiln__settings all = {3, three};

static void a_copy_is_its_own(void)
{
    for (long n = 0;; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln__arena arena = {.mem = &mem};
        kiln__settings copy = kiln__settings_copy(&arena, all), sorted = kiln__settings_sorted(&arena, all);
        bool failed = arena.failed;
        CHECK(failed == (oom.failed > 0));
        if (!failed) {
            CHECK(copy.count == 3 && copy.items[1].name != three[1].name && sorted.count == 3);
            CHECK(copy.items[1].value.as.text != three[1].value.as.text);
            CHECK_TEXT(copy.items[1].value.as.text, "half");
            CHECK_TEXT(copy.items[0].name, "N");
            CHECK_TEXT(sorted.items[0].name, "A");
            CHECK_TEXT(sorted.items[2].name, "T");
        }
        kiln__arena_free(&arena);
        CHECK(oom.live == 0);
        if (!failed)
            break;
    }
}

static void one_is_found(void)
{
    CHECK(kiln__settings_find(all, "T") == &three[1] && kiln__settings_find(all, "A") == &three[2]);
    CHECK(!kiln__settings_find(all, "t") && !kiln__settings_find((kiln__settings){0}, "N"));
}

// Tests that settings of every kind are the same after they were printed and read.
static void they_read_back(void)
{
    const kiln_setting settings[] = {
        {"A", {.kind = KILN_INT, .as.i = INT64_MIN}},  {"B", {.kind = KILN_FLOAT, .as.f = 3}},
        {"C", {.kind = KILN_BOOL, .as.i = 1}},         {"D", {.kind = KILN_TEXT, .as.text = "a b=\"c\\\n\""}},
        {"E", {.kind = KILN_FLOAT, .as.f = -1.0 / 3}}, {"F", {.kind = KILN_TEXT, .as.text = ""}},
    };
    kiln__text text = {0};
    kiln__arena arena = {0};
    kiln__settings got = {0};
    kiln__settings_print(&text, (kiln__settings){6, settings});
    CHECK_TEXT(text.data,
               "A=-9223372036854775808 B=3.0 C=true D=\"a b=\\\"c\\\\\\x0a\\\"\" E=-0.3333333333333333 F=\"\"");
    CHECK(kiln__settings_read(&arena, text.data, &got) && got.count == 6);
    for (size_t i = 0; i < 6; i++) {
        CHECK_TEXT(got.items[i].name, settings[i].name);
        CHECK(got.items[i].value.kind == settings[i].value.kind &&
              kiln__value_equal(got.items[i].value, settings[i].value));
    }
    CHECK(kiln__settings_read(&arena, "", &got) && got.count == 0);
    static const char *const wrong[] = {"A",     "A=",       "=1",        "A=1 ", "A=1  B=2", "A=x",
                                        "A=\"x", "A=\"x\"y", "A=\"\\q\"", "A=1e", "A=--1",    "A=99999999999999999999",
                                        "A=-"};
    for (size_t i = 0; i < KILN__COUNT(wrong); i++)
        CHECK(!kiln__settings_read(&arena, wrong[i], &got));
    kiln__arena_free(&arena);
    kiln__text_free(&text);
}

static const check_case cases[] = {
    {"a copy is its own", a_copy_is_its_own},
    {"one is found", one_is_found},
    {"they read back", they_read_back},
};
KILN_SUITE("expr.settings", cases)
