#include <math.h>
#include <stdlib.h>

#include "base.h"
#include "check.h"
#include "search.h"

/* ---- spaces of two variants, of which one has constraints ---- */

static const char text[] = "kiln: 1\nname: t\nsource: t.cu\nsizes: {default: {N: 100}}\n"
                           "variants:\n"
                           "  small:\n    params:\n      a: [1, 2, 4]\n      how: [x, y, z]\n"
                           "    launch: {kernel: k, grid: 1, block: 1, args: []}\n"
                           "  large:\n    params:\n      a: [1, 2, 4, 8, 16]\n      b: [1, 2, 3, 4, 5, 6]\n"
                           "      c: [0, 1]\n      d: [10, 20, 30, 40]\n"
                           "    where: [a * b <= 40, c == 0 or b > 2]\n"
                           "    launch: {kernel: k, grid: 1, block: 1, args: []}\n";

typedef struct world {
    kiln_spec *spec;
    kiln__scope outer;
    kiln__space *spaces[2];
    const kiln__variant *variants[2];
    kiln__union *whole;
    const kiln__points *points;
} world;

/* Opens the space of a spec that has one or two variants. */
static bool open_world_of(world *w, const char *spec)
{
    kiln_error *error = NULL;
    *w = (world){0};
    CHECK_OK(kiln__spec_parse(NULL, spec, strlen(spec), "t.yaml", NULL, &w->spec, &error), error);
    if (!w->spec)
        return false;
    w->outer = (kiln__scope){.settings = w->spec->size_sets[0].settings};
    for (size_t v = 0; v < w->spec->variant_count; v++) {
        w->variants[v] = &w->spec->variants[v];
        CHECK_OK(kiln__space_open(NULL, w->variants[v], &w->outer, (kiln__settings){0}, &w->spaces[v], &error), error);
    }
    CHECK_OK(kiln__union_open(NULL, (const kiln__space *const *)w->spaces, w->variants, w->spec->variant_count, NULL,
                              &w->whole, &error),
             error);
    w->points = w->whole ? kiln__union_points(w->whole) : NULL;
    return w->points != NULL;
}

static bool open_world(world *w) { return open_world_of(w, text); }

static void close_world(world *w)
{
    kiln__union_free(w->whole);
    kiln__space_free(w->spaces[0]);
    kiln__space_free(w->spaces[1]);
    kiln_spec_free(w->spec);
}

static bool valid(const world *w, const uint32_t *point)
{
    kiln_setting settings[4];
    kiln__union_settings(w->whole, point, settings);
    return kiln__space_check(w->spaces[point[0]], settings, NULL) == KILN_OK;
}

/* Steps to the next point that the axes allow, valid or not. Returns false after the last point. */
static bool step(const kiln__points *points, uint32_t *point)
{
    const kiln__part *part = &points->parts[point[0]];
    for (size_t i = part->axis_count; i > 0; i--) {
        if (++point[i] < part->axes[i - 1].values)
            return true;
        point[i] = 0;
    }
    return ++point[0] < points->part_count;
}

static void test_union(void)
{
    world w;
    if (!open_world(&w))
        return;
    /* 9; a b <= 40 leaves 6+6+6+5+2 = 25 pairs, of which 2 for each a have b <= 2 and so one c: 15 x 2 + 10, times 4 */
    CHECK(w.points->count == 9 + 4 * (15 * 2 + 10));
    CHECK(w.points->width == 5);
    uint32_t point[5] = {0};
    size_t valid_count = 0;
    do {
        bool holds;
        CHECK(w.points->holds(w.points->user, point, &holds, NULL) == KILN_OK);
        CHECK(holds == valid(&w, point));
        valid_count += holds;
    } while (step(w.points, point));
    CHECK(valid_count == w.points->count);
    for (uint64_t n = 0; n < w.points->count; n++) {
        CHECK(w.points->at(w.points->user, n, point, NULL) == KILN_OK);
        CHECK(valid(&w, point) && point[0] == (n >= 9));
    }
    CHECK(w.points->at(w.points->user, w.points->count, point, NULL) == KILN_ERROR_ARGUMENT);
    close_world(&w);
}

/* Returns the distance of two points: the number of axes that differ, and 100 more for another part. */
static size_t apart(const kiln__points *points, const uint32_t *a, const uint32_t *b, bool *adjacent)
{
    size_t count = a[0] == b[0] ? 0 : 100;
    *adjacent = true;
    for (size_t i = 1; i < points->width; i++)
        if (a[i] != b[i]) {
            bool ordered = count < 100 && points->parts[a[0]].axes[i - 1].ordered;
            count++;
            *adjacent &= !ordered || a[i] + 1 == b[i] || b[i] + 1 == a[i];
        }
    return count;
}

/* Tests that the neighbours of each point are the points that a comparison of all pairs finds, for both kinds of
 * neighbourhood. */
static void test_neighbours(void)
{
    world w;
    if (!open_world(&w))
        return;
    uint32_t point[5], *list = NULL;
    size_t capacity = 0;
    for (uint64_t n = 0; n < w.points->count; n++)
        for (int kind = KILN__ADJACENT; kind <= KILN__HAMMING; kind++) {
            size_t count = 0, brute = 0;
            bool adjacent;
            uint32_t other[5] = {0};
            CHECK(w.points->at(w.points->user, n, point, NULL) == KILN_OK);
            CHECK(kiln__points_neighbours(w.points, (kiln__neighbourhood)kind, point, &list, &capacity, &count, NULL) ==
                  KILN_OK);
            do
                brute += valid(&w, other) && apart(w.points, point, other, &adjacent) == 1 && (kind || adjacent);
            while (step(w.points, other));
            CHECK(count == brute);
            for (size_t i = 0; i < count; i++) {
                const uint32_t *one = list + i * w.points->width;
                CHECK(valid(&w, one) && apart(w.points, point, one, &adjacent) == 1 && (kind || adjacent));
                for (size_t k = 0; k < i; k++)
                    CHECK(memcmp(one, list + k * w.points->width, w.points->width * sizeof *one) != 0);
            }
        }
    kiln__free(NULL, list);
    close_world(&w);
}

static void test_shuffle(void)
{
    static const uint64_t counts[] = {1, 2, 3, 4, 5, 16, 17, 1000, 4096, 4097};
    unsigned char seen[4097];
    for (size_t c = 0; c < KILN__COUNT(counts); c++)
        for (uint64_t seed = 0; seed < 3; seed++) {
            kiln__shuffle shuffle = kiln__shuffle_start(counts[c], seed);
            memset(seen, 0, sizeof seen);
            for (uint64_t i = 0; i < counts[c]; i++) {
                uint64_t at = kiln__shuffled(&shuffle, i);
                CHECK(at < counts[c] && !seen[at]);
                seen[at < counts[c] ? at : 0] = 1;
            }
        }
    /* The draws must be uniform: over many seeds each of 10 numbers comes first about equally often. 5 sigma of
     * 10,000 draws are 150. */
    unsigned first[10] = {0};
    for (uint64_t seed = 0; seed < 10000; seed++) {
        kiln__shuffle shuffle = kiln__shuffle_start(10, seed);
        first[kiln__shuffled(&shuffle, 0)]++;
    }
    for (size_t i = 0; i < 10; i++)
        CHECK(first[i] > 850 && first[i] < 1150);
    /* The largest possible ranges. */
    kiln__shuffle huge = kiln__shuffle_start(UINT64_MAX, 1);
    CHECK(kiln__shuffled(&huge, 0) != kiln__shuffled(&huge, 1));
    CHECK(kiln__shuffled(&huge, UINT64_MAX - 1) < UINT64_MAX);
}

