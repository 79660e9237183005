/* gaussian.c - Gaussian process regression over the first answers of a search. For few answers a Gaussian process
 * predicts better than trees do.
 *
 * The model follows Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006. The Cholesky factor is in
 * algorithm 2.1, kernel functions are in section 4.2, and the marginal likelihood is in section 5.4. The linear mean
 * function, which serves hints, is in section 2.7.
 *
 * - Kernel function: Let c be `between_parts`. Two points of the same part (variant) have the covariance
 *   c + (1 - c) / (1 + d^2 / 2)^2. This is the rational quadratic kernel with alpha = 2, plus a constant. Two points of
 *   different parts have the covariance c. The distance d is computed after each feature is divided by its own length
 *   scale (automatic relevance determination). A length scale in this file is the book's length scale times the square
 *   root of 2.
 * - Features: The features are the axes, whose positions are scaled to [0, 1]. For some axes, one more feature tells
 *   whether the value is a power of two. Sizes that are powers of two fit the units into which a GPU divides its work.
 * - Hyperparameters: The hyperparameters are the length scales and the noise. A random step changes one hyperparameter,
 *   and the new value stays if it raises the posterior density. The variance of the goals (`scale`) has a closed form.
 * - Acquisition function: The function is the lower confidence bound, mean - boldness * deviation. The cost of a sample
 *   is added to the mean.
 * - Failures: Failures have heteroscedastic noise. A failure that counts less has more noise.
 * - Pending points: A pending point counts as answered with its predicted mean (the "kriging believer" of Ginsbourger,
 *   Le Riche and Carraro, 2010; the hallucinated observations of GP-BUCB, Desautels, Krause and Burdick, 2014).
 *
 * Invariant: `factor` is the lower Cholesky factor of the covariances of its rows. The first `count` rows are answers,
 * and the next rows are pending points. A new answer adds one row, in O(n^2). Only a change of a length scale or of the
 * noise makes the process compute all rows again, in O(n^3). The number `effort` limits this work. Only one thread at a
 * time may use a Gaussian process. */
#include <math.h>
#include <string.h>

#include "search_internal.h"

/* MOST: the number of rows of the matrices. LANES: numbers that a loop handles together, so that the compiler uses
 * vector instructions. */
enum { MOST = KILN__GAUSSIAN_MOST, LANES = 16 };
/* The number of distances along one axis that a proposal may compute for random candidates. If the random candidates
 * need more, each proposal takes other candidates. */
enum { POOL_EFFORT = 250000 };
/* The additions and multiplications that a proposal may spend on steps of hyperparameters. One unit is 1/6 of one
 * operation in the computation of a Cholesky factor. Later proposals may use the unused operations, up to
 * MOST_EFFORT. */
enum { EFFORT = 240000, MOST_EFFORT = 4 * EFFORT };

static const double between_parts = 0.3; /* the covariance of two points of different parts */
static const double worst_goal = 1.2;    /* the upper limit of goals, which are logarithms of value / best */
/* the smallest goal of a failure, which is used if all configurations that ran are equally fast */
static const double least_worst = 0.1;
static const double most_doubt = 1000; /* the greatest noise of a failure that does not count, in units of `scale` */
/* a change of the weight of failures below this number does not change the Cholesky factor */
static const double trusted_step = 0.15;
static const double first_noise = 0.01, least_noise = 1e-4;
/* The prior of a length scale is log-normal. Its median is the length of a whole axis, and its deviation is a factor of
 * e^0.3. So a length scale changes only after several answers, because many length scales explain a few answers. The
 * median for powers of two is shorter, because the answers for other values say little about powers of two. */
static const double length_spread = 0.3, power_length = 1.0 / 3;
static const double cost_weight = 0.3; /* the weight of the logarithm of the predicted cost */
static const double trust_spread = 0.5, least_scale = 0.01, doubt = 4; /* fit_trust() */
/* After DOUBT_AFTER answers, the trust in hints is reduced by the part that chance explains. The first AGREED answers
 * are compared with their hints. */
enum { DOUBT_AFTER = 8, AGREED = 24 };

/* a coordinate of points: the position on an axis, or whether the value at that position is a power of two */
typedef struct feature {
    size_t axis;
    bool power;
} feature;

