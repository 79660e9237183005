/* surrogate.c - the default strategy: a Gaussian process (gaussian.c), later a forest (forest.c), learns from the
 * measurements and predicts the speed of other configurations, and its uncertainty. The most promising is proposed. */
#include <math.h>
#include <string.h>

#include "search_internal.h"
#include "forest.h"

enum {
    LEARN_MOST = 400, /* samples for fitting: the best, and the rest at random */
    GROW_ROWS = 400,  /* rows that trees are grown from for each proposal: at least one tree */
    POOL_MOST = 384,  /* random points that are looked at */
    POOL_START = 256, /* drawn at first, */
    POOL_STEP = 16,   /* and replaced at each proposal, */
    LARGE = 50000,    /* or if there are more than that, of which finding one by number is slow, */
    LARGE_STEP = 6,   /* fewer; */
    HUGE_START = 32,  /* where there are more than huge_count, */
    HUGE_EACH = 8,    /* and one in each so many proposals; */
    SLOW_EACH = 32,   /* or, where finding any is slow, one in each so many, */
    SLOW_TRIES = 16,  /* and between them a drawn one with other values on some axes: tries to find a valid one */
    SLOW_KICKS = 4,   /* on so many axes at most */
    NEAR_MOST = 48,   /* values of an axis that are tried around a good point: all, */
    NEAR_SOME = 12,   /* or so many, others each time */
    NEAR_TOP = 2,     /* of the best, neighbours of better ones */
    STUCK = 20,       /* answers without a better one: then the forest proposes */
    POLISH_EACH = 4,  /* and every fourth proposal is a neighbour of the best */
    HINTED = 64,      /* of the best expected */
    FIRST = 4,        /* points before the first fit: random ones, */
    APART = 64,       /* each the farthest from those before of so many, */
    HOPEFUL = 16,     /* the second, if there are hints, the best expected of so many, */
    APART_SLOW = 8,   /* of fewer where finding one is slow (LARGE), */
    AGREED = 16,      /* and what hints say, while the first answers (at most so many) agree with them */
    WELL_AFTER = 3,   /* of which so many say that they agree well, */
    FOREST_FROM = 20, /* from so many answers on */
    FOREST_EACH = 3,  /* each so manieth of the first proposals is the forest's, as the two err differently */
    NEAREST_OF = 512, /* answers among which the nearest is looked for */
    FIRST_FAR = 64,   /* points that are chosen far from others while all have failed */
    DRAW_START = 32,  /* if points cannot be found by number: drawn at first, */
    DRAW_STEP = 1,    /* and later */
    TREES = KILN__FOREST_TREES
};

/* The upper limit of goals (logarithms of the ratio to the best): how bad the bad ones are does not matter. */
static const double worst_goal = 2;
static const uint64_t huge_count = 100000000;
/* The weight of the trees' spread is drawn for each proposal, from 0 to this. */
static const float most_bold = 2;
static const double gaussian_bold = 4;
static const double well = 0.7;        /* of a rank correlation */
static const double least_trust = 0.2; /* in hints, for trees to use them */
static const double elsewhere = 1e6;   /* the distance of a point from those of other parts, squared */
static const double few_failures = 2;  /* answers as which the assumption counts that failures are clustered */
static const double scattered = 0.2,
                    clustered = 0.6; /* differences of shares: below failures tell nothing, above all */
static const double no_power = 0.5;  /* what a first point's distance is multiplied with for each value beside powers */

/* How failures are spread: answers whose nearest earlier answer failed, or not, and how many of each failed. */
typedef struct failures {
    size_t beside[2], failed[2]; /* [1]: the nearest failed */
} failures;

