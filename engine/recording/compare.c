/* compare.c - the public functions on recorded spaces. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "document.h"
#include "score.h"

kiln_status kiln_recording_load(kiln_engine *engine, const char *path, kiln_recording **recording, kiln_error **error)
{
    char *data = NULL;
    size_t length = 0;
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS_TEXT(engine->mem, error, path);
    KILN__NEEDS(engine->mem, error, recording);
    kiln_status status = kiln__file_read(engine->mem, path, 0, &data, &length, error);
    if (status != KILN_OK)
        return status;
    status = kiln__recording_parse(engine->mem, path, data, length, recording, error);
    kiln__free(engine->mem, data);
    return status;
}

/* Maps a tuning parameter of one recorded space (`from`) to the same tuning parameter of another recorded space
 * (`to`). */
typedef struct value_map {
    size_t param; /* the index of the tuning parameter with the same name in `to` */
    /* For each value in `from`, the index of the value in `to`. The index is UINT32_MAX if `to` does not have the
     * value. The list is NULL if `to` does not have the tuning parameter. */
    uint32_t *positions;
} value_map;

/* Returns the index of a value among the values of a tuning parameter. Returns UINT32_MAX if it is not among them. The
 * values `true` and `false` in one file may be the numbers 1 and 0 in another file, so such values count as equal. */
static uint32_t find_position(const kiln__axis_values *among, kiln_value value)
{
    const kiln_value *values = among->values,
                     *found = bsearch(&value, values, among->count, sizeof value, kiln__recording_compare);
    if (!found && value.kind != KILN_TEXT) {
        const bool is_one = kiln__value_equal(value, (kiln_value){KILN_INT, {.i = 1}});
        const bool is_number = is_one || kiln__value_equal(value, (kiln_value){KILN_INT, {.i = 0}});
        const kiln_value same = {value.kind == KILN_BOOL ? KILN_INT : KILN_BOOL, {.i = is_one}};
        if (is_number)
            found = bsearch(&same, values, among->count, sizeof same, kiln__recording_compare);
    }
    return found ? (uint32_t)(found - values) : UINT32_MAX;
}

static kiln_status map_values(const kiln_recording *from, const kiln_recording *to, kiln__arena *arena, value_map *maps,
                              kiln_error **error)
{
    for (size_t i = 0; i < to->param_count; i++) {
        const kiln__axis_values *wanted = &to->params[i], *there = NULL;
        for (size_t k = 0; k < from->param_count && !there; k++)
            there = strcmp(from->params[k].name, wanted->name) == 0 ? &from->params[k] : NULL;
        if (!there)
            return kiln__fail(to->mem, error, KILN_ERROR_ARGUMENT,
                              "%s cannot be the prior of %s, because %s has no param '%s'", from->path, to->path,
                              from->path, wanted->name);
        maps[there - from->params].param = i;
        uint32_t *positions = kiln__arena_alloc(arena, there->count * sizeof *positions);
        if (!positions)
            return kiln__fail_memory(error);
        maps[there - from->params].positions = positions;
        for (size_t v = 0; v < there->count; v++)
            positions[v] = find_position(wanted, there->values[v]);
    }
    return KILN_OK;
}

/* Returns the row of the recorded space `r` that has the same configuration as `row` of the recorded space `from`.
 * Returns NULL if there is no such row. `point` is memory for a point of `r`. */
static kiln__recording_row *same_row(kiln_recording *r, const kiln__recording_row *row, const kiln_recording *from,
                                     const value_map *maps, uint32_t *point)
{
    bool holds = true;
    memset(point, 0, r->points.width * sizeof *point);
    for (size_t i = 0; i < from->param_count && holds; i++) {
        if (!maps[i].positions) /* only `from` has this tuning parameter */
            continue;
        point[1 + maps[i].param] = maps[i].positions[row->positions[i]];
        holds = point[1 + maps[i].param] != UINT32_MAX;
    }
    if (!holds || r->points.holds(r->points.user, point, &holds, NULL) != KILN_OK || !holds)
        return NULL;
    return &r->rows[kiln__recording_find_row(r, point) - r->rows];
}

kiln_status kiln_recording_set_prior(kiln_recording *recording, const kiln_recording *prior, kiln_error **error)
{
    KILN__NEEDS(NULL, error, recording);
    KILN__NEEDS(recording->mem, error, prior);
    kiln_recording *r = recording;
    kiln__arena arena = {.mem = r->mem};
    size_t known = 0;
    value_map *maps = kiln__arena_alloc(&arena, (prior->param_count + 1) * sizeof *maps);
    uint32_t *point = kiln__arena_alloc(&arena, r->points.width * sizeof *point);
    kiln_status status = arena.failed ? kiln__fail_memory(error) : map_values(prior, r, &arena, maps, error);
    for (size_t i = 0; i < prior->row_count && status == KILN_OK; i++) {
        kiln__recording_row *row = same_row(r, &prior->rows[i], prior, maps, point);
        /* a failed configuration of the prior gives no hint; a real sweep gets no hint for such a configuration
         * either */
        if (row && !prior->rows[i].failure)
            row->prior = prior->rows[i].seconds;
        known += row != NULL;
    }
    if (status == KILN_OK && known == 0)
        status = kiln__fail(r->mem, error, KILN_ERROR_ARGUMENT,
                            "%s cannot be the prior of %s: they have no configuration in common", prior->path, r->path);
    kiln__arena_free(&arena);
    return status;
}