/* ---- strategies ---- */

/* Returns the time of a point: a bowl with its minimum at a=4 b=5 c=1 d=30 of the variant `large`. Some points fail. */
static double value_of(const uint32_t *p)
{
    if (p[0] == 0)
        return 40 + p[1] + p[2];
    if (p[1] == 0 && p[4] == 0)
        return HUGE_VAL;
    double a = p[1] - 2.0, b = p[2] - 4.0, c = p[3] - 1.0, d = p[4] - 2.0;
    return 1 + a * a + b * b + 2 * c * c + d * d;
}

static kiln__search *open_search(const world *w, const char *name, uint64_t seed)
{
    kiln__search *search = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln__search_open(w->points, kiln__strategy_find(name), seed, &search, &error), error);
    return search;
}

/* Searches the whole space. Each point must come once and be valid. Returns the number of points until the best one.
 * `ahead` points wait for their answers at a time. */
static size_t run_all(const world *w, const char *name, uint64_t seed, size_t ahead)
{
    kiln__search *search = open_search(w, name, seed);
    uint32_t(*asked)[5] = calloc((size_t)w->points->count + 1, sizeof *asked);
    size_t count = 0, told = 0, found_at = 0;
    bool found = true;
    while (found && count <= w->points->count) {
        CHECK(kiln__search_ask(search, asked[count], &found, NULL) == KILN_OK);
        if (found) {
            CHECK(valid(w, asked[count]));
            for (size_t i = 0; i < count; i++)
                CHECK(memcmp(asked[i], asked[count], sizeof *asked) != 0);
            count++;
        }
        while (told < count && (!found || told + ahead < count)) {
            double value = value_of(asked[told]);
            CHECK(kiln__search_tell(search, asked[told++], value, 0, NULL) == KILN_OK);
            if (value == 1)
                found_at = told;
        }
    }
    CHECK(count == w->points->count && found_at > 0);
    kiln__search_free(search);
    free(asked);
    return found_at;
}

static void test_strategies(void)
{
    world w;
    if (!open_world(&w))
        return;
    for (size_t n = 0; kiln_strategy_name(n); n++) {
        const char *name = kiln_strategy_name(n);
        size_t alone = 0, ahead = 0;
        CHECK(*kiln_strategy_about(n));
        for (uint64_t seed = 0; seed < 20; seed++) {
            alone += run_all(&w, name, seed, 0);
            ahead += run_all(&w, name, seed, 8);
        }
        /* at random a search takes 85 of the 169 points on average; means of twenty runs vary by 11 */
        bool blind = strcmp(name, "random") == 0 || strcmp(name, "exhaustive") == 0;
        if (!blind && (alone >= 20 * 60 || ahead >= 20 * 70))
            fprintf(stderr, "%s: %zu, %zu\n", name, alone / 20, ahead / 20);
        CHECK(blind || (alone < 20 * 60 && ahead < 20 * 70));
    }
    close_world(&w);
}

/* ---- failures ---- */

enum { BOWL_AXES = 4, BOWL_VALUES = 12 };

/* Returns a smooth time with one optimum, 1, which is not in the middle of any axis. */
static double bowl(const uint32_t *point)
{
    static const double least[BOWL_AXES] = {8, 3, 6, 9}, wide[BOWL_AXES] = {20, 8, 30, 12};
    double sum = 1;
    for (size_t a = 0; a < BOWL_AXES; a++)
        sum += ((double)point[1 + a] - least[a]) * ((double)point[1 + a] - least[a]) / wide[a];
    return sum;
}

typedef enum spread { SCATTERED, MOSTLY, CLUSTERED } spread;

/* Returns whether a point fails. Failures are one of two points or nine of ten at random, or all points on one side
 * of a plane near the optimum. */
static bool fails(spread kind, const uint32_t *point, uint64_t seed)
{
    uint64_t hash = seed;
    for (size_t a = 0; a < BOWL_AXES; a++)
        hash = kiln__random_mix(hash * 31 + point[1 + a]);
    return kind == CLUSTERED ? point[1] + point[2] > 11 : hash % 10 < (kind == SCATTERED ? 5 : 9);
}

/* Returns the logarithm of the best time that a search found, divided by the optimum; the mean of twenty searches. */
static double search_bowl(const world *w, spread kind, size_t tries)
{
    enum { SEEDS = 20 };
    double lost = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        kiln__search *search = open_search(w, "surrogate", seed);
        uint32_t point[1 + BOWL_AXES];
        double best = HUGE_VAL, least = HUGE_VAL;
        for (uint64_t i = 0; i < w->points->count; i++) {
            CHECK(w->points->at(w->points->user, i, point, NULL) == KILN_OK);
            least = fails(kind, point, seed) ? least : fmin(least, bowl(point));
        }
        for (size_t i = 0; i < tries; i++) {
            bool found = false;
            CHECK(kiln__search_ask(search, point, &found, NULL) == KILN_OK && found);
            double value = fails(kind, point, seed) ? HUGE_VAL : bowl(point);
            best = fmin(best, value);
            CHECK(kiln__search_tell(search, point, value, 0, NULL) == KILN_OK);
        }
        lost += log(best / least) / SEEDS;
        kiln__search_free(search);
    }
    return lost;
}

/* Failures that are scattered at random tell nothing of their neighbours, so the search must not avoid these. Failures on
 * one side of a limit do, and the search must keep away from there. */
static void test_failures(void)
{
    kiln__text t = {0};
    kiln__text_puts(&t, "kiln: 1\nname: t\nsource: t.cu\nsizes: {default: {N: 100}}\nparams:\n");
    for (int p = 0; p < BOWL_AXES; p++)
        kiln__text_printf(&t, "  p%d: {from: 1, to: %d}\n", p, BOWL_VALUES);
    kiln__text_puts(&t, "launch: {kernel: k, grid: 1, block: 1, args: []}\n");
    world w;
    if (open_world_of(&w, t.data)) {
        double scattered = search_bowl(&w, SCATTERED, 60), mostly = search_bowl(&w, MOSTLY, 200),
               clustered = search_bowl(&w, CLUSTERED, 40);
        if (scattered >= 0.25 || mostly >= 0.5 || clustered >= 0.22)
            fprintf(stderr, "lost %.4f, %.4f, %.4f\n", scattered, mostly, clustered);
        CHECK(scattered < 0.25);
        CHECK(mostly < 0.5);
        CHECK(clustered < 0.22);
        close_world(&w);
    }
    kiln__text_free(&t);
}

/* The kinds of hints: no hints, the true values with an error of up to 30 %, random values, and the opposite of the
 * true values. */
typedef enum hint_kind { NO_HINTS, RIGHT, RANDOM, REVERSED, HINT_KINDS } hint_kind;

