/* gaussian.c - a Gaussian process over the first answers of a search: better than trees while there are few of them.
 *
 * The covariance of two points is that of their parts, plus within a part 1 / (1 + d^2 / 2)^2, with d the distance of
 * their positions, each axis divided by a length of its own (a rational quadratic kernel: Rasmussen and Williams,
 * Gaussian Processes for Machine Learning, 2006, chapter 4; the likelihood: chapter 5). Where a list mixes powers of two
 * with other values, they are apart by another length as well: sizes that are powers fit what a GPU divides its work by. An answer adds a row to the
 * factor of the covariances; only a changed length or noise computes it anew, as seldom as `effort` allows. */
#include <math.h>
#include <string.h>

#include "search_internal.h"

enum { MOST = KILN__GAUSSIAN_MOST, LANES = 16 };
enum { POOL_EFFORT = 250000 }; /* distances on axes to random points for each proposal; others each time */
/* What a proposal may spend on changes of lengths and noise, in sixths of the additions and products of a factor. What
 * is left over is kept, up to the second figure. */
enum { EFFORT = 240000, MOST_EFFORT = 4 * EFFORT };

static const double between_parts = 0.3; /* covariance of points of different parts */
static const double worst_goal = 1.2;    /* logarithms of the ratio to the best are cut off here */
static const double least_worst = 0.1;   /* of a failure, where all that ran is equally fast */
static const double most_doubt = 1000;   /* noise of a failed answer that is not believed, in units of the scale */
static const double trusted_step = 0.15; /* a smaller change of how much failures count does not change the factor */
static const double first_noise = 0.01, least_noise = 1e-4, most_noise = 1;
static const double most_length = 20; /* of an axis, whose positions are from 0 to 1; the least: 1 / this */
/* Before answers say otherwise the length of an axis is 1, within a factor of e^0.3 or so: it takes several answers to
 * change it, as few may be explained by any. That of powers of two is less: such values tell little of the others. */
static const double length_spread = 0.3, power_length = 1.0 / 3;
static const double cost_weight = 0.3;
static const double trust_spread = 0.5, least_scale = 0.01, doubt = 4; /* set_trust() */
enum { DOUBT_AFTER = 8, AGREED = 24 };                                 /* answers that are compared with hints */

typedef struct feature { /* by which points are near or far: a position on an axis, or whether that is a power of two */
    size_t axis;
    bool power;
} feature;

struct kiln__gaussian {
    size_t count, axes, parts; /* axes: how many features; those of the axes themselves come first */
    size_t rows;               /* the answers, then points whose answers are not there yet */
    feature *features;
    size_t *power_of;        /* the other feature of each axis that has one */
    const uint32_t *entries; /* of the answers */
    double noise, scale;     /* scale: the variance of the goals */
    double doubt;            /* added to the noise of a failed answer, in units of the scale */
    double trusted;          /* how much a failed answer counts, from 0 to 1: `doubt` follows from it */
    bool failed[MOST];       /* of each answer */
    float sure[MOST];        /* of each row: 1; 0 for a failed answer that has doubt */
    uint64_t effort;         /* left for changes of lengths and noise */
    double goal_mean;
    double trust, prior_mean; /* goals are from `trust` times what was expected, above its mean */
    double priors[MOST];
    double levels[AGREED], values[AGREED]; /* of the first: what was expected, what came */
    double goals[MOST], costs[MOST];
    float hopes[MOST];                              /* weights of covariances, for goals and costs together */
    double factor[MOST * MOST], trial[MOST * MOST]; /* lower triangles, a row after the other */
    double apart[MOST * MOST];                      /* squared distances */
    uint32_t part[MOST];
    double *weights; /* of each feature: 1 / length^2 */
    float *at;       /* positions, from 0 to 1, or powers (0 or 1), of each feature: MOST */
};

/* ---- the factor ---- */

static inline double dot(const double *one, const double *other, size_t n)
{
    double sums[4] = {0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4) /* four sums, so that an addition does not wait for the one before */
        for (size_t k = 0; k < 4; k++)
            sums[k] += one[i + k] * other[i + k];
    for (; i < n; i++)
        sums[0] += one[i] * other[i];
    return sums[0] + sums[1] + (sums[2] + sums[3]);
}

