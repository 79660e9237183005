/* tuning.c - the outcome of a sweep: the ranked samples, and the totals (kiln_tuning). */
#include <stdlib.h>

#include "tuning_internal.h"

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
    tuning->verdict.why_not = "";
    return tuning;
}

void kiln_tuning_free(kiln_tuning *tuning)
{
    if (!tuning)
        return;
    /* a copy of the allocator, because the tuning contains the allocator and is freed last */
    kiln_allocator copy = tuning->mem_copy;
    const kiln_allocator *mem = tuning->mem ? &copy : NULL;
    kiln__free(mem, tuning->samples);
    kiln__arena_free(&tuning->arena);
    kiln__free(mem, tuning);
}

bool kiln__tuning_leave_out(kiln_tuning *tuning, const kiln_left_out *list, size_t count)
{
    kiln__arena *arena = &tuning->arena;
    tuning->left_out = kiln__arena_alloc(arena, (count + 1) * sizeof *tuning->left_out);
    for (size_t i = 0; tuning->left_out && i < count; i++)
        tuning->left_out[tuning->left_out_count++] = (kiln_left_out){
            .variant = kiln__arena_strdup(arena, list[i].variant), .why = kiln__arena_strdup(arena, list[i].why)};
    return !arena->failed;
}

const kiln_left_out *kiln_tuning_left_out(const kiln_tuning *tuning, size_t number)
{
    return tuning && number < tuning->left_out_count ? &tuning->left_out[number] : NULL;
}

kiln_status kiln__tuning_set_sizes(kiln_tuning *tuning, kiln_engine *engine, const kiln_spec *spec,
                                   const kiln_tune_options *options, kiln_error **error)
{
    const kiln_choice choice = {
        .size_set = options->size_set, .sizes = options->sizes, .size_count = options->size_count};
    kiln__config *config = NULL;
    KILN__TRY(kiln__config_open(engine, spec, &choice, &config, error));
    tuning->size_set = kiln__arena_strdup(&tuning->arena, config->size_set);
    tuning->sizes = kiln__settings_copy(&tuning->arena, config->sizes);
    kiln__config_free(config);
    return tuning->arena.failed ? kiln__fail_memory(error) : KILN_OK;
}

const char *kiln_tuning_size_set(const kiln_tuning *tuning) { return tuning ? tuning->size_set : NULL; }

const kiln_setting *kiln_tuning_size(const kiln_tuning *tuning, size_t number)
{
    return tuning && number < tuning->sizes.count ? &tuning->sizes.items[number] : NULL;
}

typedef struct drawn {
    kiln_sample sample; /* the public part of a sample, which callers see; it must be the first member */
    kiln_result result; /* the result to which `result` of the sample points */
    uint64_t order;     /* the position of the configuration in the order in which the space gave it */
    bool finalist, by_value;
    double value; /* the value for the ranking if by_value is set; a smaller value is better */
    const double *rounds;
    size_t round_count;
} drawn;

kiln_sample *kiln__tuning_sample(kiln_tuning *tuning, const char *variant, kiln__settings params)
{
    kiln__arena *arena = &tuning->arena;
    drawn *made = kiln__arena_alloc(arena, sizeof *made);
    if (!made)
        return NULL;
    made->order = tuning->drawn++;
    kiln_sample *sample = &made->sample;
    sample->result = &made->result;
    sample->variant = kiln__arena_strdup(arena, variant);
    params = kiln__settings_copy(arena, params);
    sample->params = params.items;
    sample->param_count = params.count;
    sample->message = sample->device = "";
    sample->contender = 1;
    return arena->failed ? NULL : sample;
}

kiln_result *kiln__tuning_result(kiln_sample *sample) { return &((drawn *)sample)->result; }

void kiln__tuning_set_value(kiln_sample *sample, double value)
{
    ((drawn *)sample)->by_value = true;
    ((drawn *)sample)->value = value;
}

/* Returns the value of a sample for the ranking. The function reads the time of the sample at each call, because the
 * finals change it. */
static double value_of(const kiln_sample *sample)
{
    const drawn *made = (const drawn *)sample;
    return made->by_value ? made->value : kiln__result_seconds(sample->result);
}

/* Tells whether the sample has a time that says something about the device. On a device that estimates, a sample
 * without an estimate has only the interpreter's wall time, which says nothing about the device. Such a sample is
 * ranked behind all samples that have an estimate. */
static bool is_timed(const kiln_sample *sample)
{
    return sample->status == KILN_OK && (sample->result->measured || sample->result->estimated);
}

static bool is_better(const kiln_sample *sample, const kiln_sample *than)
{
    return is_timed(sample) != is_timed(than) ? is_timed(sample) : value_of(sample) < value_of(than);
}