/* The fitted process. All matrices are lower triangles with rows of MOST numbers. */
struct kiln__gaussian {
    size_t count, axes, parts; /* axes: the number of features, of which the first are the axes of points */
    size_t rows;               /* the number of rows: first the answers, then the pending points */
    feature *features;
    size_t *power_of;        /* for each axis, the number of its power-of-two feature, if it has one */
    const uint32_t *entries; /* the entries of the answers; the caller owns the array */
    /* noise: the variance of the noise in units of `scale`; scale: the variance of the goals */
    double noise, scale;
    double doubt;      /* the number that is added to the noise of a failure, in units of `scale` */
    double trusted;    /* the weight of a failure, from 0 to 1, from which `doubt` is computed */
    bool failed[MOST]; /* for each answer, whether it is a failure */
    float sure[MOST];  /* for each row: 0 if it is a failure whose `doubt` is not 0, otherwise 1 */
    uint64_t effort;   /* the operations that are left for steps of hyperparameters */
    double goal_mean;
    double trust, prior_mean; /* the mean function is trust * (prior - prior_mean) */
    double priors[MOST];
    double levels[AGREED], values[AGREED]; /* for the first answers: the hints and the measured values */
    double goals[MOST], costs[MOST];
    float hopes[MOST]; /* the weights of the covariances in the predicted means of goal and cost */
    double factor[MOST * MOST], trial[MOST * MOST]; /* the Cholesky factor, and the factor of a trial step */
    double apart[MOST * MOST];                      /* the squared distances of rows that belong to the same part */
    uint32_t part[MOST];
    double *weights; /* for each feature: 1 / length scale^2 */
    /* for each feature the MOST coordinates of rows: positions from 0 to 1, or 0 or 1 for powers of two */
    float *at;
};

/* larger() returns the larger of two numbers, and at_least_zero() returns 0 instead of a negative number. They replace
 * fmax(). The compiler does not vectorise a call of fmax(), because fmax() has rules for NaN. */
static inline float larger(float one, float other) { return one > other ? one : other; }
static inline double at_least_zero(double number) { return number > 0 ? number : 0; }

/* ---- the Cholesky factor of the covariances ---- */

static inline double dot_product(const double *one, const double *other, size_t n)
{
    double sums[4] = {0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4) /* computes four sums, so that an addition does not wait for the previous addition */
        for (size_t k = 0; k < 4; k++)
            sums[k] += one[i + k] * other[i + k];
    for (; i < n; i++)
        sums[0] += one[i] * other[i];
    return sums[0] + sums[1] + (sums[2] + sums[3]);
}

/* Returns the value of the kernel function for two points of the same part at a squared distance. */
static double compute_covariance(double squared)
{
    double t = 1 / (1 + squared * 0.5);
    return between_parts + (1 - between_parts) * t * t;
}

/* Returns the squared distance of two rows along one feature, without the weight of the feature. */
static double measure_feature(const kiln__search *s, const kiln__gaussian *g, size_t axis, size_t i, size_t k)
{
    const kiln__part *part = &s->points->parts[g->part[i]];
    const feature *on = &g->features[axis];
    if (on->axis >= part->axis_count || (on->power && !part->axes[on->axis].powers))
        return 0;
    double d = (double)g->at[axis * MOST + i] - (double)g->at[axis * MOST + k];
    return part->axes[on->axis].ordered && !on->power ? d * d : (double)(d != 0);
}

/* Computes row i of the factor. The weight of one feature is larger by `more`. Returns false if the covariance matrix
 * is numerically not positive definite. */
static bool add_factor_row(const kiln__search *s, const kiln__gaussian *g, double *factor, size_t i, size_t axis,
                           double more)
{
    double *row = factor + i * MOST;
    for (size_t k = 0; k < i; k++) {
        double value = between_parts;
        if (g->part[i] == g->part[k])
            value = compute_covariance(
                at_least_zero(g->apart[i * MOST + k] + (more != 0 ? more * measure_feature(s, g, axis, i, k) : 0)));
        row[k] = (value - dot_product(row, factor + k * MOST, k)) / factor[k * MOST + k];
    }
    double left = 1 + g->noise + (g->failed[i] ? g->doubt : 0) - dot_product(row, row, i);
    row[i] = sqrt(at_least_zero(left));
    return left > 1e-12;
}

