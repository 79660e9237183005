/* tuning.c - the outcome of a sweep: samples, ranked, and totals. */
#include <stdlib.h>
#include <string.h>

#include "tune/internal.h"

kiln_tuning *kiln__tuning_new(const kiln_allocator *mem)
{
    kiln_tuning *tuning = kiln__calloc(mem, 1, sizeof *tuning);
    if (!tuning)
        return NULL;
    if (mem) {
        tuning->mem_copy = *mem;
        tuning->mem = &tuning->mem_copy;
    }
    tuning->arena.mem = tuning->mem;
    return tuning;
}

void kiln_tuning_free(kiln_tuning *tuning)
{
    if (!tuning)
        return;
    kiln_allocator copy = tuning->mem_copy; /* the block that holds it is about to go */
    const kiln_allocator *mem = tuning->mem ? &copy : NULL;
    kiln__free(mem, tuning->samples);
    kiln__arena_free(&tuning->arena);
    kiln__free(mem, tuning);
}

kiln_sample *kiln__tuning_sample(kiln_tuning *tuning, const char *variant, const kiln_setting *params, size_t count)
{
    kiln__arena *arena = &tuning->arena;
    kiln_sample *sample = kiln__arena_alloc(arena, sizeof *sample);
    kiln_setting *copy = kiln__arena_alloc(arena, (count + 1) * sizeof *copy);
    if (!sample || !copy)
        return NULL;
    sample->variant = kiln__arena_strdup(arena, variant);
    for (size_t i = 0; i < count; i++) {
        copy[i] = params[i];
        copy[i].name = kiln__arena_strdup(arena, params[i].name);
        if (params[i].value.kind == KILN_TEXT)
            copy[i].value.as.text = kiln__arena_strdup(arena, params[i].value.as.text);
    }
    sample->params = copy;
    sample->param_count = count;
    sample->message = "";
    return arena->failed ? NULL : sample;
}

double kiln__tuning_seconds(const kiln_result *result)
{
    return result->measured || result->estimated ? result->seconds : result->host_seconds;
}

bool kiln__tuning_add(kiln_tuning *tuning, kiln_sample *sample, kiln_status status, const char *message)
{
    if (!kiln__grow(tuning->mem, &tuning->samples, &tuning->capacity, tuning->count + 1, sizeof *tuning->samples))
        return false;
    sample->status = status;
    if (status != KILN_OK) {
        memset(&sample->result, 0, sizeof sample->result);
        sample->message = kiln__arena_strdup(&tuning->arena, message);
        if (!sample->message)
            return false;
    }
    tuning->samples[tuning->count++] = sample;
    tuning->totals.configurations++;
    tuning->totals.failed += status != KILN_OK;
    tuning->totals.verified += status == KILN_OK && sample->result.verified;
    if (status == KILN_OK &&
        (!tuning->best || kiln__tuning_seconds(&sample->result) < kiln__tuning_seconds(&tuning->best->result)))
        tuning->best = sample;
    return true;
}

static bool before(const kiln_sample *a, const kiln_sample *b)
{
    if ((a->status == KILN_OK) != (b->status == KILN_OK))
        return a->status == KILN_OK;
    return a->status == KILN_OK && kiln__tuning_seconds(&a->result) < kiln__tuning_seconds(&b->result);
}

/* A merge sort in place of qsort(), which is not stable: samples of equal time stay in the order they were run in. */
static void merge(kiln_sample **from, kiln_sample **to, size_t left, size_t middle, size_t right)
{
    size_t a = left, b = middle;
    for (size_t i = left; i < right; i++)
        to[i] = b >= right || (a < middle && !before(from[b], from[a])) ? from[a++] : from[b++];
}

void kiln__tuning_rank(kiln_tuning *tuning)
{
    size_t count = tuning->count;
    kiln_sample **from = tuning->samples;
    kiln_sample **to = kiln__arena_alloc(&tuning->arena, (count + 1) * sizeof *to);
    if (!to) { /* no room to merge in: insertion, slower and as stable */
        for (size_t i = 1; i < count; i++)
            for (size_t at = i; at > 0 && before(from[at], from[at - 1]); at--) {
                kiln_sample *moved = from[at];
                from[at] = from[at - 1];
                from[at - 1] = moved;
            }
        return;
    }
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t left = 0; left < count; left += 2 * width) {
            size_t middle = left + width < count ? left + width : count;
            size_t right = left + 2 * width < count ? left + 2 * width : count;
            merge(from, to, left, middle, right);
        }
        kiln_sample **other = from;
        from = to;
        to = other;
    }
    if (count && from != tuning->samples)
        memcpy(tuning->samples, from, count * sizeof *from);
}

size_t kiln_tuning_count(const kiln_tuning *tuning)
{
    return tuning->count;
}

const kiln_sample *kiln_tuning_sample(const kiln_tuning *tuning, size_t rank)
{
    return rank < tuning->count ? tuning->samples[rank] : NULL;
}

void kiln_tuning_sum(const kiln_tuning *tuning, kiln_tuning_totals *totals)
{
    *totals = tuning->totals;
}