kiln_status kiln_recording_convert(kiln_engine *engine, const char *from, const char *to, kiln_format format,
                                   kiln_error **error)
{
    kiln__document document = {0}, converted = {0};
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS_TEXT(engine->mem, error, from);
    KILN__NEEDS_TEXT(engine->mem, error, to);
    KILN__NEEDS_ENUM(engine->mem, error, format, KILN_FORMAT_COUNT);
    if (format != KILN_FORMAT_AUTO && format != KILN_FORMAT_T4 && format != KILN_FORMAT_KERNEL_TUNER)
        return kiln__fail(engine->mem, error, KILN_ERROR_ARGUMENT,
                          "a recorded space is written as T4 or as Kernel Tuner's "
                          "file");
    kiln_status status = kiln__document_load(engine->mem, from, &document, error);
    if (format == KILN_FORMAT_AUTO)
        format = strcasestr(to, ".t4.") ? KILN_FORMAT_T4 : document.format;
    if (status == KILN_OK)
        status = kiln__document_convert(engine->mem, from, &document, format, &converted, error);
    if (status == KILN_OK)
        status = kiln__document_save(engine->mem, to, &converted, error);
    kiln__document_free(&converted);
    kiln__document_free(&document);
    return status;
}

const kiln_recording_info *kiln_recording_describe(const kiln_recording *recording)
{
    return recording ? &recording->info : NULL;
}

/* A public function, which kiln_tune.h describes. Runs the strategy until no configuration is left, until the limit of
 * configurations or of time is reached, or until `each` returns a nonzero value. */
kiln_status kiln_replay(const kiln_recording *recording, const kiln_replay_options *given, kiln_replay_fn each,
                        void *user, kiln_error **error)
{
    const kiln_recording *r = recording;
    kiln_replay_options options;
    const kiln_replay_options *o = &options;
    KILN__NEEDS(NULL, error, recording);
    KILN__TAKE(r->mem, error, "options", given, &options);
    KILN__NEEDS_NUMBER(r->mem, error, options.max_seconds);
    KILN__NEEDS(r->mem, error, each);
    const kiln__strategy *strategy;
    kiln__replay *replay = NULL;
    kiln_status status = kiln__strategy_named(r->mem, o->strategy, &strategy, error);
    kiln_setting *params = kiln__calloc(r->mem, r->param_count, sizeof *params);
    if (status == KILN_OK && !params)
        status = kiln__fail_memory(error);
    if (status == KILN_OK)
        status = kiln__replay_open(r, strategy, o->seed, &replay, error);
    kiln_replay_step step = {.params = params, .param_count = r->param_count};
    double best = HUGE_VAL;
    bool more = status == KILN_OK;
    while (more && (o->max_configurations == 0 || step.number < o->max_configurations) &&
           (!(o->max_seconds > 0) || step.clock < o->max_seconds)) {
        const kiln__recording_row *row = NULL;
        status = kiln__replay_next(replay, &row, &step.clock, error);
        if (status != KILN_OK || !row)
            break;
        for (size_t i = 0; i < r->param_count; i++)
            params[i] = (kiln_setting){r->params[i].name, r->params[i].values[row->positions[i]]};
        step.number++;
        step.seconds = row->failure ? 0 : row->seconds;
        step.failure = row->failure;
        step.best = row->seconds < best;
        best = step.best ? row->seconds : best;
        more = each(user, &step) == 0;
    }
    kiln__replay_free(replay);
    kiln__free(r->mem, params);
    return status;
}

kiln_status kiln_recording_score(const kiln_recording *recording, const char *strategy, unsigned seeds,
                                 kiln_score *score, kiln_error **error)
{
    const kiln_recording *r = recording;
    const kiln__strategy *found;
    KILN__NEEDS(NULL, error, recording);
    KILN__NEEDS_SIZED(r->mem, error, score);
    if (seeds == 0)
        return kiln__fail(r->mem, error, KILN_ERROR_ARGUMENT,
                          "kiln_recording_score: seeds is 0; at least one is needed");
    kiln_status status = kiln__strategy_named(r->mem, strategy, &found, error);
    kiln_score made = {0};
    if (status == KILN_OK)
        status = kiln__score(r, found, 1, seeds, &made, error);
    if (status == KILN_OK)
        KILN__GIVE(score, &made);
    return status;
}