static double covariance(double squared)
{
    double t = 1 / (1 + squared * 0.5);
    return between_parts + (1 - between_parts) * t * t;
}

/* What two rows are apart on an axis, squared, with weight 1. */
static double apart_on(const kiln__search *s, const kiln__gaussian *g, size_t axis, size_t i, size_t k)
{
    const kiln__part *part = &s->points->parts[g->part[i]];
    const feature *on = &g->features[axis];
    if (on->axis >= part->axis_count || (on->power && !part->axes[on->axis].powers))
        return 0;
    double d = (double)g->at[axis * MOST + i] - (double)g->at[axis * MOST + k];
    return part->axes[on->axis].ordered && !on->power ? d * d : (double)(d != 0);
}

/* Computes row i of the factor; false: not positive definite. */
static bool add_row(const kiln__search *s, const kiln__gaussian *g, double *factor, size_t i, size_t axis, double more)
{
    double *row = factor + i * MOST;
    for (size_t k = 0; k < i; k++) {
        double value = between_parts;
        if (g->part[i] == g->part[k])
            value = covariance(fmax(0, g->apart[i * MOST + k] + (more != 0 ? more * apart_on(s, g, axis, i, k) : 0)));
        row[k] = (value - dot(row, factor + k * MOST, k)) / factor[k * MOST + k];
    }
    double left = 1 + g->noise + (g->failed[i] ? g->doubt : 0) - dot(row, row, i);
    row[i] = sqrt(fmax(left, 0));
    return left > 1e-12;
}

/* All rows, with `more` weight on an axis. */
static bool refactor(const kiln__search *s, kiln__gaussian *g, double *factor, size_t axis, double more)
{
    for (size_t i = 0; i < g->count; i++)
        if (!add_row(s, g, factor, i, axis, more))
            return false;
    return true;
}

static void solve(const kiln__gaussian *g, const double *factor, const double *of, double *out)
{
    for (size_t i = 0; i < g->count; i++)
        out[i] = (of[i] - dot(factor + i * MOST, out, i)) / factor[i * MOST + i];
}

static void solve_back(const kiln__gaussian *g, double *out)
{
    for (size_t i = g->count; i-- > 0;) {
        out[i] /= g->factor[i * MOST + i];
        for (size_t k = 0; k < i; k++)
            out[k] -= g->factor[i * MOST + k] * out[i];
    }
}

/* ---- lengths and noise ---- */

/* The weight of an answer in means: 1, or that of failures. */
static double weight_of(const kiln__gaussian *g, size_t i) { return g->failed[i] ? g->trusted : 1; }

static double weight_of_all(const kiln__gaussian *g)
{
    double sum = 1e-12;
    for (size_t i = 0; i < g->count; i++)
        sum += weight_of(g, i);
    return sum;
}

static double first_weight(const feature *f) { return f->power ? 1 / (power_length * power_length) : 1; }

/* The logarithm of the likelihood with a prior (lengths near the first ones), and the scale that goes with it. */
static double likelihood(kiln__gaussian *g, const double *factor, size_t axis, double more)
{
    double solved[MOST] = {0}, sum = 0, n = weight_of_all(g);
    solve(g, factor, g->goals, solved);
    g->scale = dot(solved, solved, g->count) / n + 1e-12;
    for (size_t i = 0; i < g->count; i++)
        sum += log(factor[i * MOST + i]);
    double like = -0.5 * n * log(g->scale) - sum, noise = log(g->noise / first_noise);
    for (size_t a = 0; a < g->axes; a++) {
        double weight = g->weights[a] + (a == axis ? more : 0);
        double changed = 0.5 * log(weight / first_weight(&g->features[a])) / length_spread;
        like -= 0.5 * changed * changed;
    }
    return like - 0.2 * noise * noise;
}

static bool is_used(const kiln__search *s, const kiln__gaussian *g, size_t number)
{
    size_t axis = g->features[number].axis;
    if (g->features[number].power)
        return true;
    for (size_t p = 0; p < s->points->part_count; p++)
        if (axis < s->points->parts[p].axis_count && s->points->parts[p].axes[axis].values > 1)
            return true;
    return false;
}