static double hint_of(hint_kind kind, const uint32_t *point, uint64_t number)
{
    double noise = (double)(kiln__random_mix(number) >> 11) * 0x1p-53;
    return kind == RIGHT    ? value_of(point) * (0.7 + 0.6 * noise)
           : kind == RANDOM ? 1 + 50 * noise
                            : 50 / fmin(value_of(point), 100);
}

static double hint_at(const world *w, hint_kind kind, const uint32_t *point, uint64_t seed)
{
    uint32_t other[5];
    for (uint64_t i = 0; i < w->points->count; i++)
        if (w->points->at(w->points->user, i, other, NULL) == KILN_OK && memcmp(other, point, sizeof other) == 0)
            return hint_of(kind, point, i + 1000 * seed);
    return 0;
}

/* Returns the number of points that are tried until the best one is found. Only every `of`th point has a hint. */
static size_t run_hinted(const world *w, hint_kind kind, uint64_t seed, uint64_t of)
{
    kiln__search *search = open_search(w, "surrogate", seed);
    uint32_t point[5], least[5] = {0};
    double expected = HUGE_VAL;
    for (uint64_t i = 0; i < w->points->count && kind != NO_HINTS; i++) {
        CHECK(w->points->at(w->points->user, i, point, NULL) == KILN_OK);
        double value = hint_of(kind, point, i + 1000 * seed);
        if ((i + seed) % of)
            continue;
        CHECK(kiln__search_hint(search, point, value, NULL) == KILN_OK);
        CHECK(kiln__search_hint(search, point, 1e-3, NULL) == KILN_OK); /* the first hint for a point counts */
        if (value > 0 && value < expected) {
            expected = value;
            memcpy(least, point, sizeof least);
        }
    }
    size_t tried = 0;
    bool found = true, hinted = false;
    double came[2] = {0}, expect[2] = {0};
    for (double value = 0; value != 1 && found;) {
        CHECK(kiln__search_ask(search, point, &found, NULL) == KILN_OK && found);
        hinted |= memcmp(point, least, sizeof least) == 0;
        value = value_of(point);
        if (tried < 2 && of == 1) {
            came[tried] = value;
            expect[tried] = hint_at(w, kind, point, seed);
        }
        /* the first two results agree with the order of the hints, so the best hint comes next, unless it was one of
         * these two */
        const bool agreed = (came[0] < came[1]) == (expect[0] < expect[1]);
        if (kind != NO_HINTS && of == 1 && tried == 2 && came[0] != came[1] && expect[0] != expect[1])
            CHECK(agreed ? hinted : kind == RANDOM || memcmp(point, least, sizeof least) != 0);
        CHECK(kiln__search_tell(search, point, value, 0, NULL) == KILN_OK);
        tried++;
    }
    /* Hints are refused after the search has begun. */
    CHECK(kiln__search_hint(search, point, 1, NULL) == KILN_ERROR_ARGUMENT);
    kiln__search_free(search);
    return tried;
}

/* Right hints save most of a search. Wrong hints cost a few configurations. */
static void test_hints(void)
{
    enum { SEEDS = 20 };
    world w;
    if (!open_world(&w))
        return;
    size_t tried[HINT_KINDS] = {0}, half = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        for (hint_kind kind = NO_HINTS; kind < HINT_KINDS; kind++)
            tried[kind] += run_hinted(&w, kind, seed, 1);
        half += run_hinted(&w, RIGHT, seed, 2);
    }
    bool good = 2 * tried[RIGHT] < tried[NO_HINTS] && half < tried[NO_HINTS] &&
                tried[RANDOM] < tried[NO_HINTS] + 8 * SEEDS && tried[REVERSED] < tried[NO_HINTS] + 8 * SEEDS;
    if (!good)
        fprintf(stderr, "of %d searches: none %zu, right %zu, of half %zu, random %zu, reversed %zu\n", SEEDS,
                tried[NO_HINTS], tried[RIGHT], half, tried[RANDOM], tried[REVERSED]);
    CHECK(good);
    close_world(&w);
}

/* ---- hints that are wrong, on generated spaces ---- */

enum { GRID_AXES = 6, GRID_POINTS = 8 * 6 * 5 * 4 * 4 * 3 };
static const kiln__part_axis grid_axes[GRID_AXES] = {{8, true}, {6, true}, {5, true}, {4, true}, {4, false}, {3, true}};

static kiln_status grid_at(void *user, uint64_t number, uint32_t *point, kiln_error **error)
{
    (void)user, (void)error;
    point[0] = 0;
    for (size_t i = 0; i < GRID_AXES; i++, number /= grid_axes[i - 1].values)
        point[1 + i] = (uint32_t)(number % grid_axes[i].values);
    return KILN_OK;
}

static kiln_status grid_holds(void *user, const uint32_t *point, bool *holds, kiln_error **error)
{
    (void)user, (void)point, (void)error;
    *holds = true;
    return KILN_OK;
}

/* Returns times over two orders of magnitude: a best value of each axis, two pairs of axes that depend on each other,
 * and some noise. The seed decides how much each of these matters. */
static double grid_value(const uint32_t *point, uint64_t seed)
{
    kiln__random random = {.state = seed};
    double far[GRID_AXES], sum = 0;
    uint64_t at = seed;
    for (size_t i = 0; i < GRID_AXES; i++) {
        uint32_t values = grid_axes[i].values, best = (uint32_t)kiln__random_below(&random, values);
        double weight = 2 * kiln__random_unit(&random);
        far[i] = ((double)point[1 + i] - (double)best) / (double)(values - 1);
        sum += weight * far[i] * far[i];
        at = at * 31 + point[1 + i];
    }
    double together = far[0] * far[1], others = far[2] * far[4];
    return exp(sum + together * together + others * others + 0.05 * (double)(kiln__random_mix(at) >> 11) * 0x1p-53);
}

/* Returns the loss of a search: the sum over its first tries of the logarithm of the best time so far. */
static double lose_on_grid(hint_kind kind, uint64_t seed)
{
    enum { TRIES = 24 };
    const kiln__part part = {GRID_AXES, grid_axes};
    const kiln__points points = {.count = GRID_POINTS,
                                 .part_count = 1,
                                 .width = GRID_AXES + 1,
                                 .parts = &part,
                                 .at = grid_at,
                                 .holds = grid_holds};
    kiln__search *search = NULL;
    uint32_t point[GRID_AXES + 1];
    double best = HUGE_VAL, lost = 0;
    bool found = true;
    CHECK(kiln__search_open(&points, kiln__strategy_find("surrogate"), seed, &search, NULL) == KILN_OK);
    for (uint64_t i = 0; i < GRID_POINTS && kind != NO_HINTS; i += 4) {
        CHECK(grid_at(NULL, i, point, NULL) == KILN_OK);
        double value = grid_value(point, seed), noise = (double)(kiln__random_mix(i + seed) >> 11) * 0x1p-53;
        value = kind == RIGHT ? value * (0.7 + 0.6 * noise) : kind == RANDOM ? exp(4 * noise) : 1 / value;
        CHECK(kiln__search_hint(search, point, value, NULL) == KILN_OK);
    }
    for (size_t i = 0; i < TRIES; i++) {
        CHECK(kiln__search_ask(search, point, &found, NULL) == KILN_OK && found);
        double value = grid_value(point, seed);
        CHECK(kiln__search_tell(search, point, value, 0, NULL) == KILN_OK);
        best = fmin(best, value);
        lost += log(best);
    }
    kiln__search_free(search);
    return lost;
}

