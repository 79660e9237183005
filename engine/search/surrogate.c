/* surrogate.c - the default strategy: a Gaussian process (gaussian.c), later a random forest, learns from the
 * measurements and predicts the speed of other configurations, and its uncertainty. The most promising is proposed. */
#include <math.h>
#include <string.h>

#include "search_internal.h"

enum {
    TREES = 24,
    LEARN_MOST = 400, /* samples for fitting: the best, and the rest at random */
    DEEPEST = 24,
    POOL_MOST = 4096,  /* random points in the pool */
    POOL_STEP = 32,    /* replaced at each proposal */
    LARGE = 200000,    /* points of a large space, in which finding one by number is slow: */
    LARGE_START = 256, /* points drawn at first there, */
    LARGE_STEP = 6,    /* and later */
    NEAR_MOST = 48,    /* values of an axis that are tried around a good point: all, or some */
    LOOK = 384,        /* points predicted for each proposal */
    TOP = 6,           /* configurations whose neighbours are tried */
    FIRST = 4,         /* random points before the first fit */
    FOREST_EACH = 3,   /* each so manieth of the first proposals is the forest's, as the two err differently */
    CUTS = 8,          /* random cuts, of which the best is used */
    LEAF = 3,          /* smaller nodes are leaves */
    DRAW_START = 32,   /* if points cannot be found by number: drawn at first, */
    DRAW_STEP = 1,     /* and later */
    ABREAST = 8        /* points that are predicted together */
};

/* The upper limit of goals (logarithms of the ratio to the best): how bad the bad ones are does not matter. */
static const double worst_goal = 2;
/* The weight of the trees' spread is drawn for each proposal, from 0 to this. */
static const double most_bold = 2, gaussian_bold = 4;
/* Goals are stored as integer multiples of this, so their sums are exact in any order. */
static const double goal_unit = 0x1p-28;

typedef struct node { /* position <= cut: left, else left + 1; a leaf is its own left child */
    uint32_t axis, cut, left;
    float mean;
} node;

typedef struct surrogate {
    node *nodes;
    size_t node_count, node_capacity;
    size_t roots[TREES];
    size_t fitted;     /* answers used for the last fit */
    uint32_t *rows;    /* entries used for fitting */
    uint32_t *columns; /* their positions, an axis after the other, LEARN_MOST rows each */
    int32_t *goals;    /* goal of each, by number of the row */
    uint32_t *order;
    size_t row_capacity, column_capacity, goal_capacity, order_capacity;
    uint32_t *pool;
    size_t pool_count, pool_capacity;
    uint64_t pool_drawn;
    uint32_t *near;
    size_t near_count, near_capacity;
    uint32_t first[KILN__GAUSSIAN_MOST]; /* the first entries with an answer */
    size_t first_count;
    kiln__gaussian *gaussian;
    const uint32_t **asked; /* points to predict, in `near` and `pool` */
    size_t asked_count, asked_capacity;
} surrogate;

/* ---- fitting ---- */

static bool by_value_before(const kiln__search *s, uint32_t one, uint32_t other)
{
    return s->entries[one].value < s->entries[other].value;
}

/* Puts the `count` least of rows[0..n) first: quickselect. */
static void select_best(kiln__search *s, uint32_t *rows, size_t n, size_t count)
{
    size_t low = 0, high = n;
    while (high - low > 1 && count > low && count < high) {
        uint32_t pivot = rows[low + kiln__random_below(&s->random, high - low)], kept;
        size_t i = low, less = low, more = high;
        while (i < more) {
            kept = rows[i];
            if (by_value_before(s, kept, pivot)) {
                rows[i++] = rows[less];
                rows[less++] = kept;
            } else if (by_value_before(s, pivot, kept)) {
                rows[i] = rows[--more];
                rows[more] = kept;
            } else {
                i++;
            }
        }
        if (count <= less)
            high = less;
        else if (count >= more)
            low = more;
        else
            return;
    }
}

