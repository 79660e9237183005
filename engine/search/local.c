/* local.c - strategies that step from one configuration to a neighbour of it. */
#include <math.h>
#include <string.h>

#include "search_internal.h"

/* ---- a configuration and the list of its neighbours, which are proposed one after the other ---- */

typedef struct around {
    size_t current; /* an entry; KILN__NO_ENTRY: none */
    uint32_t *list;
    size_t capacity, count, at;
} around;

static const kiln__search_entry *entry_of(const kiln__search *s, const uint32_t *point)
{
    size_t entry = kiln__search_find(s, point);
    return entry == KILN__NO_ENTRY ? NULL : &s->entries[entry];
}

static kiln_status go(kiln__search *s, around *a, size_t entry, kiln__neighbourhood kind, kiln_error **error)
{
    a->current = entry;
    a->count = a->at = 0;
    kiln_status status = kiln__points_neighbours(s->points, kind, kiln__search_point(s, entry), &a->list, &a->capacity,
                                                 &a->count, error);
    for (size_t i = a->count; i > 1; i--) { /* in random order */
        uint32_t *one = a->list + (i - 1) * s->width, *other = a->list + kiln__random_below(&s->random, i) * s->width;
        for (size_t k = 0; k < s->width; k++) {
            uint32_t kept = one[k];
            one[k] = other[k];
            other[k] = kept;
        }
    }
    return status;
}

/* Writes the next neighbour that was never proposed to s->next. */
static bool next_of(kiln__search *s, around *a)
{
    while (a->at < a->count) {
        const uint32_t *point = a->list + a->at++ * s->width;
        if (!entry_of(s, point)) {
            memcpy(s->next, point, s->width * sizeof *point);
            return true;
        }
    }
    return false;
}

/* The best neighbour so far, KILN__NO_ENTRY if none is better; *waiting: some have no answer yet. */
static size_t better_of(const kiln__search *s, const around *a, bool *waiting)
{
    size_t best = a->current;
    *waiting = false;
    for (size_t i = 0; i < a->count; i++) {
        size_t entry = kiln__search_find(s, a->list + i * s->width);
        if (entry == KILN__NO_ENTRY)
            continue;
        *waiting |= !s->entries[entry].told;
        if (s->entries[entry].told && s->entries[entry].value < s->entries[best].value)
            best = entry;
    }
    return best == a->current ? KILN__NO_ENTRY : best;
}

/* ---- greedy ---- */

typedef struct greedy {
    around around;
    bool started;
} greedy;

static kiln_status greedy_propose(kiln__search *s, void *state, uint32_t *tag, bool *found, kiln_error **error)
{
    greedy *g = state;
    *tag = 1;
    *found = false;
    while (g->started) {
        if (next_of(s, &g->around)) {
            *found = true;
            return KILN_OK;
        }
        bool waiting;
        size_t better = better_of(s, &g->around, &waiting);
        if (waiting)
            return KILN_OK;
        g->started = better != KILN__NO_ENTRY;
        kiln_status status = g->started ? go(s, &g->around, better, KILN__ADJACENT, error) : KILN_OK;
        if (status != KILN_OK)
            return status;
    }
    return KILN_OK;
}

static kiln_status greedy_told(kiln__search *s, void *state, size_t entry, kiln_error **error)
{
    greedy *g = state;
    if (g->started || s->entries[entry].value == HUGE_VAL)
        return KILN_OK;
    g->started = true;
    return go(s, &g->around, entry, KILN__ADJACENT, error);
}

static void around_end(kiln__search *s, void *state)
{
    around *a = state; /* the first member of both states */
    kiln__free(s->mem, a->list);
}

const kiln__strategy kiln__strategy_greedy = {
    .name = "greedy", .state_size = sizeof(greedy), .propose = greedy_propose, .told = greedy_told, .end = around_end};

/* ---- iterated local search ---- */

typedef struct ils {
    around around;
    bool started, kicking;
    size_t home;        /* the best local optimum */
    unsigned fruitless; /* kicks in a row without improvement: the next ones are stronger */
} ils;

enum { ILS_STEP = 1, ILS_KICK = 2 };