/* Computes all rows of the factor. The weight of one feature is larger by `more`. */
static bool compute_factor(const kiln__search *s, kiln__gaussian *g, double *factor, size_t axis, double more)
{
    for (size_t i = 0; i < g->count; i++)
        if (!add_factor_row(s, g, factor, i, axis, more))
            return false;
    return true;
}

/* Solves L out = of, where L is the factor (forward substitution). */
static void solve_forward(const kiln__gaussian *g, const double *factor, const double *of, double *out)
{
    for (size_t i = 0; i < g->count; i++)
        out[i] = (of[i] - dot_product(factor + i * MOST, out, i)) / factor[i * MOST + i];
}

/* Solves transpose(L) x = out in place (back substitution). */
static void solve_back(const kiln__gaussian *g, double *out)
{
    for (size_t i = g->count; i-- > 0;) {
        out[i] /= g->factor[i * MOST + i];
        for (size_t k = 0; k < i; k++)
            out[k] -= g->factor[i * MOST + k] * out[i];
    }
}

/* ---- fitting length scales and noise ---- */

/* Returns the weight of an answer in means. It is 1, or the weight of failures for a failure. */
static double weigh_answer(const kiln__gaussian *g, size_t i) { return g->failed[i] ? g->trusted : 1; }

static double weigh_all_answers(const kiln__gaussian *g)
{
    double sum = 1e-12;
    for (size_t i = 0; i < g->count; i++)
        sum += weigh_answer(g, i);
    return sum;
}

static double choose_first_weight(const feature *f) { return f->power ? 1 / (power_length * power_length) : 1; }

/* Returns the logarithm of the posterior density of the hyperparameters, apart from a constant: the marginal
 * likelihood, the log-normal prior of each length scale, and a prior of the noise. Sets `scale` to the variance that
 * maximises the likelihood. */
static double compute_posterior(kiln__gaussian *g, const double *factor, size_t axis, double more)
{
    double solved[MOST] = {0}, sum = 0, n = weigh_all_answers(g);
    solve_forward(g, factor, g->goals, solved);
    g->scale = dot_product(solved, solved, g->count) / n + 1e-12;
    for (size_t i = 0; i < g->count; i++)
        sum += log(factor[i * MOST + i]);
    double like = -0.5 * n * log(g->scale) - sum, noise = log(g->noise / first_noise);
    for (size_t a = 0; a < g->axes; a++) {
        double weight = g->weights[a] + (a == axis ? more : 0);
        double changed = 0.5 * log(weight / choose_first_weight(&g->features[a])) / length_spread;
        like -= 0.5 * changed * changed;
    }
    return like - 0.2 * noise * noise;
}

static bool is_feature_used(const kiln__search *s, const kiln__gaussian *g, size_t number)
{
    size_t axis = g->features[number].axis;
    if (g->features[number].power)
        return true;
    for (size_t p = 0; p < s->points->part_count; p++)
        if (axis < s->points->parts[p].axis_count && s->points->parts[p].axes[axis].values > 1)
            return true;
    return false;
}

static void accept_step(const kiln__search *s, kiln__gaussian *g, size_t axis, double more)
{
    memcpy(g->factor, g->trial, sizeof g->factor);
    if (more == 0)
        return;
    g->weights[axis] += more;
    for (size_t i = 0; i < g->count; i++)
        for (size_t k = 0; k < i; k++)
            if (g->part[i] == g->part[k])
                g->apart[i * MOST + k] += more * measure_feature(s, g, axis, i, k);
}

/* Tries a random step, which multiplies or divides one length scale or the noise by a constant. Keeps the step if the
 * posterior density rises (stochastic hill climbing). */