/* Selects the rows for fitting and their goals: logarithms, limited to worst_goal, which failed ones have too. */
static size_t gather(kiln__search *s, surrogate *f)
{
    size_t n = 0;
    if (!kiln__grow(s->mem, &f->rows, &f->row_capacity, s->told_count, sizeof *f->rows) ||
        !kiln__grow(s->mem, &f->columns, &f->column_capacity, s->width * LEARN_MOST, sizeof *f->columns) ||
        !kiln__grow(s->mem, &f->goals, &f->goal_capacity, s->told_count, sizeof *f->goals) ||
        !kiln__grow(s->mem, &f->order, &f->order_capacity, s->told_count, sizeof *f->order))
        return 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->entries[i].told)
            f->rows[n++] = (uint32_t)i;
    select_best(s, f->rows, n, LEARN_MOST / 2);
    for (size_t i = LEARN_MOST / 2; i < LEARN_MOST && i < n; i++) {
        size_t k = i + (size_t)kiln__random_below(&s->random, n - i);
        uint32_t kept = f->rows[i];
        f->rows[i] = f->rows[k];
        f->rows[k] = kept;
    }
    n = n < LEARN_MOST ? n : LEARN_MOST;
    double best = s->entries[s->best].value;
    for (size_t i = 0; i < n; i++) {
        double value = s->entries[f->rows[i]].value, goal = worst_goal;
        if (value < HUGE_VAL && best > 0)
            goal = fmin(log(value / best), worst_goal);
        else if (value < HUGE_VAL)
            goal = fmin((value - best) / (fabs(best) + 1e-300), worst_goal);
        f->goals[i] = (int32_t)lrint(goal / goal_unit);
        f->order[i] = (uint32_t)i;
        const uint32_t *point = kiln__search_point(s, f->rows[i]);
        for (size_t axis = 0; axis < s->width; axis++)
            f->columns[axis * LEARN_MOST + i] = point[axis];
    }
    return n;
}

static uint32_t position(const surrogate *f, uint32_t row, uint32_t axis)
{
    return f->columns[(size_t)axis * LEARN_MOST + row];
}

/* The reduction of the sum of squares by a cut of order[from..to), whose goals sum to `sum`. */
static double gain_of(const surrogate *f, size_t from, size_t to, int64_t sum, uint32_t axis, uint32_t cut)
{
    const uint32_t *column = f->columns + (size_t)axis * LEARN_MOST;
    int64_t right = 0, right_count = 0;
    for (size_t i = from; i < to; i++) { /* avoids an unpredictable branch */
        int64_t side = column[f->order[i]] > cut;
        right += f->goals[f->order[i]] & -side;
        right_count += side;
    }
    int64_t left = sum - right, left_count = (int64_t)(to - from) - right_count;
    if (!left_count || !right_count)
        return -1;
    return (double)left * (double)left / (double)left_count + (double)right * (double)right / (double)right_count;
}

/* The best of some random cuts of random axes; false: all rows are equal. */
static bool choose_cut(kiln__search *s, const surrogate *f, size_t from, size_t to, int64_t sum, uint32_t *axis,
                       uint32_t *cut)
{
    double best = -1;
    unsigned tries = 4 * CUTS;
    for (unsigned got = 0; got < CUTS && tries > 0; tries--) {
        uint32_t a = (uint32_t)kiln__random_below(&s->random, s->width); /* 0 is the part */
        uint32_t one = position(f, f->order[from + kiln__random_below(&s->random, to - from)], a);
        uint32_t other = position(f, f->order[from + kiln__random_below(&s->random, to - from)], a);
        if (one == other)
            continue;
        uint32_t low = one < other ? one : other, high = one < other ? other : one;
        uint32_t c = low + (uint32_t)kiln__random_below(&s->random, high - low);
        double gain = gain_of(f, from, to, sum, a, c);
        got++;
        if (gain > best) {
            best = gain;
            *axis = a;
            *cut = c;
        }
    }
    return best >= 0;
}