/* Right hints avoid most of the loss. Random hints and opposite hints add almost nothing to it. */
static void test_wrong_hints(void)
{
    enum { SEEDS = 120 };
    double lost[HINT_KINDS] = {0};
    for (hint_kind kind = NO_HINTS; kind < HINT_KINDS; kind++)
        for (uint64_t seed = 1; seed <= SEEDS; seed++)
            lost[kind] += lose_on_grid(kind, seed) / SEEDS;
    bool good = lost[RIGHT] < 0.4 * lost[NO_HINTS] && lost[RANDOM] < 1.1 * lost[NO_HINTS] &&
                lost[REVERSED] < 1.1 * lost[NO_HINTS];
    if (!good)
        fprintf(stderr, "lost without hints %.2f; right %.2f, random %.2f, reversed %.2f\n", lost[NO_HINTS],
                lost[RIGHT], lost[RANDOM], lost[REVERSED]);
    CHECK(good);
}

/* Exact hints: after three answers in the order of the hints, the third point is the best of all, and the fourth is
 * the second best. */
static void test_right_hints(void)
{
    enum { SEEDS = 10, FIRST = 4 };
    const kiln__part part = {GRID_AXES, grid_axes};
    const kiln__points points = {.count = GRID_POINTS,
                                 .part_count = 1,
                                 .width = GRID_AXES + 1,
                                 .parts = &part,
                                 .at = grid_at,
                                 .holds = grid_holds};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        kiln__search *search = NULL;
        uint32_t point[GRID_AXES + 1];
        double best = HUGE_VAL, second = HUGE_VAL, values[FIRST];
        bool found = true;
        CHECK(kiln__search_open(&points, kiln__strategy_find("surrogate"), seed, &search, NULL) == KILN_OK);
        for (uint64_t i = 0; i < GRID_POINTS; i++) {
            CHECK(grid_at(NULL, i, point, NULL) == KILN_OK);
            double value = grid_value(point, seed);
            CHECK(kiln__search_hint(search, point, value, NULL) == KILN_OK);
            second = fmin(second, fmax(best, value));
            best = fmin(best, value);
        }
        for (size_t i = 0; i < FIRST; i++) {
            CHECK(kiln__search_ask(search, point, &found, NULL) == KILN_OK && found);
            values[i] = grid_value(point, seed);
            CHECK(kiln__search_tell(search, point, values[i], 0, NULL) == KILN_OK);
        }
        CHECK(values[2] == best && values[3] == second);
        kiln__search_free(search);
    }
}

/* ---- powers of two ---- */

static void test_which_are_powers(void)
{
    static const struct {
        kiln_value values[6];
        size_t count;
        unsigned powers; /* a bit for each value that is a power of two, or 0 if powers do not tell the values apart */
    } rows[] = {
        {{{KILN_INT, {.i = 16}}, {KILN_INT, {.i = 32}}, {KILN_INT, {.i = 48}}, {KILN_INT, {.i = 64}}}, 4, 0xb},
        {{{KILN_INT, {.i = 1}}, {KILN_INT, {.i = 2}}, {KILN_INT, {.i = 3}}}, 3, 0x3},
        {{{KILN_FLOAT, {.f = 8}}, {KILN_INT, {.i = 12}}, {KILN_FLOAT, {.f = 2}}}, 3, 0x5},
        /* all values are powers of two */
        {{{KILN_INT, {.i = 16}}, {KILN_INT, {.i = 32}}, {KILN_INT, {.i = 64}}}, 3, 0},
        /* only one value is a power of two */
        {{{KILN_INT, {.i = 8}}, {KILN_INT, {.i = 12}}, {KILN_INT, {.i = 24}}}, 3, 0},
        /* consecutive numbers */
        {{{KILN_INT, {.i = 0}}, {KILN_INT, {.i = 1}}, {KILN_INT, {.i = 2}}, {KILN_INT, {.i = 3}}}, 4, 0},
        {{{KILN_INT, {.i = 2}}, {KILN_INT, {.i = -4}}, {KILN_INT, {.i = 4}}}, 3, 0},
        {{{KILN_FLOAT, {.f = 0.5}}, {KILN_INT, {.i = 2}}, {KILN_INT, {.i = 4}}}, 3, 0},
        {{{KILN_TEXT, {.text = "2"}}, {KILN_TEXT, {.text = "4"}}, {KILN_TEXT, {.text = "6"}}}, 3, 0},
        {{{KILN_INT, {.i = 4}}}, 1, 0},
    };
    for (size_t i = 0; i < KILN__COUNT(rows); i++) {
        kiln__arena arena = {0};
        const bool *powers = kiln__find_powers(&arena, rows[i].values, rows[i].count);
        CHECK((powers != NULL) == (rows[i].powers != 0));
        for (size_t k = 0; powers && k < rows[i].count; k++)
            CHECK(powers[k] == (rows[i].powers >> k & 1));
        kiln__arena_free(&arena);
    }
}

enum { SIZES = 24, SIZE_POINTS = SIZES * SIZES };

static kiln_status sizes_at(void *user, uint64_t number, uint32_t *point, kiln_error **error)
{
    (void)user, (void)error;
    point[0] = 0;
    point[1] = (uint32_t)(number % SIZES);
    point[2] = (uint32_t)(number / SIZES);
    return KILN_OK;
}

/* Returns the number of tries until the best point, which has powers of two on both axes, like all fast points. */
static size_t run_sizes(const bool *powers, uint64_t seed)
{
    const kiln__part_axis axes[] = {{SIZES, true, powers}, {SIZES, true, powers}};
    const kiln__part part = {2, axes};
    const kiln__points points = {
        .count = SIZE_POINTS, .part_count = 1, .width = 3, .parts = &part, .at = sizes_at, .holds = grid_holds};
    kiln__search *search = NULL;
    uint32_t point[3];
    size_t tried = 0;
    bool found = true;
    CHECK(kiln__search_open(&points, kiln__strategy_find("surrogate"), seed, &search, NULL) == KILN_OK);
    for (double value = 0; value != 1 && found; tried++) {
        CHECK(kiln__search_ask(search, point, &found, NULL) == KILN_OK && found);
        uint32_t a = point[1] + 1, b = point[2] + 1;
        value = (a & (a - 1) ? 4 : 1) * (b & (b - 1) ? 4 : 1) * (1 + fabs(a - 16.0) / 8 + fabs(b - 4.0) / 8);
        CHECK(kiln__search_tell(search, point, value, 0, NULL) == KILN_OK);
    }
    kiln__search_free(search);
    return tried;
}

