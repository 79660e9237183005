/* t4.c - writes and reads samples as recorded spaces in the form of T4 results, which can be converted to Kernel
 * Tuner's file.
 *
 * A result has the fields that T4 has for a sample. Its complete row is under "kiln", from which an import restores the
 * row exactly. A result without "kiln" comes from another program. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chars.h"
#include "expr.h"
#include "document.h"
#include "store_internal.h"

/* X(status, the invalidity in T4, the word of Kernel Tuner). If several rows of this table have the same invalidity, an
 * import takes the status of the first of these rows. If a status has no row, an export writes it like the status of
 * the last row. */
#define ENDS(X)                                                                                                        \
    X(ERROR_COMPILE, "compile", "CompilationFailedConfig")                                                             \
    X(ERROR_TIMEOUT, "timeout", "RuntimeFailedConfig")                                                                 \
    X(ERROR_WRONG_ANSWER, "correctness", "RuntimeFailedConfig")                                                        \
    X(ERROR_CONSTRAINT, "constraints", "InvalidConfig")                                                                \
    X(ERROR_DEVICE, "runtime", "RuntimeFailedConfig")
static const struct {
    kiln_status status;
    const char *invalidity, *word;
} ends[] = {
#define X(status, invalidity, word) {KILN_##status, invalidity, word},
    ENDS(X)
#undef X
};

/* ---- JSON values with a failure that stays set ---- */

/* If a call fails, `failed` becomes true and stays true. So the caller has to check it only once, at the end. */
typedef struct writer {
    const kiln_allocator *mem;
    bool failed;
} writer;

static void set_member(writer *w, json_t *object, const char *key, json_t *value)
{
    if (!object)
        json_decref(value);
    w->failed |= !value || !object || json_object_set_new(object, key, value) != 0;
}

static void append_item(writer *w, json_t *array, json_t *value)
{
    if (!array)
        json_decref(value);
    w->failed |= !value || !array || json_array_append_new(array, value) != 0;
}

/* Makes a JSON string. Replaces bytes that are not UTF-8, because JSON allows only UTF-8. */
static json_t *make_string(writer *w, const char *text)
{
    kiln__text clean = {.mem = w->mem};
    for (const char *at = text; *at;) {
        const char *from = at;
        if (kiln__utf8_next(&at) == 0xfffd)
            kiln__text_puts(&clean, "\xef\xbf\xbd");
        else
            kiln__text_add(&clean, from, (size_t)(at - from));
    }
    json_t *made = clean.failed ? NULL : json_string_nocheck(kiln__text_get(&clean));
    kiln__text_free(&clean);
    w->failed |= !made;
    return made;
}

/* Makes a JSON number. Writes NaN and infinities as strings, because JSON has no such numbers. */
static json_t *make_real(writer *w, double value)
{
    char room[40];
    if (isfinite(value))
        return json_real(value);
    kiln__print_double(room, sizeof room, value);
    return make_string(w, room);
}

static json_t *make_setting(writer *w, kiln_value value)
{
    switch (value.kind) {
    case KILN_INT: return json_integer(value.as.i);
    case KILN_FLOAT: return make_real(w, value.as.f);
    case KILN_BOOL: return json_boolean(value.as.i);
    case KILN_TEXT: break;
    }
    return make_string(w, value.as.text);
}

/* ---- writing a row as a result ---- */

/* Converts seconds to milliseconds. An import multiplies milliseconds by 1e-3. After rounding, several numbers of
 * milliseconds give the same `seconds`. The function returns the number of milliseconds with the fewest digits. So a
 * time of up to 15 digits is exported as it was imported. */
static double convert_to_milliseconds(double seconds)
{
    double plain = seconds * 1e3;
    for (int digits = 15; isfinite(plain) && digits <= 17; digits++) {
        char room[40];
        kiln__format(room, sizeof room, "%.*g", digits, plain);
        double value = kiln__parse_double(room, NULL);
        if (value * 1e-3 == seconds)
            return value;
    }
    return plain;
}