static void take_trial(const kiln__search *s, kiln__gaussian *g, size_t axis, double more)
{
    memcpy(g->factor, g->trial, sizeof g->factor);
    if (more == 0)
        return;
    g->weights[axis] += more;
    for (size_t i = 0; i < g->count; i++)
        for (size_t k = 0; k < i; k++)
            if (g->part[i] == g->part[k])
                g->apart[i * MOST + k] += more * apart_on(s, g, axis, i, k);
}

/* Changes one length or the noise at random, and keeps the change if the answers are more likely with it. */
static void improve(kiln__search *s, kiln__gaussian *g, double *best)
{
    size_t axis = (size_t)kiln__random_below(&s->random, g->axes + 1);
    bool up = kiln__random_below(&s->random, 2);
    double old_noise = g->noise, old_scale = g->scale, more = 0;
    if (axis < g->axes) {
        double weight = g->weights[axis] * (up ? 2.25 : 1 / 2.25), bound = most_length * most_length;
        if (!is_used(s, g, axis) || weight > bound || weight * bound < 1)
            return;
        more = weight - g->weights[axis];
    } else {
        g->noise *= up ? 2.5 : 1 / 2.5;
    }
    bool fits = g->noise >= least_noise && g->noise <= most_noise && refactor(s, g, g->trial, axis, more);
    double like = fits ? likelihood(g, g->trial, axis, more) : *best;
    if (like > *best) {
        *best = like;
        take_trial(s, g, axis, more);
    } else {
        g->noise = old_noise;
        g->scale = old_scale;
    }
}

/* ---- answers ---- */

static float place_of(uint32_t position, uint32_t values)
{
    return values > 1 ? (float)((double)position / (double)(values - 1)) : 0;
}

/* Row i of positions and distances. */
static void set_row(const kiln__search *s, kiln__gaussian *g, size_t i, uint32_t entry)
{
    const uint32_t *point = kiln__search_point(s, entry);
    const kiln__part *part = &s->points->parts[point[0]];
    g->part[i] = point[0];
    for (size_t a = 0; a < part->axis_count; a++) {
        uint32_t values = part->axes[a].values;
        g->at[a * MOST + i] = place_of(point[1 + a], values);
        if (part->axes[a].powers)
            g->at[g->power_of[a] * MOST + i] = part->axes[a].powers[point[1 + a]];
    }
    for (size_t k = 0; k < i; k++) {
        double sum = 0;
        for (size_t a = 0; a < g->axes && g->part[k] == g->part[i]; a++)
            sum += g->weights[a] * apart_on(s, g, a, i, k);
        g->apart[i * MOST + k] = sum;
    }
}

static void take_answer(const kiln__search *s, kiln__gaussian *g, uint32_t entry)
{
    const uint32_t *point = kiln__search_point(s, entry);
    size_t i = g->count++;
    g->failed[i] = !(s->entries[entry].value < HUGE_VAL);
    g->sure[i] = !g->failed[i] || g->doubt == 0;
    g->priors[i] = fmin(kiln__prior_of(s, point), worst_goal);
    if (i < AGREED && s->prior) {
        g->levels[i] = kiln__prior_level(s, point);
        g->values[i] = s->entries[entry].value;
    }
    set_row(s, g, i, entry);
}

/* Points that were proposed and not answered yet: as if each had been answered with what is expected of it, which
 * changes no expectation, but leaves less to learn near them. So those that are compiled side by side differ. */
static void take_pending(const kiln__search *s, kiln__gaussian *g)
{
    size_t left = s->count - s->told_count;
    g->rows = g->count;
    for (size_t i = s->count; i-- > 0 && left > 0 && g->rows < MOST;) {
        if (s->entries[i].told)
            continue;
        left--;
        set_row(s, g, g->rows, (uint32_t)i);
        g->failed[g->rows] = false;
        g->sure[g->rows] = 1;
        g->hopes[g->rows] = 0;
        if (!add_row(s, g, g->factor, g->rows, 0, 0))
            return;
        g->rows++;
    }
}