static void test_powers(void)
{
    enum { SEEDS = 20 };
    bool powers[SIZES];
    size_t with = 0, without = 0;
    for (uint32_t i = 0; i < SIZES; i++)
        powers[i] = ((i + 1) & i) == 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        with += run_sizes(powers, seed);
        without += run_sizes(NULL, seed);
    }
    if (2 * with >= without)
        fprintf(stderr, "powers of two: tried %zu, without them %zu\n", with, without);
    CHECK(2 * with < without);
}

/* ---- the first points ---- */

enum { WIDTHS = 16, TILES = 4, FEW_AXES = 7, FEW_POINTS = WIDTHS << 2 * (FEW_AXES - 1) };

static kiln_status few_at(void *user, uint64_t number, uint32_t *point, kiln_error **error)
{
    (void)user, (void)error;
    point[0] = 0;
    point[1] = (uint32_t)(number % WIDTHS);
    number /= WIDTHS;
    for (size_t a = 2; a <= FEW_AXES; a++, number /= TILES)
        point[a] = (uint32_t)(number % TILES);
    return KILN_OK;
}

/* The best has 8, 2 and 4 on the first axes; other values than powers of two cost much. Two of the other axes matter. */
static double few_value(const uint32_t *point)
{
    const uint32_t a = point[1] + 1, b = point[2] + 1, c = point[3] + 1;
    const double powers = (a & (a - 1) ? 6 : 1) * (b & (b - 1) ? 3 : 1) * (c & (c - 1) ? 3 : 1);
    return powers * (1 + fabs(log2(a / 8.0)) / 2 + fabs(log2(b / 2.0)) / 4 + fabs(log2(c / 4.0)) +
                     0.5 * (point[4] & 1) + 0.3 * (point[5] & 1));
}

/* The best time after ten tries in a space of 65,536 is exp(0.48) = 1.61 times the optimum (standard error 0.01). If
 * the process accepted at once any length scale that explains a few answers, it would be exp(0.58) times the
 * optimum. */
static void test_first_ten(void)
{
    enum { SEEDS = 400, TEN = 10 };
    static const bool widths[WIDTHS] = {1, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1}, tiles[TILES] = {1, 1, 0, 1};
    const kiln__part_axis axes[FEW_AXES] = {{WIDTHS, true, widths}, {TILES, true, tiles}, {TILES, true, tiles},
                                            {TILES, true, NULL},    {TILES, true, NULL},  {TILES, true, NULL},
                                            {TILES, true, NULL}};
    const kiln__part part = {FEW_AXES, axes};
    const kiln__points points = {
        .count = FEW_POINTS, .part_count = 1, .width = 1 + FEW_AXES, .parts = &part, .at = few_at, .holds = grid_holds};
    double sum = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        kiln__search *search = NULL;
        uint32_t point[1 + FEW_AXES];
        double best = HUGE_VAL;
        bool found = true;
        CHECK(kiln__search_open(&points, kiln__strategy_find("surrogate"), seed, &search, NULL) == KILN_OK);
        for (int i = 0; i < TEN; i++) {
            CHECK(kiln__search_ask(search, point, &found, NULL) == KILN_OK && found);
            best = fmin(best, few_value(point));
            CHECK(kiln__search_tell(search, point, few_value(point), 0, NULL) == KILN_OK);
        }
        sum += log(best) / SEEDS;
        kiln__search_free(search);
    }
    if (sum >= 0.53)
        fprintf(stderr, "the first ten: %g\n", sum);
    CHECK(sum < 0.53);
}

/* ---- points that are asked for before others are answered ---- */

/* Returns how many pairs of points are neighbours among the points whose answers are pending together. The times
 * have many hills, so that the search knows little about most places. */
static size_t ask_together(uint64_t seed)
{
    enum { ANSWERED = 11, TOGETHER = 16 };
    const kiln__part_axis axes[] = {{SIZES, true, NULL}, {SIZES, true, NULL}};
    const kiln__part part = {2, axes};
    const kiln__points points = {
        .count = SIZE_POINTS, .part_count = 1, .width = 3, .parts = &part, .at = sizes_at, .holds = grid_holds};
    kiln__search *search = NULL;
    uint32_t asked[ANSWERED + TOGETHER][3];
    bool found = true;
    size_t near = 0;
    CHECK(kiln__search_open(&points, kiln__strategy_find("surrogate"), seed, &search, NULL) == KILN_OK);
    for (size_t i = 0; i < ANSWERED + TOGETHER; i++) {
        CHECK(kiln__search_ask(search, asked[i], &found, NULL) == KILN_OK && found);
        if (i < ANSWERED)
            CHECK(kiln__search_tell(search, asked[i], exp(sin((double)asked[i][1]) * cos((double)asked[i][2])), 0,
                                    NULL) == KILN_OK);
        for (size_t k = ANSWERED; k < i; k++)
            near += abs((int)asked[i][1] - (int)asked[k][1]) <= 1 && abs((int)asked[i][2] - (int)asked[k][2]) <= 1;
    }
    kiln__search_free(search);
    return near;
}

static unsigned count_differences(const uint32_t *one, const uint32_t *other)
{
    unsigned count = 0;
    for (size_t a = 1; a <= FEW_AXES; a++)
        count += one[a] != other[a];
    return count;
}

/* Iterated local search has left its first point for a better neighbour, and kicks the local optimum there. The late answer of
 * another neighbour of the first point, which is worse than the optimum, does not end the kicks. */
static void test_late_neighbour(void)
{
    const kiln__part_axis axes[FEW_AXES] = {{WIDTHS, true, NULL}, {TILES, true, NULL}, {TILES, true, NULL},
                                            {TILES, true, NULL},  {TILES, true, NULL}, {TILES, true, NULL},
                                            {TILES, true, NULL}};
    const kiln__part part = {FEW_AXES, axes};
    const kiln__points points = {
        .count = FEW_POINTS, .part_count = 1, .width = 1 + FEW_AXES, .parts = &part, .at = few_at, .holds = grid_holds};
    kiln__search *search = NULL;
    uint32_t start[1 + FEW_AXES], better[1 + FEW_AXES], late[1 + FEW_AXES], point[1 + FEW_AXES];
    unsigned near = 0;
    bool found;
    CHECK(kiln__search_open(&points, kiln__strategy_find("ils"), 1, &search, NULL) == KILN_OK);
    CHECK(kiln__search_ask(search, start, &found, NULL) == KILN_OK && found);
    CHECK(kiln__search_tell(search, start, 10, 0, NULL) == KILN_OK);
    CHECK(kiln__search_ask(search, better, &found, NULL) == KILN_OK && found);
    CHECK(kiln__search_ask(search, late, &found, NULL) == KILN_OK && found);
    while (count_differences(late, better) < 2) {
        CHECK(kiln__search_tell(search, late, 20, 0, NULL) == KILN_OK);
        CHECK(kiln__search_ask(search, late, &found, NULL) == KILN_OK && found);
    }
    CHECK(count_differences(start, better) == 1 && count_differences(start, late) == 1);
    CHECK(kiln__search_tell(search, better, 1, 0, NULL) == KILN_OK);
    CHECK(kiln__search_ask(search, point, &found, NULL) == KILN_OK && found);
    while (count_differences(point, better) == 1) {
        CHECK(kiln__search_tell(search, point, 9, 0, NULL) == KILN_OK);
        CHECK(kiln__search_ask(search, point, &found, NULL) == KILN_OK && found);
    }
    CHECK(kiln__search_tell(search, late, 7, 0, NULL) == KILN_OK);
    for (int i = 0; i < 3; i++) {
        CHECK(kiln__search_ask(search, point, &found, NULL) == KILN_OK && found);
        near += count_differences(point, late) == 1;
    }
    CHECK(near < 3);
    kiln__search_free(search);
}