static void settle(const kiln__search *s, ils *l)
{
    if (l->home == KILN__NO_ENTRY || s->entries[l->around.current].value < s->entries[l->home].value) {
        l->home = l->around.current;
        l->fruitless = 0;
    } else {
        l->fruitless++;
    }
    l->kicking = true;
}

static kiln_status ils_propose(kiln__search *s, void *state, uint32_t *tag, bool *found, kiln_error **error)
{
    ils *l = state;
    *found = false;
    while (l->started && !l->kicking) {
        bool waiting;
        size_t better = better_of(s, &l->around, &waiting); /* known from before */
        if (better != KILN__NO_ENTRY) {
            kiln_status status = go(s, &l->around, better, KILN__HAMMING, error);
            if (status != KILN_OK)
                return status;
            continue;
        }
        if (next_of(s, &l->around)) {
            *tag = ILS_STEP;
            *found = true;
            return KILN_OK;
        }
        if (waiting)
            return KILN_OK;
        settle(s, l);
    }
    if (!l->started)
        return KILN_OK;
    memcpy(s->next, kiln__search_point(s, l->home), s->width * sizeof *s->next);
    kiln__search_kick(s, 2 + l->fruitless / 2 % 4);
    *tag = ILS_KICK;
    *found = true;
    return KILN_OK;
}

static kiln_status ils_told(kiln__search *s, void *state, size_t entry, kiln_error **error)
{
    ils *l = state;
    double value = s->entries[entry].value;
    if (value == HUGE_VAL)
        return KILN_OK;
    if (!l->started)
        l->home = KILN__NO_ENTRY;
    else if (!l->kicking && !(value < s->entries[l->around.current].value))
        return KILN_OK;
    l->started = true;
    l->kicking = false;
    return go(s, &l->around, entry, KILN__HAMMING, error);
}

const kiln__strategy kiln__strategy_ils = {
    .name = "ils", .state_size = sizeof(ils), .propose = ils_propose, .told = ils_told, .end = around_end};

/* ---- simulated annealing ---- */

typedef struct annealing {
    size_t current;
    bool started;
    double steps;
    unsigned still;
} annealing;

/* Whether to step to a configuration of this value: a worse one is accepted with a probability that falls with time. */
static bool accepts(kiln__search *s, const annealing *a, double value)
{
    double here = s->entries[a->current].value, temperature = fmax(0.01, 0.5 * pow(0.98, a->steps));
    return value <= here || kiln__random_unit(&s->random) < exp(-(value - here) / (fabs(here) * temperature + 1e-300));
}

static kiln_status annealing_propose(kiln__search *s, void *state, uint32_t *tag, bool *found, kiln_error **error)
{
    (void)error;
    annealing *a = state;
    *tag = 1;
    *found = a->started;
    if (!a->started)
        return KILN_OK;
    enum { WALK = 32 }; /* steps over known configurations, which are free */
    for (unsigned i = 0; i < WALK; i++) {
        memcpy(s->next, kiln__search_point(s, a->current), s->width * sizeof *s->next);
        kiln__search_kick(s, kiln__random_below(&s->random, 4) ? 1 : 2);
        size_t known = kiln__search_find(s, s->next);
        if (known == KILN__NO_ENTRY)
            break;
        if (s->entries[known].told && s->entries[known].value < HUGE_VAL && accepts(s, a, s->entries[known].value))
            a->current = known;
    }
    return KILN_OK;
}

static kiln_status annealing_told(kiln__search *s, void *state, size_t entry, kiln_error **error)
{
    (void)error;
    enum { STILL = 60 }; /* answers without improvement: back to the best, at a higher temperature */
    annealing *a = state;
    double value = s->entries[entry].value;
    a->steps++;
    if (value < HUGE_VAL && (!a->started || accepts(s, a, value))) {
        a->current = entry;
        a->started = true;
    }
    a->still = entry == s->best ? 0 : a->still + 1;
    if (a->started && a->still >= STILL) {
        a->current = s->best;
        a->steps = fmin(a->steps, 50);
        a->still = 0;
    }
    return KILN_OK;
}

const kiln__strategy kiln__strategy_annealing = {
    .name = "annealing", .state_size = sizeof(annealing), .propose = annealing_propose, .told = annealing_told};
