/* local.c - search strategies that step from one configuration to a neighbour: greedy local search, iterated local
 * search, simulated annealing. In all these strategies, several proposals may be without an answer. A strategy has no
 * proposal until a configuration has run. Greedy and iterated local search also have no proposal while they wait for an
 * answer. If a strategy has no proposal, search.c draws a random point. */
#include <math.h>
#include <string.h>

#include "search_internal.h"

/* ---- neighbours ---- */

/* A configuration and the shuffled list of its neighbours, which are proposed one after the other. */
typedef struct around {
    size_t current; /* the entry of the configuration, or KILN__NO_ENTRY */
    uint32_t *list;
    size_t capacity, count, at;
} around;

static const kiln__search_entry *find_entry(const kiln__search *s, const uint32_t *point)
{
    size_t entry = kiln__search_find(s, point);
    return entry == KILN__NO_ENTRY ? NULL : &s->entries[entry];
}

static kiln_status move_to(kiln__search *s, around *a, size_t entry, kiln__neighbourhood kind, kiln_error **error)
{
    a->current = entry;
    a->count = a->at = 0;
    kiln_status status = kiln__points_neighbours(s->points, kind, kiln__search_point(s, entry), &a->list, &a->capacity,
                                                 &a->count, error);
    for (size_t i = a->count; i > 1; i--) { /* shuffles the list (Fisher and Yates) */
        uint32_t *one = a->list + (i - 1) * s->width, *other = a->list + kiln__random_below(&s->random, i) * s->width;
        for (size_t k = 0; k < s->width; k++) {
            uint32_t kept = one[k];
            one[k] = other[k];
            other[k] = kept;
        }
    }
    return status;
}

/* Writes the next neighbour that was never proposed to s->next. Returns false if there is no such neighbour left. */
static bool take_next_neighbour(kiln__search *s, around *a)
{
    while (a->at < a->count) {
        const uint32_t *point = a->list + a->at++ * s->width;
        if (!find_entry(s, point)) {
            memcpy(s->next, point, s->width * sizeof *point);
            return true;
        }
    }
    return false;
}

/* Returns the best neighbour that is better than the current configuration. Returns KILN__NO_ENTRY if no neighbour is
 * better. Sets *waiting if some neighbours were proposed and have no answer yet. */
static size_t find_better_neighbour(const kiln__search *s, const around *a, bool *waiting)
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

/* ---- greedy: best improvement, with restarts ----
 *
 * The strategy has two states:
 *   not started  The strategy has no proposal. The first answer that is no failure starts the search at the
 *                configuration of this answer.
 *   started      The strategy proposes the adjacent configurations of `current`. If all of them have answers, it moves
 *                to the best of them. If none of them is better than `current`, the state becomes "not started". */

/* The state of the strategy `greedy`. */
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
        if (take_next_neighbour(s, &g->around)) {
            *found = true;
            return KILN_OK;
        }
        bool waiting;
        size_t better = find_better_neighbour(s, &g->around, &waiting);
        if (waiting)
            return KILN_OK;
        g->started = better != KILN__NO_ENTRY;
        kiln_status status = g->started ? move_to(s, &g->around, better, KILN__ADJACENT, error) : KILN_OK;
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
    return move_to(s, &g->around, entry, KILN__ADJACENT, error);
}

static void free_neighbours(kiln__search *s, void *state)
{
    around *a = state; /* `around` is the first member of the states of both strategies */
    kiln__free(s->mem, a->list);
}

const kiln__strategy kiln__strategy_greedy = {.name = "greedy",
                                              .state_size = sizeof(greedy),
                                              .propose = greedy_propose,
                                              .told = greedy_told,
                                              .end = free_neighbours};

/* ---- iterated local search (Lourenço, Martin and Stützle, 2003) with first improvement ----
 *
 * The strategy has three states:
 *   not started  The strategy has no proposal. The first answer that is no failure starts a descent at the
 *                configuration of this answer.
 *   descending   The strategy proposes the neighbours of `current`. If an answer is better than `current`, its
 *                configuration becomes `current`. If all neighbours have answers and none of them is better, `current`
 *                is a local optimum, and the strategy begins to kick.
 *   kicking      The strategy proposes random steps from `home`, the best local optimum. Any answer that is no failure
 *                starts a new descent at its configuration, even if it is worse than `home`. A late answer for a
 *                neighbour in an earlier descent starts a new descent only if it is better than `home`. */

/* The state of the strategy `ils`. */
typedef struct ils {
    around around;
    bool started, kicking;
    size_t home; /* the best local optimum, from which a kick begins */
    /* the number of descents in a row that did not improve `home`. After every two such descents the kick grows by one
     * random step, from 2 to 5, and then begins at 2 again. */
    unsigned fruitless;
} ils;