static void try_step(kiln__search *s, kiln__gaussian *g, double *best)
{
    size_t axis = (size_t)kiln__random_below(&s->random, g->axes + 1);
    bool up = kiln__random_below(&s->random, 2);
    double old_noise = g->noise, old_scale = g->scale, more = 0;
    if (axis < g->axes) {
        if (!is_feature_used(s, g, axis))
            return;
        more = g->weights[axis] * (up ? 2.25 : 1 / 2.25) - g->weights[axis];
    } else {
        g->noise *= up ? 2.5 : 1 / 2.5;
    }
    bool fits = g->noise >= least_noise && compute_factor(s, g, g->trial, axis, more);
    double like = fits ? compute_posterior(g, g->trial, axis, more) : *best;
    if (like > *best) {
        *best = like;
        accept_step(s, g, axis, more);
    } else {
        g->noise = old_noise;
        g->scale = old_scale;
    }
}

/* ---- answers ---- */

static float scale_position(uint32_t position, uint32_t values)
{
    return values > 1 ? (float)((double)position / (double)(values - 1)) : 0;
}

/* Sets the coordinates of row i, and its distances from the rows before it. */
static void set_distances(const kiln__search *s, kiln__gaussian *g, size_t i, uint32_t entry)
{
    const uint32_t *point = kiln__search_point(s, entry);
    const kiln__part *part = &s->points->parts[point[0]];
    g->part[i] = point[0];
    for (size_t a = 0; a < part->axis_count; a++) {
        uint32_t values = part->axes[a].values;
        g->at[a * MOST + i] = scale_position(point[1 + a], values);
        if (part->axes[a].powers)
            g->at[g->power_of[a] * MOST + i] = part->axes[a].powers[point[1 + a]];
    }
    for (size_t k = 0; k < i; k++) {
        double sum = 0;
        for (size_t a = 0; a < g->axes && g->part[k] == g->part[i]; a++)
            sum += g->weights[a] * measure_feature(s, g, a, i, k);
        g->apart[i * MOST + k] = sum;
    }
}

static void add_answer(const kiln__search *s, kiln__gaussian *g, uint32_t entry)
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
    set_distances(s, g, i, entry);
}

/* Adds the pending points, which were proposed and have no answer yet. Treats each of them as if its predicted mean
 * were its answer. This changes no prediction, but lowers the deviation near the pending points. So the points that are
 * compiled side by side differ. */
static void add_pending(const kiln__search *s, kiln__gaussian *g)
{
    size_t left = s->count - s->told_count;
    g->rows = g->count;
    for (size_t i = s->count; i-- > 0 && left > 0 && g->rows < MOST;) {
        if (s->entries[i].told)
            continue;
        left--;
        set_distances(s, g, g->rows, (uint32_t)i);
        g->failed[g->rows] = false;
        g->sure[g->rows] = 1;
        g->hopes[g->rows] = 0;
        if (!add_factor_row(s, g, g->factor, g->rows, 0, 0))
            return;
        g->rows++;
    }
}

/* Subtracts the weighted mean from the goals. Returns this mean. */
static double centre_goals(kiln__gaussian *g)
{
    double mean = 0, all = weigh_all_answers(g);
    for (size_t i = 0; i < g->count; i++)
        mean += weigh_answer(g, i) * g->goals[i] / all;
    for (size_t i = 0; i < g->count; i++)
        g->goals[i] -= mean;
    return mean;
}

/* Sets the weight of failures. The noise of failures depends on this weight, so the factor is computed again. The
 * function postpones a small change. Returns false if the factor cannot be computed. */
static bool set_failure_weight(const kiln__search *s, kiln__gaussian *g, double trusted)
{
    bool ends = trusted <= 0 || trusted >= 1;
    if (trusted == g->trusted || (!ends && fabs(trusted - g->trusted) < trusted_step))
        return true;
    g->trusted = trusted;
    g->doubt = trusted >= 1 ? 0 : (1 - trusted) / fmax(trusted, 1 / most_doubt);
    for (size_t i = 0; i < g->count; i++)
        g->sure[i] = !g->failed[i] || g->doubt == 0;
    return compute_factor(s, g, g->factor, 0, 0);
}

/* Sets the goals of all answers. Goals are relative to the best value so far, so each call computes all of them. */
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

/* Fits the trust in hints, which is the coefficient of the prior in the mean function. The method is generalised least
 * squares with a normal prior on the trust. The median of this normal prior is the rank correlation of hints and
 * answers. After DOUBT_AFTER answers, the trust is reduced by the part that chance explains. Then subtracts the mean
 * function from the goals. */
