/* replay.c - replays a search in a recorded space, and scores it against random search. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "score.h"

static int compare_doubles(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

/* ---- replaying a search ---- */

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

/* ---- computing the score ---- */

/* Replays one search. The time budget is divided into KILN_SCORE_STEPS equal parts. At the end of part i, adds the best
 * time so far to sums[i]. *share gets the optimum divided by the best time after KILN__SCORE_SHARE configurations. */
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
    for (; step < KILN_SCORE_STEPS; step++) /* all configurations were tried before the end of the time budget */
        sums[step] += best;
    *share = b->optimum / share_of;
    kiln__replay_free(replay);
    return status;
}

kiln_status kiln__score(const struct kiln_recording *r, const kiln__strategy *strategy, uint64_t first, unsigned seeds,
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
        status = run_once(r, strategy, first + seed, scored->best, &shares[seed], error);
    for (size_t i = 0; i < KILN_SCORE_STEPS; i++) {
        /* the number of random draws that cost this time; the last factor guards against rounding errors */
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
