/* test_surrogate.c - proposals of the default strategy beyond switches (axes with two values). */
#include <math.h>
#include <string.h>

#include "base.h"
#include "check.h"
#include "search.h"

static kiln_status always_holds(void *user, const uint32_t *point, bool *holds, kiln_error **error)
{
    (void)user, (void)point, (void)error;
    *holds = true;
    return KILN_OK;
}

enum { SIDE = 12, SWITCH_POINTS = 2 * SIDE * SIDE * SIDE };

static kiln_status switch_at(void *user, uint64_t number, uint32_t *point, kiln_error **error)
{
    (void)user, (void)error;
    point[0] = 0;
    point[1] = (uint32_t)(number % 2);
    number /= 2;
    for (size_t a = 2; a <= 4; a++, number /= SIDE)
        point[a] = (uint32_t)(number % SIDE);
    return KILN_OK;
}

/* With the value 0 of the switch, the times form a bowl, whose best time is 1.5. With the value 1, each wrong value on
 * one of the other axes makes the time 1.8 to 2.5 times as long. So only the optimum, which takes 1, is faster than the
 * bowl. */
static double switch_value(const uint32_t *point)
{
    if (point[1] == 0)
        return 1.5 * (1 + 0.1 * (fabs(point[2] - 3.0) + fabs(point[3] - 3.0) + fabs(point[4] - 4.0)));
    return (point[2] == 9 ? 1 : 2.5) * (point[3] == 10 ? 1 : 2) * (point[4] == 8 ? 1 : 1.8);
}

/* The search needs fewer than 100 tries in the mean. Without proposals beyond switches it needs more than 1,000. */
static void test_switch(void)
{
    enum { SEEDS = 10, MOST = 300 };
    const kiln__part_axis axes[] = {{2, true, NULL}, {SIDE, true, NULL}, {SIDE, true, NULL}, {SIDE, true, NULL}};
    const kiln__part part = {4, axes};
    const kiln__points points = {
        .count = SWITCH_POINTS, .part_count = 1, .width = 5, .parts = &part, .at = switch_at, .holds = always_holds};
    size_t tried = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        kiln__search *search = NULL;
        uint32_t point[5];
        bool found = true;
        CHECK(kiln__search_open(&points, kiln__strategy_find("surrogate"), seed, &search, NULL) == KILN_OK);
        for (double value = 0; value != 1 && found; tried++) {
            CHECK(kiln__search_ask(search, point, &found, NULL) == KILN_OK && found);
            value = switch_value(point);
            CHECK(kiln__search_tell(search, point, value, 0, NULL) == KILN_OK);
        }
        kiln__search_free(search);
    }
    if (tried >= MOST * SEEDS)
        fprintf(stderr, "beyond a switch: tried %zu in the mean\n", tried / SEEDS);
    CHECK(tried < MOST * SEEDS);
}

enum { FEW = 4, SINGLE = 2 * FEW * FEW * FEW };

/* The last point is the only configuration of a variant without params. */
static kiln_status single_at(void *user, uint64_t number, uint32_t *point, kiln_error **error)
{
    (void)user, (void)error;
    memset(point, 0, 5 * sizeof *point);
    point[0] = number == SINGLE;
    point[1] = number == SINGLE ? 0 : (uint32_t)(number % 2);
    number /= 2;
    for (size_t a = 2; a <= 4 && point[0] == 0; a++, number /= FEW)
        point[a] = (uint32_t)(number % FEW);
    return KILN_OK;
}

/* The best configuration has no axes, and so no switch. The search still proposes every point. */
static void test_no_axes(void)
{
    const kiln__part_axis axes[] = {{2, true, NULL}, {FEW, true, NULL}, {FEW, true, NULL}, {FEW, true, NULL}};
    const kiln__part parts[] = {{4, axes}, {0, NULL}};
    const kiln__points points = {
        .count = SINGLE + 1, .part_count = 2, .width = 5, .parts = parts, .at = single_at, .holds = always_holds};
    for (uint64_t seed = 1; seed <= 5; seed++) {
        kiln__search *search = NULL;
        uint32_t point[5];
        bool found = true;
        CHECK(kiln__search_open(&points, kiln__strategy_find("surrogate"), seed, &search, NULL) == KILN_OK);
        for (size_t i = 0; i <= SINGLE && found; i++) {
            CHECK(kiln__search_ask(search, point, &found, NULL) == KILN_OK && found);
            CHECK(kiln__search_tell(search, point, point[0] ? 0.5 : switch_value(point), 0, NULL) == KILN_OK);
        }
        kiln__search_free(search);
    }
}

static const check_case cases[] = {{"beyond a switch", test_switch}, {"the best has no axes", test_no_axes}};
KILN_SUITE("surrogate", cases)
