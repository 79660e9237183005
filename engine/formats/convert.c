/* convert.c - converts files in the T4 results format to Kernel Tuner's cache format and back, without loss. T4 is a
 * JSON format for results of auto-tuning: it has a list `results`. Kernel Tuner's cache file is another JSON format: it
 * has an object `cache`, with one entry for each configuration.
 *
 * The converter converts a configuration by the tables below, and then converts the result back. If the second result
 * differs from the original, the converted file also contains the original. An entry of a cache file has it under the
 * key "t4", and a result of a T4 file under the key "kernel_tuner". The converter treats the header of the file in the
 * same way. A conversion that finds such a key restores the original from it. */
#include <math.h>
#include <string.h>

#include "expr.h"
#include "document.h"

typedef struct converter {
    const kiln_allocator *mem;
    const char *name;
    kiln_error **error;
    bool failed;   /* memory ran out; the caller checks this once at the end */
    json_t *keys;  /* the names of the tuning parameters, in order; a borrowed reference into the header */
    json_t *names; /* an object with the same names as its members, for fast look-ups */
    const char *objective;
    const char *compilation; /* the field in which T4 results have the compile time */
    const char *unit;        /* the unit of the measurement "time" in T4 results */
    double to_ms;            /* the number of milliseconds in the T4 file's unit of time; 0 if the unit is unknown */
} converter;

/* X(a field with a time in an entry of a cache file, the field with the same time in a T4 result) */
#define TIMES(X)                                                                                                       \
    X("compile_time", "compilation_time")                                                                              \
    X("framework_time", "framework")                                                                                   \
    X("strategy_time", "search_algorithm")                                                                             \
    X("verification_time", "validation")                                                                               \
    X("times", "runtimes")

/* The kinds of failures. X(Kernel Tuner's text for a failure, the text in the field `invalidity` of a T4 result). If
 * several rows have the same T4 text, it is converted to Kernel Tuner's text of the first of these rows. */
#define FAILURES(X)                                                                                                    \
    X("CompilationFailedConfig", "compile")                                                                            \
    X("RuntimeFailedConfig", "runtime")                                                                                \
    X("InvalidConfig", "constraints")

/* ---- JSON values; a failure sets converter.failed ---- */

static json_t *check_made(converter *c, json_t *value)
{
    c->failed |= !value;
    return value;
}

/* Sets a member of an object. Takes ownership of `value`, also if the function fails. */
static void set_field(converter *c, json_t *object, const char *key, json_t *value)
{
    if (!object)
        json_decref(value);
    c->failed |= !value || !object || json_object_set_new_nocheck(object, key, value) != 0;
}

static void append(converter *c, json_t *array, json_t *value)
{
    if (!array)
        json_decref(value);
    c->failed |= !value || !array || json_array_append_new(array, value) != 0;
}

static json_t *string(converter *c, const char *text) { return check_made(c, json_string_nocheck(text)); }

