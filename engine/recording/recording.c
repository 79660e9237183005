/* recording.c - reads recorded spaces from Kernel Tuner's cache file and from files in the T4 results format. A
 * recorded space is a list of rows, one row per configuration of a search space, with its values, its time or its
 * failure. README.md lists the peculiarities of both formats. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "document.h"
#include "recording.h"

typedef struct kiln_recording recording;

typedef struct reading {
    recording *r;
    const char *name;
    json_t *root;
    size_t text_length; /* the length of the unpacked text of the file */
    kiln_error **error;
} reading;

static kiln_status bad(const reading *in, const char *format, ...) KILN__PRINTF(2, 3);
static kiln_status bad(const reading *in, const char *format, ...)
{
    kiln__text text = {.mem = in->r->mem};
    va_list arguments;
    va_start(arguments, format);
    kiln__text_vprintf(&text, format, arguments);
    va_end(arguments);
    kiln_status status = kiln__fail(in->r->mem, in->error, KILN_ERROR_SPEC, "%s: %s", in->name, kiln__text_get(&text));
    kiln__text_free(&text);
    return status;
}

/* ---- values of tuning parameters ---- */

static bool make_value(reading *in, const json_t *json, kiln_value *value)
{
    switch (json_typeof(json)) {
    case JSON_INTEGER: *value = (kiln_value){KILN_INT, {.i = json_integer_value(json)}}; return true;
    case JSON_REAL: *value = (kiln_value){KILN_FLOAT, {.f = json_real_value(json)}}; return true;
    case JSON_TRUE:
    case JSON_FALSE: *value = (kiln_value){KILN_BOOL, {.i = json_is_true(json)}}; return true;
    case JSON_STRING:
        *value = (kiln_value){KILN_TEXT, {.text = kiln__arena_strdup(&in->r->arena, json_string_value(json))}};
        return true;
    default: return false;
    }
}

/* Compares two values. Numbers come before texts, in ascending order. A long double can represent every 64-bit integer
 * and every double. */
int kiln__recording_compare(const void *one, const void *other)
{
    const kiln_value *a = one, *b = other;
    if (a->kind == KILN_TEXT || b->kind == KILN_TEXT)
        return a->kind != b->kind ? (a->kind == KILN_TEXT) - (b->kind == KILN_TEXT) : strcmp(a->as.text, b->as.text);
    long double x = a->kind == KILN_FLOAT ? (long double)a->as.f : (long double)a->as.i;
    long double y = b->kind == KILN_FLOAT ? (long double)b->as.f : (long double)b->as.i;
    int truth = (a->kind == KILN_BOOL) - (b->kind == KILN_BOOL); /* the values true and 1 are different */
    return x != y ? (x > y) - (x < y) : truth;
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    double got = json_is_number(value) ? json_number_value(value) : 0;
    return got > 0 ? got : 0;
}

static double sum(const json_t *array)
{
    const json_t *item;
    double all = 0;
    size_t i;
    json_array_foreach(array, i, item)
        all += json_is_number(item) && json_number_value(item) > 0 ? json_number_value(item) : 0;
    return all;
}

static const char *text_of(reading *in, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_string(value) ? kiln__arena_strdup(&in->r->arena, json_string_value(value)) : "";
}

/* Sets the time of a row in seconds. If the configuration has failed, sets row->failure to the text of the file for the
 * failure instead. `word` is such a text, or NULL. `unit` is the file's unit of time, in seconds. An error message
 * names the configuration number `n` + 1. */
static kiln_status set_time(reading *in, kiln__recording_row *row, const json_t *value, const char *word, double unit,
                            size_t n)
{
    row->seconds = HUGE_VAL;
    if (word || !value || json_is_null(value) || json_is_string(value)) {
        const char *says = json_is_string(value) ? json_string_value(value) : word ? word : "no time";
        row->failure = kiln__arena_strdup(&in->r->arena, says);
        in->r->failed++;
        return row->failure ? KILN_OK : kiln__fail_memory(in->error);
    }
    if (!json_is_number(value) || !(json_number_value(value) > 0))
        return bad(in, "configuration %zu: its time is not a positive number", n + 1);
    row->seconds = json_number_value(value) * unit;
    if (!(row->seconds > 0) || row->seconds == HUGE_VAL)
        return bad(in, "configuration %zu: its time is out of range", n + 1);
    return KILN_OK;
}

/* ---- tuning parameters: their values are the different values in the file ---- */