/* As deep as DEEPEST. */
static bool grow_tree(kiln__search *s, surrogate *f, size_t at, size_t from, size_t to, unsigned depth)
{
    int64_t sum = 0;
    uint32_t axis = 0, cut = 0;
    for (size_t i = from; i < to; i++)
        sum += f->goals[f->order[i]];
    f->nodes[at] = (node){0, UINT32_MAX, (uint32_t)at, (float)((double)sum / (double)(to - from) * goal_unit)};
    if (to - from < LEAF || depth == DEEPEST || !choose_cut(s, f, from, to, sum, &axis, &cut))
        return true;
    size_t middle = from;
    for (size_t i = from; i < to; i++)
        if (position(f, f->order[i], axis) <= cut) {
            uint32_t kept = f->order[i];
            f->order[i] = f->order[middle];
            f->order[middle++] = kept;
        }
    if (!kiln__grow(s->mem, &f->nodes, &f->node_capacity, f->node_count + 2, sizeof *f->nodes))
        return false;
    size_t left = f->node_count;
    f->node_count += 2;
    f->nodes[at].axis = axis;
    f->nodes[at].cut = cut;
    f->nodes[at].left = (uint32_t)left;
    return grow_tree(s, f, left, from, middle, depth + 1) && grow_tree(s, f, left + 1, middle, to, depth + 1);
}

static kiln_status fit(kiln__search *s, surrogate *f, kiln_error **error)
{
    size_t rows = gather(s, f);
    if (!rows)
        return kiln__fail_memory(error);
    f->node_count = 0;
    for (size_t t = 0; t < TREES; t++) {
        if (!kiln__grow(s->mem, &f->nodes, &f->node_capacity, f->node_count + 1, sizeof *f->nodes))
            return kiln__fail_memory(error);
        f->roots[t] = f->node_count++;
        if (!grow_tree(s, f, f->roots[t], 0, rows, 0))
            return kiln__fail_memory(error);
    }
    f->fitted = s->told_count;
    return KILN_OK;
}

/* ---- choosing ---- */

/* Predicts up to ABREAST points: less is better. Where the trees disagree a point may be better than predicted. Each
 * step in a tree depends on the one before, so several points are interleaved. */
static void promise(const surrogate *f, const uint32_t *const *points, size_t count, double boldness, double *worths)
{
    double sums[ABREAST] = {0}, squares[ABREAST] = {0};
    for (size_t t = 0; t < TREES; t++) {
        uint32_t at[ABREAST], moved = 1;
        for (size_t i = 0; i < count; i++)
            at[i] = (uint32_t)f->roots[t];
        while (moved) {
            moved = 0;
            for (size_t i = 0; i < count; i++) {
                const node *n = &f->nodes[at[i]];
                uint32_t next = n->left + (points[i][n->axis] > n->cut);
                moved |= next ^ at[i];
                at[i] = next;
            }
        }
        for (size_t i = 0; i < count; i++) {
            double mean = (double)f->nodes[at[i]].mean;
            sums[i] += mean;
            squares[i] += mean * mean;
        }
    }
    for (size_t i = 0; i < count; i++) {
        double mean = sums[i] / TREES, spread = squares[i] / TREES - mean * mean;
        worths[i] = mean - boldness * sqrt(fmax(spread, 0));
    }
}

static kiln_status draw_pool(kiln__search *s, surrogate *f, kiln_error **error)
{
    kiln_status status = KILN_OK;
    bool found = true;
    for (unsigned i = f->pool_count ? DRAW_STEP : DRAW_START; i > 0 && found && status == KILN_OK; i--) {
        size_t slot = f->pool_count < POOL_MOST ? f->pool_count : (size_t)kiln__random_below(&s->random, POOL_MOST);
        if (!kiln__grow(s->mem, &f->pool, &f->pool_capacity, slot + 1, s->width * sizeof *f->pool))
            return kiln__fail_memory(error);
        /* Through s->next, so that the pool is unchanged if none is found. */
        status = s->points->draw(s->points->user, &s->random, s->next, &found, error);
        if (status != KILN_OK || !found)
            break;
        memcpy(f->pool + slot * s->width, s->next, s->width * sizeof *f->pool);
        f->pool_count += slot == f->pool_count;
    }
    return status;
}

