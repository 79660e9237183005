/* baseline.c - computes the expected result of uniform random search in a recorded space. The score of a strategy
 * compares the strategy with this result. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "score.h"

static int compare_doubles(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

/* Returns the expected best time of n draws. Adds up, for each k, the k-th fastest of N times multiplied by the
 * probability that this time is the best of the n draws. This probability is C(N - k, n - 1) / C(N, n). */
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
    /* the times of failed configurations (HUGE_VAL) come last */
    qsort(b->sorted, n, sizeof *b->sorted, compare_doubles);
    b->optimum = b->sorted[0];
    b->worst = b->sorted[ran - 1];
    b->median = (b->sorted[(ran - 1) / 2] + b->sorted[ran / 2]) / 2;
    for (size_t i = ran; i < n; i++)
        b->sorted[i] = b->worst;
    double goal = b->optimum + (b->median - b->optimum) * 0.05;
    size_t low = 0, high = b->count; /* `low` draws do not reach the goal, and `high` draws reach it */
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
