/* replay.c - replays a search, and scores it against random search. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "score.h"

static int compare_doubles(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

/* ---- the baseline ---- */

/* The k-th fastest of N is the best of n with the chance C(N - k, n - 1) / C(N, n). */
double kiln__baseline_best(const kiln__baseline *b, uint64_t draws)
{
    if (draws == 0)
        return b->worst;
    if (draws >= b->count)
        return b->optimum;
    double n = (double)draws, all = (double)b->count, chance = n / all, sum = 0;
    for (size_t k = 1; k <= b->count && chance > 0; k++) {
        sum += chance * b->sorted[k - 1];
        chance *= (all - (double)k - n + 1) / (all - (double)k);
    }
    return sum;
}

bool kiln__baseline_make(struct kiln_recording *r)
{
    kiln__baseline *b = &r->baseline;
    size_t ran = r->row_count - r->failed, n = 0;
    *b = (kiln__baseline){.count = r->row_count};
    b->sorted = kiln__arena_alloc(&r->arena, r->row_count * sizeof *b->sorted);
    if (!b->sorted)
        return false;
    for (size_t i = 0; i < r->row_count; i++) {
        b->sorted[n++] = r->rows[i].seconds;
        b->mean_cost += kiln__recording_row_cost(&r->rows[i]) / (double)r->row_count;
    }
    if (ran == 0)
        return true;
    qsort(b->sorted, n, sizeof *b->sorted, compare_doubles); /* failed configurations come last */
    b->optimum = b->sorted[0];
    b->worst = b->sorted[ran - 1];
    b->median = (b->sorted[(ran - 1) / 2] + b->sorted[ran / 2]) / 2;
    for (size_t i = ran; i < n; i++)
        b->sorted[i] = b->worst;
    double goal = b->optimum + (b->median - b->optimum) * 0.05;
    size_t low = 0, high = b->count; /* low does not reach it, high does */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (kiln__baseline_best(b, middle) <= goal)
            high = middle;
        else
            low = middle;
    }
    b->draws = high;
    b->budget = b->worst > b->optimum ? (double)high * b->mean_cost : 0;
    return true;
}

kiln_status kiln__baseline_check(const struct kiln_recording *r, kiln_error **error)
{
    if (r->baseline.budget > 0)
        return KILN_OK;
    const char *why = r->failed == r->row_count   ? "failed"
                      : r->baseline.mean_cost > 0 ? "are equally fast"
                                                  : "cost no time";
    return kiln__fail(r->mem, error, KILN_ERROR_ARGUMENT, "%s: strategies cannot be compared: all configurations %s",
                      r->path, why);
}

/* ---- replaying ---- */

struct kiln__replay {
    const struct kiln_recording *recording;
    kiln__search *search;
    uint32_t *point;
    double clock;
};

kiln_status kiln__replay_open(const struct kiln_recording *r, const kiln__strategy *strategy, uint64_t seed,
                              kiln__replay **made, kiln_error **error)
{
    kiln__replay *p = kiln__calloc(r->mem, 1, sizeof *p);
    if (!p)
        return kiln__fail_memory(error);
    p->recording = r;
    p->point = kiln__calloc(r->mem, r->points.width, sizeof *p->point);
    kiln_status status = p->point ? kiln__search_open(&r->points, strategy, seed, &p->search, error)
                                  : kiln__fail_memory(error);
    for (size_t i = 0; i < r->row_count && status == KILN_OK; i++)
        if (r->rows[i].prior > 0)
            status = kiln__search_hint(p->search, r->coords + i * r->points.width, r->rows[i].prior, error);
    if (status != KILN_OK) {
        kiln__replay_free(p);
        return status;
    }
    *made = p;
    return KILN_OK;
}

void kiln__replay_free(kiln__replay *p)
{
    if (!p)
        return;
    kiln__search_free(p->search);
    kiln__free(p->recording->mem, p->point);
    kiln__free(p->recording->mem, p);
}

kiln_status kiln__replay_next(kiln__replay *p, const kiln__recording_row **row, double *clock, kiln_error **error)
{
    bool found;
    kiln_status status = kiln__search_ask(p->search, p->point, &found, error);
    if (status != KILN_OK)
        return status;
    *row = NULL;
    if (found) {
        *row = kiln__recording_find_row(p->recording, p->point);
        p->clock += kiln__recording_row_cost(*row);
        status = kiln__search_tell(p->search, p->point, (*row)->seconds, kiln__recording_row_cost(*row), error);
    }
    *clock = p->clock;
    return status;
}

/* ---- the score ---- */

/* Adds the best so far at each part of the budget; *share: its share of the optimum after KILN__SCORE_SHARE
 * configurations. */
static kiln_status run_once(const struct kiln_recording *r, const kiln__strategy *strategy, uint64_t seed, double *sums,
                            double *share, kiln_error **error)
{
    const kiln__baseline *b = &r->baseline;
    kiln__replay *replay = NULL;
    const kiln__recording_row *row = NULL;
    kiln_status status = kiln__replay_open(r, strategy, seed, &replay, error);
    double best = b->worst, clock = 0, share_of = b->worst;
    size_t step = 0, tried = 0;
    while (status == KILN_OK && (step < KILN_SCORE_STEPS || tried < KILN__SCORE_SHARE)) {
        status = kiln__replay_next(replay, &row, &clock, error);
        if (status != KILN_OK || !row)
            break;
        for (; step < KILN_SCORE_STEPS && b->budget * (double)(step + 1) / KILN_SCORE_STEPS < clock; step++)
            sums[step] += best;
        best = row->seconds < best ? row->seconds : best;
        share_of = tried++ < KILN__SCORE_SHARE ? best : share_of;
    }
    for (; step < KILN_SCORE_STEPS; step++) /* all configurations were tried within the time */
        sums[step] += best;
    *share = b->optimum / share_of;
    kiln__replay_free(replay);
    return status;
}

kiln_status kiln__score(const struct kiln_recording *r, const kiln__strategy *strategy, unsigned seeds,
                        kiln_score *scored, kiln_error **error)
{
    const kiln__baseline *b = &r->baseline;
    kiln_status status = kiln__baseline_check(r, error);
    if (status != KILN_OK)
        return status;
    double *shares = kiln__calloc(r->mem, seeds, sizeof *shares);
    if (!shares)
        return kiln__fail_memory(error);
    *scored = (kiln_score){0};
    for (unsigned seed = 0; seed < seeds && status == KILN_OK; seed++)
        status = run_once(r, strategy, seed + 1, scored->best, &shares[seed], error);
    for (size_t i = 0; i < KILN_SCORE_STEPS; i++) {
        /* the draws that fit into the time, plus a little against rounding errors */
        double draws = b->budget * (double)(i + 1) / KILN_SCORE_STEPS / b->mean_cost * (1 + 1e-12);
        double random = kiln__baseline_best(b, (uint64_t)draws);
        scored->best[i] /= seeds;
        scored->curve[i] = random > b->optimum ? (random - scored->best[i]) / (random - b->optimum) : 0;
        scored->score += scored->curve[i] / KILN_SCORE_STEPS;
    }
    qsort(shares, seeds, sizeof *shares, compare_doubles);
    scored->share = (shares[(seeds - 1) / 2] + shares[seeds / 2]) / 2;
    kiln__free(r->mem, shares);
    return status;
}