/* Takes their weighted mean from the goals, and returns it. */
static double centre_goals(kiln__gaussian *g)
{
    double mean = 0, all = weight_of_all(g);
    for (size_t i = 0; i < g->count; i++)
        mean += weight_of(g, i) * g->goals[i] / all;
    for (size_t i = 0; i < g->count; i++)
        g->goals[i] -= mean;
    return mean;
}

/* Sets how much failed answers count. Their noise depends on it, so the factor is computed anew; a small change is
 * left for later. False: it cannot be computed. */
static bool set_trusted(const kiln__search *s, kiln__gaussian *g, double trusted)
{
    bool ends = trusted <= 0 || trusted >= 1;
    if (trusted == g->trusted || (!ends && fabs(trusted - g->trusted) < trusted_step))
        return true;
    g->trusted = trusted;
    g->doubt = trusted >= 1 ? 0 : (1 - trusted) / fmax(trusted, 1 / most_doubt);
    for (size_t i = 0; i < g->count; i++)
        g->sure[i] = !g->failed[i] || g->doubt == 0;
    return refactor(s, g, g->factor, 0, 0);
}

/* Goals depend on the best so far, so all are made anew. */
static void set_goals(const kiln__search *s, kiln__gaussian *g)
{
    double best = s->entries[s->best].value, worst = least_worst;
    for (size_t i = 0; i < g->count; i++) {
        const kiln__search_entry *e = &s->entries[g->entries[i]];
        if (e->value < HUGE_VAL)
            g->goals[i] = fmin(best > 0 ? log(e->value / best) : (e->value - best) / (fabs(best) + 1e-300), worst_goal);
        if (e->value < HUGE_VAL && g->goals[i] > worst)
            worst = g->goals[i];
    }
    for (size_t i = 0; i < g->count; i++)
        if (!(s->entries[g->entries[i]].value < HUGE_VAL))
            g->goals[i] = worst;
    g->goal_mean = centre_goals(g);
}

/* How far hints can be trusted: the factor with which they explain the goals best, while little is known near 1 or what
 * is left of it by answers in another order (a normal prior), and nearer 0 the less they explain. Takes what they explain
 * from the goals. */
static void set_trust(const kiln__search *s, kiln__gaussian *g)
{
    double priors[MOST], goals[MOST] = {0}, mean = 0, both = 0, square = 0, left = 0, n = (double)g->count;
    if (!s->prior)
        return;
    for (size_t i = 0; i < g->count; i++)
        mean += g->priors[i] / n;
    for (size_t i = 0; i < g->count; i++)
        goals[i] = g->priors[i] - mean;
    solve(g, g->factor, goals, priors);
    solve(g, g->factor, g->goals, goals);
    both = dot(priors, goals, g->count);
    square = dot(priors, priors, g->count);
    double pull = fmax(g->scale, least_scale) / (trust_spread * trust_spread);
    double agreed = kiln__prior_agreement(g->levels, g->values, g->count < AGREED ? g->count : AGREED);
    double trust = (both + pull * fmax(0, agreed)) / (square + pull);
    for (size_t i = 0; i < g->count; i++)
        left += (goals[i] - trust * priors[i]) * (goals[i] - trust * priors[i]) / n;
    double chance = doubt * left / (trust * trust * square + 1e-300); /* what is explained where there is nothing */
    if (g->count >= DOUBT_AFTER)
        trust *= fmax(0, 1 - chance);
    g->trust = trust;
    g->prior_mean = mean;
    for (size_t i = 0; i < g->count; i++)
        g->goals[i] -= trust * (g->priors[i] - mean);
}

/* Their logarithms, from the mean of those that are known. */
static void set_costs(const kiln__search *s, kiln__gaussian *g)
{
    size_t known = 0;
    double sum = 0;
    for (size_t i = 0; i < g->count; i++) {
        double cost = s->entries[g->entries[i]].cost;
        bool is_known = cost > 0 && cost < HUGE_VAL;
        g->costs[i] = is_known ? log(cost) : NAN;
        sum += is_known ? g->costs[i] : 0;
        known += is_known;
    }
    for (size_t i = 0; i < g->count; i++)
        g->costs[i] = isnan(g->costs[i]) ? 0 : g->costs[i] - sum / (double)known;
}