static const char *text_in(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* ---- the keys of entries in a cache file ---- */

/* Prints a value in the same form as Python's str(). */
static void put_value(kiln__text *out, const json_t *value)
{
    char room[40];
    if (json_is_string(value)) {
        kiln__text_puts(out, json_string_value(value));
    } else if (json_is_integer(value)) {
        kiln__text_printf(out, "%lld", (long long)json_integer_value(value));
    } else if (json_is_real(value)) {
        kiln__print_double(room, sizeof room, json_real_value(value));
        kiln__text_puts(out, room);
    } else if (json_is_boolean(value)) {
        kiln__text_puts(out, json_is_true(value) ? "True" : "False");
    }
}

/* Prints the key of a configuration in `cache`, which already has the earlier configurations. The key is the list of
 * the configuration's values. If the cache already has this key, the function appends "#" and the number of the
 * configuration (the first configuration has number 1). It then appends more "#" until the key is new. */
static void put_key(converter *c, const json_t *configuration, const json_t *cache, size_t number, kiln__text *out)
{
    size_t i;
    json_t *key;
    json_array_foreach(c->keys, i, key)
    {
        kiln__text_puts(out, i ? "," : "");
        put_value(out, json_object_get(configuration, json_string_value(key)));
    }
    if (json_object_get(cache, kiln__text_get(out)))
        kiln__text_printf(out, "#%zu", number + 1);
    while (!out->failed && json_object_get(cache, kiln__text_get(out)))
        kiln__text_puts(out, "#");
    c->failed |= out->failed;
}

/* ---- converting an entry of a cache file to a T4 result ---- */

static bool is_param(const converter *c, const char *name) { return json_object_get(c->names, name); }

/* If a field of a cache entry is a time, returns the name of this time in the object `times` of a T4 result. Otherwise
 * returns NULL. */
static const char *time_name(const converter *c, const char *field, const json_t *value)
{
    static const struct {
        const char *entry, *result;
    } names[] = {
#define X(entry, result) {entry, result},
        TIMES(X)
#undef X
    };
    for (size_t i = 0; i < KILN__COUNT(names); i++)
        if (strcmp(names[i].entry, field) == 0 &&
            (strcmp(field, "times") == 0 ? json_is_array(value) : json_is_number(value)))
            return i == 0 ? c->compilation : names[i].result;
    return NULL;
}

static const char *invalidity_of(const json_t *value)
{
    static const struct {
        const char *word, *invalidity;
    } words[] = {
#define X(word, invalidity) {word, invalidity},
        FAILURES(X)
#undef X
    };
    const char *says = json_string_value(value);
    for (size_t i = 0; says && i < KILN__COUNT(words); i++)
        if (strcmp(words[i].word, says) == 0)
            return words[i].invalidity;
    return json_is_number(value) ? "correct" : "runtime";
}

static bool is_schema_name(const char *name)
{
    static const char *const names[] = {"timestamp",   "configuration", "times",      "invalidity",
                                        "correctness", "measurements",  "objectives", "kernel_tuner"};
    for (size_t i = 0; i < KILN__COUNT(names); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static json_t *measurement(converter *c, const char *name, json_t *value)
{
    size_t length = strlen(name);
    bool time = strcmp(name, "time") == 0;
    bool of_time = length > 5 && strcmp(name + length - 5, "_time") == 0;
    json_t *object = check_made(c, json_object());
    set_field(c, object, "name", string(c, name));
    set_field(c, object, "value", json_incref(value));
    set_field(c, object, "unit", string(c, time ? c->unit : of_time ? "milliseconds" : ""));
    return object;
}

static json_t *plain_result(converter *c, json_t *entry)
{
    json_t *result = check_made(c, json_object()), *configuration = check_made(c, json_object()),
           *times = check_made(c, json_object());
    json_t *measurements = check_made(c, json_array()), *objectives = check_made(c, json_array()), *value;
    json_t *score = json_object_get(entry, c->objective);
    /* from version 1.1 on, Kernel Tuner writes the kind of a failure into this field, and not into the time */
    json_t *failure = json_object_get(entry, "__error__");
    const char *field, *time;
    const char *invalidity = invalidity_of(failure ? failure : score ? score : json_object_get(entry, "time"));
    json_object_foreach(entry, field, value)
    {
        if (is_param(c, field))
            set_field(c, configuration, field, json_incref(value));
        else if (strcmp(field, "timestamp") == 0 && json_is_string(value))
            set_field(c, result, field, json_incref(value));
        else if ((time = time_name(c, field, value)) != NULL)
            set_field(c, times, time, json_incref(value));
        else if (json_is_number(value) || json_is_string(value) || json_is_array(value))
            append(c, measurements, measurement(c, field, value));
        else if (!is_schema_name(field))
            set_field(c, result, field, json_incref(value));
    }
    append(c, objectives, string(c, c->objective));
    set_field(c, result, "configuration", configuration);
    set_field(c, result, "times", times);
    set_field(c, result, "invalidity", string(c, invalidity));
    set_field(c, result, "correctness", check_made(c, json_integer(strcmp(invalidity, "correct") == 0)));
    set_field(c, result, "measurements", measurements);
    set_field(c, result, "objectives", objectives);
    return result;
}

/* ---- converting a T4 result to an entry of a cache file ---- */

static json_t *scaled(converter *c, json_t *value, double by)
{
    size_t i;
    json_t *item;
    if (by == 1 || (!json_is_number(value) && !json_is_array(value)))
        return json_incref(value);
    if (json_is_number(value)) {
        double product = json_number_value(value) * by;
        return check_made(c, isfinite(product) ? json_real(product) : json_null());
    }
    json_t *array = check_made(c, json_array());
    json_array_foreach(value, i, item) append(c, array, json_is_number(item) ? scaled(c, item, by) : json_incref(item));
    return array;
}

/* Sets the field "time" of a cache entry. If the configuration failed, the field is the kind of the failure as a text.
 * Otherwise it is the measurement with the name "time", or the first objective if there is no such measurement. */
static void set_time(converter *c, json_t *entry, const json_t *result)
{
    const char *invalidity = text_in(result, "invalidity");
    json_t *objective = json_array_get(json_object_get(result, "objectives"), 0);
    json_t *time = json_object_get(entry, "time");
    if (json_is_string(json_object_get(entry, "__error__")))
        return;
    const char *word = NULL;
#define X(says, kind)                                                                                                  \
    if (!word && invalidity && strcmp(invalidity, kind) == 0)                                                          \
        word = says;
    FAILURES(X)
#undef X
    if (invalidity && strcmp(invalidity, "correct") != 0) {
        if (!json_is_string(time))
            set_field(c, entry, "time", string(c, word ? word : "RuntimeFailedConfig"));
    } else if (!time && json_is_string(objective) && json_object_get(entry, json_string_value(objective))) {
        set_field(c, entry, "time", json_incref(json_object_get(entry, json_string_value(objective))));
    }
}

/* Converts one T4 result to an entry of a cache file, by the tables. Copies the configuration, the measurements, the
 * times and the timestamp. Other fields keep their names. */
static json_t *plain_entry(converter *c, const json_t *result)
{
    static const struct {
        const char *entry, *result;
    } names[] = {
#define X(entry, result) {entry, result},
        TIMES(X)
#undef X
            {"compile_time", "compilation"},
    };
    json_t *entry = check_made(c, json_object()), *value, *times = json_object_get(result, "times");
    json_t *timestamp = json_object_get(result, "timestamp"), *item;
    const char *field;
    size_t i;
    json_object_foreach(json_object_get(result, "configuration"), field, value)
        set_field(c, entry, field, json_incref(value));
    json_array_foreach(json_object_get(result, "measurements"), i, item)
    {
        const char *name = text_in(item, "name"), *own = text_in(item, "unit");
        json_t *got = json_object_get(item, "value");
        bool time = name && strcmp(name, "time") == 0;
        double unit = own ? kiln__unit_seconds(own) * 1e3 : 0, by = unit > 0 ? unit : time ? c->to_ms : 1;
        if (name && got)
            set_field(c, entry, name, scaled(c, got, by));
    }
    for (i = 0; i < KILN__COUNT(names); i++)
        if ((value = json_object_get(times, names[i].result)) != NULL)
            set_field(c, entry, names[i].entry, scaled(c, value, c->to_ms));
    if (json_is_string(timestamp))
        set_field(c, entry, "timestamp", json_incref(timestamp));
    json_object_foreach((json_t *)(uintptr_t)result, field,
                        value) if (!is_schema_name(field) && !json_object_get(entry, field))
        set_field(c, entry, field, json_incref(value));
    set_time(c, entry, result);
    return entry;
}

/* ---- entries and results that also contain their original ---- */

/* Converts an entry of a cache file to a T4 result, and returns a new reference. `before` has the keys of the entries
 * before this entry. */
static json_t *to_result(converter *c, const char *key, json_t *entry, const json_t *before, size_t number)
{
    json_t *original = json_object_get(entry, "t4");
    if (json_is_object(json_object_get(original, "configuration")))
        return json_incref(original);
    kiln__text expected = {.mem = c->mem};
    json_t *result = plain_result(c, entry), *back = plain_entry(c, result), *extra = NULL;
    put_key(c, json_object_get(result, "configuration"), before, number, &expected);
    bool same_key = strcmp(kiln__text_get(&expected), key) == 0, same = back && json_equal(back, entry);
    if (!same || !same_key)
        extra = check_made(c, json_object());
    if (!same_key)
        set_field(c, extra, "key", string(c, key));
    if (!same)
        set_field(c, extra, "entry", json_incref(entry));
    if (extra)
        set_field(c, result, "kernel_tuner", extra);
    kiln__text_free(&expected);
    json_decref(back);
    return result;
}

/* Converts a T4 result to an entry, and adds the entry to a cache that already has the entries of the earlier
 * results. */
static void add_entry(converter *c, const json_t *result, json_t *cache, size_t number)
{
    json_t *extra = json_object_get(result, "kernel_tuner"), *whole = json_object_get(extra, "entry");
    const char *own = text_in(extra, "key");
    kiln__text key = {.mem = c->mem};
    json_t *entry = json_is_object(whole) ? json_incref(whole) : plain_entry(c, result);
    if (own && !json_object_get(cache, own))
        kiln__text_puts(&key, own);
    else
        put_key(c, json_object_get(result, "configuration"), cache, number, &key);
    if (!c->failed) {
        json_t *back = to_result(c, kiln__text_get(&key), entry, cache, number);
        if (!back || !json_equal(back, (json_t *)(uintptr_t)result)) {
            json_decref(entry);
            entry = plain_entry(c, result);
            set_field(c, entry, "t4", json_incref((json_t *)(uintptr_t)result));
        }
        json_decref(back);
    }
    set_field(c, cache, kiln__text_get(&key), entry);
    c->failed |= key.failed;
    kiln__text_free(&key);
}

/* ---- converting headers of files ---- */

/* Returns a copy of an object without the field `name`. */
static json_t *copy_without(converter *c, json_t *object, const char *name)
{
    json_t *copy = check_made(c, json_object()), *value;
    const char *key;
    json_object_foreach(object, key, value) if (strcmp(key, name) != 0) set_field(c, copy, key, json_incref(value));
    return copy;
}

/* Makes the header of a T4 file from the header of a cache file. */
static json_t *root_of(converter *c, json_t *header)
{
    json_t *root = check_made(c, json_object()), *metadata = check_made(c, json_object());
    set_field(c, metadata, "timeunit", string(c, "milliseconds"));
    set_field(c, metadata, "kernel_tuner", json_incref(header));
    set_field(c, root, "schema_version", string(c, "1.0.0"));
    set_field(c, root, "metadata", metadata);
    return root;
}

/* Adds two members to the header of a cache file. "tune_params_keys" has the names in the first configuration.
 * "tune_params" has, for each name, the different values in all configurations. */
static void describe_params(converter *c, json_t *results, json_t *header)
{
    json_t *first = json_object_get(json_array_get(results, 0), "configuration"), *keys = check_made(c, json_array());
    json_t *params = check_made(c, json_object()), *value, *result;
    const char *name;
    size_t i;
    json_object_foreach(first, name, value)
    {
        json_t *values = check_made(c, json_array()), *seen = check_made(c, json_object());
        json_array_foreach(results, i, result)
        {
            json_t *here = json_object_get(json_object_get(result, "configuration"), name);
            const locale_t before = kiln__locale_enter();
            char *text = here ? json_dumps(here, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17)) : NULL;
            kiln__locale_leave(before);
            c->failed |= here && !text;
            if (text && !json_object_get(seen, text)) {
                set_field(c, seen, text, json_incref(here));
                append(c, values, json_incref(here));
            }
            free(text);
        }
        json_decref(seen);
        append(c, keys, string(c, name));
        set_field(c, params, name, values);
    }
    set_field(c, header, "tune_params_keys", keys);
    set_field(c, header, "tune_params", params);
}

/* Makes the header of a cache file for a T4 file that was not converted from a cache file. The header contains the
 * header of the T4 file under the key "t4". */
static json_t *derived_header(converter *c, json_t *root, json_t *results)
{
    json_t *header = check_made(c, json_object()), *own = check_made(c, json_object()),
           *metadata = json_object_get(root, "metadata");
    const char *device = text_in(metadata, "device");
    set_field(c, header, "device_name", string(c, device ? device : ""));
    set_field(c, header, "kernel_name", string(c, ""));
    set_field(c, header, "problem_size", check_made(c, json_array()));
    describe_params(c, results, header);
    set_field(c, header, "objective", string(c, c->objective));
    set_field(c, own, "root", json_incref(root));
    set_field(c, own, "compilation", string(c, c->compilation));
    set_field(c, own, "unit", string(c, c->unit));
    set_field(c, header, "t4", own);
    return header;
}

bool kiln__document_describe(json_t *results, json_t *header)
{
    converter c = {0};
    describe_params(&c, results, header);
    return !c.failed;
}

static void read_objective(converter *c, const json_t *header)
{
    const char *objective = text_in(header, "objective");
    size_t i;
    const json_t *key;
    c->objective = objective ? objective : "time";
    c->keys = json_object_get(header, "tune_params_keys");
    json_decref(c->names);
    c->names = check_made(c, json_object());
    json_array_foreach(c->keys, i, key) if (json_is_string(key))
        set_field(c, c->names, json_string_value(key), check_made(c, json_true()));
}

/* Reads three properties that differ between T4 files: the unit of time, the objective, and the name of the compile
 * time. They come from the metadata and from the first result. */
static void read_dialect(converter *c, const json_t *root, const json_t *first)
{
    const char *timeunit = text_in(json_object_get(root, "metadata"), "timeunit"), *unit;
    json_t *item, *objective = json_array_get(json_object_get(first, "objectives"), 0);
    size_t i;
    double seconds = timeunit ? kiln__unit_seconds(timeunit) : 1e-3;
    c->to_ms = seconds == 1e-3 ? 1 : seconds * 1e3;
    c->objective = json_is_string(objective) ? json_string_value(objective) : "time";
    if (json_object_get(json_object_get(first, "times"), "compilation"))
        c->compilation = "compilation";
    json_array_foreach(json_object_get(first, "measurements"), i,
                       item) if (text_in(item, "name") && strcmp(text_in(item, "name"), "time") == 0 &&
                                 (unit = text_in(item, "unit")) != NULL) c->unit = unit;
}

/* ---- converting whole files ---- */

static kiln_status fail_configuration(converter *c, size_t number, const char *what)
{
    return kiln__fail(c->mem, c->error, KILN_ERROR_SPEC, "%s: configuration %zu: %s", c->name, number + 1, what);
}

/* Refuses a list of parameter names that is too long or contains items other than texts. Also refuses more
 * configurations than a text of `length` bytes can have. Without these limits the conversion could take quadratic time,
 * because it searches the list for each field of each configuration. If `length` is 0, the number of configurations is
 * not checked. `keys` may be NULL. */
static kiln_status check_params(converter *c, const json_t *keys, size_t count, size_t rows, size_t length)
{
    enum { MOST_PARAMS = 1000, LEAST_BYTES = 5 }; /* the limits of recorded spaces, as in recording/recording.c */
    size_t i;
    const json_t *key;
    json_array_foreach(keys, i, key) if (!json_is_string(key)) return kiln__fail(
        c->mem, c->error, KILN_ERROR_SPEC, "%s: tune_params_keys: not a list of names", c->name);
    if (count > MOST_PARAMS)
        return kiln__fail(c->mem, c->error, KILN_ERROR_SPEC, "%s: %zu params; at most %d are allowed", c->name, count,
                          (int)MOST_PARAMS);
    if (length && count && rows > length / (LEAST_BYTES * count))
        return kiln__fail(c->mem, c->error, KILN_ERROR_SPEC,
                          "%s: %zu configurations cannot all have %zu params in a file of this size", c->name, rows,
                          count);
    return KILN_OK;
}

/* Converts a whole cache file to a T4 file. The header becomes the metadata, and each entry becomes a result. If the
 * cache file was made from a T4 file, its header and its entries have the originals under the key "t4". The function
 * then takes these originals. */
static kiln_status to_t4(converter *c, json_t *from, size_t length, json_t **to)
{
    json_t *header = copy_without(c, from, "cache"), *own = json_object_get(header, "t4"),
           *own_root = json_object_get(own, "root");
    json_t *results = check_made(c, json_array()), *before = check_made(c, json_object()), *entry;
    const char *key;
    size_t number = 0;
    read_objective(c, header);
    kiln_status status = check_params(c, c->keys, json_array_size(c->keys),
                                      json_object_size(json_object_get(from, "cache")), length);
    if (status == KILN_OK && !json_is_array(c->keys))
        status = kiln__fail(c->mem, c->error, KILN_ERROR_SPEC, "%s: has no tune_params_keys", c->name);
    if (json_is_object(own_root) && text_in(own, "compilation") && text_in(own, "unit")) {
        c->compilation = text_in(own, "compilation");
        c->unit = text_in(own, "unit");
    }
    json_object_foreach(json_object_get(from, "cache"), key, entry)
    {
        if (status == KILN_OK && !json_is_object(entry))
            status = fail_configuration(c, number, "not an object");
        if (status != KILN_OK || c->failed)
            break;
        append(c, results, to_result(c, key, entry, before, number++));
        set_field(c, before, key, check_made(c, json_true()));
    }
    *to = json_is_object(own_root) ? check_made(c, json_copy(own_root)) : root_of(c, header);
    set_field(c, *to, "results", results);
    json_decref(before);
    json_decref(header);
    return status;
}

/* Converts a whole T4 file to a cache file. If the T4 file was made from a cache file, its metadata contain the header
 * of this cache file. If the metadata are exactly those that to_t4() makes from this header, the new cache file gets
 * this header. Otherwise the function makes a header from the results. */
static kiln_status to_cache(converter *c, json_t *from, size_t length, json_t **to)
{
    json_t *results = json_object_get(from, "results"), *root = copy_without(c, from, "results"), *result;
    json_t *header = json_object_get(json_object_get(root, "metadata"), "kernel_tuner"),
           *cache = check_made(c, json_object());
    json_t *natural = json_is_object(header) ? root_of(c, header) : NULL;
    size_t number;
    json_t *keys = json_object_get(header, "tune_params_keys"), *first = json_array_get(results, 0);
    kiln_status status;
    if (natural && json_equal(natural, root) && json_is_array(keys)) {
        json_incref(header);
        status = check_params(c, keys, json_array_size(keys), json_array_size(results), length);
    } else {
        read_dialect(c, root, first);
        status = check_params(c, NULL, json_object_size(json_object_get(first, "configuration")),
                              json_array_size(results), length);
        header = status == KILN_OK ? derived_header(c, root, results) : check_made(c, json_object());
    }
    read_objective(c, header);
    if (status == KILN_OK && !(c->to_ms > 0))
        status = kiln__fail(c->mem, c->error, KILN_ERROR_SPEC, "%s: metadata: unknown unit of time", c->name);
    json_array_foreach(results, number, result)
    {
        if (status == KILN_OK && !json_is_object(json_object_get(result, "configuration")))
            status = fail_configuration(c, number, "has no params");
        if (status != KILN_OK || c->failed)
            break;
        add_entry(c, result, cache, number);
    }
    *to = check_made(c, json_copy(header));
    set_field(c, *to, "cache", cache);
    json_decref(header);
    json_decref(natural);
    json_decref(root);
    return status;
}

kiln_status kiln__document_convert(const kiln_allocator *mem, const char *name, const kiln__document *from,
                                   kiln_format format, kiln__document *to, kiln_error **error)
{
    *to = (kiln__document){.format = format, .cut_off = from->cut_off};
    if (format == from->format) {
        to->root = json_incref(from->root);
        return KILN_OK;
    }
    converter c = {.mem = mem,
                   .name = name,
                   .error = error,
                   .compilation = "compilation_time",
                   .unit = "milliseconds",
                   .to_ms = 1};
    kiln_status status = format == KILN_FORMAT_T4 ? to_t4(&c, from->root, from->text_length, &to->root)
                                                  : to_cache(&c, from->root, from->text_length, &to->root);
    json_decref(c.names);
    if (status == KILN_OK && c.failed)
        status = kiln__fail_memory(error);
    if (status != KILN_OK)
        kiln__document_free(to);
    return status;
}
