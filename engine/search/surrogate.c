/* surrogate.c - the default strategy: Bayesian optimisation over a finite set of candidates.
 *
 * The model is a Gaussian process (gaussian.c) while there are few answers, and a random forest (forest.c) later. The
 * acquisition function is a lower confidence bound, mean - b * deviation. The factor b is drawn at random for each
 * proposal. The nearest published method is randomised GP-UCB (Berk et al., Randomised Gaussian Process Upper
 * Confidence Bound for Bayesian Optimisation, 2020). The page README.md lists the differences from published methods.
 *
 * The answers decide the state of a search (surrogate_propose):
 *
 * - Design: There are fewer than FIRST answers, or no configuration has run. propose_first() chooses points that are
 *   far apart, or points with good hints.
 * - Gaussian: At most KILN__GAUSSIAN_MOST answers count (`learned`), and the Gaussian process proposes. From
 *   FOREST_FROM answers on, the forest proposes if `learned` is a multiple of FOREST_EACH. The forest also proposes if
 *   the covariance matrix of the Gaussian process is numerically not positive definite.
 * - Forest: More answers count, or the search is stuck. The forest proposes.
 * - Stuck: More than STUCK answers in a row counted, and none of them was a new best. If `learned` is a multiple of
 *   POLISH_EACH, the search proposes a neighbour of the best configuration. After SWITCH_AFTER answers without a new
 *   best, every second proposal has another value of a switch than the best configuration (choose_beyond_switch). A
 *   new best ends this state. */
#include <math.h>
#include <string.h>

#include "search_internal.h"
#include "forest.h"

/* The page CONSTANTS.md has the purpose of each constant, the origin of its value, and the effect of other values. */
enum {
    /* the design, which are the points before the first fit */
    FIRST = 4,      /* the number of answers before the first fit of a model */
    APART = 64,     /* the number of random candidates, of which the farthest is proposed */
    APART_SLOW = 8, /* APART in a space of LARGE points or more */
    HOPEFUL = 16,   /* the number of random candidates for the second point, if there are hints */
    FIRST_FAR = 64, /* the most points of the design while no configuration has run */
    AGREED = 16,    /* the number of first answers that are compared with their hints */
    /* after this number of answers that agree well with hints, every point of the design is the one with the best
     * hint */
    WELL_AFTER = 3,

    /* which model proposes */
    FOREST_FROM = 20, /* from this number of answers on, the forest makes some proposals */
    /* the forest proposes at multiples of this number of answers, because the two models make different mistakes */
    FOREST_EACH = 3,
    STUCK = 20,        /* after more answers than this without a new best, the search is stuck */
    POLISH_EACH = 4,   /* at multiples of this number of answers, a stuck search proposes a neighbour of the best */
    SWITCH_AFTER = 24, /* after more answers than this without a new best, the search also looks beyond switches */

    /* the forest */
    LEARN_MOST = 400, /* the most rows from which a tree learns: the best half, and random others */
    GROW_ROWS = 400,  /* one proposal grows GROW_ROWS / (number of rows) trees, but at least one tree */
    TREES = KILN__FOREST_TREES,

    /* candidates: the pool of random points */
    POOL_MOST = 384,  /* the most points in the pool */
    POOL_START = 256, /* the number of points that are drawn at first */
    POOL_STEP = 16,   /* the number of points that each proposal after the design adds to the pool */
    LARGE = 50000,    /* a space with this number of points is large, so finding a point by its number takes longer */
    LARGE_STEP = 6,   /* POOL_STEP for a large space */
    HUGE_START = 32,  /* POOL_START for a space above huge_count, or if finding a point is slow */
    HUGE_EACH = 8,    /* above huge_count, one point is replaced at every HUGE_EACH-th proposal */
    SLOW_EACH = 32,   /* if finding a point is slow, a point is found at every SLOW_EACH-th proposal */
    /* at all other proposals a known point is changed; this is the number of tries until it is valid */
    SLOW_TRIES = 16,
    SLOW_KICKS = 4,  /* such a change touches at most this number of axes */
    DRAW_START = 32, /* POOL_START if points have no numbers */
    DRAW_STEP = 1,   /* POOL_STEP if points have no numbers */

