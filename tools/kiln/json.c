/* json.c - JSON out of what the library says: one object, numbers exact. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static json_t *need(json_t *value)
{
    if (!value) { /* what is passed here is valid, so only memory can have failed */
        fputs("kiln: out of host memory\n", stderr);
        exit(cli_exit_code(KILN_ERROR_MEMORY));
    }
    return value;
}

json_t *js_object(void) { return need(json_object()); }
json_t *js_array(void) { return need(json_array()); }

void js_set(json_t *object, const char *key, json_t *value)
{
    need(json_object_set_new(object, key, value) == 0 ? object : NULL);
}

void js_add(json_t *array, json_t *value)
{
    need(json_array_append_new(array, value) == 0 ? array : NULL);
}

/* Bytes of the UTF-8 character at `text`, 0 where it is none. */
static size_t character(const unsigned char *text)
{
    if (text[0] < 0x80)
        return 1;
    size_t length = (text[0] & 0xe0) == 0xc0 ? 2 : (text[0] & 0xf0) == 0xe0 ? 3 : (text[0] & 0xf8) == 0xf0 ? 4 : 0;
    uint32_t code = length ? text[0] & (0x7fu >> length) : 0;
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3fu);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    bool valid = length && code >= least[length] && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
    return valid ? length : 0;
}

json_t *js_text(const char *text)
{
    if (!text)
        return need(json_null());
    char *clean = cli_alloc(3 * strlen(text) + 1), *to = clean;
    while (*text) {
        size_t length = character((const unsigned char *)text);
        memcpy(to, length ? text : "\xef\xbf\xbd", length ? length : 3);
        to += length ? length : 3;
        text += length ? length : 1;
    }
    return need(json_string(clean));
}

json_t *js_real(double value)
{
    return need(isfinite(value) ? json_real(value) : json_null());
}

json_t *js_whole(uint64_t value)
{
    return need(json_integer(value <= INT64_MAX ? (json_int_t)value : INT64_MAX));
}

json_t *js_value(kiln_value value)
{
    switch (value.kind) {
    case KILN_INT: return need(json_integer(value.as.i));
    case KILN_FLOAT: return js_real(value.as.f);
    case KILN_BOOL: return need(json_boolean(value.as.i != 0));
    case KILN_TEXT: return js_text(value.as.text);
    }
    return need(json_null());
}

json_t *js_settings(const kiln_setting *settings, size_t count)
{
    json_t *object = js_object();
    for (size_t i = 0; i < count; i++)
        js_set(object, settings[i].name, js_value(settings[i].value));
    return object;
}

/* null where 0 stands for what is not known */
static json_t *js_known(double value)
{
    return value != 0 ? js_real(value) : json_null();
}

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

json_t *js_result(const kiln_result *result)
{
    json_t *object = js_object();
    js_set(object, "verified", json_boolean(result->verified));
    js_set(object, "worst_error", js_real(result->worst_error));
    js_set(object, "measured", json_boolean(result->measured));
    js_set(object, "estimated", json_boolean(result->estimated));
    bool timed = result->measured || result->estimated;
    js_set(object, "seconds", timed ? js_real(result->seconds) : json_null());
    js_set(object, "seconds_low", timed ? js_real(result->seconds_low) : json_null());
    js_set(object, "seconds_high", timed ? js_real(result->seconds_high) : json_null());
    js_set(object, "repetitions", js_whole(result->repetitions));
    js_set(object, "host_seconds", js_real(result->host_seconds));
    js_set(object, "flops", js_real(result->flops));
    js_set(object, "bytes", js_real(result->bytes));
    js_set(object, "roofline", js_real(result->roofline));
    js_set(object, "compile_seconds", js_real((double)result->compile_ns / 1e9));
    js_set(object, "cache_hits", js_whole(result->cache_hits));
    js_set(object, "cache_misses", js_whole(result->cache_misses));
    js_set(object, "stopped_early", json_boolean(result->stopped_early));
    js_set(object, "finals", json_integer(result->finals));
    js_set(object, "first_seconds", js_known(result->first_seconds));
    js_set(object, "clock_hz", js_known(result->clock_hz));
    js_set(object, "memory_clock_hz", js_known(result->memory_clock_hz));
    js_set(object, "throttle", js_throttle(result->throttle));
    js_set(object, "temperature", js_known(result->temperature));
    js_set(object, "power_watts", js_known(result->power_watts));
    js_set(object, "energy_joules", js_known(result->energy_joules));
    return object;
}

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
    return object;
}

json_t *js_error(kiln_status status, const char *message)
{
    json_t *object = js_object();
    js_set(object, "status", js_text(kiln_status_name(status)));
    js_set(object, "message", js_text(message));
    return object;
}

/* Not json_dumps(): where memory ends while a key is written, that leaves the key out and succeeds. */
char *js_dump(const json_t *object, size_t flags)
{
    size_t size = json_dumpb(object, NULL, 0, flags);
    char *text = cli_alloc(size + 1);
    need(size > 0 && json_dumpb(object, text, size, flags) == size ? (json_t *)(uintptr_t)object : NULL);
    return text;
}

void js_print(json_t *object)
{
    void *mark = cli_mark();
    out_json(js_dump(object, JSON_INDENT(2) | JSON_REAL_PRECISION(17)));
    json_decref(object);
    cli_release(mark);
}