static kiln_status fill_pool(kiln__search *s, surrogate *f, kiln_error **error)
{
    if (s->points->draw)
        return draw_pool(s, f, error);
    unsigned step = s->points->count < LARGE ? POOL_STEP : f->pool_count ? LARGE_STEP : LARGE_START;
    for (unsigned i = 0; i < step && f->pool_drawn < s->points->count; i++) {
        size_t slot = f->pool_count < POOL_MOST ? f->pool_count : (size_t)kiln__random_below(&s->random, POOL_MOST);
        if (!kiln__grow(s->mem, &f->pool, &f->pool_capacity, slot + 1, s->width * sizeof *f->pool))
            return kiln__fail_memory(error);
        uint64_t number = kiln__shuffled(&s->shuffle, s->points->count - 1 - f->pool_drawn); /* from the end */
        kiln_status status = s->points->at(s->points->user, number, f->pool + slot * s->width, error);
        if (status != KILN_OK)
            return status;
        f->pool_drawn++;
        f->pool_count += slot == f->pool_count;
    }
    return KILN_OK;
}

/* Adds neighbours of a point on an axis with many values: the distance is below a random power of two, so near and far
 * ones are equally likely. */
static kiln_status look_along(kiln__search *s, surrogate *f, const uint32_t *point, size_t axis, uint32_t values,
                              kiln_error **error)
{
    unsigned bits = 1;
    while (bits < 32 && values >> bits)
        bits++;
    for (unsigned i = 0; i < NEAR_MOST; i++) {
        uint64_t reach = (uint64_t)1 << kiln__random_below(&s->random, bits);
        uint32_t far = 1 + (uint32_t)kiln__random_below(&s->random, reach);
        uint32_t value = i & 1 ? point[1 + axis] + far : point[1 + axis] - far;
        if (value >= values) /* values below 0 wrap around, and are out of range too */
            continue;
        if (!kiln__grow(s->mem, &f->near, &f->near_capacity, f->near_count + 1, s->width * sizeof *f->near))
            return kiln__fail_memory(error);
        uint32_t *next = f->near + f->near_count * s->width;
        memcpy(next, point, s->width * sizeof *next);
        next[1 + axis] = value;
        bool holds = false;
        kiln_status status = kiln__search_holds(s, next, &holds, error);
        if (status != KILN_OK)
            return status;
        f->near_count += holds;
    }
    return KILN_OK;
}

static kiln_status look_about(kiln__search *s, surrogate *f, const uint32_t *point, kiln_error **error)
{
    const kiln__part *part = &s->points->parts[point[0]];
    kiln_status status = KILN_OK;
    bool wide = false;
    for (size_t i = 0; i < part->axis_count; i++)
        wide |= part->axes[i].values > NEAR_MOST;
    if (!wide)
        return kiln__points_neighbours(s->points, KILN__HAMMING, point, &f->near, &f->near_capacity, &f->near_count,
                                       error);
    for (size_t i = 0; i < part->axis_count && status == KILN_OK; i++)
        if (part->axes[i].values > 1)
            status = look_along(s, f, point, i, part->axes[i].values, error);
    return status;
}

/* Adds points around the best ones, which random draws from a large space would rarely contain. */
static kiln_status look_near(kiln__search *s, surrogate *f, kiln_error **error)
{
    size_t top = s->told_count < TOP ? s->told_count : TOP, n = 0;
    for (size_t i = 0; i < s->count; i++) /* rows has room for all answers */
        if (s->entries[i].told && s->entries[i].value < HUGE_VAL)
            f->rows[n++] = (uint32_t)i;
    top = top < n ? top : n;
    select_best(s, f->rows, n, top);
    f->near_count = 0;
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < top && status == KILN_OK; i++)
        status = look_about(s, f, kiln__search_point(s, f->rows[i]), error);
    return status;
}