    /* candidates: neighbours of the best points, and points with hints */
    NEAR_MOST = 48, /* if no axis has more values than this, all neighbours are candidates */
    NEAR_SOME = 12, /* if an axis has more values, each axis has at most this number of random neighbours */
    NEAR_TOP = 2,   /* how many of the best configurations may be neighbours of better configurations */
    HINTED = 64,    /* the number of candidates with the best hints */

    NEAREST_OF = 512 /* the search looks for the nearest answer among this number of latest proposed points */
};

/* the upper limit of goals, because it does not matter how bad a bad configuration is */
static const double worst_goal = 2;
static const uint64_t huge_count = 100000000;
static const float most_bold = 2;      /* the weight of the forest's deviation is uniform in [0, most_bold) */
static const double gaussian_bold = 4; /* the weight of the Gaussian process's deviation is uniform in [0,
                                        * gaussian_bold) */
static const double well = 0.7;        /* from this rank correlation on, answers and hints agree well */
static const double least_trust = 0.2; /* from this trust in hints on, trees may cut the prior */
static const double elsewhere = 1e6;   /* the squared distance of two points that belong to different parts */
static const double few_failures = 2;  /* the number of assumed answers which say that failures are clustered */
static const double scattered = 0.2, clustered = 0.6; /* weigh_failures() */
/* If the fastest configuration beyond a switch has a smaller goal, the search does not look beyond that switch. */
static const double near_goal = 0.095;
/* For each value that is not a power of two, the squared distance of a first point is multiplied by this factor. */
static const double no_power = 0.5;

/* Counts answers and failures. Index [1] is for answers whose nearest earlier answer failed, and index [0] for answers
 * whose nearest earlier answer ran. The counts tell whether failures are clustered. */
typedef struct failures {
    size_t beside[2], failed[2]; /* [1]: the nearest earlier answer failed */
} failures;

/* The state of the strategy `surrogate`. */
typedef struct surrogate {
    kiln__forest *forest;
    size_t fitted;  /* the number of answers when trees last grew */
    uint32_t *rows; /* the entries from which the trees grow */
    size_t row_count;
    size_t row_capacity;
    kiln__batch near[KILN__TOP], pool, hinted;
    kiln__batch beyond;          /* neighbours of the fastest configuration beyond a switch */
    size_t next_switch;          /* the axis from which choose_beyond_switch() looks for the next switch */
    size_t rank;                 /* the rank of the first hint that has not been put into `hinted` */
    size_t pool_next;            /* in a full pool, the oldest candidate, which is replaced next */
    uint64_t pool_drawn, looked; /* how many numbers of points were drawn for the pool, and for the design */
    uint32_t top[KILN__TOP];     /* the entries with the best values, the best first */
    size_t top_count;
    /* the entries of the first answers that count, which the Gaussian process learns */
    uint32_t first[KILN__GAUSSIAN_MOST];
    size_t first_count;
    size_t learned; /* the number of answers that count: all except failures that say nothing about nearby points */
    size_t best_at; /* the value of `learned` when the best was found */
    failures failures;
    kiln__gaussian *gaussian;
} surrogate;

/* ---- fitting ---- */

static bool is_faster(const kiln__search *s, uint32_t one, uint32_t other)
{
    return s->entries[one].value < s->entries[other].value;
}