/* The answer for a point also tells about its neighbour. So points that are compiled side by side must lie apart. */
static void test_together(void)
{
    enum { SEEDS = 20 };
    size_t near = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        near += ask_together(seed);
    if (near >= 350) /* 433 if the search does not know the pending points */
        fprintf(stderr, "asked together: %zu pairs of neighbours\n", near);
    CHECK(near < 350);
}

/* Tests that every strategy gives the same points for the same seed and answers, and other points for another seed. */
static void test_repeatable(void)
{
    world w;
    if (!open_world(&w))
        return;
    for (size_t n = 0; kiln_strategy_name(n); n++) {
        kiln__search *one = open_search(&w, kiln_strategy_name(n), 7), *two = open_search(&w, kiln_strategy_name(n), 7);
        kiln__search *other = open_search(&w, kiln_strategy_name(n), 8);
        size_t differ = 0;
        for (size_t i = 0; i < 100; i++) {
            uint32_t a[5], b[5], c[5];
            bool found;
            CHECK(kiln__search_ask(one, a, &found, NULL) == KILN_OK && found);
            CHECK(kiln__search_ask(two, b, &found, NULL) == KILN_OK && found);
            CHECK(kiln__search_ask(other, c, &found, NULL) == KILN_OK && found);
            CHECK(memcmp(a, b, sizeof a) == 0);
            differ += memcmp(a, c, sizeof a) != 0;
            CHECK(kiln__search_tell(one, a, value_of(a), 0, NULL) == KILN_OK);
            CHECK(kiln__search_tell(two, b, value_of(b), 0, NULL) == KILN_OK);
            CHECK(kiln__search_tell(other, c, value_of(c), 0, NULL) == KILN_OK);
        }
        CHECK((differ > 0) == (strcmp(kiln_strategy_name(n), "exhaustive") != 0));
        kiln__search_free(one);
        kiln__search_free(two);
        kiln__search_free(other);
    }
    close_world(&w);
}

/* Among the first 60 of 169 points, the search tries the cheaper half of equally fast points more often than the
 * other half. */
static void test_cost(void)
{
    world w;
    if (!open_world(&w))
        return;
    size_t cheap[2] = {0};
    for (size_t with = 0; with < 2; with++)
        for (uint64_t seed = 0; seed < 10; seed++) {
            kiln__search *search = open_search(&w, "surrogate", seed);
            uint32_t point[5];
            bool found;
            for (size_t i = 0; i < 60; i++) {
                CHECK(kiln__search_ask(search, point, &found, NULL) == KILN_OK && found);
                bool is_cheap = point[0] == 1 && point[4] < 2;
                double cost = with ? is_cheap ? 1 : 10 : 0;
                cheap[with] += is_cheap;
                double value = 1 + 0.1 * (double)(i % 3) - 1e-3 * (double)i; /* a better value comes now and then */
                CHECK(kiln__search_tell(search, point, value, cost, NULL) == KILN_OK);
            }
            kiln__search_free(search);
        }
    if (cheap[1] < cheap[0] * 5 / 4)
        fprintf(stderr, "cheap ones: %zu; without costs: %zu\n", cheap[1], cheap[0]);
    CHECK(cheap[1] >= cheap[0] * 5 / 4);
    close_world(&w);
}

/* If all points fail, or all times are equal, the search still proposes every point. It does not propose points that
 * are known from elsewhere. */
static void test_flat(void)
{
    world w;
    if (!open_world(&w))
        return;
    for (size_t n = 0; kiln_strategy_name(n); n++)
        for (int kind = 0; kind < 3; kind++) {
            static const double values[] = {HUGE_VAL, 2, -3};
            kiln__search *search = open_search(&w, kiln_strategy_name(n), 1);
            uint32_t known[5], point[5];
            size_t count = 0;
            bool found = true;
            CHECK(w.points->at(w.points->user, 5, known, NULL) == KILN_OK);
            CHECK(kiln__search_tell(search, known, kind ? 1 : NAN, 0, NULL) == KILN_OK);
            CHECK(kiln__search_tell(search, known, 1, 0, NULL) == KILN_ERROR_ARGUMENT); /* twice */
            while (found && kiln__search_ask(search, point, &found, NULL) == KILN_OK && found) {
                CHECK(memcmp(known, point, sizeof known) != 0);
                CHECK(kiln__search_tell(search, point, values[kind], 0, NULL) == KILN_OK);
                count++;
            }
            CHECK(count == w.points->count - 1);
            kiln__search_free(search);
        }
    CHECK(kiln__strategy_find("nothing") == NULL);
    CHECK(kiln__strategy_find(NULL) == kiln__strategy_find(kiln_strategy_name(0)));
    close_world(&w);
}

/* Fails the first, second, ... allocation of each strategy. */
static void test_memory(void)
{
    world w;
    if (!open_world(&w))
        return;
    for (size_t n = 0; kiln_strategy_name(n); n++) {
        check_oom oom = {.failed = 1};
        for (long fail = 0; oom.failed && fail < 5000; fail++) {
            oom = (check_oom){.countdown = fail};
            kiln_allocator mem = {check_oom_resize, &oom};
            kiln__points points = *w.points;
            points.mem = &mem;
            kiln__search *search = NULL;
            const kiln__strategy *strategy = kiln__strategy_find(kiln_strategy_name(n));
            kiln_status status = kiln__search_open(&points, strategy, 3, &search, NULL);
            bool found = true;
            uint32_t point[5];
            for (size_t i = 0; status == KILN_OK && i < 60; i++) {
                status = kiln__search_ask(search, point, &found, NULL);
                if (status == KILN_OK)
                    status = kiln__search_tell(search, point, value_of(point), 0, NULL);
            }
            CHECK(status == (oom.failed ? KILN_ERROR_MEMORY : KILN_OK));
            kiln__search_free(search);
            CHECK(oom.live == 0);
        }
        CHECK(!oom.failed);
    }
    check_oom oom = {.failed = 1};
    for (long fail = 0; oom.failed && fail < 5000; fail++) {
        oom = (check_oom){.countdown = fail};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln__union *whole = NULL;
        kiln_status status = kiln__union_open(&mem, (const kiln__space *const *)w.spaces, w.variants, 2, NULL, &whole,
                                              NULL);
        CHECK(status == (oom.failed ? KILN_ERROR_MEMORY : KILN_OK));
        kiln__union_free(whole);
        CHECK(oom.live == 0);
    }
    CHECK(!oom.failed);
    close_world(&w);
}

/* ---- spaces whose points have no numbers ---- */

static bool never(void *user)
{
    ++*(int *)user;
    return true;
}

/* The same two variants, one or both of them too large to be counted. Every strategy proposes valid points, and no
 * point twice. It ends when it has drawn no new point for long. The same seed gives the same points. */