/* Makes an object that has all columns of a row. The object has the times of the repetitions only if T4's runtimes,
 * which are in milliseconds, do not give these times exactly. */
static json_t *make_row(writer *w, const kiln__store_row *row)
{
    json_t *object = json_object(), *times;
    bool exact = row->status == KILN_OK;
#define TEXT(name) set_member(w, object, #name, make_string(w, row->name));
#define WHOLE(name) set_member(w, object, #name, json_integer(row->name));
#define REAL(name) set_member(w, object, #name, make_real(w, row->name));
    KILN__STORE_COLUMNS(KILN__COLUMN)
#undef TEXT
#undef WHOLE
#undef REAL
    for (size_t i = 0; i < row->time_count; i++)
        exact = exact && isfinite(row->times[i] * 1e3) && convert_to_milliseconds(row->times[i]) / 1e3 == row->times[i];
    if (!exact && row->time_count) {
        times = json_array();
        for (size_t i = 0; i < row->time_count; i++)
            append_item(w, times, make_real(w, row->times[i]));
        set_member(w, object, "times", times);
    }
    return object;
}

static json_t *make_measurement(writer *w, const char *name, json_t *value, const char *unit)
{
    json_t *object = json_object();
    set_member(w, object, "name", make_string(w, name));
    set_member(w, object, "value", value);
    set_member(w, object, "unit", make_string(w, unit));
    return object;
}

static json_t *make_timestamp(writer *w, int64_t made)
{
    char day[40], text[64];
    if (!kiln__format_time(day, sizeof day, "%Y-%m-%d %H:%M:%S", made))
        return make_string(w, "");
    snprintf(text, sizeof text, "%s.%06d+00:00", day, (int)(made % 1000000));
    return make_string(w, text);
}

static double choose_time(const kiln__store_row *row)
{
    return row->measured || row->estimated ? row->seconds : row->host_seconds;
}

static json_t *make_measurements(writer *w, const kiln__store_row *row, const char *word)
{
    json_t *list = json_array();
    double seconds = choose_time(row);
    append_item(w, list,
                make_measurement(w, "time",
                                 word ? make_string(w, word) : make_real(w, convert_to_milliseconds(seconds)),
                                 "milliseconds"));
    if (!word && row->flops > 0)
        append_item(w, list, make_measurement(w, "GFLOP/s", make_real(w, row->flops / seconds / 1e9), "GFLOP/s"));
    if (!word && row->bytes > 0)
        append_item(w, list, make_measurement(w, "GB/s", make_real(w, row->bytes / seconds / 1e9), "GB/s"));
    double measured = 0;
    for (size_t i = 0; i < row->time_count; i++)
        measured += convert_to_milliseconds(row->times[i]);
    /* Kernel Tuner's simulation adds up the measuring times, and needs a measuring time in each entry */
    if (isfinite(measured))
        append_item(w, list, make_measurement(w, "benchmark_time", make_real(w, measured), "milliseconds"));
    if (row->energy_joules > 0)
        append_item(w, list, make_measurement(w, "energy", make_real(w, row->energy_joules), "joules"));
    return list;
}

/* Makes one result. `compared` is true if the variant is only for comparison and the file also has contenders. Such a
 * variant does not do the spec's work. So it cannot be the best variant, as in a sweep. The times of its row stay in
 * the file. */
