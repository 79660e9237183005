/* check.h - the common part of the CUnit suites. A suite is a table of tests and the macro KILN_SUITE. An argument of
 * the program runs the test with this name, and `-l` lists the tests; see check_main() below. */
#ifndef KILN_TESTS_CHECK_H
#define KILN_TESTS_CHECK_H

#include <CUnit/Basic.h>
#include <locale.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "kiln.h"

/* The builds in which a case is left out, with a skip in the output. Other builds run the case, and a sanitizer would
 * find nothing in it. If the user names the case, it runs in every build. */
typedef enum check_where {
    CHECK_ANYWHERE,
    CHECK_ONE_THREAD, /* the case does not run under the thread sanitizer */
    CHECK_LONG,       /* the case takes long and tests results, so it does not run under a sanitizer */
} check_where;
typedef struct check_case {
    const char *name;
    void (*run)(void);
    check_where where;
} check_case;
#pragma GCC diagnostic ignored "-Wmissing-field-initializers" /* `where` is mostly left to be CHECK_ANYWHERE */
#if defined(__SANITIZE_THREAD__)
#define CHECK_SANITIZER "thread"
#elif defined(__SANITIZE_ADDRESS__)
#define CHECK_SANITIZER "address"
#else
#define CHECK_SANITIZER ""
#endif
static inline bool check_is_left_out(const check_case *one)
{
    return one->where == CHECK_LONG ? CHECK_SANITIZER[0] != 0
                                    : one->where == CHECK_ONE_THREAD && CHECK_SANITIZER[0] == 't';
}

/* Fails the test with both texts shown. */
#define CHECK_TEXT(got, want)                                                                                          \
    do {                                                                                                               \
        const char *got_ = (got), *want_ = (want);                                                                     \
        int same_ = got_ && strcmp(got_, want_) == 0;                                                                  \
        if (!same_)                                                                                                    \
            fprintf(stderr, "%s:%d:\n  got:  %s\n  want: %s\n", __FILE__, __LINE__, got_ ? got_ : "(null)", want_);    \
        CU_ASSERT_TRUE(same_);                                                                                         \
    } while (0)
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        int holds_ = !!(condition);                                                                                    \
        if (!holds_)                                                                                                   \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);                             \
        CU_ASSERT_TRUE(holds_);                                                                                        \
    } while (0)
/* Checks that the status is KILN_OK. Otherwise prints and frees `error`, a kiln_error *. */
#define CHECK_OK(status, error)                                                                                        \
    do {                                                                                                               \
        kiln_status got_ = (status);                                                                                   \
        if (got_ != KILN_OK)                                                                                           \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, kiln_status_name(got_), kiln_error_message(error)); \
        CU_ASSERT_EQUAL(got_, KILN_OK);                                                                                \
        kiln_error_free(error);                                                                                        \
        (error) = NULL;                                                                                                \
    } while (0)

/* An allocator that fails the n-th allocation and counts the live blocks. A test runs each constructor with the 1st,
 * 2nd, ... allocation failing. The members are atomic, because an engine's threads allocate while the test reads
 * `failed`. */
typedef struct check_oom {
    _Atomic long countdown; /* below 0: no allocation fails */
    _Atomic long live;
    _Atomic int failed;
} check_oom;
static inline void *check_oom_resize(void *user, void *pointer, size_t size)
{
    check_oom *oom = user;
    if (size == 0) {
        oom->live -= pointer != NULL;
        free(pointer);
        return NULL;
    }
    if (oom->countdown >= 0 && atomic_fetch_sub(&oom->countdown, 1) == 0) {
        oom->failed = 1;
        return NULL;
    }
    void *made = realloc(pointer, size);
    if (made && !pointer)
        oom->live++;
    return made;
}

static inline const check_case *check_find(const check_case *cases, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(cases[i].name, name) == 0)
            return &cases[i];
    return NULL;
}

/* Prints the existing name that is nearest to an unknown one, or all names. */
static inline void check_suggest(const check_case *cases, size_t count, const char *name)
{
    const char *names[256];
    size_t known = count < KILN__COUNT(names) ? count : KILN__COUNT(names);
    for (size_t i = 0; i < known; i++)
        names[i] = cases[i].name;
    const char *nearest = kiln__nearest(name, names, known);
    fprintf(stderr, "there is no case '%s'; ", name);
    if (nearest)
        fprintf(stderr, "did you mean '%s'?\n", nearest);
    else
        fprintf(stderr, "-l lists the %zu that there are\n", count);
}

/* With KILN_TEST_LOCALE the suite runs in the locale of the environment, like a host program that sets its locale.
 * The variable has the decimal point of that locale, so that a suite cannot run in another locale unnoticed. */
static inline int check_enter_locale(void)
{
    const char *point = getenv("KILN_TEST_LOCALE");
    if (!point)
        return 0;
    if (!setlocale(LC_ALL, "")) {
        printf("SKIP tool: the locale of the environment is not installed (LC_ALL, LOCPATH)\n");
        return 77;
    }
    if (strcmp(localeconv()->decimal_point, point) == 0)
        return 0;
    fprintf(stderr, "the decimal point is '%s', not '%s'\n", localeconv()->decimal_point, point);
    return 2;
}

/* Returns the exit code of main(). Without arguments it runs all cases. The argument NAME runs this case alone, and
 * -l lists the names. */
static inline int check_main(int argc, char **argv, const char *name, const check_case *cases, size_t count)
{
    if (argc == 2 && strcmp(argv[1], "-l") == 0) {
        for (size_t i = 0; i < count; i++)
            puts(cases[i].name);
        return 0;
    }
    int elsewhere = check_enter_locale();
    if (elsewhere)
        return elsewhere;
    if (argc > 1) {
        const check_case *one = argc == 2 ? check_find(cases, count, argv[1]) : NULL;
        if (!one) {
            check_suggest(cases, count, argv[1]);
            return 2;
        }
        cases = one;
        count = 1;
    }
    if (CU_initialize_registry() != CUE_SUCCESS)
        return 2;
    CU_pSuite suite = CU_add_suite(name, NULL, NULL);
    for (size_t i = 0; suite && i < count; i++)
        if (argc == 1 && check_is_left_out(&cases[i]))
            printf("SKIP build: %s: not under the %s sanitizer\n", cases[i].name, CHECK_SANITIZER);
        else if (!CU_add_test(suite, cases[i].name, cases[i].run))
            suite = NULL;
    if (!suite)
        return 2;
    CU_basic_set_mode(CU_BRM_NORMAL);
    CU_basic_run_tests();
    unsigned failures = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failures ? 1 : 0;
}
#define KILN_SUITE(name, cases)                                                                                        \
    int main(int count, char **arguments)                                                                              \
    {                                                                                                                  \
        return check_main(count, arguments, name, cases, sizeof(cases) / sizeof *(cases));                             \
    }
#endif