/* Partitions rows[0..n) so that the `count` fastest rows come first (quickselect with three-way partitioning). */
static void select_best(kiln__search *s, uint32_t *rows, size_t n, size_t count)
{
    size_t low = 0, high = n;
    while (high - low > 1 && count > low && count < high) {
        uint32_t pivot = rows[low + kiln__random_below(&s->random, high - low)], kept;
        size_t i = low, less = low, more = high;
        while (i < more) {
            kept = rows[i];
            if (is_faster(s, kept, pivot)) {
                rows[i++] = rows[less];
                rows[less++] = kept;
            } else if (is_faster(s, pivot, kept)) {
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

/* Converts a prior to a whole number, because trees cut whole numbers. */
static uint32_t scale_prior(double prior) { return (uint32_t)(prior * 4096); }

/* Returns the weight of failures, from 0 to 1. If failures are clustered, more configurations fail next to a failure
 * than next to a success. A cause may be too much shared memory. If failures are scattered, the shares of failures in
 * the two cases are equal. The weight rises linearly from 0, where the difference of the shares is `scattered`, to 1,
 * where it is `clustered`. The counts start with `few_failures` failures beside a failure, so that the search first
 * assumes clustered failures. */
static double weigh_failures(const failures *f)
{
    double beside_failure = ((double)f->failed[1] + few_failures) / ((double)f->beside[1] + few_failures);
    double beside_success = (double)f->failed[0] / ((double)f->beside[0] + few_failures);
    double share = (beside_failure - beside_success - scattered) / (clustered - scattered);
    return fmin(fmax(share, 0), 1);
}

/* Returns the goal of an answer: the logarithm of value / best, but at most worst_goal, which is also the goal of a
 * failure. If the best value is not positive, the goal is the difference in units of the best value instead. */
static double measure_goal(double value, double best)
{
    if (!(value < HUGE_VAL))
        return worst_goal;
    return fmin(best > 0 ? log(value / best) : (value - best) / (fabs(best) + 1e-300), worst_goal);
}

/* Selects at most LEARN_MOST rows for the trees: the best half, and random other rows. The function weigh_failures()
 * gives one weight for all failures. If this weight is 0, the function leaves out all failures. */
static bool gather_rows(kiln__search *s, surrogate *f)
{
    size_t n = 0;
    if (!kiln__grow(s->mem, &f->rows, &f->row_capacity, s->told_count, sizeof *f->rows))
        return false;
    const bool all = weigh_failures(&f->failures) > 0;
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
        const uint32_t *point = kiln__search_point(s, f->rows[i]);
        uint32_t feature = scale_prior(kiln__prior_of(s, point));
        kiln__forest_row(f->forest, i, point, s->prior ? &feature : NULL,
                         measure_goal(s->entries[f->rows[i]].value, best));
    }
    return true;
}

/* Grows trees from the answers. The new trees replace the oldest trees. The number of trees falls with the number of
 * rows, so that the time of a proposal stays constant. */
static kiln_status grow_forest(kiln__search *s, surrogate *f, kiln_error **error)
{
    if (!f->forest && !(f->forest = kiln__forest_new(s->mem, s->width)))
        return kiln__fail_memory(error);
    if (!gather_rows(s, f))
        return kiln__fail_memory(error);
    size_t trees = GROW_ROWS / f->row_count;
    /* If the goals are not logarithms, they are relative to the best value so far. So all trees must grow again. */
    bool all = kiln__forest_grown(f->forest) == 0 || trees > TREES || !(s->entries[s->best].value > 0);
    bool featured = s->prior && fabs(kiln__gaussian_trust(f->gaussian)) > least_trust;
    kiln__forest_grow(f->forest, &s->random, all ? TREES : trees, featured);
    f->fitted = s->told_count;
    return KILN_OK;
}

/* ---- candidates ---- */

static bool reserve_candidates(const kiln__search *s, kiln__batch *b, size_t count)
{
    return kiln__grow(s->mem, &b->points, &b->point_capacity, count, s->width * sizeof *b->points) &&
           kiln__grow(s->mem, &b->items, &b->item_capacity, count, sizeof *b->items);
}

/* Sets candidate `i` of a batch. If `around` is its centre, notes the axis in which the two points differ. */
static void set_candidate(const kiln__search *s, kiln__batch *b, size_t i, const uint32_t *around)
{
    b->items[i] = (kiln__candidate){.axis = UINT32_MAX, .prior = (float)kiln__prior_of(s, b->points + i * s->width)};
    for (uint32_t a = 1; around && a < s->width; a++)
        if (b->points[i * s->width + a] != around[a])
            b->items[i].axis = a - 1;
}

/* Takes a random point of the pool, changes its values on some axes, and writes it to s->next. If finding a point by
 * its number is slow, fill_pool() calls this function for most new candidates instead. *found is false if none of
 * SLOW_TRIES changed points was valid. */
static kiln_status change_pool_point(kiln__search *s, const kiln__batch *drawn, bool *found, kiln_error **error)
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

/* Adds random candidates to the pool, many at the first call and a few at each later call. When the pool has POOL_MOST
 * candidates, a new candidate replaces the oldest candidate. The number of new candidates depends on how slow it is to
 * find a random point. */
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
        if (points->draw) /* draws into s->next, so that the pool stays unchanged if nothing is found */
            status = points->draw(points->user, &s->random, s->next, &found, error);
        else if (change)
            status = change_pool_point(s, b, &found, error);
        else /* takes numbers from the end of the permutation, because kiln__search_draw() uses its beginning */
            status = points->at(points->user, kiln__shuffled(&s->shuffle, points->count - 1 - f->pool_drawn++), s->next,
                                error);
        if (status != KILN_OK || !found)
            return status;
        size_t slot = b->count < POOL_MOST ? b->count : f->pool_next++ % POOL_MOST;
        if (!reserve_candidates(s, b, slot + 1))
            return kiln__fail_memory(error);
        memcpy(b->points + slot * s->width, s->next, s->width * sizeof *s->next);
        set_candidate(s, b, slot, NULL);
        b->count += slot == b->count;
    }
    return KILN_OK;
}

/* Fills a batch with the unknown points that have the best hints. Does so at the first call, and whenever at least half
 * of the points in the batch have become known. Hints that were in an earlier filling of the batch do not come back. */
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
        if (!reserve_candidates(s, b, b->count + 1))
            return false;
        memcpy(b->points + b->count * s->width, point, s->width * sizeof *point);
        set_candidate(s, b, b->count++, NULL);
    }
    return true;
}

