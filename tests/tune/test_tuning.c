/* Tests the outcome of a sweep: ranking, totals, and copies. The suite needs no device. */
#include "check.h"
#include "tuning_internal.h"

static const kiln_setting settings[] = {{"TILE", {KILN_INT, {.i = 16}}}, {"CACHE", {KILN_TEXT, {.text = "ca"}}}};

/* Adds a sample whose TILE is `tag`. */
static void add(kiln_tuning *tuning, int tag, kiln_status status, kiln_result result)
{
    kiln_setting params[] = {settings[0], settings[1]};
    params[0].value.as.i = tag;
    kiln_sample *sample = kiln__tuning_sample(tuning, "plain", (kiln__settings){2, params});
    CU_ASSERT_PTR_NOT_NULL_FATAL(sample);
    *kiln__tuning_result(sample) = result;
    CHECK(kiln__tuning_add(tuning, sample, status, status == KILN_OK ? "" : "for a reason"));
}

static long tag_at(const kiln_tuning *tuning, size_t rank)
{
    const kiln_sample *sample = kiln_tuning_sample(tuning, rank);
    return sample ? (long)sample->params[0].value.as.i : -1;
}

static void ranks_by_time_then_failures(void)
{
    kiln_tuning *tuning = kiln__tuning_new(NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tuning);
    add(tuning, 1, KILN_ERROR_COMPILE, (kiln_result){.measured = 1, .seconds = 1});
    add(tuning, 2, KILN_OK, (kiln_result){.measured = 1, .seconds = 3, .verified = 1});
    add(tuning, 3, KILN_OK, (kiln_result){.measured = 1, .seconds = 2});
    add(tuning, 4, KILN_OK, (kiln_result){.measured = 1, .seconds = 3});
    add(tuning, 5, KILN_ERROR_WRONG_ANSWER, (kiln_result){0});
    add(tuning, 6, KILN_OK, (kiln_result){.measured = 1, .seconds = 3});
    CU_ASSERT_EQUAL(tuning->best->params[0].value.as.i, 3);
    kiln__tuning_rank(tuning);
    /* samples with equal times, and failed ones, keep the order in which they were added */
    const long want[] = {3, 2, 4, 6, 1, 5};
    for (size_t i = 0; i < KILN__COUNT(want); i++)
        CU_ASSERT_EQUAL(tag_at(tuning, i), want[i]);
    CU_ASSERT_EQUAL(kiln_tuning_count(tuning), KILN__COUNT(want));
    CHECK(kiln_tuning_sample(tuning, KILN__COUNT(want)) == NULL);
    const kiln_sample *failed = kiln_tuning_sample(tuning, 4);
    CHECK_TEXT(failed->message, "for a reason");
    CU_ASSERT_EQUAL(failed->result->seconds, 0); /* a failed sample keeps no result of its run */
    kiln_tuning_totals totals;
    totals = *kiln_tuning_sum(tuning);
    CU_ASSERT_EQUAL(totals.configurations, 6);
    CU_ASSERT_EQUAL(totals.failed, 2);
    CU_ASSERT_EQUAL(totals.verified, 1);
    kiln_tuning_free(tuning);
    kiln_tuning_free(NULL);
}

static void ranks_what_was_not_measured(void)
{
    kiln_tuning *tuning = kiln__tuning_new(NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tuning);
    /* `seconds` has no meaning in this result */
    add(tuning, 1, KILN_OK, (kiln_result){.host_seconds = 3, .seconds = 1});
    add(tuning, 2, KILN_OK, (kiln_result){.host_seconds = 2, .seconds = 9});
    kiln__tuning_rank(tuning);
    CU_ASSERT_EQUAL(tag_at(tuning, 0), 2);
    kiln_result estimated = {.estimated = 1, .seconds = 5, .host_seconds = 1};
    CU_ASSERT_EQUAL(kiln__result_seconds(&estimated), 5);
    kiln_tuning_free(tuning);
}