/* The axes, and behind them those on which some values are powers of two and others not. */
static void list_features(const kiln__search *s, kiln__gaussian *g)
{
    for (g->axes = 0; g->axes < s->width - 1; g->axes++)
        g->features[g->axes].axis = g->axes;
    for (size_t a = 0; a < s->width - 1; a++) {
        bool told_apart = false;
        for (size_t p = 0; p < s->points->part_count; p++)
            told_apart |= a < s->points->parts[p].axis_count && s->points->parts[p].axes[a].powers;
        if (!told_apart)
            continue;
        g->power_of[a] = g->axes;
        g->features[g->axes++] = (feature){a, true};
    }
}

static kiln__gaussian *open_gaussian(const kiln__search *s)
{
    const size_t most = 2 * s->width;
    kiln__gaussian *g = kiln__calloc(s->mem, 1, sizeof *g);
    if (!g)
        return NULL;
    g->features = kiln__calloc(s->mem, most, sizeof *g->features);
    g->power_of = kiln__calloc(s->mem, s->width, sizeof *g->power_of);
    if (g->features && g->power_of) {
        list_features(s, g);
        g->weights = kiln__calloc(s->mem, g->axes + 1, sizeof *g->weights);
        g->at = kiln__calloc(s->mem, (g->axes + 1) * MOST, sizeof *g->at);
    }
    if (!g->weights || !g->at) {
        kiln__gaussian_free(s, g);
        return NULL;
    }
    g->parts = s->points->part_count;
    g->noise = first_noise;
    g->trusted = 1;
    for (size_t a = 0; a < g->axes; a++)
        g->weights[a] = first_weight(&g->features[a]);
    return g;
}

double kiln__gaussian_trust(const kiln__gaussian *g) { return g ? g->trust : 1; }

void kiln__gaussian_free(const kiln__search *s, kiln__gaussian *g)
{
    if (!g)
        return;
    kiln__free(s->mem, g->weights);
    kiln__free(s->mem, g->features);
    kiln__free(s->mem, g->power_of);
    kiln__free(s->mem, g->at);
    kiln__free(s->mem, g);
}

kiln_status kiln__gaussian_learn(kiln__search *s, kiln__gaussian **made, const uint32_t *entries, size_t count,
                                 double trusted, bool *usable, kiln_error **error)
{
    if (!*made && !(*made = open_gaussian(s)))
        return kiln__fail_memory(error);
    kiln__gaussian *g = *made;
    double both[MOST] = {0}, weights[MOST] = {0};
    g->entries = entries;
    *usable = true;
    while (g->count < count && *usable) {
        take_answer(s, g, entries[g->count]);
        *usable = add_row(s, g, g->factor, g->count - 1, 0, 0);
    }
    *usable = *usable && set_trusted(s, g, trusted);
    if (!*usable)
        return KILN_OK;
    set_goals(s, g);
    set_trust(s, g);
    set_costs(s, g);
    double best = likelihood(g, g->factor, 0, 0);
    uint64_t price = (uint64_t)g->count * g->count * (g->count + 30);
    g->effort = g->effort + EFFORT < MOST_EFFORT ? g->effort + EFFORT : MOST_EFFORT;
    for (; g->effort >= price; g->effort -= price)
        improve(s, g, &best);
    for (size_t i = 0; i < g->count; i++)
        both[i] = g->goals[i] + cost_weight * g->costs[i];
    solve(g, g->factor, both, weights);
    solve_back(g, weights);
    for (size_t i = 0; i < g->count; i++)
        g->hopes[i] = (float)weights[i];
    take_pending(s, g);
    return KILN_OK;
}

/* ---- choosing ---- */

/* What candidates are worth is computed in single precision: there are hundreds of them for each proposal, and it is
 * exact to far less than the noise. */
typedef struct row_floats {
    _Alignas(64) float of[MOST];
} row_floats;