static json_t *make_result(writer *w, const kiln__store_row *row, kiln__settings params, bool compared)
{
    json_t *result = json_object(), *configuration = json_object(), *times = json_object(), *runs = json_array();
    json_t *objectives = json_array();
    const char *invalidity = "correct", *word = NULL;
    if (row->status != KILN_OK) {
        size_t i = 0;
        while (i + 1 < KILN__COUNT(ends) && (int64_t)ends[i].status != row->status)
            i++;
        invalidity = ends[i].invalidity;
        word = ends[i].word;
    } else if (!(choose_time(row) > 0)) {
        invalidity = "runtime"; /* the configuration ran, but it has no time */
        word = "RuntimeFailedConfig";
    } else if (compared) {
        invalidity = "correctness";
        word = "RuntimeFailedConfig";
    }
    set_member(w, configuration, "variant", make_string(w, row->variant));
    for (size_t i = 0; i < params.count; i++) {
        json_t *name = make_string(w, params.items[i].name); /* a copy of the name, which is also a key of the JSON */
        set_member(w, configuration, name ? json_string_value(name) : "", make_setting(w, params.items[i].value));
        json_decref(name);
    }
    for (size_t i = 0; i < row->time_count; i++)
        append_item(w, runs, make_real(w, convert_to_milliseconds(row->times[i])));
    set_member(w, times, "compilation_time", make_real(w, (double)row->compile_ns / 1e6));
    set_member(w, times, "framework", json_integer(0));
    set_member(w, times, "search_algorithm", json_integer(0));
    set_member(w, times, "validation", json_integer(0));
    set_member(w, times, "runtimes", runs);
    append_item(w, objectives, make_string(w, "time"));
    set_member(w, result, "timestamp", make_timestamp(w, row->made));
    set_member(w, result, "configuration", configuration);
    set_member(w, result, "times", times);
    set_member(w, result, "invalidity", make_string(w, invalidity));
    set_member(w, result, "correctness", json_integer(row->status == KILN_OK && !compared));
    set_member(w, result, "measurements", make_measurements(w, row, word));
    set_member(w, result, "objectives", objectives);
    set_member(w, result, "kiln", make_row(w, row));
    return result;
}

/* ---- writing a document of results ---- */

/* Gives every configuration all params, because a recorded space requires this. If a variant does not have a param, the
 * value is "". Refuses samples with too many different params, because the file would grow with the square of the
 * number of samples. */
static kiln_status fill_configurations(kiln_store *store, writer *w, json_t *results, kiln_error **error)
{
    enum { TIMES_LARGER = 16, LEAST = 1 << 20 };
    json_t *all = json_object(), *result, *value;
    const char *name;
    size_t i, own_params = 0;
    json_array_foreach(results, i, result) if (all)
    {
        own_params += json_object_size(json_object_get(result, "configuration"));
        w->failed |= json_object_update_missing(all, json_object_get(result, "configuration")) != 0;
    }
    if (all && json_object_size(all) * json_array_size(results) > TIMES_LARGER * own_params + LEAST) {
        const size_t params = json_object_size(all);
        json_decref(all);
        return kiln__fail(store->mem, error, KILN_ERROR_ARGUMENT,
                          "a recorded space gives each configuration all params, but these samples have %zu different "
                          "ones: select one variant, or export CSV",
                          params);
    }
    json_array_foreach(results, i, result)
    {
        json_t *configuration = json_object_get(result, "configuration"), *whole = json_object();
        json_object_foreach(all, name, value)
        {
            json_t *own = json_object_get(configuration, name);
            set_member(w, whole, name, own ? json_incref(own) : make_string(w, ""));
        }
        set_member(w, result, "configuration", whole);
    }
    w->failed |= !all;
    json_decref(all);
    return KILN_OK;
}

static json_t *make_root(writer *w, const char *spec, const char *device, kiln__settings sizes, json_t *results)
{
    json_t *root = json_object(), *metadata = json_object(), *header = json_object(), *problem = json_array();
    for (size_t i = 0; i < sizes.count; i++)
        append_item(w, problem, make_setting(w, sizes.items[i].value));
    set_member(w, header, "device_name", make_string(w, device));
    set_member(w, header, "kernel_name", make_string(w, spec));
    set_member(w, header, "problem_size", problem);
    w->failed |= !header || !kiln__document_describe(results, header);
    set_member(w, header, "objective", make_string(w, "time"));
    set_member(w, metadata, "timeunit", make_string(w, "milliseconds"));
    set_member(w, metadata, "kernel_tuner", header);
    set_member(w, root, "schema_version", make_string(w, "1.0.0"));
    set_member(w, root, "metadata", metadata);
    set_member(w, root, "results", json_incref(results));
    return root;
}