/* Samples in every order are ranked correctly, and equal ones keep their order. */
static void ranks_many(void)
{
    for (size_t count = 0; count < 70; count++) {
        kiln_tuning *tuning = kiln__tuning_new(NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(tuning);
        unsigned state = 12345 + (unsigned)count;
        for (size_t i = 0; i < count; i++) {
            state = state * 1664525u + 1013904223u;
            bool bad = (state >> 28) == 0;
            add(tuning, (int)i, bad ? KILN_ERROR_LAUNCH : KILN_OK,
                (kiln_result){.measured = 1, .seconds = (double)((state >> 24) & 7)});
        }
        kiln__tuning_rank(tuning);
        for (size_t i = 1; i < count; i++) {
            const kiln_sample *a = kiln_tuning_sample(tuning, i - 1), *b = kiln_tuning_sample(tuning, i);
            bool both = a->status == KILN_OK && b->status == KILN_OK;
            CHECK(!(a->status != KILN_OK && b->status == KILN_OK));
            CHECK(!both || a->result->seconds <= b->result->seconds);
            bool equal = both ? a->result->seconds == b->result->seconds : a->status != KILN_OK && b->status != KILN_OK;
            CHECK(!equal || a->params[0].value.as.i < b->params[0].value.as.i);
        }
        kiln_tuning_free(tuning);
    }
}

static void copies_what_it_is_given(void)
{
    char variant[] = "plain", name[] = "CACHE", text[] = "ca";
    kiln_setting params[] = {{name, {KILN_TEXT, {.text = text}}}};
    kiln_tuning *tuning = kiln__tuning_new(NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tuning);
    kiln_sample *sample = kiln__tuning_sample(tuning, variant, (kiln__settings){1, params});
    CU_ASSERT_PTR_NOT_NULL_FATAL(sample);
    memset(variant, 'x', sizeof variant - 1);
    memset(name, 'x', sizeof name - 1);
    memset(text, 'x', sizeof text - 1);
    CHECK_TEXT(sample->variant, "plain");
    CHECK_TEXT(sample->params[0].name, "CACHE");
    CHECK_TEXT(sample->params[0].value.as.text, "ca");
    CHECK_TEXT(sample->message, "");
    kiln_tuning_free(tuning);
}

/* Adds and ranks samples with an allocator that fails at the n-th call, for each n. Nothing leaks, and the ranking
 * stays right. */
static void survives_no_memory(void)
{
    int finished = 0;
    for (long n = 0; !finished && n < 1000; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln_tuning *tuning = kiln__tuning_new(&mem);
        bool ok = tuning != NULL;
        for (int i = 0; ok && i < 20; i++) {
            kiln_sample *sample = kiln__tuning_sample(tuning, "plain", (kiln__settings){2, settings});
            ok = sample != NULL;
            if (ok)
                *kiln__tuning_result(sample) = (kiln_result){.measured = 1, .seconds = 20 - i};
            ok = ok && kiln__tuning_add(tuning, sample, i % 7 ? KILN_OK : KILN_ERROR_LAUNCH, "refused");
        }
        if (tuning) {
            kiln__tuning_rank(tuning);
            for (size_t i = 1; ok && i < 17; i++)
                CHECK(kiln_tuning_sample(tuning, i - 1)->result->seconds <=
                      kiln_tuning_sample(tuning, i)->result->seconds);
        }
        CHECK(ok || oom.failed);
        finished = !oom.failed;
        kiln_tuning_free(tuning);
        CU_ASSERT_EQUAL(oom.live, 0);
    }
    CHECK(finished);
}

static const check_case cases[] = {
    {"ranks by time, then failures", ranks_by_time_then_failures},
    {"ranks what was not measured", ranks_what_was_not_measured},
    {"ranks many", ranks_many},
    {"copies what it is given", copies_what_it_is_given},
    {"survives no memory", survives_no_memory},
};
KILN_SUITE("tune.tuning", cases)