/* Returns the rank correlation of the first answers with their hints. It is from -1 to 1. */
static double measure_hints(const kiln__search *s, size_t *answers)
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

/* Proposes the unknown point with the best hint, if the rules of the design allow it. For every second point from the
 * third on, the function proposes such a point while the answers agree with the hints. It proposes such a point every
 * time once WELL_AFTER answers agree well with the hints. If the search may try only one point, the function proposes
 * the point with the best hint. */
static bool propose_hint(kiln__search *s)
{
    const uint32_t *point = NULL;
    size_t answers = 0;
    if (!s->prior || (s->count < 2 && s->budget != 1))
        return false;
    double agreed = measure_hints(s, &answers);
    if (agreed <= 0 || (s->count % 2 && s->budget != 1 && (answers < WELL_AFTER || agreed < well)))
        return false;
    for (size_t rank = 0;; rank++)
        if (!(point = kiln__prior_ranked(s, rank)) || kiln__search_find(s, point) == KILN__NO_ENTRY)
            break;
    if (point)
        memcpy(s->next, point, s->width * sizeof *s->next);
    return point != NULL;
}

/* Returns the squared distance of two points in units of whole axes. Values of an axis without order have the distance
 * 1. */
static double measure_distance(const kiln__search *s, const uint32_t *point, const uint32_t *other)
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

/* Returns the squared distance of a point from the nearest proposed point of the same part. If an axis mixes powers of
 * two with other values, each value that is not a power of two halves the squared distance, because such values are
 * often slower on a GPU. */
static double score_distance(const kiln__search *s, const uint32_t *point)
{
    const kiln__part *part = &s->points->parts[point[0]];
    double nearest = elsewhere, share = 1;
    for (size_t i = 0; i < s->count; i++)
        nearest = fmin(nearest, measure_distance(s, point, kiln__search_point(s, i)));
    for (size_t a = 0; a < part->axis_count; a++)
        if (part->axes[a].powers && !part->axes[a].powers[point[1 + a]])
            share *= no_power;
    return nearest * share;
}

/* Proposes the candidate that is farthest from all proposed points, among a few random candidates (Mitchell's
 * best-candidate sampling, 1991). Distant answers say more about the space. If there are hints, the second point is
 * instead the candidate with the best hint. The answer for the second point then tells whether hints are worth
 * following. The second point is not the point with the best hint of all. If the hints are wrong, that point may be the
 * slowest. */
static kiln_status propose_farthest(kiln__search *s, surrogate *f, bool *found, kiln_error **error)
{
    const kiln__points *points = s->points;
    const bool expected = s->prior && s->count == 1;
    double most = -HUGE_VAL;
    uint64_t best = 0, left = points->count >= LARGE ? APART_SLOW : expected ? HOPEFUL : APART;
    *found = false;
    for (left = left < points->count ? left : points->count; left > 0; left--) {
        uint64_t number = kiln__shuffled(&s->shuffle, points->count - 1 - f->looked++ % points->count);
        KILN__TRY(points->at(points->user, number, s->next, error));
        double far = score_distance(s, s->next), worth = expected ? -kiln__prior_level(s, s->next) : far;
        if (far <= 0 || (*found && worth <= most)) /* a distance of 0 means that the point was already proposed */
            continue;
        most = worth;
        best = number;
        *found = true;
    }
    return *found ? points->at(points->user, best, s->next, error) : KILN_OK;
}