typedef struct whose { /* the problem that all rows of a file have in common */
    const char *spec, *device, *sizes;
} whose;

/* Finds out whether a row has a variant that is a contender. If no row has a contender, all variants count as
 * contenders, as in a sweep. */
static kiln_status find_contender(kiln_store *store, const kiln_store_filter *filter, bool *found, kiln_error **error)
{
    sqlite3_stmt *statement = NULL;
    kiln_status status = kiln__store_query(store, "SELECT min(comparison) = 0 FROM sample", filter, "", &statement,
                                           error);
    if (status != KILN_OK)
        return status;
    int code = sqlite3_step(statement);
    *found = code == SQLITE_ROW && sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    return code == SQLITE_ROW ? KILN_OK : kiln__store_fail(store, code, "reading it", error);
}

/* Converts all rows of a statement to results. All rows must have the same problem as the first row. */
static kiln_status read_rows(kiln_store *store, sqlite3_stmt *statement, writer *w, kiln__arena *arena, whose *of,
                             bool contended, json_t *results, uint64_t *count, kiln_error **error)
{
    int code;
    while ((code = kiln__scan_step(store, statement)) == SQLITE_ROW) {
        kiln__store_row row;
        kiln__arena scratch = {.mem = store->mem};
        kiln__settings params = {0};
        const char *wrong = kiln__store_read_row(statement, &row);
        if (wrong) {
            kiln__store_leave_out(store, &row, wrong);
            continue;
        }
        if (!of->spec)
            *of = (whose){kiln__arena_strdup(arena, row.spec), kiln__arena_strdup(arena, row.device),
                          kiln__arena_strdup(arena, row.sizes)};
        bool fits = !arena->failed && strcmp(of->spec, row.spec) == 0 && strcmp(of->device, row.device) == 0 &&
                    (strcmp(of->sizes, row.sizes) == 0 || !*row.sizes);
        bool read = kiln__settings_read(&scratch, row.params, &params);
        if (fits && read)
            append_item(w, results, make_result(w, &row, params, contended && row.comparison));
        bool no_memory = scratch.failed || arena->failed || w->failed;
        kiln__arena_free(&scratch);
        if (no_memory)
            return kiln__fail_memory(error);
        if (!read) {
            kiln__store_leave_out(store, &row, "params");
            continue;
        }
        if (!fits)
            return kiln__fail(
                store->mem, error, KILN_ERROR_ARGUMENT,
                "a recorded space must belong to one spec, one set of sizes and one device, but these samples belong "
                "to %s, %s, %s and to %s, %s, %s: select one of them, or export CSV",
                of->spec, of->sizes, of->device, row.spec, row.sizes, row.device);
        ++*count;
    }
    return code == SQLITE_DONE ? KILN_OK : kiln__store_fail(store, code, "reading it", error);
}

static kiln_status save_document(kiln_store *store, const char *path, kiln_format format, json_t *root,
                                 kiln_error **error)
{
    kiln__document document = {.root = root, .format = KILN_FORMAT_T4}, converted = {0};
    kiln_status status = kiln__document_convert(store->mem, path, &document, format, &converted, error);
    if (status == KILN_OK)
        status = kiln__document_save(store->mem, path, &converted, error);
    kiln__document_free(&converted);
    return status;
}

