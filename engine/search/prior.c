/* prior.c - computes the prior, which is the expected value of a point before anything is measured. The prior comes
 * from the hints that the caller gives. A forest learns the hints, and predicts the prior of the points without a
 * hint. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search_internal.h"

/* The hints of a search. kiln__prior_open() sorts the hints and grows the forest. After that no hints can be added. */
struct kiln__prior {
    size_t count, coord_capacity, value_capacity, table_size;
    uint32_t *coords; /* `width` numbers for the point of each hint */
    double *values;   /* the logarithms of the hints; after kiln__prior_open() they are relative to the least */
    /* a hash table with open addressing, with the number of a hint + 1; its size is a power of two */
    uint32_t *table;
    uint32_t *order;      /* the numbers of the hints, the best first; NULL until kiln__prior_open() is called */
    kiln__forest *forest; /* NULL means that every point has a hint, so no forest is needed */
};

void kiln__prior_free(const kiln__search *s, kiln__prior *p)
{
    if (!p)
        return;
    void *const held[] = {p->coords, p->values, p->table, p->order};
    for (size_t i = 0; i < KILN__COUNT(held); i++)
        kiln__free(s->mem, held[i]);
    kiln__forest_free(p->forest);
    kiln__free(s->mem, p);
}

static size_t find_slot(const kiln__search *s, const kiln__prior *p, const uint32_t *point)
{
    size_t bytes = s->width * sizeof *point, slot = (size_t)kiln__hash(point, bytes).low & (p->table_size - 1);
    while (p->table[slot] && memcmp(p->coords + (p->table[slot] - 1) * s->width, point, bytes) != 0)
        slot = (slot + 1) & (p->table_size - 1);
    return slot;
}

static bool grow_table(const kiln__search *s, kiln__prior *p)
{
    size_t size = p->table_size ? 2 * p->table_size : 256;
    uint32_t *table = kiln__calloc(s->mem, size, sizeof *table);
    if (!table)
        return false;
    kiln__free(s->mem, p->table);
    p->table = table;
    p->table_size = size;
    for (size_t i = 0; i < p->count; i++)
        p->table[find_slot(s, p, p->coords + i * s->width)] = (uint32_t)i + 1;
    return true;
}

kiln_status kiln__search_hint(kiln__search *s, const uint32_t *point, double value, kiln_error **error)
{
    if (!s->prior && !(s->prior = kiln__calloc(s->mem, 1, sizeof *s->prior)))
        return kiln__fail_memory(error);
    kiln__prior *p = s->prior;
    if (s->count > 0 || p->order || p->count >= UINT32_MAX - 1)
        return kiln__fail(s->mem, error, KILN_ERROR_ARGUMENT,
                          "a hint was given after the first configuration of a "
                          "search");
    bool holds = false;
    KILN__TRY(s->points->holds(s->points->user, point, &holds, error));
    if (!holds || !(value > 0)) /* ignores a value that has no logarithm */
        return KILN_OK;
    if ((2 * (p->count + 1) > p->table_size && !grow_table(s, p)) ||
        !kiln__grow(s->mem, &p->coords, &p->coord_capacity, p->count + 1, s->width * sizeof *p->coords) ||
        !kiln__grow(s->mem, &p->values, &p->value_capacity, p->count + 1, sizeof *p->values))
        return kiln__fail_memory(error);
    size_t slot = find_slot(s, p, point);
    if (p->table[slot]) /* the first hint for a point counts */
        return KILN_OK;
    memcpy(p->coords + p->count * s->width, point, s->width * sizeof *point);
    p->values[p->count] = value < HUGE_VAL ? log(value) : HUGE_VAL;
    p->table[slot] = (uint32_t)++p->count;
    return KILN_OK;
}

static int compare_values(const void *one, const void *other, void *user)
{
    const kiln__prior *p = user;
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    if (p->values[a] != p->values[b])
        return p->values[a] < p->values[b] ? -1 : 1;
    return (a > b) - (a < b);
}

/* Grows a forest from at most ROWS hints: the best ROWS / 2 hints, and other hints at equal distances in the
 * ranking. */
static bool learn_hints(kiln__search *s, kiln__prior *p)
{
    enum { ROWS = 1024 };
    size_t rows = p->count < ROWS ? p->count : ROWS;
    p->forest = kiln__forest_new(s->mem, s->width);
    if (!p->forest || !kiln__forest_start(p->forest, rows, 0))
        return false;
    for (size_t i = 0; i < rows; i++) {
        size_t at = i < ROWS / 2 || p->count <= ROWS ? i
                                                     : ROWS / 2 + (i - ROWS / 2) * (p->count - ROWS / 2) / (ROWS / 2);
        uint32_t hint = p->order[at];
        kiln__forest_row(p->forest, i, p->coords + hint * s->width, NULL, fmin(p->values[hint], KILN__PRIOR_MOST));
    }
    kiln__forest_grow(p->forest, &s->random, KILN__FOREST_TREES, false);
    return true;
}

bool kiln__prior_open(kiln__search *s)
{
    kiln__prior *p = s->prior;
    if (!p || p->order || p->count == 0)
        return true;
    p->order = kiln__calloc(s->mem, p->count, sizeof *p->order);
    if (!p->order)
        return false;
    for (size_t i = 0; i < p->count; i++)
        p->order[i] = (uint32_t)i;
    qsort_r(p->order, p->count, sizeof *p->order, compare_values, p);
    double least = p->values[p->order[0]];
    for (size_t i = 0; i < p->count; i++)
        p->values[i] = least < HUGE_VAL ? p->values[i] - least : 0;
    return p->count >= s->points->count || learn_hints(s, p);
}

const uint32_t *kiln__prior_ranked(const kiln__search *s, size_t rank)
{
    const kiln__prior *p = s->prior;
    return p && p->order && rank < p->count ? p->coords + p->order[rank] * s->width : NULL;
}

double kiln__prior_of(const kiln__search *s, const uint32_t *point)
{
    return fmin(kiln__prior_level(s, point), KILN__PRIOR_MOST);
}

double kiln__prior_level(const kiln__search *s, const uint32_t *point)
{
    const kiln__prior *p = s->prior;
    if (!p || !p->order)
        return 0;
    size_t slot = find_slot(s, p, point);
    if (p->table[slot])
        return p->values[p->table[slot] - 1];
    if (!p->forest)
        return KILN__PRIOR_MOST;
    float means[KILN__FOREST_TREES] = {0}, *const to[] = {means};
    double sum = 0;
    kiln__forest_predict(p->forest, 0, (const uint32_t *const[]){point}, NULL, 1, to);
    for (size_t t = 0; t < KILN__FOREST_TREES; t++)
        sum += (double)means[t] / KILN__FOREST_TREES;
    return sum;
}

double kiln__prior_agreement(const double *priors, const double *values, size_t count)
{
    double same = 0, pairs = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++) {
            if (priors[i] == priors[k] || values[i] == values[k])
                continue;
            same += (priors[i] < priors[k]) == (values[i] < values[k]) ? 1 : -1;
            pairs++;
        }
    return (same + 1) / (pairs + 1);
}