static kiln_status start_params(reading *in, size_t count, size_t rows)
{
    recording *r = in->r;
    if (count == 0)
        return bad(in, "no params");
    if (count > 1000)
        return bad(in, "%zu params; at most 1000 are allowed", count);
    if (rows == 0)
        return bad(in, "no configurations");
    if (rows > UINT32_MAX / 4)
        return bad(in, "too many configurations");
    /* The least number of characters that a configuration needs for a tuning parameter: "a":1 has five. */
    enum { LEAST = 5 };
    if (rows > in->text_length / (LEAST * count)) /* this check comes before memory is allocated */
        return bad(in, "%zu configurations cannot all have %zu params in a file of this size", rows, count);
    r->params = kiln__arena_alloc(&r->arena, count * sizeof *r->params);
    r->rows = kiln__arena_alloc(&r->arena, rows * sizeof *r->rows);
    r->coords = kiln__arena_alloc(&r->arena, rows * (count + 1) * sizeof *r->coords);
    for (size_t i = 0; i < count && !r->arena.failed; i++)
        r->params[i].values = kiln__arena_alloc(&r->arena, rows * sizeof *r->params[i].values);
    r->param_count = count;
    return r->arena.failed ? kiln__fail_memory(in->error) : KILN_OK;
}

static kiln_status take_values(reading *in, const json_t *configuration, size_t n)
{
    recording *r = in->r;
    for (size_t i = 0; i < r->param_count; i++) {
        kiln__axis_values *param = &r->params[i];
        const json_t *value = json_object_get(configuration, param->name);
        if (!value)
            return bad(in, "configuration %zu has no '%s'", n + 1, param->name);
        if (!make_value(in, value, &param->values[n]))
            return bad(in, "configuration %zu: '%s' is neither a number nor a text", n + 1, param->name);
    }
    return r->arena.failed ? kiln__fail_memory(in->error) : KILN_OK;
}

/* Sorts the values of each tuning parameter. Before the call, its list has one value for each row, in the order of the
 * rows. After the call, the list has the different values in ascending order. The function sets r->coords to the index
 * of each row's value in this list. */
static kiln_status sort_values(reading *in)
{
    recording *r = in->r;
    kiln_value *sorted = kiln__alloc(r->mem, r->row_count * sizeof *sorted);
    if (!sorted)
        return kiln__fail_memory(in->error);
    for (size_t i = 0; i < r->param_count; i++) {
        kiln__axis_values *param = &r->params[i];
        memcpy(sorted, param->values, r->row_count * sizeof *sorted);
        qsort(sorted, r->row_count, sizeof *sorted, kiln__recording_compare);
        size_t count = 0;
        for (size_t n = 0; n < r->row_count; n++)
            if (count == 0 || kiln__recording_compare(&sorted[count - 1], &sorted[n]) != 0)
                sorted[count++] = sorted[n];
        for (size_t n = 0; n < r->row_count; n++) {
            const kiln_value *found = bsearch(&param->values[n], sorted, count, sizeof *sorted,
                                              kiln__recording_compare);
            r->coords[n * (r->param_count + 1) + 1 + i] = (uint32_t)(found - sorted);
        }
        memcpy(param->values, sorted, count * sizeof *sorted);
        param->count = count;
    }
    kiln__free(r->mem, sorted);
    return KILN_OK;
}

/* ---- reading Kernel Tuner's cache file ---- */

static kiln_status name_params(reading *in, json_t *keys, json_t *params, size_t rows)
{
    recording *r = in->r;
    bool listed = json_is_array(keys);
    kiln_status status = start_params(in, listed ? json_array_size(keys) : json_object_size(params), rows);
    if (status != KILN_OK)
        return status;
    size_t i = 0;
    const char *key;
    json_t *value;
    if (listed)
        json_array_foreach(keys, i, value)
        {
            if (!json_is_string(value))
                return bad(in, "tune_params_keys: not a list of names");
            r->params[i].name = kiln__arena_strdup(&r->arena, json_string_value(value));
        }
    else
        json_object_foreach(params, key, value) r->params[i++].name = kiln__arena_strdup(&r->arena, key);
    return r->arena.failed ? kiln__fail_memory(in->error) : KILN_OK;
}

/* Reads the rows of Kernel Tuner's cache file, in which times are in milliseconds. A configuration whose time is not a
 * number has failed. */
static kiln_status read_cache(reading *in, json_t *cache)
{
    recording *r = in->r;
    r->format = "Kernel Tuner";
    r->kernel = text_of(in, in->root, "kernel_name");
    r->device = text_of(in, in->root, "device_name");
    kiln_status status = name_params(in, json_object_get(in->root, "tune_params_keys"),
                                     json_object_get(in->root, "tune_params"), json_object_size(cache));
    const char *key;
    json_t *entry;
    if (status == KILN_OK)
        json_object_foreach(cache, key, entry)
        {
            kiln__recording_row *row = &r->rows[r->row_count];
            row->compile = number(entry, "compile_time") / 1e3;
            row->verify = number(entry, "verification_time") / 1e3;
            row->benchmark = (json_object_get(entry, "benchmark_time") ? number(entry, "benchmark_time")
                                                                       : sum(json_object_get(entry, "times"))) /
                             1e3;
            status = take_values(in, entry, r->row_count);
            if (status == KILN_OK)
                status = set_time(in, row, json_object_get(entry, "time"),
                                  json_string_value(json_object_get(entry, "__error__")), 1e-3, r->row_count);
            if (status != KILN_OK)
                break;
            r->row_count++;
        }
    return status;
}