/* Adds what an axis adds to the squared distances of a position from all rows, `weight` times. */
static void add_axis(const kiln__search *s, const kiln__gaussian *g, uint32_t part, size_t axis, uint32_t position,
                     float weight, row_floats *apart)
{
    const kiln__part_axis *on = &s->points->parts[part].axes[axis];
    const float *at = g->at + axis * MOST;
    if (on->values < 2)
        return;
    float here = place_of(position, on->values);
    size_t padded = (g->rows + LANES - 1) / LANES * LANES; /* whole vectors: MOST is a multiple of LANES */
    if (on->ordered)
        for (size_t i = 0; i < padded; i += LANES)
            for (size_t k = i; k < i + LANES; k++)
                apart->of[k] += weight * (here - at[k]) * (here - at[k]);
    else
        for (size_t i = 0; i < padded; i += LANES)
            for (size_t k = i; k < i + LANES; k++)
                apart->of[k] += at[k] != here ? weight : 0;
}

/* The same for whether a value is a power of two. */
static void add_power(const kiln__search *s, const kiln__gaussian *g, uint32_t part, size_t axis, uint32_t position,
                      float sign, row_floats *apart)
{
    const kiln__part_axis *on = &s->points->parts[part].axes[axis];
    if (!on->powers)
        return;
    const size_t number = g->power_of[axis], padded = (g->rows + LANES - 1) / LANES * LANES;
    const float *at = g->at + number * MOST, here = on->powers[position], weight = sign * (float)g->weights[number];
    for (size_t i = 0; i < padded; i += LANES)
        for (size_t k = i; k < i + LANES; k++)
            apart->of[k] += at[k] != here ? weight : 0;
}

/* The squared distances of a point from all rows of its part. */
static void distances(const kiln__search *s, const kiln__gaussian *g, const uint32_t *point, row_floats *apart)
{
    memset(apart, 0, sizeof *apart);
    for (size_t a = 0; a < s->points->parts[point[0]].axis_count; a++) {
        add_axis(s, g, point[0], a, point[1 + a], (float)g->weights[a], apart);
        add_power(s, g, point[0], a, point[1 + a], 1, apart);
    }
}