/* Proposes the points of the design, before there are enough answers to learn from. The design has at most FIRST_FAR
 * points until a configuration has run, and then at most 2 * FIRST. After these points, *found is false, and the caller
 * draws a random point. If points have no numbers, *found is always false. */
static kiln_status propose_first(kiln__search *s, surrogate *f, bool *found, kiln_error **error)
{
    *found = propose_hint(s);
    bool none = s->best == KILN__NO_ENTRY;
    if (*found || s->count >= (none ? FIRST_FAR : 2 * FIRST) || s->points->draw)
        return KILN_OK;
    return propose_farthest(s, f, found, error);
}

/* Adds at most NEAR_SOME random neighbours of a point on one axis. The distance of a neighbour is below a random power
 * of two, so that near and far neighbours are equally likely. */
static kiln_status add_some_neighbours(kiln__search *s, kiln__batch *b, const uint32_t *point, size_t axis,
                                       uint32_t values, kiln_error **error)
{
    unsigned bits = 1;
    while (bits < 32 && values >> bits)
        bits++;
    for (unsigned i = 0; i < NEAR_SOME; i++) {
        uint64_t reach = (uint64_t)1 << kiln__random_below(&s->random, bits);
        uint32_t far = 1 + (uint32_t)kiln__random_below(&s->random, reach);
        uint32_t value = i & 1 ? point[1 + axis] + far : point[1 + axis] - far;
        if (value >= values) /* a value below 0 wraps around, and is then out of range too */
            continue;
        if (!reserve_candidates(s, b, b->count + 1))
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

/* Fills a batch with the neighbours of its centre. If an axis has more than NEAR_MOST values, the batch gets random
 * neighbours on every axis. If no axis has more values, the batch gets all neighbours. */
static kiln_status fill_neighbours(kiln__search *s, kiln__batch *b, kiln_error **error)
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
            status = add_some_neighbours(s, b, point, i, part->axes[i].values, error);
    if (status == KILN_OK && !reserve_candidates(s, b, b->count))
        status = kiln__fail_memory(error);
    for (size_t i = 0; i < b->count && status == KILN_OK; i++)
        set_candidate(s, b, i, point);
    return status;
}

/* Keeps one batch of neighbours for each of the best configurations. The random candidates of a large space hardly ever
 * contain these neighbours. A batch stays while its centre is among the best configurations. At each proposal, one of
 * the batches that have only some neighbours is filled again. */
static kiln_status refresh_neighbours(kiln__search *s, surrogate *f, kiln_error **error)
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
        status = fill_neighbours(s, &f->near[i], error);
    }
    return status;
}

/* ---- choosing ---- */

/* Computes the acquisition function of the forest, which is the mean of the trees minus boldness times their standard
 * deviation. If the result is below *worth, stores it there and returns true. */
static bool improve_bound(const float *means, float boldness, float *worth)
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
    float variance = square - mean * mean;
    float bold = (variance > 0 ? variance : 0) * boldness * boldness, above = means[0] + mean - *worth;
    if (above >= 0 && above * above >= bold) /* computes the square root only if it changes the result */
        return false;
    *worth = means[0] + mean - sqrtf(bold);
    return true;
}

/* Updates the predictions of all candidates. Asks only the trees that grew since the last prediction of a candidate. */
static void update_predictions(const kiln__search *s, const surrogate *f, kiln__batch *b)
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
            features[n] = scale_prior((double)c->prior);
            means[n++] = c->means;
            c->made = grown;
        }
        kiln__forest_predict(f->forest, since, points, s->prior ? features : NULL, n, means);
    }
}

/* Returns the unknown candidate with the least acquisition function of the forest. Returns NULL if no candidate is
 * unknown. */