typedef struct surrogate {
    kiln__forest *forest;
    size_t fitted;  /* answers at the last growth */
    uint32_t *rows; /* entries used for fitting */
    size_t row_count;
    size_t row_capacity;
    kiln__batch near[KILN__TOP], pool, hinted;
    size_t rank;                 /* of the hint after those of `hinted` */
    size_t pool_next;            /* the oldest of the pool, if that is full */
    uint64_t pool_drawn, looked; /* numbers, of the pool and of the first points */
    uint32_t top[KILN__TOP];     /* of the best entries, the best first */
    size_t top_count;
    uint32_t first[KILN__GAUSSIAN_MOST]; /* the first entries with an answer */
    size_t first_count;
    size_t learned; /* answers that count: all but failures that tell nothing of their neighbours */
    size_t best_at; /* `learned` at the last that was the best */
    failures failures;
    kiln__gaussian *gaussian;
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

/* What is expected of a point, as a whole number for cuts. */
static uint32_t feature_of(double prior) { return (uint32_t)(prior * 4096); }

/* How much a failure tells of the points near it, from 0 to 1. If failures are clustered (too much shared memory, say),
 * many more fail beside a failure than beside a success; if they are scattered, as many. Until answers say otherwise,
 * they are taken as clustered. */
static double trust_in_failures(const failures *f)
{
    double beside_failure = ((double)f->failed[1] + few_failures) / ((double)f->beside[1] + few_failures);
    double beside_success = (double)f->failed[0] / ((double)f->beside[0] + few_failures);
    double share = (beside_failure - beside_success - scattered) / (clustered - scattered);
    return fmin(fmax(share, 0), 1);
}

/* Selects the rows for fitting and their goals: logarithms, limited to worst_goal, which failed ones have too. Failures
 * that tell nothing are left out. */
static bool gather(kiln__search *s, surrogate *f)
{
    size_t n = 0;
    if (!kiln__grow(s->mem, &f->rows, &f->row_capacity, s->told_count, sizeof *f->rows))
        return false;
    const bool all = trust_in_failures(&f->failures) > 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->entries[i].told && (all || s->entries[i].value < HUGE_VAL))
            f->rows[n++] = (uint32_t)i;
    f->row_count = n < LEARN_MOST ? n : LEARN_MOST;
    select_best(s, f->rows, n, LEARN_MOST / 2);
    for (size_t i = LEARN_MOST / 2; i < LEARN_MOST && i < n; i++) {
        size_t k = i + (size_t)kiln__random_below(&s->random, n - i);
        uint32_t kept = f->rows[i];
        f->rows[i] = f->rows[k];
        f->rows[k] = kept;
    }
    n = n < LEARN_MOST ? n : LEARN_MOST;
    double best = s->entries[s->best].value;
    if (!kiln__forest_start(f->forest, n, best > 0 ? log(best) : 0))
        return false;
    for (size_t i = 0; i < n; i++) {
        double value = s->entries[f->rows[i]].value, goal = worst_goal;
        if (value < HUGE_VAL && best > 0)
            goal = fmin(log(value / best), worst_goal);
        else if (value < HUGE_VAL)
            goal = fmin((value - best) / (fabs(best) + 1e-300), worst_goal);
        const uint32_t *point = kiln__search_point(s, f->rows[i]);
        uint32_t feature = feature_of(kiln__prior_of(s, point));
        kiln__forest_row(f->forest, i, point, s->prior ? &feature : NULL, goal);
    }
    return true;
}

static kiln_status fit(kiln__search *s, surrogate *f, kiln_error **error)
{
    if (!f->forest && !(f->forest = kiln__forest_new(s->mem, s->width)))
        return kiln__fail_memory(error);
    if (!gather(s, f))
        return kiln__fail_memory(error);
    size_t trees = GROW_ROWS / f->row_count;
    /* Goals that are no logarithms are of the best so far, so all trees must be of the same. */
    bool all = kiln__forest_grown(f->forest) == 0 || trees > TREES || !(s->entries[s->best].value > 0);
    bool featured = s->prior && fabs(kiln__gaussian_trust(f->gaussian)) > least_trust;
    kiln__forest_grow(f->forest, &s->random, all ? TREES : trees, featured);
    f->fitted = s->told_count;
    return KILN_OK;
}

/* ---- candidates ---- */

