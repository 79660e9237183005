/* state.c - finds out whether a call of the candidate depends on variables of the module that an earlier call has
 * changed.
 *
 * Under the checks of the simulated device, a variable that a call has changed counts as never written. The checks then
 * report a later call that reads this variable before it writes it.
 *
 * A GPU has no checks that report such a read. On a GPU the judge overwrites the changed elements of the variables with
 * random bytes before further calls. In this file such elements and variables are called spoilt, and such calls are
 * called spoilt calls. A call that writes these elements before it reads them still works. A call that reads them first
 * gives a wrong answer, fails, or leaves the random bytes in place. */
#include <string.h>

#include "judge_internal.h"

enum {
    /* The number of calls before which all changed elements are overwritten with random bytes. Two of these calls get
     * complementary bytes. */
    ALL = 3,
    /* The largest number of calls before which only one variable is overwritten. A candidate may keep an answer and its
     * key in two variables. Then it loses the answer, but still finds the key. */
    EACH = 8,
    /* the number of calls before which a half, a quarter, an eighth and so on of the changed elements are
     * overwritten */
    PARTS = 4,
    CHANGED = 1, /* a bit of `changed`: a call has changed the element */
    LEFT = 2,    /* a bit of `changed`: no call has replaced the random bytes of the element yet */
};

static kiln_status read_global(const kiln__judge *judge, const kiln__judge_global *g, unsigned char *to,
                               kiln_error **error)
{
    CUresult result = judge->engine->driver.cuMemcpyDtoH_(to, g->address, g->bytes);
    return result == CUDA_SUCCESS
               ? KILN_OK
               : kiln__driver_fail(&judge->engine->driver, judge->mem, result, error, "reading variable %s", g->name);
}

/* Copies the bytes of a variable into new host memory. The caller frees this memory. */
static kiln_status copy_global(const kiln__judge *judge, const kiln__judge_global *g, unsigned char **to,
                               kiln_error **error)
{
    *to = kiln__alloc(judge->mem, g->bytes);
    return *to ? read_global(judge, g, *to, error) : kiln__fail_memory(error);
}

kiln_status kiln__judge_keep_globals(kiln__judge *judge, kiln_error **error)
{
    for (size_t i = 0; i < judge->code.global_count; i++) {
        kiln__judge_global *g = &judge->code.globals[i];
        if (!g->initial)
            continue; /* the variable has no bytes, or the driver could not read it */
        if (!g->before)
            g->before = kiln__alloc(judge->mem, g->bytes);
        if (!g->before)
            return kiln__fail_memory(error);
        KILN__TRY(read_global(judge, g, g->before, error));
    }
    return KILN_OK;
}

/* Sets g->changed for the bytes of all elements that differ from g->before. */
static void mark_changed(kiln__judge_global *g, const unsigned char *now)
{
    g->any = false;
    memset(g->changed, 0, g->bytes);
    for (size_t k = 0; k < g->bytes; k += g->unit) {
        const size_t size = g->bytes - k < g->unit ? g->bytes - k : g->unit;
        if (memcmp(now + k, g->before + k, size) == 0)
            continue;
        memset(g->changed + k, CHANGED | LEFT, size);
        g->any = true;
    }
}

/* Finds the elements of variables that the last call has changed. A counter that every call resets to its old value
 * does not count as changed. */
kiln_status kiln__judge_forget_globals(kiln__judge *judge, bool checked, kiln_error **error)
{
    for (size_t i = 0; i < judge->code.global_count; i++) {
        kiln__judge_global *g = &judge->code.globals[i];
        unsigned char *now = NULL;
        if (!g->before)
            continue;
        if (!g->changed)
            g->changed = kiln__alloc(judge->mem, g->bytes);
        kiln_status status = g->changed ? copy_global(judge, g, &now, error) : kiln__fail_memory(error);
        if (status == KILN_OK)
            mark_changed(g, now);
        for (size_t k = 0; status == KILN_OK && checked && k < g->bytes; k++) {
            size_t end = k;
            while (end < g->bytes && now[end] != g->before[end])
                end++;
            if (end > k)
                judge->engine->driver.simulator->check_forget(g->address + k, end - k);
            k = end;
        }
        kiln__free(judge->mem, now);
        if (status != KILN_OK)
            return status;
        if (g->any)
            kiln__judge_note(judge, kiln__judge_print(judge, "a call leaves the variable '%s' changed", g->name));
    }
    return KILN_OK;
}

/* Returns the number of variables that calls have changed. */
static unsigned count_changed(const kiln__judge *judge)
{
    unsigned count = 0;
    for (size_t i = 0; i < judge->code.global_count; i++)
        count += judge->code.globals[i].any;
    return count;
}