static const uint32_t *choose_by_forest(const kiln__search *s, const surrogate *f, kiln__batch *const *batches,
                                        size_t count, float boldness)
{
    for (;;) {
        kiln__candidate *best = NULL;
        const uint32_t *point = NULL;
        float least = HUGE_VALF;
        for (size_t n = 0; n < count; n++) {
            kiln__batch *b = batches[n];
            update_predictions(s, f, b);
            for (size_t i = 0; i < b->count; i++) {
                if (b->items[i].known || !improve_bound(b->items[i].means, boldness, &least))
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

/* Returns the untried neighbour of the best configuration that the trees predict to be the fastest. Returns NULL if all
 * neighbours were tried. In a search that is stuck, trying all these neighbours makes sure that the best configuration
 * is at least a local optimum. */
static const uint32_t *choose_beside_best(const kiln__search *s, surrogate *f)
{
    for (size_t i = 0; i < KILN__TOP; i++)
        if (f->near[i].used && f->near[i].around == s->best) {
            kiln__batch *around = &f->near[i];
            return choose_by_forest(s, f, &around, 1, 0);
        }
    return NULL;
}

/* Finds the fastest configuration of the same part whose value on the axis is not the value of the best configuration.
 * Returns KILN__NO_ENTRY if no such configuration has run. */
static size_t find_beyond(const kiln__search *s, size_t axis)
{
    const uint32_t *best = kiln__search_point(s, s->best);
    size_t found = KILN__NO_ENTRY;
    for (size_t i = 0; i < s->count; i++) {
        const uint32_t *point = kiln__search_point(s, i);
        if (s->entries[i].told && s->entries[i].value < HUGE_VAL && point[0] == best[0] &&
            point[1 + axis] != best[1 + axis] &&
            (found == KILN__NO_ENTRY || is_faster(s, (uint32_t)i, (uint32_t)found)))
            found = i;
    }
    return found;
}

/* Chooses a point beyond a switch. A switch is an axis with two values, for example whether a kernel uses shared memory.
 * The fast configurations of one value may need other values of several axes than the fast configurations of the other
 * value. Then no neighbour of the best configuration is faster, and the models expect nothing beyond the switch, because
 * the few answers there are slow. So each call takes another switch, finds the fastest configuration beyond it, and
 * chooses the neighbour of this configuration, on the same side of the switch, that the trees predict to be the fastest.
 * Evolutionary algorithms call such a side a niche.
 *
 * A switch is left out if the fastest configuration beyond it is nearly as fast as the best, because the other proposals
 * then look there anyway. *chosen is NULL if there is no point to choose. */
static kiln_status choose_beyond_switch(kiln__search *s, surrogate *f, const uint32_t **chosen, kiln_error **error)
{
    const uint32_t *best = kiln__search_point(s, s->best);
    const kiln__part *part = &s->points->parts[best[0]];
    size_t axis = 0, around = KILN__NO_ENTRY;
    *chosen = NULL;
    for (size_t tries = 0; tries < part->axis_count && around == KILN__NO_ENTRY; tries++) {
        axis = f->next_switch++ % part->axis_count;
        if (part->axes[axis].values == 2)
            around = find_beyond(s, axis);
    }
    if (around == KILN__NO_ENTRY || measure_goal(s->entries[around].value, s->entries[s->best].value) < near_goal)
        return KILN_OK;
    kiln__batch *b = &f->beyond;
    b->around = (uint32_t)around;
    KILN__TRY(fill_neighbours(s, b, error));
    for (size_t i = 0; i < b->count; i++)
        b->items[i].known = b->points[i * s->width + 1 + axis] == best[1 + axis];
    *chosen = choose_by_forest(s, f, &b, 1, 0);
    return KILN_OK;
}

/* Chooses the next point. The states in the comment at the head of this file decide which model proposes. Both models
 * score the same candidates. */
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
        status = kiln__gaussian_learn(s, &f->gaussian, f->first, f->first_count, weigh_failures(&f->failures), &early,
                                      error);
    if (status == KILN_OK && !early && s->told_count > f->fitted + f->fitted / LEARN_MOST)
        status = grow_forest(s, f, error);
    if (status == KILN_OK)
        status = refresh_neighbours(s, f, error);
    if (status != KILN_OK)
        return status;
    kiln__batch *batches[KILN__TOP + 2] = {&f->pool, &f->hinted};
    size_t count = 2;
    for (size_t i = 0; i < KILN__TOP; i++)
        if (f->near[i].used)
            batches[count++] = &f->near[i];
    double boldness = kiln__random_unit(&s->random);
    const uint32_t *best = stuck && f->learned % POLISH_EACH == 0 ? choose_beside_best(s, f) : NULL;
    if (stuck && f->learned % 2 == 1 && f->learned > f->best_at + SWITCH_AFTER)
        KILN__TRY(choose_beyond_switch(s, f, &best, error));
    if (!best)
        best = early ? kiln__gaussian_choose(s, f->gaussian, batches, count, gaussian_bold * boldness)
                     : choose_by_forest(s, f, batches, count, most_bold * (float)boldness);
    *found = best != NULL;
    if (best)
        memcpy(s->next, best, s->width * sizeof *s->next);
    return KILN_OK;
}

/* Returns whether two points are neighbours or equal. */
static bool are_neighbours(const kiln__search *s, uint32_t one, uint32_t other)
{
    const uint32_t *a = kiln__search_point(s, one), *b = kiln__search_point(s, other);
    size_t differ = 0;
    for (size_t i = 1; i < s->width; i++)
        differ += a[i] != b[i];
    return a[0] == b[0] && differ < 2;
}

/* Inserts an entry into the list of the best entries. At most NEAR_TOP entries of the list may be neighbours of better
 * entries, so that not all entries lie around one local optimum. The insertion may therefore remove other entries that
 * have become neighbours of a better entry. */
static void insert_top(const kiln__search *s, surrogate *f, uint32_t entry)
{
    uint32_t ordered[KILN__TOP + 1];
    size_t count = f->top_count, at = count, near_ones = 0;
    while (at > 0 && is_faster(s, entry, f->top[at - 1]))
        at--;
    memcpy(ordered, f->top, at * sizeof *ordered);
    ordered[at] = entry;
    memcpy(ordered + at + 1, f->top + at, (count - at) * sizeof *ordered);
    f->top_count = 0;
    for (size_t i = 0; i <= count && f->top_count < KILN__TOP; i++) {
        bool near = false;
        for (size_t k = 0; k < f->top_count; k++)
            near |= are_neighbours(s, ordered[i], f->top[k]);
        if (near && near_ones == NEAR_TOP)
            continue;
        near_ones += near;
        f->top[f->top_count++] = ordered[i];
    }
}

/* Counts an answer in `failures`. Finds the nearest answer among the last NEAREST_OF proposed points, and counts the
 * answer by whether that nearest answer failed. */
static void count_failure(const kiln__search *s, failures *f, size_t entry)
{
    const uint32_t *point = kiln__search_point(s, entry);
    double least = elsewhere;
    size_t nearest = entry, from = s->count > NEAREST_OF ? s->count - NEAREST_OF : 0;
    for (size_t i = from; i < s->count; i++) {
        double far = i != entry && s->entries[i].told ? measure_distance(s, point, kiln__search_point(s, i))
                                                      : elsewhere;
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
    count_failure(s, &f->failures, entry);
    if (!failed || weigh_failures(&f->failures) > 0) {
        f->learned++;
        if (f->first_count < KILN__GAUSSIAN_MOST)
            f->first[f->first_count++] = (uint32_t)entry;
    }
    if (failed)
        return KILN_OK;
    if (s->best == entry)
        f->best_at = f->learned;
    insert_top(s, f, (uint32_t)entry);
    return KILN_OK;
}

static void surrogate_end(kiln__search *s, void *state)
{
    surrogate *f = state;
    kiln__gaussian_free(s, f->gaussian);
    kiln__forest_free(f->forest);
    kiln__free(s->mem, f->rows);
    kiln__batch *const others[] = {&f->pool, &f->hinted, &f->beyond};
    for (size_t i = 0; i < KILN__TOP + KILN__COUNT(others); i++) {
        kiln__batch *b = i < KILN__TOP ? &f->near[i] : others[i - KILN__TOP];
        kiln__free(s->mem, b->points);
        kiln__free(s->mem, b->items);
    }
}

const kiln__strategy kiln__strategy_surrogate = {.name = "surrogate",
                                                 .state_size = sizeof(surrogate),
                                                 .propose = surrogate_propose,
                                                 .told = surrogate_told,
                                                 .end = surrogate_end};