static void fit_trust(const kiln__search *s, kiln__gaussian *g)
{
    double priors[MOST], goals[MOST] = {0}, mean = 0, both = 0, square = 0, left = 0, n = (double)g->count;
    if (!s->prior)
        return;
    for (size_t i = 0; i < g->count; i++)
        mean += g->priors[i] / n;
    for (size_t i = 0; i < g->count; i++)
        goals[i] = g->priors[i] - mean;
    solve_forward(g, g->factor, goals, priors);
    solve_forward(g, g->factor, g->goals, goals);
    both = dot_product(priors, goals, g->count);
    square = dot_product(priors, priors, g->count);
    double pull = fmax(g->scale, least_scale) / (trust_spread * trust_spread);
    double agreed = kiln__prior_agreement(g->levels, g->values, g->count < AGREED ? g->count : AGREED);
    double trust = (both + pull * fmax(0, agreed)) / (square + pull);
    for (size_t i = 0; i < g->count; i++)
        left += (goals[i] - trust * priors[i]) * (goals[i] - trust * priors[i]) / n;
    double chance = doubt * left / (trust * trust * square + 1e-300); /* the share of the trust that chance explains */
    if (g->count >= DOUBT_AFTER)
        trust *= fmax(0, 1 - chance);
    g->trust = trust;
    g->prior_mean = mean;
    for (size_t i = 0; i < g->count; i++)
        g->goals[i] -= trust * (g->priors[i] - mean);
}

/* Sets the logarithms of the costs, relative to the mean of the known costs. An unknown cost counts as this mean. */
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

/* Lists the features: first the axes, then the axes whose lists mix powers of two with other values. */
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
        g->weights[a] = choose_first_weight(&g->features[a]);
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

/* Adds the new answers to the factor, and sets goals, trust and costs again. Then spends its effort on hyperparameters,
 * and solves for the weights of the predicted mean. */
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
        add_answer(s, g, entries[g->count]);
        *usable = add_factor_row(s, g, g->factor, g->count - 1, 0, 0);
    }
    *usable = *usable && set_failure_weight(s, g, trusted);
    if (!*usable)
        return KILN_OK;
    set_goals(s, g);
    fit_trust(s, g);
    set_costs(s, g);
    double best = compute_posterior(g, g->factor, 0, 0);
    uint64_t price = (uint64_t)g->count * g->count * (g->count + 30);
    g->effort = g->effort + EFFORT < MOST_EFFORT ? g->effort + EFFORT : MOST_EFFORT;
    for (; g->effort >= price; g->effort -= price)
        try_step(s, g, &best);
    for (size_t i = 0; i < g->count; i++)
        both[i] = g->goals[i] + cost_weight * g->costs[i];
    solve_forward(g, g->factor, both, weights);
    solve_back(g, weights);
    for (size_t i = 0; i < g->count; i++)
        g->hopes[i] = (float)weights[i];
    add_pending(s, g);
    return KILN_OK;
}

/* ---- choosing ---- */

/* Numbers for all rows in single precision, because each proposal has hundreds of candidates, and the rounding error is
 * far below the noise. */
typedef struct row_floats {
    _Alignas(64) float of[MOST];
} row_floats;

/* Adds `weight` times the squared distances of a position from all rows along one axis. */
static void add_axis_distances(const kiln__search *s, const kiln__gaussian *g, uint32_t part, size_t axis,
                               uint32_t position, float weight, row_floats *apart)
{
    const kiln__part_axis *on = &s->points->parts[part].axes[axis];
    const float *at = g->at + axis * MOST;
    if (on->values < 2)
        return;
    float here = scale_position(position, on->values);
    /* whole vectors: does not exceed the array, because MOST is a multiple of LANES */
    size_t padded = (g->rows + LANES - 1) / LANES * LANES;
    if (on->ordered)
        for (size_t i = 0; i < padded; i += LANES)
            for (size_t k = i; k < i + LANES; k++)
                apart->of[k] += weight * (here - at[k]) * (here - at[k]);
    else
        for (size_t i = 0; i < padded; i += LANES)
            for (size_t k = i; k < i + LANES; k++)
                apart->of[k] += at[k] != here ? weight : 0;
}

