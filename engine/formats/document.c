/* document.c - reads recorded spaces as JSON from files that may be packed or truncated, and writes them. */
#include <string.h>

#include "document.h"

int kiln_format_find(const char *word)
{
    static const char *const words[] = {
#define KILN_X(name, word, text) word,
        KILN_FORMAT_MAP(KILN_X)
#undef KILN_X
    };
    for (int i = 0; word && i < KILN_FORMAT_COUNT; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    return -1;
}

double kiln__unit_seconds(const char *name)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {
        {"milliseconds", 1e-3}, {"miliseconds", 1e-3}, {"ms", 1e-3},
        {"microseconds", 1e-6}, {"us", 1e-6},          {"nanoseconds", 1e-9},
        {"ns", 1e-9},           {"seconds", 1.0},      {"s", 1.0},
    };
    for (size_t i = 0; i < KILN__COUNT(units); i++)
        if (strcmp(units[i].name, name) == 0)
            return units[i].seconds;
    return 0;
}

/* ---- reading truncated files ---- */

/* Returns the end of the last complete item in a truncated JSON text. An item is an object or an array inside two other
 * brackets, such as the entry of one configuration. Returns 0 if no item is complete. `around` gets the two brackets
 * that enclose the item. *whole is true if the text is not truncated: all its brackets are closed. */
static size_t last_whole_item(const char *text, size_t length, char around[2], bool *whole)
{
    char open[2] = {0};
    size_t depth = 0, end = 0;
    bool quoted = false;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (quoted) {
            i += c == '\\';
            quoted = c != '"';
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            if (depth < 2)
                open[depth] = c;
            depth++;
        } else if ((c == '}' || c == ']') && depth > 0 && --depth == 2) {
            end = i + 1;
            memcpy(around, open, sizeof open);
        }
    }
    *whole = depth == 0 && !quoted;
    return end;
}

/* ---- limits of the memory for a file ---- */

#define MIB ((uint64_t)1 << 20)
/* The unpacked text of a file may have at most TEXT_MOST bytes. If the file is packed, the text may also have at most
 * TEXT_RATIO times the size of the file, but TEXT_LEAST bytes are always allowed. TREE_MOST, TREE_RATIO and TREE_LEAST
 * are the same limits for the memory of the JSON tree that the library jansson allocates. TREE_RATIO applies to every
 * file, packed or not. */
#define TEXT_MOST (1024 * MIB)
#define TEXT_RATIO 256
#define TEXT_LEAST (64 * MIB)
#define TREE_MOST (4096 * MIB)
#define TREE_RATIO 64
#define TREE_LEAST (512 * MIB)

static uint64_t limit_of(size_t length, uint64_t ratio, uint64_t least, uint64_t most)
{
    uint64_t limit = (uint64_t)length > most / ratio ? most : length * ratio;
    return limit < least ? least : limit;
}

/* Estimates how many bytes jansson allocates for a JSON text. The estimate is usually higher than the real number. The
 * length of the text is not enough: an empty object is two bytes of text, but takes 240 bytes of memory. */
static uint64_t tree_bytes(const char *text, size_t length)
{
    enum { OBJECT = 256, ARRAY = 144, VALUE = 48, NAME = 80, STRING = 48 };
    uint64_t bytes = VALUE;
    bool quoted = false;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (quoted) {
            i += c == '\\';
            quoted = c != '"';
            bytes++;
        } else {
            bytes += c == ',' ? VALUE : c == ':' ? NAME : c == '{' ? OBJECT + VALUE : c == '[' ? ARRAY + VALUE : 0;
            quoted = c == '"';
            bytes += quoted ? STRING : 0;
        }
    }
    return bytes;
}

/* Replaces NaN, Infinity and -Infinity outside of strings by null. Kernel Tuner writes these Python names, but JSON
 * does not have them. If there are any, *text becomes a new block. As before, the block has two more bytes than the
 * text, into which parse() may write closing brackets. */
