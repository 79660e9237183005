/* strategies.c - the table of all strategies, and look-ups by name. */
#include <string.h>

#include "search_internal.h"

/* All strategies, in the order of KILN__STRATEGIES. */
static const kiln__strategy *const strategies[] = {
#define X(name, about) &kiln__strategy_##name,
    KILN__STRATEGIES(X)
#undef X
};
static const char *const abouts[] = {
#define X(name, about) about,
    KILN__STRATEGIES(X) /* texts in pieces: NOLINT(bugprone-suspicious-missing-comma) */
#undef X
};

const kiln__strategy *kiln__strategy_find(const char *name)
{
    if (!name || !*name)
        return strategies[0];
    for (size_t i = 0; i < KILN__COUNT(strategies); i++)
        if (strcmp(strategies[i]->name, name) == 0)
            return strategies[i];
    return NULL;
}

kiln_status kiln__strategy_named(const kiln_allocator *mem, const char *name, const kiln__strategy **strategy,
                                 kiln_error **error)
{
    *strategy = kiln__strategy_find(name);
    if (*strategy)
        return KILN_OK;
    static const char *const names[] = {
#define X(each, about) #each,
        KILN__STRATEGIES(X)
#undef X
    };
    const char *near = kiln__nearest(name, names, KILN__COUNT(names));
    static const char all[] = ""
#define X(each, about) " " #each
        KILN__STRATEGIES(X)
#undef X
        ;
    return near ? kiln__fail(mem, error, KILN_ERROR_NOT_FOUND, "there is no strategy '%s'; did you mean '%s'?", name,
                             near)
                : kiln__fail(mem, error, KILN_ERROR_NOT_FOUND, "there is no strategy '%s'; there are%s", name, all);
}

bool kiln__strategy_learns(const kiln__strategy *strategy) { return strategy->propose != NULL; }

const char *kiln_strategy_name(size_t number)
{
    return number < KILN__COUNT(strategies) ? strategies[number]->name : NULL;
}

const char *kiln_strategy_about(size_t number) { return number < KILN__COUNT(abouts) ? abouts[number] : NULL; }