static bool make_room(const kiln__search *s, kiln__batch *b, size_t count)
{
    return kiln__grow(s->mem, &b->points, &b->point_capacity, count, s->width * sizeof *b->points) &&
           kiln__grow(s->mem, &b->items, &b->item_capacity, count, sizeof *b->items);
}

/* Points of one part differ in one axis if they are neighbours. */
static void set_item(const kiln__search *s, kiln__batch *b, size_t i, const uint32_t *around)
{
    b->items[i] = (kiln__candidate){.axis = UINT32_MAX, .prior = (float)kiln__prior_of(s, b->points + i * s->width)};
    for (uint32_t a = 1; around && a < s->width; a++)
        if (b->points[i * s->width + a] != around[a])
            b->items[i].axis = a - 1;
}

/* Puts a drawn point with other values on some axes into s->next; *found false: none of those tried was valid. */
static kiln_status change_drawn(kiln__search *s, const kiln__batch *drawn, bool *found, kiln_error **error)
{
    *found = false;
    for (unsigned tries = 0; tries < SLOW_TRIES && !*found; tries++) {
        size_t from = (size_t)kiln__random_below(&s->random, drawn->count);
        memcpy(s->next, drawn->points + from * s->width, s->width * sizeof *s->next);
        kiln__search_kick(s, 1 + (unsigned)kiln__random_below(&s->random, SLOW_KICKS));
        kiln_status status = kiln__search_holds(s, s->next, found, error);
        if (status != KILN_OK)
            return status;
    }
    return KILN_OK;
}

static kiln_status fill_pool(kiln__search *s, surrogate *f, kiln_error **error)
{
    const kiln__points *points = s->points;
    kiln__batch *b = &f->pool;
    bool none = b->count == 0, found = true;
    unsigned step = none ? POOL_START : points->count < LARGE ? POOL_STEP : LARGE_STEP;
    if (points->draw)
        step = none ? DRAW_START : DRAW_STEP;
    else if (points->slow)
        step = none ? HUGE_START : 1;
    else if (points->count > huge_count)
        step = none ? HUGE_START : s->told_count % HUGE_EACH == 0;
    bool change = points->slow && !points->draw && !none && s->told_count % SLOW_EACH != 0;
    for (; step > 0 && (points->draw || f->pool_drawn < points->count); step--) {
        kiln_status status = KILN_OK;
        if (points->draw) /* through s->next, so that the pool is unchanged if none is found */
            status = points->draw(points->user, &s->random, s->next, &found, error);
        else if (change)
            status = change_drawn(s, b, &found, error);
        else /* from the end */
            status = points->at(points->user, kiln__shuffled(&s->shuffle, points->count - 1 - f->pool_drawn++), s->next,
                                error);
        if (status != KILN_OK || !found)
            return status;
        size_t slot = b->count < POOL_MOST ? b->count : f->pool_next++ % POOL_MOST;
        if (!make_room(s, b, slot + 1))
            return kiln__fail_memory(error);
        memcpy(b->points + slot * s->width, s->next, s->width * sizeof *s->next);
        set_item(s, b, slot, NULL);
        b->count += slot == b->count;
    }
    return KILN_OK;
}

/* Points of which the most is expected. Where half of them are known come the next. */
static bool fill_hinted(const kiln__search *s, surrogate *f)
{
    kiln__batch *b = &f->hinted;
    size_t known = 0;
    for (size_t i = 0; i < b->count; i++)
        known += b->items[i].known;
    if (!s->prior || 2 * known < b->count)
        return true;
    b->count = 0;
    for (const uint32_t *point; b->count < HINTED && (point = kiln__prior_ranked(s, f->rank)); f->rank++) {
        if (kiln__search_find(s, point) != KILN__NO_ENTRY)
            continue;
        if (!make_room(s, b, b->count + 1))
            return false;
        memcpy(b->points + b->count * s->width, point, s->width * sizeof *point);
        set_item(s, b, b->count++, NULL);
    }
    return true;
}

