/* evolve.c - search strategies with a population of configurations. Until MEMBERS configurations have run, such a
 * strategy has no proposal, and search.c draws random points. After that, an answer that is good enough replaces a
 * member at once, without generations (a steady-state scheme). So any number of proposals may be without an answer. */
#include <math.h>
#include <string.h>

#include "search_internal.h"

/* The number of configurations in the population. */
enum { MEMBERS = 20 };

/* The members are numbers of entries of the search. `at` counts the proposals of differential evolution. Each proposal
 * of differential evolution takes the next member as its target. */
typedef struct population {
    size_t members[MEMBERS], count, at;
} population;

static double read_value(const kiln__search *s, const population *p, size_t member)
{
    return s->entries[p->members[member]].value;
}

/* Adds an entry to the population. If the population is full, the entry replaces the worst member, but only if the
 * entry is better. A failure is never a member. */
static void admit_member(const kiln__search *s, population *p, size_t entry)
{
    if (s->entries[entry].value == HUGE_VAL)
        return;
    if (p->count < MEMBERS) {
        p->members[p->count++] = entry;
        return;
    }
    size_t worst = 0;
    for (size_t m = 1; m < MEMBERS; m++)
        if (read_value(s, p, m) > read_value(s, p, worst))
            worst = m;
    if (s->entries[entry].value < read_value(s, p, worst))
        p->members[worst] = entry;
}

static const uint32_t *draw_member(kiln__search *s, const population *p)
{
    return kiln__search_point(s, p->members[kiln__random_below(&s->random, p->count)]);
}

/* ---- genetic algorithm ----
 *
 * Two tournaments of two members each choose the two parents. Uniform crossover takes each param of the child from one
 * of the two parents. If the parents belong to different variants, there is no crossover, and the child begins as a
 * copy of the first parent. Then random params of the child change. The number of changes has a geometric distribution.
 * A child that is better than the worst member replaces this member. */

static const uint32_t *run_tournament(kiln__search *s, const population *p)
{
    size_t one = (size_t)kiln__random_below(&s->random, p->count);
    size_t two = (size_t)kiln__random_below(&s->random, p->count);
    return kiln__search_point(s, p->members[read_value(s, p, one) <= read_value(s, p, two) ? one : two]);
}

static kiln_status genetic_propose(kiln__search *s, void *state, uint32_t *tag, bool *found, kiln_error **error)
{
    (void)error;
    population *p = state;
    *tag = 1;
    *found = p->count == MEMBERS;
    if (!*found)
        return KILN_OK;
    const uint32_t *mother = run_tournament(s, p), *father = run_tournament(s, p);
    memcpy(s->next, mother, s->width * sizeof *s->next);
    for (size_t i = 1; i < s->width && mother[0] == father[0]; i++)
        if (kiln__random_below(&s->random, 2))
            s->next[i] = father[i];
    while (kiln__random_below(&s->random, 2))
        kiln__search_kick(s, 1);
    return KILN_OK;
}

static kiln_status genetic_told(kiln__search *s, void *state, size_t entry, kiln_error **error)
{
    (void)error;
    admit_member(s, state, entry);
    return KILN_OK;
}

const kiln__strategy kiln__strategy_genetic = {
    .name = "genetic", .state_size = sizeof(population), .propose = genetic_propose, .told = genetic_told};

/* ---- differential evolution (Storn and Price, 1997), current-to-best/1 with binomial crossover ---- */

/* Rounds a real number to a position on an axis. */
static uint32_t round_position(double position, uint32_t values)
{
    double at = rint(position);
    return at <= 0 ? 0 : at >= values - 1.0 ? values - 1 : (uint32_t)at;
}

/* Proposes target + weight * (best - target) + weight * (a - b) on a random subset of the axes, where `best` is the
 * best answer of the search, and a and b are random members. The sum is rounded up or down at random. On an axis of
 * texts a difference has no meaning, so the value is copied from `best` or from a. If these points belong to different
 * variants, or if the new point is already known, one random param of the new point changes. The entry of a proposal
 * stores its target in `tag`. If the answer is better than the target, the entry replaces the target. All other answers
 * are handled as in the genetic algorithm. */
static kiln_status evolution_propose(kiln__search *s, void *state, uint32_t *tag, bool *found, kiln_error **error)
{
    (void)error;
    const double weight = 0.7, crossing = 0.7;
    population *p = state;
    *found = p->count == MEMBERS;
    if (!*found)
        return KILN_OK;
    size_t target = p->at++ % MEMBERS;
    const uint32_t *from = kiln__search_point(s, p->members[target]), *best = kiln__search_point(s, s->best);
    const uint32_t *a = draw_member(s, p), *b = draw_member(s, p);
    const kiln__part *part = &s->points->parts[from[0]];
    bool alike = best[0] == from[0] && a[0] == from[0] && b[0] == from[0];
    *tag = (uint32_t)target + 1;
    memcpy(s->next, from, s->width * sizeof *s->next);
    for (size_t i = 1; alike && i <= part->axis_count; i++) {
        if (kiln__random_unit(&s->random) >= crossing)
            continue;
        double step = weight * ((double)best[i] - from[i]) + weight * ((double)a[i] - b[i]);
        if (part->axes[i - 1].ordered)
            s->next[i] = round_position(from[i] + step + kiln__random_unit(&s->random) - 0.5, part->axes[i - 1].values);
        else
            s->next[i] = kiln__random_below(&s->random, 2) ? best[i] : a[i];
    }
    if (!alike || kiln__search_find(s, s->next) != KILN__NO_ENTRY)
        kiln__search_kick(s, 1);
    return KILN_OK;
}

static kiln_status evolution_told(kiln__search *s, void *state, size_t entry, kiln_error **error)
{
    (void)error;
    population *p = state;
    uint32_t tag = s->entries[entry].tag;
    if (tag == 0 || p->count < MEMBERS)
        admit_member(s, p, entry);
    else if (s->entries[entry].value < read_value(s, p, tag - 1))
        p->members[tag - 1] = entry;
    return KILN_OK;
}

const kiln__strategy kiln__strategy_evolution = {
    .name = "evolution", .state_size = sizeof(population), .propose = evolution_propose, .told = evolution_told};