/* Collects the results under the store's lock. Then builds the document and saves it. */
kiln_status kiln__json_export(kiln_store *store, const kiln_store_filter *filter, const char *path, kiln_format format,
                              uint64_t *written, kiln_error **error)
{
    writer w = {.mem = store->mem};
    kiln__arena arena = {.mem = store->mem};
    json_t *results = json_array(), *root = NULL;
    whose of = {0};
    kiln__settings sizes = {0};
    sqlite3_stmt *statement = NULL;
    if (!results)
        return kiln__fail_memory(error);
    pthread_mutex_lock(&store->lock);
    /* A sample that failed early may have no sizes, so it must not be the first result. */
    bool contended = false;
    kiln_status status = find_contender(store, filter, &contended, error);
    if (status == KILN_OK)
        status = kiln__store_query(store, "SELECT " KILN__STORE_LIST " FROM sample", filter, "ORDER BY sizes = '', id",
                                   &statement, error);
    if (status == KILN_OK)
        status = read_rows(store, statement, &w, &arena, &of, contended, results, written, error);
    sqlite3_finalize(statement);
    pthread_mutex_unlock(&store->lock);
    if (status == KILN_OK && !of.spec)
        status = kiln__fail(store->mem, error, KILN_ERROR_NOT_FOUND, "%s has no such samples", store->path);
    if (status == KILN_OK) {
        w.failed |= !kiln__settings_read(&arena, of.sizes, &sizes) && arena.failed;
        status = fill_configurations(store, &w, results, error);
    }
    if (status == KILN_OK) {
        root = make_root(&w, of.spec, of.device, sizes, results);
        status = w.failed ? kiln__fail_memory(error) : save_document(store, path, format, root, error);
    }
    json_decref(root);
    json_decref(results);
    kiln__arena_free(&arena);
    return status;
}

/* ---- reading a result as a row ---- */

/* The state of an import from JSON. */
typedef struct reader {
    kiln_store *store;
    const char *path;
    size_t number; /* the number of the result; the first result has number 0 */
    kiln_error **error;
    kiln__arena arena;    /* the memory for the texts of one row */
    const json_t *header; /* the header of the file, with the names of kernel and device and with sizes; may be NULL */
    double unit;          /* seconds */
} reader;

static kiln_status fail_result(reader *r, const char *what, const char *name)
{
    return kiln__fail(r->store->mem, r->error, KILN_ERROR_IO, "%s: result %zu: %s%s%s%s; nothing was imported", r->path,
                      r->number + 1, what, name ? " '" : "", name ? name : "", name ? "'" : "");
}

/* Reads a number, or a string that stands for a number that JSON does not have. */
static bool read_real(const json_t *value, double *number)
{
    char *end = NULL;
    if (json_is_number(value)) {
        *number = json_number_value(value);
        return true;
    }
    if (json_is_string(value))
        *number = kiln__parse_double(json_string_value(value), &end);
    return end && end != json_string_value(value) && !*end;
}

static bool read_times(reader *r, const json_t *list, double unit, kiln__store_row *row)
{
    double *times = kiln__arena_alloc(&r->arena, (json_array_size(list) + 1) * sizeof *times);
    const json_t *value;
    size_t i;
    row->times = times;
    row->time_count = 0;
    if (!times)
        return false;
    json_array_foreach(list, i, value)
    {
        double time;
        if (!read_real(value, &time))
            return false;
        times[row->time_count++] = unit == 1e-3 ? time / 1e3 : time * unit;
    }
    return true;
}

/* Reads a row that this library has written. If the file does not have a column, the column belongs to a later version,
 * and gets an empty value. */
