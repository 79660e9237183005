/* json.c - writes the library's results as JSON: one object, with exact numbers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static json_t *require_value(json_t *value)
{
    if (!value) { /* all arguments are valid, so the only possible reason for NULL is a lack of memory */
        fputs("kiln: out of host memory\n", stderr);
        exit(cli_exit_code(KILN_ERROR_MEMORY));
    }
    return value;
}

json_t *js_object(void) { return require_value(json_object()); }
json_t *js_array(void) { return require_value(json_array()); }

void js_add(json_t *array, json_t *value) { require_value(json_array_append_new(array, value) == 0 ? array : NULL); }

static bool is_utf8(const char *text, size_t length)
{
    for (size_t size; length; text += size, length -= size) {
        uint32_t code;
        size = cli_utf8(text, length, &code);
        if (size == 0)
            return false;
    }
    return true;
}

/* Returns the text with U+FFFD for each byte that is not UTF-8, because JSON allows only UTF-8. */
static const char *clean(const char *text)
{
    size_t length = strlen(text);
    if (is_utf8(text, length))
        return text;
    char *made = cli_alloc(3 * length + 1), *to = made;
    while (length) {
        uint32_t code;
        size_t size = cli_utf8(text, length, &code);
        memcpy(to, size ? text : "\xef\xbf\xbd", size ? size : 3);
        to += size ? size : 3;
        text += size ? size : 1;
        length -= size ? size : 1;
    }
    return made;
}

void js_set(json_t *object, const char *key, json_t *value)
{
    require_value(json_object_set_new(object, clean(key), value) == 0 ? object : NULL);
}

json_t *js_text(const char *text) { return require_value(text ? json_string(clean(text)) : json_null()); }

json_t *js_real(double value) { return require_value(isfinite(value) ? json_real(value) : json_null()); }

json_t *js_whole(uint64_t value)
{
    return require_value(json_integer(value <= INT64_MAX ? (json_int_t)value : INT64_MAX));
}

json_t *js_value(kiln_value value)
{
    switch (value.kind) {
    case KILN_INT: return require_value(json_integer(value.as.i));
    case KILN_FLOAT: return js_real(value.as.f);
    case KILN_BOOL: return require_value(json_boolean(value.as.i != 0));
    case KILN_TEXT: return js_text(value.as.text);
    }
    return require_value(json_null());
}

json_t *js_settings(const kiln_setting *settings, size_t count)
{
    json_t *object = js_object();
    for (size_t i = 0; i < count; i++)
        js_set(object, settings[i].name, js_value(settings[i].value));
    return object;
}

/* Returns the value, or null for 0, because 0 stands for an unknown value. */
static json_t *js_known(double value) { return value != 0 ? js_real(value) : json_null(); }

static json_t *js_throttle(unsigned throttle)
{
    json_t *list = js_array();
#define CLI_X(name, value, text)                                                                                       \
    if (throttle & value)                                                                                              \
        js_add(list, js_text(text));
    KILN_THROTTLE_MAP(CLI_X)
#undef CLI_X
    return list;
}

static json_t *js_unit(unsigned unit)
{
#define CLI_X(name, value, key, text)                                                                                  \
    if (unit == value)                                                                                                 \
        return js_text(key);
    KILN_UNIT_MAP(CLI_X)
#undef CLI_X
    return json_null();
}

json_t *js_host_times(const char *text)
{
    json_t *object = js_object();
    double number;
    for (const char *name; (name = cli_named_number(&text, &number));)
        js_set(object, name, js_real(number));
    return object;
}

/* Writes a field of a result by the kind of the field. A time in nanoseconds is written in seconds, and its key ends in
 * `_seconds`. */