/* How far the first answers are in the order that hints say, from -1 to 1. */
static double hints_agree(const kiln__search *s, size_t *answers)
{
    double priors[AGREED], values[AGREED];
    size_t n = 0;
    for (size_t i = 0; i < s->count && n < AGREED; i++)
        if (s->entries[i].told) {
            priors[n] = kiln__prior_level(s, kiln__search_point(s, i));
            values[n++] = s->entries[i].value;
        }
    *answers = n;
    return kiln__prior_agreement(priors, values, n);
}

/* The best that is expected, before anything is learned: as every second point from the third on while hints are worth
 * following, and as each once three answers are in their order. If there is to be one point alone, it is the best
 * expected. */
static bool by_hint(kiln__search *s)
{
    const uint32_t *point = NULL;
    size_t answers = 0;
    if (!s->prior || (s->count < 2 && s->budget != 1))
        return false;
    double agreed = hints_agree(s, &answers);
    if (agreed <= 0 || (s->count % 2 && s->budget != 1 && (answers < WELL_AFTER || agreed < well)))
        return false;
    for (size_t rank = 0;; rank++)
        if (!(point = kiln__prior_ranked(s, rank)) || kiln__search_find(s, point) == KILN__NO_ENTRY)
            break;
    if (point)
        memcpy(s->next, point, s->width * sizeof *s->next);
    return point != NULL;
}

/* How far two points of one part are from each other, squared, each axis being 1 long. */
static double distance_of(const kiln__search *s, const uint32_t *point, const uint32_t *other)
{
    const kiln__part *part = &s->points->parts[point[0]];
    double sum = 0;
    if (other[0] != point[0])
        return elsewhere;
    for (size_t a = 0; a < part->axis_count; a++) {
        double far = part->axes[a].values > 1 ? 1 / (double)(part->axes[a].values - 1) : 0;
        far *= (double)point[1 + a] - (double)other[1 + a];
        sum += part->axes[a].ordered ? far * far : (double)(far != 0);
    }
    return sum;
}

/* How far a point is from the nearest of its part that was proposed, squared, each axis being 1 long; less if it has
 * other values where some are powers of two. */
static double distance(const kiln__search *s, const uint32_t *point)
{
    const kiln__part *part = &s->points->parts[point[0]];
    double nearest = elsewhere, share = 1;
    for (size_t i = 0; i < s->count; i++)
        nearest = fmin(nearest, distance_of(s, point, kiln__search_point(s, i)));
    for (size_t a = 0; a < part->axis_count; a++)
        if (part->axes[a].powers && !part->axes[a].powers[point[1 + a]])
            share *= no_power;
    return nearest * share;
}

/* Of a few random points the farthest from what was proposed: the first points tell more if they are not near each other.
 * The second is the best expected of them, if there are hints: what comes of it says whether these are worth following. It
 * is not the best expected of all, which hints that are wrong may have made the slowest of all. */
static kiln_status by_distance(kiln__search *s, surrogate *f, bool *found, kiln_error **error)
{
    const kiln__points *points = s->points;
    const bool expected = s->prior && s->count == 1;
    double most = -HUGE_VAL;
    uint64_t best = 0, left = points->count >= LARGE ? APART_SLOW : expected ? HOPEFUL : APART;
    *found = false;
    for (left = left < points->count ? left : points->count; left > 0; left--) {
        uint64_t number = kiln__shuffled(&s->shuffle, points->count - 1 - f->looked++ % points->count);
        KILN__TRY(points->at(points->user, number, s->next, error));
        double far = distance(s, s->next), worth = expected ? -kiln__prior_level(s, s->next) : far;
        if (far <= 0 || (*found && worth <= most)) /* 0: it was proposed */
            continue;
        most = worth;
        best = number;
        *found = true;
    }
    return *found ? points->at(points->user, best, s->next, error) : KILN_OK;
}

/* Before there are enough answers to learn from. Where points have no number they are random. */
static kiln_status propose_first(kiln__search *s, surrogate *f, bool *found, kiln_error **error)
{
    *found = by_hint(s);
    bool none = s->best == KILN__NO_ENTRY;
    if (*found || s->count >= (none ? FIRST_FAR : 2 * FIRST) || s->points->draw)
        return KILN_OK;
    return by_distance(s, f, found, error);
}