/* Collects new points: those near the best, and some of the pool. */
static bool ask_about(kiln__search *s, surrogate *f)
{
    size_t looks = f->pool_count < LOOK ? f->pool_count : LOOK;
    if (!kiln__grow(s->mem, &f->asked, &f->asked_capacity, f->near_count + looks, sizeof *f->asked))
        return false;
    f->asked_count = 0;
    size_t start = f->pool_count ? (size_t)kiln__random_below(&s->random, f->pool_count) : 0;
    for (size_t i = 0; i < f->near_count + looks; i++) {
        const uint32_t *point = i < f->near_count
                                    ? f->near + i * s->width
                                    /* a look: the pool is not empty. NOLINTNEXTLINE(clang-analyzer-core.DivideZero) */
                                    : f->pool + (start + i - f->near_count) % f->pool_count * s->width;
        if (kiln__search_find(s, point) == KILN__NO_ENTRY)
            f->asked[f->asked_count++] = point;
    }
    return true;
}

static const uint32_t *most_promising(const surrogate *f, double boldness)
{
    const uint32_t *best = NULL;
    double worths[ABREAST], least = 0;
    for (size_t from = 0; from < f->asked_count; from += ABREAST) {
        size_t count = f->asked_count - from < ABREAST ? f->asked_count - from : ABREAST;
        promise(f, f->asked + from, count, boldness, worths);
        for (size_t i = 0; i < count; i++)
            if (!best || worths[i] < least) {
                best = f->asked[from + i];
                least = worths[i];
            }
    }
    return best;
}

static kiln_status surrogate_propose(kiln__search *s, void *state, uint32_t *tag, bool *found, kiln_error **error)
{
    surrogate *f = state;
    *tag = 1;
    *found = s->best != KILN__NO_ENTRY && s->told_count >= FIRST;
    if (!*found)
        return KILN_OK;
    kiln_status status = fill_pool(s, f, error);
    bool early = s->told_count <= KILN__GAUSSIAN_MOST && s->told_count % FOREST_EACH;
    if (status == KILN_OK && early)
        status = kiln__gaussian_learn(s, &f->gaussian, f->first, f->first_count, &early, error);
    if (status == KILN_OK && !early && s->told_count > f->fitted + f->fitted / 100)
        status = fit(s, f, error);
    if (status == KILN_OK && f->row_capacity < s->told_count &&
        !kiln__grow(s->mem, &f->rows, &f->row_capacity, s->told_count, sizeof *f->rows))
        status = kiln__fail_memory(error);
    if (status == KILN_OK)
        status = look_near(s, f, error);
    if (status != KILN_OK)
        return status;
    double boldness = kiln__random_unit(&s->random);
    if (!ask_about(s, f))
        return kiln__fail_memory(error);
    const uint32_t *best = early ? kiln__gaussian_choose(s, f->gaussian, f->asked, f->asked_count,
                                                         gaussian_bold * boldness)
                                 : most_promising(f, most_bold * boldness);
    *found = best != NULL;
    if (best)
        memcpy(s->next, best, s->width * sizeof *s->next);
    return KILN_OK;
}

static kiln_status surrogate_told(kiln__search *s, void *state, size_t entry, kiln_error **error)
{
    (void)s;
    (void)error;
    surrogate *f = state;
    if (f->first_count < KILN__GAUSSIAN_MOST)
        f->first[f->first_count++] = (uint32_t)entry;
    return KILN_OK;
}

static void surrogate_end(kiln__search *s, void *state)
{
    surrogate *f = state;
    kiln__gaussian_free(s, f->gaussian);
    void *const held[] = {f->nodes, f->rows, f->columns, f->goals, f->order, f->pool, f->near, f->asked};
    for (size_t i = 0; i < KILN__COUNT(held); i++)
        kiln__free(s->mem, held[i]);
}

const kiln__strategy kiln__strategy_surrogate = {.name = "surrogate",
                                                 .state_size = sizeof(surrogate),
                                                 .propose = surrogate_propose,
                                                 .told = surrogate_told,
                                                 .end = surrogate_end};