/* Does the work of add_axis_distances() for the power-of-two feature of an axis. */
static void add_power_distances(const kiln__search *s, const kiln__gaussian *g, uint32_t part, size_t axis,
                                uint32_t position, float sign, row_floats *apart)
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

/* Computes the squared distances of a point from all rows that belong to its part. */
static void compute_distances(const kiln__search *s, const kiln__gaussian *g, const uint32_t *point, row_floats *apart)
{
    memset(apart, 0, sizeof *apart);
    for (size_t a = 0; a < s->points->parts[point[0]].axis_count; a++) {
        add_axis_distances(s, g, point[0], a, point[1 + a], (float)g->weights[a], apart);
        add_power_distances(s, g, point[0], a, point[1 + a], 1, apart);
    }
}

/* Computes the covariances of a point with all rows. Returns the largest covariance with a row that is not a failure
 * with doubt. */
static float compute_covariances(const kiln__gaussian *g, uint32_t part, const row_floats *apart, row_floats *out)
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
            nearest[k] = larger(out->of[i + k] * g->sure[i + k], nearest[k]);
    for (size_t k = 1; k < LANES; k++)
        nearest[0] = larger(nearest[k], nearest[0]);
    return nearest[0];
}

/* Returns the predicted mean, which is the dot product of covariances and weights. The loop keeps LANES partial sums,
 * so that the compiler uses vector instructions. */
static float predict_mean(const kiln__gaussian *g, const row_floats *related)
{
    float sums[LANES] = {0};
    for (size_t i = 0; i < g->rows; i += LANES) /* the covariances beyond `rows` are 0 */
        for (size_t k = 0; k < LANES; k++)
            sums[k] += related->of[i + k] * g->hopes[i + k];
    for (size_t n = LANES / 2; n > 0; n /= 2)
        for (size_t k = 0; k < n; k++)
            sums[k] += sums[k + n];
    return sums[0];
}

/* Computes the distances of a point from the distances of its centre (`around`). The two points may differ only in
 * their positions on one ordered axis. One loop does the work of add_power_distances() and add_axis_distances() twice:
 * for the centre with a negative weight, and for the point. The order of the additions is the same as in those
 * functions, so the results are equal. */
static void move_along_axis(const kiln__gaussian *g, const kiln__part_axis *on, size_t axis, uint32_t from, uint32_t to,
                            const row_floats *around, row_floats *apart)
{
    const float *at = g->at + axis * MOST, weight = (float)g->weights[axis];
    const float here = scale_position(from, on->values), there = scale_position(to, on->values);
    const size_t number = on->powers ? g->power_of[axis] : axis;
    const float *power = g->at + number * MOST, step = on->powers ? (float)g->weights[number] : 0;
    const float was = on->powers ? on->powers[from] : 0, is = on->powers ? on->powers[to] : 0;
    size_t padded = (g->rows + LANES - 1) / LANES * LANES;
    for (size_t i = 0; i < padded; i += LANES)
        for (size_t k = i; k < i + LANES; k++) {
            float sum = around->of[k] + (power[k] != was ? -step : 0);
            sum += power[k] != is ? step : 0;
            sum += -weight * (here - at[k]) * (here - at[k]);
            apart->of[k] = sum + weight * (there - at[k]) * (there - at[k]);
        }
}

/* Computes the covariances of candidate i with all rows, and returns the largest covariance. A neighbour has the same
 * distances as its centre (`around`), except along one axis. So only the distances along this axis are computed. */