/* Adds neighbours of a point on an axis with many values: the distance is below a random power of two, so near and far
 * ones are equally likely. */
static kiln_status look_along(kiln__search *s, kiln__batch *b, const uint32_t *point, size_t axis, uint32_t values,
                              kiln_error **error)
{
    unsigned bits = 1;
    while (bits < 32 && values >> bits)
        bits++;
    for (unsigned i = 0; i < NEAR_SOME; i++) {
        uint64_t reach = (uint64_t)1 << kiln__random_below(&s->random, bits);
        uint32_t far = 1 + (uint32_t)kiln__random_below(&s->random, reach);
        uint32_t value = i & 1 ? point[1 + axis] + far : point[1 + axis] - far;
        if (value >= values) /* values below 0 wrap around, and are out of range too */
            continue;
        if (!make_room(s, b, b->count + 1))
            return kiln__fail_memory(error);
        uint32_t *next = b->points + b->count * s->width;
        memcpy(next, point, s->width * sizeof *next);
        next[1 + axis] = value;
        bool holds = false;
        kiln_status status = kiln__search_holds(s, next, &holds, error);
        if (status != KILN_OK)
            return status;
        b->count += holds;
    }
    return KILN_OK;
}

static kiln_status look_about(kiln__search *s, kiln__batch *b, kiln_error **error)
{
    const uint32_t *point = kiln__search_point(s, b->around);
    const kiln__part *part = &s->points->parts[point[0]];
    kiln_status status = KILN_OK;
    b->count = 0;
    b->random = false;
    for (size_t i = 0; i < part->axis_count; i++)
        b->random |= part->axes[i].values > NEAR_MOST;
    if (!b->random)
        status = kiln__points_neighbours(s->points, KILN__HAMMING, point, &b->points, &b->point_capacity, &b->count,
                                         error);
    for (size_t i = 0; b->random && i < part->axis_count && status == KILN_OK; i++)
        if (part->axes[i].values > 1)
            status = look_along(s, b, point, i, part->axes[i].values, error);
    if (status == KILN_OK && !make_room(s, b, b->count))
        status = kiln__fail_memory(error);
    for (size_t i = 0; i < b->count && status == KILN_OK; i++)
        set_item(s, b, i, point);
    return status;
}

/* Points around the best ones, which random draws from a large space would rarely contain. They stay while the best do;
 * of those that are random, the ones around one point are drawn anew at each proposal. */
static kiln_status look_near(kiln__search *s, surrogate *f, kiln_error **error)
{
    bool kept[KILN__TOP] = {false};
    kiln_status status = KILN_OK;
    for (size_t t = 0; t < f->top_count; t++)
        for (size_t i = 0; i < KILN__TOP; i++)
            kept[i] |= f->near[i].used && f->near[i].around == f->top[t];
    for (size_t t = 0; t < f->top_count && status == KILN_OK; t++) {
        size_t i = 0, spare = 0;
        while (i < KILN__TOP && !(f->near[i].used && f->near[i].around == f->top[t]))
            i++;
        if (i < KILN__TOP && !(f->near[i].random && s->told_count % KILN__TOP == t))
            continue;
        while (i == KILN__TOP && kept[spare])
            spare++;
        i = i < KILN__TOP ? i : spare;
        f->near[i].used = kept[i] = true;
        f->near[i].around = f->top[t];
        status = look_about(s, &f->near[i], error);
    }
    return status;
}

/* ---- choosing ---- */

/* The trees' mean, less a multiple of their spread: less is better. Where they disagree a point may be better than
 * predicted. False: it is not below *worth. */
static bool is_worth(const float *means, float boldness, float *worth)
{
    float sums[4] = {0}, squares[4] = {0};
    for (size_t t = 0; t < TREES; t += 4)
        for (size_t k = 0; k < 4; k++) {
            float mean = means[t + k] - means[0];
            sums[k] += mean;
            squares[k] += mean * mean;
        }
    float mean = (sums[0] + sums[1] + (sums[2] + sums[3])) * (1.0f / TREES);
    float square = (squares[0] + squares[1] + (squares[2] + squares[3])) * (1.0f / TREES);
    float bold = fmaxf(square - mean * mean, 0) * boldness * boldness, above = means[0] + mean - *worth;
    if (above >= 0 && above * above >= bold) /* a root is only taken where it matters */
        return false;
    *worth = means[0] + mean - sqrtf(bold);
    return true;
}