static void test_drawn(void)
{
    world w;
    if (!open_world(&w))
        return;
    uint64_t all = w.points->count;
    CHECK(!w.points->draw);
    kiln__union_free(w.whole);
    for (size_t v = 0; kiln_strategy_name(v); v++) {
        kiln__bounds bounds = {.index_units = 1};
        kiln_error *error = NULL;
        uint64_t sums[2] = {0};
        for (int round = 0; round < 2; round++) {
            CHECK_OK(
                kiln__union_open(NULL, (const kiln__space *const *)w.spaces, w.variants, 2, &bounds, &w.whole, &error),
                error);
            w.points = kiln__union_points(w.whole);
            CHECK(w.points->draw && w.points->count == UINT64_MAX && !kiln__union_empty(w.whole));
            kiln__search *search = open_search(&w, kiln_strategy_name(v), 5);
            uint32_t asked[256][5];
            size_t count = 0;
            bool found = true;
            while (found && count < 256) {
                CHECK(kiln__search_ask(search, asked[count], &found, NULL) == KILN_OK);
                if (!found)
                    break;
                CHECK(valid(&w, asked[count]));
                for (size_t i = 0; i < count; i++)
                    CHECK(memcmp(asked[i], asked[count], sizeof *asked) != 0);
                CHECK(kiln__search_tell(search, asked[count], value_of(asked[count]), 0, NULL) == KILN_OK);
                for (size_t i = 0; i < 5; i++)
                    sums[round] = sums[round] * 31 + asked[count][i];
                count++;
            }
            CHECK(count <= all && count > all * 9 / 10);
            kiln__search_free(search);
            kiln__union_free(w.whole);
        }
        CHECK(sums[0] == sums[1]);
    }
    int asked = 0;
    kiln_error *error = NULL;
    kiln__bounds bounds = {.index_units = 1, .stop = never, .user = &asked};
    CHECK(kiln__union_open(NULL, (const kiln__space *const *)w.spaces, w.variants, 2, &bounds, &w.whole, &error) ==
          KILN_ERROR_INTERRUPTED);
    CHECK(asked > 0);
    kiln_error_free(error);
    kiln__space_free(w.spaces[0]);
    kiln__space_free(w.spaces[1]);
    kiln_spec_free(w.spec);
}

/* Tests two variants of 128^9 configurations each, which 64 bits cannot number. Each value of each param must be drawn
 * about equally often. */
static void test_wide(void)
{
    enum { PARAMS = 9, VALUES = 128, DRAWS = 4096, QUARTERS = 4 };
    kiln__text t = {0};
    kiln__text_puts(&t, "kiln: 1\nname: t\nsource: t.cu\nsizes: {default: {N: 100}}\nvariants:\n");
    for (int v = 0; v < 2; v++) {
        kiln__text_printf(&t, "  v%d:\n    params:\n", v);
        for (int p = 0; p < PARAMS; p++)
            kiln__text_printf(&t, "      p%d: {from: 0, to: %d}\n", p, VALUES - 1);
        kiln__text_puts(&t, "    launch: {kernel: k, grid: 1, block: 1, args: []}\n");
    }
    world w;
    bool open = open_world_of(&w, t.data);
    kiln__text_free(&t);
    if (!open)
        return;
    CHECK(w.points->draw && w.points->count == UINT64_MAX);
    kiln__search *search = open_search(&w, "random", 1);
    unsigned parts[2] = {0}, quarters[PARAMS][QUARTERS] = {{0}};
    for (int i = 0; i < DRAWS; i++) {
        uint32_t point[1 + PARAMS];
        bool found = false;
        CHECK(kiln__search_ask(search, point, &found, NULL) == KILN_OK && found);
        parts[point[0]]++;
        for (int p = 0; p < PARAMS; p++)
            quarters[p][point[1 + p] * QUARTERS / VALUES]++;
        CHECK(kiln__search_tell(search, point, 1, 0, NULL) == KILN_OK);
    }
    CHECK(parts[0] > DRAWS * 2 / 5 && parts[1] > DRAWS * 2 / 5);
    for (int p = 0; p < PARAMS; p++)
        for (int q = 0; q < QUARTERS; q++)
            CHECK(quarters[p][q] > DRAWS / QUARTERS * 4 / 5 && quarters[p][q] < DRAWS / QUARTERS * 6 / 5);
    kiln__search_free(search);
    close_world(&w);
}

/* A space in which finding a point by its number is slow: random candidates are drawn points with other values on some
 * axes. All proposals are valid and new, the same seed gives the same proposals, and the search still finds good
 * points. */
static void test_slow(void)
{
    static const char spec[] =
        "kiln: 1\nname: t\nsource: t.cu\nsizes: {default: {N: 100}}\n"
        "params: {a: {from: 1, to: 32}, b: {from: 1, to: 32}, c: {from: 1, to: 16}, d: {from: 1, to: 16},\n"
        "  e: {from: 1, to: 16}, f: {from: 1, to: 8}, g: {from: 1, to: 8}, h: {from: 1, to: 8}}\n"
        "where: [a * b <= 512, a * b * c >= 64, a % f == 0, b % g == 0, a * c * 4 + b * d * 4 <= 4096, c + d + e <= 40,\n"
        "  e % 2 == 0 or h > 2, d * e <= 128, a * b % 32 == 0, (a + c) * h <= 300, f * g * h <= 256, b * e >= 8]\n"
        "launch: {kernel: k, grid: 1, block: 1, args: []}\n";
    enum { WIDTH = 9, TRIES = 150 };
    world w;
    if (!open_world_of(&w, spec))
        return;
    CHECK(w.points->slow && !w.points->draw);
    uint64_t sums[2] = {0};
    double best[2] = {HUGE_VAL, HUGE_VAL};
    for (int round = 0; round < 2; round++) {
        kiln__search *search = open_search(&w, "surrogate", 3);
        uint32_t asked[TRIES][WIDTH];
        for (size_t i = 0; i < TRIES; i++) {
            bool found = false, holds = false;
            CHECK(kiln__search_ask(search, asked[i], &found, NULL) == KILN_OK && found);
            CHECK(w.points->holds(w.points->user, asked[i], &holds, NULL) == KILN_OK && holds);
            for (size_t k = 0; k < i; k++)
                CHECK(memcmp(asked[i], asked[k], sizeof *asked) != 0);
            double value = 1;
            for (size_t a = 1; a < WIDTH; a++) {
                sums[round] = sums[round] * 31 + asked[i][a];
                value += fabs((double)asked[i][a] - 5);
            }
            best[round] = fmin(best[round], value);
            CHECK(kiln__search_tell(search, asked[i], value, 0, NULL) == KILN_OK);
        }
        kiln__search_free(search);
    }
    CHECK(sums[0] == sums[1] && best[0] <= 16); /* the least possible value is 9; 150 random points have about 23 */
    if (best[0] > 16)
        fprintf(stderr, "best %g\n", best[0]);
    close_world(&w);
}

/* Tests spaces that are too large to count. A configuration must be found within a number of units of work; a unit
 * takes some nanoseconds. */