static kiln_status replace_non_numbers(const kiln_allocator *mem, char **text, size_t *length, kiln_error **error)
{
    static const char *const names[] = {"NaN", "Infinity", "-Infinity"};
    static const char null[] = {'n', 'u', 'l', 'l'};
    char *to = NULL;
    size_t end = 0;
    for (int writing = 0; writing < 2; writing++) {
        bool quoted = false, any = false;
        end = 0;
        for (size_t i = 0; i < *length; i++) {
            char c = (*text)[i];
            size_t name = 0, long_as = 0;
            while (!quoted && name < KILN__COUNT(names) && long_as == 0) {
                size_t n = strlen(names[name]);
                if (c == names[name][0] && *length - i >= n && memcmp(*text + i, names[name], n) == 0)
                    long_as = n;
                name++;
            }
            if (long_as) {
                if (writing)
                    memcpy(to + end, null, sizeof null);
                any = true;
                end += sizeof null;
                i += long_as - 1;
                continue;
            }
            size_t more = quoted && c == '\\' && i + 1 < *length;
            for (size_t k = 0; k <= more; k++, end++)
                if (writing)
                    to[end] = (*text)[i + k];
            i += more;
            quoted = quoted != (c == '"');
        }
        if (!any)
            return KILN_OK;
        if (!writing && !(to = kiln__alloc(mem, end + 2)))
            return kiln__fail_memory(error);
    }
    kiln__free(mem, *text);
    *text = to;
    *length = end;
    return KILN_OK;
}

/* Parses the text of a file and finds out its format: a Kernel Tuner cache or T4 results. If the end of the text is
 * missing, writes two closing brackets after the last complete item. So the block `text` must have memory for two bytes
 * after the text.
 *
 * A complete T4 file need not name a unit of time. Its times are then in milliseconds. A truncated T4 file without a
 * unit is refused, because the missing part may have had the unit. */
static kiln_status parse(const kiln_allocator *mem, const char *name, char *text, size_t length,
                         kiln__document *document, kiln_error **error)
{
    char around[2] = {0};
    bool whole;
    size_t end = last_whole_item(text, length, around, &whole);
    if (!whole && end > 0) {
        text[end] = around[1] == '{' ? '}' : ']';
        text[end + 1] = around[0] == '{' ? '}' : ']';
        length = end + 2;
        document->cut_off = true;
    }
    json_error_t why;
    const locale_t before = kiln__locale_enter();
    document->root = json_loadb(text, length, 0, &why);
    kiln__locale_leave(before);
    if (!document->root && json_error_code(&why) == json_error_out_of_memory)
        return kiln__fail_memory(error);
    if (!document->root)
        return kiln__fail(mem, error, KILN_ERROR_SPEC, "%s: line %d, column %d: not JSON: %s", name, why.line,
                          why.column, why.text);
    if (json_is_object(json_object_get(document->root, "cache")))
        document->format = KILN_FORMAT_KERNEL_TUNER;
    else if (json_is_array(json_object_get(document->root, "results")))
        document->format = KILN_FORMAT_T4;
    else
        return kiln__fail(mem, error, KILN_ERROR_SPEC,
                          "%s: neither a recorded space of Kernel Tuner ('cache') nor T4 "
                          "results ('results')",
                          name);
    if (document->format == KILN_FORMAT_T4 && document->cut_off &&
        !json_is_string(json_object_get(json_object_get(document->root, "metadata"), "timeunit")))
        return kiln__fail(
            mem, error, KILN_ERROR_SPEC,
            "%s: the end of the file is missing, and the file has no unit of time (metadata.timeunit) before it", name);
    return KILN_OK;
}

kiln_status kiln__document_read(const kiln_allocator *mem, const char *name, const void *data, size_t length,
                                kiln__document *document, kiln_error **error)
{
    const unsigned char *bytes = data;
    char *text = NULL;
    size_t text_length = length;
    kiln_status status = KILN_OK;
    *document = (kiln__document){0};
    if (length >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b) {
        bool cut_off; /* not used, because parse() finds out from the text itself that its end is missing */
        uint64_t limit = limit_of(length, TEXT_RATIO, TEXT_LEAST, TEXT_MOST);
        status = kiln__gunzip(mem, name, data, length, (size_t)limit, &text, &text_length, &cut_off, error);
    } else if (length > TEXT_MOST) {
        status = kiln__fail(mem, error, KILN_ERROR_UNSUPPORTED, "%s: larger than %llu MiB", name,
                            (unsigned long long)(TEXT_MOST / MIB));
    } else if (!(text = kiln__alloc(mem, length + 2))) {
        status = kiln__fail_memory(error);
    } else {
        memcpy(text, data, length);
    }
    if (status == KILN_OK)
        status = replace_non_numbers(mem, &text, &text_length, error);
    uint64_t tree = status == KILN_OK ? tree_bytes(text, text_length) : 0;
    uint64_t most = limit_of(length, TREE_RATIO, TREE_LEAST, TREE_MOST);
    if (status == KILN_OK && tree > most)
        status = kiln__fail(mem, error, KILN_ERROR_UNSUPPORTED,
                            "%s: reading it would take about %llu MiB of memory; for a "
                            "file of its size %llu MiB is the limit",
                            name, (unsigned long long)(tree / MIB), (unsigned long long)(most / MIB));
    document->text_length = text_length;
    if (status == KILN_OK)
        status = parse(mem, name, text, text_length, document, error);
    kiln__free(mem, text);
    if (status != KILN_OK)
        kiln__document_free(document);
    return status;
}