/* Predictions of all candidates, by the trees that are new to them. */
static void predict(const kiln__search *s, const surrogate *f, kiln__batch *b)
{
    enum { ABREAST = 8 };
    uint64_t grown = kiln__forest_grown(f->forest);
    for (size_t i = 0; i < b->count;) {
        const uint32_t *points[ABREAST];
        uint32_t features[ABREAST];
        float *means[ABREAST];
        uint64_t since = grown;
        size_t n = 0;
        for (; n < ABREAST && i < b->count; i++) {
            kiln__candidate *c = &b->items[i];
            if (c->known || c->made == grown)
                continue;
            since = c->made < since ? c->made : since;
            points[n] = b->points + i * s->width;
            features[n] = feature_of((double)c->prior);
            means[n++] = c->means;
            c->made = grown;
        }
        kiln__forest_predict(f->forest, since, points, s->prior ? features : NULL, n, means);
    }
}

static const uint32_t *most_promising(const kiln__search *s, const surrogate *f, kiln__batch *const *batches,
                                      size_t count, float boldness)
{
    for (;;) {
        kiln__candidate *best = NULL;
        const uint32_t *point = NULL;
        float least = HUGE_VALF;
        for (size_t n = 0; n < count; n++) {
            kiln__batch *b = batches[n];
            predict(s, f, b);
            for (size_t i = 0; i < b->count; i++) {
                if (b->items[i].known || !is_worth(b->items[i].means, boldness, &least))
                    continue;
                best = &b->items[i];
                point = b->points + i * s->width;
            }
        }
        if (!best || kiln__search_find(s, point) == KILN__NO_ENTRY)
            return point;
        best->known = true;
    }
}

/* Of the neighbours of the best configuration that were not tried, the one that is expected to be the fastest; NULL: all
 * were tried. While nothing gets better this makes the best at least a local optimum. */
static const uint32_t *polish(const kiln__search *s, surrogate *f)
{
    for (size_t i = 0; i < KILN__TOP; i++)
        if (f->near[i].used && f->near[i].around == s->best) {
            kiln__batch *around = &f->near[i];
            return most_promising(s, f, &around, 1, 0);
        }
    return NULL;
}

static kiln_status surrogate_propose(kiln__search *s, void *state, uint32_t *tag, bool *found, kiln_error **error)
{
    surrogate *f = state;
    *tag = 1;
    *found = s->best != KILN__NO_ENTRY && s->told_count >= FIRST;
    if (!*found)
        return propose_first(s, f, found, error);
    if (!fill_hinted(s, f))
        return kiln__fail_memory(error);
    kiln_status status = fill_pool(s, f, error);
    bool stuck = f->learned > f->best_at + STUCK;
    bool early = f->learned <= KILN__GAUSSIAN_MOST && (f->learned < FOREST_FROM || f->learned % FOREST_EACH) && !stuck;
    if (status == KILN_OK && early)
        status = kiln__gaussian_learn(s, &f->gaussian, f->first, f->first_count, trust_in_failures(&f->failures),
                                      &early, error);
    if (status == KILN_OK && !early && s->told_count > f->fitted + f->fitted / LEARN_MOST)
        status = fit(s, f, error);
    if (status == KILN_OK)
        status = look_near(s, f, error);
    if (status != KILN_OK)
        return status;
    kiln__batch *batches[KILN__TOP + 2] = {&f->pool, &f->hinted};
    size_t count = 2;
    for (size_t i = 0; i < KILN__TOP; i++)
        if (f->near[i].used)
            batches[count++] = &f->near[i];
    double boldness = kiln__random_unit(&s->random);
    const uint32_t *best = stuck && f->learned % POLISH_EACH == 0 ? polish(s, f) : NULL;
    if (!best)
        best = early ? kiln__gaussian_choose(s, f->gaussian, batches, count, gaussian_bold * boldness)
                     : most_promising(s, f, batches, count, most_bold * (float)boldness);
    *found = best != NULL;
    if (best)
        memcpy(s->next, best, s->width * sizeof *s->next);
    return KILN_OK;
}