#define SET(kind, name, unit, text) SET_##kind(name)
#define SET_FLAG(name) js_set(object, #name, json_boolean(result->name));
#define SET_COUNT(name) js_set(object, #name, js_whole(result->name));
#define SET_MICROSECONDS(name) js_set(object, #name, json_integer(result->name));
#define SET_THROTTLE(name) js_set(object, #name, js_throttle(result->name));
#define SET_UNIT(name) js_set(object, #name, js_unit(result->name));
#define SET_REAL(name) js_set(object, #name, js_real(result->name));
#define SET_KNOWN(name) js_set(object, #name, js_known(result->name));
#define SET_SECONDS(name) js_set(object, #name, timed ? js_real(result->name) : json_null());
#define SET_HOSTS(name) js_set(object, #name, js_host_times(result->name.text));
#define SET_METRICS(name) js_set(object, #name, js_host_times(result->name.text));
#define SET_NANOSECONDS(name)                                                                                          \
    js_set(object, cli_printf("%.*s_seconds", (int)strlen(#name) - (int)strlen("_ns"), #name),                         \
           js_real((double)result->name / 1e9));
json_t *js_result(const kiln_result *result)
{
    json_t *object = js_object();
    bool timed = result->measured || result->estimated;
    /* `verified` is set here, before the other keys, because a key keeps its place in the object. */
    js_set(object, "verified", json_null());
    js_set(object, "worst_error", json_null());
    KILN_RESULT_MAP(SET)
    return object;
}

/* Returns all fields of a device as an object, with the peak rates of its units by name. */
json_t *js_device(const kiln_device_info *info)
{
    json_t *object = js_object();
    js_set(object, "id", js_text(info->id));
    js_set(object, "name", js_text(info->name));
    js_set(object, "simulated", json_boolean(info->simulated));
#define WHOLE(field) js_set(object, #field, js_whole((uint64_t)info->field))
    WHOLE(cc_major);
    WHOLE(cc_minor);
    WHOLE(sm_count);
    WHOLE(warp_size);
    WHOLE(max_threads_per_block);
    WHOLE(max_threads_per_sm);
    WHOLE(registers_per_block);
    WHOLE(registers_per_sm);
    WHOLE(shared_per_block);
    WHOLE(shared_per_block_optin);
    WHOLE(shared_per_sm);
    WHOLE(l2_bytes);
    WHOLE(memory_bytes);
    WHOLE(memory_bus_bits);
    WHOLE(driver_version);
#undef WHOLE
    js_set(object, "clock_hz", js_real(info->clock_hz));
    js_set(object, "memory_clock_hz", js_real(info->memory_clock_hz));
    js_set(object, "peak_flops", js_real(info->peak_flops));
    js_set(object, "peak_bandwidth", js_real(info->peak_bandwidth));
    json_t *units = js_object();
#define CLI_X(name, value, key, text) js_set(units, key, js_real(info->unit_flops[value]));
    KILN_UNIT_MAP(CLI_X)
#undef CLI_X
    js_set(object, "unit_flops", units);
    return object;
}

json_t *js_error(kiln_status status, const char *message)
{
    json_t *object = js_object();
    js_set(object, "status", js_text(kiln_status_name(status)));
    js_set(object, "message", js_text(message));
    return object;
}

/* JSON allows control characters outside ASCII in strings, but a terminal would execute them. Therefore the function
 * writes them as escapes such as \u009b, which mean the same string. In JSON, everything outside strings is ASCII. */
const char *js_visible(const char *text)
{
    size_t length = strlen(text);
    /* an escape such as "\u007f" replaces a character of at least one byte by 6 bytes */
    char *made = cli_alloc(6 * length + 1), *to = made;
    while (length) {
        uint32_t code;
        size_t size = cli_utf8(text, length, &code);
        size = size ? size : 1; /* jansson's output is valid UTF-8, so a size of 0 does not occur */
        if (code >= 0x7f && cli_is_control(code)) {
            to += sprintf(to, "\\u%04x", (unsigned)code);
        } else {
            memcpy(to, text, size);
            to += size;
        }
        text += size;
        length -= size;
    }
    return made;
}

/* Does not use json_dumps(): if memory runs out at a key, json_dumps() skips the key and reports success. */
char *js_dump(const json_t *object, size_t flags)
{
    size_t size = json_dumpb(object, NULL, 0, flags);
    char *text = cli_alloc(size + 1);
    require_value(size > 0 && json_dumpb(object, text, size, flags) == size ? (json_t *)(uintptr_t)object : NULL);
    return text;
}

void js_print(json_t *object)
{
    void *mark = cli_mark();
    out_json(js_visible(js_dump(object, JSON_INDENT(2) | JSON_REAL_PRECISION(17))));
    json_decref(object);
    cli_release(mark);
}