static kiln_status read_own(reader *r, const json_t *result, const json_t *own, kiln__store_row *row)
{
    const json_t *value, *times = json_object_get(own, "times");
#define TEXT(name)                                                                                                     \
    row->name = "";                                                                                                    \
    if ((value = json_object_get(own, #name)) != NULL && !(row->name = json_string_value(value)))                      \
        return fail_result(r, "this is not a text:", #name);
#define WHOLE(name)                                                                                                    \
    if ((value = json_object_get(own, #name)) != NULL && !json_is_integer(value))                                      \
        return fail_result(r, "this is not an integer:", #name);                                                       \
    row->name = json_integer_value(value);
#define REAL(name)                                                                                                     \
    if ((value = json_object_get(own, #name)) != NULL && !read_real(value, &row->name))                                \
        return fail_result(r, "this is not a number:", #name);
    KILN__STORE_COLUMNS(KILN__COLUMN)
#undef TEXT
#undef WHOLE
#undef REAL
    bool read = times ? read_times(r, times, 1, row)
                      : read_times(r, json_object_get(json_object_get(result, "times"), "runtimes"), 1e-3, row);
    return read || r->arena.failed ? KILN_OK : fail_result(r, "its times are not numbers", NULL);
}

/* ---- reading a result of another program as a row ---- */

static bool read_setting(kiln__arena *arena, kiln_setting *setting, const char *name, const json_t *value)
{
    setting->name = kiln__arena_strdup(arena, name);
    if (json_is_integer(value))
        setting->value = (kiln_value){KILN_INT, {.i = json_integer_value(value)}};
    else if (json_is_real(value))
        setting->value = (kiln_value){KILN_FLOAT, {.f = json_real_value(value)}};
    else if (json_is_boolean(value))
        setting->value = (kiln_value){KILN_BOOL, {.i = json_is_true(value)}};
    else if (json_is_string(value))
        setting->value = (kiln_value){KILN_TEXT, {.text = kiln__arena_strdup(arena, json_string_value(value))}};
    else
        return false;
    return *name && !strpbrk(name, "= \"");
}

static const char *print_settings(reader *r, kiln__settings settings)
{
    kiln__text text = {.mem = r->store->mem};
    kiln__settings_print(&text, settings);
    const char *kept = text.failed ? NULL : kiln__arena_strdup(&r->arena, kiln__text_get(&text));
    r->arena.failed |= !kept;
    kiln__text_free(&text);
    return kept ? kept : "";
}

static kiln_status read_configuration(reader *r, const json_t *configuration, kiln__store_row *row)
{
    kiln_setting *params = kiln__arena_alloc(&r->arena, (json_object_size(configuration) + 1) * sizeof *params);
    const char *name;
    json_t *value;
    size_t count = 0;
    json_object_foreach(
        (json_t *)(uintptr_t)configuration, name,
        value) if (params && !read_setting(&r->arena, &params[count++], name,
                                           value)) return fail_result(r, "a sample cannot have this param:", name);
    row->params = print_settings(r, (kiln__settings){params ? count : 0, params});
    return KILN_OK;
}

/* Reads the sizes. The sizes get the names that T1 problem files use: ProblemSize[0], ... */
static const char *read_sizes(reader *r)
{
    const json_t *problem = json_object_get(r->header, "problem_size"), *value;
    size_t count = json_is_array(problem) ? json_array_size(problem) : json_is_number(problem), i;
    kiln_setting *sizes = kiln__arena_alloc(&r->arena, (count + 1) * sizeof *sizes);
    if (!sizes)
        return "";
    for (i = 0; i < count; i++) {
        char name[40];
        snprintf(name, sizeof name, "ProblemSize[%zu]", i);
        value = json_is_array(problem) ? json_array_get(problem, i) : problem;
        if (!json_is_number(value) || !read_setting(&r->arena, &sizes[i], name, value))
            return "";
    }
    return print_settings(r, (kiln__settings){count, sizes});
}

/* Reads a text such as "2023-12-22 09:53:48.691683+00:00". The part after the seconds is optional. Returns 0 if the
 * text has no time. */
static int64_t read_timestamp(const char *text)
{
    struct tm parts = {0};
    char *end = text ? kiln__parse_time(text, "%Y-%m-%d", &parts) : NULL;
    end = end && (*end == ' ' || *end == 'T') ? kiln__parse_time(end + 1, "%H:%M:%S", &parts) : NULL;
    time_t seconds = end ? timegm(&parts) : 0;
    int64_t made = seconds > 0 && seconds < 253402300800 ? (int64_t)seconds * 1000000 : 0, worth = 100000;
    for (end = made && *end == '.' ? end + 1 : NULL; end && kiln__is_digit(*end) && worth; end++, worth /= 10)
        made += (*end - '0') * worth;
    return made;
}

/* Returns the part of a path that names a problem, for example "convolution" for "dir/convolution.A4000.json.gz". */
static const char *name_problem(reader *r)
{
    const char *name = strrchr(r->path, '/');
    name = name ? name + 1 : r->path;
    char *kept = kiln__arena_strndup(&r->arena, name, strcspn(name, "."));
    return kept && *kept ? kept : "unknown";
}

static const char *read_text(const json_t *object, const char *key, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text && *text ? text : otherwise;
}

/* Reads the outcome of a result that another program wrote: the time, or the kind of failure, and the time of
 * compiling. The unit of a measurement takes precedence over the unit of the file. */
static kiln_status read_outcome(reader *r, const json_t *result, kiln__store_row *row)
{
    const json_t *item, *time = NULL, *times = json_object_get(result, "times"), *spent;
    const char *invalidity = read_text(result, "invalidity", "correct"), *failure = "";
    double unit = r->unit, seconds = 0;
    size_t i;
    json_array_foreach(json_object_get(result, "measurements"), i,
                       item) if (!time && strcmp(read_text(item, "name", ""), "time") == 0)
    {
        double own = kiln__unit_seconds(read_text(item, "unit", ""));
        time = json_object_get(item, "value");
        unit = own > 0 ? own : unit;
    }
    json_array_foreach(json_object_get(result, "measurements"), i,
                       item) if (strcmp(read_text(item, "name", ""), "__error__") == 0)
        failure = read_text(item, "value", "");
    row->message = json_is_string(time) ? json_string_value(time) : failure;
    if (json_is_null(time) && strcmp(invalidity, "correct") == 0)
        invalidity = "runtime"; /* the time in the file was NaN, which the reader has replaced by null */
    if (strcmp(invalidity, "correct") != 0) {
        for (i = 0; i + 1 < KILN__COUNT(ends) && strcmp(ends[i].invalidity, invalidity) != 0;)
            i++;
        row->status = ends[i].status;
    } else {
        if (json_is_number(time))
            seconds = json_number_value(time) * unit;
        if (!(seconds > 0) || !isfinite(seconds))
            return fail_result(r, "it has neither a time nor a failure", NULL);
        row->seconds = row->seconds_low = row->seconds_high = seconds;
        row->measured = 1;
        if (!read_times(r, json_object_get(times, "runtimes"), r->unit, row) && !r->arena.failed)
            return fail_result(r, "its times are not numbers", NULL);
        row->repetitions = (int64_t)row->time_count;
    }
    spent = json_object_get(times, "compilation_time");
    spent = spent ? spent : json_object_get(times, "compilation");
    double ns = json_is_number(spent) ? json_number_value(spent) * r->unit * 1e9 : 0;
    row->compile_ns = ns > 0 && ns < 1e18 ? (int64_t)ns : 0;
    return KILN_OK;
}

/* Makes a row from a result of another program. The key of the row is a hash of its names and values, so that a second
 * import adds nothing. */
static kiln_status read_foreign(reader *r, const json_t *result, kiln__store_row *row)
{
    const json_t *configuration = json_object_get(result, "configuration");
    char *key = kiln__arena_alloc(&r->arena, 33);
    if (!json_is_object(configuration))
        return fail_result(r, "it has no configuration", NULL);
    *row = (kiln__store_row){.variant = "default",
                             .inputs = "",
                             .run = "imported",
                             .device_id = "",
                             .uuid = "",
                             .cc = "",
                             .driver = "",
                             .nvrtc = "",
                             .kiln = "",
                             .source_key = "",
                             .message = "",
                             .features = "",
                             .input_functions = "",
                             .metrics = "",
                             .host = "",
                             .command = "",
                             .path = ""};
    row->spec = read_text(r->header, "kernel_name", NULL);
    row->spec = row->spec ? row->spec : name_problem(r);
    row->device = read_text(r->header, "device_name", "");
    row->sizes = read_sizes(r);
    row->made = read_timestamp(json_string_value(json_object_get(result, "timestamp")));
    kiln_status status = read_configuration(r, configuration, row);
    if (status == KILN_OK)
        status = read_outcome(r, result, row);
    if (status != KILN_OK || r->arena.failed)
        return status;
    kiln__text all = {.mem = r->store->mem};
    kiln__text_printf(&all, "kiln imported 1\n%s\n%s\n%s\n%s", row->spec, row->device, row->sizes, row->params);
    kiln__hash128 hash = kiln__hash(kiln__text_get(&all), all.length);
    snprintf(key, 33, "%016llx%016llx", (unsigned long long)hash.high, (unsigned long long)hash.low);
    row->key = key;
    r->arena.failed |= all.failed;
    kiln__text_free(&all);
    return KILN_OK;
}

/* ---- reading a document of results ---- */

static kiln_status read_result(reader *r, const json_t *result, bool *taken)
{
    const json_t *own = json_object_get(result, "kiln");
    kiln__store_row row = {0};
    kiln_status status = json_is_object(own) ? read_own(r, result, own, &row) : read_foreign(r, result, &row);
    const char *why = status == KILN_OK && !r->arena.failed ? kiln__store_row_unfit(&r->arena, &row) : NULL;
    if (status == KILN_OK && r->arena.failed)
        return kiln__fail_memory(r->error);
    if (why)
        return fail_result(r, why, row.key);
    int code = status == KILN_OK ? kiln__store_insert(r->store, &row, taken) : SQLITE_DONE;
    return code == SQLITE_DONE ? status : kiln__store_fail(r->store, code, "importing", r->error);
}

static kiln_status read_results(reader *r, const json_t *root, uint64_t *read, uint64_t *taken)
{
    const json_t *metadata = json_object_get(root, "metadata"), *result;
    const char *unit = read_text(metadata, "timeunit", "milliseconds");
    kiln_status status = KILN_OK;
    r->header = json_object_get(metadata, "kernel_tuner");
    r->unit = kiln__unit_seconds(unit);
    if (!(r->unit > 0))
        return kiln__fail(r->store->mem, r->error, KILN_ERROR_IO,
                          "%s: metadata: '%s' is not a unit of time; nothing was imported", r->path, unit);
    json_array_foreach(json_object_get(root, "results"), r->number, result)
    {
        bool mine = false;
        status = kiln__store_import_on(r->store, r->path, r->error);
        if (status == KILN_OK)
            status = read_result(r, result, &mine);
        ++*read;
        *taken += mine;
        kiln__arena_free(&r->arena);
        r->arena = (kiln__arena){.mem = r->store->mem};
        if (status != KILN_OK)
            break;
    }
    return status;
}

kiln_status kiln__json_import(kiln_store *store, const char *path, const char *data, size_t length, uint64_t *read,
                              uint64_t *taken, kiln_error **error)
{
    reader r = {.store = store, .path = path, .error = error, .arena.mem = store->mem};
    kiln__document document = {0}, t4 = {0};
    kiln_status status = kiln__document_read(store->mem, path, data, length, &document, error);
    if (status == KILN_OK)
        status = kiln__document_convert(store->mem, path, &document, KILN_FORMAT_T4, &t4, error);
    if (status == KILN_OK)
        status = read_results(&r, t4.root, read, taken);
    kiln__document_free(&t4);
    kiln__document_free(&document);
    return status;
}