/* Whether two points differ in one axis at most. */
static bool are_near(const kiln__search *s, uint32_t one, uint32_t other)
{
    const uint32_t *a = kiln__search_point(s, one), *b = kiln__search_point(s, other);
    size_t differ = 0;
    for (size_t i = 1; i < s->width; i++)
        differ += a[i] != b[i];
    return a[0] == b[0] && differ < 2;
}

/* The best, of which at most NEAR_TOP are neighbours of better ones: else all might be around one local optimum. */
static void take_top(const kiln__search *s, surrogate *f, uint32_t entry)
{
    uint32_t ordered[KILN__TOP + 1];
    size_t count = f->top_count, at = count, near_ones = 0;
    while (at > 0 && by_value_before(s, entry, f->top[at - 1]))
        at--;
    memcpy(ordered, f->top, at * sizeof *ordered);
    ordered[at] = entry;
    memcpy(ordered + at + 1, f->top + at, (count - at) * sizeof *ordered);
    f->top_count = 0;
    for (size_t i = 0; i <= count && f->top_count < KILN__TOP; i++) {
        bool near = false;
        for (size_t k = 0; k < f->top_count; k++)
            near |= are_near(s, ordered[i], f->top[k]);
        if (near && near_ones == NEAR_TOP)
            continue;
        near_ones += near;
        f->top[f->top_count++] = ordered[i];
    }
}

/* Counts an answer by whether the nearest of those before it failed. */
static void note_failure(const kiln__search *s, failures *f, size_t entry)
{
    const uint32_t *point = kiln__search_point(s, entry);
    double least = elsewhere;
    size_t nearest = entry, from = s->count > NEAREST_OF ? s->count - NEAREST_OF : 0;
    for (size_t i = from; i < s->count; i++) {
        double far = i != entry && s->entries[i].told ? distance_of(s, point, kiln__search_point(s, i)) : elsewhere;
        if (far < least) {
            least = far;
            nearest = i;
        }
    }
    if (nearest == entry)
        return;
    bool beside = !(s->entries[nearest].value < HUGE_VAL);
    f->beside[beside]++;
    f->failed[beside] += !(s->entries[entry].value < HUGE_VAL);
}

static kiln_status surrogate_told(kiln__search *s, void *state, size_t entry, kiln_error **error)
{
    (void)error;
    surrogate *f = state;
    bool failed = !(s->entries[entry].value < HUGE_VAL);
    note_failure(s, &f->failures, entry);
    if (!failed || trust_in_failures(&f->failures) > 0) {
        f->learned++;
        if (f->first_count < KILN__GAUSSIAN_MOST)
            f->first[f->first_count++] = (uint32_t)entry;
    }
    if (failed)
        return KILN_OK;
    if (s->best == entry)
        f->best_at = f->learned;
    take_top(s, f, (uint32_t)entry);
    return KILN_OK;
}

static void surrogate_end(kiln__search *s, void *state)
{
    surrogate *f = state;
    kiln__gaussian_free(s, f->gaussian);
    kiln__forest_free(f->forest);
    kiln__free(s->mem, f->rows);
    for (size_t i = 0; i < KILN__TOP + 2; i++) {
        kiln__batch *b = i < KILN__TOP ? &f->near[i] : i == KILN__TOP ? &f->pool : &f->hinted;
        kiln__free(s->mem, b->points);
        kiln__free(s->mem, b->items);
    }
}

const kiln__strategy kiln__strategy_surrogate = {.name = "surrogate",
                                                 .state_size = sizeof(surrogate),
                                                 .propose = surrogate_propose,
                                                 .told = surrogate_told,
                                                 .end = surrogate_end};