/* The covariances of a point with all rows; the largest of them, without those of failures that have doubt. */
static float relate(const kiln__gaussian *g, uint32_t part, const row_floats *apart, row_floats *out)
{
    const float between = (float)between_parts, within = 1 - between;
    size_t padded = (g->rows + LANES - 1) / LANES * LANES;
    float nearest[LANES] = {0};
    for (size_t i = 0; i < padded; i += LANES)
        for (size_t k = i; k < i + LANES; k++) {
            float squared = apart->of[k] > 0 ? apart->of[k] : 0, t = 1 / (1 + squared * 0.5f);
            out->of[k] = between + within * t * t;
        }
    for (size_t i = 0; i < g->rows && g->parts > 1; i++)
        if (g->part[i] != part)
            out->of[i] = between;
    for (size_t i = g->rows; i < padded; i++)
        out->of[i] = 0;
    for (size_t i = 0; i < padded; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            nearest[k] = fmaxf(out->of[i + k] * g->sure[i + k], nearest[k]);
    for (size_t k = 1; k < LANES; k++)
        nearest[0] = nearest[k] > nearest[0] ? nearest[k] : nearest[0];
    return nearest[0];
}

/* The sum of products, in as many sums as there are lanes. */
static float weigh(const kiln__gaussian *g, const row_floats *related)
{
    float sums[LANES] = {0};
    for (size_t i = 0; i < g->rows; i += LANES) /* 0 beyond the count */
        for (size_t k = 0; k < LANES; k++)
            sums[k] += related->of[i + k] * g->hopes[i + k];
    for (size_t n = LANES / 2; n > 0; n /= 2)
        for (size_t k = 0; k < n; k++)
            sums[k] += sums[k + n];
    return sums[0];
}

/* The covariances of a candidate with all rows, the largest returned. A neighbour is as far from the rows as the point
 * that it is one of (around: these distances), except on one axis. */
static float relate_item(const kiln__search *s, const kiln__gaussian *g, const kiln__batch *b, size_t i,
                         const row_floats *around, row_floats *related)
{
    row_floats apart;
    const uint32_t *point = b->points + i * s->width, axis = b->items[i].axis;
    if (b->used && axis < g->axes) {
        float weight = (float)g->weights[axis];
        apart = *around;
        add_power(s, g, point[0], axis, kiln__search_point(s, b->around)[1 + axis], -1, &apart);
        add_power(s, g, point[0], axis, point[1 + axis], 1, &apart);
        add_axis(s, g, point[0], axis, kiln__search_point(s, b->around)[1 + axis], -weight, &apart);
        add_axis(s, g, point[0], axis, point[1 + axis], weight, &apart);
    } else {
        distances(s, g, point, &apart);
    }
    return relate(g, point[0], &apart, related);
}

/* What each candidate of a batch is expected to be worth, and the least that it may be: all rows together tell at least
 * as much as the nearest one, so the spread is at most what that leaves. */
static void judge(const kiln__search *s, const kiln__gaussian *g, kiln__batch *b, double boldness)
{
    row_floats around, related;
    float spread = (float)(boldness * boldness * g->scale), shared = (float)(1 / (1 + g->noise));
    if (b->used)
        distances(s, g, kiln__search_point(s, b->around), &around);
    size_t each = b->used ? 1 : 1 + b->count * g->rows * g->axes / POOL_EFFORT;
    for (size_t i = 0; i < b->count; i++) {
        kiln__candidate *c = &b->items[i];
        c->least = HUGE_VAL;
        if (c->known || i % each != s->told_count % each)
            continue;
        float nearest = relate_item(s, g, b, i, &around, &related);
        c->worth = g->goal_mean + (double)weigh(g, &related);
        if (s->prior)
            c->worth += g->trust * (fmin((double)c->prior, worst_goal) - g->prior_mean);
        c->least = c->worth - (double)sqrtf(spread * fmaxf(0, 1 - nearest * nearest * shared));
    }
}

/* Its worth less the spread; not all of that is computed if it turns out to be above `limit`. */
static double spread_out(const kiln__search *s, const kiln__gaussian *g, const kiln__batch *b, size_t item,
                         double boldness, double limit)
{
    enum { LOOK = 8 }; /* rows after which that is looked at */
    row_floats around, related;
    double solved[MOST], left = 1, worth = b->items[item].worth;
    if (b->used)
        distances(s, g, kiln__search_point(s, b->around), &around);
    relate_item(s, g, b, item, &around, &related);
    for (size_t i = 0; i < g->rows; i++) {
        solved[i] = ((double)related.of[i] - dot(g->factor + i * MOST, solved, i)) / g->factor[i * MOST + i];
        left -= solved[i] * solved[i];
        if (i % LOOK == 0 && worth - boldness * sqrt(fmax(0, g->scale * left)) >= limit)
            break;
    }
    return worth - boldness * sqrt(fmax(0, g->scale * left));
}

/* The most hopeful candidate of a batch; its count: none. */
static size_t lead_of(const kiln__batch *b)
{
    size_t lead = b->count;
    double least = HUGE_VAL;
    for (size_t i = 0; i < b->count; i++)
        if (b->items[i].least < least) {
            lead = i;
            least = b->items[i].least;
        }
    return lead;
}

const uint32_t *kiln__gaussian_choose(const kiln__search *s, kiln__gaussian *g, kiln__batch *const *batches,
                                      size_t count, double boldness)
{
    const uint32_t *best = NULL;
    double best_worth = HUGE_VAL;
    size_t leads[KILN__TOP + 2];
    for (size_t n = 0; n < count; n++) {
        judge(s, g, batches[n], boldness);
        leads[n] = lead_of(batches[n]);
    }
    for (;;) { /* the most hopeful first, so that few spreads are computed */
        size_t from = count;
        double least = best_worth;
        for (size_t n = 0; n < count; n++)
            if (leads[n] < batches[n]->count && batches[n]->items[leads[n]].least < least) {
                from = n;
                least = batches[n]->items[leads[n]].least;
            }
        if (from == count)
            return best;
        kiln__batch *b = batches[from];
        size_t item = leads[from];
        const uint32_t *point = b->points + item * s->width;
        b->items[item].known = kiln__search_find(s, point) != KILN__NO_ENTRY;
        double worth = b->items[item].known ? HUGE_VAL : spread_out(s, g, b, item, boldness, best_worth);
        b->items[item].least = HUGE_VAL; /* not again */
        leads[from] = lead_of(b);
        if (worth < best_worth) {
            best_worth = worth;
            best = point;
        }
    }
}