/* The tags of proposals: a neighbour, and a kick. The function ils_told() recognises late answers by these tags. A
 * random point that search.c draws has the tag 0. */
enum { ILS_STEP = 1, ILS_KICK = 2 };

static void record_local_optimum(const kiln__search *s, ils *l)
{
    if (l->home == KILN__NO_ENTRY || s->entries[l->around.current].value < s->entries[l->home].value) {
        l->home = l->around.current;
        l->fruitless = 0;
    } else {
        l->fruitless++;
    }
    l->kicking = true;
}

/* Proposes the next point of a descent or of a kick. In a descent, takes a neighbour that is known to be better at
 * once. If no such neighbour is known, proposes the next unknown neighbour. At a local optimum makes two to five random
 * steps, of which two may change the same param. */
static kiln_status ils_propose(kiln__search *s, void *state, uint32_t *tag, bool *found, kiln_error **error)
{
    ils *l = state;
    *found = false;
    while (l->started && !l->kicking) {
        bool waiting;
        size_t better = find_better_neighbour(s, &l->around, &waiting); /* the answers of earlier proposals count too */
        if (better != KILN__NO_ENTRY) {
            kiln_status status = move_to(s, &l->around, better, KILN__HAMMING, error);
            if (status != KILN_OK)
                return status;
            continue;
        }
        if (take_next_neighbour(s, &l->around)) {
            *tag = ILS_STEP;
            *found = true;
            return KILN_OK;
        }
        if (waiting)
            return KILN_OK;
        record_local_optimum(s, l);
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
    else if (l->kicking && s->entries[entry].tag == ILS_STEP && !(value < s->entries[l->home].value))
        return KILN_OK; /* this is a late answer, for a neighbour in an earlier descent */
    l->started = true;
    l->kicking = false;
    return move_to(s, &l->around, entry, KILN__HAMMING, error);
}

const kiln__strategy kiln__strategy_ils = {
    .name = "ils", .state_size = sizeof(ils), .propose = ils_propose, .told = ils_told, .end = free_neighbours};

/* ---- simulated annealing (Kirkpatrick, Gelatt and Vecchi, 1983), geometric cooling from 0.5 by 0.98 for each
 * answer, down to 0.01 ---- */

/* The state of the strategy `annealing`. */
typedef struct annealing {
    size_t current;
    bool started;
    /* the number of answers since the start, at most 50 after a return to the best; each answer lowers the
     * temperature */
    double steps;
    unsigned still; /* the number of answers in a row without a new best */
} annealing;

/* Decides whether to step to a configuration with this value (Metropolis rule). Accepts a worse value with probability
 * exp(-share / temperature), where share is the relative increase. */
static bool accept_step(kiln__search *s, const annealing *a, double value)
{
    double here = s->entries[a->current].value, temperature = fmax(0.01, 0.5 * pow(0.98, a->steps));
    return value <= here || kiln__random_unit(&s->random) < exp(-(value - here) / (fabs(here) * temperature + 1e-300));
}

/* Walks from `current` over configurations whose answers are known until it finds an unknown configuration, and
 * proposes this one. If it finds none in WALK steps, it proposes a known point. Then search.c asks again, and at last
 * draws a random point. */
static kiln_status annealing_propose(kiln__search *s, void *state, uint32_t *tag, bool *found, kiln_error **error)
{
    (void)error;
    annealing *a = state;
    *tag = 1;
    *found = a->started;
    if (!a->started)
        return KILN_OK;
    enum { WALK = 32 }; /* the most steps over configurations with known answers; such a step measures nothing */
    for (unsigned i = 0; i < WALK; i++) {
        memcpy(s->next, kiln__search_point(s, a->current), s->width * sizeof *s->next);
        kiln__search_kick(s, kiln__random_below(&s->random, 4) ? 1 : 2);
        size_t known = kiln__search_find(s, s->next);
        if (known == KILN__NO_ENTRY)
            break;
        if (s->entries[known].told && s->entries[known].value < HUGE_VAL && accept_step(s, a, s->entries[known].value))
            a->current = known;
    }
    return KILN_OK;
}

static kiln_status annealing_told(kiln__search *s, void *state, size_t entry, kiln_error **error)
{
    (void)error;
    /* after this number of answers without a new best, the strategy returns to the best, at a higher temperature */
    enum { STILL = 60 };
    annealing *a = state;
    double value = s->entries[entry].value;
    a->steps++;
    if (value < HUGE_VAL && (!a->started || accept_step(s, a, value))) {
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
