/* search.c - does the work that is the same for all strategies: keeps the table of answers, and makes sure that each
 * proposed point is new and valid. A strategy proposes candidates. The function kiln__search_ask() checks them, and
 * draws a random point if the strategy has no proposal. */
#include <math.h>
#include <string.h>

#include "search_internal.h"

/* ---- known points: a hash table with open addressing and linear probing ---- */

/* Returns the slot of a point in the hash table, or the free slot where it belongs. */
static size_t find_slot(const kiln__search *s, const uint32_t *point)
{
    size_t bytes = s->width * sizeof *point, slot = (size_t)kiln__hash(point, bytes).low & (s->table_size - 1);
    while (s->table[slot] && memcmp(kiln__search_point(s, s->table[slot] - 1), point, bytes) != 0)
        slot = (slot + 1) & (s->table_size - 1);
    return slot;
}

size_t kiln__search_find(const kiln__search *s, const uint32_t *point)
{
    if (!s->table)
        return KILN__NO_ENTRY;
    uint32_t found = s->table[find_slot(s, point)];
    return found ? found - 1 : KILN__NO_ENTRY;
}

static bool grow_table(kiln__search *s)
{
    size_t size = s->table_size ? 2 * s->table_size : 64;
    uint32_t *table = kiln__calloc(s->mem, size, sizeof *table);
    if (!table)
        return false;
    kiln__free(s->mem, s->table);
    s->table = table;
    s->table_size = size;
    for (size_t i = 0; i < s->count; i++)
        s->table[find_slot(s, kiln__search_point(s, i))] = (uint32_t)i + 1;
    return true;
}

static bool add_entry(kiln__search *s, const uint32_t *point, uint32_t tag)
{
    if (s->count >= UINT32_MAX - 1 || (2 * (s->count + 1) > s->table_size && !grow_table(s)) ||
        !kiln__grow(s->mem, &s->coords, &s->coords_capacity, s->count + 1, s->width * sizeof *s->coords) ||
        !kiln__grow(s->mem, &s->entries, &s->entry_capacity, s->count + 1, sizeof *s->entries))
        return false;
    memcpy(s->coords + s->count * s->width, point, s->width * sizeof *point);
    s->entries[s->count] = (kiln__search_entry){.value = HUGE_VAL, .tag = tag};
    s->table[find_slot(s, point)] = (uint32_t)s->count + 1;
    s->count++;
    return true;
}

/* ---- drawing ---- */

kiln_status kiln__search_holds(kiln__search *s, const uint32_t *point, bool *holds, kiln_error **error)
{
    return s->points->holds(s->points->user, point, holds, error);
}

kiln_status kiln__search_draw(kiln__search *s, bool *found, kiln_error **error)
{
    enum { TRIES = 256 }; /* after this number of draws in a row that give only known points, the search ends */
    *found = false;
    for (unsigned i = 0; s->points->draw && i < TRIES; i++) {
        kiln_status status = s->points->draw(s->points->user, &s->random, s->next, found, error);
        if (status != KILN_OK || !*found)
            return status;
        *found = kiln__search_find(s, s->next) == KILN__NO_ENTRY;
        if (*found)
            return KILN_OK;
    }
    while (!s->points->draw && s->drawn < s->points->count) {
        uint64_t number = s->in_order ? s->drawn : kiln__shuffled(&s->shuffle, s->drawn);
        kiln_status status = s->points->at(s->points->user, number, s->next, error);
        if (status != KILN_OK)
            return status;
        if (kiln__search_find(s, s->next) == KILN__NO_ENTRY) {
            *found = true;
            return KILN_OK;
        }
        s->drawn++;
    }
    return KILN_OK;
}

void kiln__search_kick(kiln__search *s, unsigned changes)
{
    const kiln__part *part = &s->points->parts[s->next[0]];
    size_t free_axes = 0;
    for (size_t i = 0; i < part->axis_count; i++)
        free_axes += part->axes[i].values > 1;
    for (unsigned c = 0; c < changes && free_axes; c++) {
        size_t pick = (size_t)kiln__random_below(&s->random, free_axes), i = 0;
        for (;; i++)
            if (part->axes[i].values > 1 && pick-- == 0)
                break;
        uint32_t values = part->axes[i].values;
        s->next[1 + i] = (s->next[1 + i] + 1 + (uint32_t)kiln__random_below(&s->random, values - 1)) % values;
    }
}

/* ---- functions for the callers of a search ---- */