unsigned kiln__judge_count_spoilt(const kiln__judge *judge)
{
    const unsigned count = count_changed(judge);
    return count ? ALL + PARTS + (count < EACH ? count : EACH) : 0;
}

/* Returns whether the judge overwrites an element of a variable before the spoilt call `number`. `which` is the index
 * of the variable among the changed variables. */
static bool is_spoilt(unsigned number, unsigned which, kiln__random *random)
{
    return number < ALL           ? true
           : number < ALL + PARTS ? kiln__random_below(random, (uint64_t)2 << (number - ALL)) == 0
                                  : which == number - ALL - PARTS;
}

/* Overwrites elements of variables with random bytes before the spoilt call `number`. Call 1 gets the complements of
 * the random bytes of call 0. So a value that both calls write differs from the random bytes before at least one of the
 * two calls. */
kiln_status kiln__judge_spoil_globals(kiln__judge *judge, uint64_t seed, unsigned number, kiln_error **error)
{
    kiln__random bytes = {kiln__random_mix(seed + (number == 1 ? 0 : number))};
    kiln__random choice = {kiln__random_mix(seed + 100 + number)};
    unsigned which = 0;
    for (size_t i = 0; i < judge->code.global_count; i++) {
        kiln__judge_global *g = &judge->code.globals[i];
        if (!g->any)
            continue;
        if (!g->spoilt)
            g->spoilt = kiln__alloc(judge->mem, g->bytes);
        if (!g->spoilt)
            return kiln__fail_memory(error);
        KILN__TRY(read_global(judge, g, g->spoilt, error));
        for (size_t k = 0; k < g->bytes; k += g->unit) {
            const size_t size = g->bytes - k < g->unit ? g->bytes - k : g->unit;
            const uint64_t word = kiln__random_next(&bytes) ^ (number == 1 ? UINT64_MAX : 0);
            if (g->changed[k] && is_spoilt(number, which, &choice))
                memcpy(g->spoilt + k, &word, size);
        }
        CUresult result = judge->engine->driver.cuMemcpyHtoD_(g->address, g->spoilt, g->bytes);
        if (result != CUDA_SUCCESS)
            return kiln__driver_fail(&judge->engine->driver, judge->mem, result, error, "writing variable %s", g->name);
        which++;
    }
    return KILN_OK;
}

/* Searches for elements that the first call changed, but that kept their random bytes in every spoilt call. All these
 * calls have the inputs of the first call. So a call that does not depend on these elements would have written them
 * again. */
static kiln_status find_left(kiln__judge *judge, unsigned number, kiln__judge_fault *fault, kiln_error **error)
{
    for (size_t i = 0; i < judge->code.global_count; i++) {
        kiln__judge_global *g = &judge->code.globals[i];
        unsigned char *now = NULL;
        bool left = false;
        if (!g->any)
            continue;
        kiln_status status = copy_global(judge, g, &now, error);
        for (size_t k = 0; status == KILN_OK && k < g->bytes; k += g->unit) {
            const size_t size = g->bytes - k < g->unit ? g->bytes - k : g->unit;
            if (memcmp(now + k, g->spoilt + k, size) != 0)
                g->changed[k] &= (unsigned char)~LEFT;
            left = left || (g->changed[k] & LEFT);
        }
        kiln__free(judge->mem, now);
        if (status != KILN_OK)
            return status;
        if (!left || number + 1 < ALL)
            continue;
        *fault = (kiln__judge_fault){.kind = KILN_JUDGED_STATE};
        fault->message = kiln__judge_print(
            judge,
            "only the first of several calls with the same contents writes the variable '%s', so later calls read it",
            g->name);
        return KILN_OK;
    }
    return KILN_OK;
}

/* If the judge has overwritten only one variable, returns its name. Otherwise returns NULL. */
static const char *name_spoilt(const kiln__judge *judge, unsigned number)
{
    const bool only = count_changed(judge) == 1;
    unsigned which = 0;
    for (size_t i = 0; i < judge->code.global_count; i++)
        if (judge->code.globals[i].any && (only || which++ == number - ALL - PARTS))
            return judge->code.globals[i].name;
    return NULL;
}

kiln_status kiln__judge_look_at_spoilt(kiln__judge *judge, unsigned number, kiln__judge_fault *fault,
                                       kiln_error **error)
{
    if (fault->kind == KILN_JUDGED_PASS)
        return number < ALL ? find_left(judge, number, fault, error) : KILN_OK;
    const char *name = name_spoilt(judge, number);
    fault->kind = KILN_JUDGED_STATE;
    fault->message = kiln__judge_print(judge, "a call depends on %s%s%s, which an earlier call has written: %s",
                                       name ? "the variable '" : "variables", name ? name : "", name ? "'" : "",
                                       fault->message);
    return KILN_OK;
}