kiln_status kiln__document_load(const kiln_allocator *mem, const char *path, kiln__document *document,
                                kiln_error **error)
{
    char *data = NULL;
    size_t length = 0;
    kiln_status status = kiln__file_read(mem, path, TEXT_MOST, &data, &length, error);
    if (status == KILN_OK)
        status = kiln__document_read(mem, path, data, length, document, error);
    kiln__free(mem, data);
    return status;
}

void kiln__document_free(kiln__document *document)
{
    json_decref(document->root);
    document->root = NULL;
}

/* ---- writing a file ---- */

static int add_bytes(const char *bytes, size_t length, void *user)
{
    kiln__text *out = user;
    kiln__text_add(out, bytes, length);
    return out->failed ? -1 : 0;
}

/* Prints a value. If `key` is not NULL, prints the key before the value. Prints 17 digits, because then reading gives
 * the same double again. */
static void write_field(kiln__text *out, const char *key, const json_t *value)
{
    json_t *name = key ? json_string(key) : NULL;
    const locale_t before = kiln__locale_enter();
    if (key && (!name || json_dump_callback(name, add_bytes, out, JSON_ENCODE_ANY) != 0))
        out->failed = true;
    kiln__text_puts(out, key ? ": " : "");
    if (json_dump_callback(value, add_bytes, out, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17)) != 0)
        out->failed = true;
    kiln__locale_leave(before);
    json_decref(name);
}

/* Prints the configurations, each on one line, as Kernel Tuner does. So programs that work line by line can read the
 * file, and the complete lines of a truncated file can be read. */
static void put_items(kiln__text *out, const char *key, json_t *list)
{
    const char *name;
    json_t *item;
    size_t i, n = 0;
    bool object = json_is_object(list);
    kiln__text_printf(out, "\"%s\": %c", key, object ? '{' : '[');
    if (object)
        json_object_foreach(list, name, item)
        {
            kiln__text_puts(out, n++ ? ",\n" : "\n");
            write_field(out, name, item);
        }
    else
        json_array_foreach(list, i, item)
        {
            kiln__text_puts(out, n++ ? ",\n" : "\n");
            write_field(out, NULL, item);
        }
    kiln__text_puts(out, object ? "\n}" : "\n]");
}

kiln_status kiln__document_print(const kiln__document *document, kiln__text *out, kiln_error **error)
{
    const char *list = document->format == KILN_FORMAT_T4 ? "results" : "cache", *key;
    json_t *value;
    size_t n = 0;
    kiln__text_puts(out, "{");
    json_object_foreach(document->root, key, value)
    {
        if (strcmp(key, list) == 0)
            continue; /* this member is written last, because a truncated file should lose only configurations */
        kiln__text_puts(out, n++ ? ",\n" : "\n");
        write_field(out, key, value);
    }
    kiln__text_puts(out, n ? ",\n" : "\n");
    put_items(out, list, json_object_get(document->root, list));
    kiln__text_puts(out, "\n}\n");
    return out->failed ? kiln__fail_memory(error) : KILN_OK;
}

kiln_status kiln__document_save(const kiln_allocator *mem, const char *path, const kiln__document *document,
                                kiln_error **error)
{
    size_t length = strlen(path);
    bool packed = length > 3 && strcmp(path + length - 3, ".gz") == 0;
    kiln__text text = {.mem = mem}, zipped = {.mem = mem};
    kiln_status status = kiln__document_print(document, &text, error);
    if (status == KILN_OK && packed)
        status = kiln__gzip(mem, text.data, text.length, &zipped, error);
    const kiln__text *out = packed ? &zipped : &text;
    if (status == KILN_OK)
        status = kiln__file_write(mem, path, out->data, out->length, error);
    kiln__text_free(&text);
    kiln__text_free(&zipped);
    return status;
}