static float relate_candidate(const kiln__search *s, const kiln__gaussian *g, const kiln__batch *b, size_t i,
                              const row_floats *around, row_floats *related)
{
    row_floats apart;
    const uint32_t *point = b->points + i * s->width, axis = b->items[i].axis;
    if (b->used && axis < g->axes) {
        const kiln__part_axis *on = &s->points->parts[point[0]].axes[axis];
        const uint32_t here = kiln__search_point(s, b->around)[1 + axis], there = point[1 + axis];
        if (on->ordered) {
            move_along_axis(g, on, axis, here, there, around, &apart);
            return compute_covariances(g, point[0], &apart, related);
        }
        float weight = (float)g->weights[axis];
        apart = *around;
        add_power_distances(s, g, point[0], axis, here, -1, &apart);
        add_power_distances(s, g, point[0], axis, there, 1, &apart);
        add_axis_distances(s, g, point[0], axis, here, -weight, &apart);
        add_axis_distances(s, g, point[0], axis, there, weight, &apart);
    } else {
        compute_distances(s, g, point, &apart);
    }
    return compute_covariances(g, point[0], &apart, related);
}

/* Computes the predicted mean of each candidate in a batch, and a lower bound of its acquisition function. All rows
 * together reduce the deviation of a candidate at least as much as the nearest row. So the deviation with only the
 * nearest row is an upper bound of the true deviation. */
static void bound_candidates(const kiln__search *s, const kiln__gaussian *g, kiln__batch *b, double boldness)
{
    row_floats around, related;
    float spread = (float)(boldness * boldness * g->scale), shared = (float)(1 / (1 + g->noise));
    if (b->used)
        compute_distances(s, g, kiln__search_point(s, b->around), &around);
    size_t each = b->used ? 1 : 1 + b->count * g->rows * g->axes / POOL_EFFORT;
    for (size_t i = 0; i < b->count; i++) {
        kiln__candidate *c = &b->items[i];
        c->least = HUGE_VAL;
        if (c->known || i % each != s->told_count % each)
            continue;
        float nearest = relate_candidate(s, g, b, i, &around, &related);
        c->worth = g->goal_mean + (double)predict_mean(g, &related);
        if (s->prior)
            c->worth += g->trust * (fmin((double)c->prior, worst_goal) - g->prior_mean);
        c->least = c->worth - (double)sqrtf(spread * larger(0, 1 - nearest * nearest * shared));
    }
}

/* Returns the acquisition function of a candidate, which is mean - boldness * deviation. Stops early when the result is
 * certainly at least `limit`, because each row can only lower the deviation. */
static double compute_acquisition(const kiln__search *s, const kiln__gaussian *g, const kiln__batch *b, size_t item,
                                  double boldness, double limit)
{
    enum { LOOK = 8 }; /* the number of rows between two tests of the limit */
    row_floats around, related;
    double solved[MOST], left = 1, worth = b->items[item].worth;
    if (b->used)
        compute_distances(s, g, kiln__search_point(s, b->around), &around);
    relate_candidate(s, g, b, item, &around, &related);
    for (size_t i = 0; i < g->rows; i++) {
        solved[i] = ((double)related.of[i] - dot_product(g->factor + i * MOST, solved, i)) / g->factor[i * MOST + i];
        left -= solved[i] * solved[i];
        if (i % LOOK == 0 && worth - boldness * sqrt(at_least_zero(g->scale * left)) >= limit)
            break;
    }
    return worth - boldness * sqrt(at_least_zero(g->scale * left));
}

/* Returns the candidate with the least lower bound in a batch. Returns the number of candidates if none is left. */
static size_t find_lead(const kiln__batch *b)
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

/* Chooses a candidate by branch and bound. Evaluates the exact acquisition function in the order of the lower bounds,
 * and stops when the least lower bound is not below the best value. */
const uint32_t *kiln__gaussian_choose(const kiln__search *s, kiln__gaussian *g, kiln__batch *const *batches,
                                      size_t count, double boldness)
{
    const uint32_t *best = NULL;
    double best_worth = HUGE_VAL;
    size_t leads[KILN__TOP + 2];
    for (size_t n = 0; n < count; n++) {
        bound_candidates(s, g, batches[n], boldness);
        leads[n] = find_lead(batches[n]);
    }
    for (;;) { /* takes the least bound first, so that few deviations are computed */
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
        double worth = b->items[item].known ? HUGE_VAL : compute_acquisition(s, g, b, item, boldness, best_worth);
        b->items[item].least = HUGE_VAL; /* marks that this candidate is not evaluated again */
        leads[from] = find_lead(b);
        if (worth < best_worth) {
            best_worth = worth;
            best = point;
        }
    }
}