/* ---- reading a file in the T4 results format ---- */

/* Returns the measurement of a T4 result that is its time. This is the measurement with the name "time". If there is
 * none, it is the measurement that the first objective names. */
static const json_t *time_of(const json_t *result)
{
    const json_t *objective = json_array_get(json_object_get(result, "objectives"), 0), *measurement, *named = NULL;
    size_t i;
    json_array_foreach(json_object_get(result, "measurements"), i, measurement)
    {
        const char *name = json_string_value(json_object_get(measurement, "name"));
        if (name && strcmp(name, "time") == 0)
            return measurement;
        if (name && json_is_string(objective) && strcmp(name, json_string_value(objective)) == 0)
            named = measurement;
    }
    return named;
}

static kiln_status read_result(reading *in, const json_t *result, double unit)
{
    recording *r = in->r;
    kiln__recording_row *row = &r->rows[r->row_count];
    const json_t *times = json_object_get(result, "times"), *measured, *measurement = time_of(result);
    const char *invalidity = json_string_value(json_object_get(result, "invalidity"));
    const char *own = json_string_value(json_object_get(measurement, "unit"));
    double measured_in = own && kiln__unit_seconds(own) > 0 ? kiln__unit_seconds(own) : unit;
    size_t i;
    row->compile = (number(times, "compilation") + number(times, "compilation_time")) * unit;
    row->verify = number(times, "validation") * unit;
    row->benchmark = sum(json_object_get(times, "runtimes")) * unit;
    /* If the file was converted from Kernel Tuner's cache file, the benchmark time is one of the measurements. */
    json_array_foreach(json_object_get(result, "measurements"), i, measured)
    {
        const char *name = json_string_value(json_object_get(measured, "name"));
        if (name && strcmp(name, "benchmark_time") == 0)
            row->benchmark = number(measured, "value") * unit;
    }
    kiln_status status = take_values(in, json_object_get(result, "configuration"), r->row_count);
    if (status == KILN_OK)
        status = set_time(in, row, json_object_get(measurement, "value"),
                          invalidity && strcmp(invalidity, "correct") != 0 ? invalidity : NULL, measured_in,
                          r->row_count);
    r->row_count++;
    return status;
}

static kiln_status read_results(reading *in, json_t *results)
{
    recording *r = in->r;
    const json_t *metadata = json_object_get(in->root, "metadata"), *unit_json = json_object_get(metadata, "timeunit");
    const json_t *header = json_object_get(metadata, "kernel_tuner"); /* convert.c has written this member */
    const char *unit = json_is_string(unit_json) ? json_string_value(unit_json) : "milliseconds";
    if (kiln__unit_seconds(unit) <= 0)
        return bad(in, "metadata: '%s' is not a unit of time", unit);
    r->format = "T4";
    r->kernel = text_of(in, header, "kernel_name");
    r->device = text_of(in, header, "device_name");
    json_t *first = json_object_get(json_array_get(results, 0), "configuration");
    kiln_status status = name_params(in, NULL, first, json_array_size(results));
    size_t i;
    json_t *result;
    if (status == KILN_OK)
        json_array_foreach(results, i, result)
        {
            status = read_result(in, result, kiln__unit_seconds(unit));
            if (status != KILN_OK)
                break;
        }
    return status;
}

/* ---- the rows of a recorded space, as the points among which a strategy searches ---- */

static size_t slot_of(const recording *r, const uint32_t *point)
{
    size_t bytes = r->points.width * sizeof *point, slot = (size_t)kiln__hash(point, bytes).low & (r->table_size - 1);
    while (r->table[slot] && memcmp(r->coords + (r->table[slot] - 1) * r->points.width, point, bytes) != 0)
        slot = (slot + 1) & (r->table_size - 1);
    return slot;
}

static kiln_status row_at(void *user, uint64_t number_of_row, uint32_t *point, kiln_error **error)
{
    (void)error;
    const recording *r = user;
    memcpy(point, r->coords + number_of_row * r->points.width, r->points.width * sizeof *point);
    return KILN_OK;
}