bool kiln__tuning_add(kiln_tuning *tuning, kiln_sample *sample, kiln_status status, const char *message)
{
    if (!kiln__grow(tuning->mem, &tuning->samples, &tuning->capacity, tuning->count + 1, sizeof *tuning->samples))
        return false;
    sample->status = status;
    if (status != KILN_OK) {
        *kiln__tuning_result(sample) = (kiln_result){0};
        sample->message = kiln__arena_strdup(&tuning->arena, message);
        if (!sample->message)
            return false;
    }
    tuning->samples[tuning->count++] = sample;
    tuning->totals.configurations++;
    tuning->totals.failed += status != KILN_OK;
    tuning->totals.reused += sample->reused != 0;
    tuning->totals.stopped_early += sample->result->stopped_early != 0;
    tuning->totals.throttled += (sample->result->throttle & ~(unsigned)KILN_THROTTLE_SETTING) != 0;
    tuning->totals.verified += status == KILN_OK && sample->result->verified;
    if (status == KILN_OK && sample->contender && (!tuning->best || is_better(sample, tuning->best)))
        tuning->best = sample;
    return true;
}

static int compare(const void *left, const void *right);

/* Returns the contender that is first in the ranking, or NULL if no contender was successful. */
static const kiln_sample *find_best(const kiln_tuning *tuning)
{
    kiln_sample *best = NULL;
    for (size_t i = 0; i < tuning->count; i++) {
        kiln_sample *sample = tuning->samples[i];
        if (sample->status == KILN_OK && sample->contender && (!best || compare(&sample, &best) < 0))
            best = sample;
    }
    return best;
}

bool kiln__tuning_refute(kiln_tuning *tuning, kiln_sample *sample, kiln_status status, const char *message)
{
    kiln_tuning_totals *totals = &tuning->totals;
    const kiln_result *result = sample->result;
    totals->verified -= result->verified != 0;
    totals->stopped_early -= result->stopped_early != 0;
    totals->throttled -= (result->throttle & ~(unsigned)KILN_THROTTLE_SETTING) != 0;
    totals->failed++;
    sample->status = status;
    sample->tied = 0;
    sample->message = kiln__arena_strdup(&tuning->arena, message);
    *kiln__tuning_result(sample) = (kiln_result){0};
    ((drawn *)sample)->finalist = false;
    tuning->best = find_best(tuning);
    return sample->message != NULL;
}

void kiln__tuning_set_rounds(kiln_sample *sample, const double *rounds, size_t count)
{
    ((drawn *)sample)->rounds = rounds;
    ((drawn *)sample)->round_count = count;
}

const double *kiln__tuning_rounds(const kiln_sample *sample, size_t *count)
{
    *count = ((const drawn *)sample)->round_count;
    return ((const drawn *)sample)->rounds;
}

void kiln__tuning_mark(kiln_sample *sample, bool tied)
{
    ((drawn *)sample)->finalist = true;
    sample->tied = tied;
}

/* Compares two samples for the ranking. Equal samples stay in the order of the space, so that the ranking does not
 * depend on the times of compiles. */
static int compare(const void *left, const void *right)
{
    const kiln_sample *a = *(kiln_sample *const *)left, *b = *(kiln_sample *const *)right;
    if ((a->status == KILN_OK) != (b->status == KILN_OK))
        return a->status == KILN_OK ? -1 : 1;
    if (a->contender != b->contender)
        return a->contender ? -1 : 1;
    if (is_timed(a) != is_timed(b))
        return is_timed(a) ? -1 : 1;
    if (((const drawn *)a)->finalist != ((const drawn *)b)->finalist)
        return ((const drawn *)a)->finalist ? -1 : 1;
    double x = a->status == KILN_OK ? value_of(a) : 0, y = b->status == KILN_OK ? value_of(b) : 0;
    uint64_t m = ((const drawn *)a)->order, n = ((const drawn *)b)->order;
    return x != y ? (x < y ? -1 : 1) : (m > n) - (m < n);
}

void kiln__tuning_rank(kiln_tuning *tuning)
{
    if (tuning->count)
        qsort(tuning->samples, tuning->count, sizeof *tuning->samples, compare);
}

void kiln__tuning_warn(const kiln_tuning *tuning, const char *spec, const kiln__log *log)
{
    const kiln_tuning_totals *totals = &tuning->totals;
    if (totals->throttled)
        kiln__logf(log, KILN_LOG_WARNING,
                   "%llu of %llu samples were measured while throttled by power, temperature or "
                   "hardware: they are slower, by an amount that may differ from sample to sample",
                   (unsigned long long)totals->throttled, (unsigned long long)totals->configurations);
    unsigned weak = 0;
    for (size_t i = 0; i < tuning->count; i++)
        weak |= tuning->samples[i]->result->weak;
    kiln__weak_tell(log, spec, weak);
}

size_t kiln_tuning_count(const kiln_tuning *tuning) { return tuning ? tuning->count : 0; }

const kiln_sample *kiln_tuning_sample(const kiln_tuning *tuning, size_t rank)
{
    return rank < kiln_tuning_count(tuning) ? tuning->samples[rank] : NULL;
}

const kiln_tuning_totals *kiln_tuning_sum(const kiln_tuning *tuning) { return tuning ? &tuning->totals : NULL; }