kiln_status kiln__search_open(const kiln__points *points, const kiln__strategy *strategy, uint64_t seed,
                              kiln__search **search, kiln_error **error)
{
    kiln__search *s = kiln__calloc(points->mem, 1, sizeof *s);
    if (!s)
        return kiln__fail_memory(error);
    s->points = points;
    s->mem = points->mem;
    s->strategy = strategy;
    s->width = points->width;
    s->random.state = seed;
    s->shuffle = kiln__shuffle_start(points->count, kiln__random_next(&s->random));
    s->in_order = kiln__strategy_in_order(strategy);
    s->best = KILN__NO_ENTRY;
    s->next = kiln__calloc(s->mem, s->width, sizeof *s->next);
    s->state = kiln__calloc(s->mem, 1, strategy->state_size);
    if (!s->next || !s->state) {
        kiln__search_free(s);
        return kiln__fail_memory(error);
    }
    *search = s;
    return KILN_OK;
}

void kiln__search_budget(kiln__search *search, uint64_t points) { search->budget = points; }

void kiln__search_free(kiln__search *s)
{
    if (!s)
        return;
    if (s->strategy->end && s->state)
        s->strategy->end(s, s->state);
    kiln__prior_free(s, s->prior);
    kiln__free(s->mem, s->state);
    kiln__free(s->mem, s->next);
    kiln__free(s->mem, s->table);
    kiln__free(s->mem, s->coords);
    kiln__free(s->mem, s->entries);
    kiln__free(s->mem, s);
}

/* Asks the strategy at most TRIES times for a point that is new and valid. If the strategy gives none, draws a random
 * point. The point becomes an entry before its answer is known, so that it is not proposed again. */
kiln_status kiln__search_ask(kiln__search *s, uint32_t *point, bool *found, kiln_error **error)
{
    enum { TRIES = 64 }; /* after this number of invalid or known proposals in a row, a random point is drawn */
    kiln_status status = KILN_OK;
    uint32_t tag = 0;
    bool have = false, more = s->strategy->propose != NULL;
    if (!kiln__prior_open(s))
        return kiln__fail_memory(error);
    for (unsigned i = 0; i < TRIES && more && !have; i++) {
        status = s->strategy->propose(s, s->state, &tag, &more, error);
        if (status == KILN_OK && more && kiln__search_find(s, s->next) == KILN__NO_ENTRY)
            status = kiln__search_holds(s, s->next, &have, error);
        if (status != KILN_OK)
            return status;
    }
    if (!have) {
        tag = 0;
        status = kiln__search_draw(s, &have, error);
        if (status != KILN_OK)
            return status;
    }
    if (have && !add_entry(s, s->next, tag))
        return kiln__fail_memory(error);
    if (have)
        memcpy(point, s->next, s->width * sizeof *point);
    *found = have;
    return KILN_OK;
}

kiln_status kiln__search_claim(kiln__search *s, const uint32_t *point, bool *fresh, kiln_error **error)
{
    *fresh = kiln__search_find(s, point) == KILN__NO_ENTRY;
    return !*fresh || add_entry(s, point, 0) ? KILN_OK : kiln__fail_memory(error);
}

kiln_status kiln__search_tell(kiln__search *s, const uint32_t *point, double value, double cost, kiln_error **error)
{
    size_t entry = kiln__search_find(s, point);
    if (entry == KILN__NO_ENTRY) {
        if (!add_entry(s, point, 0))
            return kiln__fail_memory(error);
        entry = s->count - 1;
    }
    kiln__search_entry *e = &s->entries[entry];
    if (e->told)
        return kiln__fail(s->mem, error, KILN_ERROR_ARGUMENT, "a configuration was reported twice");
    e->told = true;
    e->cost = cost;
    e->value = value < HUGE_VAL ? value : HUGE_VAL; /* NaN counts as a failure too */
    s->told_count++;
    if (e->value < HUGE_VAL && (s->best == KILN__NO_ENTRY || e->value < s->entries[s->best].value))
        s->best = entry;
    return s->strategy->told ? s->strategy->told(s, s->state, entry, error) : KILN_OK;
}

const kiln__strategy kiln__strategy_exhaustive = {.name = "exhaustive", .state_size = 1};
const kiln__strategy kiln__strategy_random = {.name = "random", .state_size = 1};

bool kiln__strategy_in_order(const kiln__strategy *strategy) { return strategy == &kiln__strategy_exhaustive; }