static kiln_status row_holds(void *user, const uint32_t *point, bool *holds, kiln_error **error)
{
    (void)error;
    const recording *r = user;
    *holds = r->table[slot_of(r, point)] != 0;
    return KILN_OK;
}

/* Makes the points of the recorded space, and a hash table that finds the row of a point. If a configuration has
 * several rows, keeps only its first row. */
static kiln_status make_points(reading *in)
{
    recording *r = in->r;
    size_t width = r->param_count + 1, kept = 0;
    for (r->table_size = 64; r->table_size < 2 * r->row_count;)
        r->table_size *= 2;
    r->table = kiln__arena_alloc(&r->arena, r->table_size * sizeof *r->table);
    kiln__part *part = kiln__arena_alloc(&r->arena, sizeof *part);
    kiln__part_axis *axes = kiln__arena_alloc(&r->arena, r->param_count * sizeof *axes);
    if (r->arena.failed)
        return kiln__fail_memory(in->error);
    for (size_t i = 0; i < r->param_count; i++)
        axes[i] = (kiln__part_axis){.values = (uint32_t)r->params[i].count,
                                    .ordered = r->params[i].values[0].kind != KILN_TEXT,
                                    .powers = kiln__find_powers(&r->arena, r->params[i].values, r->params[i].count)};
    if (r->arena.failed)
        return kiln__fail_memory(in->error);
    *part = (kiln__part){r->param_count, axes};
    r->points = (kiln__points){
        .mem = r->mem, .part_count = 1, .width = width, .parts = part, .at = row_at, .holds = row_holds, .user = r};
    for (size_t n = 0; n < r->row_count; n++) {
        size_t slot = slot_of(r, r->coords + n * width);
        if (r->table[slot]) {
            r->failed -= r->rows[n].failure != NULL;
            continue;
        }
        memmove(r->coords + kept * width, r->coords + n * width, width * sizeof *r->coords);
        r->rows[kept] = r->rows[n];
        r->rows[kept].positions = r->coords + kept * width + 1;
        r->table[slot] = (uint32_t)++kept;
    }
    r->row_count = kept;
    r->points.count = kept;
    return KILN_OK;
}

const kiln__recording_row *kiln__recording_find_row(const recording *r, const uint32_t *point)
{
    return &r->rows[r->table[slot_of(r, point)] - 1];
}

/* ---- functions that other files call ---- */

static kiln_status read_json(reading *in)
{
    json_t *cache = json_object_get(in->root, "cache"), *results = json_object_get(in->root, "results");
    kiln_status status = json_is_object(cache) ? read_cache(in, cache) : read_results(in, results);
    if (status == KILN_OK)
        status = sort_values(in);
    if (status == KILN_OK)
        status = make_points(in);
    if (status == KILN_OK && !kiln__baseline_make(in->r))
        status = kiln__fail_memory(in->error);
    return status;
}

/* Reads a file in either format, sorts the values of each tuning parameter, removes duplicate rows, and computes the
 * result of random search (the baseline). If a step fails, frees everything and leaves *made unchanged. */
kiln_status kiln__recording_parse(const kiln_allocator *mem, const char *name, const void *data, size_t length,
                                  recording **made, kiln_error **error)
{
    recording *r = kiln__calloc(mem, 1, sizeof *r);
    if (!r)
        return kiln__fail_memory(error);
    r->mem = mem;
    r->arena.mem = mem;
    r->kernel = r->device = "";
    r->path = kiln__arena_strdup(&r->arena, name);
    reading in = {r, name, NULL, 0, error};
    kiln__document document = {0};
    kiln_status status = r->path ? kiln__document_read(mem, name, data, length, &document, error)
                                 : kiln__fail_memory(error);
    in.root = document.root;
    in.text_length = document.text_length;
    r->cut_off = document.cut_off;
    if (status == KILN_OK)
        status = read_json(&in);
    kiln__document_free(&document);
    if (status != KILN_OK) {
        kiln_recording_free(r);
        return status;
    }
    r->info = (kiln_recording_info){.path = r->path,
                                    .format = r->format,
                                    .kernel = r->kernel,
                                    .device = r->device,
                                    .cut_off = r->cut_off,
                                    .params = r->param_count,
                                    .configurations = r->row_count,
                                    .failed = r->failed,
                                    .optimum = r->baseline.optimum,
                                    .median = r->baseline.median,
                                    .worst = r->baseline.worst,
                                    .mean_cost = r->baseline.mean_cost,
                                    .budget = r->baseline.budget,
                                    .draws = r->baseline.draws};
    *made = r;
    return KILN_OK;
}

void kiln_recording_free(recording *r)
{
    if (!r)
        return;
    kiln__arena_free(&r->arena);
    kiln__free(r->mem, r);
}
