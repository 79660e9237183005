/* budget.c - the limits that end a sweep. */
#include <math.h>

#include "tune_internal.h"

#define IMPROVEMENT 0.01 /* the least share that counts as better, by default */

void kiln__budget_note(kiln__budget *b, const kiln_sample *sample, double value)
{
    double least = b->options->improvement > 0 ? b->options->improvement : IMPROVEMENT;
    bool better = value < HUGE_VAL && (!b->any || b->mark - value > least * fabs(b->mark));
    b->stale = better ? 0 : b->stale + 1;
    if (better)
        b->mark = value; /* small improvements add up */
    b->any |= better;
    if (sample->status == KILN_OK && sample->contender && sample->result->roofline > b->roofline)
        b->roofline = sample->result->roofline;
}

bool kiln__budget_over(kiln__budget *b)
{
    const kiln_tune_options *o = b->options;
    if (o->max_seconds > 0 && kiln__seconds_since(b->start) >= o->max_seconds)
        b->end = KILN_END_SECONDS;
    else if (o->max_roofline > 0 && b->roofline >= o->max_roofline)
        b->end = KILN_END_ROOFLINE;
    else if (o->stagnation && b->stale >= o->stagnation)
        b->end = KILN_END_STAGNATION;
    else
        return false;
    return true;
}

bool kiln__budget_any(const kiln_tune_options *o)
{
    return o->max_configurations || o->max_seconds > 0 || o->max_roofline > 0 || o->stagnation;
}