static void test_hard(void)
{
    static const struct {
        const char *name, *where;
        size_t count, values; /* number of params, and number of values of each param */
    } hard[] = {
        {"irregular sums",
         "(2311 * a + 9809 * b + 9016 * c + 2236 * d + 6161 * e + 9994 * f + 7866 * g + 9616 * h + 1173 * i) % 1016 == 1",
         9, 40},
        {"all different", NULL, 11, 11},
        {"true division",
         "float(a) / b + float(b) / c + float(c) / d + float(d) / e + float(e) / f + float(f) / g + float(g) / h + "
         "float(h) / i + float(i) / j + float(j) / a <= 14.5",
         10, 30},
        {"modulo", NULL, 12, 24},
        {"two lists", "a * b % 7919 == 13", 2, 20000}};
    for (size_t n = 0; n < KILN__COUNT(hard); n++) {
        kiln__text t = {0};
        kiln__text_puts(&t, "kiln: 1\nname: t\nsource: t.cu\nsizes: {default: {N: 100}}\nparams:\n");
        for (size_t i = 0; i < hard[n].count; i++)
            kiln__text_printf(&t, "  %c: {from: 1, to: %zu}\n", (char)('a' + i), hard[n].values);
        kiln__text_puts(&t, "where:\n");
        if (hard[n].where)
            kiln__text_printf(&t, "  - %s\n", hard[n].where);
        for (size_t i = 0; !hard[n].where && n == 1 && i < hard[n].count; i++)
            for (size_t k = 0; k < i; k++)
                kiln__text_printf(&t, "  - %c != %c\n", (char)('a' + i), (char)('a' + k));
        for (size_t i = 0; n == 3 && i < 24; i++) /* the configuration with 1 for all params is known to be valid */
            kiln__text_printf(&t, "  - (%zu * %c + %zu * %c + %c) %% %zu == %zu\n", 1 + i % 5, (char)('a' + i % 12),
                              2 + i % 3, (char)('a' + (i * 5 + 1) % 12), (char)('a' + (i * 7 + 3) % 12), 2 + i % 3,
                              (1 + i % 5 + 2 + i % 3 + 1) % (2 + i % 3));
        kiln__text_puts(&t, "launch: {kernel: k, grid: 1, block: 1, args: []}\n");
        kiln_spec *spec = NULL;
        kiln__space *space = NULL;
        kiln__union *whole = NULL;
        kiln__search *search = NULL;
        kiln_error *error = NULL;
        CHECK_OK(kiln__spec_parse(NULL, t.data, t.length, "t.yaml", NULL, &spec, &error), error);
        CU_ASSERT_PTR_NOT_NULL_FATAL(spec);
        kiln__scope outer = {.settings = spec->size_sets[0].settings};
        const kiln__variant *variant = spec->variants;
        CHECK_OK(kiln__space_open(NULL, variant, &outer, (kiln__settings){0}, &space, &error), error);
        kiln__bounds bounds = {.index_units = 1 << 14, .draw_units = 1 << 22};
        CHECK_OK(kiln__union_open(NULL, (const kiln__space *const *)&space, &variant, 1, &bounds, &whole, &error),
                 error);
        CHECK(kiln__union_points(whole)->draw);
        CHECK_OK(kiln__search_open(kiln__union_points(whole), kiln__strategy_find(NULL), 1, &search, &error), error);
        uint32_t point[13];
        bool found = false, holds = false;
        CHECK_OK(kiln__search_ask(search, point, &found, &error), error);
        if (!found)
            fprintf(stderr, "%s: none found\n", hard[n].name);
        CHECK(found);
        if (found)
            CHECK(kiln__space_holds_at(space, point + 1, &holds, NULL) == KILN_OK && holds);
        kiln__search_free(search);
        kiln__union_free(whole);
        kiln__space_free(space);
        kiln_spec_free(spec);
        kiln__text_free(&t);
    }
}

/* Tests a space without a valid configuration that is too large to walk. Nothing is drawn, and the message names the
 * constraint that rejected the most configurations. */
static void test_none_drawn(void)
{
    static const char hopeless[] = "kiln: 1\nname: t\nsource: t.cu\nsizes: {default: {N: 100}}\n"
                                   "params: {a: {from: 1, to: 9999}, b: {from: 1, to: 9999}, c: [1, 2]}\n"
                                   "where:\n  - a > 0\n  - a + b == 0\n"
                                   "launch: {kernel: k, grid: 1, block: 1, args: []}\n";
    kiln_spec *spec = NULL;
    kiln__space *space = NULL;
    kiln__union *whole = NULL;
    kiln__search *search = NULL;
    kiln_error *error = NULL;
    bool found = true;
    CHECK_OK(kiln__spec_parse(NULL, hopeless, strlen(hopeless), "t.yaml", NULL, &spec, &error), error);
    if (!spec)
        return;
    kiln__scope outer = {.settings = spec->size_sets[0].settings};
    const kiln__variant *variant = spec->variants;
    CHECK_OK(kiln__space_open(NULL, variant, &outer, (kiln__settings){0}, &space, &error), error);
    kiln__bounds bounds = {.index_units = 1 << 16, .draw_units = 1 << 20};
    CHECK_OK(kiln__union_open(NULL, (const kiln__space *const *)&space, &variant, 1, &bounds, &whole, &error), error);
    CHECK_OK(kiln__search_open(kiln__union_points(whole), kiln__strategy_find("random"), 1, &search, &error), error);
    uint32_t point[4];
    CHECK_OK(kiln__search_ask(search, point, &found, &error), error);
    CHECK(!found && !kiln__union_empty(whole));
    CHECK(kiln__union_none_found(whole, 3, &error) == KILN_ERROR_CONSTRAINT);
    CHECK(strstr(kiln_error_message(error), "t.yaml:8:5: variant default: no valid configuration was found in 3 s"));
    kiln_error_free(error);
    kiln__search_free(search);
    kiln__union_free(whole);
    kiln__space_free(space);
    kiln_spec_free(spec);
}

static const check_case cases[] = {{"two variants as one set of points", test_union},
                                   {"neighbours against brute force", test_neighbours},
                                   {"permutations", test_shuffle},
                                   {"each strategy: all points once, the best early", test_strategies, CHECK_LONG},
                                   {"the same seed, the same path", test_repeatable},
                                   {"hints that are right, and wrong", test_hints},
                                   {"hints that are exact", test_right_hints},
                                   {"which values are powers of two", test_which_are_powers},
                                   {"powers of two", test_powers},
                                   {"the first ten", test_first_ten},
                                   {"points that wait together are apart", test_together},
                                   {"a late answer does not end a kick", test_late_neighbour},
                                   {"hints that are wrong", test_wrong_hints, CHECK_LONG},
                                   {"what is cheaper to try is tried more", test_cost},
                                   {"failures and equals", test_flat},
                                   {"scattered and clustered failures", test_failures, CHECK_LONG},
                                   {"memory runs out", test_memory},
                                   {"points that are drawn", test_drawn},
                                   {"none to draw", test_none_drawn},
                                   {"more points than 64 bits number", test_wide},
                                   {"points that are slow to find", test_slow},
                                   {"spaces that cannot be counted", test_hard}};
KILN_SUITE("search", cases)
